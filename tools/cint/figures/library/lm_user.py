# SPDX-License-Identifier: GPL-2.0-or-later
"""Le Moal's slides: polling in user space against polling in the kernel and against interrupts."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most, instead, near, swap, within
from cint.figures.model import Figure, Group, Panel, Run, Series
from cint.figures.polled import CLASSIC, IRQ, each, of, ratio

USER, USER_IRQ, USER_HALF = "user, polled", "user, interrupts", "user, half-mean"
NAMES = (IRQ, CLASSIC, USER, USER_IRQ, USER_HALF)

FIGURE = Figure(
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
            Series("here", each(NAMES, "mean_us", "alone")),
            Series("slides", [(IRQ, 6.01), (CLASSIC, 4.5), (USER, 3.16)], paper=True))),
        Panel("CPU", "%", (Series("here", each(NAMES, "cpu_percent", "alone")),)),
    ),
    columns=polled.COLUMNS,
    notes=(polled.ONE_CPU, polled.SCHEDULER,
           "The driver is that of userspace/, with fio on it, for SPDK's; in the kernel it is "
           "pvsync2 with hipri."),
    sets=("polling", "spdk"),
)
