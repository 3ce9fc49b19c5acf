# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gives hints: nobody, the device by inference, the module, or our kernel."""

from dataclasses import replace

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_most
from cint.figures.controls import instead
from cint.figures.figure import Figure, Group, Panel, Run, Series, runs
from cint.figures.values import Expr, against
from cint.measure import workloads
from cint.measure.workloads import Workload

DISTRO, OURS = "distro/", "ours/"
NOTHING, INFERRED, CONTENT, MODULE = (
    f"{DISTRO}{name}" for name in ("nothing", "inference", "content", "module"))
KERNEL = f"{OURS}cint"
ORDINARY = jobs.aio(32, 1, 1, "ordinary")


def jobs_for(takes_hints: bool) -> tuple[Workload, ...]:
    """The default jobs as that kernel can run them, and the ordinary one."""
    return (*(workloads.for_guest(workloads.BUILT_IN[name], takes_hints)
              for name in ("sync", "async", "mixed")), ORDINARY)


#: Of each job whose latency or interrupts are looked at.
WAITING = ("sync", "mixed.sync")
ALL = ("sync", "async", "mixed", "ordinary")


def to_default(name: str, run: str, cell: str) -> Expr:
    """A ratio to the policy default on the same kernel, without hints."""
    return against(name, run, f"{run.partition('/')[0]}/default", cell)


def latency(cell: str) -> Check:
    return at_most(f"{cell}: latency against default, the module's less our kernel's",
                   to_default("mean_us", MODULE, cell) - to_default("mean_us", KERNEL, cell),
                   0.10, instead(MODULE, f"{DISTRO}adaptive"))


def interrupts(cell: str) -> Check:
    return at_most(f"{cell}: interrupts for an I/O against default, the module's over our kernel's",
                   to_default("irqs_per_io", MODULE, cell)
                   / to_default("irqs_per_io", KERNEL, cell), 1.2,
                   instead(MODULE, f"{DISTRO}default"))


def interrupts_of_both() -> Check:
    """Where a job that waits and one that does not share a CPU: more than that here."""
    return replace(interrupts("mixed"), deviation=Deviation(1.4, 1.8, (
        "Who waits has an interrupt for each of its reads on either kernel, and they are a third "
        "of all reads with the module and a quarter with our kernel, whose other job is faster. "
        "Quiet interrupts, after 6 us without a completion, are .18 for an I/O against .07. How "
        "often that is hangs on what each kernel takes for a read: with a CPU that was a tenth "
        "slower they were .05 and .11, and the module had 1.04 times our kernel's interrupts "
        "(cint fd44102).")))


def by_adaptive() -> Check:
    """Our kernel's marks are literal: each of these reads is the end of a batch."""
    return at_most("ordinary: interrupts for an I/O, the module's over adaptive's",
                   against("irqs_per_io", MODULE, f"{DISTRO}adaptive", "ordinary"), 1.2,
                   instead(MODULE, INFERRED))


#: What the drawings compare.
GUESTS = (("distro", NOTHING), ("distro, inference", INFERRED), ("distro, content", CONTENT),
          ("distro, module", MODULE), ("our kernel", KERNEL))


def tradeoff(title: str, cell: str, waiting: str) -> Panel:
    """Interrupts against latency, a dot for each guest, and what both have without hints."""
    return Panel(title, "mean latency against default", tuple(
        Series(label, [(to_default("irqs_per_io", run, cell),
                        to_default("mean_us", run, waiting))])
        for label, run in (*GUESTS, ("distro, adaptive", f"{DISTRO}adaptive"))),
        kind="tradeoff", x="interrupts for an I/O against default")


def panel(title: str, name: str, cells: tuple[str, ...]) -> Panel:
    """Bars of all guests."""
    return Panel(title, "against default", tuple(
        Series(label, [(cell, to_default(name, run, cell)) for cell in cells])
        for label, run in GUESTS))


FIGURE = Figure(
    "guests", "guests", "The same jobs in guests that differ in who gives hints",
    "not a figure of a paper; its hints are those of cinterrupts, section 4.1",
    "A kernel as it is has with the module what ours has: who waits gets default's latency, with "
    "fewer interrupts.",
    groups=(
        Group((*(Run(policy, hints=False) for policy in ("default", "adaptive")),
               Run("cint", "nothing", hints=False), Run("cint:infer=all", "inference", hints=False),
               Run("cint:infer=content", "content", hints=False),
               Run("cint", "module")),
              jobs_for(False), prefix=DISTRO, cost_ns=0, guest="distro"),
        Group(runs("default", "cint"), jobs_for(True), prefix=OURS, cost_ns=0),
    ),
    checks=(*(latency(cell) for cell in WAITING), interrupts("async"), interrupts_of_both(),
            by_adaptive()),
    panels=(tradeoff("mixed: who waits", "mixed", "mixed.sync"),
            panel("who waits: mean latency", "mean_us", WAITING),
            panel("interrupts for an I/O", "irqs_per_io", ALL)),
    notes=("Each number is against the policy default on the same kernel. The distribution's "
           "kernel has no added cost of an interrupt, so ours has none here either, and IOPS say "
           "little.",
           "In mixed both jobs share one CPU, and under default it is chance who runs when: seeds "
           "differ by a tenth. A module that has less latency than our kernel is no miss.",
           "Only mixed differs: for our kernel its asynchronous job says that its reads are "
           "unmarked, as in the papers. For the module one that is submitted alone is so without "
           "a word. ordinary is libaio at depth 32, one by one."),
)
