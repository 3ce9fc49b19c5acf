/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Media latency model. See media.h.
 */
#include <stddef.h>
#include <string.h>

#include "media.h"

#define SECOND_NS   1000000000ull

/*
 * The longest that one command can take on a unit or a channel: far above what
 * sensible parameters give, and nine million of them in a row fit an int64_t.
 */
#define MOST_NS     (1000 * SECOND_NS)

const char *const cint_media_names[] = {
    [CINT_MEDIA_NONE]   = "none",
    [CINT_MEDIA_OPTANE] = "optane",
    [CINT_MEDIA_P3700]  = "p3700",
    [CINT_MEDIA_GEN2]   = "gen2",
    [CINT_MEDIA_SATA]   = "sata",
    [CINT_MEDIA_DRAM]   = "dram",
    [CINT_MEDIA_ZSSD]   = "zssd",
    [CINT_MEDIA_RAM]    = "ram",
    [CINT_MEDIA_SSD80]  = "ssd80",
    [CINT_MEDIA_ARRAY]  = "array",
    [CINT_MEDIA_CUSTOM] = "custom",
    NULL,
};

/*
 * The papers name drives and quote end-to-end times; the media's share is
 * derived from those. Fields that are absent are 0: no cost, no limit.
 */
static const CintMediaParams profiles[CINT_NR_MEDIA] = {
    /*
     * 10 us for a sync 4 KiB read, 3 us of which are software. The papers'
     * drive is a DC P4800X, whose data sheet has 550 K reads and 500 K writes
     * of 4 KiB a second.
     */
    [CINT_MEDIA_OPTANE] = {
        .read_latency_ns = 7000, .write_latency_ns = 7000, .units = 8,
        .read_bandwidth = 550000 * 4096ull,
        .write_bandwidth = 500000 * 4096ull,
    },
    /* 80 us with a standard deviation of 28 us, which is 48 us / sqrt(3). */
    [CINT_MEDIA_P3700] = {
        .read_latency_ns = 76000, .write_latency_ns = 76000, .units = 40,
        .jitter_ns = 48000,
    },
    /* The end points of the device range in cinterrupts Figures 3 and 4. */
    [CINT_MEDIA_GEN2] = {
        .read_latency_ns = 3500, .write_latency_ns = 3500, .units = 8,
    },
    [CINT_MEDIA_SATA] = {
        .read_latency_ns = 100000, .write_latency_ns = 100000, .units = 8,
    },
    /* Le Moal: 512 B in 3.16 us from user space with polling. */
    [CINT_MEDIA_DRAM] = {
        .read_latency_ns = 2900, .write_latency_ns = 2900, .units = 1,
    },
    /*
     * Jiang: reads of 4 and 128 KiB take 12 and 38 us, writes 4 and 61 us;
     * about 3.2 and 2.15 GB/s. The two sizes give slope and intercept.
     */
    [CINT_MEDIA_ZSSD] = {
        .read_latency_ns = 11160, .read_per_kib_ns = 210,
        .write_latency_ns = 2160, .write_per_kib_ns = 460, .units = 64,
        .read_bandwidth = 3200000000, .write_bandwidth = 2150000000,
    },
    [CINT_MEDIA_SSD80] = {
        .read_latency_ns = 80000, .write_latency_ns = 80000, .units = 64,
    },
    /* vIC: 8 outstanding reads give 30.5 KIOPS, the array stops at 53 K. */
    [CINT_MEDIA_ARRAY] = {
        .read_latency_ns = 260000, .write_latency_ns = 260000, .units = 14,
    },
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
    memset(media, 0, sizeof(*media));
    media->random = params->seed;
    media->params = *params;
}

void cint_media_configure(CintMedia *media, const CintMediaParams *params)
{
    if (media->params.seed != params->seed) {
        media->random = params->seed;
    }
    media->params = *params;
}

void cint_media_reset(CintMedia *media)
{
    memset(media->unit_ns, 0, sizeof(media->unit_ns));
    memset(media->channel_ns, 0, sizeof(media->channel_ns));
}

/* SplitMix64: any seed will do, and one 64-bit word is all its state. */
static uint64_t next_random(CintMedia *media)
{
    uint64_t z = media->random += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in [-jitter, +jitter]. */
static int64_t jitter(CintMedia *media)
{
    uint64_t range = media->params.jitter_ns;

    if (!range) {
        return 0;
    }
    return (int64_t)(next_random(media) % (2 * range + 1)) - (int64_t)range;
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

static int64_t service_time(CintMedia *media, bool is_write, uint64_t bytes)
{
    const CintMediaParams *p = &media->params;
    uint64_t base = is_write ? p->write_latency_ns : p->read_latency_ns;
    uint64_t per_kib = is_write ? p->write_per_kib_ns : p->read_per_kib_ns;
    int64_t time = base + scale(bytes, per_kib, 1024) + jitter(media);

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

/* What is left at @now of @span is free again. */
static void vacate(int64_t *free_ns, int64_t now, const CintMediaSpan *span)
{
    int64_t start = span->start_ns > now ? span->start_ns : now;

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
    time = service_time(media, is_write, bytes);
    claim->is_write = is_write;
    claim->service = occupy_unit(media, now, time, &claim->unit);
    claim->transfer = occupy_channel(media, now, is_write, bytes);
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
