# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 13: L on an SSD, T in memory."""

from cint.figures import switched
from cint.figures.checks import at_least, at_most, instead
from cint.figures.model import Figure
from cint.figures.polled import REAL_TIME
from cint.figures.switched import OFF, PAID, PRIO, latency, of_l, throughput
from cint.measure.workloads import COMMON, Workload

SSD = "ssd80"
#: L's reads are a tenth of what they are in the set's other figures.
FULL_S = {"": switched.FULL_S[""], switched.PAID: 1.2}
ON_SSD = latency(more=f"filename=/dev/nvme1n1\n{REAL_TIME}")
#: Each job has a file of its own: fio's jobs have those of [global], too.
HEAD = COMMON.replace("filename={device}\n", "")
ALONE = Workload("alone", "L on the controller with the SSD", HEAD + ON_SSD)
BOTH = Workload("both", "the same beside T on the other controller, on CPU 0",
                HEAD + ON_SSD + throughput(more="filename={device}\n"), latency_job="latency",
                split=True)

FIGURE = Figure(
    "blk-fig13", "blk-switch", "L on an SSD, T in memory", "section 5.2, Figure 13",
    "Where the medium takes 80 us, that is most of blk-switch's latency, and the rest is as it "
    "was with a fast medium.",
    groups=switched.groups((OFF, PRIO), (ALONE, BOTH), full_s=FULL_S, second=SSD),
    checks=(
        at_least("per byte: p99 of L, off against prio",
                 of_l("both", PAID).ratio("p99_us", OFF, PRIO), 1.5, paper="more than 2"),
        at_most("per byte, prio: p99 of L, both against alone",
                of_l("both")("p99_us", PAID + PRIO) / of_l("alone")("p99_us", PAID + PRIO), 1.3,
                instead(PAID + PRIO, PAID + OFF), paper="little more"),
    ),
    panels=switched.bars((OFF, PRIO), ("both",)),
    columns=switched.COLUMNS,
    notes=(switched.NETWORK, switched.JOBS, switched.SCHEDULED,
           "Two controllers: L's has a medium of 80 us, T's the usual one of this set. One L and "
           "one T on a CPU, in place of six and six."),
)
