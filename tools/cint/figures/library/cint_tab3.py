# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Table 3: RocksDB is loaded, and nobody waits for its flushes."""

from cint.figures import programs, reading, rocksdb
from cint.figures.checks import Deviation, at_least, at_most, instead, within, wrong
from cint.figures.library.cint_fig23 import NO_HINTS, RATE
from cint.figures.model import CPU, Column, Figure, Group, Panel, Series
from cint.figures.values import Cell, said

ANNOTATED = rocksdb.ANNOTATED
#: Thousands of writes a second, and the 99th percentile of a batch's time in ms, against cint's.
PAPER = {"default": (1.01, 0.96), "adaptive": (1.01, 0.95), ANNOTATED: (1.04, 0.85)}
#: 200 MB in batches of 1000, with a sixteenth of RocksDB's usual memory before it flushes.
OPTIONS = ("--db=$DATA/load --num=200000 --key_size=16 --value_size=1024 --threads=1 "
           "--write_buffer_size=4194304 --use_direct_io_for_flush_and_compaction=1 "
           "--use_direct_reads=1")
COMMAND = ("rm -rf $DATA/load\n" + rocksdb.bench("fillbatch", OPTIONS)
           + rocksdb.told("fillbatch", "write"))
WORK = programs.part("rocksdb", "load", "fillbatch, one thread", COMMAND, 30)
#: The paper's drive takes 128 KiB at a time.
GROUP = Group((*rocksdb.RUNS, NO_HINTS), (WORK,), read=reading.told, device_opts="mdts=5")
LOADED = Cell("load", base="cint")

FIGURE = Figure(
    "cint-tab3", "apps", "RocksDB, loaded, with its flushes unmarked", "section 5.4.1, Table 3",
    "A load is bound by the CPU, and flushes in the background. By itself RocksDB has the same "
    "from every policy. Where its flushes are unmarked fewer interrupts leave more of the CPU to "
    "who writes.",
    groups=(GROUP,),
    checks=(
        within("writes a second, default against cint", LOADED.ratio(RATE, "default"), 0.97, 1.03,
               wrong(1.2), paper=PAPER["default"][0]),
        within("writes a second, adaptive against cint", LOADED.ratio(RATE, "adaptive"), 0.97, 1.03,
               wrong(1.2), paper=PAPER["adaptive"][0]),
        at_least("writes a second, unmarked flushes against cint", LOADED.ratio(RATE, ANNOTATED),
                 1.01, wrong(1.2), paper=PAPER[ANNOTATED][0],
                 deviation=Deviation(0.98, 1.0099, said(
                     "there is little to gain: all interrupts together are {:.2f} thousand a "
                     "second, of 0.46 us each beside their handler's time, while the CPU is busy "
                     "for {:.1f} % of the time with what is written",
                     LOADED("device_irqs", "cint") / 1000, LOADED("cpu_percent", "cint")))),
        at_most("99th percentile of a batch, unmarked flushes against cint",
                LOADED.ratio("p99_us", ANNOTATED), 0.95, instead(ANNOTATED, "cint"),
                paper=PAPER[ANNOTATED][1]),
        at_most("interrupts for an I/O, unmarked flushes against cint",
                LOADED.ratio("irqs_per_io", ANNOTATED), 0.99, instead(ANNOTATED, "cint")),
        at_most("commands that are Urgent, unmarked flushes against cint",
                LOADED.ratio("hint.urgent", ANNOTATED), 0.5, instead(ANNOTATED, "cint")),
        at_least("commands that are Urgent, cint", LOADED("hint.urgent", "cint"), 0.05,
                 instead("cint", NO_HINTS.title)),
    ),
    panels=tuple(
        Panel(title, "of cint's", (
            Series("here", [(policy, LOADED.ratio(name, policy)) for policy in PAPER]),
            Series("paper", [(policy, of_paper[column]) for policy, of_paper in PAPER.items()],
                   paper=True)))
        for column, (title, name) in enumerate(
            (("writes", RATE), ("99th percentile of a batch", "p99_us")))),
    columns=(Column("writes, k/s", RATE, 1e-3), Column("mean of a batch, us", "mean_us"),
             Column("p99 of a batch, us", "p99_us"),
             Column("interrupts, k/s", "device_irqs", 1e-3),
             Column("messages for an I/O", "irqs_per_io"), CPU),
    notes=(
        "RocksDB is the distribution's, as in [cint-fig22](#cint-fig22). The paper changed its "
        "source; here [a file of rules](../preload.md) unmarks what its background threads do "
        "(`apps/background.rules`). The other rows have rules that leave every mark as the kernel "
        "has it, so that what the library costs is the same in all.",
        "The paper's load is 10 GB; here it is 200 MB, with buffers of a sixteenth, so that it is "
        "flushed as often for its size. Keys are in order, so that nothing is compacted. A seed "
        "has 200 batches, two of them beyond the 99th percentile: these are too few to judge the "
        "paper's tail.",
    ),
)
