# SPDX-License-Identifier: GPL-2.0-or-later
"""The claims of a paper's figure, and what became of each here.

A claim is a sentence and the checks that show it. It is reproduced if all of them hold
and each number that the paper has came out near it. It is in its shape only if a number
is farther off, or if a ratio that does not hold is on the paper's side of 1 at least. Else
it is not reproduced.

Near is within a quarter of the paper's number. Of a ratio it is not enough: almost any is
within a quarter of one that is almost 1. There it counts how far it is from 1, too.

* More than 5 % is a difference. Ours has to be on the paper's side of 1, by half to twice as
  much in logarithms. By more or less it is the shape only. If a seed is on the other side, the
  difference is not there, and the claim is not reproduced, whatever its check allows.
* Within 5 % the two are alike. Ours has to be within 5 % of 1 as well, on either side: what is
  so little says no side. Else it is the shape only.
* The paper's sentence may say otherwise of its numbers: that more is within its error bounds
  (:data:`ALIKE`), and ours may be as far from 1 as they are, or that less is a difference
  (:data:`DIFFER`).

No ratio is a count, a time or a share: 1 is nothing special among them (:func:`is_ratio`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cint.figures import checks, records
from cint.figures.figure import Figure

#: The last: its checks do not fail, and some of them are undecided.
VERDICTS = REPRODUCED, SHAPE, NOT, OPEN = ("reproduced", "shape only", "not reproduced",
                                           "undecided")
#: By how much of it a number may be above the paper's or the paper's above it.
NEAR = 1.25
#: By how much of it a ratio may be above 1, or 1 above it, of two that are alike.
LIKE = 1.05
#: How much a difference may be of the paper's, at most, and the paper's of it: in logarithms.
AS_FAR = 2.0

_ANY = r"([\d.]+)"
#: How the papers' values are written that are no single number, and what each allows.
_RANGES = (
    (rf"{_ANY}(?:-fold| \(p99\))?", lambda low: (low, low)),
    (rf"{_ANY} to {_ANY}", lambda low, high: (low, high)),
    (rf"(?:more than|at least) {_ANY}|{_ANY} and more", lambda low: (low, math.inf)),
    (rf"(?:to|at most) {_ANY}", lambda high: (0.0, high)),
)
#: A check of the project's own beside those of the paper.
OWN = "not in the paper"


@dataclass(frozen=True)
class Claim:
    """A sentence, and its checks by name; ``*`` stands for any letters."""

    text: str
    checks: tuple[str, ...] = ("*",)


@dataclass(frozen=True)
class Outcome:
    """The verdict on a claim; the paper's number and ours where it has one, and what fails."""

    claim: Claim
    verdict: str
    paper: float | str | None
    here: float | None
    fails: tuple[str, ...]


def of_paper(check: records.Check) -> bool:
    """Whether a check, as the stored results have it, is the paper's and none of our own."""
    return check["paper"] not in (None, OWN)


def bounds(paper: float | str | None) -> tuple[float, float] | None:
    """The numbers between which the paper's value lies; None where it is in words, or not there."""
    if paper is None:
        return None
    if not isinstance(paper, str):
        return paper, paper
    for form, limits in _RANGES:
        found = re.fullmatch(form, paper)
        if found:
            return limits(*(float(part) for part in found.groups() if part is not None))
    return None


def _is_near(check: records.Check) -> bool:
    """Whether the median of the seeds is within a quarter of the paper's number, if it has one."""
    known = bounds(check["paper"])
    if known is None or known == (0, 0):
        return True
    low, high = known
    here: float = check["measured"]
    return low / NEAR <= here <= high * NEAR


#: The same value of two runs, or cells.
_OF_TWO = re.compile(r"\((\w+)\[[^][]*\] / \1\[[^][]*\]\)")


def is_ratio(check: records.Check) -> bool:
    """Whether a number is to another that is as large if nothing differs, or to what it should be.

    Of two values that are not of a kind it is a count or a time.
    """
    return not check["unit"] and (" against " in check["name"]
                                  or _OF_TWO.fullmatch(check["formula"]) is not None)


def _distances(check: records.Check) -> tuple[float, float] | None:
    """How far from 1 the paper's ratio is at least, and at most, as logarithms; None of all else,
    and where it may be on either side.
    """
    known = bounds(check["paper"]) if is_ratio(check) else None
    if known is None or known[0] <= 0 or known[0] < 1 < known[1]:
        return None
    ends = [abs(math.log(end)) for end in known]
    return min(ends), max(ends)


def _is_alike(claim: Claim, check: records.Check) -> bool:
    """Whether a ratio of the paper's is as good as 1, or is said to be."""
    known = _distances(check)
    if known is None or claim.text in DIFFER:
        return False
    return claim.text in ALIKE or known[0] <= math.log(LIKE)


def _is_absent(claim: Claim, check: records.Check) -> bool:
    """Whether the paper's ratio is a difference, and ours is none, or one to the other side."""
    return (_distances(check) is not None and not _is_alike(claim, check)
            and not _is_on_its_side(check))


def _is_as_far(claim: Claim, check: records.Check) -> bool:
    """Whether a ratio is as far from 1 as the paper's, by the rule above; all else is."""
    known = _distances(check)
    if known is None:
        return True
    least, most = known
    far = abs(math.log(check["measured"])) if check["measured"] > 0 else math.inf
    if _is_alike(claim, check):
        return far <= max(math.log(LIKE), most)
    return not _is_absent(claim, check) and least / AS_FAR <= far <= most * AS_FAR


def _is_on_its_side(check: records.Check) -> bool:
    """Whether a ratio is above 1, or below, where the paper's is."""
    known = bounds(check["paper"])
    if known is None or not is_ratio(check):
        return False
    low, high = known
    return bool(all(s > 1 for s in check["seeds"]) if low > 1
                else high < 1 and all(s < 1 for s in check["seeds"]))


def of_claim(claim: Claim, found: Sequence[records.Check]) -> list[records.Check]:
    """Those of a figure's checks that show a claim."""
    return [c for c in records.singly(found) if of_paper(c)
            and any(fnmatchcase(c["name"], form) for form in claim.checks)]


def _says_most(found: Sequence[records.Check]) -> records.Check | None:
    """The first check with a number of the paper's; 0 and 1 are what has to be, not results."""
    numbers = [c for c in found if bounds(c["paper"]) is not None]
    return min(numbers, key=lambda c: c["paper"] in (0, 1), default=None)


def outcome(claim: Claim, found: Sequence[records.Check]) -> Outcome:
    """The verdict on a claim; ``found`` are its figure's checks as they are stored."""
    mine = of_claim(claim, found)
    failing = [c for c in mine if c["verdict"] not in (checks.PASS, checks.UNDECIDED)]
    off = [c for c in mine if c["verdict"] == checks.PASS
           and not (_is_near(c) and _is_as_far(claim, c))]
    absent = [c for c in off if _is_absent(claim, c)]
    shown = _says_most(failing) or _says_most(absent) or _says_most(off) or _says_most(mine)
    if absent or not all(map(_is_on_its_side, failing)):
        verdict = NOT
    elif any(c["verdict"] == checks.UNDECIDED for c in mine):
        verdict = OPEN
    else:
        verdict = SHAPE if failing or off else REPRODUCED
    return Outcome(claim, verdict, shown["paper"] if shown else None,
                   shown["measured"] if shown else None, tuple(c["name"] for c in failing))


def outcomes(figure: Figure, entry: records.Entry) -> list[Outcome]:
    """The verdicts on a figure's claims; none where it is of no paper, or measured quickly."""
    found = entry["checks"]
    if any(check["verdict"] == checks.QUICK for check in found):
        return []
    return [outcome(claim, found) for claim in of_figure(figure.id) if of_claim(claim, found)]


def one_by_one(figure: Figure, entry: records.Entry) -> list[Outcome]:
    """The same of each number by itself, as if it were a claim of its own."""
    return [outcome(Claim(one.claim.text), [check]) for one in outcomes(figure, entry)
            for check in of_claim(one.claim, entry["checks"])]


def of_figure(name: str) -> Iterator[Claim]:
    """The claims of a figure, by its name."""
    for text, forms in CLAIMS.get(name, {}).items():
        yield Claim(text, (forms,) if isinstance(forms, str) else forms)


#: vIC's throughput, of both of its tables.
_VIC_GAINS = "vIC never costs throughput, and often gives some"
#: Of these the paper says that ratios more than 5 % from 1 are the same within its error bounds.
ALIKE = frozenset({"Where each read is waited for cint is default"})
#: Of these it says that ratios within 5 % of 1 are an increase.
DIFFER = frozenset({_VIC_GAINS})

#: What T of blk-switch's loses, which several figures claim alike.
_T_KEEPS = "T keeps 0.9 of its throughput"

CLAIMS: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "cint-fig3": {
        "An interrupt costs the same on every device": "cost of an interrupt, the highest*",
        "It is some 1500 cycles, 24 % of an I/O on Optane": (
            "cost of an interrupt, Optane", "share of an I/O's cost, Optane"),
        "Its share grows from device to device": "share, *"},
    "cint-fig4": {
        "An interrupt adds the same to a lone read whatever the medium": "what an*",
        "That is 15 % of a read of 5 us": "share of a read of 5 us",
        "It is twice the share that it is of a read of 10 us": "*against one of 10 us"},
    "cint-fig5": {
        "Hybrid polling does well for one thread with one size": "one thread*",
        "With two threads it takes all of the CPU": "two threads*",
        "With two sizes it is no faster than interrupts": (
            "two sizes: latency*", "two sizes: reads*"),
        "And takes 2.7 times their CPU": "two sizes: CPU*"},
    "cint-fig7": {
        "A timer of 20 us splits a burst": "nvme20*",
        "One of 100 us makes the last read wait for it": "nvme100*",
        "Adaptive does neither": "adaptive*"},
    "cint-fig8": {
        "A lone read waits exactly for the policy's timer": "*lone read*",
        "Under a deep load adaptive interrupts least": ("interrupts of*", "the same for*"),
        "And so has the highest throughput": "throughput*"},
    "cint-fig9": {
        "Adaptive finds the end of a batch when delta is over": ("adaptive*", "default*"),
        "The Barrier says so at once": "cint*"},
    "cint-fig10": {
        "Urgent: one interrupt for each sync read": ("cint: *", "default: *"),
        "A fraction of default's interrupts": "interrupts a second*",
        "Who waits does so no longer than with default": "sync latency, cint*",
        "Who waits does so for much longer with adaptive": "sync latency, adaptive*",
        "More throughput than default": "total IOPS, cint against default",
        "Less than adaptive": "total IOPS, adaptive*"},
    "cint-fig11": {
        "Interrupts fall as the threshold grows": ("thr *", "interrupts at*"),
        "The sync job's latency grows with it": "sync latency, thr 64*",
        "With Urgent it does not depend on one": ("cint: *", "sync latency, thr 32*"),
        "That comes at the expense of less throughput than any threshold has": "total IOPS*"},
    "cint-fig12": {
        "With Barrier there is an interrupt for each batch": "*I/Os for an interrupt*",
        "One thread's batch ends 11 % later than with default": "1 thread: latency, cint*",
        "And with adaptive later by its delta": "1 thread: latency, adaptive*",
        "More throughput than default for 2 and 4 threads": "*IOPS, cint*",
        "Adaptive has less than default for 2": "2 threads: IOPS, adaptive*",
        "And cint's for 4": "4 threads: IOPS, adaptive*"},
    "cint-fig13": {
        "Each batch has an interrupt of its own, and ends earlier than with adaptive": "*"},
    "cint-fig14": {
        "An Urgent completion is told of alone, and the others wait for the ninth": "*"},
    "cint-fig15": {
        "Out of order shortens the sync job's latency": "sync latency*",
        "For more interrupts": "interrupts, cint+ooo*",
        "And less of the other job's throughput": "async IOPS, cint+ooo*",
        "Default has fewer async I/Os and more interrupts than cint": "*default against cint",
        "Where the async job is limited it is default's latency at less CPU": "limited*"},
    "cint-fig17": {
        "The device keeps to the limit": ("*against the limit", "*mean latency", "a limit above*"),
        "At no loss of throughput": ("*throughput*", "*latency against none"),
        "It lets go when the storm is over": "after the storm*"},
    "cint-fig18": {
        "A batched load's completions come in bursts, on a drive that spreads": (
            "with the drive's spread*", "P3700*"),
        "On one of even latency as well": "a drive of even latency*"},
    "cint-fig19": {
        "Throughput levels out at a threshold of 16 to 32": (
            "*IOPS of thr 1 *", "*IOPS of thr 16*"),
        "It is then a third above that without": "*IOPS of thr 32*",
        "Interrupts fall as the threshold's inverse": "*I/Os that an interrupt tells of*",
        "On either drive alike": "*P3700 against Optane"},
    "cint-fig20": {
        "Sync alone: default's latency": (
            "*sync latency, cint against default", "*lone read's interrupt*"),
        "Async alone: a fifteenth of the interrupts": (
            "*interrupts for an async I/O*", "*async interrupts, default*"),
        "A third more throughput than default": (
            "*async IOPS, cint against default", "*async IOPS, default against adaptive"),
        "Out of order costs nothing there": "*cint+ooo against cint"},
    "cint-fig21": {
        "Under adaptive the sync thread gets a quarter of the CPU": (
            "adaptive: *", "*adaptive against default"),
        "With default, and with cint out of order, half of it": ("default: *", "cint+ooo: *"),
        "Out of order as much as with default": "*cint+ooo against default",
        "cint is between adaptive and that": "the same, cint against*"},
    "cint-tab2": {
        "A lone read takes as long with the policy engine as without": (
            "*holds nothing*", "*interrupt each", "*its standard deviation"),
        "Polling is a little faster": "*polled*"},
    "lm-classic": {
        "Polled, a read takes a quarter less time": (
            "latency, polled against*", "latency with*", "latency polled", "IOPS times*"),
        "Also where the polled queue keeps its interrupts, as in 2017": (
            "latency, the queue*", "as in 2017*"),
        "Polling takes all of the CPU, interrupts a third": "CPU, *",
        "Its latencies spread a little less": "99th percentile less*",
        "Where the medium takes 1 ms polling makes no sense": "medium of 1 ms*"},
    "lm-compete": {
        "Beside a process that wants the CPU one polled read in 5,000 takes very long":
            "classic: *",
        "Not as a process of SCHED_RR": "classic, SCHED_RR*"},
    "lm-fixed": {
        "A sleep of half the mean time is as good as polling all the time": "2 us*",
        "One of nearly all of it is as slow as interrupts": (
            "4 us*", "latency rises*", "CPU falls*")},
    "lm-hybrid": {
        "Hybrid polling is as fast as polling all the time": "*latency against classic",
        "With 58 % of the CPU": "*CPU against*: *"},
    "lm-mixsize": {
        "Small reads beside larger ones fall back to the latency of interrupts": "*"},
    "lm-tail": {
        "One classically polled read in some 6,000 takes longer than with interrupts":
            "classic: *",
        "The longest far longer than with hybrid polling": "half-mean: *"},
    "lm-user": {
        "Polled in user space a read takes 47 % less than with interrupts, 30 % less than polled "
        "by the kernel, and all of the CPU": "*"},
    "spdk-5.1.1": {
        "SPDK, polled, and libaio have the same throughput, in sequence": "seq*",
        "And with random I/O": "rand*"},
    "spdk-corun": {
        "An online application that polls has 13 us alone": "online alone*"},
    "spdk-fig3": {
        "Asleep until an interrupt a process has a poller's throughput at the largest depth, and "
        "with writes at any": ("*largest depth*", "*write *: coalesced*"),
        "At the smallest it has a little less": "*smallest depth*",
        "Polled, it is the throughput of the paper's drive": "*, polled"},
    "spdk-fig4": {
        "Polling takes all of the CPU": "*CPU, polled",
        "Asleep until an interrupt sequential I/O takes 4 to 8 %": "seq*: CPU, coalesced*",
        "And random I/O some 70 %": "rand*[0-9]: CPU, coalesced, k = 1",
        "Coalesced less": (
            "rand*[0-9]: CPU, coalesced", "rand*largest depth: CPU*", "*CPU saved*"),
        "Each interrupt brings what was asked for": "*I/Os for each interrupt*"},
    "cint-fig23": {
        "An interrupt for tens of I/Os of a batch gives more requests than one for each": (
            "*: requests a second, cint*", "*: I/Os that the guest handles*"),
        "More so where half of the requests write": "gain of*",
        "A gap that ends a burst gives as many": "*: requests a second, adaptive*",
        "5 to 8 % later": "mean latency*",
        "The 99th percentile is below default's": "*: 99th percentile*"},
    "cint-tab5": {
        "An interrupt for a batch gives more scans than one for each read":
            "*: scans a second, default*",
        "A gap that ends a burst gives nearly as many": "*: scans a second, adaptive*",
        "The longer the scan, the less is gained": "default against cint: scans of 256*"},
    "cint-fig24": {
        "A scan takes longer with an interrupt for each read, at either length":
            "*: median, default*",
        "The gap costs a short scan time": "16 items: median, adaptive*",
        "And a long one none": "256 items: median, adaptive*"},
    "cint-fig22": {
        "Where each read is waited for cint is default": "*, default against cint",
        "Adaptive has up to 45 % more latency": "*threads: latency of a get, adaptive*",
        "And 5 to 32 % less throughput": "*: throughput, adaptive*",
        "Less with more threads": "*8 threads against 4"},
    "cint-tab3": {
        "A load has as many writes a second from every policy": (
            "writes*default against cint", "writes*adaptive against cint"),
        "More where its flushes are unmarked": "writes*, unmarked*",
        "And a lower 99th percentile": "99th percentile*"},
    "cint-tab6": {
        "Gets beside a dump: as many with default": "gets*default against cint",
        "Adaptive has fewer, which take longer": ("gets*, adaptive*", "mean*, adaptive*"),
        "But its 99th percentile is a fraction": "99th*, adaptive*",
        "With the dump unmarked gets are more and faster": (
            "gets*, dump unmarked*", "mean*, dump unmarked*"),
        "So is then their 99th percentile": "99th*, dump unmarked*",
        "For a little of the dump's speed": "keys of the dump, dump unmarked*"},
    "cint-tab7": {
        "Who waits for each read has default's latency": "*: latency of a get, default*",
        "And the store more requests than with it": "*: the store's requests*, default*",
        "Adaptive has more latency": "*: latency of a get, adaptive*",
        "For as many requests of the store": "*: the store's requests*, adaptive*",
        "Less with more threads": "*8 threads against 4"},
    "spdk-tab1": {
        "Asleep until an interrupt a store on the user-space driver takes 32 to 73 % less CPU time":
            "*: CPU, asleep*",
        "It loses 2 to 22 % of its operations": "*: operations a second, asleep*",
        "Less where there are many a second": "operations lost*"},
    "spdk-fig5": {
        "An interrupt adds 2 us to a lone I/O, whatever its size and direction": "*"},
    "vic-fig5": {
        "A longer window gives the computation more time, and the reads less": (
            "IOPS*", "the computation gains*"),
        "Alone the computation does not notice": "the computation alone*"},
    "vic-low": {
        "A lone reader does not notice vIC": "lone reader*",
        "Below 2000 I/Os a second every one interrupts": ("1000 reads*", "the same*"),
        "With ratios between 1 and 1/2 moderate depths lose nothing": "depth 6*"},
    "vic-tab1": {
        "The ratio is the table's, inside each of its rows":
            tuple(f"depth {depth}:*" for depth in (2, 6, 10, 14, 23, 31, 71, 143)),
        "Also where a row begins": tuple(f"depth {depth}:*" for depth in (16, 24, 64, 128))},
    **{name: {
        _VIC_GAINS: "*IOPS against default",
        "Interrupts fall as the depth grows": ("*interrupts for an I/O*", "*mean ratio*")}
        for name in ("vic-tab2", "vic-tab4")},
    **{name: {
        "With fewer interrupts an I/O takes less CPU time": "*"}
        for name in ("vic-tab3", "vic-tab5")},
    "vic-tab6": {
        "With an interrupt for one read in eight the guest's CPU is idle for longer": "*"},
    "vic-tab7": {
        "Where the CPU is the limit vIC gives more I/Os a second": "*IOPS against default",
        "For less CPU time of each": "*CPU time of an I/O*"},
    "vic-tab8": {
        "vIC leaves the CPU more time for transactions": (
            "*transactions against*", "transactions, *"),
        "It takes a third of the interrupts away, and more with a lower threshold":
            "*interrupts a second*",
        "More I/Os a second, each of which takes longer": ("*I/Os a second*", "*latency*"),
        "R varies widely with the load, and is 1/3 at the median": ("*R over*", "*largest R*"),
        "A completion is held for less than a few hundred us": "*is held*"},
    "blk-fig2": {
        "On one core L's tail latency is much higher beside T": "*p99 of L, both against alone",
        "T loses little": "per byte, off: T*"},
    "blk-fig3a": {
        "L's tail latency grows with the size of T's requests": "*64k against 4k",
        "Linearly to the largest": "*128k against 64k"},
    "blk-fig3b": {
        "The more applications poll, the shorter is the turn": "*turn of an L*",
        "And the longer the wait for the next": "*wait for*",
        "L's latency suffers": ("EEVDF: p99 of L*", "*mean of L*"),
        "And T's throughput": "EEVDF: T*",
        "With priority for L T's throughput is near zero": ("priority: T*", "priority: p99*")},
    "blk-fig3c": {
        "Beside an L that polls T starves": ("T beside an L that polls*", "p99 of L that polls*"),
        "The longer L sleeps, the more throughput T has": "T, least step*",
        "And the higher is L's latency": ("mean of L*", "p99 of L, least*")},
    "blk-fig3d": {
        "At niceness -20 T starves": ("T beside L*", "p99 of L, nice -20*"),
        "Towards 0 T has more throughput, at the cost of L's latency": (
            "T, least step*", "mean of L*", "p99 of L, nice 0*")},
    "blk-fig7": {
        "However many L there are, their latency is low: 10 to 25 times below Linux's p99, 28 to "
        "110 times below its mean": (
            "*of 4 L, off*", "*app: mean of 4 L*", "*the least step to more L"),
        _T_KEEPS: "*: T beside*"},
    "blk-fig9": {
        "Threads of one L instead of processes: the trend of Figure 7 in latency": (
            "*p99*", "*mean*"),
        "And in T's throughput": "*: T beside*"},
    "blk-fig10": {
        "As T's load grows Linux's latency grows": "*off: p99*",
        "blk-switch's stays": ("*app: p99*", "*p99 of L at*", "*the least step*"),
        _T_KEEPS: "*: T at*"},
    "blk-fig11": {
        "Linux's latency is more than 10 times blk-switch's": "*p99 of L*",
        "On one core T keeps 0.6, on more 0.9 and more": "*: T, app*"},
    "blk-fig13": {
        "Where the medium takes 80 us that is most of the latency, and L still has half of Linux's "
        "or less": "*"},
    "blk-fig14": {
        "However many threads ask, a get takes less than a tenth of Linux's time":
            "*: mean of a get*",
        "So does its tail": "*: p99 of a get*",
        _T_KEEPS: "*: T, *"},
    "blk-fig15": {
        "Prioritisation takes L's tail latency down by an order of magnitude":
            "per byte: p99 of L, off*",
        "And costs T throughput": "per byte: T, prio*",
        "Request steering gives it back": "*T, request against prio",
        "Application steering lowers L's latency as well": "*two of each*"},
    "blk-rw": {
        "Latency and throughput keep their relation whatever part of T's requests are writes": "*"},
}
