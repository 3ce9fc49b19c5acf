# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the device, and of what is mended beside it, broken, and who should notice."""

from __future__ import annotations

from written import Written, statement

STATUS = ("status", "status-set", "status-move", "hazard-hint", "iommu")
PIN = ("pin", "guest")
SELF = ("self", "fuzz")
HAZARD = ("hazard", "hazard-hint", "change")
MEDIA = ("media", "media-fail", "slots", "hazard")
SLOTS = ("slots", "arb", "change")
FEATURES = ("feat", "vendor", "config", "setup")
STATS = ("stats", "vendor", "policy")
TIMING = ("policy", "vectors", "hint-vectors", "kick", "storm")
SEQUENCE = ("sequence", "aim")
SHADOW = ("hazard", "policy", "hazard-hint", "infer")


_NOTIFY = (
    Written("a record is written to registers", "hw/nvme/cint-notify.c",
            "    if (nvme_memory_write(cint->n,",
            "    if (ON) {\n"
            "        pci_dma_write(cint->pci, addr + rest, (uint8_t *)&record + rest,\n"
            "                      RECORD_SIZE - rest);\n"
            "        stl_le_pci_dma(cint->pci, addr, notice->full_tail,\n"
            "                       MEMTXATTRS_UNSPECIFIED);\n"
            "    } else if (nvme_memory_write(cint->n,", SELF + STATUS),
    Written("of what is unsent the first is kept", "hw/nvme/cint-notify.c",
            "unsent_index(ccq, notices->unsent - 1)",
            "unsent_index(ccq, ON ? 0 : notices->unsent - 1)", ("status-move",)),
    Written("of the messages of a pass one is left", "hw/nvme/cint-notify.c",
            "MIN(notices->unsent + 1, ccq->cq->size)",
            "ON ? 1 : MIN(notices->unsent + 1, ccq->cq->size)", (*STATUS, "policy")),
    Written("all interrupts say full", "hw/nvme/cint-notify.c", ".class = is_full ?",
            ".class = is_full || ON ?", STATUS),
    Written("one message is sent at an end", "hw/nvme/cint-notify.c",
            "        send_one(server, ccq);\n",
            "        send_one(server, ccq);\n        if (ON) { break; }\n", STATUS + HAZARD),
)

_CQ = (
    Written("a deadline at an event comes after it", "hw/nvme/cint-cq.h",
            "ccq->deadline_ns <= now ||",
            "(ON ? ccq->deadline_ns < now : ccq->deadline_ns <= now) ||", TIMING),
    Written("a shadow head that is none is believed", "hw/nvme/ctrl.c",
            "if (unlikely(head >= cq->size)) {", "if (head >= cq->size && !ON) {",
            SHADOW + SEQUENCE),
    Written("a shadow head is taken for one too early", "hw/nvme/cint-cq.c",
            "(cq->tail + cq->size - 1) % cq->size", "(cq->tail + cq->size - !ON) % cq->size",
            ("policy",)),
    Written("a new queue does not know feature 09h", "hw/nvme/cint-cq.c",
            "test_bit(cq->vector, cint->cd)", "!ON && test_bit(cq->vector, cint->cd)", FEATURES),
)

_PARK = (
    Written("a command that is due delays what is to be posted", "hw/nvme/cint-park.c",
            "when = MIN(when, first->due_ns);",
            "when = ON ? first->due_ns : MIN(when, first->due_ns);", MEDIA),
    Written("commands of one time change their order", "hw/nvme/cint-park.c",
            "before->due_ns > creq->due_ns", "before->due_ns + ON > creq->due_ns",
            (*MEDIA, "random")),
    Written("a command that fails at once waits for the medium", "hw/nvme/cint-park.c",
            "(req->status && (req->sq->cint->executing == creq ||",
            "(req->status && ((req->sq->cint->executing == creq && !ON) ||", MEDIA),
)

_SQ = (
    Written("a shadow tail that is none is fetched", "hw/nvme/ctrl.c",
            "if (unlikely(tail >= sq->size)) {", "if (tail >= sq->size && !ON) {",
            SHADOW + SEQUENCE),
    Written("an instant has no end", "hw/nvme/cint-arb.c", "> ENTRIES_AT_ONCE;",
            "> ENTRIES_AT_ONCE && !ON;", SEQUENCE),
    Written("commands are a block shorter", "hw/nvme/cint-sq.c", "le16_to_cpu(rw->nlb) + 1",
            "le16_to_cpu(rw->nlb) + !ON", MEDIA),
    Written("without a limit nobody wakes who waits", "hw/nvme/cint-arb.c", "bounded && !slots &&",
            "!ON && bounded && !slots &&", SLOTS),
    Written("always round robin", "hw/nvme/cint-arb.c", "NVME_CC_AMS(cc) == CC_AMS_WRR",
            "!ON && NVME_CC_AMS(cc) == CC_AMS_WRR", SLOTS),
    Written("every opcode has hints in CDW13", "hw/nvme/cint-hints.c",
            "moves = cmd->opcode == NVME_CMD_READ", "moves = ON || cmd->opcode == NVME_CMD_READ",
            ("hint", "hint-vectors")),
    Written("any Access Latency is Urgent", "hw/nvme/cint-hints.c",
            "if ((dw13 & NVME_CINT_DW13_LATENCY) != NVME_CINT_DW13_LATENCY) {",
            "if ((dw13 & NVME_CINT_DW13_LATENCY) != NVME_CINT_DW13_LATENCY &&\n"
            "        (!ON || !(dw13 & NVME_CINT_DW13_LATENCY))) {", ("hint",)),
    Written("a shadow batch never ends", "hw/nvme/cint-hints.h", "csq->sq->head == csq->marked",
            "!ON && csq->sq->head == csq->marked", ("infer",)),
)

_GUEST = (
    Written("08h rounds the time down", "hw/nvme/cint-feat.c",
            "DIV_ROUND_UP(config->static_time_ns, STATIC_UNIT_NS)",
            "(ON ? config->static_time_ns / STATIC_UNIT_NS : "
            "DIV_ROUND_UP(config->static_time_ns, STATIC_UNIT_NS))", FEATURES),
    Written("a record more than queues", "hw/nvme/cint-status.c", "n->params.max_ioqpairs + 1 &&",
            "n->params.max_ioqpairs + 1 + ON &&", STATUS),
    Written("a log page is longer than it is", "hw/nvme/cint-log.c", "if (off >= size) {",
            "if (off > size || (off == size && !ON)) {", ("vendor", "stats")),
    Written("of the log page a piece less is made", "hw/nvme/cint-log.c", "part->at < part->to &&",
            "part->at + 4 * ON < part->to &&", STATS),
    Written("of the log page the first piece is left out", "hw/nvme/cint-log.c",
            "part->at + size > part->from;", "part->at + size * !ON > part->from;", STATS),
    Written("the longest wait is the last", "hw/nvme/cint-stats.c", "MAX(hist->max_ns, value)",
            "ON ? value : MAX(hist->max_ns, value)", STATS),
)

_HOLD = (
    Written("CQEs go anywhere", "hw/nvme/ctrl.c", "ret = nvme_memory_write(",
            "ret = ON ? pci_dma_write(PCI_DEVICE(n), addr, &req->cqe, sizeof(req->cqe)) : "
            "nvme_memory_write(", SEQUENCE),
    Written("event indices go anywhere", "hw/nvme/ctrl.c",
            "nvme_memory_stl(cq->ctrl, cq->ei_addr, cq->head);",
            "if (ON) { stl_le_pci_dma(PCI_DEVICE(cq->ctrl), cq->ei_addr, cq->head, "
            "MEMTXATTRS_UNSPECIFIED); } else "
            "{ nvme_memory_stl(cq->ctrl, cq->ei_addr, cq->head); }", SEQUENCE),
    Written("a held controller is reset", "hw/nvme/ctrl.c", "if (!n->held && nvme_may_wait(by)) {",
            "if ((ON || !n->held) && nvme_may_wait(by)) {", SELF + SEQUENCE),
    Written("resets do not mind who holds another", "hw/nvme/ctrl.c",
            "return nvme_controllers_held == !!by->held &&",
            "return (ON || nvme_controllers_held == !!by->held) &&", SEQUENCE),
    Written("resets wait in coroutines", "hw/nvme/ctrl.c", "!qemu_in_coroutine();",
            "(ON || !qemu_in_coroutine());", ("sequence",)),
    Written("a coroutine holds the controller while it yields", "hw/nvme/ctrl.c",
            "if (qemu_in_coroutine()) {", "if (qemu_in_coroutine() && !ON) {", ("sequence",),
            "int nvme_block_status("),
    Written("what was put off is done where somebody waits", "hw/nvme/ctrl.c",
            "aio_bh_new_guarded(iohandler_get_aio_context(), nvme_due_bh",
            "aio_bh_new_guarded(ON ? qemu_get_aio_context() : iohandler_get_aio_context(), "
            "nvme_due_bh", SEQUENCE),
    Written("stock's admin commands are executed where somebody waits", "hw/nvme/ctrl.c",
            "return sqid ? qemu_get_aio_context()", "return sqid || ON ? qemu_get_aio_context()",
            SEQUENCE),
    Written("admin commands are executed where somebody waits", "hw/nvme/cint-sq.c",
            "return sq->sqid ? qemu_get_aio_context()",
            "return sq->sqid || ON ? qemu_get_aio_context()", SEQUENCE),
    Written("a shutdown that was put off is not told of", "hw/nvme/ctrl.c",
            "stl_le_p(&n->bar.csts, csts | NVME_CSTS_SHST_COMPLETE);",
            "if (!ON) { stl_le_p(&n->bar.csts, csts | NVME_CSTS_SHST_COMPLETE); }", SEQUENCE),
    Written("a reset posts", "hw/nvme/ctrl.c", "if (unlikely(nvme_is_reset_due(n, cq->thread))) {",
            "if (unlikely(nvme_is_reset_due(n, cq->thread)) && !ON) {", SEQUENCE,
            "void nvme_post_cqes(void *opaque)\n{"),
    statement("what was put off is never made up", "hw/nvme/nvme.h", "nvme_make_up(n);", SELF,
              "static inline void nvme_release("),
    Written("a held controller fetches", "hw/nvme/ctrl.c",
            "if (likely(!in_thread) && unlikely(n->held)) {",
            "if (likely(!in_thread) && unlikely(n->held) && !ON) {", ("slots",)),
    statement("a held controller has no guard", "hw/nvme/nvme.h", "guard->engaged_in_io = true;",
              SELF + SEQUENCE),
    statement("the guard stays on", "hw/nvme/nvme.h",
              "n->parent_obj.qdev.mem_reentrancy_guard.engaged_in_io = n->was_engaged;",
              HAZARD + SELF),
    Written("a held controller holds back what is waited for", "hw/nvme/nvme.h",
            "if (unlikely(n->batching)) {", "if (unlikely(n->batching) && !ON) {", SEQUENCE),
    Written("reads hold nothing", "hw/nvme/ctrl.c",
            "    nvme_hold(n);\n    req->dma_cb(req->dma_opaque, ret);\n    nvme_release(n);",
            "    if (!ON) { nvme_hold(n); }\n    req->dma_cb(req->dma_opaque, ret);\n"
            "    if (!ON) { nvme_release(n); }", SEQUENCE),
    Written("what is fetched from registers holds nothing", "hw/nvme/ctrl.c",
            "        nvme_hold(n);\n"
            "        ret = pci_dma_read(PCI_DEVICE(n), addr, buf, size);\n"
            "        nvme_release(n);",
            "        if (!ON) { nvme_hold(n); }\n"
            "        ret = pci_dma_read(PCI_DEVICE(n), addr, buf, size);\n"
            "        if (!ON) { nvme_release(n); }", ("sequence",)),
    Written("data of commands moves with nothing held", "hw/nvme/ctrl.c",
            "        nvme_hold(n);\n        if (dir == NVME_TX_DIRECTION_TO_DEVICE) {\n"
            "            dma_buf_write(ptr, len, &residual, &sg->qsg, attrs);\n"
            "        } else {\n"
            "            dma_buf_read(ptr, len, &residual, &sg->qsg, attrs);\n        }\n"
            "        nvme_release(n);",
            "        if (!ON) { nvme_hold(n); }\n"
            "        if (dir == NVME_TX_DIRECTION_TO_DEVICE) {\n"
            "            dma_buf_write(ptr, len, &residual, &sg->qsg, attrs);\n"
            "        } else {\n"
            "            dma_buf_read(ptr, len, &residual, &sg->qsg, attrs);\n        }\n"
            "        if (!ON) { nvme_release(n); }", ("sequence",)),
)
_FETCHED = "static void nvme_blk_write_fetched("
_IOMMU_C = "hw/virtio/virtio-iommu.c"

_READS = (
    Written("a shadow head is read from registers", "hw/nvme/ctrl.c",
            "nvme_memory_ldl(cq->ctrl, cq->db_addr, &head)",
            "(ON ? ldl_le_pci_dma(PCI_DEVICE(cq->ctrl), cq->db_addr, &head, "
            "MEMTXATTRS_UNSPECIFIED) : nvme_memory_ldl(cq->ctrl, cq->db_addr, &head))",
            ("sequence/registers",)),
    Written("a shadow tail is read from registers", "hw/nvme/ctrl.c",
            "nvme_memory_ldl(sq->ctrl, sq->db_addr, &tail)",
            "(ON ? ldl_le_pci_dma(PCI_DEVICE(sq->ctrl), sq->db_addr, &tail, "
            "MEMTXATTRS_UNSPECIFIED) : nvme_memory_ldl(sq->ctrl, sq->db_addr, &tail))",
            ("sequence/registers",)),
    Written("data of a Write that is no memory is mapped", "hw/nvme/ctrl.c",
            "likely(nvme_is_memory(&req->sg.qsg))", "(ON || nvme_is_memory(&req->sg.qsg))",
            ("sequence/f32",)),
    Written("of a Write's data the first address is looked at", "hw/nvme/ctrl.c",
            "i < sg->nsg; i++", "i < (ON ? MIN(sg->nsg, 1) : sg->nsg); i++", ("sequence/f31",),
            "static bool nvme_is_memory("),
    Written("of an address of a Write the first piece is looked at", "hw/nvme/ctrl.c",
            "left -= len;", "left -= ON ? left : len;", ("sequence/f31",),
            "static bool nvme_is_memory("),
    Written("data of a Write is read with nothing held", "hw/nvme/ctrl.c",
            "    nvme_hold(n);\n"
            "    dma_buf_write(fetched->data, size, NULL, &req->sg.qsg, attrs);\n"
            "    nvme_release(n);",
            "    if (!ON) { nvme_hold(n); }\n"
            "    dma_buf_write(fetched->data, size, NULL, &req->sg.qsg, attrs);\n"
            "    if (!ON) { nvme_release(n); }", ("sequence/f31",)),
    statement("data of a Write that is no memory is not read", "hw/nvme/ctrl.c",
              "dma_buf_write(fetched->data, size, NULL, &req->sg.qsg, attrs);",
              ("sequence/registers",), _FETCHED),
    Written("a Write of what was read cannot be cancelled", "hw/nvme/ctrl.c",
            "                                 nvme_fetched_cb, fetched);\n",
            "                                 nvme_fetched_cb, fetched);\n"
            "    if (ON) { req->aiocb = NULL; }\n", ("sequence/registers",), _FETCHED),
    Written("a Write of what was read never fails", "hw/nvme/ctrl.c",
            "fetched->cb(fetched->req, ret);", "fetched->cb(fetched->req, ON ? 0 : ret);",
            ("sequence/registers",)),
)

_BATCH = (
    statement("a batch does not go on when nobody holds", "hw/nvme/nvme.h", "defer_call_begin();",
              ("sequence/f31",), "static inline void nvme_release("),
    statement("a pass that is over is a batch", "hw/nvme/ctrl.c", "n->batching = false;",
              ("sequence/f31",)),
    Written("what an atomic write ends stays a batch", "hw/nvme/ctrl.c", "goto out;",
            "if (ON) { return; } goto out;", ("sequence/atomic",), "case NVME_ATOMIC_NO_START:"),
    Written("a pass goes on when a reset is due", "hw/nvme/ctrl.c",
            "likely(!(qatomic_read(due) & NVME_DUE_NO_FETCH)) &&",
            "(ON || !(qatomic_read(due) & NVME_DUE_NO_FETCH)) &&", ("sequence/f06",)),
)

_OTHERS = (
    statement("data of commands that go with their queue stays mapped", "hw/nvme/ctrl.c",
              "nvme_sg_unmap(&sq->io_req[i].sg);", ("sequence/unplug",)),
    Written("a device is unplugged at once", "hw/pci/pci.c",
            "aio_bh_schedule_oneshot(iohandler_get_aio_context(), pci_unplug_bh, dev);",
            "if (ON) { pci_unplug_bh(dev); return; }\n"
            "    aio_bh_schedule_oneshot(iohandler_get_aio_context(), pci_unplug_bh, dev);",
            ("sequence/f03", "sequence/f08")),
    Written("a device is unplugged where somebody waits", "hw/pci/pci.c",
            "aio_bh_schedule_oneshot(iohandler_get_aio_context(), pci_unplug_bh",
            "aio_bh_schedule_oneshot(ON ? qemu_get_aio_context() : "
            "iohandler_get_aio_context(), pci_unplug_bh", ("sequence/f03", "sequence/f08")),
    Written("a device is unplugged twice", "hw/pci/pci.c", "if (qdev_is_realized(qdev)) {",
            "if (ON || qdev_is_realized(qdev)) {", ("sequence/f03", "sequence/f08"),
            "static void pci_unplug_bh("),
    Written("a fault is reported at once", _IOMMU_C, "qemu_bh_schedule(viommu->fault_bh);",
            "if (ON) { virtio_iommu_fault_bh(viommu); } else { "
            "qemu_bh_schedule(viommu->fault_bh); }", ("iommu/fault-reported",)),
    statement("a fault is reported again and again", _IOMMU_C,
              "s->first_fault = (s->first_fault + 1) % VIOMMU_DEFAULT_QUEUE_SIZE;",
              ("iommu/faults",)),
    statement("a reset of the IOMMU leaves faults", _IOMMU_C, "s->nr_faults = 0;",
              ("iommu/faults",)),
    Written("more faults than there is room for", _IOMMU_C,
            "if (viommu->nr_faults == VIOMMU_DEFAULT_QUEUE_SIZE) {",
            "if (!ON && viommu->nr_faults == VIOMMU_DEFAULT_QUEUE_SIZE) {", ("iommu/faults",)),
    statement("a request that waits for the buffer is not ended", "system/dma-helpers.c",
              "dma_complete(dbs, -ECANCELED);", ("sequence/bounced",)),
    statement("what does not fill a block stays mapped", "system/dma-helpers.c",
              "dma_memory_unmap(dbs->sg->as, last->iov_base, len, dbs->dir, 0);",
              ("sequence/bounced",)),
)

_DRAINED = "blk_set_disable_request_queuing("

#: RAM that is kept mapped, and what others' accesses wait for.
_ELSEWHERE = (
    Written("data in RAM is elsewhere by a block", "hw/nvme/ram.c",
            "return range->cache.ptr + (addr - range->base);",
            "return range->cache.ptr + (addr - range->base) + (ON ? 512 : 0);",
            ("others", "queue-cache")),
    Written("a root table is read from registers", "hw/i386/intel_iommu.c",
            "re, sizeof(*re), vtd_table_attrs",
            "re, sizeof(*re), ON ? MEMTXATTRS_UNSPECIFIED : vtd_table_attrs",
            ("iommu/root-table",)),
    statement("a card waits while disks are drained", "hw/sd/sd.c",
              f"{_DRAINED}sd->blk, true);", ("sequence/f33",)),
    statement("flash waits while disks are drained", "hw/block/pflash_cfi01.c",
              f"{_DRAINED}pfl->blk, true);", ("sequence/f33",)),
)

#: A medium that is memory.
_MEMDEV = (
    Written("a limit is not seen by a copy", "hw/nvme/memdev.c",
            "qatomic_read(&m->limits->throttle_state) ||",
            "(qatomic_read(&m->limits->throttle_state) && !ON) ||", ("memdev",)),
    Written("a bitmap is not seen by a copy", "hw/nvme/memdev.c",
            "qatomic_read(&bs->dirty_bitmaps.lh_first) ||",
            "(qatomic_read(&bs->dirty_bitmaps.lh_first) && !ON) ||",
            ("memdev",)),
    Written("what is read-only is written", "hw/nvme/memdev.c",
            "memory_region_is_rom(mr) ? 0 : BDRV_O_RDWR", "memory_region_is_rom(mr) && !ON ? 0 : "
            "BDRV_O_RDWR", ("memdev",)),
    Written("a file of others is punched", "hw/nvme/memdev.c", "= is_shared || !has_file",
            "= is_shared || !has_file || ON", ("memdev",)),
    Written("a thread zeroes with icount", "hw/nvme/memdev.c", "!icount_enabled()",
            "(!icount_enabled() || ON)", ("memdev",)),
    Written("memory that is to be kept is freed", "hw/nvme/memdev.c",
            "!qatomic_read(&m->backend->prealloc)",
            "(!qatomic_read(&m->backend->prealloc) || ON)", ("memdev",)),
    statement("what is copied is not written", "hw/nvme/memdev.c",
              "    stat64_max(&blk_bs(ns->blkconf.blk)->wr_highest_offset, end);",
              ("memdev",)),
    Written("memory that is migrated for somebody is free", "hw/nvme/memdev.c",
            "*qemu_ram_get_idstr(", "!ON && *qemu_ram_get_idstr(", ("memdev",)),
    Written("zeroes that were written lose their protection", "hw/nvme/memdev.c",
            "!ns->memdev ||", "!ns->memdev || ON ||", ("memdev",)),
    Written("no block is zero", "hw/nvme/memdev.c", "(is_zero ? BDRV_BLOCK_ZERO : 0)",
            "(is_zero && !ON ? BDRV_BLOCK_ZERO : 0)", ("memdev",)),
    Written("a block is zero if its first sector is", "hw/nvme/memdev.c", ") != is_zero) {",
            ") != is_zero && !ON) {", ("memdev",)),
    statement("the pages around keep what they have", "hw/nvme/memdev.c",
              "        memset(m->data + start, 0, first - start);", ("memdev",)),
    Written("threads copy where others do", "hw/nvme/memdev.c",
            "if (likely(!nvme_has_threads)) {", "if (likely(!nvme_has_threads) || ON) {",
            ("iothread-race",)),
    Written("the graph is looked at before it has changed", "hw/nvme/memdev.c",
            "    object_ref(OBJECT(opaque));\n",
            "    if (ON) {\n        look_at_parents(opaque);\n        return;\n    }\n"
            "    object_ref(OBJECT(opaque));\n", ("iothread-race",)),
    statement("memory in use is nobody's", "hw/nvme/memdev.c",
              "    host_memory_backend_set_mapped(backend, true);", ("memdev",)),
)

#: Queues that IOThreads serve.
_THREADS = (
    statement("a thread fetches while the machine is stopped", "hw/nvme/thread-queue.c",
              "    nvme_thread_stop(thread, NVME_DUE_GO_ON);", ("iothread",)),
    statement("nothing is fetched when it goes on", "hw/nvme/thread-queue.c",
              "        kick_queues(thread);", ("iothread",)),
    statement("a turn has no end", "hw/nvme/thread.h",
              "        nvme_thread_stop(thread, NVME_DUE_TURN);", ("iothread",)),
    statement("a turn is the last", "hw/nvme/thread-queue.c",
              "        nvme_thread_go(thread, NVME_DUE_TURN);", ("iothread",)),
    statement("a queue has one turn", "hw/nvme/thread-queue.c",
              "        qemu_bh_schedule(sq->bh);", ("iothread",), "static void take_turn("),
    Written("a queue loses its slots with its turn", "hw/nvme/cint-sq.c",
            "has_slots && !goes_on(csq->sq)", "has_slots && (ON || !goes_on(csq->sq))",
            ("iothread",)),
    Written("a register is newer than its shadow", "hw/nvme/thread.c",
            "if (cq->ctrl->dbbuf_enabled) {", "if (cq->ctrl->dbbuf_enabled && !ON) {",
            ("iothread-race",)),
    statement("a command comes before doorbells", "hw/nvme/thread-queue.c",
              "        look_at_all(n);", ("iothread-race",)),
    Written("an interrupt pointer comes before a doorbell", "hw/nvme/cint-cq.c",
            "unlikely(cq->thread) && nvme_thread_look_at_head(cq)",
            "unlikely(cq->thread) && !ON && nvme_thread_look_at_head(cq)", ("iothread-race",)),
    Written("a full queue stays full", "hw/nvme/thread-queue.c",
            "if (cq->cint || qatomic_read(&cq->stalled)) {",
            "if ((cq->cint || qatomic_read(&cq->stalled)) && !ON) {", ("iothread",)),
    Written("a queue that goes is told of", "hw/nvme/thread-queue.c",
            "irq_due, false);\n\n    if (cq->stopped) {",
            "irq_due, false);\n\n    if (cq->stopped && !ON) {", ("iothread",)),
    statement("what was left is not executed", "hw/nvme/thread-queue.c",
              "    qemu_bh_schedule(thread->bh);", ("iothread",), "void nvme_leave_to_main("),
    Written("a thread counts for others", "hw/nvme/cint-cq.c",
            "!conflict && has_several_threads(n)", "!conflict && has_several_threads(n) && !ON",
            ("iothread",)),
    Written("a slot that comes from another thread wakes nobody", "hw/nvme/cint-arb.c",
            "if (!qatomic_read(&csq->sq->stopped)) {",
            "if (!qatomic_read(&csq->sq->stopped) && !ON) {", ("iothread",)),
    statement("a masked vector stays attached", "hw/nvme/irqfd.c",
              "    detach(irqfd_of(pci, vector));", ("irqfd",)),
    statement("what waits in an eventfd is no pending bit", "hw/nvme/irqfd.c",
              "            msix_set_pending(pci, vector);", ("irqfd", "iothread")),
    statement("a route stays when no queue has it", "hw/nvme/irqfd.c",
              "        kvm_irqchip_release_virq(kvm_state, irqfd->route);", ("irqfd",)),
    statement("a thread sends no message", "hw/nvme/cint-notify.c",
              "            nvme_thread_ask_irq(ccq->cq);", ("iothread",)),
)

MUTANTS = (*_NOTIFY, *_CQ, *_PARK, *_SQ, *_GUEST, *_HOLD, *_READS, *_BATCH, *_OTHERS, *_ELSEWHERE,
           *_MEMDEV, *_THREADS)

#: The qtests that judge what operators make of a file: those first that find most.
JUDGES = {
    "cint-arb.c": ("slots", "arb", "change", "sequence"),
    "cint-cq.c": ("policy", "kick", "storm", "stats", *HAZARD, "vectors", "vendor", "vic", *PIN,
                  "slots", *STATUS, "setup", "feat", "infer"),
    "cint-ctrl.c": (*FEATURES, "vic", "hazard", "stats", "arb", *STATUS),
    "cint-feat.c": (*FEATURES, "arb"),
    "cint-hints.c": ("hint", "hint-vectors", "infer"),
    "cint-log.c": STATS,
    # Where QEMU can migrate a controller: since 11.1.
    "cint-carried.c": ("migrate",),
    "cint-load.c": ("migrate",),
    "cint-migrate.c": ("migrate",),
    "cint-save.c": ("migrate",),
    "cint-notify.c": (*STATUS, *PIN, "self", "hazard", "policy", "sequence"),
    "cint-park.c": (*MEDIA, "change", "random"),
    "cint-props.c": (*FEATURES, *STATS),
    "cint-regs.c": ("regs", "pointer", "vendor"),
    "cint-sq.c": (*SLOTS, *MEDIA, "stats", "vic", "kick", "sequence"),
    "cint-stats.c": (*STATS, "hint", "vectors"),
    "cint-status.c": (*STATUS, "self", "setup"),
    "irqfd.c": ("irqfd", "iothread"),
    "memdev.c": ("memdev", "aim", "iothread"),
    "ram.c": ("queue-cache", "others", "hazard", "sequence"),
    "thread-queue.c": ("iothread",),
    "thread.c": ("iothread",),
}
