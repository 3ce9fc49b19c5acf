# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 15: Urgent out of order."""

from cint.figures import jobs
from cint.figures.checks import Check, Deviation, at_least, at_most, instead, swap, within
from cint.figures.model import (
    CPU_SCALE,
    NO_HINTS,
    USUAL,
    Column,
    Figure,
    Group,
    Panel,
    Series,
    runs,
)
from cint.figures.values import Cell, Expr, value
from cint.guest import agent
from cint.measure import workloads
from cint.measure.calibration import PAPER_IO_NS as IO_NS
from cint.measure.calibration import PAPER_IRQ_NS as IRQ_NS

POLICIES = ("default", "adaptive", "cint", "cint+ooo")
MARKED, LIMITED = "Barriers/", "limited/"
#: Reads a second that the asynchronous job is limited to: what it has under default. That one has
#: the published artefact's limit, which it never reaches.
LIMIT, NONE = 238_000, 10_000_000
#: The cgroup that it is limited in, and its section of the job: a process that goes there first.
CGROUP = "/sys/fs/cgroup/async"
APART = "thread=0\nexec_prerun=" + workloads.EDGE["pre"].format(
    name="pre", before=f"echo $PPID > {CGROUP}/cgroup.procs && ") + "\n"
#: The kernel gives a cgroup its share for 20 ms of the guest's at a time.
LIMITED_S = 0.3

#: Async IOPS, sync latency, interrupts: ratios to cint, of (default, adaptive, cint+ooo).
PAPER = {"": ((0.47, 0.96, 0.84), (0.37, 0.88, 0.59), (8.97, 1.15, 2.36)),
         LIMITED: ((1.0, 1.0, 1.0), (0.87, 1.31, 0.87), (3.70, 0.74, 1.23))}
SHOWN = ("default", "adaptive", "cint+ooo")


def within_limit(iops: int, *policies: str) -> Group:
    """The asynchronous job in a cgroup with so many reads a second."""
    limit = (f'echo "$(cat /sys/block/nvme0n1/dev) riops={round(iops / CPU_SCALE)}" '
             f"> {CGROUP}/io.max")
    setup = f"mkdir {CGROUP} && echo +io > {CGROUP}/../cgroup.subtree_control && {limit}"
    return Group(runs(*policies), (jobs.mix(256, 16, 16, more=APART),), prefix=LIMITED,
                 runtime_s=LIMITED_S, setup=(agent.exec_argv(setup),))


def to_cint(name: str, run: str, cell: str = "mixed", prefix: str = "") -> Expr:
    return Cell(cell, prefix, "cint").ratio(name, run)


def panels(prefix: str, title: str) -> list[Panel]:
    wanted = (("async IOPS", "iops", "mixed.async"), ("sync latency", "mean_us", "mixed"),
              ("interrupts", "device_irqs", "mixed"))
    return [Panel(f"{title}: {head}", "ratio to cint", (
        Series("here", [(p, to_cint(name, p, cell, prefix)) for p in SHOWN]),
        Series("paper", list(zip(SHOWN, PAPER[prefix][index], strict=True)), paper=True)))
        for index, (head, name, cell) in enumerate(wanted)]


def limited() -> list[Check]:
    """The second row: the asynchronous job is limited, and there is CPU time to spare."""
    def of(name: str, run: str) -> Expr:
        return value(name, LIMITED + run, "mixed")

    return [
        within("limited: async IOPS of default against the limit",
               value("iops", f"{LIMITED}default", "mixed.async") / LIMIT, 0.97, 1.03,
               instead(f"{LIMITED}default", "cint")),
        at_most("limited: interrupts, cint+ooo against cint",
                to_cint("device_irqs", "cint+ooo", prefix=LIMITED), 1.5,
                swap(f"{LIMITED}cint+ooo", f"{LIMITED}default"), paper=1.23),
        within("limited: sync latency, cint+ooo against default",
               of("mean_us", "cint+ooo") / of("mean_us", "default"), 0.9, 1.1,
               instead(f"{LIMITED}cint+ooo", f"{LIMITED}adaptive"), paper=1.0),
        at_most("limited: CPU, cint+ooo against default",
                of("cpu_percent", "cint+ooo") / of("cpu_percent", "default"), 0.8,
                paper=round(1.08 / 1.55, 2),
                deviation=Deviation(0.801, 0.93, (
                    f"with {IO_NS:.0f} ns for an I/O and {IRQ_NS:.0f} ns for an interrupt, the "
                    "costs that explain all of the paper's numbers, a load without any interrupts "
                    f"would take {IO_NS / (IO_NS + IRQ_NS):.2f} of default's CPU time"))),
        at_least("limited: sync latency, adaptive against cint",
                 to_cint("mean_us", "adaptive", prefix=LIMITED), 1.0001, paper=1.31),
    ]


FIGURE = Figure(
    "cint-fig15", "cinterrupts", "Urgent out of order", "section 3.5, Figure 15",
    "Beside a load of batches, reaping Urgent completions out of order shortens the sync job's "
    "latency, for more interrupts and some of the other job's throughput.",
    groups=(
        Group(runs(*POLICIES, NO_HINTS), (jobs.mix(256, 16, 16),)),
        Group(runs(*POLICIES), (jobs.mix(256, 16, 16, marked=True),), prefix=MARKED),
        within_limit(NONE, "default"), within_limit(LIMIT, *POLICIES[1:]),
    ),
    checks=(
        within("interrupts, cint+ooo against cint", to_cint("device_irqs", "cint+ooo"), 1.7, 3.2,
               paper=2.36),
        at_most("sync latency, cint+ooo against cint", to_cint("mean_us", "cint+ooo"), 0.75,
                paper=0.59),
        at_most("async IOPS, cint+ooo against cint", to_cint("iops", "cint+ooo", "mixed.async"),
                0.9999, paper=0.84),
        at_most("async IOPS, default against cint", to_cint("iops", "default", "mixed.async"), 0.8,
                paper=0.47),
        at_least("interrupts, default against cint", to_cint("device_irqs", "default"), 4,
                 paper=8.97),
        at_least("cint+ooo: share of interrupts for the reason 'urgent'",
                 value("reason.urgent", "cint+ooo", "mixed"), 0.2,
                 instead("cint+ooo", "cint, no hints")),
        within("with Barriers: sync latency, cint+ooo against cint",
               to_cint("mean_us", "cint+ooo", prefix=MARKED), 0.9, 1.1,
               instead(f"{MARKED}cint", "cint"), paper="not in the paper"),
        at_least("with Barriers: share of cint's interrupts for the reason 'barrier'",
                 value("reason.barrier", f"{MARKED}cint", "mixed"), 0.2,
                 instead(f"{MARKED}cint", "cint")),
        *limited(),
    ),
    panels=(*panels("", "unlimited"), *panels(LIMITED, "limited")),
    columns=(*USUAL, Column("urgent, share", "reason.urgent"),
             Column("barrier, share", "reason.barrier")),
    notes=(
        "The asynchronous job's reads are unmarked, as in the paper. With Barriers on its "
        "batches, which the kernel would set by itself, the rows are those named 'Barriers'. There "
        "out of order wins nothing: each batch's Barrier is a full interrupt, which arrives with "
        "or just before the sync job's, and the handler reaps the batch, in order, before it.",
        f"The asynchronous job is limited in a cgroup of its own (io.max), as in the paper, to "
        f"what default reaches, {LIMIT:,} reads a second, and is a process there. Default's has a "
        f"limit that it never reaches, {NONE:,}, as in the published artefact. The kernel lets a "
        "cgroup have its share for 20 ms of the guest's at a time.",
        "The paper's sync job reads 512 bytes, here 4 KiB.",
    ),
)
