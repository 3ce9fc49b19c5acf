# SPDX-License-Identifier: GPL-2.0-or-later
"""fiojson.py and sampling.py: from results to rows."""

import dataclasses
from typing import Any

import pytest
from canned import fio, fio_job, log, record, result, snap, sync_result

from cint.measure import fiojson, metrics, sampling
from cint.measure.fiojson import FioError
from cint.results import table


def test_percentiles_from_bins() -> None:
    bins = {10: 50, 20: 49, 30: 1}
    assert [fiojson.percentile(bins, p) for p in (50, 50.1, 99, 99.9)] == [10, 20, 20, 30]
    assert fiojson.percentile({}, 50) is None


@pytest.mark.parametrize(("ios", "p99", "p999"), [(99, 0, 0), (9_999, 99, 9), (10_000, 100, 10),
                                                  (100_000, 1000, 100)])
def test_a_percentile_of_few_is_marked_and_not_left_out(ios: int, p99: int, p999: int) -> None:
    """The mark depends on how many I/Os are beyond it; two boots have twice as many."""
    def made(boots: int) -> sampling.Row:
        message = result("sync", fio(fio_job("sync", 1000.0, {10_000: ios - 1, 30_000: 1})),
                         snap(0, 0, 0), snap(10**9, ios, ios))
        one, = sampling.rows([sample(message, repeat=n) for n in range(boots)], 1.0, None, False)
        return one

    one, two = made(1), made(2)
    assert (one.beyond["p99_us"], one.beyond["p999_us"]) == (p99, p999)
    assert two.beyond["p99_us"] in (2 * p99, 2 * p99 + 1)
    for row in (one, two):
        text = "\n".join(table.format_rows([row], {}, "default"))
        for name, head in (("p99_us", "p99"), ("p999_us", "p99.9")):
            few = row.beyond[name] < 100
            assert (row.few(name) is not None) == few
            assert (f"{head} {row.beyond[name]} (default)" in text) == few
        assert text.count("10.00*") + text.count("30.00*") == sum(
            row.beyond[name] < 100 for name in metrics.PERCENTILES)
    assert dataclasses.replace(one, beyond={}).few("p99_us") is None, "results of before"


def test_directions_and_names_are_joined() -> None:
    one = fio_job("a", 100.0, {10: 1})
    one["write"] = one["read"] | {"iops": 50.0}
    jobs = fiojson.parse(fio(one, fio_job("a", 10.0, {30: 2}), fio_job("b", 1.0, {5: 1})))
    assert list(jobs) == ["a", "b"]
    assert (jobs["a"].ios, jobs["a"].iops) == (4, 160.0)
    assert jobs["a"].mean_ns == pytest.approx(20.0)
    assert jobs["a"].bins == {10: 2, 30: 2}


def test_time_with_the_cpu_and_without_it() -> None:
    """Of two threads with 30 % and 90 % of the CPU for 200 ms; fio may say a little over 100 %."""
    jobs = fiojson.parse(fio(*(
        fio_job(name, 1.0, {10: 1}) | {"job_runtime": 200, "ctx": count, "usr_cpu": usr}
        for name, count, usr in (("a", 40, 10.0), ("a", 10, 70.0), ("b", 1, 81.0)))))
    assert (jobs["a"].on_cpu_ms, jobs["a"].off_cpu_ms, jobs["a"].switches) == \
        pytest.approx((240.0, 160.0, 50))
    assert (jobs["b"].on_cpu_ms, jobs["b"].off_cpu_ms) == (200.0, 0.0)


@pytest.mark.parametrize(("reads_ms", "elapsed_ms", "iops"), [
    (40, 78, 2000 / 0.079), (40, 41, 51_000.0), (74, 75, 51_000.0), (40, 0, 51_000.0)])
def test_reads_after_writes_are_of_their_own_time(reads_ms: int, elapsed_ms: int,
                                                  iops: float) -> None:
    """As of a job that verifies; where both go on all the time their rates are added."""
    job = fio_job("a", 26_000.0, {10: 1000}) | {"job_runtime": elapsed_ms}
    job["write"] = job["read"] | {"iops": 25_000.0, "runtime": 39}
    job["read"]["runtime"] = reads_ms
    assert fiojson.parse(fio(job))["a"].iops == pytest.approx(iops)


def test_a_job_may_be_idle_or_over_at_once() -> None:
    idle, short = (fio_job("idle", 0.0, {}) | {"job_runtime": 9},
                   fio_job("short", 1.0, {1: 1}) | {"job_runtime": 0})
    assert [job.ios for job in fiojson.parse(fio(idle, short)).values()] == [0, 1]


def test_clat_when_there_is_no_lat_histogram() -> None:
    job = fio_job("a", 1.0, {10: 1})
    job["read"]["clat_ns"] = job["read"].pop("lat_ns")
    assert fiojson.parse(fio(job))["a"].bins == {10: 1}


@pytest.mark.parametrize("document", [None, {}, {"jobs": []}, {"jobs": [3]},
                                      fio(fio_job("a", 1.0, {1: 1}, error=5)),
                                      fio(fio_job("a", 0.0, {}) | {"job_runtime": 0})])
def test_bad_fio(document: Any) -> None:
    with pytest.raises(FioError):
        fiojson.parse(document)


def sample(message: dict[str, Any], policy: str = "default", repeat: int = 0) -> sampling.Sample:
    """A sample of the workload that the message is named after."""
    return sampling.sample(policy, message["name"], repeat, message, 1)


def test_row_is_in_reported_time() -> None:
    one = sample(sync_result("sync", iops=50_000.0, lat_ns=20_000, irqs=500))
    row, = sampling.rows([one], 2.0, None, False)
    assert row.values["iops"] == pytest.approx(100_000)
    assert row.values["p50_us"] == pytest.approx(10)
    assert row.values["p999_us"] == pytest.approx(20)
    assert row.values["ios_per_irq"] == pytest.approx(2)
    assert row.values["device_irqs"] == pytest.approx(50_000)
    assert row.values["guest_irqs"] == pytest.approx(50_000)
    assert row.values["hold_us"] == pytest.approx(1.5)
    assert row.values["cpu_percent"] == pytest.approx(0)
    assert row.reasons == {"thr": 500}


def test_hints_are_those_of_this_run() -> None:
    before, after = (log(record(1, cqes, cqes, {1: cqes}, urgent=urgent))
                     for cqes, urgent in ((100, 40), (250, 60)))
    delta = sampling.device_delta(before, after)
    assert delta is not None
    assert (delta.hints, delta.sources) == ({"none": 130, "urgent": 20}, {"cdw0": 20})
    same = sampling.device_delta(after, after)
    assert same is not None
    assert (same.hints, same.sources, same.reasons) == ({}, {}, {})


def test_mixed_is_split() -> None:
    one = sample(sync_result("mixed", iops=10_000.0, lat_ns=20_000))
    whole, async_job, sync_job = sampling.rows([one], 1.0, "sync", True)
    assert (whole.job, async_job.job, sync_job.job) == (None, "async", "sync")
    assert whole.values["iops"] == pytest.approx(20_000)
    assert whole.values["p50_us"] == sync_job.values["p50_us"] == pytest.approx(20)
    assert async_job.values["p50_us"] == pytest.approx(60)
    assert "device_irqs" not in sync_job.values


def test_repeats_give_median_and_spread() -> None:
    samples = [sample(sync_result("sync", iops=i), repeat=n)
               for n, i in enumerate((100.0, 110.0, 90.0))]
    row, = sampling.rows(samples, 1.0, None, False)
    assert row.values["iops"] == pytest.approx(100)
    assert row.spread == pytest.approx(0.2)


def test_stock_device_has_no_device_columns() -> None:
    message = result("sync", fio(fio_job("sync", 1000.0, {100: 1000})), snap(0, 0, 0),
                     snap(10**9, 900, 40))
    row, = sampling.rows([sample(message)], 1.0, None, False)
    assert row.values["device_irqs"] is None
    assert row.values["hold_us"] is None
    assert row.values["guest_irqs"] == pytest.approx(900)
    assert row.values["ios_per_irq"] == pytest.approx(1000 / 900)
    assert row.values["cpu_percent"] == pytest.approx(60)


def test_no_interrupt_at_all() -> None:
    page = log(record(1, 5, 0))
    message = result("sync", fio(fio_job("sync", 1.0, {1: 1})), snap(0, 0, 0, log(record(1, 0, 0))),
                     snap(1, 0, 0, page))
    row, = sampling.rows([sample(message)], 1.0, None, False)
    assert row.values["ios_per_irq"] is None
    assert row.values["device_irqs"] == 0


def test_ratios() -> None:
    rows = [*sampling.rows([sample(sync_result("sync", iops=100.0))], 1.0, None, False),
            *sampling.rows([sample(sync_result("sync", iops=80.0, irqs=100), "adaptive")],
                           1.0, None, False)]
    base, other = sampling.with_ratios(rows, "default")
    assert base.ratios["iops"] == pytest.approx(1)
    assert other.ratios["iops"] == pytest.approx(0.8)
    assert other.ratios["ios_per_irq"] == pytest.approx(10)
    assert sampling.with_ratios(rows, "stock")[0].ratios["iops"] is None


def test_cpu_share_is_that_of_the_jobs_proper() -> None:
    """Two jobs report their edges; fio's own start and end are left out."""
    message = result("sync", fio(fio_job("sync", 1.0, {1: 1})), snap(0, 0, 0),
                     snap(2 * 10**9, 1, 150),
                     stdout="cint-pre 10.00 3.0 cpu 1 0 1 500 0 0 0 0 0 0\n"
                            "cint-pre 10.20 3.0 cpu 1 0 1 510 0 0 0 0 0 0\n"
                            "cint-post 11.20 3.0 cpu 1 0 1 530 0 0 0 0 0 0\n"
                            "cint-post 11.25 3.0 cpu 1 0 1 535 0 0 0 0 0 0\nnoise\n")
    assert sample(message).cpu_share == pytest.approx(0.8)


def with_clock(vcpus: int, *clocks: str) -> float | None:
    """The CPU's share with these words of vclock at the edges."""
    ticks = "3.0 cpu 1 0 1 500 0 0 0 0 0 0 vclock"
    message = result("sync", fio(fio_job("sync", 1.0, {1: 1})), snap(0, 0, 0),
                     snap(2 * 10**9, 1, 150), stdout=f"cint-pre 10.00 {ticks} {clocks[0]}\n"
                                                     f"cint-post 11.00 {ticks} {clocks[1]}\n")
    return sampling.sample("p", "sync", 0, message, vcpus).cpu_share


def test_cpu_share_of_one_cpu_is_by_its_instructions() -> None:
    assert with_clock(1, "1000 700", "2000 1003") == pytest.approx(0.303)
    # several pass time in PAUSE, and without icount there is nothing to count
    assert with_clock(2, "1000 700", "2000 1003") == pytest.approx(1.0)
    assert with_clock(1, "", "") == pytest.approx(1.0)


def test_every_metric_that_is_drawn_is_in_the_unit_of_its_drawing() -> None:
    for drawing in metrics.DRAWINGS:
        assert len({(metric.unit, metric.factor) for metric in drawing.metrics}) == 1, drawing.name
