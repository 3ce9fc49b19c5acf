# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the guest's kernel, broken, and the tests of guests that should notice.

Those of files that run as programs, too, are in pure.py.
"""

from __future__ import annotations

from written import EXPRESSION, STATEMENT, Written

HINTS, MERGES, WAITS = "test_hints.py", "test_hint_merges.py", "test_hint_waits.py"
SWITCH, ENDS = "test_blk_switch.py", "test_blk_switch_ends.py"
OOO, RECOVERY, HEAL = "test_ooo.py", "test_recovery.py", "test_heal.py"
BLOCK_DEVICE = (f"{HINTS}::test_block_device",)
SPLIT = (f"{HINTS}::test_split",)
UNASKED = ("test_hints_unasked.py::test_flags_of_commands",)
SWITCHES = (f"{OOO}::test_switches",)
FROZEN = (f"{HEAL}::test_frozen_record",)


def files(test: str, *where: str) -> tuple[str, ...]:
    """A test of file systems, on some of them."""
    return tuple(f"{HINTS}::{test}[{name}]" for name in where) or (f"{HINTS}::{test}",)


def _statement(short: str, what: str, file: str, old: str, new: str, tests: tuple[str, ...],
               *, after: str = "", alone: bool = False) -> Written:
    """Whole statements in place of others."""
    return Written(what, file, old, new, tests, after, STATEMENT, short, alone)


def _value(short: str, what: str, file: str, old: str, new: str, tests: tuple[str, ...],
           *, after: str = "") -> Written:
    """Another value in place of one."""
    return Written(what, file, old, new, tests, after, EXPRESSION, short)


_MERGE_BIO = "req->cmd_flags |= bio->bi_opf & REQ_IRQ_HINTS;"


_OFFLINE = "test_resets_offline.py"

_FIXES = (
    _statement("fix-inactive", "a hardware queue that is used again stays inactive",
               "block/blk-mq.c", "clear_bit(BLK_MQ_S_INACTIVE, &hctx->state);", ";",
               (f"{_OFFLINE}::test_offline_with_other_queues",),
               after="hctx->queue_num = hctx_idx;"),
    _value("fix-maps", "each reset makes the hardware queues anew", "block/blk-mq.c",
           "!blk_mq_queue_maps_change(set)", "false", (f"{_OFFLINE}::test_nothing_changes",)),
)

_BLOCK = (
    _statement("merge-back", "a bio merged behind a request loses its hint", "block/blk-merge.c",
               _MERGE_BIO, "", BLOCK_DEVICE, after="enum bio_merge_status bio_attempt_back_merge"),
    _statement("merge-discard", "a discard that becomes a range of another loses its hint",
               "block/blk-merge.c", _MERGE_BIO, "", (f"{MERGES}::test_discards_merge",),
               after="static enum bio_merge_status bio_attempt_discard_merge"),
    _statement("merge-front", "a bio merged before a request loses its hint", "block/blk-merge.c",
               _MERGE_BIO, "", (f"{MERGES}::test_merge_in_scheduler",),
               after="bio_merge_status bio_attempt_front_merge"),
    _statement("merge-request", "a request merged into another loses its hint",
               "block/blk-merge.c", "req->cmd_flags |= next->cmd_flags & REQ_IRQ_HINTS;", "",
               (f"{MERGES}::test_requests_merge",)),
    _statement("split-barrier", "each part of a split bio ends the batch", "block/bio.c",
               "split->bi_opf &= ~REQ_IRQ_BATCH;", "", SPLIT),
    _statement("split-urgent", "only the last part of a split bio is urgent", "block/blk-merge.c",
               "split->bi_opf |= REQ_NOMERGE;",
               "split->bi_opf |= REQ_NOMERGE; split->bi_opf &= ~REQ_IRQ_HINTS;", SPLIT),
    _statement("flush-last", "a flush has the hint of one of those that wait", "block/blk-flush.c",
               "hints |= rq->cmd_flags & REQ_IRQ_HINTS;", "hints = rq->cmd_flags & REQ_IRQ_HINTS;",
               (f"{MERGES}::test_flush_of_several",)),
    _statement("flush-lost", "a flush has no hint", "block/blk-flush.c",
               "flush_rq->cmd_flags |= blk_flush_irq_hints(pending);", "",
               (f"{MERGES}::test_flush_of_several",)),
    _statement("bdev-sync", "small synchronous direct I/O is unmarked", "block/fops.c",
               "bio.bi_opf |= kiocb_irq_hint(iocb, true);", "", BLOCK_DEVICE),
    _statement("bdev-async", "small asynchronous direct I/O is unmarked", "block/fops.c",
               "bio_set_irq_hint(bio, iocb, false);", "", BLOCK_DEVICE),
    _statement("bdev-large", "large direct I/O is unmarked", "block/fops.c",
               "opf |= kiocb_irq_hint(iocb, is_sync_kiocb(iocb));", "", SPLIT),
    _statement("bdev-bios", "each bio of a large I/O ends the batch", "block/fops.c",
               "bio->bi_opf &= ~REQ_IRQ_BATCH;", "", SPLIT),
)

_DIRECT = (
    _statement("dio-last", "older direct I/O loses its barrier", "fs/direct-io.c",
               "sdio.bio->bi_opf |= dio->irq_hint;", "", files("test_direct_file", "/mnt/vfat")),
    _statement("dio-every", "each bio of older direct I/O ends the batch", "fs/direct-io.c",
               "dio->opf |= dio->irq_hint & ~REQ_IRQ_BATCH;", "dio->opf |= dio->irq_hint;",
               files("test_direct_file", "/mnt/vfat")),
    _statement("iomap-every", "each bio of iomap's direct I/O ends the batch",
               "fs/iomap/direct-io.c", "bio->bi_opf &= ~REQ_IRQ_BATCH;", ";",
               files("test_direct_file", "/mnt/ext4", "/mnt/xfs")),
    _value("iomap-wait", "a write that is waited for counts as asynchronous",
           "fs/iomap/direct-io.c", "dio->wait_for_completion", "is_sync_kiocb(dio->iocb)",
           files("test_extending_write"), after="bio_set_irq_hint(bio, dio->iocb,"),
    _value("overlay-flags", "overlayfs does not pass flags on", "fs/backing-file.c",
           "flags & BACKING_IOCB_MASK", "flags & BACKING_IOCB_MASK & 0x3fff",
           files("test_direct_file", "/mnt/over")),
)

_BATCHES = (
    _value("aio-last", "io_submit marks the first of a batch", "fs/aio.c", "i + 1 == batch_end",
           "i == 0 && nr > 1", BLOCK_DEVICE),
    _statement("aio-wait", "what io_getevents() waits for is forgotten", "fs/aio.c",
               "WRITE_ONCE(ctx->wait_nr, min_nr);", ";", (f"{WAITS}::test_which_is_the_end[aio]",)),
    _value("uring-wait", "what a submission waits for is forgotten", "io_uring/io_uring.c",
           "flags & IORING_ENTER_GETEVENTS ? min_complete : 0", "0",
           (f"{WAITS}::test_which_is_the_end[uring]",), after="io_begin_batch(ctx, to_submit,"),
    _value("uring-far", "io_uring looks at the last entry only", "io_uring/io_uring.c",
           "min(nr, IO_BATCH_TAIL)", "min(nr, 1U)", BLOCK_DEVICE),
    _statement("uring-sqe128", "io_uring looks at the wrong large entry", "io_uring/io_uring.c",
               "index <<= 1;", "", BLOCK_DEVICE, after="static bool io_sqe_is_rw"),
    _value("uring-link", "only the last of a chain is marked", "io_uring/io_uring.c",
           "state->link.head ||\n\t    req->flags & IO_REQ_LINK_FLAGS", "false", BLOCK_DEVICE),
    _value("uring-worker", "what a worker issues is unmarked", "io_uring/rw.c",
           "req->flags & REQ_F_BATCH_END",
           "req->flags & REQ_F_BATCH_END && !(req->flags & REQ_F_FORCE_ASYNC)", BLOCK_DEVICE),
    _statement("uring-again", "what is issued a second time is unmarked", "io_uring/rw.c",
               "kiocb->ki_flags |= IOCB_BATCH_END;",
               "kiocb->ki_flags |= IOCB_BATCH_END; req->flags &= ~REQ_F_BATCH_END;",
               files("test_again_from_worker"), after="req->flags & REQ_F_BATCH_END"),
)

_WRITEBACK = (
    _value("fsync-ext4", "ext4's data of an fsync is unmarked", "fs/ext4/page-io.c",
           "io->io_wbc->irq_urgent", "false", files("test_fsync", "fsync-/mnt/ext4")),
    _statement("msync-ext4", "msync on ext4 has no barrier", "fs/ext4/inode.c",
               "mpd->io_submit.io_bio->bi_opf |= wbc_last_write_flags(mpd->wbc);", ";",
               files("test_msync", "/mnt/ext4")),
    _statement("msync-iomap", "msync on XFS has no barrier", "fs/iomap/buffered-io.c",
               "wpc->ioend->io_bio.bi_opf |= wbc_last_write_flags(wbc);", ";",
               files("test_msync", "/mnt/xfs")),
    _statement("msync-mpage", "msync on vfat has no barrier", "fs/mpage.c",
               "mpd.bio->bi_opf |= wbc_last_write_flags(wbc);", "",
               files("test_msync", "/mnt/vfat")),
    _value("sync-unmarked", "sync marks nothing", "fs/fs-writeback.c",
           "work->reason == WB_REASON_SYNC", "false", files("test_sync", "sync-/mnt/ext4")),
    _value("background", "writeback in the background is urgent", "fs/fs-writeback.c",
           "work->reason == WB_REASON_SYNC", "true",
           files("test_background_writeback", "/mnt/ext4")),
    _value("range-unmarked", "sync_file_range marks nothing", "fs/sync.c",
           "filemap_fdatawrite_waited(mapping, offset, endbyte,\n\t\t\t\t\t\t\tfalse)",
           "__filemap_fdatawrite_range(mapping, offset, endbyte, WB_SYNC_ALL)",
           files("test_sync", "range-/mnt/ext4")),
    _value("flush-unmarked", "the flush of an fsync is unmarked", "block/blk-flush.c",
           "blk_irq_hint_if(BLK_IRQ_HINT_FSYNC, REQ_IRQ_URGENT)", "0",
           (*files("test_buffered_block_device"), f"{MERGES}::test_flush_of_several")),
)

_JOURNALS = (
    _value("jbd2-record", "jbd2's commit record is unmarked", "fs/jbd2/commit.c",
           "blk_irq_hint_if(BLK_IRQ_HINT_JOURNAL, REQ_IRQ_URGENT)", "0",
           files("test_journal_blocks"), after="journal_submit_commit_record("),
    _value("jbd2-blocks", "jbd2's blocks before the record are unmarked", "fs/jbd2/commit.c",
           "i == bufs - 1", "false", files("test_journal_blocks"),
           after="The commit record waits for all"),
    _value("fast-commit", "the last block of a fast commit is unmarked", "fs/ext4/fast_commit.c",
           "blk_irq_hint_if(BLK_IRQ_HINT_JOURNAL, REQ_IRQ_URGENT)", "0", files("test_fast_commit")),
)

_READS = (
    _statement("read-ext4", "ext4's page cache misses are unmarked", "fs/ext4/readpage.c",
               "bio->bi_opf |= folio_read_irq_hint(rac, folio);", "",
               files("test_page_cache_misses", "read-/mnt/ext4")),
    _statement("read-mpage", "vfat's page cache misses are unmarked", "fs/mpage.c",
               "args->bio->bi_opf |= folio_read_irq_hint(args->rac, folio);", "",
               files("test_page_cache_misses", "read-/mnt/vfat")),
    _statement("read-iomap", "XFS's page cache misses are unmarked", "fs/iomap/buffered-io.c",
               "ctx->bio->bi_opf |= folio_read_irq_hint(ctx->rac, folio);", "",
               files("test_page_cache_misses", "read-/mnt/xfs")),
    _value("fault", "a page fault's reads are unmarked", "mm/filemap.c",
           "blk_irq_hint_if(BLK_IRQ_HINT_READ, REQ_IRQ_URGENT)", "0",
           files("test_page_cache_misses", "mmap-/mnt/ext4", "mmap-/mnt/xfs"),
           after="*do_sync_mmap_readahead("),
)

_WAITS = (
    _statement("wait-bio", "submit_bio_wait() is unmarked", "block/bio.c",
               "bio->bi_opf |= blk_irq_hint_if(BLK_IRQ_HINT_WAIT, REQ_IRQ_URGENT);", "",
               (f"{WAITS}::test_discard",)),
    _value("swap-around", "pages around the one that is swapped in are urgent", "mm/page_io.c",
           "wanted", "true", (f"{WAITS}::test_swap_in",), after="struct bio *bio;\n\n\tif (wanted"),
    _value("swap-in", "a swap-in is unmarked", "mm/page_io.c",
           "blk_irq_hint_if(BLK_IRQ_HINT_WAIT, REQ_IRQ_URGENT)", "0", (f"{WAITS}::test_swap_in",)),
    _value("wait-xfs", "XFS's buffers are unmarked", "fs/xfs/xfs_buf.c",
           "blk_irq_hint_if(BLK_IRQ_HINT_WAIT, REQ_IRQ_URGENT)", "0",
           (f"{WAITS}::test_metadata[/mnt/xfs]",)),
    _value("log-forced", "XFS marks its log in the background, too", "fs/xfs/xfs_log.c",
           "atomic_read(&log->l_force_waiters)", "true", (f"{WAITS}::test_log_in_background",)),
    _value("log-lost", "XFS's full log buffers before the forced one are unmarked",
           "fs/xfs/xfs_log.c", "blk_irq_hint_if(BLK_IRQ_HINT_JOURNAL, REQ_IRQ_BATCH)", "0",
           (f"{WAITS}::test_log_force",)),
    _value("ordered-data", "ext4's ordered data has no barrier", "fs/ext4/inode.c",
           "!!(blk_irq_hint_policy() & BLK_IRQ_HINT_JOURNAL)", "0",
           (f"{WAITS}::test_ordered_data",), after=".irq_batch"),
    _value("uring-later", "io_uring always counts a call that does not wait",
           "io_uring/io_uring.c", "policy & BLK_IRQ_HINT_LATER", "true",
           (f"{WAITS}::test_what_is_a_batch",)),
)

_CORE, _PCI = "drivers/nvme/host/core.c", "drivers/nvme/host/pci.c"

_NVME = (
    _statement("both-bits", "urgent and barrier go out together", _CORE,
               "cmd->common.flags |= NVME_CMD_IRQ_URGENT;",
               "cmd->common.flags |= (req->cmd_flags & REQ_IRQ_BATCH ? "
               "NVME_CMD_IRQ_BARRIER : 0) | NVME_CMD_IRQ_URGENT;", BLOCK_DEVICE),
    _value("barrier-wins", "urgent and barrier go out as barrier", _CORE,
           "req->cmd_flags & REQ_IRQ_URGENT", "!(req->cmd_flags & REQ_IRQ_BATCH)", BLOCK_DEVICE,
           after="blk_rq_is_passthrough(req))\n\t\treturn;"),
    _value("unasked", "hints go to controllers that did not ask", _CORE,
           "nvme_req(req)->ctrl->irq_hint_caps & NVME_IRQ_HINTS_CAP_HINTS", "true",
           ("test_hints_unasked.py::test_only_who_asked",)),
    _value("polled", "polled I/O has hints", _CORE, "req->cmd_flags & REQ_POLLED", "0", UNASKED,
           after="static void nvme_setup_irq_hint"),
    _statement("sgl", "a command with an SGL loses its hint", _PCI,
               "nvme_pci_set_psdt(cmnd, NVME_CMD_SGL_METABUF);",
               "cmnd->flags = NVME_CMD_SGL_METABUF;", BLOCK_DEVICE),
)

_OOO = (
    _value("ooo-all-urgent", "an urgent interrupt takes everything", _PCI,
           "hints == NVME_CMD_IRQ_URGENT", "true", SWITCHES),
    _value("ooo-doorbell", "the head is not told when one entry is free", _PCI, "!pass->freed",
           "pass->freed <= 1", (*SWITCHES, f"{OOO}::test_completion_queue_runs_full"),
           after="static void nvme_ooo_ring("),
    _statement("ooo-time-out", "a time-out looks at urgent entries only", _PCI,
               "nvme_ooo_process_cq(nvmeq, NULL, true, 0);",
               "nvme_ooo_process_cq(nvmeq, NULL, false, 0);", (f"{RECOVERY}::test_held_too_long",)),
    _value("ooo-one-vector", "out of order with one vector", _PCI, "dev->num_vecs > 1", "true",
           (f"{OOO}::test_without[one-vector]", f"{OOO}::test_without[pin]"),
           after="With one vector the queue shares it"),
    _value("ooo-switch", "the parameter ooo_urgent does nothing", _PCI, "READ_ONCE(ooo_urgent)",
           "true", SWITCHES, after="nvme_ooo_on(nvmeq->dev) &&"),
    _value("ooo-shown", "the attribute does not say that the parameter is off", _PCI,
           "READ_ONCE(ooo_urgent)", "true", SWITCHES, after="READ_ONCE(ndev->ooo) &&"),
)

_HEAL = (
    _statement("heal-release", "an interrupt in doubt leaves entries in the queue", _PCI,
               "nvme_ooo_release_cq(nvmeq, iob);", ";", (f"{HEAL}::test_doubt_releases_at_once",),
               after="nvme_ooo_irq_by_record("),
    _value("heal-never", "the driver goes on with a record that is not kept", _PCI,
           "nvme_ooo_misled(&nvmeq->ooo)", "false", FROZEN),
    _value("heal-no-cpu", "a vector that has no CPU is disabled and enabled", _PCI,
           "nvme_queue_has_cpu(nvmeq)", "true", (f"{OOO}::test_switched_off_without_a_cpu",),
           after="static void nvme_ooo_poll_queues("),
    _statement("heal-poll", "giving up leaves in other queues what is there", _PCI,
               "nvme_ooo_poll_queues(dev);", ";", (f"{HEAL}::test_giving_up_polls_other_queues",),
               after="static void nvme_ooo_fall_back_work("),
)

_SYNC_POLL, POLLING, POLLING_PATHS, POLLING_SHAKEN = (
    "block/blk-sync-poll.c", "test_polling.py", "test_polling_paths.py", "test_polling_shaken.py")
MODES = (f"{POLLING}::test_modes",)

_POLLING = (
    _value("poll-hint", "RWF_HIPRI without queues for it is an error", _SYNC_POLL,
           "!bio_flagged(bio, BIO_SYNC_POLL)", "true", (f"{POLLING}::test_hint_without_queues",)),
    _value("poll-strict", "io_poll_strict does nothing", _SYNC_POLL,
           "READ_ONCE(q->poll_strict) && !poll_irq", "false", (f"{POLLING}::test_strict",)),
    _statement("poll-count", "what is not polled for is not counted", _SYNC_POLL,
               "atomic_long_inc(&q->poll_fallback);", "", (f"{POLLING}::test_split",)),
    _statement("poll-large", "what needs several bios is not counted", "block/fops.c",
               "bdev_sync_poll_fell_back(bdev);", ";", (f"{POLLING}::test_several_bios",)),
    _value("poll-merge", "polled I/O merges with other I/O", "block/blk-merge.c",
           "REQ_OP_MASK | REQ_POLLED", "REQ_OP_MASK",
           (f"{POLLING_PATHS}::test_polled_and_others_do_not_merge",)),
    _value("poll-merge-requests", "requests that are polled for merge with others",
           "block/blk-merge.c", "(req->cmd_flags ^ next->cmd_flags) & REQ_POLLED", "false",
           (f"{POLLING_PATHS}::test_polled_and_others_do_not_merge",)),
    _statement("poll-cookies", "of a merged request only the first bio can be polled for",
               "block/blk-mq.c", "WRITE_ONCE(bio->bi_cookie, rq->mq_hctx->queue_num);",
               "WRITE_ONCE(bio->bi_cookie, rq->mq_hctx->queue_num); break;",
               (f"{POLLING_PATHS}::test_polled_merge",), after="static void blk_mq_set_cookies"),
    _value("poll-deferred", "what a worker sends is polled for", "block/blk.h",
           "current->flags & PF_WQ_WORKER", "false", (f"{POLLING_PATHS}::test_suspended",)),
    _statement("poll-off", "io_poll does nothing", "block/blk-sysfs.c",
               "disk->queue->sync_poll_off = !poll;", ";", (f"{POLLING}::test_off_and_on",)),
    _value("poll-fixed", "a fixed sleep is half as long", _SYNC_POLL,
           "READ_ONCE(req->q->poll_delay_ns)", "READ_ONCE(req->q->poll_delay_ns) / 2", MODES),
    _statement("poll-tell", "nothing is learned", _SYNC_POLL, "sync->polled++;",
               "sync->polled++; req->mode = 0;", MODES),
    _statement("poll-files", "file systems do not poll", "fs/iomap/direct-io.c",
               "bio_set_sync_poll(bio);", "", (f"{POLLING_PATHS}::test_files",),
               after="static noinline void iomap_dio_submit_polled"),
    _statement("poll-irq-hints", "who polls a queue with interrupts asks for one", _SYNC_POLL,
               "bio->bi_opf &= ~REQ_IRQ_HINTS;", ";", (f"{POLLING}::test_irq_queues",)),
    _value("poll-irq-queues", "queues with interrupts are not polled", _PCI,
           "!nvme_queue_poll_irq(nvmeq)", "true", (f"{POLLING}::test_irq_queues",)),
    _statement("poll-drain", "a reset takes queues away with their requests", _PCI,
               "nvme_drain_queues(dev);", ";",
               (f"{POLLING_SHAKEN}::test_queue_goes_with_a_read",)),
)

_SWITCH_C = "block/blk-switch.c"
STEERED = (f"{SWITCH}::test_steering",)
MAP = (f"{SWITCH}::test_map",)
BYTES = (f"{SWITCH}::test_bytes",)

_SWITCH = (
    _value("switch-off", "the realtime class has its queues in mode off, too", _SWITCH_C,
           "blk_switch_at_least(q, BLK_SWITCH_PRIO)", "true", MAP,
           after="static bool blk_switch_is_latency_bio"),
    _statement("switch-class", "the class does not choose the queue", _SWITCH_C,
               "data->flags |= BLK_MQ_REQ_LATENCY;", ";", MAP),
    _value("switch-cached", "a request that was cached for the other class is taken", _SWITCH_C,
           "type == rq->mq_hctx->type", "true", (f"{SWITCH}::test_class_of_a_request",)),
    _statement("switch-stay", "what was to be steered stays", _SWITCH_C, "data->hctx = hctx;",
               "return;", (*STEERED, f"{SWITCH}::test_batches")),
    _statement("switch-uncounted", "what is steered is not counted", _SWITCH_C,
               "atomic_long_inc(&rq->mq_hctx->switch_steered);", ";", STEERED),
    _statement("switch-end", "bytes are not taken away", _SWITCH_C,
               "atomic_long_sub(rq->switch_bytes, &rq->mq_hctx->switch_bytes);", ";", BYTES,
               alone=True),
    _statement("switch-twice", "a flush's bytes are taken away twice", _SWITCH_C,
               "rq->rq_flags &= ~RQF_SWITCH_BYTES;", ";",
               (f"{SWITCH}::test_bytes_of_a_journal",)),
    _statement("switch-merged", "bytes that are merged are not counted", _SWITCH_C,
               "blk_switch_add(rq, bytes);", ";", (f"{ENDS}::test_merges",),
               after="void __blk_switch_merged"),
    _value("switch-batch", "only the last request of a steered batch is marked", _SWITCH_C,
           "!blk_switch_is_followed(rq)", "!rq->rq_next", (f"{SWITCH}::test_batches",)),
    _statement("switch-apps", "no task is moved", _SWITCH_C, "blk_switch_move_one(apps);", ";",
               (f"{SWITCH}::test_applications",)),
    _value("switch-medium", "all submission queues are urgent", _PCI,
           "nvme_uses_wrru(ctrl) && !nvme_is_latency_queue(dev, qid)", "false",
           (f"{SWITCH}::test_reset_with_other_queues",)),
    _value("switch-vectors", "queues by class with fewer vectors than they need", _PCI, "min_irqs",
           "1", (f"{SWITCH}::test_without_queues",),
           after="return pci_alloc_irq_vectors_affinity("),
    _value("switch-reset", "queues for polling take those of the realtime class", _PCI,
           "min(kept, nr_io_queues)", "1", (f"{SWITCH}::test_reset_with_other_queues",)),
    _value("switch-tags", "who finds no tag elsewhere does not try his own queue",
           "block/blk-mq-tag.c", "blk_switch_come_back(data)", "false",
           (f"{SWITCH}::test_no_tag_elsewhere",)),
    _value("switch-waits", "who finds no tag elsewhere may wait for one there",
           "block/blk-mq-tag.c", "blk_switch_come_back(data)", "false",
           (f"{ENDS}::test_no_tag_to_wait_for_elsewhere",), after="Nor does it wait"),
    _value("switch-maps", "a reset makes queues for polling that no map has", _PCI,
           "nvme_may_have_queues(dev, HCTX_TYPE_POLL)", "true",
           (f"{POLLING}::test_queues_that_come_too_late",)),
    _value("switch-ends", "the interrupt ends T's requests beside L, too", _PCI,
           "blk_switch_latency_here()", "false", (f"{ENDS}::test_who_ends",)),
    _statement("switch-plug", "T's requests are sent together beside L, too", _SWITCH_C,
               "blk_mq_flush_plug_list(plug, false);", ";", (f"{ENDS}::test_who_ends",)),
    _statement("switch-here", "nobody knows where L is", _SWITCH_C,
               "raw_cpu_write(blk_switch_latency_at, jiffies);", ";", (f"{ENDS}::test_who_ends",)),
    _value("switch-alone", "the thread ends T's requests without L, too", _PCI,
           "blk_switch_latency_here()", "true", (f"{ENDS}::test_who_ends",)),
    _statement("switch-nice", "the thread is of SCHED_FIFO", _PCI,
               "sched_set_normal(current, switch_nice);", ";", (f"{SWITCH}::test_threads",)),
)

MUTANTS = (*_FIXES, *_BLOCK, *_DIRECT, *_BATCHES, *_WRITEBACK, *_JOURNALS, *_READS, *_WAITS,
           *_NVME, *_OOO, *_HEAL, *_POLLING, *_SWITCH)
