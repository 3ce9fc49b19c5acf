# SPDX-License-Identifier: GPL-2.0-or-later
"""logpage.py: the decoder, and its names against the C header."""

import re

import pytest
from canned import log, record, submission_queue

from cint import paths
from cint.device import logpage
from cint.device.logpage import LogPageError

HEADER = paths.OVERLAY_NVME / "cint-abi.h"


def test_totals_leave_the_admin_queue_out() -> None:
    page = logpage.decode(log(record(0, 9, 9), record(1, 100, 10, {2000: 100}, {4: 7, 5: 3}),
                              record(2, 50, 50, {0: 50}, {1: 50}, urgent=20)))
    total = page.total()
    assert (page.policy, page.virtual_time) == ("adaptive", True)
    assert (total.cqes, total.interrupts) == (150, 60)
    assert (total.hold_sum_ns, total.hold_count) == (200_000, 150)
    assert total.reasons == {"thr": 7, "quiet": 3, "each": 50}
    assert total.hints == {"none": 130, "urgent": 20}
    assert total.sources == {"cdw0": 20}


def test_what_the_guest_answered() -> None:
    page = logpage.decode(log(record(1, 9, 2, answers=(2, 5000, 9, 53, 29000))))
    (queue,) = page.records
    assert queue.answers == logpage.Answers(2, 5000, 9, 53, 29000)
    # 2 CQEs took 1600 ns, 7 took 3400.
    one = logpage.Answers(2, 5000, 9, 53, 1600 * 2 + 3400 * 7)
    price = one.price_ns
    assert price is not None
    assert list(price) == pytest.approx([880, 360])
    assert logpage.since(one, one) == logpage.Answers() and logpage.Answers().price_ns is None


def test_no_queue_yet() -> None:
    assert logpage.decode(log()).total() == logpage.Totals()


def test_larger_records_are_read() -> None:
    one = log(record(1, 5, 5))
    grown = one[:8] + (logpage.RECORD_SIZE + 64).to_bytes(4, "little") + one[12:] + bytes(64)
    assert logpage.decode(grown).total().cqes == 5


def test_classes() -> None:
    """Submission queues of the urgent class are L's, with their completion queues."""
    both = log(record(0, 9, 9), record(1, 30, 10), record(2, 12, 6),
               sqs=[submission_queue(1, 30, 30 << 16, {1000: 30}, priority=2),
                    submission_queue(2, 12, 12 << 12, {10: 12})])
    found = logpage.decode(both).by_class()
    assert {n: (t.commands, t.bytes, t.cqes, t.interrupts, t.wait.mean_ns)
            for n, t in found.items()} == {"l": (12, 12 << 12, 12, 6, 10),
                                           "t": (30, 30 << 16, 30, 10, 1000)}
    # Where all queues are of one class there are none.
    for priority in (0, 2):
        same = log(record(1, 1, 1), sqs=[submission_queue(1, 1, 1, priority=priority)])
        assert logpage.decode(same).by_class() == {}


def test_submission_queues() -> None:
    sqs = [submission_queue(1, 3, 4096, {0: 1, 700: 2}, priority=2), submission_queue(2, 5, 0)]
    whole = log(record(0, 9, 9), record(1, 8, 8), sqs=sqs)
    first, second = logpage.decode(whole).submission_queues
    assert (first.sqid, first.cqid, first.priority, first.backlog) == (1, 1, 2, 0)
    assert (first.commands, first.bytes, first.wait.sum_ns) == (3, 4096, 1400)
    assert (second.sqid, second.commands, second.wait.count) == (2, 5, 5)
    # Devices have not always had them, and not all readers ask for the end.
    assert len(logpage.decode(whole[:-1]).submission_queues) == 1
    assert logpage.decode(log(record(0, 9, 9))).submission_queues == []
    short = whole[:32] + (64).to_bytes(4, "little") + whole[36:]
    with pytest.raises(LogPageError, match="records of 64 bytes"):
        logpage.decode(short)


@pytest.mark.parametrize(("data", "named"), [
    (b"", "no CINT header"), (b"\0" * 4096, "no CINT header"),
    (log(record(1, 5, 5))[:-1], "records need"), (log(version=2), "version 2")])
def test_refused(data: bytes, named: str) -> None:
    with pytest.raises(LogPageError, match=named):
        logpage.decode(data)


def test_names_are_those_of_the_header() -> None:
    text = HEADER.read_text(encoding="utf-8")
    policies = dict(re.findall(r"NVME_CINT_POLICY_(\w+)\s*=\s*(\d+)", text))
    # Those of one's own come after the ones that have a number there.
    assert [n.lower() for n in policies] == list(logpage.POLICIES)[:len(policies)]
    numbers = [int(n) for _, n in re.findall(r"NVME_CINT_REASON_(\w+)\s*=\s*(\d+)", text)]
    assert numbers == list(range(len(logpage.REASONS)))
    for what, names in (("HINT", logpage.HINTS), ("SOURCE", logpage.SOURCES)):
        found = dict(re.findall(rf"NVME_CINT_{what}_(\w+)\s*=\s*(\d+)", text))
        assert {n.lower(): int(v) for n, v in found.items()} == {n: i for i, n in enumerate(names)}
