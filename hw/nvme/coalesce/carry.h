/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What of a state has to be carried to where it goes on, as another process
 * does after a migration: a table of its fields, each of which becomes one
 * 64-bit value or several. Times are carried relative to now, so the clock may
 * be another one there. What follows from other fields is not in a table, and
 * neither are pointers.
 *
 * What comes in may be anything. Each value is checked by its row here; how
 * values go together is for whoever has the table.
 */
#ifndef HW_NVME_COALESCE_CARRY_H
#define HW_NVME_COALESCE_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A time that stays what it is: INT64_MAX, "never". */
#define CINT_CARRY_NEVER    INT64_MAX

/* How far a time may lie from now: nothing that is added to it overflows. */
#define CINT_CARRY_PAST_NS      ((int64_t)3 << 61)
#define CINT_CARRY_FUTURE_NS    ((int64_t)1 << 61)

typedef enum CintFieldKind {
    CINT_FIELD_VALUE,
    CINT_FIELD_TIME,    /* int64_t ns of the clock */
    CINT_FIELD_PAST,    /* one that is not to come */
} CintFieldKind;

typedef struct CintField {
    const char *name;
    uint32_t offset;
    uint16_t count;     /* how many there are of it, one behind the other */
    uint8_t size;       /* of one: 1, 2, 4 or 8 bytes */
    uint8_t kind;       /* CintFieldKind */
    uint64_t max;       /* the largest valid value, of what is no time */
} CintField;

#define CINT_CARRY_SIZE(type, member)   sizeof(((type *)0)->member)

/* Rows of a table, which ends with one whose name is NULL. */
#define CINT_CARRY(type, member, n, bytes, k, most)                     \
    {                                                                   \
        .name = #member, .offset = offsetof(type, member), .count = n,  \
        .size = bytes, .kind = CINT_FIELD_##k, .max = most,             \
    }
#define CINT_CARRY_FULL(bytes)          (UINT64_MAX >> (64 - 8 * (bytes)))
#define CINT_CARRY_ONE(type, member, k, most)                           \
    CINT_CARRY(type, member, 1, CINT_CARRY_SIZE(type, member), k, most)
#define CINT_CARRY_EACH(type, member, k, most)                          \
    CINT_CARRY(type, member, CINT_CARRY_SIZE(type, member) /            \
                             CINT_CARRY_SIZE(type, member[0]),          \
               CINT_CARRY_SIZE(type, member[0]), k, most)

#define CINT_CARRY_MOST(type, member, most)                             \
    CINT_CARRY_ONE(type, member, VALUE, most)
#define CINT_CARRY_ALL(type, member)                                    \
    CINT_CARRY_MOST(type, member,                                       \
                    CINT_CARRY_FULL(CINT_CARRY_SIZE(type, member)))
#define CINT_CARRY_BOOL(type, member)   CINT_CARRY_MOST(type, member, 1)
#define CINT_CARRY_TIME(type, member)   CINT_CARRY_ONE(type, member, TIME, 0)
#define CINT_CARRY_PAST(type, member)   CINT_CARRY_ONE(type, member, PAST, 0)
#define CINT_CARRY_ARRAY(type, member)                                  \
    CINT_CARRY_EACH(type, member, VALUE,                                \
                    CINT_CARRY_FULL(CINT_CARRY_SIZE(type, member[0])))
#define CINT_CARRY_TIMES(type, member)  CINT_CARRY_EACH(type, member, TIME, 0)

/* Why something was refused: @field has @value, which is not in a range. */
typedef struct CintMisfit {
    const char *field;
    int64_t value, min, max;
} CintMisfit;

/* Notes a misfit. Returns false, for its caller to hand on. */
static inline bool cint_misfit(CintMisfit *misfit, const char *field,
                               int64_t value, int64_t min, int64_t max)
{
    *misfit = (CintMisfit) {
        .field = field, .value = value, .min = min, .max = max,
    };
    return false;
}

/* Whether @value is in [@min, @max]; if not, @misfit says so. */
static inline bool cint_fits(CintMisfit *misfit, const char *field,
                             int64_t value, int64_t min, int64_t max)
{
    return (value >= min && value <= max) ||
           cint_misfit(misfit, field, value, min, max);
}

/* A time as it is carried. */
static inline int64_t cint_carry_out(int64_t time, int64_t now)
{
    return time == CINT_CARRY_NEVER ? time : time - now;
}

/* And back. Returns false if it is too far from @now, which @misfit says. */
static inline bool cint_carry_in(const char *field, int64_t carried,
                                 int64_t now, int64_t *time,
                                 CintMisfit *misfit)
{
    if (carried == CINT_CARRY_NEVER) {
        *time = carried;
        return true;
    }
    if (!cint_fits(misfit, field, carried, -CINT_CARRY_PAST_NS,
                   CINT_CARRY_FUTURE_NS)) {
        return false;
    }
    *time = now + carried;
    return true;
}

/* How many values a table stands for. */
size_t cint_carry_count(const CintField *fields);

/* Sets @values, as many as that, to what @state has at @now. */
void cint_carry_save(const CintField *fields, const void *state, int64_t now,
                     uint64_t *values);

/*
 * Sets the fields of @state to @values at @now. Returns false at the first that
 * no such field can have, which @misfit then says.
 */
bool cint_carry_load(const CintField *fields, void *state, int64_t now,
                     const uint64_t *values, CintMisfit *misfit);

#endif /* HW_NVME_COALESCE_CARRY_H */
