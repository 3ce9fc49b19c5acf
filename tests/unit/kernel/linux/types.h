/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What blk-poll-est.h and its KUnit tests take of the kernel's headers, for a
 * program: see tests/unit/meson.build.
 */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define U32_MAX UINT32_MAX
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define swap(a, b) do { __auto_type c = (a); (a) = (b); (b) = c; } while (0)

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
