# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: reads that are polled for beside others, and the longest of them."""

from cint.figures import polled
from cint.figures.checks import Deviation, at_least, at_most, within
from cint.figures.controls import instead, mistaken, wrong
from cint.figures.figure import Figure, Group, Panel, here
from cint.figures.polled import BY_SIZE, CLASSIC, HALF, IRQ, LEAST, OURS, each, of, ratio
from cint.figures.reading import exceedance
from cint.figures.values import Expr, said
from cint.measure.workloads import Workload

# ---- beside a process that wants the CPU ---------------------------------

NAMES = (IRQ, CLASSIC, HALF, OURS)
#: Of those whose 99.9th percentile beside the process is judged: so long that each seed has more
#: than a hundred reads beyond it.
FAR_S = dict.fromkeys((CLASSIC, HALF), 1.4)


def against_spin(name: str, more: str = "") -> Workload:
    return polled.job(name, "a thread that reads 512 bytes and waits (pvsync2, hipri)"
                      + (", SCHED_RR," if more else "") + " beside a CPU-bound process",
                      polled.section("small", "512", more), polled.SPINS, latency="small")


COMPETE = Figure(
    "lm-compete", "vault", "Polling beside a CPU-bound process",
    "slides 'Evaluation Results: More on Scheduling'",
    "Beside a process that wants the CPU, one polled read in 5,000 takes very long; as a process "
    "of SCHED_RR it takes as long as on an idle CPU, and hybrid polling needs no such class.",
    groups=tuple(Group(polled.runs(name),
                       (polled.alone("512"), against_spin("beside"),
                        against_spin("real time", polled.REAL_TIME)),
                       polled.CARD, runtime_s=0.15, full_s=FAR_S.get(name, 0.45),
                       setup=polled.warm("512")) for name in NAMES),
    checks=(
        at_least("classic: 99.9th percentile against half-mean",
                 of("p999_us", CLASSIC, "beside") / of("p999_us", HALF, "beside"), 5,
                 paper="one in 5,000 is very long",
                 deviation=Deviation(1.05, 4.99, said(
                     "of a thousand reads some wait for the other process after a sleep, too, "
                     "{:.0f} us, and the longest {:.0f}: EEVDF gives a thread that has slept no "
                     "lead", of("p999_us", HALF, "beside"), of("max_us", HALF, "beside")))),
        at_least("classic: 99.9th percentile beside the process against alone",
                 of("p999_us", CLASSIC, "beside") / of("p999_us", CLASSIC), 5,
                 instead(CLASSIC, IRQ)),
        at_most("classic, SCHED_RR: 99.9th percentile against alone",
                of("p999_us", CLASSIC, "real time") / of("p999_us", CLASSIC), 1.05,
                instead("real time", "beside"), paper=1.0),
        at_most("ours: 99th percentile beside the process against alone",
                of("p99_us", OURS, "beside") / of("p99_us", OURS), 1.2, instead(OURS, HALF)),
    ),
    panels=tuple(here(title, "99.9th percentile, us", each(NAMES, "p999_us", cell),
                      log_y=cell == "beside")
                 for title, cell in (("alone", "alone"), ("beside a process", "beside"),
                                     ("the same, SCHED_RR", "real time"))),
    columns=(*polled.COLUMNS, *polled.FAR),
    notes=(polled.SCHEDULER, polled.ONE_CPU),
    sets=("polling",),
)

# ---- how many reads take longer than so long -----------------------------

#: So many of each of three seeds that a hundred of all are beyond one in 10,000.
BEYOND = 333_400

TAIL = Figure(
    "lm-tail", "vault", "The far end of the latencies",
    "slides 'Evaluation Results: Latency Exceedance Distribution'",
    "Who polls all the time is taken for CPU-bound by the scheduler: one read in some 6,000 takes "
    "longer than with interrupts, and the longest far longer than with hybrid polling.",
    groups=(Group(polled.runs(*NAMES), (polled.alone("512"),), polled.CARD, runtime_s=0.3,
                  full_s=8.1, setup=polled.warm("512"), read=exceedance),),
    checks=(
        at_least("reads that decide, with interrupts", of("ios", IRQ), 3 * BEYOND, wrong(2)),
        at_most("classic: median against interrupts", ratio("p50_us", CLASSIC, IRQ), 0.9),
        at_least("classic: latency of one read in 10,000 against interrupts",
                 ratio("p9999_us", CLASSIC, IRQ), 1.0001,
                 paper="longer from 1 in 6,000", deviation=Deviation(0.75, 1.0, said(
                     "the guest has no other process that could be preferred, as lm-compete has: "
                     "one read in 10,000 takes {:.1f} us more than the median with interrupts and "
                     "{:.1f} more polled",
                     of("p9999_us", IRQ) - of("p50_us", IRQ),
                     of("p9999_us", CLASSIC) - of("p50_us", CLASSIC)))),
        at_most("half-mean: the longest read against classic", ratio("max_us", HALF, CLASSIC),
                0.8, mistaken(of("max_us", HALF), of("p9999_us", HALF)), paper="far shorter",
                deviation=Deviation(0.85, 1.2, said(
                    "there is no other process that a scheduler could prefer: the longest is of "
                    "{:.0f} us with interrupts, too", of("max_us", IRQ)))),
    ),
    panels=(Panel("reads that take longer", "share", kind="curves", x="latency, us", log_x=True,
                  log_y=True, sources=tuple((name, "alone") for name in NAMES)),),
    columns=(*polled.COLUMNS[:3], *polled.FAR),
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The slides have ten million reads; here it is as many as the table says for each of "
           "three seeds: of each more than a hundred are beyond one in 10,000."),
    sets=("polling",),
)

# ---- small reads beside larger ones, of which the mean is too long for them ----

MODES = (IRQ, CLASSIC, HALF, BY_SIZE, LEAST, OURS)
APART, LONE = "2 CPUs/", "alone/"
SHARED_CPU = said(
    "On one CPU what one thread leaves by sleeping the other one takes, and with interrupts alone "
    "it is busy for {:.0f} % of the time. So it is CPU time of a read that is judged there: "
    "together they do {:.1f} times as many reads as with classic polling.",
    of("cpu_percent", IRQ, "with 64k"), ratio("iops", OURS, CLASSIC, "with 64k"))
#: On another CPU of the same queue: what it shares is the device and what is known of it.
FAR = polled.beside("512", "64k", "with 64k", "cpus_allowed=1\n")


def apart(name: str, run: str) -> Expr:
    return of(name, f"{APART}{run}", "with 64k")


def lone(run: str) -> Expr:
    return of("mean_us", f"{LONE}{run}")


MIXED_SIZES = Figure(
    "lm-mixsize", "vault", "Small reads beside larger ones",
    "slides 'Evaluation Results: Hybrid Polling Sleep Time'",
    "Half the mean of all sizes is too long for the small ones, which fall back to the latency "
    "of interrupts.",
    groups=(
        # by itself: half the mean is that of the job before for as long as a window lasts
        Group(polled.runs(*MODES), (polled.alone("512"),), polled.CARD, LONE, runtime_s=0.1,
              setup=polled.warm("512")),
        Group(polled.runs(*MODES), (polled.beside("512", "64k"),), polled.CARD, runtime_s=0.15,
              setup=polled.warm("512")),
        Group(polled.runs(CLASSIC, HALF, OURS), (FAR,), polled.CARD, APART,
              runtime_s=0.05, vcpus=2, append=("nvme.poll_queues=1",),
              setup=polled.warm("512", "64k")),
    ),
    checks=(
        at_most("half-mean, alone: latency against interrupts", lone(HALF) / lone(IRQ), 0.85,
                instead(f"{LONE}{HALF}", f"{LONE}{IRQ}"), paper=0.75),
        at_least("half-mean, with 64 KiB: latency of the small reads against interrupts",
                 ratio("mean_us", HALF, IRQ, "with 64k"), 0.9, instead(IRQ, CLASSIC),
                 paper="as interrupts"),
        within("on two CPUs, half-mean: latency of the small reads against interrupts, alone",
               apart("mean_us", HALF) / lone(IRQ), 0.9, 1.1,
               instead(f"{APART}{HALF}", f"{APART}{CLASSIC}"), paper=1.0),
        at_most("ours, with 64 KiB: latency of the small reads against classic",
                ratio("mean_us", OURS, CLASSIC, "with 64k"), 1.10),
        at_most("ours, with 64 KiB: CPU time of a read against classic",
                ratio("cpu_per_io_us", OURS, CLASSIC, "with 64k"), 0.60, instead(OURS, CLASSIC)),
        at_most("on two CPUs, ours: CPU against classic",
                apart("cpu_percent", OURS) / apart("cpu_percent", CLASSIC), 0.60,
                instead(f"{APART}{OURS}", f"{APART}{CLASSIC}")),
        at_most("on two CPUs, ours: latency of the small reads against classic",
                apart("mean_us", OURS) / apart("mean_us", CLASSIC), 1.10,
                instead(f"{APART}{OURS}", f"{APART}{HALF}")),
    ),
    panels=(
        here("small reads alone", "mean latency, us", [(name, lone(name)) for name in MODES]),
        here("small reads beside 64 KiB", "mean latency, us", each(MODES, "mean_us", "with 64k")),
        here("CPU, beside 64 KiB", "%", each(MODES, "cpu_percent", "with 64k")),
    ),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER, SHARED_CPU),
    sets=("polling",),
)
