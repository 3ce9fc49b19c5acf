/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * As much of the NVMe base specification as the driver uses. Little endian, as
 * the machines are that it is built for.
 */
#ifndef CINTIO_NVME_H
#define CINTIO_NVME_H

#include <stdint.h>

/* Controller registers: offsets in BAR0. */
#define NVME_REG_CAP        0x00
#define NVME_REG_CC         0x14
#define NVME_REG_CSTS       0x1c
#define NVME_REG_AQA        0x24
#define NVME_REG_ASQ        0x28
#define NVME_REG_ACQ        0x30
#define NVME_REG_DOORBELLS  0x1000

#define NVME_CAP_MQES(cap)  ((unsigned int)((cap) & 0xffff) + 1)
#define NVME_CAP_TO_MS(cap) ((unsigned int)((cap) >> 24 & 0xff) * 500)
#define NVME_CAP_DSTRD(cap) ((unsigned int)((cap) >> 32 & 0xf))
#define NVME_CAP_MPSMIN(cap) ((unsigned int)((cap) >> 48 & 0xf))

#define NVME_CC_EN          (1u << 0)
#define NVME_CC_IOSQES      (6u << 16)  /* 64 bytes */
#define NVME_CC_IOCQES      (4u << 20)  /* 16 bytes */

#define NVME_CC_SHN         (3u << 14)
#define NVME_CC_SHN_NORMAL  (1u << 14)

#define NVME_CSTS_RDY       (1u << 0)
#define NVME_CSTS_CFS       (1u << 1)
#define NVME_CSTS_SHST      (3u << 2)
#define NVME_CSTS_SHST_DONE (2u << 2)
#define NVME_GONE           UINT32_MAX  /* what a register of no device reads */

enum {
    NVME_ADMIN_DELETE_SQ    = 0x00,
    NVME_ADMIN_CREATE_SQ    = 0x01,
    NVME_ADMIN_GET_LOG      = 0x02,
    NVME_ADMIN_DELETE_CQ    = 0x04,
    NVME_ADMIN_CREATE_CQ    = 0x05,
    NVME_ADMIN_IDENTIFY     = 0x06,
    NVME_ADMIN_ABORT        = 0x08,
    NVME_ADMIN_SET_FEATURES = 0x09,
    NVME_ADMIN_GET_FEATURES = 0x0a,
};

enum {
    NVME_CMD_FLUSH          = 0x00,
    NVME_CMD_WRITE          = 0x01,
    NVME_CMD_READ           = 0x02,
};

#define NVME_CNS_NAMESPACE  0
#define NVME_CNS_CONTROLLER 1
#define NVME_CNS_ACTIVE     2           /* namespaces, a list */
#define NVME_FID_QUEUES     0x07
#define NVME_SC_INVALID_NAMESPACE 0x00b
#define NVME_SC_INVALID_QUEUE 0x101     /* an identifier that is not in use */
#define NVME_STATUS(status) ((status) >> 1 & 0x7ff)     /* of a CQE */
#define NVME_MORE_OF(status) ((status) >> 12 & 0xf)     /* DNR, M, CRD */
#define NVME_QUEUE_CONTIGUOUS (1u << 0)
#define NVME_CQ_IEN         (1u << 1)

#define NVME_RW_FUA         (1u << 30)  /* CDW12 */
#define NVME_SQE_PSDT       (3u << 6)   /* flags: PRPs, or SGLs */
#define NVME_SQE_SGL        (1u << 6)
#define NVME_SGL_LAST_SEGMENT 0x30      /* the list that this points to */

struct nvme_sqe {
    uint8_t opcode, flags;
    uint16_t cid;
    uint32_t nsid;
    uint32_t cdw2, cdw3;
    uint64_t mptr, prp1, prp2;
    uint32_t cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};

struct nvme_cqe {
    uint32_t result, result_high;
    uint16_t sq_head, sq_id, cid;
    uint16_t status;            /* bit 0 is the phase */
};

struct nvme_sgl {
    uint64_t addr;
    uint32_t len;
    uint8_t rsvd[3], type;      /* 0: data */
};

#define NVME_PAGE           4096u

_Static_assert(sizeof(struct nvme_sqe) == 64, "SQE");
_Static_assert(sizeof(struct nvme_cqe) == 16, "CQE");
_Static_assert(sizeof(struct nvme_sgl) == 16, "SGL descriptor");

#endif
