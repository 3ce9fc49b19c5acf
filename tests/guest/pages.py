# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that README and the pages for users offer, and what they say comes of each.

``CLAIMS`` has a row for each command that is run: the page's words, and a function that says
whether they hold of what the command printed and left. ``shows`` are the beginnings of the lines
that the page shows behind the command; a test compares them, and writes them when CINT_WRITE_PAGES
is set. ``ELSEWHERE`` has the commands that other tests run, with one of those.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cint import paths
from cint.manual import tables
from cint.measure.sampling import Row
from cint.measure.settings import CALIBRATED
from cint.results import documents

PAGES = tuple(paths.ROOT / name for name in ("README.md", "docs/index.md", "docs/tour.md",
                                             "docs/tasks.md", "docs/compare.md",
                                             "docs/blk-switch.md", "docs/choose.md",
                                             "docs/trace.md", "docs/run.md", "docs/replay.md",
                                             "docs/figure.md", "docs/cluster.md",
                                             "docs/existing-vm.md", "docs/measured.md"))
TASKS = paths.ROOT / "docs/tasks.md"
RECORDS = paths.ROOT / "tests/replay/records"
#: Files of the tree, and what the pages call them.
FILES = {
    "blkparse.txt": RECORDS / "blkparse.txt",
    "nvme.txt": RECORDS / "nvme-bt.txt",
    "job.iolog": RECORDS / "fio-3.33.iolog",
    "job_clat.1.log": RECORDS / "fio-3.39_clat.1.log",
    "job_clat.2.log": RECORDS / "fio-3.39_clat.2.log",
    "qemu.log": paths.ROOT / "tools/tests/golden/trace-mixed.log",
    "tests/replay/out-of-order.trace": paths.ROOT / "tests/replay/out-of-order.trace",
}


@dataclass(frozen=True)
class Ran:
    """What came of a command: what it printed, and the directory that it ran in."""

    out: str
    said: str
    place: Path

    def results(self) -> documents.Document:
        """The results that it left."""
        found = re.search(r"^results: (.+)$", self.out, re.MULTILINE)
        assert found, self.out
        return documents.load(self.place / found[1])

    def row(self, policy: str, workload: str | None = None, job: str | None = None) -> Row:
        """One row of them, by default that of the only workload."""
        rows = documents.rows_from(self.results())
        found = [row for row in rows if row.policy == policy and row.job == job
                 and row.workload == (workload or rows[0].workload)]
        assert len(found) == 1, (policy, workload, job)
        return found[0]

    def times(self, metric: str, policy: str, than: str, workload: str | None = None,
              job: str | None = None) -> float:
        """A value of one policy as a multiple of another's."""
        mine, its = (self.row(name, workload, job).values[metric] for name in (policy, than))
        assert mine is not None and its
        return mine / its

    def made(self, name: str) -> bool:
        """Whether there is such a file, with something in it."""
        path = self.place / name
        return path.is_file() and path.stat().st_size > 0


@dataclass(frozen=True)
class Claim:
    """A command, what a page says of it, and whether that holds of what came of it."""

    command: str
    says: str
    holds: Callable[[Ran], bool]
    #: Commands that make what this one reads.
    after: tuple[str, ...] = ()
    #: Beginnings of the printed lines that the page shows; a leading blank counts.
    shows: tuple[str, ...] = ()
    boots: bool = True


def keep_table(document: str, after: str, text: str) -> None:
    """Make the first table behind a text of a document what was measured, where that is wanted."""
    if os.environ.get("CINT_WRITE_PAGES"):
        path = tables.DOCS / document
        table = tables.Table(document, after, lambda: text)
        path.write_text(tables.put(path.read_text("utf-8"), table), "utf-8")


# ---- commands of a page -----------------------------------------------------

_REMARK = re.compile(r"\s+# .*$")


def commands(text: str) -> Iterator[str]:
    """The ./cint commands of a page's indented lines, without the remarks behind them."""
    for line in text.splitlines():
        if line.startswith("    ./cint "):
            yield _REMARK.sub("", line.strip())


def job_file(text: str) -> str:
    """The first fio job file of a page."""
    found = re.search(r"(?:^    \[\w+\]\n(?:^    .*\n)+\n?)+", text, re.MULTILINE)
    assert found, "the page has no job file"
    return textwrap.dedent(found[0])


_BLOCK = r"(?m)^    {command}(?:\s+# .*)?\n(?:    .*\n)*\n+```output\n(?P<lines>(?:.*\n)*?)```$"


def shown(text: str, command: str) -> re.Match[str] | None:
    """The output that a page shows behind a command's block."""
    return re.search(_BLOCK.format(command=re.escape(command)), text)


def lines_of(claim: Claim, out: str) -> str:
    """The lines of an output that the page shows; a note with the lines that go on with it."""
    kept: list[str] = []
    in_note = False
    for line in out.splitlines():
        if any(line.startswith(begin) for begin in claim.shows):
            in_note = ": " in line
        elif not (in_note and line.startswith("  ")):
            in_note = False
            continue
        kept.append(f"{line}\n")
    return "".join(kept)


def prepare(place: Path) -> None:
    """The files that the pages' commands name."""
    (place / "my.fio").write_text(job_file(TASKS.read_text("utf-8")), "utf-8")
    (place / "my.rules").write_text("unmarked call read\n", "utf-8")
    (place / "my.py").write_text("print(40 + 2)\n", "utf-8")
    (place / "load.trace").write_text(_load(), "utf-8")
    for name, source in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(source.read_bytes())


def _load() -> str:
    """A load as a timeline: 200 batches of eight, whose commands are done 2 us after each other."""
    lines = []
    for batch in range(200):
        begin = 50_000 * batch
        lines += [f"submit {begin} 1 {cid}" for cid in range(8)]
        lines += [f"doorbell {begin} 1"]
        lines += [f"complete {begin + 7000 + 2000 * cid} 1 {cid}" for cid in range(8)]
    return "\n".join(lines) + "\n"


# ---- what holds -------------------------------------------------------------

#: Values that differ by less are taken for the same.
SAME = 0.03


def same(value: float) -> bool:
    """Whether a ratio says that two values are the same."""
    return abs(value - 1) <= SAME


def _headline(ran: Ran) -> bool:
    """What README, tour and measured say of the comparison of all policies."""
    return (all(same(ran.times("mean_us", name, "default", "sync")) for name in ("cint", "vic"))
            and ran.times("mean_us", "static20", "default", "sync") > 2.5
            and all(ran.times("iops", name, "default", "async") > 1.2
                    for name in ("static20", "static100", "adaptive", "cint", "cint+ooo"))
            and ran.times("mean_us", "cint+ooo", "cint", "mixed") < 1
            and ran.times("iops", "cint+ooo", "cint", "mixed") < 1
            and _mixed(ran))


def _mixed(ran: Ran) -> bool:
    """What the tour says of its row."""
    return (ran.times("mean_us", "cint", "default", "mixed") < 0.95
            and ran.times("iops", "cint", "default", "mixed") > 1.1
            and ran.times("device_irqs", "cint", "default", "mixed") < 0.6)


def _lone_batches(ran: Ran) -> bool:
    return (same(ran.times("ios_per_irq", "cint", "default"))
            and "under cint 100 % of the commands were Barriers" in ran.out)


def _own_file(ran: Ran) -> bool:
    return (all(ran.times("ios_per_irq", name, "default") > 1.5 for name in ("adaptive", "cint"))
            and ran.times("iops", "adaptive", "default") > 1
            and {row.job for row in documents.rows_from(ran.results())} >= {"reader", "waits"})


def _best_timer(ran: Ran) -> bool:
    best = {one["workload"]: one["policy"] for one in ran.results()["timer"]["best"]}
    return (ran.times("iops", best["mixed"], "cint", "mixed") > 1
            and ran.times("mean_us", best["mixed"], "cint", "mixed") > 1.3
            and ran.times("mean_us", best["mixed"], "default", "sync") > 1.5)


def _steered(ran: Ran) -> bool:
    """L's tail is shorter with queues of its own, in every mode that has them; T pays for it."""
    return all(ran.times("p99_us", f"default/{mode}", "default", job="latency") < 0.5
               and ran.times("p999_us", f"default/{mode}", "default", job="latency") < 0.5
               and 0.7 < ran.times("iops", f"default/{mode}", "default", job="throughput") < 0.9
               for mode in ("prio", "request", "app"))


def _split(ran: Ran) -> bool:
    """L's latency stays what it is, and fewer interrupts are sent."""
    split = "split:l=cint,t=adaptive/prio"
    return (ran.times("ios_per_irq", split, "default/prio") > 1.2
            and ran.times("mean_us", split, "default/prio", job="latency") < 1.2)


def _own_timer(ran: Ran) -> bool:
    """A timer of one's own coalesces to at most its 16, on the medium that was asked for."""
    name = "static:time=50us,thr=16"
    return (ran.results()["parameters"]["media"]["name"] == "p3700"
            and 8 < (ran.row(name, "async").values["ios_per_irq"] or 0) <= 17
            and ran.times("mean_us", name, "default", "sync") > 1.5)


def _limited(ran: Ran) -> bool:
    """Of the policies' parameters: no more interrupts a second than the limit has."""
    limited = ran.row("cint+ooo:max-irq-rate=100000", "mixed").values["device_irqs"]
    return (limited or 0) <= 1.03 * 100_000 and _served_at_once(ran, "cint:barrier=strict")


def _served_at_once(ran: Ran, policy: str) -> bool:
    return same(ran.times("mean_us", policy, "default", "sync"))


def _jobs(ran: Ran, *texts: str) -> bool:
    """Whether the workloads' fio jobs have these words, one after the other."""
    jobs = [one["fio"] for one in ran.results()["workloads"]]
    return len(jobs) == len(texts) and all(
        all(f"\n{word}\n" in job for word in text.split())
        for job, text in zip(jobs, texts, strict=True))


def _limited_rates(ran: Ran) -> bool:
    """50,000 reads a second of reported time, and no more writes than that."""
    rate = ran.row("default").values["iops"] or 0
    return (_jobs(ran, "rw=randrw rwmixread=70 iodepth=8")
            and (1 - SAME) * 50_000 / 0.7 < rate < (1 + SAME) * 100_000)


def _polled(ran: Ran) -> bool:
    """Who polls has its read sooner, without an interrupt."""
    return all(ran.times("mean_us", f"{policy}/{mode}", policy) < 1
               and (ran.row(f"{policy}/{mode}").values["device_irqs"] or 0) < 100
               for policy in ("default", "cint") for mode in ("classic", "ours"))


def _engines(ran: Ran) -> bool:
    """A row for each way, and none with interrupts where the process polls."""
    found = {row.policy: row for row in documents.rows_from(ran.results()) if row.job is None}
    return (len(found) == 9 and found["pointer/user"].engine == "user"
            and all((found[f"{name}/user:poll"].values["guest_irqs"] or 0) < 100
                    for name in ("default", "pointer", "cint+ooo")))


def _modes(ran: Ran) -> bool:
    """A row for each mode."""
    return {row.policy for row in documents.rows_from(ran.results())} == {
        "default", *(f"default/{mode}" for mode in ("prio", "request", "app"))}


def _agreed(ran: Ran, error: float) -> bool:
    """All but vic, of whose epochs there are too few, say how far their blocks are apart."""
    found = {row.policy: row.agreement for row in documents.rows_from(ran.results())
             if row.workload == "mixed" and row.job is None}
    return (ran.results()["parameters"]["auto_error"] == error
            and all(one and (one["error"] is None) is (name == "vic")
                    and (not one["agreed"] or (one["error"] or 0) <= error)
                    for name, one in found.items()))


def _diff(ran: Ran) -> bool:
    return ("policy: adaptive, then adaptive:delta=10us" in ran.out
            and "async adaptive:delta" in ran.out)


def _interrupts(ran: Ran) -> int:
    """How many interrupts a replay has printed."""
    return sum(line.startswith("irq ") for line in ran.out.splitlines())


def _rows(ran: Ran, *names: str) -> bool:
    """Whether a replay has compared these policies."""
    return all(re.search(rf"^{name} +\d", ran.out, re.MULTILINE) for name in names)


def _calibrated(cost_ns: int) -> Callable[[Ran], bool]:
    def holds(ran: Ran) -> bool:
        return int(ran.results()["irq_cost"]["reported_ns"]) == cost_ns \
            and bool(ran.results()["irq_cost"]["in_force"])
    return holds


_JOB = "./cint compare --job randread:iodepth=32"
_BATCHES = "iodepth_batch_submit=8,iodepth_batch_complete_min=8"
_MEDIA = "--media custom:read-latency=7us,units=8,slots=8 --runtime 100ms"
_CLASSES = "./cint compare --workload classes --vcpus 2"
_TRACED = "./cint compare --policy adaptive --fio my.fio --runtime 10ms --trace cint --out traced"
_LOG = "traced/logs/adaptive/qemu.log"
_MIXED = "./cint compare --policy adaptive --workload mixed --runtime 30ms --trace cint --out mixed"
_MIXED_LOG = "mixed/logs/adaptive/qemu.log"
_BEFORE = "./cint compare --label before --policy default,adaptive --workload async --runtime 100ms"
_AFTER = ("./cint compare --label after --policy default,adaptive:delta=10us --workload async "
          "--runtime 100ms")
_ENGINES = ("./cint compare --policy default,pointer,cint+ooo --engine kernel,user,user:poll "
            "--workload sync")
_TABLE = ("policy", "reported", "default", "adaptive", "cint ")
_ALL = ("sync:", "async:", "mixed:", *_TABLE, "static", "vic", "cint+ooo", "  async", "  sync")

CLAIMS = (
    Claim("./cint compare", "in sync cint is as default, in async whoever coalesces wins, in mixed "
          "who waits is served sooner and interrupts are saved",
          lambda ran: _headline(ran) and _agreed(ran, 0.01), shows=_ALL),
    Claim("./cint compare --policy default,adaptive:delta=10us --workload sync",
          "a lone read waits for delta",
          lambda ran: 1.8 < ran.times("mean_us", "adaptive:delta=10us", "default") < 2.2),
    Claim("./cint compare --policy default,adaptive:delta=10us,thr=64 --workload sync",
          "parameters of one's own: a lone read waits for delta",
          lambda ran: 1.8 < ran.times("mean_us", "adaptive:delta=10us,thr=64", "default") < 2.2),
    Claim("./cint compare --policy default,static:time=best,cint", "with the best timers",
          lambda ran: {one["workload"] for one in ran.results()["timer"]["best"]}
          == {"sync", "async", "mixed"}),
    Claim("./cint compare --policy default,static:time=50us,thr=16 --media p3700",
          "a timer of one's own, on another medium", _own_timer),
    Claim("./cint compare --policy default,cint:barrier=strict,cint+ooo:max-irq-rate=100000",
          "no more interrupts than the limit says", _limited),
    Claim("./cint compare --runtime 0.5s", "runs of a given time say what those do that end when "
          "their blocks agree", _headline),
    Claim("./cint compare --runtime auto:0.5% --policy default,cint --workload mixed",
          "or to what is typed", lambda ran: _mixed(ran) and _agreed(ran, 0.005)),
    Claim("./cint compare --job randread:bs=16k,iodepth=32", "your own job, without a file",
          lambda ran: _jobs(ran, "rw=randread bs=16k iodepth=32")),
    Claim("./cint compare --job randread:bs=16k,iodepth=32 --job randwrite", "several such jobs",
          lambda ran: _jobs(ran, "rw=randread bs=16k iodepth=32",
                            "rw=randwrite bs=4k iodepth=1 ioengine=psync")),
    Claim("./cint compare --job randrw:rwmixread=70,iodepth=8,rate_iops=50000",
          "rates are of reported time", _limited_rates),
    Claim("./cint compare --fio my.fio", "your own fio job file",
          lambda ran: {row.job for row in documents.rows_from(ran.results())}
          >= {"reader", "waits"}),
    Claim("./cint compare --dry-run", "starts nothing, and shows all that would be",
          lambda ran: all(word in ran.out for word in ("-device nvme", "[sync]", "[async]"))
          and "results: " not in ran.out, boots=False),
    Claim("./cint compare --policy default,cint --polling off,classic,ours --workload sync",
          "each mode is a row beside each policy", _polled),
    Claim(_ENGINES, "each driver is a row beside each policy", _engines),
    Claim(f"{_CLASSES} --policy default --steering off,prio,request,app",
          "each mode is a row", _modes),
    Claim("./cint compare --fio my.fio --media p3700", "your own job file, another medium",
          lambda ran: ran.results()["parameters"]["media"]["name"] == "p3700"
          and ran.results()["workloads"][0]["name"] == "my"),
    Claim("./cint figure --list", "the papers' figures",
          lambda ran: "cint-fig8" in ran.out and "timers" in ran.out, boots=False),
    Claim("./cint run --print", "the line, to change and to keep",
          lambda ran: "-device" in ran.out and "cint.policy" in ran.out, boots=False),
    Claim("./cint compare --workload mixed --policy default,cint",
          "who waits has its read sooner, more reads, half the interrupts", _mixed,
          shows=("policy", "reported", "default", "cint")),
    Claim(f"{_JOB},{_BATCHES} --policy default,adaptive,cint --runtime 100ms",
          "cint coalesces batches", lambda ran: ran.times("ios_per_irq", "cint", "default") > 4
          and ran.times("iops", "cint", "default") > 1.1, shows=_TABLE),
    Claim(f"{_JOB} --policy default,cint --runtime 60ms", "batches of one gain nothing, and a line "
          "says so", _lone_batches, shows=(*_TABLE, "randread-iodepth32: under")),
    Claim(f"{_JOB} --policy default,cint --runtime 60ms --extras device",
          "the device's own marks serve such a job",
          lambda ran: ran.times("ios_per_irq", "cint", "default") > 2, shows=_TABLE),
    Claim("./cint compare --fio my.fio --policy default,adaptive,cint",
          "a row for each policy, and for each job of it", _own_file,
          shows=(*_TABLE, "  reader", "  waits")),
    Claim("./cint compare --policy default,static:time=best,cint --workload sync,mixed "
          "--runtime 50ms", "the best timer has more reads, who waits pays", _best_timer,
          shows=("sync:", "mixed:", *_TABLE, "static")),
    Claim("./cint compare --hints on,preload:my.rules --policy cint --workload sync "
          "--runtime 50ms", "with the rules a lone read is unmarked and waits for delta",
          lambda ran: ran.times("mean_us", "cint/preload:my.rules", "cint") > 1.3),
    Claim(_BEFORE, "results with a name", lambda ran: ran.results()["label"] == "before"),
    Claim(_AFTER, "results with a name", lambda ran: ran.results()["label"] == "after"),
    Claim("./cint diff before after", "what was set differently is marked", _diff,
          after=(_BEFORE, _AFTER), shows=("policy", "before", "reported", "async")),
    Claim(_TRACED, "a traced run", lambda ran: ran.made(_LOG)),
    Claim("./cint replay --from-trace --policy adaptive --sweep delta=1us..50us,thr=1..256 "
          f"{_LOG}", "a proposal by the papers' method, two heat maps",
          lambda ran: "proposed" in ran.out + ran.said, after=(_TRACED,),
          shows=("99 %", "proposed")),
    Claim(f"./cint trace {_LOG}", "interrupts by reason, hold and reap times",
          lambda ran: "quiet" in ran.out and "hold" in ran.out, after=(_TRACED,), shows=("",)),
    Claim(f"./cint trace --plot times.png {_LOG}", "draws how these times are distributed",
          lambda ran: ran.made("times.png"), after=(_TRACED,)),
    Claim(f"./cint trace --perfetto timeline.pftrace {_LOG}", "writes a timeline",
          lambda ran: ran.made("timeline.pftrace"), after=(_TRACED,)),
    Claim(f"./cint trace --what-if default,cint {_LOG}", "the same trace through the engine",
          lambda ran: "default" in ran.out and "cint" in ran.out, after=(_TRACED,),
          shows=("policy", "     ", "default", "cint ")),
    Claim(_MIXED, "a log of the device's events", lambda ran: ran.made(_MIXED_LOG)),
    Claim(f"./cint trace {_MIXED_LOG}", "interrupts by reason, hold and reap by class of hint",
          lambda ran: "reported time" in ran.out and "urgent hold" in ran.out, after=(_MIXED,),
          shows=("",)),
    Claim(f"./cint trace --plot times.png {_MIXED_LOG}", "draws a row for each completion queue",
          lambda ran: ran.made("times.png"), after=(_MIXED,)),
    Claim(f"./cint trace --perfetto timeline.pftrace {_MIXED_LOG}", "writes a timeline",
          lambda ran: ran.made("timeline.pftrace"), after=(_MIXED,)),
    Claim(f"./cint trace --what-if default,cint {_MIXED_LOG}", "replays the same trace",
          lambda ran: "reported time" in ran.out and "cint" in ran.out, after=(_MIXED,)),
    Claim("./cint compare --policy cint --workload mixed --trace cint --trace vcpus --runtime 30ms "
          "--out vcpus", "the log has messages to vCPUs, too",
          lambda ran: "apic_deliver_irq" in (ran.place / "vcpus/logs/cint/qemu.log").read_text()),
    Claim("./cint run --guest debian --packages sqlite3 -- sqlite3 :memory: "
          "'select sqlite_version()'", "a package's program, in a Debian",
          lambda ran: re.fullmatch(r"3\.\d+\.\d+\n", ran.out) is not None),
    Claim("./cint run --guest debian --packages python3 --copy my.py -- python3 my.py",
          "and with a file of this machine", lambda ran: ran.out == "42\n"),
    Claim("./cint compare --fio my.fio --policy default,adaptive,cint,static:time=best",
          "the answer for a load of one's own",
          lambda ran: bool(ran.results()["timer"]["best"]) and
          {"default", "adaptive", "cint"} <= {p["name"] for p in ran.results()["policies"]}),
    Claim("./cint replay --policy cint:thr=16 load.trace", "one line an interrupt",
          lambda ran: _interrupts(ran) == 200 and _rows(ran, "cint:thr=16"), boots=False),
    Claim("./cint replay --policy default,adaptive,cint load.trace",
          "several are compared, and no interrupts printed", lambda ran: _interrupts(ran) == 0
          and _rows(ran, "default", "adaptive", "cint"), boots=False),
    Claim("./cint replay --sweep delta=1us..50us,thr=1..256 load.trace",
          "a proposal above the gap, which is 2 us", lambda ran: ran.made("replay-sweep.png")
          and re.search(r"proposed for policy cint: delta=(?:2\.\d|[3-5])", ran.out) is not None,
          boots=False),
    Claim("./cint replay --policy cint+ooo:thr=9 tests/replay/out-of-order.trace",
          "Figure 14 of cinterrupts", lambda ran: "irq 5000 full thr 6" in ran.out, shows=("",),
          boots=False),
    Claim("./cint replay --policy cint+ooo:thr=9,adaptive:thr=9,default "
          "tests/replay/out-of-order.trace", "interrupts are not printed",
          lambda ran: _interrupts(ran) == 0, shows=("",), boots=False),
    Claim("./cint replay --from-trace --policy adaptive qemu.log", "QEMU's trace is read",
          lambda ran: _interrupts(ran) > 10, boots=False),
    Claim("./cint replay --from-trace --optimal 740ns --policy default,adaptive,auto qemu.log",
          "a policy's cost as a ratio to the least",
          lambda ran: _rows(ran, "default", "adaptive", "auto") and "regret" in ran.out,
          boots=False),
    Claim("./cint replay --from-trace --policy adaptive --policy cint qemu.log",
          "several policies, each with its option", lambda ran: _rows(ran, "adaptive", "cint"),
          boots=False),
    Claim("./cint replay --from bpftrace --policy default,cint nvme.txt",
          "bpftrace's records are read", lambda ran: _rows(ran, "default", "cint"), boots=False),
    Claim("./cint replay --from fio-lat --policy default,cint job_clat.1.log job_clat.2.log",
          "fio's latency logs are read", lambda ran: _rows(ran, "default", "cint"), boots=False),
    Claim("./cint replay --from fio-io --latency job_clat.1.log job.iolog",
          "fio's I/O log is read", lambda ran: _rows(ran, "cint"), boots=False),
    Claim("./cint replay --from blkparse --policy default,cint blkparse.txt",
          "blkparse's records are read", lambda ran: "cint" in ran.out, shows=("",), boots=False),
    Claim("./cint compare --cpu-scale calibrated --irq-cost calibrated --workload async "
          "--runtime 100ms", "the papers' costs", _calibrated(int(CALIBRATED["irq_cost_ns"]))),
    Claim("./cint compare --irq-cost 2000 --workload async --runtime 100ms",
          "an interrupt of 2 us", _calibrated(2000)),
    Claim(f"{_CLASSES} --policy default --steering off,prio,request,app {_MEDIA}",
          "a row for each mode; L's p99 is a fraction of that in mode off", _steered,
          shows=("policy", "reported", "default", "  latency", "  throughput")),
    Claim(f"{_CLASSES} --steering prio --policy default,split:l=cint,t=adaptive {_MEDIA}",
          "queues of L and of T have policies of their own", _split,
          shows=("policy", "reported", "default", "split", "  latency", "  throughput")),
)

#: Commands that other tests run: the words of the command that decide, and the test.
ELSEWHERE: Mapping[str, str] = {
    "./cint test": "tools/tests/test_testing.py",
    "./cint test qtest": "tools/tests/test_testing.py",
    "./cint doctor": "tools/tests/test_host.py",
    "./cint compare --app my.toml": "tests/guest/test_apps.py",
    "./cint compare --time real": "tools/tests/test_compare.py",
    "./cint compare --time real --workload sync": "tools/tests/test_compare.py",
    "./cint compare --json > result.json": "tools/tests/test_compare.py",
    "./cint compare --fresh": "tools/tests/test_runs.py",
    "./cint compare --full": "tools/tests/test_runs.py",
    "./cint clean --runs": "tools/tests/test_setup.py",
    "./cint results": "tools/tests/test_results.py",
    "./cint results rename A TEXT": "tools/tests/test_results.py",
    "./cint results rm A B": "tools/tests/test_results.py",
    "./cint show [RESULTS]": "tools/tests/test_results.py",
    "./cint diff A [B]": "tools/tests/test_results.py",
    "./cint diff --changed A B": "tools/tests/test_results.py",
    "./cint run": "tools/tests/test_run.py",
    "./cint run --policy cint+ooo": "tools/tests/test_inside.py",
    "./cint run --policy static20 --media p3700 --trace cint": "tools/tests/test_run.py",
    "./cint run --policy adaptive --trace cint 2> qemu.log": "tools/tests/test_run.py",
    "./cint run -- fio --name=r --filename=/dev/nvme0n1 --rw=randread --size=1m":
        "tests/guest/test_run_inside.py",
    "./cint run --share mine -- fio mine/my.fio": "tests/guest/test_run_inside.py",
    "./cint run --share jobs -- env RUNTIME=2s RAMP=200ms SEED=1 CPUS=0 fio jobs/mixed.fio":
        "tests/guest/test_run_inside.py",
    "./cint run --gdb": "tools/tests/test_run.py",
    "./cint replay --from-trace --reap trace --cq 1 --policy adaptive mixed/logs/adaptive/qemu.log":
        "tests/guest/test_replay.py",
    "./cint run --copy my.fio -- fio my.fio": "tools/tests/test_inside.py",
    "./cint run --guest debian --packages sqlite3,strace": "tests/guest/test_run_inside.py",
    "./cint run --share mine -- fio mine/my.fio --output=mine/out.json --output-format=json":
        "tests/guest/test_run_inside.py",
    "./cint run --guest distro -- nvme id-ctrl /dev/nvme0 > id-ctrl.txt":
        "tools/tests/test_inside.py",
    "./cint run --own -- -drive file=my.qcow2,if=virtio": "tools/tests/test_run.py",
    "./cint run --qmp vm.sock --policy adaptive": "tools/tests/test_run.py",
    "./cint run --qmp vm.sock --own -- -drive file=my.qcow2,if=virtio": "tools/tests/test_run.py",
    "./cint run --hints preload:my.rules": "tests/guest/test_preload.py",
    "./cint hints --deb .": "tools/tests/test_hints_module.py",
    "./cint compare --guest distro --hints off,module": "tests/guest/test_hints_module.py",
    "./cint install --prefix ~/qemu-cint": "tests/libvirt/test_install.py",
    "./cint libvirt --prefix ~/qemu-cint --drive my.qcow2": "tests/libvirt/test_libvirt.py",
    "./cint libvirt --prefix ~/qemu-cint --drive my.qcow2 >vm.xml":
        "tests/libvirt/test_libvirt.py",
    "./cint libvirt --prefix ~/qemu-cint --domain web.before.xml >web.xml":
        "tests/libvirt/test_libvirt.py",
    "./cint top vm.sock": "tools/tests/test_top.py",
    "./cint top --once --json vm.sock": "tools/tests/test_top.py",
    "./cint trace --qmp vm.sock --seconds 2 --perfetto timeline.pftrace vm.log":
        "tools/tests/test_trace.py",
    "./cint figure cint-fig8": "tests/guest/test_figures.py",
    "./cint figure cost-sweep": "tests/guest/test_figures.py",
    "./cint figure cint-fig8 vic-tab1": "tests/guest/test_figures.py",
    "./cint figure --set vic": "tests/guest/test_figures.py",
    "./cint figure --set polling": "tests/guest/test_figures.py",
    "./cint figure --set spdk": "tests/guest/test_figures.py",
    "./cint figure --set apps": "tests/guest/test_figures.py",
    "./cint figure --all --out DIR": "tests/guest/test_figures.py",
    "./cint figure --all --quick": "tests/guest/test_figures.py",
    "./cint figure cint-fig10 --vcpus 2": "tools/tests/test_figures.py",
    "./cint figure cint-fig9 --guest distro --hints module,off": "tools/tests/test_figures.py",
    "./cint worker --scheduler": "tools/tests/test_cluster.py",
    "./cint worker tcp://127.0.0.1:8786": "tools/tests/test_cluster.py",
    "./cint compare --cluster tcp://127.0.0.1:8786": "tools/tests/test_cluster.py",
    "./cint worker --scheduler &": "tools/tests/test_cluster.py",
    './cint worker --scheduler --listen "$(hostname -i)" &': "tools/tests/test_cluster.py",
    './cint compare --cluster "tcp://$(hostname -i):8786"': "tools/tests/test_cluster.py",
    "./cint test tool --full -k cluster": "tools/tests/test_cluster.py",
    "./cint test guest --full -k cluster": "tests/guest/test_cluster.py",
}
