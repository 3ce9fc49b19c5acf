# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 7: a database server's I/O, from a guest whose CPU has nothing to spare."""

from cint.device import scale
from cint.figures import jobs
from cint.figures.arrays import POLICY, RUNTIME_S
from cint.figures.checks import Check, at_least, at_most
from cint.figures.columns import CPU, CPU_PER_IO, IOPS, IRQS_PER_IO, MEAN
from cint.figures.controls import instead, swap
from cint.figures.figure import CPU_SCALE, Figure, Group, Run, here
from cint.figures.values import Expr, against, said, value
from cint.measure import workloads
from cint.measure.workloads import COMMON, Workload

#: The medium's latency: a little faster than the guest at these depths, so that CPU time is what
#: there is too little of, while most of what is under way is with the medium, as with an array.
LATENCY_US = 150
#: Others, for what the first depends on.
OTHERS_US = (75, 100, 200, 300)
#: What a server of the paper's time does: pages of 8 KiB, seven reads and three writes.
READS_PERCENT = 70
MIX = f"{workloads.LIBAIO}rw=randrw\nrwmixread={READS_PERCENT}\nbs=8k\n"
GSBLASTER, SQLIOSIM = "fixed", "aimed"
DEPTH, MOST = 64, 256
#: The latency that the depth is chosen for, reported us, and how long fio tries a depth.
AIM_US, WINDOW_US = 300, 2000
#: I/Os a second and cycles of an I/O, with vIC against without.
PAPER = {GSBLASTER: (1.188, 0.834), SQLIOSIM: (1.179, 0.826)}


def _applied(name: str, us: float) -> str:
    """A line of the job, in the guest's time."""
    return f"{name}={round(scale.apply('fio', name, us, CPU_SCALE))}us\n"


#: fio finds the largest depth of whose I/Os nine of ten take no longer.
_AIM = (_applied("latency_target", AIM_US) + _applied("latency_window", WINDOW_US)
        + "latency_percentile=90\nlatency_run=1\n")
WORKS = (
    Workload(GSBLASTER, f"libaio, 8 KiB, {READS_PERCENT} % reads, depth {DEPTH}",
             COMMON + workloads.async_job(DEPTH, 1, 1, MIX)),
    Workload(SQLIOSIM, f"the same, at the depth that takes {AIM_US} us",
             COMMON + workloads.async_job(MOST, 1, 1, MIX + _AIM)),
    jobs.SYNC,
)


def group(works: tuple[Workload, ...], latency_us: int, prefix: str = "") -> Group:
    media = f"custom:read-latency={latency_us}us,write-latency={latency_us}us,units=64,slots=64"
    return Group((Run("default"), Run(POLICY, "vic")), works, media, prefix, RUNTIME_S)


def gain(latency_us: int) -> Expr:
    """The ratio of I/Os a second at the fixed depth."""
    prefix = "" if latency_us == LATENCY_US else f"{latency_us} us/"
    return against("iops", f"{prefix}vic", f"{prefix}default", GSBLASTER)


def of_load(cell: str) -> tuple[Check, ...]:
    iops, cost = PAPER[cell]
    return (
        at_least(f"{cell}: IOPS against default", against("iops", "vic", "default", cell), 1.05,
                 paper=iops),
        at_most(f"{cell}: CPU time of an I/O against default",
                against("cpu_per_io_us", "vic", "default", cell), 0.95, paper=cost),
        at_most(f"{cell}: interrupts for an I/O, vic", value("irqs_per_io", "vic", cell), 0.5,
                swap("vic", "default")),
    )


FIGURE = Figure(
    "vic-tab7", "vic", "Proxies of SQLIOSim and GSBlaster", "section 4.3, Table 7",
    "Where a database server's I/O takes all of the CPU, fewer interrupts are more I/O: less of "
    "the CPU goes into each.",
    groups=(group(WORKS, LATENCY_US),
            *(group(WORKS[:1], us, f"{us} us/") for us in OTHERS_US)),
    checks=(
        *(check for cell in PAPER for check in of_load(cell)),
        at_least(f"{GSBLASTER}: CPU, default", value("cpu_percent", "default", GSBLASTER), 97,
                 instead(GSBLASTER, "sync"), unit="%"),
    ),
    panels=(*(
        here(title, "vic against default",
             [(cell, against(name, "vic", "default", cell)) for cell in PAPER],
             [(cell, numbers[column]) for cell, numbers in PAPER.items()])
        for column, (title, name) in enumerate(
            (("IOPS", "iops"), ("CPU time of an I/O", "cpu_per_io_us")))),
            here("fixed: IOPS by the medium's latency", "vic against default",
                 [(us, gain(us)) for us in sorted((LATENCY_US, *OTHERS_US))], kind="lines",
                 x="us")),
    columns=(IOPS, MEAN, IRQS_PER_IO, CPU_PER_IO, CPU),
    notes=(
        "Both programs run on Windows only. The proxies are fio's: of GSBlaster, which keeps a "
        f"number of I/Os under way, {DEPTH} of 8 KiB with {READS_PERCENT} % reads; of SQLIOSim, "
        "which keeps as many as take a latency that it aims at, the same with fio's "
        f"latency_target. The paper aims at 100 ms, this at {AIM_US} us: the medium is faster "
        "than the guest, so that the CPU is what there is too little of, as the paper's cycles "
        "for an I/O times its I/Os say of its own.",
        said("The medium's latency is this page's choice, and the gain goes by it: at the fixed "
             "depth it is {:.2f} with a medium of 75 us, {:.2f} with 100, {:.2f} with 150, {:.2f} "
             "with 200 and {:.2f} with 300. With a faster one fewer are under way when the device "
             "counts; a slower one is the limit itself, and what is held is missing from it. So "
             "that it is as much as the paper's is no finding: that there is a gain where CPU "
             "time is the limit, and a loss where the medium is, are. The proxy of SQLIOSim "
             "leaves the CPU without work for {:.0f} % of the time.",
             *(gain(us) for us in sorted((LATENCY_US, *OTHERS_US))),
             100 - value("cpu_percent", "default", SQLIOSIM)),
        "The paper's CPU cost has the hypervisor's work for an interrupt in it, this the guest's "
        "alone.",
    ),
    sets=("apps",),
)
