# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to break the guest kernel's hints, out-of-order completion and polling, and who notices.

Those of files that run as programs, too, are in tests/unit/mutate.py.
"""

from __future__ import annotations

from dataclasses import dataclass

HINTS, MERGES, WAITS = "test_hints.py", "test_hint_merges.py", "test_hint_waits.py"
OOO, RECOVERY, HEAL = "test_ooo.py", "test_recovery.py", "test_heal.py"
BLOCK_DEVICE = (f"{HINTS}::test_block_device",)
SPLIT = (f"{HINTS}::test_split",)
UNASKED = ("test_hints_unasked.py::test_flags_of_commands",)
SWITCHES = (f"{OOO}::test_switches",)
FROZEN = (f"{HEAL}::test_frozen_record",)


def files(test: str, *where: str) -> tuple[str, ...]:
    """A test of file systems, on some of them."""
    return tuple(f"{HINTS}::{test}[{name}]" for name in where) or (f"{HINTS}::{test}",)


@dataclass(frozen=True)
class Mutation:
    """One change of one place: `old`, the first one behind `after`, becomes `new`."""

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    after: str = ""
    #: What it leaves behind in a guest would be seen by tests of others.
    alone: bool = False

    def switched(self, chosen: str) -> str:
        """C that is `new` when `chosen` is true, and else `old`."""
        raise NotImplementedError


class Statement(Mutation):
    """Whole statements in place of others."""

    def switched(self, chosen: str) -> str:
        return f"if ({chosen}) {{ {self.new} }} else {{ {self.old} }}"


class Expression(Mutation):
    """Another value in place of one."""

    def switched(self, chosen: str) -> str:
        return f"({chosen} ? ({self.new}) : ({self.old}))"


_MERGE_BIO = "req->cmd_flags |= bio->bi_opf & REQ_IRQ_HINTS;"

_BLOCK = (
    Statement("merge-back", "a bio merged behind a request loses its hint", "block/blk-merge.c",
              _MERGE_BIO, "", BLOCK_DEVICE, "enum bio_merge_status bio_attempt_back_merge"),
    Statement("merge-discard", "a discard that becomes a range of another loses its hint",
              "block/blk-merge.c", _MERGE_BIO, "", (f"{MERGES}::test_discards_merge",),
              "static enum bio_merge_status bio_attempt_discard_merge"),
    Statement("merge-front", "a bio merged before a request loses its hint", "block/blk-merge.c",
              _MERGE_BIO, "", (f"{MERGES}::test_merge_in_scheduler",),
              "bio_merge_status bio_attempt_front_merge"),
    Statement("merge-request", "a request merged into another loses its hint", "block/blk-merge.c",
              "req->cmd_flags |= next->cmd_flags & REQ_IRQ_HINTS;", "",
              (f"{MERGES}::test_requests_merge",)),
    Statement("split-barrier", "each part of a split bio ends the batch", "block/bio.c",
              "split->bi_opf &= ~REQ_IRQ_BATCH;", "", SPLIT),
    Statement("split-urgent", "only the last part of a split bio is urgent", "block/blk-merge.c",
              "split->bi_opf |= REQ_NOMERGE;",
              "split->bi_opf |= REQ_NOMERGE; split->bi_opf &= ~REQ_IRQ_HINTS;", SPLIT),
    Statement("flush-last", "a flush has the hint of one of those that wait", "block/blk-flush.c",
              "hints |= rq->cmd_flags & REQ_IRQ_HINTS;",
              "hints = rq->cmd_flags & REQ_IRQ_HINTS;", (f"{MERGES}::test_flush_of_several",)),
    Statement("flush-lost", "a flush has no hint", "block/blk-flush.c",
              "flush_rq->cmd_flags |= blk_flush_irq_hints(pending);", "",
              (f"{MERGES}::test_flush_of_several",)),
    Statement("bdev-sync", "small synchronous direct I/O is unmarked", "block/fops.c",
              "bio.bi_opf |= kiocb_irq_hint(iocb, true);", "", BLOCK_DEVICE),
    Statement("bdev-async", "small asynchronous direct I/O is unmarked", "block/fops.c",
              "bio_set_irq_hint(bio, iocb, false);", "", BLOCK_DEVICE),
    Statement("bdev-large", "large direct I/O is unmarked", "block/fops.c",
              "opf |= kiocb_irq_hint(iocb, is_sync_kiocb(iocb));", "", SPLIT),
    Statement("bdev-bios", "each bio of a large I/O ends the batch", "block/fops.c",
              "bio->bi_opf &= ~REQ_IRQ_BATCH;", "", SPLIT),
)

_DIRECT = (
    Statement("dio-last", "older direct I/O loses its barrier", "fs/direct-io.c",
              "sdio.bio->bi_opf |= dio->irq_hint;", "", files("test_direct_file", "/mnt/vfat")),
    Statement("dio-every", "each bio of older direct I/O ends the batch", "fs/direct-io.c",
              "dio->opf |= dio->irq_hint & ~REQ_IRQ_BATCH;", "dio->opf |= dio->irq_hint;",
              files("test_direct_file", "/mnt/vfat")),
    Statement("iomap-every", "each bio of iomap's direct I/O ends the batch",
              "fs/iomap/direct-io.c", "bio->bi_opf &= ~REQ_IRQ_BATCH;", ";",
              files("test_direct_file", "/mnt/ext4", "/mnt/xfs")),
    Expression("iomap-wait", "a write that is waited for counts as asynchronous",
               "fs/iomap/direct-io.c", "dio->wait_for_completion", "is_sync_kiocb(dio->iocb)",
               files("test_extending_write"), "bio_set_irq_hint(bio, dio->iocb,"),
    Expression("overlay-flags", "overlayfs does not pass flags on", "fs/backing-file.c",
               "flags & BACKING_IOCB_MASK", "flags & BACKING_IOCB_MASK & 0x3fff",
               files("test_direct_file", "/mnt/over")),
)

_BATCHES = (
    Expression("aio-last", "io_submit marks the first of a batch", "fs/aio.c",
               "i + 1 == batch_end", "i == 0 && nr > 1", BLOCK_DEVICE),
    Expression("uring-far", "io_uring looks at the last entry only", "io_uring/io_uring.c",
               "min(nr, IO_BATCH_TAIL)", "min(nr, 1U)", BLOCK_DEVICE),
    Statement("uring-sqe128", "io_uring looks at the wrong large entry", "io_uring/io_uring.c",
              "index <<= 1;", "", BLOCK_DEVICE, "static bool io_sqe_is_rw"),
    Expression("uring-link", "only the last of a chain is marked", "io_uring/io_uring.c",
               "state->link.head ||\n\t    req->flags & IO_REQ_LINK_FLAGS", "false",
               BLOCK_DEVICE),
    Expression("uring-worker", "what a worker issues is unmarked", "io_uring/rw.c",
               "req->flags & REQ_F_BATCH_END",
               "req->flags & REQ_F_BATCH_END && !(req->flags & REQ_F_FORCE_ASYNC)", BLOCK_DEVICE),
    Statement("uring-again", "what is issued a second time is unmarked", "io_uring/rw.c",
              "kiocb->ki_flags |= IOCB_BATCH_END;",
              "kiocb->ki_flags |= IOCB_BATCH_END; req->flags &= ~REQ_F_BATCH_END;",
              files("test_again_from_worker"), "req->flags & REQ_F_BATCH_END"),
)

_WRITEBACK = (
    Expression("fsync-ext4", "ext4's data of an fsync is unmarked", "fs/ext4/page-io.c",
               "io->io_wbc->irq_urgent", "false", files("test_fsync", "fsync-/mnt/ext4")),
    Statement("msync-ext4", "msync on ext4 has no barrier", "fs/ext4/inode.c",
              "mpd->io_submit.io_bio->bi_opf |= wbc_last_write_flags(mpd->wbc);", ";",
              files("test_msync", "/mnt/ext4")),
    Statement("msync-iomap", "msync on XFS has no barrier", "fs/iomap/buffered-io.c",
              "wpc->ioend->io_bio.bi_opf |= wbc_last_write_flags(wbc);", ";",
              files("test_msync", "/mnt/xfs")),
    Statement("msync-mpage", "msync on vfat has no barrier", "fs/mpage.c",
              "mpd.bio->bi_opf |= wbc_last_write_flags(wbc);", "",
              files("test_msync", "/mnt/vfat")),
    Expression("sync-unmarked", "sync marks nothing", "fs/fs-writeback.c",
               "work->reason == WB_REASON_SYNC", "false", files("test_sync", "sync-/mnt/ext4")),
    Expression("background", "writeback in the background is urgent", "fs/fs-writeback.c",
               "work->reason == WB_REASON_SYNC", "true",
               files("test_background_writeback", "/mnt/ext4")),
    Expression("range-unmarked", "sync_file_range marks nothing", "fs/sync.c",
               "filemap_fdatawrite_waited(mapping, offset, endbyte,\n\t\t\t\t\t\t\tfalse)",
               "__filemap_fdatawrite_range(mapping, offset, endbyte, WB_SYNC_ALL)",
               files("test_sync", "range-/mnt/ext4")),
    Expression("flush-unmarked", "the flush of an fsync is unmarked", "block/blk-flush.c",
               "blk_irq_hint_if(BLK_IRQ_HINT_FSYNC, REQ_IRQ_URGENT)", "0",
               (*files("test_buffered_block_device"), f"{MERGES}::test_flush_of_several")),
)

_JOURNALS = (
    Expression("jbd2-record", "jbd2's commit record is unmarked", "fs/jbd2/commit.c",
               "blk_irq_hint_if(BLK_IRQ_HINT_JOURNAL, REQ_IRQ_URGENT)", "0",
               files("test_journal_blocks"), "journal_submit_commit_record("),
    Expression("jbd2-blocks", "jbd2's blocks before the record are unmarked", "fs/jbd2/commit.c",
               "i == bufs - 1", "false", files("test_journal_blocks"),
               "The commit record waits for all"),
    Expression("fast-commit", "the last block of a fast commit is unmarked",
               "fs/ext4/fast_commit.c",
               "blk_irq_hint_if(BLK_IRQ_HINT_JOURNAL, REQ_IRQ_URGENT)", "0",
               files("test_fast_commit")),
)

_READS = (
    Statement("read-ext4", "ext4's page cache misses are unmarked", "fs/ext4/readpage.c",
              "bio->bi_opf |= folio_read_irq_hint(rac, folio);", "",
              files("test_page_cache_misses", "read-/mnt/ext4")),
    Statement("read-mpage", "vfat's page cache misses are unmarked", "fs/mpage.c",
              "args->bio->bi_opf |= folio_read_irq_hint(args->rac, folio);", "",
              files("test_page_cache_misses", "read-/mnt/vfat")),
    Statement("read-iomap", "XFS's page cache misses are unmarked", "fs/iomap/buffered-io.c",
              "ctx->bio->bi_opf |= folio_read_irq_hint(ctx->rac, folio);", "",
              files("test_page_cache_misses", "read-/mnt/xfs")),
    Expression("fault", "a page fault's reads are unmarked", "mm/filemap.c",
               "blk_irq_hint_if(BLK_IRQ_HINT_READ, REQ_IRQ_URGENT)", "0",
               files("test_page_cache_misses", "mmap-/mnt/ext4", "mmap-/mnt/xfs"),
               "*do_sync_mmap_readahead("),
)

_WAITS = (
    Statement("wait-bio", "submit_bio_wait() is unmarked", "block/bio.c",
              "bio->bi_opf |= blk_irq_hint_if(BLK_IRQ_HINT_WAIT, REQ_IRQ_URGENT);", "",
              (f"{WAITS}::test_discard",)),
    Expression("swap-around", "pages around the one that is swapped in are urgent", "mm/page_io.c",
               "wanted", "true", (f"{WAITS}::test_swap_in",),
               "struct bio *bio;\n\n\tif (wanted"),
    Expression("swap-in", "a swap-in is unmarked", "mm/page_io.c",
               "blk_irq_hint_if(BLK_IRQ_HINT_WAIT, REQ_IRQ_URGENT)", "0",
               (f"{WAITS}::test_swap_in",)),
    Expression("wait-xfs", "XFS's buffers are unmarked", "fs/xfs/xfs_buf.c",
               "blk_irq_hint_if(BLK_IRQ_HINT_WAIT, REQ_IRQ_URGENT)", "0",
               (f"{WAITS}::test_metadata[/mnt/xfs]",)),
    Expression("log-forced", "XFS marks its log in the background, too", "fs/xfs/xfs_log.c",
               "atomic_read(&log->l_force_waiters)", "true",
               (f"{WAITS}::test_log_in_background",)),
    Expression("log-lost", "XFS's full log buffers before the forced one are unmarked",
               "fs/xfs/xfs_log.c", "blk_irq_hint_if(BLK_IRQ_HINT_JOURNAL, REQ_IRQ_BATCH)", "0",
               (f"{WAITS}::test_log_force",)),
    Expression("ordered-data", "ext4's ordered data has no barrier", "fs/ext4/inode.c",
               "!!(blk_irq_hint_policy() & BLK_IRQ_HINT_JOURNAL)", "0",
               (f"{WAITS}::test_ordered_data",), ".irq_batch"),
    Expression("uring-later", "io_uring always counts a call that does not wait",
               "io_uring/io_uring.c", "policy & BLK_IRQ_HINT_LATER", "true",
               (f"{WAITS}::test_what_is_a_batch",)),
)

_CORE, _PCI = "drivers/nvme/host/core.c", "drivers/nvme/host/pci.c"

_NVME = (
    Statement("both-bits", "urgent and barrier go out together", _CORE,
              "cmd->common.flags |= NVME_CMD_IRQ_URGENT;",
              "cmd->common.flags |= (req->cmd_flags & REQ_IRQ_BATCH ? NVME_CMD_IRQ_BARRIER : 0) |"
              " NVME_CMD_IRQ_URGENT;", BLOCK_DEVICE),
    Expression("barrier-wins", "urgent and barrier go out as barrier", _CORE,
               "req->cmd_flags & REQ_IRQ_URGENT", "!(req->cmd_flags & REQ_IRQ_BATCH)", BLOCK_DEVICE,
               "blk_rq_is_passthrough(req))\n\t\treturn;"),
    Expression("unasked", "hints go to controllers that did not ask", _CORE,
               "nvme_req(req)->ctrl->irq_hint_caps & NVME_IRQ_HINTS_CAP_HINTS", "true",
               ("test_hints_unasked.py::test_only_who_asked",)),
    Expression("polled", "polled I/O has hints", _CORE, "req->cmd_flags & REQ_POLLED", "0",
               UNASKED, "static void nvme_setup_irq_hint"),
    Statement("sgl", "a command with an SGL loses its hint", _PCI,
              "nvme_pci_set_psdt(cmnd, NVME_CMD_SGL_METABUF);",
              "cmnd->flags = NVME_CMD_SGL_METABUF;", BLOCK_DEVICE),
)

_OOO = (
    Expression("ooo-all-urgent", "an urgent interrupt takes everything", _PCI,
               "hints == NVME_CMD_IRQ_URGENT", "true", SWITCHES),
    Expression("ooo-doorbell", "the head is not told when one entry is free", _PCI,
               "!pass->freed", "pass->freed <= 1",
               (*SWITCHES, f"{OOO}::test_completion_queue_runs_full"),
               "static void nvme_ooo_ring("),
    Statement("ooo-time-out", "a time-out looks at urgent entries only", _PCI,
              "nvme_ooo_process_cq(nvmeq, NULL, true, 0);",
              "nvme_ooo_process_cq(nvmeq, NULL, false, 0);", (f"{RECOVERY}::test_held_too_long",)),
    Expression("ooo-one-vector", "out of order with one vector", _PCI, "dev->num_vecs > 1", "true",
               (f"{OOO}::test_without[one-vector]", f"{OOO}::test_without[pin]")),
    Expression("ooo-switch", "the parameter ooo_urgent does nothing", _PCI,
               "READ_ONCE(ooo_urgent)", "true", SWITCHES, "irqreturn_t nvme_irq_ooo("),
)

_HEAL = (
    Statement("heal-release", "an interrupt in doubt leaves entries in the queue", _PCI,
              "nvme_ooo_release_cq(nvmeq, iob);", ";", (f"{HEAL}::test_doubt_releases_at_once",),
              "nvme_ooo_irq_by_record("),
    Expression("heal-never", "the driver goes on with a record that is not kept", _PCI,
               "nvme_ooo_misled(&nvmeq->ooo)", "false", FROZEN),
    Expression("heal-no-cpu", "a vector that has no CPU is disabled and enabled", _PCI,
               "nvme_queue_has_cpu(nvmeq)", "true", (f"{OOO}::test_switched_off_without_a_cpu",),
               "static void nvme_ooo_poll_queues("),
    Statement("heal-poll", "giving up leaves in other queues what is there", _PCI,
              "nvme_ooo_poll_queues(dev);", ";", (f"{HEAL}::test_giving_up_polls_other_queues",),
              "static void nvme_ooo_fall_back_work("),
)

_SYNC_POLL, POLLING, POLLING_PATHS = (
    "block/blk-sync-poll.c", "test_polling.py", "test_polling_paths.py")
MODES = (f"{POLLING}::test_modes",)

_POLLING = (
    Expression("poll-hint", "RWF_HIPRI without queues for it is an error", _SYNC_POLL,
               "!bio_flagged(bio, BIO_SYNC_POLL)", "true",
               (f"{POLLING}::test_hint_without_queues",)),
    Expression("poll-strict", "io_poll_strict does nothing", _SYNC_POLL,
               "READ_ONCE(q->poll_strict) && !poll_irq", "false", (f"{POLLING}::test_strict",)),
    Statement("poll-count", "what is not polled for is not counted", _SYNC_POLL,
              "atomic_long_inc(&q->poll_fallback);", "", (f"{POLLING}::test_split",)),
    Statement("poll-large", "what needs several bios is not counted", "block/fops.c",
              "bio_sync_poll_fell_back(&dio->bio);", ";", (f"{POLLING}::test_several_bios",)),
    Expression("poll-merge", "polled I/O merges with other I/O", "block/blk-merge.c",
               "REQ_OP_MASK | REQ_POLLED", "REQ_OP_MASK",
               (f"{POLLING_PATHS}::test_polled_and_others_do_not_merge",)),
    Expression("poll-merge-requests", "requests that are polled for merge with others",
               "block/blk-merge.c", "(req->cmd_flags ^ next->cmd_flags) & REQ_POLLED", "false",
               (f"{POLLING_PATHS}::test_polled_and_others_do_not_merge",)),
    Statement("poll-cookies", "of a merged request only the first bio can be polled for",
              "block/blk-mq.c", "WRITE_ONCE(bio->bi_cookie, rq->mq_hctx->queue_num);",
              "WRITE_ONCE(bio->bi_cookie, rq->mq_hctx->queue_num); break;",
              (f"{POLLING_PATHS}::test_polled_merge",), "static void blk_mq_set_cookies"),
    Expression("poll-deferred", "what a worker sends is polled for", "block/blk.h",
               "current->flags & PF_WQ_WORKER", "false",
               (f"{POLLING_PATHS}::test_suspended",)),
    Statement("poll-off", "io_poll does nothing", "block/blk-sysfs.c",
              "disk->queue->sync_poll_off = !poll;", ";",
              (f"{POLLING}::test_off_and_on",)),
    Expression("poll-fixed", "a fixed sleep is half as long", _SYNC_POLL,
               "READ_ONCE(req->q->poll_delay_ns)",
               "READ_ONCE(req->q->poll_delay_ns) / 2", MODES),
    Statement("poll-tell", "nothing is learned", _SYNC_POLL,
              "sync->polled++;", "sync->polled++; req->mode = 0;", MODES),
    Statement("poll-files", "file systems do not poll", "fs/iomap/direct-io.c",
              "bio_set_sync_poll(bio);", "", (f"{POLLING_PATHS}::test_files",),
              "static noinline void iomap_dio_submit_polled"),
    Statement("poll-irq-hints", "who polls a queue with interrupts asks for one", _SYNC_POLL,
              "bio->bi_opf &= ~REQ_IRQ_HINTS;", ";", (f"{POLLING}::test_irq_queues",)),
    Expression("poll-irq-queues", "queues with interrupts are not polled", _PCI,
               "!nvme_queue_poll_irq(nvmeq)", "true", (f"{POLLING}::test_irq_queues",)),
    Statement("poll-drain", "a reset takes queues away with their requests", _PCI,
              "nvme_drain_queues(dev);", ";", (f"{POLLING}::test_survival",)),
)

_SWITCH_C, SWITCH, ENDS = "block/blk-switch.c", "test_blk_switch.py", "test_blk_switch_ends.py"
STEERED = (f"{SWITCH}::test_steering",)
MAP = (f"{SWITCH}::test_map",)
BYTES = (f"{SWITCH}::test_bytes",)

_SWITCH = (
    Expression("switch-off", "the realtime class has its queues in mode off, too", _SWITCH_C,
               "blk_switch_at_least(q, BLK_SWITCH_PRIO)", "true", MAP,
               "static bool blk_switch_is_latency_bio"),
    Statement("switch-class", "the class does not choose the queue", _SWITCH_C,
              "data->flags |= BLK_MQ_REQ_LATENCY;", ";", MAP),
    Expression("switch-cached", "a request that was cached for the other class is taken",
               _SWITCH_C, "type == rq->mq_hctx->type", "true",
               (f"{SWITCH}::test_class_of_a_request",)),
    Statement("switch-stay", "what was to be steered stays", _SWITCH_C, "data->hctx = hctx;",
              "return;", (*STEERED, f"{SWITCH}::test_batches")),
    Statement("switch-uncounted", "what is steered is not counted", _SWITCH_C,
              "atomic_long_inc(&rq->mq_hctx->switch_steered);", ";", STEERED),
    Statement("switch-end", "bytes are not taken away", _SWITCH_C,
              "atomic_long_sub(rq->switch_bytes, &rq->mq_hctx->switch_bytes);", ";", BYTES,
              alone=True),
    Statement("switch-twice", "a flush's bytes are taken away twice", _SWITCH_C,
              "rq->rq_flags &= ~RQF_SWITCH_BYTES;", ";", BYTES, alone=True),
    Statement("switch-merged", "bytes that are merged are not counted", _SWITCH_C,
              "blk_switch_add(rq, bytes);", ";", (f"{ENDS}::test_merges",),
              "void __blk_switch_merged"),
    Expression("switch-batch", "only the last request of a steered batch is marked", _SWITCH_C,
               "!blk_switch_is_followed(rq)", "!rq->rq_next", (f"{SWITCH}::test_batches",)),
    Statement("switch-apps", "no task is moved", _SWITCH_C, "blk_switch_move_one(apps);", ";",
              (f"{SWITCH}::test_applications",)),
    Expression("switch-medium", "all submission queues are urgent", _PCI,
               "nvme_uses_wrru(ctrl) && !nvme_is_latency_queue(dev, qid)", "false",
               (f"{SWITCH}::test_reset_with_other_queues",)),
    Expression("switch-vectors", "queues by class with fewer vectors than they need", _PCI,
               "min_irqs", "1", (f"{SWITCH}::test_without_queues",),
               "return pci_alloc_irq_vectors_affinity("),
    Expression("switch-reset", "queues for polling take those of the realtime class", _PCI,
               "min(kept, nr_io_queues)", "1", (f"{SWITCH}::test_reset_with_other_queues",)),
    Expression("switch-tags", "who finds no tag elsewhere does not try his own queue",
               "block/blk-mq-tag.c", "blk_switch_come_back(data)", "false",
               (f"{SWITCH}::test_no_tag_elsewhere",)),
    Expression("switch-waits", "who finds no tag elsewhere may wait for one there",
               "block/blk-mq-tag.c", "blk_switch_come_back(data)", "false",
               (f"{ENDS}::test_no_tag_to_wait_for_elsewhere",), "Nor does it wait"),
    Expression("switch-maps", "a reset makes queues for polling that no map has", _PCI,
               "nvme_may_have_queues(dev, HCTX_TYPE_POLL)", "true",
               (f"{POLLING}::test_queues_that_come_too_late",)),
    Expression("switch-ends", "the interrupt ends T's requests beside L, too", _PCI,
               "blk_switch_latency_here()", "false", (f"{ENDS}::test_who_ends",)),
    Expression("switch-alone", "the thread ends T's requests without L, too", _PCI,
               "blk_switch_latency_here()", "true", (f"{ENDS}::test_who_ends",)),
    Statement("switch-nice", "the thread is of SCHED_FIFO", _PCI,
              "sched_set_normal(current, switch_nice);", ";", (f"{SWITCH}::test_threads",)),
)

MUTATIONS = (*_BLOCK, *_DIRECT, *_BATCHES, *_WRITEBACK, *_JOURNALS, *_READS, *_WAITS, *_NVME, *_OOO,
             *_HEAL, *_POLLING, *_SWITCH)
