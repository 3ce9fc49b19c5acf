# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the driver in user space, broken."""

from __future__ import annotations

from written import Written

_WAIT_C = "userspace/wait.c"
_MODE_C = "userspace/mode.c"
_WATCH_C = "userspace/watch.c"
_DUE_C = "userspace/due.c"
_REAP_C = "userspace/reap.c"
_QUEUE_C = "userspace/queue.c"
_COMMAND_C = "userspace/command.c"
_GROUP_C = "userspace/group.c"
_PAIRS_C = "userspace/pairs.c"
_ADMIN_C = "userspace/admin.c"
_IDENTIFY_C = "userspace/identify.c"
_LOG_C = "userspace/log.c"
_CONTROLLER_C = "userspace/controller.c"
_INFO_C = "userspace/info.c"
_DMA_C = "userspace/dma.c"
_PLACES_C = "userspace/places.c"
_USERS_C = "userspace/users.c"
_BIND_C = "userspace/bind.c"
_VFIO_C = "userspace/vfio.c"

MUTANTS = (
    Written("gathered however seldom they come", _WAIT_C,
            "q->gap_ns ? q->gather_ns / q->gap_ns : 0", "q->gap_ns ? q->flying : 0"),
    Written("armed, and not looked", _WAIT_C,
            "    if ((k && ask(q, k)) || told || cintio_is_overdue(q)) {\n        return 1;\n"
            "    }\n", "    if (k) { ask(q, k); }\n"),
    Written("emptied between look and sleep", _WAIT_C, "    if (step(q, CINTIO_STEP_LOOKED)) {",
            "    step(q, CINTIO_STEP_LOOKED);\n    {"),
    Written("whoever polls looks after nobody", _WAIT_C,
            "        ret = cintio_look_after(q, now);\n        if (",
            "        ret = 0;\n        if ("),
    Written("a sleeper looks after nobody", _WAIT_C,
            "left <= CINTIO_WATCH_NS ? TIMED_OUT : cintio_check_alive(q)",
            "left <= CINTIO_WATCH_NS ? TIMED_OUT : 0"),
    Written("sleeps from now", _WAIT_C, "until = oldest->pushed_ns + ns,",
            "until = cintio_now() + ns,"),
    Written("what was got at the end is lost", _WAIT_C,
            "return got || ret == TIMED_OUT ? (int)got : ret;",
            "return ret == TIMED_OUT ? (int)got : ret ? ret : (int)got;"),
    Written("interrupts are told of as one", _WAIT_C,
            "q->on_interrupt(q->interrupt_opaque, more);",
            "q->on_interrupt(q->interrupt_opaque, 1);"),
    Written("wake-ups are told of", _WAIT_C, "q->on_interrupt(q->interrupt_opaque, more);",
            "q->on_interrupt(q->interrupt_opaque, count);"),
    Written("pointer one too far", _MODE_C, "target = cintio_ahead(q, q->head, k);",
            "target = cintio_ahead(q, q->head, k + 1);"),
    Written("pointer one too near", _MODE_C, "target = cintio_ahead(q, q->head, k);",
            "target = cintio_ahead(q, q->head, k - 1);"),
    Written("a reset by another thread is a failure", _WATCH_C,
            "return ret == -EIO && cintio_is_stale(q) ? ", "return ret == -EIO && 0 ? "),
    Written("looked after once", _WATCH_C, "    q->watched_ns = now;",
            "    q->watched_ns = UINT64_MAX / 2;"),
    Written("told again and again", _DUE_C,
            "    q->slots[slot - q->slots].due_ns = 0;\n    q->timed--;\n", ""),
    Written("doubts stay", _REAP_C, "counted ? 0 : q->doubts + 1;", "q->doubts + !counted;"),
    Written("Urgent ones explain nothing", _REAP_C,
            "counted && (full || messages <= q->seen.urgent)", "full"),
    Written("all are errors", _REAP_C, "q->errors += done->status != 0;", "q->errors++;"),
    Written("one place of a full ring", _QUEUE_C, "q->free[q->nr_free] = n - 1 - q->nr_free;",
            "q->free[q->nr_free] = 0;"),
    Written("the head of the start before", _QUEUE_C,
            "    q->head = q->scan = (struct cintio_cursor) { .phase = true };\n",
            "    q->head.phase = q->scan.phase = true;\n"),
    Written("lists of a later start", _QUEUE_C, "return q->max_transfer / NVME_PAGE",
            "return q->dev->info.max_transfer / NVME_PAGE"),
    Written("what was of the command before", _QUEUE_C,
            "    *slot = (struct cintio_slot) {\n"
            "        .prev = q->slots[ends].prev, .next = ends, .busy = true,\n    };\n",
            "    slot->prev = q->slots[ends].prev;\n    slot->next = ends;\n"
            "    slot->busy = true;\n"),
    Written("the oldest is the youngest", _QUEUE_C,
            "next = slot ? slot->next : q->slots[ends].next;",
            "next = slot ? slot->prev : q->slots[ends].prev;"),
    Written("gaps are no gaps", _COMMAND_C, "c->by_sgl = !fits_pages(c);", "c->by_sgl = false;"),
    Written("all have gaps", _COMMAND_C, "c->by_sgl = !fits_pages(c);",
            "c->by_sgl = q->info->sgl;"),
    Written("one less than it has room for", _COMMAND_C, "if (n == room) {",
            "if (n + 1 == room) {"),
    Written("both hints are Urgent", _COMMAND_C,
            "(c->sqe.flags & (NVME_CINT_FLAGS_URGENT |\n"
            "                                    NVME_CINT_FLAGS_BARRIER)) ==\n"
            "                   NVME_CINT_FLAGS_URGENT", "c->sqe.flags & NVME_CINT_FLAGS_URGENT"),
    Written("hints exchanged", _COMMAND_C, "hints & CINTIO_URGENT ? NVME_CINT_FLAGS_URGENT",
            "hints & CINTIO_BARRIER ? NVME_CINT_FLAGS_URGENT"),
    Written("the end of the namespace", _COMMAND_C, "io->blocks > ns.blocks - io->lba",
            "io->blocks - 1 > ns.blocks - io->lba"),
    Written("as much as a later start allows", _COMMAND_C, "c->len > q->max_transfer",
            "c->len > q->dev->info.max_transfer"),
    Written("pieces of less", _COMMAND_C, "if (sum != c->len) {", "if (sum > c->len) {"),
    Written("pieces of more", _COMMAND_C, "if (sum != c->len) {", "if (sum < c->len) {"),
    Written("a flush of the usual one", _COMMAND_C,
            "    c->sqe.opcode = NVME_CMD_FLUSH;\n    c->sqe.nsid = ns.nsid;",
            "    c->sqe.opcode = NVME_CMD_FLUSH;\n    c->sqe.nsid = q->info->nsid;"),
    Written("a raw one has data", _COMMAND_C, "    } else if (!io->len) {\n        c->nr = 0;\n",
            ""),
    Written("aborted before it is known", _COMMAND_C, "    ret = cintio_ring(q);\n",
            "    ret = 0;\n"),
    Written("none is aborted", _COMMAND_C, "!(not_aborted & 1)", "0"),
    Written("a file that was closed stays", _GROUP_C,
            "    if (epoll_ctl(group->epoll, EPOLL_CTL_DEL, fd, NULL)) {",
            "    epoll_ctl(group->epoll, EPOLL_CTL_DEL, fd, NULL);\n    if (0) {"),
    Written("a completion queue is left", _PAIRS_C,
            "        delete_ring(q, NVME_ADMIN_DELETE_CQ, &q->has_cq);\n",
            "        q->has_cq = false;\n"),
    Written("a ring that was refused is there", _PAIRS_C,
            "*has = !ret || atomic_load(&q->unanswered);", "*has = true;"),
    Written("no answer is let go", _PAIRS_C, "*has = status && status",
            "*has = status > 0 && status"),
    Written("a refusal is let go", _PAIRS_C, "*has = status && status != NVME_SC_INVALID_QUEUE;",
            "*has = status < 0;"),
    Written("not marked as destroyed", _PAIRS_C, "    q->destroyed = q->leaving = true;\n",
            "    q->leaving = true;\n"),
    Written("a policy for a queue before the reset", _PAIRS_C, "ret = cintio_check_stale(q, err);",
            "ret = 0;"),
    Written("coalesced without the pointer", _PAIRS_C,
            "q->mode == CINTIO_COALESCED && !q->pointer", "0"),
    Written("the pointer is not chosen", _PAIRS_C,
            "options->mode == CINTIO_COALESCED ? CINTIO_POLICY_POINTER\n"
            "                                             : options->policy",
            "0 ? 0 : options->policy"),
    Written("the pointer where there is none", _PAIRS_C,
            "bool pointer = q->info->cint_caps & NVME_CINT_CAP_POINTER;", "bool pointer = true;"),
    Written("a silent controller is asked for ever", _ADMIN_C, "dev->unheard >= MAX_UNHEARD",
            "false"),
    Written("one that is slow ends all", _ADMIN_C, "dev->unheard >= MAX_UNHEARD",
            "dev->unheard >= 1"),
    Written("more queues than vectors", _IDENTIFY_C, "least(queues, dev->vectors - 1)", "queues"),
    Written("all have SGLs", _IDENTIFY_C, "dev->info.sgl = sgls & 3;", "dev->info.sgl = true;"),
    Written("a log that grows for ever", _LOG_C, "tries < MAX_LOG_TRIES", "1"),
    Written("the log ends early", _LOG_C, "at < len && !ret; at += LOG_PIECE",
            "at < LOG_PIECE && !ret; at += LOG_PIECE"),
    Written("no look after the time to start or stop", _CONTROLLER_C,
            "        if (late) {\n"
            '            return cintio_fail(err, -ETIMEDOUT, "%s did not %s',
            "        if (cintio_now() > end) {\n"
            '            return cintio_fail(err, -ETIMEDOUT, "%s did not %s'),
    Written("what a reset has learned is kept back", _INFO_C,
            "    atomic_store(&dev->learned, now);\n",
            "    if (!before) { atomic_store(&dev->learned, now); }\n"),
    Written("rings freed under a controller that runs", _DMA_C,
            "give_back(dev, mem, atomic_load(&dev->running));", "give_back(dev, mem, false);"),
    Written("the last one kept is the only one", _DMA_C, "mem->next = atomic_load(&dev->kept);",
            "mem->next = atomic_exchange(&dev->kept, NULL), mem->next = NULL;"),
    Written("behind less than a page", _PLACES_C,
            "end = page_up(places->at[i].iova + places->at[i].len);",
            "end = places->at[i].iova + places->at[i].len;"),
    Written("a gap that is too small", _PLACES_C, "places->at[i].iova - at >= len",
            "places->at[i].iova - at + NVME_PAGE >= len"),
    Written("any storage is NVMe", _USERS_C, "class >> 8 == NVME_CLASS",
            "class >> 16 == NVME_CLASS >> 8"),
    Written("mounts by their source alone", _USERS_C,
            "node = find(&search->nodes, true, makedev(major, minor));", "node = NULL;"),
    Written("one's own path is another", _USERS_C, "name, name)) {\n            return 0;",
            "name, name)) {\n            break;"),
    Written("any function's registers", _USERS_C, "const char *at = strstr(target, address);",
            'const char *at = strstr(target, "/resource");\n\n'
            "    at = at ? at - strlen(address) : NULL;"),
    Written("a mount may come between", _BIND_C,
            '    int ret = hand_to(address, "vfio-pci", err);\n',
            "    int ret;\n\n    cintio_drop_claims(claims);\n"
            '    ret = hand_to(address, "vfio-pci", err);\n'),
    Written("the first to close ends the group", _VFIO_C, "if (!--group->users) {",
            "if (--group->users || 1) {"),
    Written("too few vectors are enough", _VFIO_C,
            'ret = ret > 0 ? -ENOSPC : ret;\n    return ret ? cintio_fail(err, ret, "%u MSI-X',
            'ret = ret > 0 ? 0 : ret;\n    return ret ? cintio_fail(err, ret, "%u MSI-X'),
)
