/* SPDX-License-Identifier: GPL-2.0-or-later */
/* XXH64 by its specification, and a counter whose values are mixed. */
#include "hash.h"

#include <string.h>

#define LANES 4
#define STRIPE (LANES * sizeof(uint64_t))

static const uint64_t prime[] = {
    0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
    0x85ebca77c2b2ae63, 0x27d4eb2f165667c5,
};

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t word_at(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return x;
}

static uint64_t round_of(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * prime[1], 31) * prime[0];
}

static uint64_t join(uint64_t sum, uint64_t lane)
{
    return (sum ^ round_of(0, lane)) * prime[0] + prime[3];
}

static uint64_t stripes(const uint8_t **p, size_t *left, uint64_t seed)
{
    uint64_t lane[LANES] = { seed + prime[0] + prime[1], seed + prime[1], seed,
                             seed - prime[0] };
    uint64_t sum;

    for (; *left >= STRIPE; *left -= STRIPE, *p += STRIPE) {
        for (int i = 0; i < LANES; i++) {
            lane[i] = round_of(lane[i], word_at(*p + i * sizeof(uint64_t)));
        }
    }
    sum = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) +
          rotate(lane[3], 18);
    for (int i = 0; i < LANES; i++) {
        sum = join(sum, lane[i]);
    }
    return sum;
}

/* What is left over after the stripes. */
static uint64_t rest(uint64_t sum, const uint8_t *p, size_t left)
{
    uint32_t half;

    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t)) {
        sum = rotate(sum ^ round_of(0, word_at(p)), 27) * prime[0] + prime[3];
        p += sizeof(uint64_t);
    }
    if (left >= sizeof(half)) {
        memcpy(&half, p, sizeof(half));
        sum = rotate(sum ^ half * prime[0], 23) * prime[1] + prime[2];
        p += sizeof(half);
        left -= sizeof(half);
    }
    for (; left; left--) {
        sum = rotate(sum ^ *p++ * prime[4], 11) * prime[0];
    }
    return sum;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const uint8_t *p = data;
    size_t left = len;
    uint64_t sum = len >= STRIPE ? stripes(&p, &left, seed) : seed + prime[4];

    sum = rest(sum + len, p, left);
    sum = (sum ^ sum >> 33) * prime[1];
    sum = (sum ^ sum >> 29) * prime[2];
    return sum ^ sum >> 32;
}

uint64_t hash_mix(uint64_t number)
{
    number = (number ^ number >> 32) * prime[1];
    number = (number ^ number >> 29) * prime[2];
    return number ^ number >> 32;
}

uint64_t random_next(struct random *r)
{
    return hash_mix(r->state += prime[0]);
}

uint64_t random_below(struct random *r, uint64_t n)
{
    return (random_next(r) >> 32) * n >> 32;
}

double random_unit(struct random *r)
{
    return (random_next(r) >> 11) * 0x1p-53;
}
