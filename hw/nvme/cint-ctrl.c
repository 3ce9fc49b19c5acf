/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the life of the controller and of its queues: made, reset, dropped.
 */
#include "qemu/osdep.h"

#include "cint-arb.h"
#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-migrate.h"
#include "cint-notify.h"
#include "cint-park.h"
#include "cint-props.h"
#include "cint-regs.h"
#include "cint-sq.h"
#include "thread.h"

#define CAP_AMS_WRR     0x1     /* weighted round robin with urgent class */

/* ---- Queues ---- */

void nvme_cint_do_init_cq(NvmeCQueue *cq)
{
    NvmeCintCq *ccq = g_new0(NvmeCintCq, 1);

    cq->cint = ccq;
    nvme_cint_cq_init(ccq, cq);
    nvme_cint_park_init(ccq);
}

void nvme_cint_do_free_cq(NvmeCQueue *cq)
{
    NvmeCintCq *ccq = cq->cint;

    cq->cint = NULL;
    nvme_cint_park_free(ccq);
    nvme_cint_cq_free(ccq);
    g_free(ccq);
}

void nvme_cint_do_stop_cq(NvmeCQueue *cq)
{
    timer_del(cq->cint->irq_timer);
    timer_del(cq->cint->post_timer);
}

/* No slot is for it any more, so no thread but its own wakes it. */
void nvme_cint_do_stop_sq(NvmeSQueue *sq)
{
    nvme_cint_set_backlog(sq->cint, 0);
}

void nvme_cint_do_init_sq(NvmeSQueue *sq)
{
    NvmeCintSq *csq = g_new0(NvmeCintSq, 1);

    sq->cint = csq;
    nvme_cint_sq_init(csq, sq);
}

void nvme_cint_do_free_sq(NvmeSQueue *sq)
{
    NvmeCintSq *csq = sq->cint;

    nvme_cint_sq_free(csq);
    sq->cint = NULL;
    g_free(csq);
}

/* ---- Controller ---- */

static void reset_scopes(NvmeCint *cint)
{
    NvmeThread *thread;

    cint_scope_init(&cint->main.scope);
    QLIST_FOREACH(thread, &cint->n->subsys->threads, entry) {
        if (thread->n == cint->n) {
            cint_scope_init(&thread->cint->scope);
        }
    }
}

/*
 * As at power-on: what Set Features changed is gone, and nothing is in flight.
 * Properties stay. The medium is idle by now: whatever ends before its time
 * gives back what is left of it.
 */
static void reset_all(NvmeCint *cint)
{
    cint->config = cint->n->params.cint.config;
    nvme_cint_set_arbitration(cint, NVME_ARB_AB_NOLIMIT);
    cint->status = (NvmeCintStatus) { 0 };
    bitmap_zero(cint->cd, PCI_MSIX_FLAGS_QSIZE + 1);
    reset_scopes(cint);
    cint->late = 0;
}

/*
 * A reset has two halves. From here to its end no interrupt is due. ctrl.c then
 * cancels what is in flight, also what waits here, and fetches and posts
 * nothing; what a command has set is still in force.
 */
void nvme_cint_do_reset(NvmeCtrl *n)
{
    uint32_t i;

    nvme_pause(n);
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        NvmeCintCq *ccq = nvme_cint_cq_at(n, i);

        if (ccq) {
            nvme_cint_cq_stop(ccq);
        }
    }
    nvme_resume(n);
}

/* The second half, when there is nobody who could change what it restores. */
void nvme_cint_do_reset_done(NvmeCtrl *n)
{
    reset_all(n->cint);
}

static void fill_capabilities(NvmeCtrl *n)
{
    uint64_t cap = ldq_le_p(&n->bar.cap);

    NVME_CAP_SET_AMS(cap, CAP_AMS_WRR);
    stq_le_p(&n->bar.cap, cap);
}

static void fill_identify(NvmeCtrl *n)
{
    NvmeCintIdentify *id = (NvmeCintIdentify *)n->id_ctrl.vs;

    QEMU_BUILD_BUG_ON(offsetof(NvmeIdCtrl, vs) != NVME_CINT_IDENTIFY_OFFSET);
    QEMU_BUILD_BUG_ON(sizeof(NvmeCintIdentify) != 64);

    id->magic = cpu_to_le32(NVME_CINT_MAGIC);
    id->version = cpu_to_le16(NVME_CINT_VERSION);
    id->size = cpu_to_le16(sizeof(*id));
    id->caps = cpu_to_le32(NVME_CINT_CAP_HINTS | NVME_CINT_CAP_OOO |
                           NVME_CINT_CAP_STRICT_BARRIER |
                           NVME_CINT_CAP_STORM | NVME_CINT_CAP_VIC |
                           NVME_CINT_CAP_POINTER | NVME_CINT_CAP_INFER |
                           NVME_CINT_CAP_STATUS_RECORDS | NVME_CINT_CAP_LOG |
                           NVME_CINT_CAP_LATENCY);
    id->config_fid = NVME_CINT_FID_CONFIG;
    id->status_fid = NVME_CINT_FID_STATUS;
    id->lid = NVME_CINT_LID;
    id->regs_offset = cpu_to_le32(nvme_cint_regs_offset(n));
    id->regs_stride = cpu_to_le32(NVME_CINT_REGS_STRIDE);
}

/* What each thread has of the model goes with it. */
static void realize_servers(NvmeCint *cint)
{
    NvmeThread *thread;
    unsigned threads = 0;

    nvme_cint_server_init(&cint->main, cint->n, false);
    QLIST_FOREACH(thread, &cint->n->subsys->threads, entry) {
        if (thread->n == cint->n) {
            thread->cint = g_new0(NvmeCintServer, 1);
            nvme_cint_server_init(thread->cint, cint->n, true);
            threads++;
        }
    }
    cint->has_lock = threads > 1;
    qemu_mutex_init(&cint->lock);
}

void nvme_cint_realize(NvmeCtrl *n)
{
    const NvmeCintDeviceParams *device = &n->params.cint.device;
    NvmeCint *cint;

    if (!n->params.cint.on) {
        return;
    }

    cint = n->cint = g_new0(NvmeCint, 1);
    cint->n = n;
    cint->pci = PCI_DEVICE(n);
    cint->virtual_time = nvme_cint_wants_virtual_time(n);
    cint->vector_irqs = g_new0(uint64_t, n->params.msix_qsize);
    realize_servers(cint);
    nvme_cint_arb_init(cint, device->slots);
    cint_media_init(&cint->media, &device->media);
    reset_all(cint);
    fill_capabilities(n);
    fill_identify(n);
    nvme_cint_migrate_init(n);
}

void nvme_cint_exit(NvmeCtrl *n)
{
    if (n->cint) {
        qemu_mutex_destroy(&n->cint->lock);
        nvme_cint_migrate_exit(n);
        g_free(n->cint->vector_irqs);
        g_free(n->cint);
        n->cint = NULL;
    }
}
