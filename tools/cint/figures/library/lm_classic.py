# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: classic polling against interrupts."""

from cint.figures import polled, reading
from cint.figures.checks import (
    Deviation,
    at_least,
    at_most,
    instead,
    near,
    several,
    swap,
    within,
)
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import CLASSIC, IRQ, SHARED, each, of, ratio
from cint.figures.values import Expr, said

SLOW = "1 ms/"
SLOW_MEDIA = "custom:read-latency=1ms,write-latency=1ms"


def beyond_median(run: str) -> Expr:
    """How far a read in a hundred is from the median, us."""
    return of("p99_us", run) - of("p50_us", run)


FIGURE = Figure(
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
