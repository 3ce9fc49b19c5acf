/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What blk-poll-est.h, ooo.h, blk-switch-policy.h and their tests take of the
 * kernel's headers, for programs: see tests/unit/meson.build.
 */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

/* A C library's headers mean the real one: <sched.h> of glibc 2.41 does. */
#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define clamp_t(type, n, low, high) \
    max_t(type, min((type)(n), (type)(high)), low)
#define swap(a, b) do { __auto_type c = (a); (a) = (b); (b) = c; } while (0)
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))

#define BITS_PER_LONG (8 * sizeof(long))
#define BITS_TO_LONGS(n) DIV_ROUND_UP(n, BITS_PER_LONG)

static inline bool test_bit(unsigned int nr, const unsigned long *bits)
{
    return bits[nr / BITS_PER_LONG] >> nr % BITS_PER_LONG & 1;
}

static inline void __set_bit(unsigned int nr, unsigned long *bits)
{
    bits[nr / BITS_PER_LONG] |= 1ul << nr % BITS_PER_LONG;
}

static inline bool __test_and_clear_bit(unsigned int nr, unsigned long *bits)
{
    bool was = test_bit(nr, bits);

    bits[nr / BITS_PER_LONG] &= ~(1ul << nr % BITS_PER_LONG);
    return was;
}

static inline bool bitmap_empty(const unsigned long *bits, unsigned int count)
{
    for (unsigned int nr = 0; nr < count; nr++) {
        if (test_bit(nr, bits)) {
            return false;
        }
    }
    return true;
}

static inline unsigned int ilog2(uint64_t n)
{
    return 63 - __builtin_clzll(n);
}

static inline uint64_t div_u64(uint64_t dividend, uint32_t divisor)
{
    return dividend / divisor;
}

static inline uint64_t div64_u64(uint64_t dividend, uint64_t divisor)
{
    return dividend / divisor;
}

static inline uint64_t div_u64_rem(uint64_t dividend, uint32_t divisor,
                                   uint32_t *remainder)
{
    *remainder = dividend % divisor;
    return dividend / divisor;
}

#endif
