/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: log page D0h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "caller.h"
#include "nvme.h"

#define LOG_PIECE           (2 * NVME_PAGE)     /* of a log page at a time */
#define MAX_LOG_TRIES       8   /* of one that changes while it is read */

static int read_log(struct cintio *dev, uint64_t offset, void *buf, size_t len,
                    struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_GET_LOG, .nsid = UINT32_MAX,
        .cdw10 = (uint32_t)(len / 4 - 1) << 16 | NVME_CINT_LID,
        .cdw12 = offset, .cdw13 = offset >> 32,
    };

    return cintio_must(dev, NULL, "give log page D0h", &sqe, buf, len, NULL,
                       err);
}

/* Bytes of a page with such a header; 0: it is none. */
static size_t log_len(const NvmeCintLogHeader *head)
{
    size_t len = head->header_size +
                 (size_t)head->records * head->record_size +
                 (size_t)head->sq_records * head->sq_record_size;

    return head->magic == NVME_CINT_MAGIC && len % 4 == 0 &&
           head->header_size >= sizeof(*head) &&
           head->record_size >= sizeof(NvmeCintLogRecord) ? len : 0;
}

/* The first @len bytes, which are to be all; 0: they are not any more. */
static int read_all_of_log(struct cintio *dev, uint8_t *text, size_t len,
                           struct cintio_error *err)
{
    NvmeCintLogHeader head;
    int ret = 0;

    for (size_t at = 0; at < len && !ret; at += LOG_PIECE) {
        ret = read_log(dev, at, text + at,
                       len - at < LOG_PIECE ? len - at : LOG_PIECE, err);
    }
    memcpy(&head, text, sizeof(head));
    return ret ? ret : log_len(&head) == len;
}

/* It has a record for each queue, and other threads make queues meanwhile. */
static int read_whole_log(struct cintio *dev, void **page, size_t *size,
                          struct cintio_error *err)
{
    NvmeCintLogHeader head;
    uint8_t *text;
    int ret;

    for (unsigned int tries = 0; tries < MAX_LOG_TRIES; tries++) {
        ret = read_log(dev, 0, &head, sizeof(head), err);
        *size = ret ? 0 : log_len(&head);
        text = *size ? malloc(*size) : NULL;
        if (!text) {
            break;
        }
        ret = read_all_of_log(dev, text, *size, err);
        if (ret > 0) {
            *page = text;
            return 0;
        }
        free(text);
        if (ret) {
            return ret;
        }
    }
    return ret ? ret : cintio_fail(err, -EIO, "log page D0h of %s makes no "
                                   "sense", dev->info.address);
}

int cintio_log(struct cintio *dev, void **page, size_t *len,
               struct cintio_error *err)
{
    int ret;

    if (!(cintio_info(dev)->cint_caps & NVME_CINT_CAP_LOG)) {
        return cintio_fail(err, -ENOTSUP, "%s has no log page D0h: its device "
                           "needs cint=on", dev->info.address);
    }
    cintio_enter(dev);
    ret = read_whole_log(dev, page, len, err);
    cintio_leave(dev);
    return ret;
}
