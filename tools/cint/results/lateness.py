# SPDX-License-Identifier: GPL-2.0-or-later
"""Real time honestly: what the device's timers were asked for, and what they kept.

A policy asks for a time (delta, or the static aggregation time); the host wakes
QEMU later than that.  The device counts how much later, so a comparison can say
which policies were not the ones that were asked for.  In virtual time timers
are exact and none of this is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cint.measure import sampling
from cint.results import documents, table

#: Notes that begin with this are shown as warnings.
WARNING = "warning: "
_TIMES = ("cint.delta", "cint.static-time")


@dataclass(frozen=True)
class Timer:
    """One policy's timers in one workload; reported us.  Percentiles are upper bounds."""

    policy: str
    workload: str
    count: float
    asked_us: float
    mean_us: float
    p50_us: float
    p99_us: float
    max_us: float

    @property
    def got_us(self) -> float:
        """The time achieved, on average."""
        return self.asked_us + self.mean_us

    @property
    def broken(self) -> bool:
        """Whether the policy was another one than asked: later than the whole time asked."""
        return self.mean_us > self.asked_us


def asked_us(properties: Mapping[str, int | str]) -> float | None:
    """The time a policy asks for, reported us; None for a policy without one."""
    times = [properties[name] for name in _TIMES if properties.get(name)]
    return float(times[0]) / 1000 if times else None


def collect(properties: Mapping[str, Mapping[str, int | str]],
            rows: Iterable[sampling.Row]) -> list[Timer]:
    """The timers of all rows; ``properties`` are those of each policy, by name."""
    found = []
    for row in rows:
        asked = asked_us(properties.get(row.policy, {}))
        if asked is None or not row.lateness:
            continue
        late = {name: value or 0.0 for name, value in row.lateness.items()}
        found.append(Timer(row.policy, row.workload, late["count"], asked, late["mean_us"],
                           late["p50_us"], late["p99_us"], late["max_us"]))
    return found


def of_document(document: documents.Document) -> list[Timer]:
    """The timers of a results.json; none in virtual time."""
    if document["time"] != "real":
        return []
    properties = {p["name"]: p["properties"] for p in document["policies"]}
    return collect(properties, documents.rows_from(document))


def notes(timers: Sequence[Timer]) -> list[str]:
    """One remark for each policy, about the workload in which its timers ran latest."""
    worst: dict[str, Timer] = {}
    for one in timers:
        if one.policy not in worst or one.mean_us > worst[one.policy].mean_us:
            worst[one.policy] = one
    return [_note(one) for one in worst.values()]


def _note(one: Timer) -> str:
    text = (f"{one.policy}: asked for {one.asked_us:g} us, got {one.got_us:.1f} us in "
            f"{one.workload}: timers ran {one.mean_us:.1f} us late on average")
    return f"{WARNING}{text}; the policy could not be kept" if one.broken else text


def verdict(timers: Sequence[Timer], accelerator: str) -> str:
    """One sentence: whether the policies were those that were asked for.

    A policy's timers held where they ran late by no more than the time that it asked for, on
    average and in each workload. A policy of which no timer ran out is not named.
    """
    if not timers:
        return f"{accelerator.upper()}: no policy's timer ran out, so none was tried"
    policies = list(dict.fromkeys(one.policy for one in timers))
    broken = [name for name in policies if any(t.broken for t in timers if t.policy == name)]
    latest = max(timers, key=lambda one: one.mean_us)
    held = [name for name in policies if name not in broken]
    said = f"{accelerator.upper()}: timers held under {', '.join(held) or 'no policy'}"
    if broken:
        said += f", not under {', '.join(broken)}"
    return f"{said}; at worst {latest.mean_us:.1f} us late on average, of " \
           f"{latest.asked_us:g} us ({latest.policy}, {latest.workload})"


HEAD = ("policy", "workload", "asked", "got", "late: mean", "p50 <=", "p99 <=", "max <=", "timers")


def cells(one: Timer) -> list[str]:
    """One line of the table, in the order of HEAD."""
    times = (one.asked_us, one.got_us, one.mean_us, one.p50_us, one.p99_us, one.max_us)
    return [one.policy, one.workload, *(table.number(t) for t in times), f"{one.count:.0f}"]


def format_lines(timers: Sequence[Timer], paint: table.Paint = table.plain) -> list[str]:
    """The table of timers as lines of at most 120 columns; empty without timers."""
    if not timers:
        return []
    lines = ["", paint("timers in real time: asked for, achieved, and how late they ran (us)",
                       "bold"), paint(_line(HEAD), "dim")]
    for one in timers:
        text = _line(cells(one)) + ("  too late" if one.broken else "")
        lines.append(paint(text, "yellow") if one.broken else text)
    return lines


def _line(words: Sequence[str]) -> str:
    policy, workload, *numbers = words
    return (f"{table.cut(policy, table.MAX_NAME):{table.MAX_NAME}} {table.cut(workload, 12):12}"
            + "".join(f"{n:>9}" if i != 2 else f"{n:>12}" for i, n in enumerate(numbers)))
