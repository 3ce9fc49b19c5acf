# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Tables 7 and 8: RocksDB beside a store as KVell is one, on the same cores."""

from cint.figures import programs, reading
from cint.figures.checks import Check, Deviation, at_least, at_most, within
from cint.figures.columns import BATCH, CPU, MEAN, MESSAGES, P50, P99, VERIFIED, Column
from cint.figures.controls import instead, wrong
from cint.figures.library.cint_kvell import NO_HINTS, POLICIES, RATE, RUNS
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.values import Cell, Expr, said

THREADS = (4, 8)
#: Latency of a get in us and the store's thousands of requests a second: default, cint, adaptive.
PAPER = {4: ((115, 116, 129), (153, 171, 171)), 8: ((163, 164, 174), (123, 131, 124))}


def group(threads: int) -> Group:
    program = programs.described("colocated")
    work = programs.part("colocated", f"beside{threads}", f"the store, {threads} threads beside it",
                         f"THREADS={threads}\n{program.run}", 60)
    runs = (*RUNS, NO_HINTS) if threads == THREADS[0] else RUNS
    return Group(runs, (work,), prefix=f"{threads}/", read=reading.told, vcpus=2)


def of(threads: int, who: str = "") -> Cell:
    return Cell(f"beside{threads}{who}", f"{threads}/", "cint")


def latency(policy: str, threads: int) -> Expr:
    """Of a get, against cint's, as the paper has it."""
    return of(threads, ".get").ratio("mean_us", policy)


def rate(policy: str, threads: int) -> Expr:
    """Of the store, against cint's."""
    return of(threads, ".store").ratio(RATE, policy)


def paper(column: int, policy: str, threads: int) -> float:
    by_policy = dict(zip(POLICIES, PAPER[threads][column], strict=True))
    return round(by_policy[policy] / by_policy["cint"], 3)


def gets(policy: str, threads: int) -> Expr:
    """RocksDB's thousands a second."""
    return of(threads, ".get")(RATE, policy) / 1000


def more_for_the_store(threads: int) -> Deviation:
    """Who lacks the CPU under adaptive; one of three seeds may not show it."""
    return Deviation(0.95, 1.4, said(
        "adaptive holds RocksDB's gets, of which there are {:.0f} thousand a second in place of "
        "{:.0f}: the store has the CPU time that they lack, on CPUs that clients, workers and "
        "RocksDB share", gets("adaptive", threads), gets("cint", threads)))


#: Of a get with 4 threads, default against cint.
SOONER = Deviation(0.75, 1, said(
    "with cint the store has {:.2f} times as many requests a second, and the CPU time for them; "
    "the paper's clients have CPUs of their own", 1 / rate("default", 4)))
MORE_THREADS = Deviation(0.6, 0.9999, said(
    "8 threads do {:.0f} thousand gets a second, each with an interrupt, where 4 do {:.0f}: with "
    "default the store is interrupted more often, and loses more by it",
    gets("default", 8), gets("default", 4)))


def of_threads(threads: int) -> tuple[Check, ...]:
    name = f"{threads} threads"
    default_for_cint = instead(f"{threads}/default", f"{threads}/cint")
    return (
        within(f"{name}: latency of a get, default against cint", latency("default", threads),
               0.93, 1.07, wrong(1.2), paper=paper(0, "default", threads),
               deviation=SOONER if threads == THREADS[0] else None),
        at_most(f"{name}: the store's requests a second, default against cint",
                rate("default", threads), 0.97, default_for_cint,
                paper=paper(1, "default", threads)),
        at_least(f"{name}: latency of a get, adaptive against cint", latency("adaptive", threads),
                 1.03, instead(f"{threads}/adaptive", f"{threads}/cint"),
                 paper=paper(0, "adaptive", threads)),
        within(f"{name}: the store's requests a second, adaptive against cint",
               rate("adaptive", threads), 0.93, 1.07, wrong(1.2),
               paper=paper(1, "adaptive", threads), deviation=more_for_the_store(threads)),
        within(f"{name}: items of the store verified for a request, cint",
               of(threads, ".store")("verified", "cint") / of(threads, ".store")("ios", "cint"), 1,
               1, wrong(2)),
    )


def panel(title: str, column: int, measured: str) -> Panel:
    of_policy = {"latency": latency, "rate": rate}[measured]
    return Panel(title, "of cint's", [
        one for policy in ("default", "adaptive") for one in (
            Series(policy, [(n, of_policy(policy, n)) for n in THREADS]),
            Series(f"{policy}, paper", [(n, paper(column, policy, n)) for n in THREADS],
                   paper=True))])


FIGURE = Figure(
    "cint-tab7", "apps", "RocksDB beside a store as KVell is one", "section 5.5.2, Tables 7 and 8",
    "Who waits for each read and who waits for batches share two cores and a drive: only with "
    "both marks has the one default's latency and the other adaptive's throughput. With more "
    "threads of RocksDB there is less in it.",
    groups=tuple(group(threads) for threads in THREADS),
    checks=(
        *(check for threads in THREADS for check in of_threads(threads)),
        at_most("latency of a get, adaptive against cint, 8 threads against 4",
                latency("adaptive", 8) / latency("adaptive", 4), 1, wrong(0.5),
                paper=round(paper(0, "adaptive", 8) / paper(0, "adaptive", 4), 3)),
        at_least("requests a second of the store, default against cint, 8 threads against 4",
                 rate("default", 8) / rate("default", 4), 1, wrong(2), deviation=MORE_THREADS,
                 paper=round(paper(1, "default", 8) / paper(1, "default", 4), 3)),
        at_least("4 threads: commands that are Urgent, cint", of(4)("hint.urgent", "cint"), 0.05,
                 instead("4/cint", "4/cint, no hints")),
    ),
    panels=(panel("latency of a get", 0, "latency"), panel("the store's requests", 1, "rate")),
    columns=(Column("requests, k/s", RATE, 1e-3), MEAN, P50, P99, MESSAGES, CPU, BATCH, VERIFIED),
    notes=(
        "RocksDB is [cint-fig22](#cint-fig22)'s, the store and the policies are "
        "[cint-fig23](#cint-fig23)'s. Each is measured while the other has more to do than it: "
        "first the store's requests, then RocksDB's gets.",
        "The store's clients share the two cores. The paper's have four of their own.",
        "With 8 threads the paper's adaptive has .95 of cint's requests, and not as many.",
        "What the device counts is of the whole run, with the store's reading of all its items "
        "before it begins and after it has ended.",
    ),
)
