/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read and Write as NVMe commands that a ring passes through the kernel, which
 * refuses reserved bits of CDW0: hints are in CDW13.
 */
#include "hintio.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/nvme_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>

#define NVME_READ 2
#define NVME_WRITE 1
#define NVME_IDENTIFY 6

#define IDENTIFY_BYTES 4096
/* of Identify Namespace: the format in use, and the formats */
#define ID_FLBAS 26
#define ID_LBAF 128

#define CDW13_URGENT (1u << 8)
#define CDW13_BARRIER (1u << 9)

void command_open(struct work *w)
{
    uint8_t id[IDENTIFY_BYTES] = { 0 };
    int nsid = ioctl(w->fd, NVME_IOCTL_ID);
    struct nvme_admin_cmd cmd = {
        .opcode = NVME_IDENTIFY,
        .nsid = nsid,
        .addr = (uintptr_t)id,
        .data_len = sizeof(id),
    };

    if (nsid < 0 || ioctl(w->fd, NVME_IOCTL_ADMIN_CMD, &cmd)) {
        fail(w, "no namespace of an NVMe controller, such as /dev/ng0n1",
             nsid < 0 ? errno : 0);
    }
    w->nsid = nsid;
    w->block_shift = id[ID_LBAF + 4 * (id[ID_FLBAS] & 0xf) + 2];
    if ((w->size | w->offset | w->stride) & ((1u << w->block_shift) - 1)) {
        fail(w, "--size, --offset and --stride: not in blocks of the namespace",
             0);
    }
}

void command_fill(const struct work *w, struct io_uring_sqe *sqe, struct io io)
{
    uint64_t lba = io.offset >> w->block_shift;
    struct nvme_uring_cmd cmd = {
        .opcode = w->write ? NVME_WRITE : NVME_READ,
        .nsid = w->nsid,
        .addr = (uintptr_t)io.data,
        .data_len = w->size,
        .cdw10 = lba,
        .cdw11 = lba >> 32,
        .cdw12 = (w->size >> w->block_shift) - 1,
        .cdw13 = (io.flags & RWF_URGENT ? CDW13_URGENT : 0) |
                 (io.flags & RWF_BARRIER ? CDW13_BARRIER : 0),
    };

    sqe->opcode = IORING_OP_URING_CMD;
    sqe->fd = w->fd;
    sqe->cmd_op = NVME_URING_CMD_IO;
    memcpy(sqe->cmd, &cmd, sizeof(cmd));
}

int64_t command_result(const struct work *w, int32_t result)
{
    /* an errno, or the status of the command: 0 is all of it */
    return result < 0 ? result : result ? -EIO : (int64_t)w->size;
}
