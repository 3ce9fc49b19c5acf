# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: one thread that is polled for, by the kernel and in user space."""

from cint.figures import polled, reading
from cint.figures.checks import Check, Deviation, at_least, at_most, near, several, within
from cint.figures.controls import instead, swap
from cint.figures.figure import CPU_SCALE, Figure, Group, Panel, Run, Series, here
from cint.figures.polled import BY_SIZE, CLASSIC, HALF, IRQ, LEAST, OURS, SHARED, each, of, ratio
from cint.figures.values import Expr, least_step, said

# ---- classic polling against interrupts ----------------------------------

SLOW = "1 ms/"
SLOW_MEDIA = "custom:read-latency=1ms,write-latency=1ms"


def beyond_median(run: str) -> Expr:
    """How far a read in a hundred is from the median, us."""
    return of("p99_us", run) - of("p50_us", run)


CLASSIC_POLLING = Figure(
    "lm-classic", "vault", "Classic polling against interrupts",
    "slides 'Evaluation Results: Classic Polling'",
    "Polled, a read of 512 bytes from a fast card takes a quarter less time than with an "
    "interrupt, and all of the CPU's; where the medium takes 1 ms polling makes no sense.",
    groups=(
        Group(polled.runs(IRQ, CLASSIC, SHARED), (polled.alone("512"),), polled.CARD,
              runtime_s=0.1, read=reading.threads),
        Group(polled.runs(IRQ, CLASSIC), (polled.alone("512"),), SLOW_MEDIA, SLOW,
              runtime_s=0.2, read=reading.threads),
    ),
    checks=(
        at_most("latency, polled against interrupts", ratio("mean_us", CLASSIC, IRQ), 0.85,
                paper=0.75),
        at_most("latency, the queue with interrupts polled as in 2017, against interrupts",
                ratio("mean_us", SHARED, IRQ), 0.85, paper=0.75,
                deviation=Deviation(0.86, 0.93, said(
                    "the interrupt comes before the next look at the queue, and its handler takes "
                    "the completion, which is unseen for {:.2f} us as with interrupts ({:.2f}; "
                    "classic {:.2f}): what is saved is the wake-up",
                    of("head_us", SHARED), of("head_us", IRQ), of("head_us", CLASSIC)))),
        within("as in 2017: interrupts of a read", of("device_irqs", SHARED) / of("iops", SHARED),
               0.99, 1.01, instead(SHARED, CLASSIC), paper="not disabled"),
        near("latency with interrupts", of("mean_us", IRQ), 6, 0.15, instead(IRQ, CLASSIC),
             unit="us"),
        near("latency polled", of("mean_us", CLASSIC), 4.5, 0.15, instead(CLASSIC, IRQ),
             unit="us"),
        within("IOPS times latency, polled against interrupts",
               ratio("iops", CLASSIC, IRQ) * ratio("mean_us", CLASSIC, IRQ), 0.95, 1.05,
               instead(CLASSIC, f"{SLOW}{CLASSIC}"), paper=1.0),
        at_least("CPU, polled", of(polled.LOAD, CLASSIC), 99, swap(CLASSIC, IRQ), paper=100,
                 unit="%"),
        several("CPU, interrupts, by either count", [
            at_most("CPU, interrupts: of the process", of(polled.LOAD, IRQ), 60,
                    swap(CLASSIC, IRQ), paper=32, unit="%"),
            at_most("CPU, interrupts: all", of("cpu_percent", IRQ), 60, swap(CLASSIC, IRQ),
                    paper=32, unit="%", deviation=Deviation(60.1, 67, said(
                        "a read with an interrupt takes {:.1f} us of the guest's CPU, of {:.1f} "
                        "from one to the next: system call, interrupt, two switches and the idle "
                        "loop; {:.1f} us of it are the process's own",
                        of("cpu_percent", IRQ) / 100 * 1e6 / of("iops", IRQ),
                        1e6 / of("iops", IRQ), of(polled.LOAD, IRQ) / 100 * 1e6 / of("iops", IRQ)
                    )))]),
        at_least("99th percentile less median, interrupts' less polled",
                 beyond_median(IRQ) - beyond_median(CLASSIC), 0.01, swap(CLASSIC, IRQ),
                 paper="slightly sharper", unit="us"),
        within("interrupts a second while it polls", of("device_irqs", CLASSIC), 0, 0,
               instead(CLASSIC, IRQ)),
        within("medium of 1 ms: latency, polled against interrupts",
               of("mean_us", f"{SLOW}{CLASSIC}") / of("mean_us", f"{SLOW}{IRQ}"), 0.98, 1.02,
               instead(f"{SLOW}{CLASSIC}", CLASSIC), paper="no sense"),
    ),
    panels=(
        Panel("mean latency", "us", (
            Series("here", each((IRQ, CLASSIC, SHARED), "mean_us", "alone")),
            Series("slides", [(IRQ, 6), (CLASSIC, 4.5)], paper=True))),
        Panel("CPU", "%", (
            Series("here, of the process", each((IRQ, CLASSIC, SHARED), polled.LOAD, "alone")),
            Series("here, all", each((IRQ, CLASSIC, SHARED), "cpu_percent", "alone")),
            Series("slides", [(IRQ, 32), (CLASSIC, 100)], paper=True))),
    ),
    columns=polled.SHARES,
    notes=(polled.ONE_CPU, said(polled.THREAD, of("cpu_percent", IRQ), of(polled.LOAD, IRQ)),
           polled.SCHEDULER,
           "The slides' Linux 4.10 polled the queue that has interrupts, whose handler still ran; "
           "'as in 2017' does that, and 'classic' polls a queue without, as since Linux 5.0.",
           said("How sharp the distribution is goes by 99 of 100 reads. Its standard deviation "
                "goes by whether one of a job's is as long as {:.0f} us: by seed it is more or "
                "less than with interrupts.", of("max_us", CLASSIC))),
    sets=("polling",),
)

# ---- a fixed sleep before polling ----------------------------------------

SLEEPS_US = (1, 2, 3, 4)
#: What the guest makes of them.
TAKEN_US = [round(us * CPU_SCALE) / CPU_SCALE for us in SLEEPS_US]


def fixed(us: int) -> str:
    return f"fixed {us} us"


FIXED = [fixed(us) for us in SLEEPS_US]

FIXED_SLEEP = Figure(
    "lm-fixed", "vault", "A fixed sleep before polling",
    "slides 'Evaluation Results: Hybrid Polling'",
    "A sleep of half the mean time is as good as polling all the time; one of nearly all of it "
    "leaves no time to wake up, and is as slow as interrupts.",
    groups=(Group((*polled.runs(IRQ, CLASSIC),
                   *(Run("default", fixed(us), polling=f"fixed:{us}us") for us in SLEEPS_US)),
                  (polled.alone("512"),), polled.CARD, runtime_s=0.1),),
    checks=(
        at_least("latency rises with the sleep, from 2 us on: the least step",
                 least_step([of("mean_us", fixed(us)) for us in SLEEPS_US[1:]]), 1.0001,
                 swap(fixed(2), fixed(4)), paper="rises"),
        at_most("2 us: latency against classic", ratio("mean_us", fixed(2), CLASSIC), 1.08,
                instead(fixed(2), fixed(4)), paper=1.0),
        within("4 us: latency against interrupts", ratio("mean_us", fixed(4), IRQ), 0.85, 1.15,
               instead(fixed(4), CLASSIC), paper=1.0),
        at_most("CPU falls with the sleep: the largest step",
                1 / least_step([1 / of("cpu_percent", name) for name in FIXED]), 0.9999,
                swap(fixed(1), fixed(4)), paper="falls"),
    ),
    panels=(Panel("mean latency", "us", (
        Series("here", [(us, of("mean_us", fixed(us))) for us in SLEEPS_US]),
        Series("classic", [(us, of("mean_us", CLASSIC)) for us in SLEEPS_US]),
        Series("interrupts", [(us, of("mean_us", IRQ)) for us in SLEEPS_US])),
        kind="lines", x="sleep, us"),
        Panel("CPU", "%", (
            Series("here", [(us, of("cpu_percent", fixed(us))) for us in SLEEPS_US]),
            Series("interrupts", [(us, of("cpu_percent", IRQ)) for us in SLEEPS_US])),
            kind="lines", x="sleep, us")),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The kernel takes whole us of the guest's time, which the sleeps are rounded to: "
           f"{', '.join(f'{us:.2f}' for us in TAKEN_US)} us of the time reported."),
    sets=("polling",),
)

# ---- hybrid polling, which sleeps half the mean time first ---------------

MODES = (IRQ, CLASSIC, HALF, BY_SIZE, LEAST, OURS)


def cpu_of_classic(count: str, words: str, known: Deviation | None = None) -> Check:
    """58 % of the CPU, where classic polling has 100 %."""
    return at_most(f"half-mean: CPU against classic: {words}", ratio(count, HALF, CLASSIC), 0.64,
                   paper=0.58, deviation=known)


def cpu_of_irq(count: str, words: str, known: Deviation | None = None) -> Check:
    """And interrupts 32 %."""
    return at_least(f"half-mean: CPU against interrupts: {words}", ratio(count, HALF, IRQ), 1.45,
                    paper=round(58 / 32, 3), deviation=known)


AWAKE = Deviation(0.78, 0.86, said(
    "half of a read is some {:.1f} us, and the CPU is idle for {:.1f} of them: to fall asleep and "
    "to wake up takes the rest", of("mean_us", HALF) / 2,
    (100 - of("cpu_percent", HALF)) / 100 * 1e6 / of("iops", HALF)))
DEAR = Deviation(1.2, 1.44, said(
    "interrupts take {:.0f} % of all of the CPU here, 32 % in the slides",
    of("cpu_percent", IRQ)))

HYBRID = Figure(
    "lm-hybrid", "vault", "Hybrid polling", "slides 'Evaluation Results: Hybrid Polling'",
    "Who sleeps half the mean time before it polls is as fast as who polls all the time, with "
    "58 % of the CPU.",
    groups=(Group(polled.runs(*MODES), (polled.alone("512"),), polled.CARD, runtime_s=0.1,
                  setup=polled.warm("512"), read=reading.threads),),
    checks=(
        at_most("half-mean: latency against classic", ratio("mean_us", HALF, CLASSIC), 1.05,
                instead(HALF, IRQ), paper=1.0),
        several("half-mean: CPU against both others, by either count", [
            cpu_of_classic(polled.LOAD, "of the process"),
            cpu_of_irq(polled.LOAD, "of the process"),
            cpu_of_classic("cpu_percent", "all", AWAKE), cpu_of_irq("cpu_percent", "all", DEAR)]),
        at_most("ours: latency against classic", ratio("mean_us", OURS, CLASSIC), 1.10,
                instead(OURS, IRQ)),
        at_most("ours: CPU time of a read against interrupts", ratio("cpu_per_io_us", OURS, IRQ),
                1.10, instead(OURS, CLASSIC)),
    ),
    panels=(here("mean latency", "us", each(MODES, "mean_us", "alone")),
            Panel("CPU", "%", (
                Series("here, of the process", each(MODES, polled.LOAD, "alone")),
                Series("here, all", each(MODES, "cpu_percent", "alone")),
                Series("slides", [(IRQ, 32), (CLASSIC, 100), (HALF, 58)], paper=True)))),
    columns=polled.SHARES,
    notes=(polled.ONE_CPU, said(polled.THREAD, of("cpu_percent", IRQ), of(polled.LOAD, IRQ)),
           polled.SCHEDULER,
           "Beside a medium of 2.9 us nothing can leave 40 % of the CPU idle, as ours does "
           "elsewhere. What it is asked for is the latency of polling for the CPU time of "
           "interrupts.",
           "6.13's minimum is kept for the queue here, where io_uring keeps it for a ring."),
    sets=("polling",),
)

# ---- polling in user space, in the kernel, and interrupts ----------------

USER, USER_IRQ, USER_HALF = "user, polled", "user, interrupts", "user, half-mean"
BOTH_DRIVERS = (IRQ, CLASSIC, USER, USER_IRQ, USER_HALF)

IN_USER_SPACE = Figure(
    "lm-user", "vault", "Polling in user space", "slides 'User-level drivers'",
    "A read of 512 bytes by a driver in user space that polls takes 3.16 us: 47 % less than with "
    "interrupts, 30 % less than polled for by the kernel, with all of a CPU's time.",
    groups=(Group((*polled.runs(IRQ, CLASSIC), Run("default", USER, engine="user:poll"),
                   Run("default", USER_IRQ, engine="user:interrupt"),
                   Run("default", USER_HALF, engine="user:adaptive")),
                  (polled.alone("512"),), polled.CARD, runtime_s=0.1),),
    checks=(
        near("latency, polled in user space", of("mean_us", USER), 3.16, 0.15,
             instead(USER, CLASSIC), unit="us"),
        at_most("polled in user space against interrupts", ratio("mean_us", USER, IRQ), 0.75,
                paper=0.53),
        at_most("polled in user space against polled by the kernel",
                ratio("mean_us", USER, CLASSIC), 0.85, paper=0.7),
        at_least("CPU, polled in user space", of("cpu_percent", USER), 99, swap(USER, USER_IRQ),
                 paper=100, unit="%"),
        at_most("interrupts in user space against interrupts in the kernel",
                ratio("mean_us", USER_IRQ, IRQ), 1.15, instead(IRQ, USER)),
        within("interrupts a second, polled in user space", of("device_irqs", USER), 0, 0,
               swap(USER, USER_IRQ)),
    ),
    panels=(
        Panel("mean latency", "us", (
            Series("here", each(BOTH_DRIVERS, "mean_us", "alone")),
            Series("slides", [(IRQ, 6.01), (CLASSIC, 4.5), (USER, 3.16)], paper=True))),
        here("CPU", "%", each(BOTH_DRIVERS, "cpu_percent", "alone")),
    ),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The driver is that of userspace/, with fio on it, for SPDK's; in the kernel it is "
           "pvsync2 with hipri."),
    sets=("polling", "spdk"),
)
