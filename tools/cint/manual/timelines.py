# SPDX-License-Identifier: GPL-2.0-or-later
"""Drawings of what each policy does, made by the engine: a scripted load through cint-replay.

A lane is one policy. In it each completion has a line of its own, from the time its CQE is posted
to the interrupt that tells of it; below stand the interrupts with their reason and what they cover.
The drawings are in docs/images/timelines; tests/replay compares them with what the engine says.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from cint import ask, paths
from cint.errors import CintError

DIRECTORY = paths.ROOT / "docs/images/timelines"
_TRACES = paths.ROOT / "tests/replay"


@dataclass(frozen=True)
class Drawing:
    """A load, and the policies that it is replayed under."""

    name: str
    title: str
    #: A trace of tests/replay by its name, or a timeline.
    load: str
    #: What a lane is called, and the policy as typed.
    lanes: Sequence[tuple[str, str]]
    #: What is drawn of it, in ns; without an end, up to the last interrupt.
    start: int = 0
    end: int = 0

    @property
    def text(self) -> str:
        """The load as a timeline."""
        return self.load if "\n" in self.load \
            else (_TRACES / f"{self.load}.trace").read_text(encoding="utf-8")


def _steady(depth: int, step_ns: int, count: int) -> str:
    """A load that keeps `depth` commands in flight and completes one each `step_ns`."""
    lines = [f"submit 0 1 {cid}" for cid in range(1, depth + 1)] + ["doorbell 0 1"]
    for n in range(1, count + 1):
        at = n * step_ns
        lines += [f"complete {at} 1 {n}", f"submit {at} 1 {n + depth}", f"doorbell {at} 1"]
    return "\n".join(lines) + "\n"


def _learned(rounds: int) -> str:
    """A thread that reads and waits beside a job of five; neither says anything.

    Buffer 1 comes back as soon as it was told of, the others after one another.
    """
    cids = itertools.count(1)
    flying: dict[int, int] = {}
    lines: list[str] = []

    def submit(at: int, buffer: int) -> None:
        flying[buffer] = next(cids)
        lines.extend((f"submit {at} 1 {flying[buffer]} buffer {buffer * 4096}", f"doorbell {at} 1"))

    def complete(at: int, buffer: int) -> None:
        lines.append(f"complete {at} 1 {flying.pop(buffer)}")

    for buffer in range(1, 7):
        submit(0, buffer)
    for at in range(0, rounds * 40_000, 40_000):
        for late in (0, 10_000):
            complete(at + late + 8_000, 1)
            submit(at + late + 9_000, 1)
        for buffer in range(2, 7):
            complete(at + 22_000 + 500 * buffer, buffer)
        for buffer in range(2, 7):
            submit(at + 36_000 + 100 * buffer, buffer)
    return "\n".join(lines) + "\n"


DRAWINGS = (
    Drawing("default", "default: an interrupt for every completion", "figure7",
            [("default", "default")]),
    Drawing("static", "static: the same burst under two fixed times, threshold 8", "figure7",
            [("20 us", "static:time=20us,thr=8"), ("100 us", "static:time=100us,thr=8")]),
    Drawing("adaptive", "adaptive: the interrupt comes when the burst is over", "figure7",
            [("thr=8", "adaptive:delta=6us,thr=8"), ("thr=32", "adaptive:delta=6us,thr=32")]),
    Drawing("cint", "cint: Urgent commands interrupt at once, the others as under adaptive",
            "urgent", [("adaptive", "adaptive:delta=6us"), ("cint", "cint:delta=6us")]),
    Drawing("barrier", "cint: three meanings of Barrier, for batches that complete out of order",
            "barrier", [(kind, f"cint:delta=1ms,thr=32,barrier={kind}")
                        for kind in ("relaxed", "strict", "generation")], end=92_000),
    Drawing("ooo", "cint+ooo: an interrupt for an Urgent command tells of it alone",
            "out-of-order", [("cint", "cint:thr=9"), ("cint+ooo", "cint+ooo:thr=9")]),
    Drawing("auto", "auto: who waits is told at once, and the others are held once they are known",
            _learned(10), [("auto", "auto")], start=200_000),
    Drawing("price", "price: waits add up, of who waits ten times as fast", "urgent",
            [("2.22 us", "price"), ("10 us", "price:price=10us")]),
    Drawing("vic", "vic: a share of the completions interrupts, here 1/2 with 16 in flight and "
            "3/4 with 8", "", [], start=1_000_000),
    Drawing("pointer", "pointer: the driver has asked for 4 entries, then for the 9th", "pointer",
            [("pointer", "pointer")], end=13_000),
    Drawing("storm", "Storm protection: no more than 150,000 interrupts a second", "storm",
            [("no limit", "cint"), ("limit", "cint:max-irq-rate=150000,ewma-shift=1")]),
)

#: vic's lanes have a load each: the ratio follows from the commands in flight.
_VIC = tuple((f"{depth} in flight", _steady(depth, 50_000, 30)) for depth in (8, 16))
_VIC_POLICY = "vic:epoch=1ms,iops-threshold=0"


@dataclass(frozen=True)
class Interrupt:
    """An interrupt that the engine sent."""

    at: int
    urgent: bool
    reason: str
    covered: int


@dataclass(frozen=True)
class Completion:
    """A CQE, and when its interrupt was sent; None if none was."""

    at: int
    hint: str
    told: int | None


def replay(program: Path, policy: str, load: str) -> list[Interrupt]:
    """The interrupts under a policy, as in the papers' figures; CintError of cint-replay's."""
    done = ask.run([program, "--json", "--extras", "papers", "--policy", policy], input=load)
    if done.returncode:
        raise CintError(f"cint-replay: {done.stderr.strip()}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [Interrupt(one["irq"], one["class"] == "urgent", one["reason"], one["covered"])
            for one in found if "irq" in one]


def completions(load: str, sent: Sequence[Interrupt]) -> list[Completion]:
    """The interrupt that each completion waited for: full, or urgent if the command is Urgent."""
    hints: dict[str, str] = {}
    found = []
    for line in load.splitlines():
        words = line.split()
        if words[:1] == ["submit"]:
            marks = words[4:]
            hints[words[3]] = marks[0] if len(marks) == 1 else "none"
        elif words[:1] == ["complete"]:
            at, hint = int(words[1]), hints[words[3]]
            told = next((one.at for one in sent if one.at >= at
                         and (not one.urgent or hint == "urgent")), None)
            found.append(Completion(at, hint, told))
    return found


# ---- drawing ------------------------------------------------------------------

WIDTH, _LEFT, _RIGHT, _TOP = 760, 96, 12, 30
_STEP, _FOOT, _AXIS = 7, 34, 26
_COLOURS = {"none": "#57606a", "urgent": "#c2410c", "barrier": "#00875f"}
_WORDS = {"none": "unmarked", "urgent": "Urgent", "barrier": "Barrier"}
_BLUE = "#0072b2"


class _Scale:
    """Times to places."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end

    def at(self, ns: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (ns - self.start) / (self.end - self.start)

    def ticks(self) -> Iterator[int]:
        span = self.end - self.start
        step = next(s * 10**p for p in range(1, 12) for s in (1, 2, 5) if span / (s * 10**p) <= 12)
        yield from range(-(-self.start // step) * step, self.end + 1, step)


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


def _row(one: Completion, scale: _Scale, y: float) -> str:
    colour = _COLOURS[one.hint]
    end = scale.end if one.told is None else min(one.told, scale.end)
    return (f'<path d="M{scale.at(one.at):.1f} {y:.1f}H{scale.at(end):.1f}" stroke="{colour}" '
            f'stroke-width="3" stroke-opacity=".35"/>'
            f'<circle cx="{scale.at(one.at):.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>')


def _interrupts(sent: Sequence[Interrupt], scale: _Scale, top: float, foot: float) -> list[str]:
    """A line through the lane and an arrow below, with reason and count where there is room."""
    parts, free, line = [], [0.0, 0.0], 0
    for one in sent:
        x = scale.at(one.at)
        dash = ' stroke-dasharray="2 2"' if one.urgent else ""
        parts.append(f'<path d="M{x:.1f} {top:.1f}V{foot:.1f}" stroke="{_BLUE}"{dash}/>'
                     f'<path d="M{x - 3.5:.1f} {foot:.1f}h7l-3.5 6z" fill="'
                     f'{"#ffffff" if one.urgent else _BLUE}" stroke="{_BLUE}"/>')
        words = f"{one.reason} {one.covered}"
        width = 5.6 * len(words)
        left = min(max(x - width / 2, _LEFT), WIDTH - _RIGHT - width)
        line = next((n for n, end in enumerate(free) if left >= end), -1)
        if line >= 0:
            free[line] = left + width + 4
            parts.append(_text(left, foot + 16 + 11 * line, words, f' fill="{_BLUE}"'))
    return parts


def _lane(name: str, found: Sequence[Completion], sent: Sequence[Interrupt], scale: _Scale,
          top: float) -> tuple[list[str], float]:
    """One policy, and where the next one begins."""
    foot = top + _STEP * (len(found) + 1)
    parts = [_text(0, (top + foot) / 2 + 4, name, ' font-weight="600"'),
             f'<rect x="{_LEFT}" y="{top:.1f}" width="{WIDTH - _LEFT - _RIGHT}" '
             f'height="{foot - top:.1f}" fill="#f6f8fa"/>']
    parts += [_row(one, scale, top + _STEP * n) for n, one in enumerate(found, 1)]
    return [*parts, *_interrupts(sent, scale, top, foot)], foot + _FOOT


def _legend(found: Sequence[Completion], sent: Sequence[Interrupt]) -> str:
    parts, x = [], float(_LEFT)
    for kind in [k for k in _COLOURS if any(one.hint == k for one in found)]:
        words = f"completion, {_WORDS[kind]}"
        parts.append(f'<circle cx="{x + 4:.1f}" cy="15" r="2.6" fill="{_COLOURS[kind]}"/>'
                     + _text(x + 11, 19, words))
        x += 24 + 6.2 * len(words)
    words = "interrupt: reason, and how many it tells of"
    words += " (hollow: urgent class)" if any(one.urgent for one in sent) else ""
    return "".join([*parts, f'<path d="M{x:.1f} 11h7l-3.5 6z" fill="{_BLUE}"/>',
                    _text(x + 12, 19, words)])


def _loads(drawing: Drawing) -> list[tuple[str, str, str]]:
    """Each lane's name, policy and load."""
    if drawing.lanes:
        return [(name, policy, drawing.text) for name, policy in drawing.lanes]
    return [(name, _VIC_POLICY, load) for name, load in _VIC]


def svg(drawing: Drawing, program: Path) -> str:
    """The drawing; the same engine gives the same text."""
    lanes = []
    for name, policy, load in _loads(drawing):
        sent = replay(program, policy, load)
        found = completions(load, sent)
        lanes.append((name, [c for c in found if c.at >= drawing.start],
                      [i for i in sent if drawing.start <= i.at <= (drawing.end or i.at)]))
    last = max(at for _, found, sent in lanes
               for at in (*(c.at for c in found), *(i.at for i in sent)))
    scale = _Scale(drawing.start, drawing.end or last + (last - drawing.start) // 50)
    parts, y = [_legend([c for _, found, _ in lanes for c in found],
                        [i for _, _, sent in lanes for i in sent])], float(_TOP)
    for name, found, sent in lanes:
        lane, y = _lane(name, found, sent, scale, y)
        parts += lane
    for at in scale.ticks():
        parts.append(f'<path d="M{scale.at(at):.1f} {y - 4:.1f}v5" stroke="#57606a"/>'
                     + _text(scale.at(at), y + 14, f"{at / 1000:g}", ' text-anchor="middle"'))
    parts.append(_text(0, y + 14, "us"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + _AXIS:.0f}" '
            'font-family="DejaVu Sans, sans-serif" font-size="11" fill="#1b1f24" role="img" '
            f'aria-label="{escape(drawing.title)}">\n<title>{escape(drawing.title)}</title>\n'
            f'<rect width="{WIDTH}" height="{y + _AXIS:.0f}" fill="#ffffff"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def write(program: Path) -> list[Path]:
    """Make all drawings; return those that changed."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    changed = []
    for drawing in DRAWINGS:
        path, text = DIRECTORY / f"{drawing.name}.svg", svg(drawing, program)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
