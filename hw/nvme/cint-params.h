/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What `-device nvme,cint...` sets. Part of NvmeParams, hence plain values
 * only: an SR-IOV virtual function copies its parent's.
 */
#ifndef HW_NVME_CINT_PARAMS_H
#define HW_NVME_CINT_PARAMS_H

#include "coalesce/coalesce.h"
#include "model/media.h"

typedef enum NvmeCintTime {
    NVME_CINT_TIME_AUTO,
    NVME_CINT_TIME_VIRTUAL,
    NVME_CINT_TIME_REAL,
} NvmeCintTime;

/* Every field, those of media too, is a row of nvme_cint_device_params[]. */
typedef struct NvmeCintDeviceParams {
    uint64_t time;              /* NvmeCintTime */
    uint64_t slots;             /* 0 = as many as there are commands */
    CintMediaParams media;
} NvmeCintDeviceParams;

typedef struct NvmeCintParams {
    bool on;
    bool freeze_records;        /* x-cint-freeze-records */
    /* Bit i: row i of the table was set by the user. */
    uint32_t device_set;
    uint32_t config_set;
    NvmeCintDeviceParams device;
    CintConfig config;
} NvmeCintParams;

#endif /* HW_NVME_CINT_PARAMS_H */
