# SPDX-License-Identifier: GPL-2.0-or-later
"""SPDK with interrupts, Table 1: a store on the user-space driver, polled and asleep."""

from cint.figures import programs, reading
from cint.figures.checks import Check, at_least, at_most, within
from cint.figures.columns import AUDITED, BATCH, MEAN, P99, VERIFIED, Column
from cint.figures.controls import instead, mistaken
from cint.figures.figure import Figure, Group, Panel, Run, Series
from cint.figures.library.cint_kvell import RATE
from cint.figures.values import Cell, Expr, least, most
from cint.measure import workloads

POLL, INTERRUPT, COALESCED, KERNEL = "polled", "interrupt", "coalesced", "kernel"
#: By row: the store's engine.
WAYS = {POLL: "user:poll", INTERRUPT: "user:interrupt", COALESCED: "user:coalesced",
        KERNEL: "kernel"}
#: Operations a second and CPU in percent: polled, with interrupts.
PAPER = {"insert": ((126569, 151), (124410, 61)), "overwrite": ((99616, 158), (97109, 68)),
         "readwrite": ((120, 155), (94, 49)), "writesync": ((185, 131), (154, 35)),
         "randread": ((22515, 148), (20563, 100))}
#: What gathers writes in memory first, and what waits for each I/O.
GATHERED, ALONE = ("insert", "overwrite"), ("readwrite", "writesync", "randread")
LOADS = (*GATHERED, *ALONE)
OWN = "own_cpu_percent"
RECORDS, INSERTED = 16384, 17600

APP = programs.tools("kvstore", "cintio")
#: One request under way, as one thread of db_bench has.
ONE = "--inflight=1"
#: Operations, and options of the store: kvstore run.
RUNS = {"insert": (16000, "--workload=insert --inflight=256"),
        "overwrite": (16000, "--workload=update --inflight=256"),
        "readwrite": (2000, f"--workload=a {ONE}"),
        "writesync": (2000, f"--workload=update --sync {ONE}"),
        "randread": (4000, f"--workload=c {ONE}")}
#: A worker and a client, as the paper has a reactor and a thread. The namespace keeps what is
#: written to it, and each run begins with a store of its own. A controller that a process drives is
#: taken from the kernel once; without an IOMMU its memory is in huge pages.
COMMAND = """
for c in /sys/class/nvme/nvme*; do
  if [ $(cat $c/serial) = second ]; then
    echo /dev/${{c##*/}}n1 > /tmp/kernel
    basename $(readlink -f $c/device) > /tmp/user
  fi
done
engine={engine}
on=$(cat /tmp/${{engine%:*}})
cost=
if [ $engine != kernel ]; then
  if [ ! -e /tmp/bound ]; then
    echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode
    echo 40 > /proc/sys/vm/nr_hugepages
    ./cintio bind $on
    touch /tmp/bound
  fi
  cost=--irq-cost=$(cat /sys/module/nvme/parameters/irq_cost_ns)
fi
./kvstore load --engine=$engine --workers=1 --records={records} --reserve={reserve} $on >&2
./kvstore run --engine=$engine $cost {options} --ops={ops} --warm={warm} --injectors=1 \\
    --cache=2m --keys=uniform --percentiles=50,99 --seed=$SEED $on
"""


def command(load: str, engine: str) -> str:
    ops, options = RUNS[load]
    return COMMAND.format(engine=engine, options=options, ops=ops, warm=ops // 10,
                          records=RECORDS, reserve=INSERTED if load == "insert" else 16)


def group(way: str) -> Group:
    """A guest that does everything in this way; its second controller has the store."""
    works = tuple(workloads.of_app(APP.part(load, f"{load} on a store, {WAYS[way]}",
                                            command(load, WAYS[way]), 5)) for load in LOADS)
    run = Run("pointer" if way == COALESCED else "default", way)
    return Group((run,), works, "zssd", read=reading.told, vcpus=2, second="zssd",
                 second_kept=True)


def of(load: str) -> Cell:
    """Ratios are to polled."""
    return Cell(load, base=POLL)


def lost(load: str) -> Expr:
    """The share of polled's operations a second that is lost."""
    return 1 - of(load).ratio(RATE, COALESCED)


def paper(column: int, load: str) -> float:
    polled, asleep = PAPER[load]
    return round(asleep[column] / polled[column], 3)


def of_load(load: str) -> tuple[Check, ...]:
    many = load in GATHERED
    return (
        at_most(f"{load}: CPU, asleep against polled", of(load).ratio(OWN, COALESCED), 0.7,
                instead(COALESCED, INTERRUPT if many else POLL), paper=paper(1, load)),
        at_least(f"{load}: operations a second, asleep against polled",
                 of(load).ratio(RATE, COALESCED), 0.95 if many else 0.75,
                 instead(COALESCED, KERNEL) if many
                 else mistaken(of(load)(RATE, POLL), of("overwrite")(RATE, POLL)),
                 paper=paper(0, load)),
        within(f"{load}: items verified for an operation, asleep",
               of(load)("verified", COALESCED) / of(load)("ios", COALESCED), 1, 1,
               instead(load, "insert"))
        if load != "insert" else
        within("insert: items there and good at the end, asleep", of(load)("audited", COALESCED),
               RECORDS + INSERTED, RECORDS + INSERTED, instead(load, "overwrite")),
    )


def bars(title: str, y: str, name: str, column: int) -> Panel:
    return Panel(title, y, (
        *(Series(way, [(load, of(load).ratio(name, way)) for load in LOADS])
          for way in (COALESCED, INTERRUPT, KERNEL)),
        Series("paper", [(load, paper(column, load)) for load in LOADS], paper=True)))


FIGURE = Figure(
    "spdk-tab1", "apps", "A store on the user-space driver, in RocksDB's place",
    "section 5.2, Table 1",
    "A store whose pages are read and written by a driver in user space takes a third less CPU "
    "time, or still less, where it sleeps until an interrupt and does not poll. What has many "
    "operations a second loses few of them, what has few loses up to a fifth.",
    groups=tuple(group(way) for way in WAYS),
    checks=(
        *(check for load in LOADS for check in of_load(load)),
        at_least("operations lost: of one by one, the least, against of many, the most",
                 least([lost(load) for load in ALONE]) / most([lost(load) for load in GATHERED]),
                 1, instead("randread", "insert"),
                 paper=round((1 - paper(0, "randread")) / (1 - paper(0, "overwrite")), 1)),
        *(at_most(f"{load}: interrupts for a batch, asleep",
                  of(load)("batch", COALESCED) / of(load)("ios_per_irq", COALESCED), 1.25,
                  instead(COALESCED, INTERRUPT)) for load in GATHERED),
        at_least("overwrite: operations a second, polled against the kernel's driver",
                 1 / of("overwrite").ratio(RATE, KERNEL), 1),
    ),
    panels=(bars("CPU of the store's threads", "of polled's", OWN, 1),
            bars("operations a second", "of polled's", RATE, 0)),
    columns=(Column("operations, k/s", RATE, 1e-3), Column("CPU of the threads, %", OWN),
             Column("CPU of the guest, %", "cpu_percent"), MEAN, P99, BATCH,
             Column("interrupts", "interrupts"), VERIFIED, AUDITED),
    notes=(
        "This stands for the paper's table, and is not it. The paper has RocksDB with the files of "
        "SPDK's blobfs. Here it is this project's store ([apps.md](../apps.md#a-store-like-kvell)"
        ") on the library in userspace/, on a controller of its own whose medium is zssd.",
        "Its loads are named as the paper's are. RocksDB gathers writes in memory and writes many "
        "at once: insert and overwrite have 256 requests under way, which are batches of up to 64 "
        "pages. randread, readwrite (YCSB's A) and writesync have one under way, as one thread of "
        "db_bench has. A write of writesync goes past caches (FUA), for which this medium takes no "
        "longer. In the paper readwrite and writesync have 94 to 185 operations a second, here "
        "they have a third less than randread at most.",
        "The row 'coalesced' is the paper's interrupt mode, and what is called asleep: it asks for "
        "an interrupt at the last of all that it waits for, as the paper's section 4 has it. "
        "'interrupt' has one for each I/O. 'kernel' is the same store on the same controller by "
        "the kernel's driver, with an interrupt for each I/O, by io_submit.",
        "Two CPUs, one worker and one client. CPU of the threads is the time of both, of one CPU: "
        "it is above 100 % where both are at work. The paper's is 131 to 158 %, polled: SPDK polls "
        "on a CPU of its own also while nothing is under way, this worker only while it waits "
        "for a batch. CPU of the guest is of both CPUs, and has interrupts, too; it is counted in "
        "ticks of 4 ms, of which a load has some ten to fifty.",
        "There is no IOMMU; memory is in huge pages. An interrupt costs both drivers the same more "
        "than it takes in the guest. The store spends that in its thread, the kernel's driver in "
        "its handler, which is in no thread's time: by the threads' CPU the row 'kernel' is not "
        "to be compared with the others.",
    ),
)
