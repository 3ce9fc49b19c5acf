# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint patches check --build`: each patch of the guest's series compiles, without new warnings.

After each patch the objects that it touches are compiled with the hints configured and without, the
kernel's warnings counting as errors, and looked at by sparse. What sparse says about the kernel
itself is told from what a patch adds by counting each message of the unpatched objects. A patch
that changes a header is checked with the series' objects of that directory too, with all of them if
it is a header of the whole kernel. In the end the whole kernel is built with each configuration.

Nothing is done twice: what was found for a patch is kept until it or one before it changes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from cint import paths, steps, ui
from cint.build import linux, packages, patches, sources, trees
from cint.errors import CintError

#: What switches the series off: everything else it adds depends on one of them.
GATE = frozenset({"CONFIG_BLK_IRQ_HINTS", "CONFIG_BLK_SYNC_POLL", "CONFIG_BLK_SWITCH"})
#: Units of compilation that differ from the object's name in the Makefile.
_ASSIGNED = re.compile(r"^([\w-]+?)(?:-\$\((CONFIG_\w+)\)|-[ym]|-objs)?\s*[:+]?=\s*(.*)$")
_WARNING = re.compile(r"^\S*?([\w/.-]+\.[ch]):\d+:\d+: ((?:warning|error): .*)$")
_SPARSE = "sparse"


@dataclass(frozen=True)
class Gate:
    """One of the two configurations."""

    name: str
    on: bool

    @property
    def directory(self) -> Path:
        """Where it is built."""
        return paths.LINUX_SERIES / self.name

    @property
    def kernel(self) -> linux.Kernel:
        """The kernel as make is told of it."""
        return linux.Kernel(f"series-{self.name}", "", self.directory, ())

    def fragment(self, known: set[str]) -> str:
        """The configuration, of the symbols that the tree has."""
        text = (paths.KERNEL_CONFIG / "base.config").read_text("utf-8")
        lines = [line for line in text.splitlines()
                 if (name := line.partition("=")[0]).startswith("CONFIG_")
                 and name.removeprefix("CONFIG_") in known and (self.on or name not in GATE)]
        return "".join(f"{line}\n" for line in lines)


GATES = (Gate("on", True), Gate("off", False))


# --- which objects ----------------------------------------------------------------------------


def conditions(makefile: str) -> dict[str, str | None]:
    """{object or part: the symbol it is built for}; None if it always is."""
    found: dict[str, str | None] = {}
    for line in makefile.replace("\\\n", " ").splitlines():
        match = _ASSIGNED.match(line)
        if match:
            for word in match[3].split():
                found.setdefault(word, match[2])
    return found


def enabled(tree: Path, config: dict[str, str], source: str) -> bool:
    """Whether a file is compiled in this configuration."""
    directory, _, name = source.rpartition("/")
    makefile = tree / directory / "Makefile"
    symbol = conditions(makefile.read_text("utf-8")).get(name[:-2] + ".o", "CONFIG_?")
    return symbol is None or config.get(symbol, "n") == "y"


def sources_of(listed: list[Path], number: int) -> list[str]:
    """The C files to compile after patch `number` (0: before all of them)."""
    every = sorted({name for patch in listed for name in patches.touched_files(patch)
                    if name.endswith(".c")})
    if number == 0:
        return every
    touched = patches.touched_files(listed[number - 1])
    chosen = {name for name in touched if name.endswith(".c")}
    for name in touched:
        if name.endswith(".h") or "Kconfig" in name:
            chosen.update(_users(name, every))
    return sorted(chosen)


def _users(header: str, every: list[str]) -> list[str]:
    """The C files that a header, or the symbols of a Kconfig file, are for."""
    if "/include/" in f"/{header}":
        return every
    return [name for name in every if name.startswith(f"{header.rpartition('/')[0]}/")]


# --- the tree ---------------------------------------------------------------------------------


def _farm() -> patches.Tree:
    """The unpatched kernel: the patches come and go in it."""
    return trees.prepare_unpatched(sources.LINUX, paths.LINUX_SERIES / "src/linux")


def _known_symbols(tree: Path) -> set[str]:
    """The symbols of all Kconfig files."""
    done = subprocess.run(["grep", "-RhoE", "--include=Kconfig*", r"^(menu)?config \w+", "."],
                          cwd=tree, capture_output=True, text=True, check=True)
    return {line.split()[1] for line in done.stdout.splitlines()}


# --- one patch --------------------------------------------------------------------------------


def messages(output: str) -> Counter[str]:
    """Messages of compiler and sparse, without the line numbers, which patches move."""
    return Counter(f"{match[1]}: {match[2]}" for line in output.splitlines()
                   if (match := _WARNING.match(line)))


def _configure(step: steps.Step, gate: Gate, tree: patches.Tree, jobs: int) -> dict[str, str]:
    gate.directory.mkdir(parents=True, exist_ok=True)
    fragment = gate.directory / "cint.config"
    text = gate.fragment(_known_symbols(tree.root))
    if not fragment.exists() or fragment.read_text("utf-8") != text:
        steps.write_atomic(fragment, text)
        linux.make(step, gate.kernel, tree, jobs, "allnoconfig",
                   env={"KCONFIG_ALLCONFIG": str(fragment)})
    linux.make(step, gate.kernel, tree, jobs, "prepare")
    return linux.parse_config((gate.directory / ".config").read_text("utf-8"))


def _compile(step: steps.Step, gate: Gate, tree: patches.Tree, names: list[str],
             jobs: int) -> Counter[str]:
    """Compile files and return the messages; a file that does not compile ends the check."""
    config = _configure(step, gate, tree, jobs)
    objects = [name[:-2] + ".o" for name in names
               if (tree.root / name).exists() and enabled(tree.root, config, name)]
    for name in objects:
        (gate.directory / name).unlink(missing_ok=True)
    if not objects:
        return Counter()
    log = len(step.log.read_bytes()) if step.log.exists() else 0
    linux.make(step, gate.kernel, tree, jobs, "C=1", f"CHECK={_SPARSE}", *objects)
    return messages(step.log.read_bytes()[log:].decode("utf-8", "replace"))


def _results(listed: list[Path], tree: patches.Tree, number: int, gate: Gate,
             jobs: int) -> Counter[str]:
    """The messages after a patch, from the last time if nothing has changed since."""
    names = sources_of(listed, number)
    stamp = steps.Stamp(f"series-{gate.name}-{number:02}")
    inputs = {"patches": steps.hash_files(listed[:number]), "files": names,
              "config": steps.hash_file(paths.KERNEL_CONFIG / "base.config")}
    if stamp.current(inputs):
        return Counter(stamp.facts()["messages"])
    what = listed[number - 1].name if number else "the unpatched kernel"
    with steps.step(f"series-{gate.name}-{number:02}", f"{what}, hints {gate.name}") as step:
        patches.apply_series(tree, listed[:number])
        found = _compile(step, gate, tree, names, jobs)
        step.summary(f"{len(names)} files")
    stamp.write(inputs, messages=dict(found))
    return found


def _whole(listed: list[Path], tree: patches.Tree, gate: Gate, jobs: int) -> list[str]:
    """What the compiler says about the whole kernel, which says nothing without the series."""
    stamp = steps.Stamp(f"series-{gate.name}-whole")
    inputs = {"patches": steps.hash_files(listed), "source": tree.label,
              "config": steps.hash_file(paths.KERNEL_CONFIG / "base.config")}
    if not stamp.current(inputs):
        with steps.step(f"series-{gate.name}-whole", _whole_name(gate)) as step:
            patches.apply_series(tree, listed)
            _configure(step, gate, tree, jobs)
            linux.make(step, gate.kernel, tree, jobs, "bzImage")
            found = messages(step.log.read_text("utf-8", errors="replace"))
        stamp.write(inputs, messages=sorted(found))
    return list(stamp.facts()["messages"])


def _whole_name(gate: Gate) -> str:
    return f"the whole kernel, hints {gate.name}"


def new_messages(base: Counter[str], found: Counter[str]) -> list[str]:
    """The messages that come more often than of the unpatched kernel."""
    return sorted(text for text, count in found.items() if count > base.get(text, 0))


def checks(listed: list[Path], jobs: int) -> dict[str, Callable[[], list[str]]]:
    """The checks by name, in their order: each gives its new messages."""
    @cache
    def tree() -> patches.Tree:
        packages.require(_SPARSE, _SPARSE)
        return _farm()

    def of_patch(number: int, gate: Gate) -> list[str]:
        base = _results(listed, tree(), 0, gate, jobs)
        return new_messages(base, _results(listed, tree(), number, gate, jobs))

    def of_all(gate: Gate) -> list[str]:
        return _whole(listed, tree(), gate, jobs)

    return {**{f"{patch.name}, hints {gate.name}": partial(of_patch, number, gate)
               for gate in GATES for number, patch in enumerate(listed, 1)},
            **{_whole_name(gate): partial(of_all, gate) for gate in GATES}}


def check(listed: list[Path], jobs: int = os.cpu_count() or 1) -> None:
    """Raise a :class:`CintError` of the first patch with a fault, after all were tried."""
    every = checks(listed, jobs)
    bad = [(what, said) for what, found in every.items() if (said := found())]
    for what, said in bad:
        for line in said:
            ui.warn(f"{what}: {line}")
    if bad:
        raise CintError(f"{len(bad)} of {len(every)} checks have new messages, "
                        f"first: {bad[0][0]}: {bad[0][1][0]}")
    ui.info(f"{len(listed)} patches and the whole kernel compile with hints on and off, "
            "and sparse has nothing to say")
