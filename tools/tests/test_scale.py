# SPDX-License-Identifier: GPL-2.0-or-later
"""scale.py: the table of scaled parameters."""

import argparse

import pytest
from canned import sync_result

from cint.device import properties, scale
from cint.device.scale import Kind
from cint.errors import UsageError
from cint.guest import drivers, polling
from cint.measure import sampling, workloads
from cint.options import comparing


def test_undo_reverses_apply() -> None:
    wanted = {Kind.TIME: 18000, Kind.RATE: 2000, Kind.FIXED: 6000}
    for entry in scale.TABLE:
        applied = scale.apply(entry.where, entry.name, 6000, 3)
        assert applied == pytest.approx(wanted[entry.kind]), entry.name
        assert scale.undo(entry.where, entry.name, applied, 3) == pytest.approx(6000), entry.name


def test_scale_one_changes_nothing() -> None:
    for entry in scale.TABLE:
        assert scale.apply(entry.where, entry.name, 123.0, 1) == 123.0


def test_unknown_names_pass() -> None:
    assert scale.apply("device", "cint.thr", 32, 3) == 32
    assert scale.apply_int("device", "cint.media.units", 8, 3) == 8


def test_integers_do_not_become_off() -> None:
    assert scale.apply_int("device", "cint.delta", 1, 0.1) == 1
    assert scale.apply_int("device", "cint.max-hold", 0, 3) == 0
    assert scale.apply_int("device", "cint.max-irq-rate", 100_000, 3) == 33333


@pytest.mark.parametrize("text", ["0", "-1", "65", "nan", "inf", "three"])
def test_scales_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"--cpu-scale {text}"):
        scale.parse(text)


@pytest.mark.parametrize(("cost_ns", "cpu_scale", "slot"), [
    (740, 3, 1109),      # 2220 ns of a CPU's own turns: two
    (455, 3.11, 1409),   # 1415 ns: one
    (2000, 3, 997),      # 6000 ns: six, and 1000 is no prime number
    (100, 3, 293), (50, 3, scale.SLOT_NS), (0, 3, scale.SLOT_NS), (740, 0.1, scale.SLOT_NS)])
def test_the_cost_of_an_interrupt_is_a_whole_number_of_turns(
        cost_ns: int, cpu_scale: float, slot: int) -> None:
    assert scale.slot_ns(cost_ns, cpu_scale) == slot


def test_each_row_is_found_by_its_name() -> None:
    # Of two rows with one name the lookup would give the last.
    assert all(scale.entry(row.where, row.name) is row for row in scale.TABLE)


# ---- who goes by it ----------------------------------------------------------------------

#: Policies that set each parameter that the device keeps in time.
TIMED = ("static:time=50us,thr=8", "vic:epoch=100ms,iops-threshold=5000",
         "adaptive:delta=9us,max-hold=1ms,kick-window=5us,ack-gate=9us,max-irq-rate=20000",
         "price:price=2us")


def _everything_scaled(k: float) -> None:
    """All that is done with a scale before, in and after a run."""
    media = properties.parse_media("custom:" + ",".join(
        f"{direction}-{what}" for direction in ("read", "write")
        for what in ("latency=9us", "per-kib=1us", "bandwidth=1000000000"))
        + ",spread=1us,jitter=1us")
    for text in TIMED:
        properties.device_properties(properties.parse_policy(text), media, k, virtual=True)
    parser = argparse.ArgumentParser()
    comparing.add_options(parser)
    assert comparing.settings_from(parser.parse_args(["--cpu-scale", f"{k}"])).cost_applied_ns > 0
    scale.slice_permille(k)
    polling.parse("fixed:2us").settings(k)
    drivers.parse("user:sleep=2us").options(k, cost_ns=0, records=False)
    workloads.render(workloads.BUILT_IN["mixed"], workloads.Timing(1.0, 0.1), k)
    own = [row.name for row in scale.TABLE if row.where == "fio"]
    _, remarks = workloads.scale_job_text("[a]\n" + "".join(f"{name}=6\n" for name in own), k)
    assert len(remarks) == len(own)
    one = sampling.sample("default", "sync", 0, sync_result("sync"), 1)
    sampling.rows([one], k, None, split=False)


def test_each_row_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row tells of something that nobody scales, and what cannot be scaled is not asked for."""
    asked: set[tuple[str, str]] = set()
    entry = scale.entry

    def recorded(where: str, name: str) -> scale.Entry | None:
        asked.add((where, name))
        return entry(where, name)

    monkeypatch.setattr(scale, "entry", recorded)
    _everything_scaled(3.0)
    scaled = {(row.where, row.name) for row in scale.TABLE if row.kind is not Kind.FIXED}
    fixed = {(row.where, row.name) for row in scale.TABLE if row.kind is Kind.FIXED}
    assert scaled - asked == set() and asked & fixed == set()
