/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Media latency model. See media.h.
 */
#include <stddef.h>
#include <string.h>

#include "../cint-must.h"
#include "media.h"

#define SECOND_NS   1000000000ull

/*
 * The longest that one command can take on a unit or a channel: far above what
 * sensible parameters give, and nine million of them in a row fit an int64_t.
 */
#define MOST_NS     (1000 * SECOND_NS)

#define NO_BURST    INT64_MAX

/* The last one is NULL. */
const char *const cint_media_names[CINT_NR_MEDIA + 1] = {
#define MEDIA(name, id, ...)    name
#include "media-list.h"
#undef MEDIA
};

static const CintMediaParams profiles[CINT_NR_MEDIA] = {
#define MEDIA(name, id, read, write, at_once, burst, each, read_kib,       \
              write_kib, read_rate, write_rate)                            \
    [CINT_MEDIA_##id] = {                                                  \
        .read_latency_ns = read,                                           \
        .write_latency_ns = write,                                         \
        .units = at_once,                                                  \
        .spread_ns = burst,                                                \
        .jitter_ns = each,                                                 \
        .read_per_kib_ns = read_kib,                                       \
        .write_per_kib_ns = write_kib,                                     \
        .read_bandwidth = read_rate,                                       \
        .write_bandwidth = write_rate,                                     \
    }
#include "media-list.h"
#undef MEDIA
};

void cint_media_profile(CintMediaParams *params)
{
    CintMediaParams profile = profiles[params->profile];

    profile.profile = params->profile;
    profile.seed = params->seed;
    *params = profile;
}

static bool is_too_narrow(uint64_t bandwidth)
{
    return bandwidth && bandwidth < CINT_MEDIA_MIN_BANDWIDTH;
}

const char *cint_media_conflict(const CintMediaParams *params)
{
    if (is_too_narrow(params->read_bandwidth)) {
        return "media.read-bandwidth is 0 (no limit) or at least 65536 bytes/s";
    }
    if (is_too_narrow(params->write_bandwidth)) {
        return "media.write-bandwidth is 0 (no limit) or at least 65536 "
               "bytes/s";
    }
    return NULL;
}

void cint_media_init(CintMedia *media, const CintMediaParams *params)
{
    CINT_MUST(!cint_media_conflict(params));
    memset(media, 0, sizeof(*media));
    media->random = params->seed;
    media->burst_ns = NO_BURST;
    media->params = *params;
}

void cint_media_configure(CintMedia *media, const CintMediaParams *params)
{
    if (media->params.seed != params->seed) {
        media->random = params->seed;
    }
    media->burst_ns = NO_BURST;
    media->params = *params;
}

/* SplitMix64: any seed will do, and one 64-bit word is all its state. */
static uint64_t next_random(CintMedia *media)
{
    uint64_t z = media->random += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in [-range, +range]. */
static int64_t draw(CintMedia *media, uint64_t range)
{
    if (!range) {
        return 0;
    }
    return (int64_t)(next_random(media) % (2 * range + 1)) - (int64_t)range;
}

/* What the commands of the burst that is fetched at @now have in common. */
static int64_t spread(CintMedia *media, int64_t now)
{
    if (now != media->burst_ns) {
        media->burst_ns = now;
        media->burst_spread_ns = draw(media, media->params.spread_ns);
    }
    return media->burst_spread_ns;
}

/* a x b / c, at most MOST_NS. */
static int64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t product;

    if (__builtin_mul_overflow(a, b, &product) || product / c > MOST_NS) {
        return MOST_NS;
    }
    return product / c;
}

static int64_t service_time(CintMedia *media, int64_t now, bool is_write,
                            uint64_t bytes)
{
    const CintMediaParams *p = &media->params;
    uint64_t base = is_write ? p->write_latency_ns : p->read_latency_ns;
    uint64_t per_kib = is_write ? p->write_per_kib_ns : p->read_per_kib_ns;
    int64_t time = base + scale(bytes, per_kib, 1024) + spread(media, now) +
                   draw(media, p->jitter_ns);

    return time > 0 ? time : 0;
}

/* Occupies what is free at *@free_ns for @time, from @now on or later. */
static CintMediaSpan occupy(int64_t *free_ns, int64_t now, int64_t time)
{
    CintMediaSpan span = { .start_ns = *free_ns > now ? *free_ns : now };

    if (__builtin_add_overflow(span.start_ns, time, &span.end_ns)) {
        span.end_ns = INT64_MAX;
    }
    *free_ns = span.end_ns;
    return span;
}

/*
 * What is left at @now of @span is free again. Those behind it keep their time,
 * so some may be at work at once later; given back all, it is free before @now.
 */
static void vacate(int64_t *free_ns, int64_t now, const CintMediaSpan *span)
{
    int64_t start = span->start_ns > now ? span->start_ns : now;

    CINT_MUST(span->end_ns >= span->start_ns);
    if (span->end_ns > start) {
        *free_ns -= span->end_ns - start;
    }
}

static uint32_t first_free_unit(const CintMedia *media)
{
    uint32_t i, best = 0;

    for (i = 1; i < media->params.units; i++) {
        if (media->unit_ns[i] < media->unit_ns[best]) {
            best = i;
        }
    }
    return best;
}

static CintMediaSpan occupy_unit(CintMedia *media, int64_t now, int64_t time,
                                 uint32_t *unit)
{
    int64_t own = now;

    if (!media->params.units) {
        *unit = CINT_MEDIA_MAX_UNITS;
        return occupy(&own, now, time);
    }
    *unit = first_free_unit(media);
    return occupy(&media->unit_ns[*unit], now, time);
}

/* Reserves the direction's bandwidth until the last byte is across. */
static CintMediaSpan occupy_channel(CintMedia *media, int64_t now,
                                    bool is_write, uint64_t bytes)
{
    const CintMediaParams *p = &media->params;
    uint64_t rate = is_write ? p->write_bandwidth : p->read_bandwidth;

    if (!rate) {
        return (CintMediaSpan) { .start_ns = now, .end_ns = now };
    }
    return occupy(&media->channel_ns[is_write], now,
                  scale(bytes, SECOND_NS, rate));
}

int64_t cint_media_reserve(CintMedia *media, int64_t now, bool is_write,
                           uint64_t bytes, CintMediaClaim *claim)
{
    int64_t time;

    memset(claim, 0, sizeof(*claim));
    if (media->params.profile == CINT_MEDIA_NONE) {
        return now;
    }
    time = service_time(media, now, is_write, bytes);
    claim->is_write = is_write;
    claim->service = occupy_unit(media, now, time, &claim->unit);
    claim->transfer = occupy_channel(media, now, is_write, bytes);
    CINT_MUST(claim->service.start_ns >= now && claim->transfer.end_ns >= now);
    return claim->service.end_ns > claim->transfer.end_ns ?
           claim->service.end_ns : claim->transfer.end_ns;
}

void cint_media_refund(CintMedia *media, int64_t now, CintMediaClaim *claim)
{
    if (claim->unit < CINT_MEDIA_MAX_UNITS) {
        vacate(&media->unit_ns[claim->unit], now, &claim->service);
    }
    vacate(&media->channel_ns[claim->is_write], now, &claim->transfer);
    memset(claim, 0, sizeof(*claim));
}
