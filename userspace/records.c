/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: interrupt status records are switched on and off.
 */
#include <errno.h>
#include <string.h>

#include "admin.h"
#include "caller.h"
#include "dma.h"

static int set_records(struct cintio *dev, bool on, struct cintio_error *err)
{
    NvmeCintStatus status = {
        .addr = on ? cintio_iova(dev->records, dev->records->addr) : 0,
        .records = on ? dev->info.queues + 1 : 0,
    };
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_SET_FEATURES, .cdw10 = NVME_CINT_FID_STATUS,
    };

    return cintio_must(dev, NULL, "keep status records", &sqe, &status,
                       sizeof(status), NULL, err);
}

/*
 * Once there is memory for them it stays: a queue from before a reset looks at
 * its record until it is destroyed.
 */
static int get_records(struct cintio *dev, struct cintio_error *err)
{
    return dev->records ? 0 :
        cintio_alloc(dev, (dev->options.queues + 1) * sizeof(NvmeCintRecord),
                     &dev->records, err);
}

/* No queue comes from here to the end of the switch. */
static int begin_switch(struct cintio *dev, struct cintio_error *err)
{
    bool busy;

    pthread_mutex_lock(&dev->tables_lock);
    busy = dev->switching;
    for (unsigned int i = 0; i < dev->options.queues; i++) {
        busy |= dev->queues[i] != NULL;
    }
    dev->switching |= !busy;
    pthread_mutex_unlock(&dev->tables_lock);
    return !busy ? 0 :
        cintio_fail(err, -EBUSY, "%s has queues: status records are switched "
                    "before there are any", dev->info.address);
}

static void end_switch(struct cintio *dev)
{
    pthread_mutex_lock(&dev->tables_lock);
    dev->switching = false;
    pthread_mutex_unlock(&dev->tables_lock);
}

static int switch_records(struct cintio *dev, bool on, struct cintio_error *err)
{
    int ret = 0;

    if (on == dev->keeps_records) {
        return 0;
    }
    if (on) {
        ret = get_records(dev, err);
    }
    if (!ret && on) {
        /* one of before would look new to queues that count from 0 again */
        memset(dev->records->addr, 0, dev->records->len);
    }
    if (!ret) {
        ret = set_records(dev, on, err);
    }
    if (!ret) {
        dev->keeps_records = on;
    }
    return ret;
}

int cintio_records(struct cintio *dev, bool on, struct cintio_error *err)
{
    int ret;

    if (!(cintio_info(dev)->cint_caps & NVME_CINT_CAP_STATUS_RECORDS)) {
        return cintio_fail(err, -ENOTSUP, "%s keeps no interrupt status "
                           "records: its device needs cint=on",
                           dev->info.address);
    }
    cintio_enter(dev);
    ret = begin_switch(dev, err);
    if (!ret) {
        ret = switch_records(dev, on, err);
        end_switch(dev);
    }
    cintio_leave(dev);
    return ret;
}
