# SPDX-License-Identifier: GPL-2.0-or-later
"""blk-switch, Figure 14: RocksDB beside T."""

from cint.figures import programs, reading, switched
from cint.figures.checks import Check, Deviation, at_least, within
from cint.figures.columns import CPU, MEAN, P50, P99, Column
from cint.figures.controls import instead
from cint.figures.figure import Figure, Group, Panel, Series
from cint.figures.switched import APP, MEDIA, OFF, PAID, PRIO, TITLES
from cint.figures.values import Expr, said, value

#: By threads of RocksDB, how many gets they do together. Of the most threads more than a hundred
#: are beyond the 99th percentile, in three seeds.
GETS = {1: 1000, 2: 1600, 4: 3400}
THREADS, MOST = tuple(GETS), max(GETS)
SSD, SSD_US = "ssd80", 80
CPUS = 2
MODES = {"": (OFF, PRIO), PAID: (OFF, PRIO, APP)}
RATE = "throughput_per_s"


def group(prefix: str) -> Group:
    """Runs without or with a cost of bytes; RocksDB's files are on the first controller."""
    program = programs.described("beside")
    works = tuple(programs.part("beside", f"L{n}", f"RocksDB's {n} threads beside T",
                                f"THREADS={n}\nGETS={GETS[n]}\n{program.run}", 20) for n in THREADS)
    return Group(switched.runs(*MODES[prefix]), works, SSD, prefix, read=reading.told, vcpus=CPUS,
                 append=(switched.cost(CPUS),) if prefix else (), second=MEDIA)


def of_l(name: str, run: str, threads: int) -> Expr:
    """A value of a get."""
    return value(name, run, f"L{threads}.get")


def of_t(run: str, threads: int) -> Expr:
    """T's requests a second, while RocksDB does its gets."""
    return value(RATE, run, f"L{threads}.beside")


def added(run: str, threads: int) -> Expr:
    """The time of a get beside the medium's."""
    return of_l("mean_us", run, threads) - SSD_US


def gets(threads: int) -> Expr:
    """RocksDB's gets a second with prio, against those without steering."""
    return of_l(RATE, PAID + PRIO, threads) / of_l(RATE, PAID + OFF, threads)


def medium(threads: int) -> Deviation:
    """Why a get's latency falls by less than what T adds to it.

    T has 16 or 32 reads under way, of 20 us each with what their bytes cost.
    """
    off, prio = (added(PAID + mode, threads) for mode in (OFF, PRIO))
    return Deviation(2.5, 4.9999, said(
        f"each get has the medium's {SSD_US} us, with T and without, as in the paper: of the mean "
        "{:.0f} us are more than these without steering, {:.0f} with it. A tenth would take "
        "{:.0f} us more, and T has 32 reads of some 20 us each under way at most",
        off, prio, prio * 10 + 9 * SSD_US))


def more_gets(threads: int) -> Deviation:
    """Why T loses more."""
    return Deviation(0.7, 0.8799, said(
        "RocksDB does {:.1f} times as many gets in the same time, on the same CPUs; for each "
        "further get T lacks {:.0f} us of CPU time",
        gets(threads), lacking(threads)))


def lacking(threads: int) -> Expr:
    """CPU time (us) that T has less with prio, for each get that RocksDB does more.

    T has nearly all of the CPUs where nothing is steered.
    """
    off, prio = PAID + OFF, PAID + PRIO
    share = (of_t(off, threads) - of_t(prio, threads)) / of_t(off, threads)
    return share * (CPUS * 1e6) / (of_l(RATE, prio, threads) - of_l(RATE, off, threads))


def lower(name: str, mode: str, threads: int) -> Check:
    """A latency: Linux's, as a ratio to that of a mode."""
    off, run = PAID + OFF, PAID + mode
    what = {"mean_us": "mean", "p99_us": "p99"}[name]
    known = medium(threads) if name == "mean_us" else None
    return at_least(f"per byte, {threads} L: {what} of a get, off against {mode}",
                    of_l(name, off, threads) / of_l(name, run, threads), 5, paper="more than 10",
                    deviation=known)


def of_threads(threads: int) -> tuple[Check, ...]:
    off, prio, app = PAID + OFF, PAID + PRIO, PAID + APP
    # one thread takes little of the CPUs
    known = None if threads == 1 else more_gets(threads)
    return (
        *(lower("mean_us", mode, threads) for mode in (PRIO, APP)),
        *(lower("p99_us", mode, threads) for mode in (PRIO, APP) if threads == MOST),
        at_least(f"per byte, {threads} L: a get less the medium's time, off against prio",
                 added(off, threads) / added(prio, threads), 10, paper="not in the paper"),
        *([] if known is None else [within(
            f"per byte, {threads} L: CPU time that T lacks for a further get, against a get less "
            "the medium's time", lacking(threads) / added(prio, threads), 0.5, 2,
            paper="not in the paper")]),
        *(at_least(f"per byte, {threads} L: T, {mode} against off",
                   of_t(run, threads) / of_t(off, threads), 0.88, instead(off, OFF),
                   paper="0.9 and more", deviation=known)
          for mode, run in ((PRIO, prio), (APP, app))),
    )


def panel(prefix: str, what: str, unit: str, reads: str) -> Panel:
    """A drawing over the threads, of one kind of runs."""
    def of(run: str, threads: int) -> Expr:
        return of_t(run, threads) if reads == RATE else of_l(reads, run, threads)

    return Panel(f"{TITLES[prefix]}: {what}", unit, tuple(
        Series(mode, [(n, of(prefix + mode, n)) for n in THREADS]) for mode in MODES[prefix]),
        kind="lines", x="threads of RocksDB")


FIGURE = Figure(
    "blk-fig14", "apps", "RocksDB beside T-apps", "section 5.3, Figure 14",
    "A get of RocksDB takes less than a tenth of the time that it takes with Linux, however many "
    "threads ask, and T loses 10 % at most.",
    groups=tuple(map(group, MODES)),
    checks=tuple(check for n in THREADS for check in of_threads(n)),
    panels=tuple(panel(prefix, *words) for prefix in MODES for words in (
        ("mean of a get", "us", "mean_us"),
        ("T's requests of 64 KiB", "per s", RATE))),
    columns=(Column("operations, k/s", RATE, 1e-3), MEAN, P50, P99, CPU),
    notes=(
        switched.NETWORK,
        "RocksDB and db_bench are the distribution's: 500000 keys with values of 400 bytes, a "
        "block cache of 1 MiB, direct reads, on ext4 in place of XFS. Its disk is a controller of "
        f"its own with a medium of {SSD_US} us. T is fio on another, whose medium is the usual one "
        "of blk-switch's figures: one process for each CPU, with 32 reads under way, 16 at a time.",
        "RocksDB's threads are of the realtime class of I/O (ionice) and of SCHED_RR, in all runs. "
        "They may run on both CPUs. T is counted from db_bench's first get to its last.",
        "A guest of two CPUs and two T in place of six and six.",
        "db_bench's histogram has buckets a third to a half wide, between whose ends it reckons: a "
        "p99 is that exact.",
    ),
)
