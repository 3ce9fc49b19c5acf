/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A state by the table of its fields. See carry.h.
 */
#include <string.h>

#include "../cint-must.h"
#include "carry.h"

size_t cint_carry_count(const CintField *fields)
{
    size_t count = 0;

    for (; fields->name; fields++) {
        count += fields->count;
    }
    return count;
}

static uint64_t get(const void *at, uint8_t size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const uint32_t *)at;
    default:
        CINT_MUST(size == 8);
        return *(const uint64_t *)at;
    }
}

static void set(void *at, uint8_t size, uint64_t value)
{
    switch (size) {
    case 1:
        *(uint8_t *)at = value;
        break;
    case 2:
        *(uint16_t *)at = value;
        break;
    case 4:
        *(uint32_t *)at = value;
        break;
    default:
        CINT_MUST(size == 8);
        *(uint64_t *)at = value;
    }
}

void cint_carry_save(const CintField *fields, const void *state, int64_t now,
                     uint64_t *values)
{
    unsigned i;

    for (; fields->name; fields++) {
        const char *at = (const char *)state + fields->offset;

        for (i = 0; i < fields->count; i++, at += fields->size) {
            uint64_t value = get(at, fields->size);

            *values++ = fields->kind == CINT_FIELD_VALUE ?
                        value : (uint64_t)cint_carry_out(value, now);
        }
    }
}

static bool accept_time(const CintField *field, int64_t carried, int64_t now,
                        int64_t *time, CintMisfit *misfit)
{
    return (field->kind != CINT_FIELD_PAST ||
            cint_fits(misfit, field->name, carried, -CINT_CARRY_PAST_NS, 0)) &&
           cint_carry_in(field->name, carried, now, time, misfit);
}

/* What @field is set to, for @carried. */
static bool accept(const CintField *field, uint64_t carried, int64_t now,
                   uint64_t *value, CintMisfit *misfit)
{
    int64_t time = 0;
    bool good;

    if (field->kind == CINT_FIELD_VALUE) {
        *value = carried;
        return carried <= field->max ||
               cint_misfit(misfit, field->name, carried, 0, field->max);
    }
    good = accept_time(field, carried, now, &time, misfit);
    *value = time;
    return good;
}

bool cint_carry_load(const CintField *fields, void *state, int64_t now,
                     const uint64_t *values, CintMisfit *misfit)
{
    uint64_t value;
    unsigned i;

    for (; fields->name; fields++) {
        char *at = (char *)state + fields->offset;

        for (i = 0; i < fields->count; i++, at += fields->size) {
            if (!accept(fields, *values++, now, &value, misfit)) {
                return false;
            }
            set(at, fields->size, value);
        }
    }
    return true;
}
