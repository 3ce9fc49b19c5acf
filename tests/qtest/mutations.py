# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to break the device's files that are not pure, and the qtests that should notice."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Mutation:
    """`old`, the first behind `after`, becomes `new`, in which ON stands for "is chosen".

    A file without a directory is one of hw/nvme. A test is a program, or one with a part of
    its cases' names, whole words between slashes: sequence/f31.
    """

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    after: str = ""


def guarded(what: str, file: str, old: str, tests: tuple[str, ...], after: str = "") -> Mutation:
    """A statement that is left out."""
    return Mutation(what, file, old, f"if (!ON) {{ {old} }}", tests, after)


_NOTIFY = (
    Mutation("a record fails the controller without bus mastering", "cint-notify.c",
             "pci_get_word(command) & PCI_COMMAND_MASTER", "ON || (pci_get_word(command) & "
             "PCI_COMMAND_MASTER)", ("setup",)),
    Mutation("a record is written to registers", "cint-notify.c",
             "    if (nvme_memory_write(cint->n,",
             "    if (ON) {\n"
             "        pci_dma_write(cint->pci, addr + rest, (uint8_t *)&record + rest,\n"
             "                      RECORD_SIZE - rest);\n"
             "        stl_le_pci_dma(cint->pci, addr, notice->full_tail,\n"
             "                       MEMTXATTRS_UNSPECIFIED);\n"
             "    } else if (nvme_memory_write(cint->n,", SELF + STATUS),
    Mutation("of what is unsent the first is kept", "cint-notify.c",
             "unsent_index(ccq, notices->unsent - 1)",
             "unsent_index(ccq, ON ? 0 : notices->unsent - 1)", ("status-move",)),
    Mutation("what was decided goes to the new record", "cint-notify.c",
             "    settle(ccq);\n", "    if (!ON) { settle(ccq); }\n", STATUS),
    guarded("a new record does not say what is posted", "cint-notify.c",
            "ccq->notices.full_tail = none.full_tail;", STATUS),
    guarded("a new record is not written", "cint-notify.c", "write_record(ccq, &none);", STATUS),
    Mutation("what is held keeps the pin", "cint-notify.c", "return ccq->engine.tail -",
             "return ON || ccq->engine.tail -", PIN),
    guarded("the pin is never released", "cint-notify.c",
            "nvme_irq_deassert(ccq->cq->ctrl, ccq->cq);", PIN),
    guarded("what is told of does not count for the pin", "cint-notify.c",
            "nvme_cq_set_pending(n, cq, true);", PIN),
    Mutation("a full interrupt leaves full_tail", "cint-notify.c", "if (is_full) {",
             "if (is_full && !ON) {", STATUS),
    Mutation("of the messages of a pass one is left", "cint-notify.c",
             "MIN(notices->unsent + 1, ccq->cq->size)",
             "ON ? 1 : MIN(notices->unsent + 1, ccq->cq->size)", (*STATUS, "policy")),
    Mutation("all interrupts say full", "cint-notify.c", ".class = is_full ?",
             ".class = is_full || ON ?", STATUS),
    Mutation("a deleted queue keeps what it was to send", "cint-notify.c",
             "    if (ccq->notices.unsent) {\n        QTAILQ_REMOVE(&ccq",
             "    if (!ON && ccq->notices.unsent) {\n        QTAILQ_REMOVE(&ccq",
             HAZARD + SELF),
    Mutation("the pin is asserted for what was consumed", "cint-notify.c",
             "} else if (!msix_enabled(", "} else if (!ON && !msix_enabled(", PIN),
    Mutation("a message has no record", "cint-notify.c", "    publish(ccq, notice);\n    if",
             "    if (!ON) { publish(ccq, notice); }\n    if", STATUS),
    Mutation("one message is sent at an end", "cint-notify.c", "        send_one(n, ccq);\n",
             "        send_one(n, ccq);\n        if (ON) { break; }\n", STATUS + HAZARD),
    Mutation("the admin queue's CQEs keep no pin", "cint-notify.c",
             "return ccq->cq->tail != ccq->cq->head;",
             "return !ON && ccq->cq->tail != ccq->cq->head;", PIN),
    Mutation("inner entries send", "cint-notify.c", "n->cint->depth == 1",
             "(n->cint->depth == 1 || ON)", SELF),
)

_CQ = (
    Mutation("a timer that was early is not set again", "cint-cq.c",
             "    arm_irq_timer(ccq);\n    nvme_cint_leave", "    if (!ON) { arm_irq_timer(ccq); "
             "}\n    nvme_cint_leave", TIMING),
    guarded("a timer that expired counts as set", "cint-cq.c",
            "ccq->armed_ns = CINT_NO_DEADLINE;", TIMING + HAZARD),
    guarded("a masked vector is none", "cint-cq.c",
            "cint_set_masked(&ccq->engine, is_masked(ccq));", ("storm",)),
    guarded("lateness is not counted", "cint-cq.c",
            "nvme_cint_stats_late(&ccq->stats, now - deadline);", STATS),
    Mutation("a deadline at an event comes after it", "cint-cq.c", "ccq->deadline_ns <= now ||",
             "(ON ? ccq->deadline_ns < now : ccq->deadline_ns <= now) ||", TIMING),
    Mutation("a shadow head that is none is believed", "ctrl.c",
             "if (unlikely(head >= cq->size)) {", "if (head >= cq->size && !ON) {",
             SHADOW + SEQUENCE),
    guarded("what is avoided is not counted", "cint-cq.c", "ccq->stats.log.avoided++;", STATS),
    guarded("a head does not release the pin", "cint-cq.c", "nvme_cint_consumed(ccq);", PIN),
    Mutation("a shadow head that makes room is not acted on", "cint-cq.c",
             "cq->head != head && !QTAILQ", "!ON && cq->head != head && !QTAILQ", SHADOW),
    Mutation("a deadline does not read the shadow head", "cint-cq.c",
             "if (ccq->cq->ctrl->dbbuf_enabled) {", "if (ccq->cq->ctrl->dbbuf_enabled && !ON) {",
             SHADOW + STATS),
    Mutation("a fetch comes before what is due", "cint-cq.c",
             "    expire_deadlines(ccq, now);\n    if (cint_looks",
             "    if (!ON) { expire_deadlines(ccq, now); }\n    if (cint_looks",
             ("kick", "storm", "vic")),
    Mutation("a doorbell is no ring", "cint-cq.c", "if (rang) {", "if (rang && !ON) {",
             ("kick",)),
    guarded("a deleted SQ satisfies nothing", "cint-cq.c",
            "nvme_cint_cq_act(ccq, cint_delete_sq(&csq->engine, now), now);",
            ("slots", *HAZARD)),
    Mutation("a shadow head is not read when posting", "cint-cq.c",
             "if (cq->ctrl->dbbuf_enabled) {", "if (cq->ctrl->dbbuf_enabled && !ON) {",
             ("policy",), "void nvme_cint_do_posted"),
    Mutation("a shadow head is taken for one too early", "cint-cq.c",
             "(cq->tail + cq->size - 1) % cq->size", "(cq->tail + cq->size - !ON) % cq->size",
             ("policy",)),
    guarded("passes are not told apart", "cint-cq.c", "ccq->pass_cqes = 0;", STATS),
    Mutation("a doorbell comes before what is due", "cint-cq.c",
             "    expire_deadlines(ccq, now);\n    sync_head(ccq, cq->tail, now);\n    "
             "nvme_cint_leave", "    if (!ON) { expire_deadlines(ccq, now); }\n    sync_head(ccq, "
             "cq->tail, now);\n    nvme_cint_leave", TIMING + PIN),
    Mutation("a change comes before what is due", "cint-cq.c",
             "    expire_deadlines(ccq, now);\n    nvme_cint_cq_act(ccq, cint_configure",
             "    if (!ON) { expire_deadlines(ccq, now); }\n    nvme_cint_cq_act(ccq, "
             "cint_configure", FEATURES + TIMING),
    Mutation("feature 09h comes before what is due", "cint-cq.c",
             "expire_deadlines(ccq, now);\n        nvme_cint_cq_act(ccq, cint_disable",
             "if (!ON) { expire_deadlines(ccq, now); }\n        nvme_cint_cq_act(ccq, "
             "cint_disable", ("policy", *FEATURES)),
    Mutation("every queue has a record", "cint-cq.c", "cq->cqid && cq->cqid < status->records",
             "cq->cqid && (ON || cq->cqid < status->records)", STATUS),
    Mutation("a new queue does not know feature 09h", "cint-cq.c",
             "test_bit(cq->vector, cint->cd)", "!ON && test_bit(cq->vector, cint->cd)", FEATURES),
    Mutation("a queue without interrupts gets some", "cint-cq.c", "cq->cqid && cq->irq_enabled",
             "cq->cqid && (ON || cq->irq_enabled)", (*STATS, "setup", "vic")),
    guarded("a reset leaves interrupts due", "cint-cq.c", "    ccq->coalesce = false;",
            ("vendor",)),
    Mutation("the admin queue's message has a second way out", "cint-cq.c",
             "return cq->irq_enabled || ccq->stopped;",
             "return (!ON && cq->irq_enabled) || ccq->stopped;", ("stats",)),
)

_PARK = (
    Mutation("a command that is due delays what is to be posted", "cint-park.c",
             "when = MIN(when, first->due_ns);",
             "when = ON ? first->due_ns : MIN(when, first->due_ns);", MEDIA),
    Mutation("commands of one time change their order", "cint-park.c",
             "before->due_ns > creq->due_ns", "before->due_ns + ON > creq->due_ns",
             (*MEDIA, "random")),
    Mutation("who overtakes many is put there by steps", "cint-park.c",
             "steps++ < MOST_STEPS", "(ON || steps++ < MOST_STEPS)", ("media",)),
    guarded("the medium is not refunded", "cint-park.c",
            "cint_media_refund(&cint->media, nvme_cint_now(), &creq->claim);", MEDIA),
    Mutation("a command keeps its slot", "cint-park.c",
             "    nvme_cint_put_slot(cint, creq);\n}", "    if (!ON) { nvme_cint_put_slot(cint, "
             "creq); }\n}", SLOTS),
    Mutation("an aborted command waits for the medium", "cint-park.c",
             "return req->status == NVME_CMD_ABORT_REQ ||",
             "return (req->status == NVME_CMD_ABORT_REQ && !ON) ||", MEDIA + HAZARD),
    Mutation("a command that fails at once waits for the medium", "cint-park.c",
             "(req->status && req->sq->cint->executing == creq)",
             "(req->status && req->sq->cint->executing == creq && !ON)", MEDIA),
    guarded("what is parked is cancelled a second time", "cint-park.c", "req->aiocb = NULL;",
            MEDIA + HAZARD),
    Mutation("a command whose data is late keeps its slot", "cint-park.c",
             "    nvme_cint_put_slot(req->sq->ctrl->cint, creq);\n",
             "    if (!ON) { nvme_cint_put_slot(req->sq->ctrl->cint, creq); }\n", SLOTS),
    Mutation("what is cancelled is not posted", "cint-park.c",
             "    nvme_cint_do_kick_cq(ccq->cq);\n    return true",
             "    if (!ON) { nvme_cint_do_kick_cq(ccq->cq); }\n    return true", MEDIA + HAZARD),
    guarded("an aborted command succeeds", "cint-park.c", "req->status = NVME_CMD_ABORT_REQ;",
            MEDIA + HAZARD),
    Mutation("an admin command that is done is aborted", "cint-park.c",
             "if (req->sq->sqid && creq->in_media", "if ((ON || req->sq->sqid) && creq->in_media",
             HAZARD),
    guarded("a reset leaves commands in flight", "cint-ctrl.c",
            "cint_scope_init(&cint->scope);", ("vic", "hazard", "stats")),
    guarded("a reset keeps the configuration", "cint-ctrl.c",
            "cint->config = cint->n->params.cint.config;", FEATURES),
    guarded("a reset keeps the arbitration", "cint-ctrl.c",
            "nvme_cint_set_arbitration(cint, NVME_ARB_AB_NOLIMIT);", (*FEATURES, "arb")),
    guarded("a reset keeps the records", "cint-ctrl.c",
            "cint->status = (NvmeCintStatus) { 0 };", STATUS),
    guarded("a reset keeps feature 09h", "cint-ctrl.c",
            "bitmap_zero(cint->cd, PCI_MSIX_FLAGS_QSIZE + 1);", FEATURES),
)

_SQ = (
    Mutation("a queue that cannot fetch keeps its slots", "cint-sq.c", "if (csq->arb.granted) {",
             "if (csq->arb.granted && !ON) {", SLOTS + HAZARD),
    Mutation("a slot that comes behind the last look is given back", "cint-sq.c",
             "if (got_slot(csq)) {", "if (got_slot(csq) && !ON) {", SLOTS),
    Mutation("fewer SQEs are a ring", "cint-sq.c", "backlog > known", "(ON || backlog > known)",
             ("stats",)),
    Mutation("a shadow tail that is none is fetched", "ctrl.c",
             "if (unlikely(tail >= sq->size)) {", "if (tail >= sq->size && !ON) {",
             SHADOW + SEQUENCE),
    Mutation("an instant has no end", "cint-arb.c", "> ENTRIES_AT_ONCE;",
             "> ENTRIES_AT_ONCE && !ON;", SEQUENCE),
    Mutation("compares are writes", "cint-sq.c", "opcode != NVME_CMD_COMPARE &&",
             "(ON || opcode != NVME_CMD_COMPARE) &&", MEDIA),
    Mutation("commands are a block shorter", "cint-sq.c", "le16_to_cpu(rw->nlb) + 1",
             "le16_to_cpu(rw->nlb) + !ON", MEDIA),
    guarded("a fetch leaves the backlog", "cint-sq.c", "csq->backlog--;", ("vic", "slots", "kick")),
    Mutation("a deleted queue keeps its grants", "cint-sq.c",
             "    nvme_cint_set_backlog(csq, 0);\n    nvme_cint_cq_delete_sq",
             "    if (!ON) { nvme_cint_set_backlog(csq, 0); }\n    nvme_cint_cq_delete_sq",
             SLOTS + HAZARD),
    guarded("a deleted queue stays in flight", "cint-sq.c",
            "nvme_cint_cq_delete_sq(csq, nvme_cint_now());", ("slots", *HAZARD)),
    Mutation("without a limit nobody wakes who waits", "cint-arb.c", "bounded && !slots &&",
             "!ON && bounded && !slots &&", SLOTS),
    Mutation("always round robin", "cint-arb.c", "NVME_CC_AMS(cc) == CC_AMS_WRR",
             "!ON && NVME_CC_AMS(cc) == CC_AMS_WRR", SLOTS),
    Mutation("every opcode has hints in CDW13", "cint-hints.c",
             "moves = cmd->opcode == NVME_CMD_READ", "moves = ON || cmd->opcode == NVME_CMD_READ",
             ("hint", "hint-vectors")),
    Mutation("any Access Latency is Urgent", "cint-hints.c",
             "if ((dw13 & NVME_CINT_DW13_LATENCY) != NVME_CINT_DW13_LATENCY) {",
             "if ((dw13 & NVME_CINT_DW13_LATENCY) != NVME_CINT_DW13_LATENCY &&\n"
             "        (!ON || !(dw13 & NVME_CINT_DW13_LATENCY))) {", ("hint",)),
    Mutation("an extended command has hints in CDW13", "cint-hints.c",
             "return le32_to_cpu(cmd->cdw12) &", "return !ON && le32_to_cpu(cmd->cdw12) &",
             ("hint",)),
    Mutation("a shadow batch never ends", "cint-hints.h", "csq->sq->head == csq->marked",
             "!ON && csq->sq->head == csq->marked", ("infer",)),
    Mutation("a shadow batch ends anywhere", "cint-hints.h", "csq->sq->head == csq->marked",
             "(ON || csq->sq->head == csq->marked)", ("infer",)),
)

_GUEST = (
    Mutation("08h rounds the time down", "cint-feat.c",
             "DIV_ROUND_UP(config->static_time_ns, STATIC_UNIT_NS)",
             "(ON ? config->static_time_ns / STATIC_UNIT_NS : "
             "DIV_ROUND_UP(config->static_time_ns, STATIC_UNIT_NS))", FEATURES),
    Mutation("08h has bits 31:16", "cint-feat.c", "if (value >> 16) {", "if (!ON && value >> 16) {",
             FEATURES),
    Mutation("01h has bits 7:3", "cint-feat.c", "if (value & 0xf8) {",
             "if (!ON && value & 0xf8) {", (*FEATURES, "arb")),
    Mutation("09h of a shared vector is the admin queue's", "cint-feat.c",
             "if (named_cq(n, i) && n->cq[i]->vector == vector) {",
             "if (!ON && named_cq(n, i) && n->cq[i]->vector == vector) {", FEATURES),
    Mutation("09h has further bits", "cint-feat.c",
             "value & ~(0xffffu | NVME_INTVC_NOCOALESCING) ||",
             "(!ON && value & ~(0xffffu | NVME_INTVC_NOCOALESCING)) ||", FEATURES),
    Mutation("reserved fields of D0h are taken", "cint-feat.c",
             "if (memcmp(f, &again, sizeof(again)) ||",
             "if ((!ON && memcmp(f, &again, sizeof(again))) ||", FEATURES),
    Mutation("features are of namespaces", "cint-feat.c", "if (!nsid || nsid ==",
             "if (ON || !nsid || nsid ==", FEATURES),
    Mutation("records in the registers", "cint-status.c",
             "!overlaps_bar(n, status->addr, size)",
             "(ON || !overlaps_bar(n, status->addr, size))", SELF + STATUS),
    Mutation("records in the controller's memory", "cint-status.c",
             "!overlaps_own_memory(n, status->addr, size)",
             "(ON || !overlaps_own_memory(n, status->addr, size))", STATUS),
    Mutation("records that wrap", "cint-status.c", "status->addr + size > status->addr",
             "(ON || status->addr + size > status->addr)", STATUS),
    Mutation("a record more than queues", "cint-status.c", "n->params.max_ioqpairs + 1 &&",
             "n->params.max_ioqpairs + 1 + ON &&", STATUS),
    Mutation("a log page is longer than it is", "cint-log.c", "if (off >= size) {",
             "if (off > size || (off == size && !ON)) {", ("vendor", "stats")),
    Mutation("of the log page a piece less is made", "cint-log.c", "part->at < part->to &&",
             "part->at + 4 * ON < part->to &&", STATS),
    Mutation("of the log page the first piece is left out", "cint-log.c",
             "part->at + size > part->from;", "part->at + size * !ON > part->from;", STATS),
    Mutation("counters are reset without being asked", "cint-log.c",
             "!status && (lsp & NVME_CINT_LSP_RESET)",
             "!status && (ON || (lsp & NVME_CINT_LSP_RESET))", STATS),
    Mutation("registers of any size", "cint-regs.c",
             "return size == NVME_CINT_REGS_STRIDE &&",
             "return (ON || size == NVME_CINT_REGS_STRIDE) &&", ("regs", "pointer")),
    Mutation("an index that is the head's is taken", "cint-regs.c", "index != cq->head;",
             "(ON || index != cq->head);", ("regs", "pointer")),
    Mutation("qom-set ignores what queues have otherwise", "cint-props.c",
             "            if (!check_config(&config, errp)) {",
             "            if (!ON && !check_config(&config, errp)) {", FEATURES),
    guarded("a reset forgets what qom-set has said", "cint-props.c", "n->params.cint = *params;",
            FEATURES, "Before the guest hears of it"),
    guarded("a policy keeps what does not go with it", "cint-props.c", "fit_to_policy(&config);",
            FEATURES),
    Mutation("an entry is told of twice in the times", "cint-stats.c", "if (!is_covered(posted)) {",
             "if (ON || !is_covered(posted)) {", (*STATS, "hint")),
    Mutation("the longest wait is the last", "cint-stats.c", "MAX(hist->max_ns, value)",
             "ON ? value : MAX(hist->max_ns, value)", STATS),
)

_HOLD = (
    Mutation("CQEs go anywhere", "ctrl.c", "ret = nvme_memory_write(",
             "ret = ON ? pci_dma_write(PCI_DEVICE(n), addr, &req->cqe, sizeof(req->cqe)) : "
             "nvme_memory_write(", SEQUENCE),
    Mutation("event indices go anywhere", "ctrl.c",
             "nvme_memory_stl(cq->ctrl, cq->ei_addr, cq->head);",
             "if (ON) { stl_le_pci_dma(PCI_DEVICE(cq->ctrl), cq->ei_addr, cq->head, "
             "MEMTXATTRS_UNSPECIFIED); } else "
             "{ nvme_memory_stl(cq->ctrl, cq->ei_addr, cq->head); }", SEQUENCE),
    Mutation("a held controller is reset", "ctrl.c", "if (!n->held && nvme_may_wait(by)) {",
             "if ((ON || !n->held) && nvme_may_wait(by)) {", SELF + SEQUENCE),
    Mutation("resets do not mind who holds another", "ctrl.c",
             "return nvme_controllers_held == !!by->held &&",
             "return (ON || nvme_controllers_held == !!by->held) &&", SEQUENCE),
    Mutation("resets wait in coroutines", "ctrl.c", "!qemu_in_coroutine();",
             "(ON || !qemu_in_coroutine());", ("sequence",)),
    Mutation("a coroutine holds the controller while it yields", "ctrl.c",
             "if (qemu_in_coroutine()) {", "if (qemu_in_coroutine() && !ON) {", ("sequence",),
             "int nvme_block_status("),
    Mutation("what was put off is done where somebody waits", "ctrl.c",
             "aio_bh_new_guarded(iohandler_get_aio_context(), nvme_due_bh",
             "aio_bh_new_guarded(ON ? qemu_get_aio_context() : iohandler_get_aio_context(), "
             "nvme_due_bh", SEQUENCE),
    Mutation("stock's admin commands are executed where somebody waits", "ctrl.c",
             "return sqid ? qemu_get_aio_context()", "return sqid || ON ? qemu_get_aio_context()",
             SEQUENCE),
    Mutation("admin commands are executed where somebody waits", "cint-sq.c",
             "return sq->sqid ? qemu_get_aio_context()",
             "return sq->sqid || ON ? qemu_get_aio_context()", SEQUENCE),
    Mutation("a shutdown that was put off is not told of", "ctrl.c",
             "stl_le_p(&n->bar.csts, csts | NVME_CSTS_SHST_COMPLETE);",
             "if (!ON) { stl_le_p(&n->bar.csts, csts | NVME_CSTS_SHST_COMPLETE); }", SEQUENCE),
    Mutation("a reset posts", "ctrl.c", "if (unlikely(n->due & NVME_DUE_RESET)) {",
             "if (unlikely(n->due & NVME_DUE_RESET) && !ON) {", SEQUENCE,
             "void nvme_post_cqes(void *opaque)\n{"),
    Mutation("messages go on when a reset is due", "cint-notify.c",
             "while (!(n->due & NVME_DUE_RESET) &&", "while ((ON || !(n->due & NVME_DUE_RESET)) &&",
             SEQUENCE),
    guarded("what was executed last is so for ever", "cint-sq.c", "sq->cint->executing = NULL;",
            ("media-fail",)),
    guarded("what was put off is never made up", "nvme.h", "nvme_make_up(n);", SELF,
            "static inline void nvme_release("),
    Mutation("a held controller fetches", "ctrl.c", "if (unlikely(n->held)) {",
             "if (unlikely(n->held) && !ON) {", ("slots",)),
    guarded("a held controller has no guard", "nvme.h", "guard->engaged_in_io = true;",
            SELF + SEQUENCE),
    guarded("the guard stays on", "nvme.h",
            "n->parent_obj.qdev.mem_reentrancy_guard.engaged_in_io = n->was_engaged;",
            HAZARD + SELF),
    Mutation("a held controller holds back what is waited for", "nvme.h",
             "if (unlikely(n->batching)) {", "if (unlikely(n->batching) && !ON) {", SEQUENCE),
    Mutation("reads hold nothing", "ctrl.c",
             "    nvme_hold(n);\n    req->dma_cb(req->dma_opaque, ret);\n    nvme_release(n);",
             "    if (!ON) { nvme_hold(n); }\n    req->dma_cb(req->dma_opaque, ret);\n"
             "    if (!ON) { nvme_release(n); }", SEQUENCE),
    Mutation("what is fetched from registers holds nothing", "ctrl.c",
             "        nvme_hold(n);\n        ret = pci_dma_read(PCI_DEVICE(n), addr, buf, size);\n"
             "        nvme_release(n);",
             "        if (!ON) { nvme_hold(n); }\n"
             "        ret = pci_dma_read(PCI_DEVICE(n), addr, buf, size);\n"
             "        if (!ON) { nvme_release(n); }", ("sequence",)),
    Mutation("data of commands moves with nothing held", "ctrl.c",
             "        nvme_hold(n);\n        if (dir == NVME_TX_DIRECTION_TO_DEVICE) {\n"
             "            dma_buf_write(ptr, len, &residual, &sg->qsg, attrs);\n        } else {\n"
             "            dma_buf_read(ptr, len, &residual, &sg->qsg, attrs);\n        }\n"
             "        nvme_release(n);",
             "        if (!ON) { nvme_hold(n); }\n"
             "        if (dir == NVME_TX_DIRECTION_TO_DEVICE) {\n"
             "            dma_buf_write(ptr, len, &residual, &sg->qsg, attrs);\n        } else {\n"
             "            dma_buf_read(ptr, len, &residual, &sg->qsg, attrs);\n        }\n"
             "        if (!ON) { nvme_release(n); }", ("sequence",)),
    guarded("what a command has set survives a reset", "cint-ctrl.c", "reset_all(n->cint);",
            FEATURES),
)

_FETCHED = "static void nvme_blk_write_fetched("
_IOMMU_C = "hw/virtio/virtio-iommu.c"

_READS = (
    Mutation("a shadow head is read from registers", "ctrl.c",
             "nvme_memory_ldl(cq->ctrl, cq->db_addr, &head)",
             "(ON ? ldl_le_pci_dma(PCI_DEVICE(cq->ctrl), cq->db_addr, &head, "
             "MEMTXATTRS_UNSPECIFIED) : nvme_memory_ldl(cq->ctrl, cq->db_addr, &head))",
             ("sequence/registers",)),
    Mutation("a shadow tail is read from registers", "ctrl.c",
             "nvme_memory_ldl(sq->ctrl, sq->db_addr, &tail)",
             "(ON ? ldl_le_pci_dma(PCI_DEVICE(sq->ctrl), sq->db_addr, &tail, "
             "MEMTXATTRS_UNSPECIFIED) : nvme_memory_ldl(sq->ctrl, sq->db_addr, &tail))",
             ("sequence/registers",)),
    Mutation("data of a Write that is no memory is mapped", "ctrl.c",
             "likely(nvme_is_memory(&req->sg.qsg))", "(ON || nvme_is_memory(&req->sg.qsg))",
             ("sequence/f32",)),
    Mutation("of a Write's data the first address is looked at", "ctrl.c", "i < sg->nsg; i++",
             "i < (ON ? MIN(sg->nsg, 1) : sg->nsg); i++", ("sequence/f31",),
             "static bool nvme_is_memory("),
    Mutation("of an address of a Write the first piece is looked at", "ctrl.c", "left -= len;",
             "left -= ON ? left : len;", ("sequence/f31",), "static bool nvme_is_memory("),
    Mutation("data of a Write is read with nothing held", "ctrl.c",
             "    nvme_hold(n);\n"
             "    dma_buf_write(fetched->data, size, NULL, &req->sg.qsg, attrs);\n"
             "    nvme_release(n);",
             "    if (!ON) { nvme_hold(n); }\n"
             "    dma_buf_write(fetched->data, size, NULL, &req->sg.qsg, attrs);\n"
             "    if (!ON) { nvme_release(n); }", ("sequence/f31",)),
    guarded("data of a Write that is no memory is not read", "ctrl.c",
            "dma_buf_write(fetched->data, size, NULL, &req->sg.qsg, attrs);",
            ("sequence/registers",), _FETCHED),
    Mutation("a Write of what was read cannot be cancelled", "ctrl.c",
             "                                 nvme_fetched_cb, fetched);\n",
             "                                 nvme_fetched_cb, fetched);\n"
             "    if (ON) { req->aiocb = NULL; }\n", ("sequence/registers",), _FETCHED),
    Mutation("a Write of what was read never fails", "ctrl.c",
             "fetched->cb(fetched->req, ret);", "fetched->cb(fetched->req, ON ? 0 : ret);",
             ("sequence/registers",)),
)

_BATCH = (
    guarded("a batch does not go on when nobody holds", "nvme.h", "defer_call_begin();",
            ("sequence/f31",), "static inline void nvme_release("),
    guarded("a pass that is over is a batch", "ctrl.c", "n->batching = false;", ("sequence/f31",)),
    Mutation("what an atomic write ends stays a batch", "ctrl.c", "goto out;",
             "if (ON) { return; } goto out;", ("sequence/atomic",), "case NVME_ATOMIC_NO_START:"),
    Mutation("a pass goes on when a reset is due", "ctrl.c",
             "likely(!(n->due & NVME_DUE_RESET)) && nvme_cint_may_fetch(sq)",
             "(ON || !(n->due & NVME_DUE_RESET)) && nvme_cint_may_fetch(sq)",
             ("sequence/f06",)),
)

_OTHERS = (
    guarded("data of commands that go with their queue stays mapped", "ctrl.c",
            "nvme_sg_unmap(&sq->io_req[i].sg);", ("sequence/unplug",)),
    Mutation("a device is unplugged at once", "hw/pci/pci.c",
             "aio_bh_schedule_oneshot(iohandler_get_aio_context(), pci_unplug_bh, dev);",
             "if (ON) { pci_unplug_bh(dev); return; }\n"
             "    aio_bh_schedule_oneshot(iohandler_get_aio_context(), pci_unplug_bh, dev);",
             ("sequence/f03", "sequence/f08")),
    Mutation("a device is unplugged where somebody waits", "hw/pci/pci.c",
             "aio_bh_schedule_oneshot(iohandler_get_aio_context(), pci_unplug_bh",
             "aio_bh_schedule_oneshot(ON ? qemu_get_aio_context() : iohandler_get_aio_context(), "
             "pci_unplug_bh", ("sequence/f03", "sequence/f08")),
    Mutation("a device is unplugged twice", "hw/pci/pci.c", "if (qdev_is_realized(qdev)) {",
             "if (ON || qdev_is_realized(qdev)) {", ("sequence/f03", "sequence/f08"),
             "static void pci_unplug_bh("),
    Mutation("a fault is reported at once", _IOMMU_C, "qemu_bh_schedule(viommu->fault_bh);",
             "if (ON) { virtio_iommu_fault_bh(viommu); } else "
             "{ qemu_bh_schedule(viommu->fault_bh); }", ("iommu/fault-reported",)),
    guarded("a fault is reported again and again", _IOMMU_C,
            "s->first_fault = (s->first_fault + 1) % VIOMMU_DEFAULT_QUEUE_SIZE;",
            ("iommu/faults",)),
    guarded("a reset of the IOMMU leaves faults", _IOMMU_C, "s->nr_faults = 0;",
            ("iommu/faults",)),
    Mutation("more faults than there is room for", _IOMMU_C,
             "if (viommu->nr_faults == VIOMMU_DEFAULT_QUEUE_SIZE) {",
             "if (!ON && viommu->nr_faults == VIOMMU_DEFAULT_QUEUE_SIZE) {", ("iommu/faults",)),
    guarded("a request that waits for the buffer is not ended", "system/dma-helpers.c",
            "dma_complete(dbs, -ECANCELED);", ("sequence/bounced",)),
    guarded("what does not fill a block stays mapped", "system/dma-helpers.c",
            "dma_memory_unmap(dbs->sg->as, last->iov_base, len, dbs->dir, 0);",
            ("sequence/bounced",)),
)

#: RAM that is kept mapped.
_RAM = (
    guarded("mappings outlive the memory map", "ram.c",
            "drop_ranges(container_of(listener, NvmeRam, listener));", ("queue-cache",)),
    guarded("RAM may go while data is read into it", "ram.c",
            "memory_region_ref(range->cache.mrs.mr);", ("queue-cache",)),
    guarded("RAM that had data read into it never goes", "ram.c",
            "memory_region_unref(cache->mrs.mr);", ("queue-cache",)),
    Mutation("data is taken for that of the RAM that is mapped now", "ram.c",
             "if (unlikely(offset >= n->ram->last->size)) {",
             "if (!ON && offset >= n->ram->last->size) {", ("queue-cache",)),
    Mutation("what begins in RAM ends there", "ram.c",
             "if (offset < range->size && size <= range->size - offset) {",
             "if (offset < range->size && (ON || size <= range->size - offset)) {",
             ("queue-cache",)),
    Mutation("RAM does not end", "ram.c", "hwaddr offset = addr - range->base;",
             "hwaddr offset = ON ? 0 : addr - range->base;", ("queue-cache",),
             "NvmeRamRange *nvme_ram_find_other("),
    Mutation("data in RAM is elsewhere by a block", "ram.c",
             "return range->cache.ptr + (addr - range->base);",
             "return range->cache.ptr + (addr - range->base) + (ON ? 512 : 0);",
             ("others", "queue-cache")),
)

MUTATIONS = _NOTIFY + _CQ + _PARK + _SQ + _GUEST + _HOLD + _READS + _BATCH + _OTHERS + _RAM
