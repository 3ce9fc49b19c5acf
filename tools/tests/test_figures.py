# SPDX-License-Identifier: GPL-2.0-or-later
"""figures/: the jobs are well-formed and every check tells right from wrong."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from canned import log, record

from cint.errors import CintError
from cint.figures import base, choosing, probe, vic
from cint.figures.base import Deviation, Failure, Figure, Point
from cint.measure import workloads

FIGURES = (vic.TAB1, vic.TAB1_EXACT, vic.TAB23, vic.TAB45, vic.TAB6, vic.LOW, vic.LOW_RATE,
           choosing.FIG18, choosing.FIG19, choosing.fig18_delta(3.25))
Points = dict[tuple[str, str], Point]


def claims(failures: list[Failure]) -> list[str]:
    """What failed, in short."""
    return [f.claim for f in failures]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.name)
def test_jobs_can_be_rendered(figure: Figure) -> None:
    chosen = figure.settings()
    for workload in chosen.workloads:
        text = workloads.render(workload, chosen.timing, chosen.k)
        assert "{" not in text
        assert "filename=/dev/nvme0n1" in text


def test_names_are_unique() -> None:
    assert len({f.name for f in FIGURES}) == len(FIGURES)


# ---- deviations ---------------------------------------------------------

KNOWN = Deviation(0.5, 0.6, "the medium is too even")


def test_a_deviation_is_explained() -> None:
    said = KNOWN.explain(base.at_most("gaps", 0.54, 1 / 3))
    assert said == "gaps: 0.54, must be at most 0.3333; expected here from 0.5 to 0.6: " \
                   "the medium is too even"


@pytest.mark.parametrize(("failures", "why"), [
    (base.at_most("gaps", 0.3, 1 / 3), "the claim holds now"),
    (base.at_most("gaps", 0.61, 1 / 3), "gaps: 0.61, must be .*, expected here from 0.5 to 0.6"),
    (base.at_most("gaps", 0.49, 1 / 3), "expected here from 0.5 to 0.6"),
    ([*base.at_most("gaps", 0.54, 0), *base.at_most("times", 2, 1)], "times: 2"),
])
def test_other_deviations_are_failures(failures: list[Failure], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        KNOWN.explain(failures)


# ---- the probe ----------------------------------------------------------

def probe_line(at: int, cqes: int, irqs: int, idle: int) -> str:
    """What the script in the guest prints."""
    page = base64.b64encode(log(record(0, 1, 1), record(1, cqes, irqs))).decode()
    return f"cint-probe {at} {idle} 5 {page} {at + 10} {idle} 5"


def test_probes_are_read() -> None:
    text = "\n".join(["cint-pre 1", probe_line(1000, 10, 5, 100), probe_line(2010, 30, 10, 600)])
    one, two = probe.parse(text)
    assert (two.cqes - one.cqes, two.interrupts - one.interrupts) == (20, 5)
    assert (one.began, one.ended) == ((1000, 105), (1010, 105))
    # 1000 ns between the probes, 500 of them idle.
    assert probe.busy_share([one, two]) == pytest.approx(0.5)
    assert one.ratio is None


@pytest.mark.parametrize("line", ["cint-probe", "cint-probe 1 2 3 %%% 4 5 6",
                                  probe_line(1, 1, 1, 1)[:-3]])
def test_bad_probes_are_refused(line: str) -> None:
    with pytest.raises(CintError, match="probe"):
        probe.parse(line)


def test_script_is_a_shell_script() -> None:
    script = probe.install()[-1]
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0


# ---- vIC ----------------------------------------------------------------

@pytest.mark.parametrize(("cif", "wanted"), [
    (1, 1), (3, 1), (4, 0.8), (7, 0.8), (8, 0.75), (11, 0.75), (12, 2 / 3), (15, 2 / 3),
    (16, 1 / 2), (23, 1 / 2), (24, 1 / 3), (64, 1 / 8), (128, 1 / 16), (136, 1 / 17)])
def test_ratio(cif: int, wanted: float) -> None:
    assert vic.ratio(cif) == wanted


def tab1(**changed: float) -> Points:
    """Table 1 as it should be, but for the depths given (q6=0.9)."""
    return {(vic.TAB1_POLICY, f"q{q}"): Point(1, 1, changed.get(f"q{q}", vic.ratio(q)))
            for q in vic.TAB1_DEPTHS}


def test_tab1() -> None:
    assert vic.TAB1.check(tab1(q6=0.83)) == []
    assert claims(vic.TAB1.check(tab1(q6=0.85, q64=0.1))) == [
        "interrupts per I/O at depth 6", "interrupts per I/O at depth 64"]
    shown = str(vic.TAB1.check(tab1(q10=1.0))[0])
    assert shown == "interrupts per I/O at depth 10: 1, must be 0.75 +-5 %"


def table() -> Points:
    """Tables 2 to 5 as they should be."""
    points: Points = {}
    for q in vic.DEPTHS:
        r = vic.ratio(q)
        points["default", f"q{q}"] = Point(1000, 10, 1.0, 4.0, 60.0)
        points["vic", f"q{q}"] = Point(1001, 10, r, 3.9, 63.0, (r, r))
    return points


Change = Callable[[Point], Point]


@pytest.mark.parametrize(("depth", "change", "claim"), [
    (8, lambda p: replace(p, iops=900), "depth 8: IOPS against default"),
    (16, lambda p: replace(p, cpu_us_per_io=4.1),
     "depth 16: CPU time of an I/O against default"),
    (64, lambda p: replace(p, cpu_us_per_io=4.0),
     "depth 64: CPU time of an I/O against default"),
    (32, lambda p: replace(p, irqs_per_io=0.3),
     "depth 32: interrupts per I/O, against the mean ratio"),
    (64, lambda p: replace(p, irqs_per_io=0.1, ratios=(0.1,)), "depth 64: mean ratio"),
    (64, lambda p: replace(p, irqs_per_io=0.3, ratios=(0.3,)),
     "depth 64: interrupts per I/O against a smaller depth"),
])
def test_tables(depth: int, change: Change, claim: str) -> None:
    points = table()
    assert vic.TAB23.check(points) == []
    points["vic", f"q{depth}"] = change(points["vic", f"q{depth}"])
    assert claims(vic.TAB23.check(points)) == [claim]


def test_tables_need_probes() -> None:
    points = table()
    points["vic", "q8"] = replace(points["vic", "q8"], ratios=())
    with pytest.raises(CintError, match="probed"):
        vic.TAB45.check(points)


def test_tab6() -> None:
    points = table()
    assert vic.TAB6.check(points) == []
    points["vic", "q64"] = replace(points["vic", "q64"], idle_percent=61.0, irqs_per_io=0.26)
    assert len(vic.TAB6.check(points)) == 2


def low() -> Points:
    """A lone reader as it should be."""
    return {("default", "sync"): Point(1000, 100, 1), ("vic", "sync"): Point(1000, 101, 1),
            ("vic", "q6"): Point(5000, 1, 0.8), (vic.COARSE, "q6"): Point(4900, 1, 0.5)}


def test_low() -> None:
    points = low()
    assert vic.LOW.check(points) == []
    points["vic", "sync"] = Point(1000, 103, 0.5, reasons={"max-hold": 3})
    points["vic", "q6"] = Point(4800, 1, 0.8)
    assert claims(vic.LOW.check(points)) == [
        "sync latency against default", "sync reads that only max-hold ended",
        "interrupts per sync read", "IOPS at depth 6 with 4/5 against 1/2"]


def low_rate(added_us: float, ratio: float = 1 / 3, gated: float = 1.0) -> Points:
    """1000 reads a second; without the floor, ``added_us`` more."""
    return {("default", "q32"): Point(1000, 30_000, 1), ("vic", "q32"): Point(1000, 30_000, gated),
            (vic.NO_FLOOR, "q32"): Point(1000, 30_000 + added_us, ratio, ratios=(ratio,))}


def test_low_rate() -> None:
    assert vic.LOW_RATE.check(low_rate(1000)) == []
    assert claims(vic.LOW_RATE.check(low_rate(700))) == ["us added without iopsThreshold"]
    assert claims(vic.LOW_RATE.check(low_rate(2100))) == ["us added without iopsThreshold"]
    assert claims(vic.LOW_RATE.check(low_rate(1000, gated=0.9))) == [
        "interrupts per I/O below 2000 IOPS"]
    assert "1/R without iopsThreshold" in claims(vic.LOW_RATE.check(low_rate(0, 1.0)))


# ---- Figures 18 and 19 of cinterrupts -----------------------------------

TRACE = """\
qemu-system-x86_64 -trace pci_nvme_cint_media
pci_nvme_cint_media cqid 0 sqid 0 cid 3 due 1500
pci_nvme_cint_media cqid 1 sqid 1 cid 4 due 4000
pci_nvme_cint_media cqid 1 sqid 1 cid 5 due 1000
pci_nvme_cint_post cqid 1 sqid 1 cid 4 hints 0x0 tail 3
12@1700000000.000001:pci_nvme_cint_media cqid 1 sqid 1 cid 6 due 10000
pci_nvme_cint_media cqid 1 sqid 1 cid 7 due 99000
"""


def test_gaps_come_from_the_device_clock() -> None:
    times = choosing.due_times(TRACE, 500, 50_000)
    assert times == [1000, 4000, 10_000]
    assert choosing.gaps_us(times, 3) == [1, 2]


@pytest.mark.parametrize(("share", "wanted"), [(0, 1), (0.5, 6), (0.9, 10), (0.99, 10), (1, 10)])
def test_quantile(share: float, wanted: float) -> None:
    assert choosing.quantile([float(n) for n in range(1, 11)], share) == wanted


def test_no_trace_is_said() -> None:
    with pytest.raises(CintError, match="pci_nvme_cint_media"):
        choosing.quantile([], 0.9)


def test_fig18() -> None:
    assert choosing.check_gaps({"batched": [1.0], "unbatched": [3.5]}) == []
    assert len(choosing.check_gaps({"batched": [1.2], "unbatched": [3.5]})) == 1
    delta = choosing.fig18_delta(3)
    good = {("p", "unbatched"): Point(1, 1, 1 / 9)}
    assert delta.check(good) == []
    assert len(delta.check({("p", "unbatched"): Point(1, 1, 1 / 7)})) == 1


def fig19(merged: Callable[[int], float], iops: Callable[[int], float]) -> Points:
    """Both jobs of Figure 19, from two functions of thr."""
    return {(f"adaptive:thr={t}", job): Point(iops(t), 1, 1 / merged(t))
            for t in choosing.THRESHOLDS for job in ("batched", "unbatched")}


def bounded(thr: int) -> float:
    """I/Os per interrupt, at most 32."""
    return min(max(thr, 1), 32)


def rising(thr: int) -> float:
    """Throughput with an interrupt's cost spread over ``thr``."""
    return 1 / (2.4 + 0.8 / bounded(thr))


def test_fig19() -> None:
    assert choosing.FIG19.check(fig19(bounded, rising)) == []


@pytest.mark.parametrize(("merged", "iops", "claim"), [
    (bounded, lambda t: 1.0, "batched: IOPS of thr 32 against thr 1"),
    (lambda t: bounded(t) * 1.1, rising, "batched: I/Os per interrupt at thr 0"),
    (lambda t: min(bounded(t), 4), rising, "batched: I/Os per interrupt at thr 5"),
    (bounded, lambda t: rising(t) * (1 if t else 2), "batched: IOPS of thr 1 against thr 0"),
    (bounded, lambda t: rising(t) * (0.9 if t == 16 else 1),
     "batched: IOPS of thr 16 against thr 32"),
])
def test_fig19_tells(merged: Callable[[int], float], iops: Callable[[int], float],
                     claim: str) -> None:
    found = claims(choosing.FIG19.check(fig19(merged, iops)))
    assert found
    assert found[0] == claim
