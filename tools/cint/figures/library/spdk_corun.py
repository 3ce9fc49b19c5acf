# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, its motivation: an online application beside an offline one."""

from cint.figures.checks import at_least, at_most, near, within
from cint.figures.columns import IOPS, IRQS, MEAN, P99, Column
from cint.figures.controls import instead, swap
from cint.figures.figure import Figure, Group, Run, here
from cint.figures.library import spdk
from cint.figures.values import Cell, Expr, said, value
from cint.measure.workloads import COMMON, Workload

BOTH, SLEEPS = "both poll", "offline coalesced, k = 2"
ONE, APART = "one CPU/", "apart/"
APART_ONE = f"{APART}{ONE}"
PREFIXES = ("", ONE, APART, APART_ONE)
#: On one CPU, where online's 99th percentile is judged: beside one that sleeps it has few reads.
ONE_S = {BOTH: 0.7, SLEEPS: 2.7}
RUNS = tuple(prefix + name for prefix in PREFIXES for name in (BOTH, SLEEPS))
#: What a read of 128 KiB has of zssd's bandwidth, 3.2 GB/s.
TURN_US = 40.96
#: A read takes as long as on zssd: of 4 KiB alone, of 128 KiB the last of eight. But nobody waits
#: for anybody else's, as with sets of the medium's own for each application.
APART_MEDIA = "custom:read-latency=1816ns,read-per-kib=2546ns,units=64"
_ONLINE = "[online]\nioengine=libaio\niodepth=1\ninterrupt_mode=poll\n"
ALONE = Workload("alone", "4k random reads, one at a time, polled, beside nothing",
                 COMMON + _ONLINE)


def _offline(mode: str, cpu: int) -> str:
    return ("[offline]\nioengine=libaio\nrw=read\nbs=128k\niodepth=8\n"
            f"iodepth_batch_complete_min=2\ninterrupt_mode={mode}\ncpus_allowed={cpu}\n")


def corun(mode: str, cpu: int) -> Workload:
    """Both; the offline application on this CPU, the online one on the first."""
    return Workload("both", "4k random reads, one at a time, polled, beside 128k sequential reads "
                    f"at depth 8, {'polled' if mode == 'poll' else 'slept for'}, two at once",
                    COMMON + _ONLINE + _offline(mode, cpu), latency_job="online", split=True)


def group(prefix: str, name: str) -> Group:
    """One guest, in which each thread's own mode stands."""
    cpu = 0 if ONE in prefix else 1
    jobs = (corun("poll", cpu), ALONE) if name == BOTH else (corun("coalesced", cpu),)
    return Group((Run("pointer", name, engine="user"),), jobs,
                 APART_MEDIA if APART in prefix else spdk.MEDIA, prefix, runtime_s=0.03,
                 full_s=ONE_S[name] if prefix == ONE else None, vcpus=cpu + 1)
ONLINE, OFFLINE = Cell("both.online"), Cell("both.offline")


def alone(name: str, prefix: str = "") -> Expr:
    """A value of the online application, alone."""
    return value(name, prefix + BOTH, ALONE.name)


def cost(name: str, prefix: str = "") -> Expr:
    """The online application's value beside one that sleeps, against beside one that polls."""
    return ONLINE.ratio(name, prefix + SLEEPS, prefix + BOTH)


def ahead(run: str) -> Expr:
    """How many reads of 128 KiB cross the medium's bandwidth while a read of 4 KiB waits."""
    return ONLINE("mean_us", run) / TURN_US


FIGURE = Figure(
    "spdk-corun", "spdk", "An online application beside an offline one", "sections 1 and 3",
    "Beside an application that polls for its latency, one that reads for throughput need not poll "
    "and occupy a CPU of its own: asleep until an interrupt it needs a few percent of one. Where "
    "the medium keeps the two apart the online application gains by it. Where both wait for the "
    "same medium it loses what the offline one no longer lacks.",
    groups=tuple(group(prefix, name) for prefix in PREFIXES for name in (BOTH, SLEEPS)),
    checks=(
        at_least("both poll: CPU of the offline thread", OFFLINE("thread_percent", BOTH), 95,
                 swap(BOTH, SLEEPS), unit="%"),
        at_most("offline sleeps: CPU of its thread", OFFLINE("thread_percent", SLEEPS), 15,
                swap(BOTH, SLEEPS), unit="%"),
        at_least("offline throughput, asleep against polled", OFFLINE.ratio("iops", SLEEPS, BOTH),
                 0.97, instead(SLEEPS, f"{ONE}{BOTH}")),
        at_least("online: CPU of its thread", ONLINE("thread_percent", SLEEPS), 95,
                 instead(SLEEPS, f"{ONE}{BOTH}"), unit="%"),
        within("interrupts for each I/O of both, both polling", value("device_irqs", BOTH, "both"),
               0, 0, swap(BOTH, SLEEPS)),
        near("online alone: mean latency", alone("mean_us"), 13, 0.15,
             instead("alone", "both.online"), unit="us"),
        # the medium, which both wait for
        within("online's mean latency beside offline, both polling, against alone",
               ONLINE("mean_us", BOTH) / alone("mean_us"), 22, 30, swap(BOTH, APART + BOTH)),
        # all eight, or one less in most rounds: which depends on how long a round of each takes
        within("offline's reads ahead of each of online's, both polling", ahead(BOTH), 6.5, 8.5,
               swap(BOTH, SLEEPS)),
        within("offline's reads ahead of each of online's, offline asleep", ahead(SLEEPS),
               5.5, 6.5, swap(BOTH, SLEEPS)),
        within("apart: online's mean latency beside offline, both polling, against alone",
               ONLINE("mean_us", APART + BOTH) / alone("mean_us", APART), 0.95, 1.05,
               swap(BOTH, APART + BOTH)),
        within("apart: online's mean latency, offline asleep against polled",
               cost("mean_us", APART), 0.95, 1.05, swap(SLEEPS, APART + SLEEPS)),
        # one CPU, which both want
        at_least("on one CPU: 99th percentile of online, both polling against offline asleep",
                 1 / cost("p99_us", ONE), 2, swap(ONE + BOTH, ONE + SLEEPS)),
        at_least("on one CPU: offline throughput, asleep against both polling",
                 OFFLINE.ratio("iops", ONE + SLEEPS, ONE + BOTH), 1.2,
                 swap(ONE + BOTH, ONE + SLEEPS)),
        within("on one CPU: online's mean latency, offline asleep against polled",
               cost("mean_us", ONE), 3, 12, swap(ONE + BOTH, ONE + SLEEPS)),
        within("on one CPU: online's reads a second, offline asleep against polled",
               cost("iops", ONE), 0.08, 0.33, swap(ONE + BOTH, ONE + SLEEPS)),
        at_least("apart, on one CPU: online's reads a second, offline asleep against polled",
                 cost("iops", APART_ONE), 1.5, swap(APART_ONE + BOTH, APART_ONE + SLEEPS)),
        at_most("apart, on one CPU: online's mean latency, offline asleep, against alone",
                ONLINE("mean_us", APART_ONE + SLEEPS) / alone("mean_us", APART_ONE), 1.3,
                swap(ONE + SLEEPS, APART_ONE + SLEEPS)),
    ),
    panels=(
        here("online, mean latency", "us", [(run, ONLINE("mean_us", run)) for run in RUNS],
             log_y=True),
        here("online, 99th percentile", "us", [(run, ONLINE("p99_us", run)) for run in RUNS],
             log_y=True),
        here("online", "thousand reads a second",
             [(run, ONLINE("iops", run) / 1000) for run in RUNS]),
        here("offline", "MB/s", [(run, OFFLINE("iops", run) * 0.131072) for run in RUNS]),
        here("CPU of the offline thread", "%",
             [(run, OFFLINE("thread_percent", run)) for run in RUNS]),
    ),
    columns=(IOPS, MEAN, P99, Column("CPU of the thread, %", "thread_percent"), IRQS),
    notes=(
        "The paper has no such run. It takes for granted that the drive keeps the two apart (NVM "
        "sets), and measures each way of waiting alone (spdk-fig3 to spdk-fig5).",
        said("What it costs the online application: its reads cross zssd's bandwidth behind the "
             "offline application's, eight of 128 KiB at a time. A read takes {:.0f} us where both "
             "poll, of which it would have {:.0f} alone. Asleep, the offline application hears of "
             "its last two after online's next read has been submitted, which is then ahead of "
             "their successors: {:.1f} are ahead of it and not {:.1f}, and it takes {:.0f} us.",
             ONLINE("mean_us", BOTH), alone("mean_us"), ahead(SLEEPS), ahead(BOTH),
             ONLINE("mean_us", SLEEPS)),
        said("On one CPU, where both poll, each has half of the time. While online has its half "
             "the medium is soon idle, for nobody takes offline's completions, and reads go as "
             "fast as alone: {:.1f} thousand a second. Asleep, offline is woken for its "
             "completions, reads {:.0f} MB/s in place of {:.0f}, and is ahead at the medium again. "
             "Online has {:.1f} thousand reads a second, of {:.0f} us in place of {:.0f} (with "
             "each seed the two fall into another step); only its 99th percentile, {:.0f} us in "
             "place of {:.0f}, gains, for that was the other's half.",
             ONLINE("iops", ONE + BOTH) / 1000, OFFLINE("iops", ONE + SLEEPS) * 0.131072,
             OFFLINE("iops", ONE + BOTH) * 0.131072, ONLINE("iops", ONE + SLEEPS) / 1000,
             ONLINE("mean_us", ONE + SLEEPS), ONLINE("mean_us", ONE + BOTH),
             ONLINE("p99_us", ONE + SLEEPS), ONLINE("p99_us", ONE + BOTH)),
        said("In the runs named apart the medium is one in which nobody waits for another's reads, "
             "and each takes as long as on zssd: 4 KiB as alone, 128 KiB as the last of eight. "
             "There the CPU is all that the two share. On one CPU online has {:.1f} thousand reads "
             "a second beside one that sleeps, {:.1f} beside one that polls, {:.1f} alone.",
             ONLINE("iops", APART_ONE + SLEEPS) / 1000, ONLINE("iops", APART_ONE + BOTH) / 1000,
             alone("iops", APART_ONE) / 1000),
        spdk.ENGINE, "Both are threads of one process, each with a queue pair; one process has a "
        "controller."),
)
