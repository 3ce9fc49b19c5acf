/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Media latency model. See cint-media.h.
 */
#include "qemu/osdep.h"
#include "qemu/timer.h"

#include "cint-media.h"

const char *const nvme_cint_media_names[] = {
    [NVME_CINT_MEDIA_NONE]      = "none",
    [NVME_CINT_MEDIA_OPTANE]    = "optane",
    [NVME_CINT_MEDIA_P3700]     = "p3700",
    [NVME_CINT_MEDIA_GEN2]      = "gen2",
    [NVME_CINT_MEDIA_SATA]      = "sata",
    [NVME_CINT_MEDIA_DRAM]      = "dram",
    [NVME_CINT_MEDIA_ZSSD]      = "zssd",
    [NVME_CINT_MEDIA_RAM]       = "ram",
    [NVME_CINT_MEDIA_SSD80]     = "ssd80",
    [NVME_CINT_MEDIA_ARRAY]     = "array",
    [NVME_CINT_MEDIA_CUSTOM]    = "custom",
    NULL,
};

/*
 * The papers name drives and quote end-to-end times; the media's share is
 * derived from those. Fields that are absent are 0: no cost, no limit.
 */
static const NvmeCintDeviceParams profiles[NVME_CINT_NR_MEDIA] = {
    /*
     * 10 us for a sync 4 KiB read, 3 us of which are software. The papers'
     * drive is a DC P4800X, whose data sheet has 550 K reads and 500 K writes
     * of 4 KiB a second.
     */
    [NVME_CINT_MEDIA_OPTANE] = {
        .read_latency_ns = 7000, .write_latency_ns = 7000, .units = 8,
        .read_bandwidth = 550000 * 4096ull,
        .write_bandwidth = 500000 * 4096ull,
    },
    /* 80 us with a standard deviation of 28 us, which is 48 us / sqrt(3). */
    [NVME_CINT_MEDIA_P3700] = {
        .read_latency_ns = 76000, .write_latency_ns = 76000, .units = 40,
        .jitter_ns = 48000,
    },
    /* The end points of the device range in cinterrupts Figures 3 and 4. */
    [NVME_CINT_MEDIA_GEN2] = {
        .read_latency_ns = 3500, .write_latency_ns = 3500, .units = 8,
    },
    [NVME_CINT_MEDIA_SATA] = {
        .read_latency_ns = 100000, .write_latency_ns = 100000, .units = 8,
    },
    /* Le Moal: 512 B in 3.16 us from user space with polling. */
    [NVME_CINT_MEDIA_DRAM] = {
        .read_latency_ns = 2900, .write_latency_ns = 2900, .units = 1,
    },
    /*
     * Jiang: reads of 4 and 128 KiB take 12 and 38 us, writes 4 and 61 us;
     * about 3.2 and 2.15 GB/s. The two sizes give slope and intercept.
     */
    [NVME_CINT_MEDIA_ZSSD] = {
        .read_latency_ns = 11160, .read_per_kib_ns = 210,
        .write_latency_ns = 2160, .write_per_kib_ns = 460, .units = 64,
        .read_bandwidth = 3200000000, .write_bandwidth = 2150000000,
    },
    [NVME_CINT_MEDIA_SSD80] = {
        .read_latency_ns = 80000, .write_latency_ns = 80000, .units = 64,
    },
    /* vIC: 8 outstanding reads give 30.5 KIOPS, the array stops at 53 K. */
    [NVME_CINT_MEDIA_ARRAY] = {
        .read_latency_ns = 260000, .write_latency_ns = 260000, .units = 14,
    },
};

void nvme_cint_media_profile(NvmeCintDeviceParams *params)
{
    NvmeCintDeviceParams profile = profiles[params->media];

    profile.media = params->media;
    profile.time = params->time;
    profile.slots = params->slots;
    profile.seed = params->seed;
    *params = profile;
}

void nvme_cint_media_init(NvmeCintMedia *media,
                          const NvmeCintDeviceParams *params)
{
    memset(media, 0, sizeof(*media));
    media->random = params->seed;
    media->params = *params;
}

void nvme_cint_media_configure(NvmeCintMedia *media,
                               const NvmeCintDeviceParams *params)
{
    if (media->params.seed != params->seed) {
        media->random = params->seed;
    }
    media->params = *params;
}

/* SplitMix64: any seed will do, and one 64-bit word is all its state. */
static uint64_t next_random(NvmeCintMedia *media)
{
    uint64_t z = media->random += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Uniform in [-jitter, +jitter]. */
static int64_t jitter(NvmeCintMedia *media)
{
    uint64_t range = media->params.jitter_ns;

    if (!range) {
        return 0;
    }
    return (int64_t)(next_random(media) % (2 * range + 1)) - (int64_t)range;
}

static int64_t service_time(NvmeCintMedia *media, bool is_write,
                            uint64_t bytes)
{
    const NvmeCintDeviceParams *p = &media->params;
    uint64_t base = is_write ? p->write_latency_ns : p->read_latency_ns;
    uint64_t per_kib = is_write ? p->write_per_kib_ns : p->read_per_kib_ns;
    int64_t time = base + bytes * per_kib / 1024 + jitter(media);

    return MAX(time, 0);
}

/* Occupies the unit that is free first. Returns when it is done. */
static int64_t occupy_unit(NvmeCintMedia *media, int64_t now, int64_t time)
{
    uint64_t i, best = 0;

    if (!media->params.units) {
        return now + time;
    }
    for (i = 1; i < media->params.units; i++) {
        if (media->unit_ns[i] < media->unit_ns[best]) {
            best = i;
        }
    }
    media->unit_ns[best] = MAX(media->unit_ns[best], now) + time;
    return media->unit_ns[best];
}

/* Reserves the direction's bandwidth. Returns when the last byte is across. */
static int64_t occupy_channel(NvmeCintMedia *media, int64_t now, bool is_write,
                              uint64_t bytes)
{
    const NvmeCintDeviceParams *p = &media->params;
    uint64_t rate = is_write ? p->write_bandwidth : p->read_bandwidth;
    int64_t *free_ns = is_write ? &media->write_channel_ns
                                : &media->read_channel_ns;

    if (!rate) {
        return now;
    }
    *free_ns = MAX(*free_ns, now) + bytes * NANOSECONDS_PER_SECOND / rate;
    return *free_ns;
}

int64_t nvme_cint_media_schedule(NvmeCintMedia *media, int64_t now,
                                 bool is_write, uint64_t bytes)
{
    int64_t unit_done, channel_done;

    if (media->params.media == NVME_CINT_MEDIA_NONE) {
        return now;
    }
    unit_done = occupy_unit(media, now, service_time(media, is_write, bytes));
    channel_done = occupy_channel(media, now, is_write, bytes);
    return MAX(unit_done, channel_done);
}
