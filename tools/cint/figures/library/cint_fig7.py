# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 7: a burst under fixed timers and under adaptive, as a timeline."""

from cint.figures import jobs, traces
from cint.figures.checks import near, swap, within
from cint.figures.model import Run
from cint.figures.values import Cell, Expr

CELL = "burst"
POLICIES = (Run("static:time=100us,thr=8", "nvme100"), Run("static:time=20us,thr=8", "nvme20"),
            Run("adaptive:thr=8", "adaptive"))
JOB = jobs.few(CELL, "a burst of 8 reads, then a lone one", jobs.batch("burst", 8, 8),
               jobs.lone("last", 1, "stonewall\n"))
of = Cell(CELL)


def last_waits(run: str) -> Expr:
    return of("irq_last_us", run) - of("done_9_us", run)


FIGURE = traces.drawn(
    "cint-fig7", "A burst under fixed timers and under adaptive",
    "section 3.2, Figure 7",
    "Eight completions 5 us apart, then a lone one. A timer of 20 us splits the burst, one of "
    "100 us makes the last read wait for it; adaptive does neither.",
    policies=POLICIES, job=JOB, media="custom:read-latency=5us,units=1",
    checks=(
        within("nvme100: the first interrupt covers", of("irq_1_covers", "nvme100"), 8, 8,
               swap("nvme100", "nvme20"), paper=8),
        within("nvme20: the first interrupt covers", of("irq_1_covers", "nvme20"), 3, 6,
               swap("nvme20", "adaptive"), paper="part of the burst"),
        within("adaptive: the first interrupt covers", of("irq_1_covers", "adaptive"), 8, 8,
               swap("nvme20", "adaptive"), paper=8),
        within("adaptive: from the burst's end to its interrupt",
               of("irq_1_us", "adaptive") - of("done_8_us", "adaptive"), 0, 0.1,
               swap("nvme20", "adaptive"), unit="us", paper=0),
        near("nvme100: the lone read waits", last_waits("nvme100"), 100, 0.02,
             swap("nvme100", "adaptive"), unit="us"),
        near("nvme20: the lone read waits", last_waits("nvme20"), 20, 0.02,
             swap("nvme20", "nvme100"), unit="us"),
        near("adaptive: the lone read waits", last_waits("adaptive"), 6, 0.02,
             swap("nvme100", "adaptive"), unit="us"),
    ),
    notes=("The medium serves one read at a time, in 5 us.",),
)
