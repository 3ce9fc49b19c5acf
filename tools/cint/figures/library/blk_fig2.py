# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 2: L and T alone, and both on one core."""

from cint.figures import switched
from cint.figures.checks import Deviation, at_least, instead, wrong
from cint.figures.model import Figure
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, of_t, pinned, throughput
from cint.figures.values import said, value

T_ALONE = pinned("T alone", f"reads of 64 KiB at depth {switched.DEPTH}, in batches of "
                 f"{switched.BATCH}, on CPU 0", throughput())
BOTH = pinned("both", "L and that on CPU 0", latency(), throughput())
SINGLY = pinned("singly", "the same, but T submits and reaps one by one", latency(),
                throughput(batch=1))

FIGURE = Figure(
    "blk-fig2", "blk-switch", "Alone and together", "section 2.1, Figure 2",
    "Alone each of them does well. On one core L's tail latency is much higher beside T under "
    "Linux, and T loses little.",
    groups=switched.groups((OFF, PRIO), (switched.ALONE, T_ALONE, BOTH, SINGLY)),
    checks=(
        at_least("per byte, off: p99 of L, both against alone",
                 of_l("both")("p99_us", PAID + OFF) / of_l("alone")("p99_us", PAID + OFF), 3,
                 instead(PAID + OFF, PAID + PRIO), paper="7"),
        at_least("per byte, off: T, both against alone",
                 of_t("both")("iops", PAID + OFF) / value("iops", PAID + OFF, "T alone"), 0.9,
                 wrong(2), paper="little less", deviation=Deviation(0.8, 0.98, said(
                     "the CPU is what T has too little of, and L takes some of it for its {:.0f} "
                     "reads a second; what T has alone differs by a tenth between seeds",
                     of_l("both")("iops", PAID + OFF)))),
        at_least("as it is, off: p99 of L, both against alone",
                 of_l("both")("p99_us", OFF) / of_l("alone")("p99_us", OFF), 1.3,
                 switched.another("both", "alone")),
    ),
    panels=switched.bars((OFF, PRIO), ("both", "singly")),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED,
           "SPDK and SPDK with priorities, the other bars of the paper, have no queues of the "
           "kernel: they are in blk-fig3b."),
)
