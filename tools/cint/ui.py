# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages, progress and durations for a person. All of it on stderr.

Standard output carries data only, so that it can be redirected and parsed.
"""

import os
import re
import shutil
import sys
import threading
import time

#: Without a terminal a progress line is printed this often (seconds).
PLAIN_INTERVAL_S = 15.0
#: On a terminal the line is redrawn this often (seconds).
TTY_INTERVAL_S = 0.2
#: The time that is left is said from so many seconds on, and as long as it is more than that.
ETA_FROM_S = 10.0

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


class _Settings:
    """Set once by the command line, read everywhere."""

    colour = False
    verbose = 0


def is_tty() -> bool:
    """Whether stderr is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def configure(*, verbose: int = 0, no_color: bool = False) -> None:
    """Apply the global options. NO_COLOR in the environment also turns colour off."""
    _Settings.verbose = verbose
    _Settings.colour = is_tty() and not no_color and not os.environ.get("NO_COLOR")


def verbose() -> int:
    """How many -v were given."""
    return _Settings.verbose


def paint(text: str, *styles: str) -> str:
    """`text` in colour, when stderr shows colours."""
    if not _Settings.colour or not styles:
        return text
    codes = ";".join(_COLOURS[style] for style in styles)
    return f"\x1b[{codes}m{text}\x1b[0m"


def paint_out(text: str, *styles: str) -> str:
    """The same as `paint`, for standard output: no colours in a file or a pipe."""
    return paint(text, *styles) if sys.stdout.isatty() else text


_LOCK = threading.RLock()


def _write(text: str) -> None:
    with _LOCK:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (BrokenPipeError, ValueError):
            pass  # nobody reads it any more: the work goes on


def line(text: str = "") -> None:
    """Print one line, after removing a progress line that may be on screen."""
    with _LOCK:
        active = Progress._active
        if active is not None:
            active.erase()
        _write(text + "\n")


def out(text: str) -> None:
    """Print a line of the result on standard output, clear of a progress line."""
    with _LOCK:
        if Progress._active is not None:
            Progress._active.erase()
        print(text, flush=True)


def info(text: str) -> None:
    """A line that says what is being done."""
    line(text)


def detail(text: str) -> None:
    """A line shown only with -v."""
    if _Settings.verbose:
        line(paint(text, "dim"))


def warn(text: str, hint: str | None = None) -> None:
    """Something is not as it should be, and the work goes on."""
    line(paint("warning: ", "yellow", "bold") + text)
    if hint:
        line(f"         {hint}")


def error(text: str, hint: str | None = None, log: str | None = None) -> None:
    """Why the work stopped, what to do, and where the details are."""
    line(paint("cint: error: ", "red", "bold") + text)
    if hint:
        line(f"      {hint}")
    if log:
        line(f"      log: {log}")


def duration(seconds: float) -> str:
    """`seconds` as a person says it: 0.4 s, 12 s, 3 min 05 s, 1 h 02 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(count: float) -> str:
    """`count` bytes with a decimal unit: 512 B, 41 MB, 1.3 GB."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


class Estimate:
    """How long the rest takes, from the `[done/total]` in a progress text and the time between.

    What was done when the first such text came (kept from an earlier run) says nothing of pace.
    """

    _COUNT = re.compile(r"\[(\d+)/(\d+)\]")
    #: Nothing is said before one in so many is done: the first files of a kernel, some of them
    #: tools that it needs, say a minute or an hour.
    _TOLD_FROM = 25

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._last: tuple[int, float] | None = None
        self._total = 0

    def note(self, text: str, now: float) -> None:
        """A progress text was shown at this time, in seconds."""
        match = self._COUNT.search(text)
        if not match:
            return
        done, self._total = int(match[1]), int(match[2])
        if self._first is None or done < self._first[0]:
            self._first = (done, now)
        if self._last is None or done != self._last[0]:
            self._last = (done, now)

    def left(self, now: float) -> float | None:
        """Seconds that are left; None while nothing can be said."""
        if self._first is None or self._last is None or self._last[0] <= self._first[0]:
            return None
        if (self._last[0] - self._first[0]) * self._TOLD_FROM < self._total - self._first[0]:
            return None
        pace = (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])
        return max((self._total - self._last[0]) * pace - (now - self._last[1]), 0.0)


class Progress:
    """One step under way: a line that is redrawn on a terminal, or a line now and then.

    Use as a context manager; `update` may be called from any thread.
    """

    _active: "Progress | None" = None

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self._detail = ""
        self._estimate = Estimate()
        self._drawn = False
        self._last_plain = self.started
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._outer: Progress | None = None

    def __enter__(self) -> "Progress":
        with _LOCK:
            self._outer = Progress._active
            if self._outer is not None:
                self._outer.erase()
            Progress._active = self
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        with _LOCK:
            self.erase()
            Progress._active = self._outer

    def update(self, text: str) -> None:
        """How far the step is, e.g. `[120/1900]`."""
        self._detail = text
        self._estimate.note(text, time.monotonic())

    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.started

    def erase(self) -> None:
        """Remove the line from the terminal; the next tick draws it again."""
        if self._drawn:
            _write("\r\x1b[K")
            self._drawn = False

    def _text(self) -> str:
        parts = [f"{self.title} ..."]
        if self._detail:
            parts.append(self._detail)
        left = self._estimate.left(time.monotonic())
        rest = f", about {duration(left)} left" \
            if left is not None and left >= ETA_FROM_S and self.elapsed() >= ETA_FROM_S else ""
        parts.append(f"({duration(self.elapsed())}{rest})")
        return " ".join(parts)

    def _tick(self) -> None:
        tty = is_tty()
        while not self._stop.wait(TTY_INTERVAL_S):
            with _LOCK:
                if Progress._active is self:
                    self._draw(tty)

    def _draw(self, tty: bool) -> None:
        if tty:
            width = shutil.get_terminal_size().columns - 1
            _write("\r\x1b[K" + "  " + self._text()[: max(width - 2, 10)])
            self._drawn = True
            return
        now = time.monotonic()
        if now - self._last_plain >= PLAIN_INTERVAL_S:
            self._last_plain = now
            _write("  " + self._text() + "\n")
