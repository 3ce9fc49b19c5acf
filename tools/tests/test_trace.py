# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint trace`: reading QEMU's log, the summary, the timeline, recording over QMP."""

from __future__ import annotations

import cProfile
import errno
import io
import json
import pstats
import re
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import timelines
from testkit import trace_load
from timelines import trace_of

from cint import cli, paths
from cint.build import engine
from cint.errors import CintError
from cint.results import distributions
from cint.timeline import events, perfetto, summary

P = "pci_nvme_cint_"
#: Two unmarked commands and an urgent one; the head wraps in a queue of 4.
LOG = f"""\
qemu-system-x86_64 -trace {P}* -trace {P}irq -trace file=/dev/null
  -trace pci_nvme_irq_msix \\
  -trace apic_deliver_irq \\
{P}submit cqid 1 sqid 2 cid 7 hints 0x0 sources 0x0 inflight 1 at 1000
{P}submit cqid 1 sqid 2 cid 8 hints 0x1 sources 0x1 inflight 2 at 1000
{P}doorbell sqid 2 count 2 at 1000
{P}media cqid 1 sqid 2 cid 7 due 5000
1234@5.000001:{P}post cqid 1 sqid 2 cid 7 hints 0x0 status 0x0 tail 3 at 5000
{P}post cqid 1 sqid 2 cid 8 hints 0x1 status 0x0 tail 0 at 6000
{P}irq cqid 1 vector 3 class urgent reason urgent covered 1 oldest hold 0 at 6000
{P}irq cqid 1 vector 3 class full reason quiet covered 1 oldest hold 6000 at 11000
{P}head cqid 1 head 0 at 12000
{P}post cqid 1 sqid 2 cid 9 hints 0x0 status 0x0 tail 1 at 20000
{P}head cqid 1 head 1 at 21000
{P}irq cqid 1 vec"""


@pytest.fixture
def found() -> events.Trace:
    return trace_of(LOG.splitlines())


def test_a_commands_life(found: events.Trace) -> None:
    plain, urgent, early = found.commands
    assert (plain.submitted, plain.due, plain.posted, plain.told, plain.reaped) == \
        (1000, 5000, 5000, 11000, 12000)
    assert (urgent.hint, urgent.posted, urgent.told, urgent.interrupt, urgent.reaped) == \
        ("urgent", 6000, 6000, 0, 12000)
    # Submitted before the trace began, and consumed before any interrupt.
    assert (early.submitted, early.told, early.reaped) == (None, None, 21000)


def test_the_summary(found: events.Trace) -> None:
    document = summary.summarize(found)
    assert document["events"] == 11
    [queue] = document["queues"]
    assert (queue["cqes"], queue["interrupts"], queue["untold"]) == (3, 2, 1)
    assert queue["cqes_per_interrupt"] == 1.5
    assert queue["reasons"] == {"urgent": 1, "quiet": 1}
    assert queue["hints"]["unmarked"]["hold"] == {"count": 1, "mean": 6000, "p50": 6000,
                                                  "p90": 6000, "p99": 6000, "max": 6000}
    # The guest has it at the interrupt, by a status record; the head passes its slot later.
    assert queue["hints"]["urgent"]["reap"] == {"count": 0} and queue["by_record"] == 1
    assert "CQ 1: 3 CQEs, 2 interrupts, 1.50 CQEs per interrupt" in summary.as_text(document)


@pytest.mark.parametrize(("count", "ranks"), [(1, (1, 1, 1)), (2, (1, 2, 2)), (100, (50, 90, 99)),
                                              (1000, (500, 900, 990))])
def test_percentiles_are_nearest_rank(count: int, ranks: tuple[int, ...]) -> None:
    found = summary.times(list(range(count, 0, -1)))
    assert tuple(found[f"p{q}"] for q in summary.PERCENTILES) == ranks


# --- the plot ------------------------------------------------------------------------------

#: Of a guest with one CPU in virtual time: `mixed` under cint+ooo, 0.5 ms.
MIXED = Path(__file__).parent / "golden/trace-mixed.log"


def test_a_curve_goes_through_the_percentiles_of_the_table() -> None:
    trace = events.load(MIXED)
    [queue] = summary.summarize(trace)["queues"]
    waits = summary.queues(trace)[1].waits
    assert {hint: len(one.hold) for hint, one in waits.items()} == {"unmarked": 20, "urgent": 15}
    for hint, one in waits.items():
        for phase, times in ((phase, times) for phase, times in one.phases.items() if times):
            xs, shares = distributions.curve(times)
            assert xs == sorted(xs) and shares == sorted(shares)
            assert (xs[0], shares[0]) == (min(times) / 1e3, 0.0)
            assert (xs[-1], shares[-1]) == (max(times) / 1e3, 100.0)
            for share in summary.PERCENTILES:
                # The first time that so many CQEs have waited no longer than.
                reached = next(x for x, y in zip(xs, shares, strict=True) if y >= share)
                assert reached * 1e3 == pytest.approx(queue["hints"][hint][phase][f"p{share}"])


def test_a_curve_of_many_has_few_points() -> None:
    xs, shares = distributions.curve(list(range(100_000)))
    assert len(xs) == len(shares) < 1000 and (xs[-1], shares[-1]) == (99.999, 100.0)


def test_the_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                  monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[distributions.Lane] = []
    draw = distributions.draw

    def keep(rows: Sequence[distributions.Lane], source: str, path: Path) -> None:
        drawn.extend(rows)
        draw(rows, source, path)

    monkeypatch.setattr(distributions, "draw", keep)
    for name in ("p.png", "p.svg"):
        assert cli.main(["trace", "--plot", str(tmp_path / name), str(MIXED)]) == 0
        assert name in capsys.readouterr().err
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (tmp_path / "p.svg").read_text()
    row = drawn[0]
    assert row.title == "CQ 1" and list(row.phases) == ["hold", "reap"]
    assert {phase: {hint: len(times) for hint, times in curves.items()}
            for phase, curves in row.phases.items()} == \
        {"hold": {"unmarked": 20, "urgent": 15}, "reap": {"unmarked": 20, "urgent": 0}}
    assert set(row.phases["hold"]["urgent"]) == {0}


def test_the_plot_has_the_busiest_queues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{P}{event}" for cq in range(1, 12) for i in range(cq) for event in (
        f"post cqid {cq} sqid {cq} cid {i} hints 0x0 status 0x0 tail {i + 1} at {100 * i}",
        f"irq cqid {cq} vector 1 class full reason each covered 1 oldest hold 0 at {100 * i + 9}")]
    (tmp_path / "log").write_text("\n".join(lines))
    titles: list[str] = []
    monkeypatch.setattr(distributions, "draw",
                        lambda rows, *_: titles.extend(row.title for row in rows))
    assert cli.main(["trace", "--plot", "p.png", str(tmp_path / "log")]) == 0
    assert titles == [f"CQ {cq}" for cq in range(4, 12)]
    assert "8 queues with the most CQEs, of 11" in capsys.readouterr().err


def test_what_cannot_be_plotted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--plot", str(tmp_path / "p.xyz"), str(MIXED)]) == 2
    assert "p.xyz" in capsys.readouterr().err
    (tmp_path / "log").write_text(f"{P}post cqid 1 sqid 1 cid 1 hints 0x0 status 0x0 tail 1 at 1\n")
    assert cli.main(["trace", "--plot", str(tmp_path / "p.png"), str(tmp_path / "log")]) == 1
    assert "nothing to plot" in capsys.readouterr().err


# --- the timeline --------------------------------------------------------------------------

def test_the_timeline(found: events.Trace) -> None:
    drawn = timelines.timeline(found)
    spans = drawn.spans()
    assert ("SQ 2 in flight", "cid 7", 1000, 12000) in spans
    assert ("SQ 2 in flight", "medium", 1000, 5000) in spans
    assert ("SQ 2 in flight", "held", 5000, 11000) in spans
    # Of cid 8 no medium is known, and no interrupt told of cid 9.
    assert ("SQ 2 in flight", "device", 1000, 6000) in spans
    assert ("SQ 2 in flight", "untold", 20000, 21000) in spans
    assert ("vector 3", "quiet", 11000, 11100) in spans
    # On the queue's track, each interrupt with what it told of, from the first post.
    assert ("CQ 1", "1 CQE: urgent", 6000, 12000) in spans
    assert ("CQ 1", "1 CQE: quiet", 5000, 12000) in spans
    # What a doorbell published was fetched in virtual time at once: 100 ns to be seen.
    assert ("SQ 2 submit", "2 SQEs", 1000, 1100) in spans
    assert {one.group for one in drawn.slices} == {perfetto.SQS, perfetto.CQS, perfetto.VECTORS}
    assert drawn.names(perfetto.SQS) == ["SQ 2 submit", "SQ 2 in flight"]
    assert drawn.names(perfetto.CQS) == ["CQ 1", "CQ 1 untold CQEs"]
    assert (drawn.lanes("SQ 2 in flight"), drawn.lanes("CQ 1")) == (2, 2)
    counts = [value for _, _, value in drawn.counts]
    assert min(counts) == 0 and max(counts) >= 1 and counts[-1] == 0
    said = {one.name: one.args for one in drawn.slices if one.depth == 0}
    assert said["cid 8"] == {"hint": "urgent", "cqid": 1}
    assert said["quiet"] == {"cqid": 1, "kind": "full", "covered": 1}


def test_queues_are_in_their_order() -> None:
    """Ten comes behind two, which a viewer that goes by names would not know."""
    post = P + "post cqid {0} sqid {0} cid 1 hints 0x0 status 0x0 tail 1 at {1}"
    head = P + "head cqid {0} head 1 at {1}"
    drawn = timelines.timeline(trace_of([line.format(queue, 10 * queue + more) for queue in
                                         (10, 2, 1) for more, line in ((0, post), (5, head))]))
    assert drawn.names(perfetto.SQS) == [f"SQ {queue} in flight" for queue in (1, 2, 10)]


def test_slices_of_a_lane_nest() -> None:
    many = [f"{P}submit cqid 1 sqid 1 cid {i} hints 0x0 sources 0x0 inflight 1 at {i * 10}\n"
            f"{P}post cqid 1 sqid 1 cid {i} hints 0x0 status 0x0 tail {i + 1} at {i * 10 + 95}\n"
            f"{P}irq cqid 1 vector 1 class full reason each covered 1 oldest hold 0 "
            f"at {i * 10 + 95}\n{P}head cqid 1 head {i + 1} at {i * 10 + 99}" for i in range(50)]
    # As a log has them: in the order of their times.
    lines = sorted("\n".join(many).splitlines(), key=lambda text: int(text.rsplit(" ", 1)[1]))
    trace = trace_of(lines)
    drawn = timelines.timeline(trace)
    timelines.check(drawn, trace)
    mine = [one for one in drawn.slices if one.name[:3] == "cid"]
    assert len(mine) == 50 and len({one.uuid for one in mine}) == 10
    assert drawn.names(perfetto.SQS) == ["SQ 1 in flight"]


def test_the_timelines_of_all_logs_are_what_the_logs_say(found: events.Trace) -> None:
    assert timelines.check(timelines.timeline(found), found) == 2
    for trace in (trace_of(trace_load.log(3000)), events.load(MIXED), events.load(VCPUS)):
        told = sum(c.interrupt is not None for c in trace.commands)
        messages = sum(len(d.cpus) for d in trace.deliveries if d.interrupt is not None)
        assert told and (messages or trace.interrupts)
        assert timelines.check(timelines.timeline(trace), trace) == told + messages


def test_an_arrow_leads_from_each_request_to_its_interrupt(found: events.Trace) -> None:
    drawn = timelines.timeline(found)
    reached = {number: one for one in drawn.slices for number in one.arrives}
    led = {(one.name, one.begin): (reached[number].name, reached[number].begin)
           for one in drawn.slices for number in one.leaves}
    # The hold of cid 7; cid 8 was not held, so that it is the device's part.
    assert led == {("held", 5000): ("quiet", 11000), ("device", 1000): ("urgent", 6000)}


def test_an_arrow_leads_to_each_vcpu_that_a_message_is_for() -> None:
    both = "apic_deliver_irq dest 3 dest_mode 1 delivery_mode 0 vector 34 trigger_mode 0"
    post = P + "post cqid 1 sqid 1 cid 1 hints 0x0 status 0x0 tail 1 at 10"
    irq = P + "irq cqid 1 vector 3 class full reason each covered 1 oldest hold 0 at 10"
    trace = trace_of([post, irq, f"{events.MSIX} raising MSI-X IRQ vector 3", both,
                      P + "head cqid 1 head 1 at 60"])
    drawn = timelines.timeline(trace)
    assert timelines.check(drawn, trace) == 3
    assert drawn.spans(perfetto.VCPUS) == {("vCPU 0", "CQ 1: each", 10, 60): 1,
                                           ("vCPU 1", "CQ 1: each", 10, 60): 1}


@pytest.mark.parametrize("breaks", ["end", "late", "arrow", "name", "track"])
def test_the_check_finds_what_is_broken(found: events.Trace, breaks: str) -> None:
    given = timelines.packets(found)
    is_held = next(i for i, p in enumerate(given)
                   if any(one.name == "held" for one in p.interned_data.event_names))
    if breaks == "end":
        del given[is_held + 1]
    elif breaks == "late":
        given[is_held].timestamp += 2
    elif breaks == "arrow":
        next(p for p in given if p.track_event.terminating_flow_ids).timestamp = 1
    elif breaks == "name":
        del given[is_held].interned_data.event_names[:]
    else:
        given.remove(next(p for p in given if p.track_descriptor.parent_uuid))
    with pytest.raises((AssertionError, KeyError)):
        timelines.check(timelines.read(given), found)


def test_a_long_timeline_is_written_piece_by_piece() -> None:
    trace = trace_of(trace_load.log(3000))
    sizes: list[int] = []

    class Stream(io.BytesIO):
        def write(self, data: Any) -> int:
            sizes.append(len(data))
            return super().write(data)

    perfetto.write(trace, Stream())
    assert len(sizes) > 2 and max(sizes) < 64 * perfetto._CHUNK


def test_a_timeline_is_no_longer_than_its_log() -> None:
    """By much: a name is written once, and is a number then."""
    lines = list(trace_load.log(3000))
    stream = io.BytesIO()
    perfetto.write(trace_of(lines), stream)
    assert len(stream.getvalue()) < 1.2 * sum(map(len, lines))


IRQ = P + "irq cqid 1 vector 1 class full reason each covered 1 oldest hold 0 at {}"


@pytest.mark.parametrize(("times", "begin"), [
    # A boot's few, then the job's many: the first of the many.
    ([*range(10**6, 10**9, 10**8), *range(2 * 10**9, 2 * 10**9 + 10**7, 10**4)], 2 * 10**9),
    # All the same: the first.
    (range(10**6, 10**8, 10**6), 10**6),
    # So early that there is nothing before.
    ([7], 50_000), ([], None)])
def test_it_opens_where_the_interrupts_become_many(times: Sequence[int], begin: int | None) -> None:
    lines = [IRQ.format(at) for at in times] or [LOG.splitlines()[4]]
    drawn = timelines.timeline(trace_of(lines))
    wanted = {} if begin is None else {"begin": begin - 50_000, "end": begin + 950_000}
    assert drawn.shown == wanted


def test_batches_are_as_long_as_their_fetch() -> None:
    trace = events.load(VCPUS)
    four = next(one for one in trace.batches if one.count == 4)
    assert (four.sqid, four.begin, four.end) == (1, 82195576187, 82195662196)
    drawn = [one for one in timelines.timeline(trace).slices if one.track.endswith("submit")]
    assert len(drawn) == len(trace.batches) == 14
    assert sum(one.count for one in trace.batches) == \
        sum(command.submitted is not None for command in trace.commands)


def test_what_a_deleted_queue_had_fetched_is_of_no_batch() -> None:
    submit = P + "submit cqid 1 sqid 1 cid {} hints 0x0 sources 0x0 inflight 1 at {}"
    doorbell = P + "doorbell sqid 1 count {} at {}"
    trace = trace_of([submit.format(1, 10), submit.format(2, 500), doorbell.format(1, 500),
                      submit.format(3, 600), submit.format(4, 640), doorbell.format(2, 640),
                      P + "doorbell sqid 0 count 1 at 700"])
    assert [(one.count, one.begin, one.end) for one in trace.batches] == [(2, 600, 640)]


# --- vCPUs --------------------------------------------------------------------------------

#: Of a guest with two CPUs and two queues, whose vectors Linux gave one to each.
VCPUS = Path(__file__).parent / "golden/trace-vcpus.log"


def test_vcpus_are_those_that_the_messages_reached() -> None:
    trace = events.load(VCPUS)
    ours = [d for d in trace.deliveries if d.interrupt is not None]
    assert len(ours) == len(trace.interrupts) == 17
    reached = {(trace.interrupts[d.interrupt].cqid, d.cpus, d.vector) for d in ours
               if d.interrupt is not None}
    assert reached == {(1, (0,), 34), (2, (1,), 35)}
    # Other messages: the timer's, CPUs' among each other.
    assert len(trace.deliveries) - len(ours) == 42 - 17
    for delivery in ours:
        assert delivery.interrupt is not None
        assert delivery.at == trace.interrupts[delivery.interrupt].at
        assert delivery.until is None or delivery.until > delivery.at
    drawn = timelines.timeline(trace)
    assert drawn.names(perfetto.VECTORS) == ["vector 1", "vector 2"]
    assert drawn.names(perfetto.VCPUS) == ["vCPU 0", "vCPU 1"]
    assert (drawn.lanes("vCPU 0"), drawn.lanes("vCPU 1")) == (4, 1)


def test_other_messages_of_one_time_are_one_mark() -> None:
    """On a track they would be drawn one below the other."""
    other = "apic_deliver_irq dest {} dest_mode 0 delivery_mode 0 vector {} trigger_mode 0"
    head = P + "head cqid 1 head 0 at {}"
    drawn = timelines.timeline(trace_of([
        LOG, head.format(30000), other.format(1, 236), other.format(1, 251), other.format(1, 236),
        other.format(0, 9), head.format(31000), other.format(1, 236)]))
    assert drawn.marks == [("3 others", "vCPU 1", 30000, {"vectors": [236, 251]}),
                           ("vector 9", "vCPU 0", 30000, {"vectors": [9]}),
                           ("vector 236", "vCPU 1", 31000, {"vectors": [236]})]


@pytest.mark.parametrize(("mode", "destination", "cpus"), [
    (0, 0, (0,)), (0, 5, (5,)), (0, 255, ()), (1, 1, (0,)), (1, 0x0a, (1, 3))])
def test_destinations(mode: int, destination: int, cpus: tuple[int, ...]) -> None:
    line = (f"apic_deliver_irq dest {destination} dest_mode {mode} delivery_mode 0 vector 9 "
            "trigger_mode 0")
    [delivery] = trace_of([LOG, line]).deliveries
    assert (delivery.cpus, delivery.vector, delivery.interrupt) == (cpus, 9, None)


def test_a_masked_vector_sends_nothing() -> None:
    irq = f"{P}irq cqid 1 vector 3 class full reason quiet covered 1 oldest hold 0 at 11000"
    other = "apic_deliver_irq dest 0 dest_mode 0 delivery_mode 0 vector 236 trigger_mode 0"
    lines = [irq, "pci_nvme_irq_msix raising MSI-X IRQ vector 3", f"{P}head cqid 1 head 0 at 12000",
             other, "apic_deliver_irq dest 0 dest_mode 0 delivery", "pci_nvme_irq_msix raising"]
    [delivery] = trace_of(lines).deliveries
    assert (delivery.interrupt, delivery.at) == (None, 12000)
    # An NMI or start-up message is none of a device.
    start_up = other.replace("delivery_mode 0", "delivery_mode 4")
    assert trace_of([irq, start_up]).deliveries == []


# --- work ---------------------------------------------------------------------------------

def calls(count: int, perfetto_too: bool) -> float:
    """How many functions are called an event, for the summary or for all of `cint trace`."""
    trace = trace_of(trace_load.log(count))
    profile = cProfile.Profile()
    with profile:
        summary.summarize(trace)
        if perfetto_too:
            perfetto.write(trace, io.BytesIO())
    total = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    return float(total) / trace.events


def test_work_grows_with_the_events_and_no_faster() -> None:
    """Calls, not time: a busy machine makes no more of them. The bench has the seconds."""
    few, many = calls(2000, True), calls(16000, True)
    assert many < 1.05 * few and many < 130


def test_a_summary_makes_no_object_a_command() -> None:
    assert calls(16000, False) < 1.5


def test_completions_that_do_not_follow_are_said(found: events.Trace) -> None:
    assert found.remarks == []
    post = P + "post cqid 1 sqid 1 cid {} hints 0x0 status 0x0 tail {} at 5"
    mixed = [post.format(i, tail) for i, tail in enumerate((7, 20, 8, 21))]
    [remark] = trace_of(mixed).remarks
    assert remark.startswith("3 completions do not follow") and "several controllers" in remark


def test_a_queue_that_is_made_anew() -> None:
    """A reset in the middle: what was in the old queue is neither told of nor reaped."""
    post = P + "post cqid 1 sqid 1 cid {} hints 0x0 status 0x0 tail {} at {}"
    irq = P + "irq cqid 1 vector 1 class full reason each covered 1 oldest hold 0 at {}"
    sent = "pci_nvme_irq_msix raising MSI-X IRQ vector 1"
    arrived = "apic_deliver_irq dest 0 dest_mode 0 delivery_mode 0 vector 34 trigger_mode 0"
    trace = trace_of([post.format(1, 5, 100), post.format(2, 6, 110), irq.format(120),
                      post.format(7, 1, 500), irq.format(510), sent, arrived,
                      P + "head cqid 1 head 1 at 600",
                      post.format(8, 2, 700), P + "head cqid 1 head 2 at 710"])
    assert [one.reaped for one in trace.commands] == [None, None, 600, 710]
    assert [one.told for one in trace.commands] == [120, 120, 510, None]
    [delivery] = trace.deliveries
    assert (delivery.interrupt, delivery.until) == (1, 600)
    assert trace.remarks == ["CQ 1 was made anew 1 time, as by a reset"]
    timelines.check(timelines.timeline(trace), trace)


def test_a_queue_that_wraps_is_none_made_anew() -> None:
    post = P + "post cqid 1 sqid 1 cid {} hints 0x0 status 0x0 tail {} at {}"
    head = P + "head cqid 1 head {} at {}"
    trace = trace_of([line for i in range(9) for line in (
        post.format(i, (i + 1) % 3, 100 * i), head.format((i + 1) % 3, 100 * i + 5))])
    assert trace.remarks == [] and [one.reaped for one in trace.commands] == \
        [100 * i + 5 for i in range(9)]


@pytest.mark.parametrize("broken", [
    "{P}post cqid 1 sqid 2 cid 7 hints 0x0 status 0x0 tail at 5000",
    "{P}post cqid 1 sqid 2 cid x hints 0x0 status 0x0 tail 1 at 5000",
    "{P}irq cqid 1 vector 3 class full",
    "{P}head cqid 1 he[    5.1] nvme nvme0: I/O tag 5 timeout",
    "pci_nvme_irq_msix raising MSI-X IRQ vec", "apic_deliver_irq dest 0 dest_mode"])
def test_broken_lines_are_counted(found: events.Trace, broken: str) -> None:
    line = broken.format(P=P)
    trace = trace_of([line, *LOG.splitlines()])
    assert trace.remarks == ["1 lines of the log are broken and left out"]
    assert (trace.commands, trace.interrupts) == (found.commands, found.interrupts)
    assert trace.events == found.events
    # The last one is cut short by the log's end, which is no fault.
    assert trace_of([*LOG.splitlines()[:-1], line]).remarks == []


@pytest.mark.parametrize(("name", "field"), [
    ("submit", "cqid 65536"), ("submit", "sqid -1"), ("submit", "hints 0x4"), ("post", "tail 1e3"),
    ("post", "cid 18446744073709551616"), ("irq", "covered 4294967296"), ("irq", "vector 2048"),
    ("head", "head 0x"), ("media", "due 4611686018427387904"), ("doorbell", "count -"),
    ("head", "at 9\0")])
def test_numbers_that_the_device_has_not_are_broken(found: events.Trace, name: str,
                                                    field: str) -> None:
    key = field.split(maxsplit=1)[0]
    good = next(line for line in LOG.splitlines() if line.startswith(f"{P}{name} "))
    bad = re.sub(rf"\b{key} \w+", field, good)
    assert bad != good
    trace = trace_of([bad, *LOG.splitlines()])
    assert trace.remarks == ["1 lines of the log are broken and left out"]
    assert (trace.commands, trace.batches) == (found.commands, found.batches)


def test_a_console_ends_its_lines_otherwise(found: events.Trace) -> None:
    lines = LOG.splitlines()
    for end in ("\r\n", "\r", "\r\r\n"):
        trace = trace_of([end.join(lines)])
        assert (trace.commands, trace.events, trace.remarks) == (found.commands, found.events, [])
    # Another writer's text before an event, on one line.
    trace = trace_of([f"[    5.1] nvme: {line}" if P in line and "-trace" not in line
                      else line for line in lines])
    assert trace.commands == found.commands


def test_a_program_of_another_version_is_refused(tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nprintf 'CINTLIFE\\2\\0\\0\\0\\0\\0\\0\\0'\n")
    program.chmod(0o755)
    monkeypatch.setattr(engine, "build_replay", lambda: False)
    monkeypatch.setattr(paths, "REPLAY_ALONE", program)
    with pytest.raises(CintError, match="another version"):
        events.load(MIXED)
    program.write_text("#!/bin/sh\necho 'cint-replay: error: no' >&2; exit 2\n")
    with pytest.raises(CintError, match="error: no"):
        events.load(MIXED)


def test_what_is_no_log_or_cannot_be_written(tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace-17").write_bytes(b"\xff" * 8 + b"\x04\0\0\0")
    assert cli.main(["trace", str(tmp_path / "trace-17")]) == 1
    assert "trace backend 'simple'" in capsys.readouterr().err
    (tmp_path / "log").write_text(LOG)
    assert cli.main(["trace", "--perfetto", str(tmp_path), str(tmp_path / "log")]) == 1
    assert "Is a directory" in capsys.readouterr().err


def test_a_log_without_events_says_what_to_do(tmp_path: Path,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text("nothing\n")
    assert cli.main(["trace", str(tmp_path / "log")]) == 1
    assert "--trace cint" in capsys.readouterr().err
    assert cli.main(["trace"]) == 2
    assert cli.main(["trace", str(tmp_path / "none")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    there = tmp_path / "logs/cint-ooo/qemu.log"
    there.parent.mkdir(parents=True)
    there.touch()
    assert cli.main(["trace", str(tmp_path / "logs/cint+ooo/qemu.log")]) == 2
    assert f"did you mean {there}?" in capsys.readouterr().err


class Monitor(threading.Thread):
    """Just enough of QEMU's monitor to be recorded from: it writes its log when told to."""

    def __init__(self, path: Path, *, cint: tuple[bool, ...] = (True,), refuses: str = "",
                 dies_at: str = "", log: str = LOG) -> None:
        super().__init__(daemon=True)
        self._log = log
        self.heard: list[dict[str, Any]] = []
        self._cint, self._refuses, self._dies_at = cint, refuses, dies_at
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self.start()

    def run(self) -> None:
        connection = self._listener.accept()[0]
        stream = connection.makefile("rwb")
        stream.write(b'{"QMP": {}}\n')
        stream.flush()
        for line in stream:
            request = json.loads(line)
            self.heard.append(request)
            if self._dies_at and self._dies_at in json.dumps(request):
                stream.close()
                connection.close()
                return
            stream.write(json.dumps({"return": self._answer(request)}).encode() + b"\n")
            stream.flush()

    def _answer(self, request: dict[str, Any]) -> Any:
        words = request.get("arguments", {})
        text = words.get("command-line", "")
        if text.startswith("logfile") and "/dev/" not in text:
            if self._refuses:
                return self._refuses
            Path(text.split()[1]).write_text(self._log)
        if request["execute"] == "trace-event-get-state":
            return [{"name": P + "irq", "state": "disabled"},
                    {"name": P + "post", "state": "enabled"}] if P in words["name"] else \
                [{"name": words["name"], "state": "disabled"}]
        if request["execute"] == "qom-list" and words["path"].endswith("peripheral"):
            return [{"name": f"n{i}", "type": "child<nvme>"} for i in range(len(self._cint))]
        if request["execute"] == "qom-get":
            return self._cint[int(words["path"][-1])]
        return []


def test_a_running_vm_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    monitor = Monitor(tmp_path / "s")
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert cli.main(["trace", "--qmp", str(tmp_path / "s"), "--json", str(tmp_path / "log")]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == 11
    states = [(one["arguments"]["name"], one["arguments"]["enable"]) for one in monitor.heard
              if one["execute"] == "trace-event-set-state"]
    # On, messages before what they are sent for, the device's own all at once; off the other way
    # round; and then as each was before.
    assert states == [*((name, True) for name in (events.MSIX, events.APIC, P + "*")),
                      *((name, False) for name in (P + "*", events.MSIX, events.APIC)),
                      (P + "post", True)]
    files = [one["arguments"]["command-line"].split()[1] for one in monitor.heard
             if one["execute"] == "human-monitor-command"]
    assert files == [str(tmp_path / "log"), "/dev/stderr"]


def test_times_are_those_of_the_comparison_whose_log_it_is(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "logs/adaptive/qemu.log"
    log.parent.mkdir(parents=True)
    log.write_text(LOG)
    held = []
    for document, words in (({}, []), ({"scale": {"k": 3.0}}, []),
                            ({"scale": {"k": 3.0}}, ["--guest-time"])):
        (tmp_path / "results.json").write_text(json.dumps({"schema": 1, "rows": []} | document))
        assert cli.main(["trace", "--json", *words, str(log)]) == 0
        found = json.loads(capsys.readouterr().out)
        held.append((found["cpu_scale"], found["queues"][0]["hints"]["unmarked"]["hold"]["mean"]))
    assert held == [(1.0, 6000), (3.0, 2000), (1.0, 6000)]
    assert cli.main(["trace", str(log)]) == 0
    assert "reported time (3 times as long in the guest" in capsys.readouterr().out


def test_what_is_taken_by_status_records_is_drawn_so(tmp_path: Path) -> None:
    trace = events.load(MIXED)
    names = {(command.hint, name) for command, phases in events.lives(trace)
             for name, _, _ in phases}
    assert ("urgent", "slot kept") in names and ("urgent", "reap") not in names
    assert ("unmarked", "reap") in names and ("unmarked", "slot kept") not in names


def test_a_timeline_that_does_not_fit_leaves_nothing(tmp_path: Path, found: events.Trace,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    def full(trace: events.Trace, stream: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cint.timeline.perfetto.write", full)
    log = tmp_path / "log"
    log.write_text(LOG)
    assert cli.main(["trace", "--perfetto", str(tmp_path / "t.pftrace"), str(log)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_seconds_are_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(LOG)
    assert cli.main(["trace", "--seconds", "3", str(tmp_path / "log")]) == 2
    assert "only with --qmp" in capsys.readouterr().err


def test_a_vm_that_ends_meanwhile_leaves_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    Monitor(tmp_path / "s", dies_at='"enable": false')
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert cli.main(["trace", "--qmp", str(tmp_path / "s"), str(tmp_path / "log")]) == 0
    captured = capsys.readouterr()
    assert "the VM ended while it was recorded" in captured.err and "11 events" in captured.out


@pytest.mark.parametrize(("monitor", "said"), [
    ({"cint": ()}, "this VM has no NVMe device"),
    ({"cint": (False,)}, "no NVMe device of this VM has cint on: /machine/peripheral/n0"),
    ({"refuses": "Could not open '/x': Permission denied\r\n"}, "Permission denied"),
    ({"dies_at": "logfile"}, "QEMU closed its control socket during human-monitor-command"),
    ({"log": ""}, "the device had nothing to do meanwhile"),
    ({"cint": (True, True)}, "2 NVMe devices with cint, and trace events do not say whose"),
])
def test_what_cannot_be_recorded_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str],
                                         monitor: dict[str, Any], said: str) -> None:
    Monitor(tmp_path / "s", **monitor)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    cli.main(["trace", "--qmp", str(tmp_path / "s"), str(tmp_path / "log")])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("greeting", [b"QEMU 10.0.13 monitor - type 'help'\r\n(qemu) ", b"[1]\n",
                                      b'{"hello": 1}\n', b"", b"\xff\xfe\n"])
@pytest.mark.parametrize("verb_words", [["trace", "--qmp"], ["top", "--once"]])
def test_a_socket_that_is_no_qmp(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                 greeting: bytes, verb_words: list[str]) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()

    def serve() -> None:
        connection = listener.accept()[0]
        connection.sendall(greeting)
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    assert cli.main([*verb_words, str(tmp_path / "s")]) == 1
    said = capsys.readouterr().err
    assert "control socket" in said and "one client at a time" in said


def test_no_vm_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--qmp", str(tmp_path / "none")]) == 2
    assert "-qmp unix:PATH,server=on,wait=off" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a b.log", "a%d.log"])
def test_a_log_that_the_monitor_would_call_otherwise(tmp_path: Path, name: str,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "--qmp", str(tmp_path / "none"), str(tmp_path / name)]) == 2
    assert "no blanks and no % in the name" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "said"), [
    (("--what-if", "defalt"), "unknown policy 'defalt'"),
    (("--what-if", "default,stock"), "without cint there is nothing to replay"),
    (("--plot", "no/such.png"), "no is no directory"),
    (("--perfetto", "no/such.pftrace"), "no is no directory"),
    (("no/such.log",), "no is no directory"),
])
def test_what_is_typed_wrong_is_said_before_anything_is_recorded(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        options: Sequence[str], said: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["trace", "--qmp", "no-vm.sock", *options]) != 0
    assert said in capsys.readouterr().err
