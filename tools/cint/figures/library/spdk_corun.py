# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, its motivation: an online application beside an offline one."""

from cint.figures import spdk
from cint.figures.checks import at_least, at_most, instead, swap, within
from cint.figures.model import IOPS, IRQS, MEAN, P99, Column, Figure, Group, Panel, Run, Series
from cint.figures.values import Expr, value
from cint.measure.workloads import COMMON, Workload

BOTH, SLEEPS = "both poll", "offline sleeps"
ONE = "one CPU/"
_ONLINE = "[online]\nioengine=libaio\niodepth=1\ninterrupt_mode=poll\n"


def _offline(mode: str, cpu: int) -> str:
    return ("[offline]\nioengine=libaio\nrw=read\nbs=128k\niodepth=8\n"
            f"iodepth_batch_complete_min=2\ninterrupt_mode={mode}\ncpus_allowed={cpu}\n")


def corun(mode: str, cpu: int) -> Workload:
    """Both; the offline application on this CPU, the online one on the first."""
    return Workload("both", "4k random reads, one at a time, polled, beside 128k sequential reads "
                    f"at depth 8, {'polled' if mode == 'poll' else 'slept for, two at once'}",
                    COMMON + _ONLINE + _offline(mode, cpu), latency_job="online", split=True)


def group(name: str, job: Workload, vcpus: int, prefix: str = "") -> Group:
    """One guest, in which each thread's own mode stands."""
    return Group((Run("pointer", name, engine="user"),), (job,), spdk.MEDIA, prefix,
                 runtime_s=0.03, vcpus=vcpus)


def online(name: str, run: str) -> Expr:
    return value(name, run, "both.online")


def offline(name: str, run: str) -> Expr:
    return value(name, run, "both.offline")


RUNS = (BOTH, SLEEPS, f"{ONE}{BOTH}", f"{ONE}{SLEEPS}")

FIGURE = Figure(
    "spdk-corun", "spdk", "An online application beside an offline one", "sections 1 and 3",
    "Beside an application that polls for its latency, one that reads for throughput need not poll "
    "and occupy a CPU of its own: asleep until an interrupt it needs a few percent of one.",
    groups=(group(BOTH, corun("poll", 1), 2), group(SLEEPS, corun("coalesced", 1), 2),
            group(BOTH, corun("poll", 0), 1, ONE), group(SLEEPS, corun("coalesced", 0), 1, ONE)),
    checks=(
        at_least("both poll: CPU of the offline thread", offline("thread_percent", BOTH), 95,
                 swap(BOTH, SLEEPS), paper=100, unit="%"),
        at_most("offline sleeps: CPU of its thread", offline("thread_percent", SLEEPS), 15,
                swap(BOTH, SLEEPS), paper=6.2, unit="%"),
        at_least("offline throughput, asleep against polled",
                 offline("iops", SLEEPS) / offline("iops", BOTH), 0.97,
                 instead(SLEEPS, f"{ONE}{BOTH}"), paper=0.985),
        at_most("online latency, offline asleep against polled",
                online("mean_us", SLEEPS) / online("mean_us", BOTH), 1.05, swap(BOTH, SLEEPS)),
        at_least("online: CPU of its thread", online("thread_percent", SLEEPS), 95,
                 instead(SLEEPS, f"{ONE}{BOTH}"), unit="%"),
        at_least("on one CPU: 99th percentile of online, both polling against offline asleep",
                 online("p99_us", f"{ONE}{BOTH}") / online("p99_us", f"{ONE}{SLEEPS}"), 2,
                 swap(f"{ONE}{BOTH}", f"{ONE}{SLEEPS}")),
        at_least("on one CPU: offline throughput, asleep against both polling",
                 offline("iops", f"{ONE}{SLEEPS}") / offline("iops", f"{ONE}{BOTH}"), 1.2,
                 swap(f"{ONE}{BOTH}", f"{ONE}{SLEEPS}")),
        within("interrupts for each I/O of both, both polling", value("device_irqs", BOTH, "both"),
               0, 0, swap(BOTH, SLEEPS)),
    ),
    panels=(
        Panel("online, mean latency", "us",
              (Series("here", [(run, online("mean_us", run)) for run in RUNS]),)),
        Panel("online, 99th percentile", "us",
              (Series("here", [(run, online("p99_us", run)) for run in RUNS]),), log_y=True),
        Panel("offline", "MB/s",
              (Series("here", [(run, offline("iops", run) * 0.131072) for run in RUNS]),)),
        Panel("CPU of the offline thread", "%",
              (Series("here", [(run, offline("thread_percent", run)) for run in RUNS]),)),
    ),
    columns=(IOPS, MEAN, P99, Column("CPU of the thread, %", "thread_percent"), IRQS),
    notes=(spdk.ENGINE, "Both are threads of one process, each with a queue pair; one process has "
           "a controller."),
    slow=True,
)
