# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts: RocksDB alone (Figure 22, Table 3) and beside a tool (Table 6).

The paper changed RocksDB's sources. Here the preload library marks its calls by rules, in all runs
alike: where nothing is to be changed its rules say so, and what it costs to look at each call is
the same.
"""

from cint import paths
from cint.figures import programs, reading
from cint.figures.checks import Check, Deviation, at_least, at_most, within
from cint.figures.columns import CPU, IRQS, MESSAGES, Column
from cint.figures.controls import Control, instead, swap, wrong
from cint.figures.figure import Figure, Group, Panel, Run, Series, here, pair
from cint.figures.library.cint_kvell import NO_HINTS, RATE
from cint.figures.values import Cell, Expr, said, value
from cint.guest import hints

# ---- how db_bench is called, what it tells, and who marks what RocksDB does ----

#: As in the paper's runs: adaptive waits for as long as is best with the drive.
ADAPTIVE, CINT = "adaptive:delta=6us,thr=32", "cint:delta=15us,thr=32"
#: The run in which what nobody waits for is unmarked.
ANNOTATED = "app-cint"

#: What it prints goes to /tmp/out, or to standard error if it fails.
_COMMAND = """\
db_bench --benchmarks={load} {options} --compression_type=none --histogram=1 --seed=$SEED \\
    > /tmp/out 2>&1 || {{ cat /tmp/out >&2; exit 1; }}
"""
#: Its own histogram has how long an operation took, and its mean.
_TOLD = """\
awk '
  $1 == "{load}" {{ print "cint-metric throughput", $5, "1/s" }}
  /^Microseconds per/ {{ wanted = $3 == "{operation}:" }}
  wanted && $1 == "Count:" {{
    print "cint-metric count", $2
    print "cint-metric mean", $4, "us"
  }}
  wanted && $1 == "Percentiles:" {{
    print "cint-metric p50", $3, "us"
    print "cint-metric p99", $7, "us"
  }}' /tmp/out
"""


def bench(load: str, options: str) -> str:
    """A shell's commands for one of db_bench's benchmarks."""
    return _COMMAND.format(load=load, options=options)


def told_of(load: str, operation: str) -> str:
    """Commands that tell its throughput and how long an operation (read, write) took."""
    return _TOLD.format(load=load, operation=operation)


def _by_rules(policy: str, name: str, rules: str) -> Run:
    return Run(policy, name, who=f"{hints.PRELOAD}{paths.ROOT / 'apps' / rules}.rules")


#: cint comes as the kernel marks, and with apps/background.rules.
BY_RULES = (_by_rules("default", "default", "usual"), _by_rules(ADAPTIVE, "adaptive", "usual"),
            _by_rules(CINT, "cint", "usual"), _by_rules(CINT, ANNOTATED, "background"))

# ---- Figure 22: gets, alone and beside a writer --------------------------

THREADS = (4, 8)
#: Beside its writer RocksDB goes another way with each seed.
WRITING = "readwhilewriting"
LOADS = ("readrandom", WRITING)
#: Of the threads together: the more there are the fewer each takes.
READS = 32000
RUNS = (Run("default"), Run(ADAPTIVE, "adaptive"), Run(CINT, "cint"))
#: The labels of the drawing: us of a get and thousands a second, of cint, default and adaptive.
LABELS = {("readrandom", 4): ((35, 33, 39), (94, 100, 85)),
          ("readrandom", 8): ((64, 64, 72), (112, 119, 109)),
          ("readwhilewriting", 4): ((158, 178, 230), (9, 8, 6)),
          ("readwhilewriting", 8): ((124, 128, 149), (19, 20, 20))}

#: Each begins with the store as it was prepared, whose files RocksDB does not change in place.
BEGIN = """
rm -rf $DATA/now
cp -al $DATA/db $DATA/now
"""
GET_OPTIONS = ("--use_existing_db=1 --db=$DATA/now --num=500000 --reads={reads} --value_size=400 "
               "--threads={threads} --use_direct_reads=1 --disable_auto_compactions=1 "
               "--cache_size=1048576")


def command(load: str, threads: int) -> str:
    # db_bench's writer is a further thread, the paper's is one of them
    readers = threads - (load == WRITING)
    options = GET_OPTIONS.format(reads=READS // readers, threads=readers)
    return BEGIN + bench(load, options) + told_of(load, "read")


def group(threads: int) -> Group:
    works = tuple(programs.part("rocksdb", load, f"{load}, {threads} threads",
                                command(load, threads), 30) for load in LOADS)
    runs = (*RUNS, NO_HINTS) if threads == THREADS[0] else RUNS
    return Group(runs, works, prefix=f"{threads}/", read=reading.told, vcpus=2)


def of(threads: int, load: str) -> Cell:
    """Ratios are to cint, as the paper has them."""
    return Cell(load, f"{threads}/", "cint")


def labelled(name: str, policy: str, threads: int, load: str) -> float:
    """The same of the paper's labels."""
    labels = dict(zip(("cint", "default", "adaptive"), LABELS[load, threads][name == RATE],
                      strict=True))
    return round(labels[policy] / labels["cint"], 3)


def hidden(load: str, threads: int, low: float, high: float) -> Deviation:
    """Where what adaptive holds costs less than in the paper."""
    return Deviation(low, high, said(
        "there are more threads than CPUs, which are busy for {:.0f} % of the time with default: "
        "while a thread's read is held another has the CPU that both would want; seeds differ by "
        "how their reads fall together", value("cpu_percent", f"{threads}/default", load)))


#: Where adaptive's latency and throughput against cint's lie, of those that are not the paper's.
HIDDEN = {("readrandom", 4): ((0.95, 1.0499), (0.9501, 1.05)),
          ("readrandom", 8): ((0.95, 1.0499), (0.9501, 1.05)),
          ("readwhilewriting", 4): ((0.9, 1.0499), (0.9501, 1.12))}
MORE = Deviation(1.0001, 1.3, (
    "with 4 threads, of which one writes, adaptive costs nothing here (above), with 8 it does"))
#: How near default is to cint. Beside a writer the paper's own is up to 13 % away.
NEAR = {"readrandom": (0.95, 1.05), "readwhilewriting": (0.87, 1.15)}


def _controls(threads: int) -> tuple[Control, Control]:
    """Controls of latency and throughput where they are not the paper's: 1 would be expected."""
    if threads == THREADS[0]:
        return (instead(f"{threads}/adaptive", f"{threads}/cint, no hints"),) * 2
    return (instead(f"{threads}/adaptive", f"{THREADS[0]}/adaptive"),
            instead(f"{threads}/cint", f"{THREADS[0]}/cint, no hints"))


def _other(threads: int) -> Control:
    """Who has no hints in place of default, or default with fewer threads."""
    fewest = THREADS[0]
    return instead(f"{threads}/default",
                   f"{fewest}/{'cint, no hints' if threads == fewest else 'default'}")


def of_load(load: str, threads: int) -> tuple[Check, ...]:
    name = f"{load}, {threads} threads"
    known = [hidden(load, threads, *bounds) for bounds in HIDDEN.get((load, threads), ())]
    later, fewer = known or (None, None)
    slow, few = _controls(threads) if known else (
        [instead(f"{threads}/adaptive", f"{threads}/cint")] * 2)
    return (
        within(f"{name}: latency of a get, default against cint",
               of(threads, load).ratio("mean_us", "default"), *NEAR[load], _other(threads),
               paper=labelled("mean_us", "default", threads, load)),
        within(f"{name}: throughput, default against cint",
               of(threads, load).ratio(RATE, "default"), *NEAR[load], _other(threads),
               paper=labelled(RATE, "default", threads, load)),
        at_least(f"{name}: latency of a get, adaptive against cint",
                 of(threads, load).ratio("mean_us", "adaptive"), 1.05, slow, deviation=later,
                 wanders=load == WRITING, paper=labelled("mean_us", "adaptive", threads, load)),
        at_most(f"{name}: throughput, adaptive against cint",
                of(threads, load).ratio(RATE, "adaptive"), 0.95, few, paper="0.68 to 0.95",
                deviation=fewer, wanders=load == WRITING),
    )


FIG22 = Figure(
    "cint-fig22", "apps", "RocksDB, unmodified", "section 5.4.1, Figure 22",
    "Threads that each wait for their own read: every I/O is Urgent, so that cint is what the "
    "drive does by default. Adaptive holds each for its gap, which costs latency and throughput; "
    "less with more threads, which share the wait.",
    groups=tuple(group(threads) for threads in THREADS),
    checks=(
        *(check for load in LOADS for threads in THREADS for check in of_load(load, threads)),
        *(at_most(f"{load}: latency, adaptive against cint, 8 threads against 4",
                  of(8, load).ratio("mean_us", "adaptive")
                  / of(4, load).ratio("mean_us", "adaptive"), 1, swap("4/cint", "8/cint"),
                  paper="less than 1", deviation=known, wanders=load == WRITING)
          for load, known in zip(LOADS, (None, MORE), strict=True)),
        *(at_least(f"{load}, 4 threads: commands that are Urgent, cint",
                   value("hint.urgent", "4/cint", load), 0.9,
                   instead("4/cint", "4/cint, no hints")) for load in LOADS),
    ),
    panels=tuple(
        Panel(f"{load}: {title}", "of cint's", [
            one for policy in ("default", "adaptive") for one in pair(
                policy, [(n, of(n, load).ratio(name, policy)) for n in THREADS],
                [(n, labelled(name, policy, n, load)) for n in THREADS])])
        for load in LOADS
        for title, name in (("latency of a get", "mean_us"), ("throughput", RATE))),
    columns=(Column("operations, k/s", RATE, 1e-3), Column("mean of a get, us", "mean_us"),
             Column("p50 of a get, us", "p50_us"), Column("gets", "ios"), MESSAGES, CPU),
    notes=(
        "RocksDB and db_bench are the distribution's. The store has 500000 keys with values of 400 "
        "bytes, 200 MB, and a block cache of 1 MiB; reads are direct, and each run begins with the "
        "store as it was loaded. The paper's has values of 1 KiB, 20 GB. Both have two cores.",
        "One of the threads of readwhilewriting writes, without a limit, and is not counted.",
        "The paper's text has up to 45 % more latency and 5 to 32 % less throughput for adaptive, "
        "and less of both with 8 threads. The labels of its drawing do not all agree: with 8 "
        "threads adaptive has .97 of cint's throughput in readrandom, and more than it in "
        "readwhilewriting, and a get of readrandom 1.13 times its latency after 1.11 with 4; "
        "default, which the text has nearly at cint, is up to 13 % from it. The text is what is "
        "judged.",
    ),
)

# ---- Table 3: a load, whose flushes nobody waits for ---------------------

#: Thousands of writes a second, and the 99th percentile of a batch's time in ms, against cint's.
PAPER_LOAD = {"default": (1.01, 0.96), "adaptive": (1.01, 0.95), ANNOTATED: (1.04, 0.85)}
#: 200 MB in batches of 1000, with a sixteenth of RocksDB's usual memory before it flushes.
LOAD_OPTIONS = ("--db=$DATA/load --num=200000 --key_size=16 --value_size=1024 --threads=1 "
                "--write_buffer_size=4194304 --use_direct_io_for_flush_and_compaction=1 "
                "--use_direct_reads=1")
LOAD_COMMAND = ("rm -rf $DATA/load\n" + bench("fillbatch", LOAD_OPTIONS)
                + told_of("fillbatch", "write"))
WORK = programs.part("rocksdb", "load", "fillbatch, one thread", LOAD_COMMAND, 30)
#: The paper's drive takes 128 KiB at a time.
GROUP = Group((*BY_RULES, NO_HINTS), (WORK,), read=reading.told, device_opts="mdts=5")
LOADED = Cell("load", base="cint")

TAB3 = Figure(
    "cint-tab3", "apps", "RocksDB, loaded, with its flushes unmarked", "section 5.4.1, Table 3",
    "A load is bound by the CPU, and flushes in the background. By itself RocksDB has the same "
    "from every policy. Where its flushes are unmarked fewer interrupts leave more of the CPU to "
    "who writes.",
    groups=(GROUP,),
    checks=(
        within("writes a second, default against cint", LOADED.ratio(RATE, "default"), 0.97, 1.03,
               wrong(1.2), paper=PAPER_LOAD["default"][0]),
        within("writes a second, adaptive against cint", LOADED.ratio(RATE, "adaptive"), 0.97, 1.03,
               wrong(1.2), paper=PAPER_LOAD["adaptive"][0]),
        at_least("writes a second, unmarked flushes against cint", LOADED.ratio(RATE, ANNOTATED),
                 1.01, wrong(1.2), paper=PAPER_LOAD[ANNOTATED][0],
                 deviation=Deviation(0.98, 1.0099, said(
                     "there is little to gain: all interrupts together are {:.2f} thousand a "
                     "second, of 0.46 us each beside their handler's time, while the CPU is busy "
                     "for {:.1f} % of the time with what is written",
                     LOADED("device_irqs", "cint") / 1000, LOADED("cpu_percent", "cint")))),
        at_most("99th percentile of a batch, unmarked flushes against cint",
                LOADED.ratio("p99_us", ANNOTATED), 0.95, instead(ANNOTATED, "cint"),
                paper=PAPER_LOAD[ANNOTATED][1]),
        at_most("interrupts for an I/O, unmarked flushes against cint",
                LOADED.ratio("irqs_per_io", ANNOTATED), 0.99, instead(ANNOTATED, "cint")),
        at_most("commands that are Urgent, unmarked flushes against cint",
                LOADED.ratio("hint.urgent", ANNOTATED), 0.5, instead(ANNOTATED, "cint")),
        at_least("commands that are Urgent, cint", LOADED("hint.urgent", "cint"), 0.05,
                 instead("cint", NO_HINTS.title)),
    ),
    panels=tuple(
        here(title, "of cint's", [(policy, LOADED.ratio(name, policy)) for policy in PAPER_LOAD],
             [(policy, of_paper[column]) for policy, of_paper in PAPER_LOAD.items()])
        for column, (title, name) in enumerate(
            (("writes", RATE), ("99th percentile of a batch", "p99_us")))),
    columns=(Column("writes, k/s", RATE, 1e-3), Column("mean of a batch, us", "mean_us"),
             Column("p99 of a batch, us", "p99_us"), IRQS, MESSAGES, CPU),
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

# ---- Table 6: gets beside the tool that dumps another database -----------

#: Of a get: thousands a second, mean time, 99th percentile; against cint's, as the table has them.
PAPER_GETS = {"default": (1.00, 1.02, 1.00), "adaptive": (0.81, 1.44, 0.15),
              ANNOTATED: (1.37, 0.68, 0.14)}
#: Of the tool's keys a second.
PAPER_DUMP = 0.89
#: How many bytes the tool's iterator reads ahead at most: none, and as it is by itself.
BLOCKS, AHEAD = "", "ahead/"
READAHEAD = {BLOCKS: 0, AHEAD: 262144}
GETS = 5000
BESIDE_OPTIONS = (f"--use_existing_db=1 --db=$DATA/db --num=500000 --reads={GETS} --value_size=400 "
                  "--threads=1 --use_direct_reads=1 --cache_size=1048576")
#: The tool takes its options from the database. It goes on for longer than the gets; what it has
#: written by then is the file's size, of lines that are all as long as the second.
DUMP_COMMAND = """\
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


def dumping(prefix: str) -> Group:
    command = DUMP_COMMAND.format(readahead=READAHEAD[prefix], told=told_of("readrandom", "read"),
                                  gets=bench("readrandom", BESIDE_OPTIONS))
    work = programs.part("rocksdb", "gets", "readrandom, one thread, beside a dump", command, 30)
    runs = BY_RULES if prefix else (*BY_RULES, NO_HINTS)
    return Group(runs, (work,), prefix=prefix, read=reading.told, device_opts="mdts=5")


#: Ratios are to cint, as the paper has them.
BY_BLOCK, BY_AHEAD = Cell("gets", base="cint"), Cell("gets", AHEAD, "cint")


def dumped(policy: str, prefix: str = BLOCKS) -> Expr:
    return Cell("gets.dump", prefix, "cint").ratio(RATE, policy)


def read_ahead() -> tuple[Check, ...]:
    """The gain that is left where the tool reads as much at a time as it does by itself."""
    return (
        at_least("reading ahead: messages for an I/O, dump unmarked against cint",
                 BY_AHEAD.ratio("irqs_per_io", ANNOTATED), 0.9,
                 instead(f"{AHEAD}{ANNOTATED}", ANNOTATED)),
        within("reading ahead: keys of the dump, dump unmarked against cint",
               dumped(ANNOTATED, AHEAD), 0.9, 1.1, instead(f"{AHEAD}{ANNOTATED}", ANNOTATED)),
        at_least("keys of the dump, cint: reading ahead against block by block",
                 value(RATE, f"{AHEAD}cint", "gets.dump") / value(RATE, "cint", "gets.dump"), 1.1,
                 instead(f"{AHEAD}cint", "cint")),
    )


def short(low: float, high: float) -> Deviation:
    """Where it is less than the paper's."""
    return Deviation(low, high, said(
        "gets lose less to the tool than in the paper: 99 of 100 take at most {:.0f} us beside it "
        "with the kernel's marks, there 421", BY_BLOCK("p99_us", "cint")))


TAB6 = Figure(
    "cint-tab6", "apps", "RocksDB beside a tool that dumps a database",
    "section 5.5.1, Table 6",
    "Somebody waits for the gets and nobody for the dump. Where the tool's I/O is unmarked gets "
    "are faster, and the tool is a little slower. Adaptive, which holds both, slows the gets, but "
    "the slowest are faster.",
    groups=(dumping(BLOCKS), dumping(AHEAD)),
    checks=(
        within("gets a second, default against cint", BY_BLOCK.ratio(RATE, "default"), 0.95, 1.05,
               instead("default", NO_HINTS.title), paper=PAPER_GETS["default"][0]),
        at_most("gets a second, adaptive against cint", BY_BLOCK.ratio(RATE, "adaptive"), 0.97,
                instead("adaptive", "cint"), paper=PAPER_GETS["adaptive"][0]),
        at_least("gets a second, dump unmarked against cint", BY_BLOCK.ratio(RATE, ANNOTATED), 1.15,
                 paper=PAPER_GETS[ANNOTATED][0], deviation=short(1, 1.1499)),
        at_least("mean of a get, adaptive against cint", BY_BLOCK.ratio("mean_us", "adaptive"),
                 1.05, instead("adaptive", "cint"), paper=PAPER_GETS["adaptive"][1]),
        at_most("mean of a get, dump unmarked against cint", BY_BLOCK.ratio("mean_us", ANNOTATED),
                0.85, paper=PAPER_GETS[ANNOTATED][1], deviation=short(0.8501, 1)),
        at_most("99th percentile of a get, adaptive against cint",
                BY_BLOCK.ratio("p99_us", "adaptive"), 0.5, instead("adaptive", "cint"),
                paper=PAPER_GETS["adaptive"][2],
                deviation=Deviation(1.05, 1.5, said(
                    "beside the tool as it is 99 of 100 gets take at most {:.0f} us, in the paper "
                    "421: there is no such tail, and adaptive lets the median of the gets wait "
                    "for {:.1f} us more", BY_BLOCK("p99_us", "cint"),
                    BY_BLOCK("p50_us", "adaptive") - BY_BLOCK("p50_us", "cint")))),
        at_most("99th percentile of a get, dump unmarked against cint",
                BY_BLOCK.ratio("p99_us", ANNOTATED), 0.5, paper=PAPER_GETS[ANNOTATED][2],
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
            Series("here", [(policy, BY_BLOCK.ratio(name, policy)) for policy in PAPER_GETS]),
            Series("here, reading ahead", [(p, BY_AHEAD.ratio(name, p)) for p in PAPER_GETS]),
            Series("paper", [(policy, of_paper[column]) for policy, of_paper in PAPER_GETS.items()],
                   paper=True)))
        for column, (title, name) in enumerate(
            (("gets", RATE), ("mean of a get", "mean_us"),
             ("99th percentile of a get", "p99_us")))),
    columns=(Column("gets, or keys of the dump, k/s", RATE, 1e-3),
             Column("mean of a get, us", "mean_us"), Column("p99 of a get, us", "p99_us"), MESSAGES,
             CPU),
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
