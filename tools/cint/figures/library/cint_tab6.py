# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Table 6: RocksDB's gets beside its tool that dumps another database."""

from cint.figures import programs, reading, rocksdb
from cint.figures.checks import (
    Check,
    Deviation,
    at_least,
    at_most,
    instead,
    within,
    wrong,
)
from cint.figures.library.cint_fig23 import NO_HINTS, RATE
from cint.figures.model import CPU, Column, Figure, Group, Panel, Series
from cint.figures.values import Cell, Expr, said, value

ANNOTATED = rocksdb.ANNOTATED
#: Of a get: thousands a second, mean time, 99th percentile; against cint's, as the table has them.
PAPER = {"default": (1.00, 1.02, 1.00), "adaptive": (0.81, 1.44, 0.15),
         ANNOTATED: (1.37, 0.68, 0.14)}
#: Of the tool's keys a second.
PAPER_DUMP = 0.89
#: How many bytes the tool's iterator reads ahead at most: none, and as it is by itself.
BLOCKS, AHEAD = "", "ahead/"
READAHEAD = {BLOCKS: 0, AHEAD: 262144}
GETS = 5000
OPTIONS = (f"--use_existing_db=1 --db=$DATA/db --num=500000 --reads={GETS} --value_size=400 "
           "--threads=1 --use_direct_reads=1 --cache_size=1048576")
#: The tool takes its options from the database. It goes on for longer than the gets; what it has
#: written by then is the file's size, of lines that are all as long as the second.
COMMAND = """\
rm -rf $DATA/other $DATA/dump
cp -al $DATA/db $DATA/other
rm $DATA/other/LOCK
sed -i 's/use_direct_reads=false/use_direct_reads=true/
  s/max_auto_readahead_size=[0-9]*/max_auto_readahead_size={readahead}/' $DATA/other/OPTIONS-*
ldb dump --key_hex --db=$DATA/other > $DATA/dump 2> /tmp/err & tool=$!
runs() {{ kill -0 $tool || {{ cat /tmp/err >&2; exit 1; }}; }}
until [ -s $DATA/dump ]; do runs; sleep 0.01; done
begin=$(date +%s%N) from=$(stat -c %s $DATA/dump)
{gets}runs
end=$(date +%s%N) to=$(stat -c %s $DATA/dump)
kill $tool
wait $tool || true
line=$(head -n 2 $DATA/dump | tail -n 1 | wc -c)
echo "cint-metric dump.throughput $(((to - from) * 1000000000 / (end - begin) / line)) 1/s"
{told}"""


def group(prefix: str) -> Group:
    command = COMMAND.format(readahead=READAHEAD[prefix], told=rocksdb.told("readrandom", "read"),
                             gets=rocksdb.bench("readrandom", OPTIONS))
    work = programs.part("rocksdb", "gets", "readrandom, one thread, beside a dump", command, 30)
    runs = rocksdb.RUNS if prefix else (*rocksdb.RUNS, NO_HINTS)
    return Group(runs, (work,), prefix=prefix, read=reading.told, device_opts="mdts=5")


#: Ratios are to cint, as the paper has them.
BY_BLOCK, BY_AHEAD = Cell("gets", base="cint"), Cell("gets", AHEAD, "cint")


def dumped(policy: str, prefix: str = BLOCKS) -> Expr:
    return Cell("gets.dump", prefix, "cint").ratio(RATE, policy)


def read_ahead() -> tuple[Check, ...]:
    """What is left of it where the tool reads as much at a time as it does by itself."""
    return (
        at_least("reading ahead: messages for an I/O, dump unmarked against cint",
                 BY_AHEAD.ratio("irqs_per_io", ANNOTATED), 0.9,
                 instead(f"{AHEAD}{ANNOTATED}", ANNOTATED)),
        within("reading ahead: keys of the dump, dump unmarked against cint",
               dumped(ANNOTATED, AHEAD), 0.9, 1.1, wrong(1.5)),
        at_least("keys of the dump, cint: reading ahead against block by block",
                 value(RATE, f"{AHEAD}cint", "gets.dump") / value(RATE, "cint", "gets.dump"), 1.1,
                 instead(f"{AHEAD}cint", "cint")),
    )


def short(low: float, high: float) -> Deviation:
    """Where it is less than the paper's."""
    return Deviation(low, high, said(
        "gets lose less to the tool than in the paper: 99 of 100 take at most {:.0f} us beside it "
        "with the kernel's marks, there 421", BY_BLOCK("p99_us", "cint")))


FIGURE = Figure(
    "cint-tab6", "apps", "RocksDB beside a tool that dumps a database",
    "section 5.5.1, Table 6",
    "Somebody waits for the gets and nobody for the dump. Where the tool's I/O is unmarked gets "
    "are faster, and the tool is a little slower. Adaptive, which holds both, slows the gets, but "
    "the slowest are faster.",
    groups=(group(BLOCKS), group(AHEAD)),
    checks=(
        within("gets a second, default against cint", BY_BLOCK.ratio(RATE, "default"), 0.95, 1.05,
               wrong(1.2), paper=PAPER["default"][0]),
        at_most("gets a second, adaptive against cint", BY_BLOCK.ratio(RATE, "adaptive"), 0.97,
                instead("adaptive", "cint"), paper=PAPER["adaptive"][0]),
        at_least("gets a second, dump unmarked against cint", BY_BLOCK.ratio(RATE, ANNOTATED), 1.15,
                 paper=PAPER[ANNOTATED][0], deviation=short(1, 1.1499)),
        at_least("mean of a get, adaptive against cint", BY_BLOCK.ratio("mean_us", "adaptive"),
                 1.05, instead("adaptive", "cint"), paper=PAPER["adaptive"][1]),
        at_most("mean of a get, dump unmarked against cint", BY_BLOCK.ratio("mean_us", ANNOTATED),
                0.85, paper=PAPER[ANNOTATED][1], deviation=short(0.8501, 1)),
        at_most("99th percentile of a get, adaptive against cint",
                BY_BLOCK.ratio("p99_us", "adaptive"), 0.5, instead("adaptive", "cint"),
                paper=PAPER["adaptive"][2],
                deviation=Deviation(1.05, 1.5, said(
                    "beside the tool as it is 99 of 100 gets take at most {:.0f} us, in the paper "
                    "421: there is no such tail, and adaptive lets the median of the gets wait "
                    "for {:.1f} us more", BY_BLOCK("p99_us", "cint"),
                    BY_BLOCK("p50_us", "adaptive") - BY_BLOCK("p50_us", "cint")))),
        at_most("99th percentile of a get, dump unmarked against cint",
                BY_BLOCK.ratio("p99_us", ANNOTATED), 0.5, paper=PAPER[ANNOTATED][2],
                deviation=short(0.5001, 1)),
        within("keys of the dump, dump unmarked against cint", dumped(ANNOTATED), 0.7, 0.9999,
               instead(ANNOTATED, "cint"), paper=PAPER_DUMP),
        at_most("commands that are Urgent, dump unmarked against cint",
                BY_BLOCK.ratio("hint.urgent", ANNOTATED), 0.9, instead(ANNOTATED, "cint")),
        at_least("commands that are Urgent, cint", BY_BLOCK("hint.urgent", "cint"), 0.5,
                 instead("cint", NO_HINTS.title)),
        *read_ahead(),
    ),
    panels=tuple(
        Panel(title, "of cint's", (
            Series("here", [(policy, BY_BLOCK.ratio(name, policy)) for policy in PAPER]),
            Series("here, reading ahead", [(p, BY_AHEAD.ratio(name, p)) for p in PAPER]),
            Series("paper", [(policy, of_paper[column]) for policy, of_paper in PAPER.items()],
                   paper=True)))
        for column, (title, name) in enumerate(
            (("gets", RATE), ("mean of a get", "mean_us"),
             ("99th percentile of a get", "p99_us")))),
    columns=(Column("gets, or keys of the dump, k/s", RATE, 1e-3),
             Column("mean of a get, us", "mean_us"), Column("p99 of a get, us", "p99_us"),
             Column("messages for an I/O", "irqs_per_io"), CPU),
    notes=(
        "Both are the distribution's; the tool is `ldb dump`. The paper changed the tool's source; "
        "here [a file of rules](../preload.md) unmarks its I/O (`apps/background.rules`). The "
        "other rows have rules that leave every mark as the kernel has it.",
        "One thread gets, as the paper's numbers say: 24.8 thousand a second of 30.4 us each. "
        "Both databases have 200 MB, and are the same files; both programs share one CPU.",
        "The paper's table and text have a 99th percentile of 0.15 (adaptive) and 0.14 (dump "
        "unmarked) of cint's. The times beside them, 85.1 and 75.7 us of 421, would be 0.20 and "
        "0.18.",
        "By itself RocksDB's iterator reads up to 256 KiB ahead: that is few interrupts to save, "
        "and what is judged is the dump of a database whose options have no reading ahead. Both "
        "are in the table.",
    ),
)
