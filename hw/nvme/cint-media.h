/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Media latency model: when a command's data transfer is over.
 *
 * A command occupies the unit that is free first for latency + size x per-kib
 * + jitter, and all commands of one direction share that direction's
 * bandwidth. Pure arithmetic over the time handed in; the same seed and the
 * same sequence of calls give the same times.
 */
#ifndef HW_NVME_CINT_MEDIA_H
#define HW_NVME_CINT_MEDIA_H

#include "cint-params.h"

typedef enum NvmeCintMediaProfile {
    NVME_CINT_MEDIA_NONE,       /* the block backend's own timing */
    NVME_CINT_MEDIA_OPTANE,
    NVME_CINT_MEDIA_P3700,
    NVME_CINT_MEDIA_GEN2,
    NVME_CINT_MEDIA_SATA,
    NVME_CINT_MEDIA_DRAM,
    NVME_CINT_MEDIA_ZSSD,
    NVME_CINT_MEDIA_RAM,
    NVME_CINT_MEDIA_SSD80,
    NVME_CINT_MEDIA_ARRAY,
    NVME_CINT_MEDIA_CUSTOM,
    NVME_CINT_NR_MEDIA,
} NvmeCintMediaProfile;

#define NVME_CINT_MAX_UNITS     1024

extern const char *const nvme_cint_media_names[];

typedef struct NvmeCintMedia {
    NvmeCintDeviceParams params;
    uint64_t random;
    int64_t read_channel_ns;    /* when the direction's bandwidth is free */
    int64_t write_channel_ns;
    int64_t unit_ns[NVME_CINT_MAX_UNITS];   /* busy until */
} NvmeCintMedia;

/* Sets the latency, units and bandwidth of @params->media in @params. */
void nvme_cint_media_profile(NvmeCintDeviceParams *params);

/* Starts idle at time 0, with @params->seed. */
void nvme_cint_media_init(NvmeCintMedia *media,
                          const NvmeCintDeviceParams *params);

/* New parameters; what is under way keeps its time. */
void nvme_cint_media_configure(NvmeCintMedia *media,
                               const NvmeCintDeviceParams *params);

/*
 * A command of @bytes was fetched at @now (ns). Returns when it is done,
 * never before @now; @now itself under the profile "none".
 */
int64_t nvme_cint_media_schedule(NvmeCintMedia *media, int64_t now,
                                 bool is_write, uint64_t bytes);

#endif /* HW_NVME_CINT_MEDIA_H */
