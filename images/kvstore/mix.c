/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mix.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *const op_names[] = { "read", "update", "insert", "scan", "rmw" };

static const struct mix mixes[] = {
    { "a", KEYS_ZIPFIAN, { [OP_READ] = 50, [OP_UPDATE] = 50 } },
    { "b", KEYS_ZIPFIAN, { [OP_READ] = 95, [OP_UPDATE] = 5 } },
    { "c", KEYS_ZIPFIAN, { [OP_READ] = 100 } },
    { "d", KEYS_LATEST, { [OP_READ] = 95, [OP_INSERT] = 5 } },
    { "e", KEYS_ZIPFIAN, { [OP_SCAN] = 95, [OP_INSERT] = 5 } },
    { "f", KEYS_ZIPFIAN, { [OP_READ] = 50, [OP_RMW] = 50 } },
    { "insert", KEYS_LATEST, { [OP_INSERT] = 100 } },
    { "update", KEYS_ZIPFIAN, { [OP_UPDATE] = 100 } },
};

const struct mix *mix_find(const char *name)
{
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        if (!strcmp(mixes[i].name, name)) {
            return &mixes[i];
        }
    }
    return NULL;
}

enum op mix_op(const struct mix *mix, struct random *r)
{
    unsigned left = random_below(r, 100);
    enum op op = 0;

    while (left >= mix->percent[op]) {
        left -= mix->percent[op++];
    }
    return op;
}

/* ---- Zipf's law, by the method of Gray and others (SIGMOD 1994) ---------- */

static void set_eta(struct zipf *z)
{
    z->eta = (1 - pow(2.0 / z->n, 1 - MIX_THETA)) / (1 - z->zeta2 / z->zeta);
}

void zipf_init(struct zipf *z, uint64_t n)
{
    *z = (struct zipf) {
        .zeta2 = 1 + pow(0.5, MIX_THETA),
        .alpha = 1 / (1 - MIX_THETA),
    };
    zipf_grow(z, n);
}

void zipf_grow(struct zipf *z, uint64_t n)
{
    if (n <= z->n) {
        return;
    }
    while (z->n < n) {
        z->zeta += pow(1.0 / ++z->n, MIX_THETA);
    }
    set_eta(z);
}

uint64_t zipf_rank(const struct zipf *z, struct random *r)
{
    double u = random_unit(r), part = u * z->zeta;
    uint64_t rank;

    if (part < 1) {
        return 0;
    }
    if (part < z->zeta2) {
        return 1;
    }
    rank = z->n * pow(z->eta * u - z->eta + 1, z->alpha);
    return rank < z->n ? rank : z->n - 1;
}

/* Those asked for often are anywhere, two ranks may be one record. */
uint64_t mix_record(const struct mix *mix, struct zipf *z, struct random *r,
                    uint64_t there)
{
    if (mix->keys == KEYS_LATEST) {
        zipf_grow(z, there);
        return there - 1 - zipf_rank(z, r);
    }
    return hash_mix(zipf_rank(z, r)) % z->n;
}
