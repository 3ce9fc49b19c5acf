# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the documents: links, commands, options, properties, files and tests exist.

A document is read as Markdown is, as far as that is needed: fences and indented code, paragraphs,
code spans, links, headings. Each check yields (line, what is wrong).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from cint import cli, paths
from cint.device import params, properties
from cint.errors import CintError
from cint.figures import catalog
from cint.measure import timers
from cint.selftest import suites

DOCS = paths.ROOT / "docs"
#: Prose is wrapped here; tables, links and code may be longer.
WIDTH = 100
#: Directories of the tree that documents name files of.
_ROOMS = ("docs", "guest-module", "guest-patches", "hw", "images", "jobs", "libcint",
          "nvme-cli-patches", "preload", "qemu-patches", "replay", "tests", "tools", "userspace")
#: Options that are none of ours, where a document speaks of other programs.
_FOREIGN = frozenset({"--enable-trace-backends", "--disable-qom-cast-debug", "--table", "--trace",
                      "--apart", "--hold"})

Found = Iterator[tuple[int, str]]


@dataclass(frozen=True)
class Block:
    """A paragraph, a line of a table or a line of code, and where it begins (from 1)."""

    kind: str
    line: int
    text: str

    @property
    def spans(self) -> list[str]:
        """The texts of code spans."""
        return [match[1].replace("\n", " ") for match in re.finditer(r"`([^`]+)`", self.text)]


#: What begins an item of a list.
_ITEM = re.compile(r"\s*([*+-]|\d+\.)\s+")


def blocks(text: str) -> list[Block]:
    """A document, cut up; kinds are code, table, heading and prose."""
    found: list[Block] = []
    paragraph: list[str] = []
    # `inside`: how far the text of the list's item is indented that we are in.
    fence, inside = "", 0

    def end(at: int) -> None:
        if paragraph:
            found.append(Block("prose", at - len(paragraph), "\n".join(paragraph)))
            paragraph.clear()

    lines = text.splitlines()
    for at, line in enumerate(lines, 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark or fence:
            end(at)
            fence = ("" if mark and mark[1].startswith(fence) else fence) if fence \
                else mark[1] if mark else ""
            found += [] if mark else [Block("code", at, line)]
        elif not line.strip():
            end(at)
        elif line.startswith(" " * (inside + 4)) and not paragraph:
            found.append(Block("code", at, line[inside + 4:]))
        elif line.startswith(("|", "#")):
            end(at)
            inside = 0
            found.append(Block("table" if line[0] == "|" else "heading", at, line))
        else:
            if item := _ITEM.match(line):
                end(at)
                inside = len(item[0])
            elif not line.startswith(" ") and not paragraph:
                inside = 0
            paragraph.append(line)
    end(len(lines) + 1)
    return found


def slug(heading: str) -> str:
    """The anchor that a forge makes of a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip()).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


@dataclass(frozen=True)
class Document:
    """A Markdown file of the tree."""

    path: Path

    @cached_property
    def blocks(self) -> list[Block]:
        """Its parts."""
        return blocks(self.path.read_text(encoding="utf-8"))

    @cached_property
    def anchors(self) -> frozenset[str]:
        """The names that a link into it may have.

        Headings, of which the second of a name gets a number, and places in tables that are named
        as such.
        """
        found: list[str] = []
        for block in self.blocks:
            if block.kind == "heading":
                name = slug(block.text)
                found.append(f"{name}-{found.count(name)}" if name in found else name)
            elif block.kind == "table":
                found += re.findall(r'<a id="([\w.-]+)">', block.text)
        return frozenset(found)


def documents() -> list[Path]:
    """The documents that are written by hand, and the list of figures."""
    return [path for path in (paths.ROOT / "README.md", paths.ROOT / "CONTRIBUTING.md",
                              *sorted(DOCS.glob("*.md"))) if path.exists()]


# ---- links -----------------------------------------------------------------

_LINK = re.compile(r"\[(?:[^]\[]|\[[^]]*\])*\]\(([^)\s]+)\)")


def links(one: Document) -> Found:
    """Files and anchors that links name."""
    for block in one.blocks:
        if block.kind == "code":
            continue
        for match in _LINK.finditer(re.sub(r"`[^`]*`", "``", block.text)):
            target, _, anchor = match[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            path = (one.path.parent / target).resolve() if target else one.path
            if not path.exists():
                yield block.line, f"there is no {target}"
            elif anchor and path.suffix == ".md" and anchor not in Document(path).anchors:
                yield block.line, f"{target or 'this page'} has no heading #{anchor}"


# ---- commands --------------------------------------------------------------

def _joined(lines: Iterable[Block]) -> Iterator[Block]:
    """Blocks, with lines of code that a backslash continues as one, where it begins."""
    begun: Block | None = None
    for block in lines:
        continues = begun is not None and block.kind == "code"
        if begun and not continues:
            yield begun
        one = (Block("code", begun.line, begun.text[:-1] + block.text.lstrip())
               if begun and continues else block)
        begun = one if one.kind == "code" and one.text.endswith("\\") else None
        if not begun:
            yield one
    if begun:
        yield begun


def _command_lines(one: Document) -> Iterator[tuple[int, str]]:
    for block in _joined(one.blocks):
        texts = [block.text] if block.kind == "code" else block.spans
        for text in texts:
            if match := re.match(r"(?:\$ )?(\./cint .*)", text.strip()):
                yield block.line, match[1]


#: Words that end a command of ours in a line of shell.
_STOP = re.compile(r"^(\||>|>>|<|;|&&|\d>)$")


def words_of(line: str) -> list[list[str]]:
    """The commands of ours in a line: without what stands for more, redirections and remarks.

    CintError if a shell could not read it.
    """
    if line.endswith("\\"):
        raise CintError("the line that continues it is missing")
    found: list[list[str]] = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|<>&")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    ours = False
    try:
        read = list(lexer)
    except ValueError as problem:
        raise CintError(str(problem)) from None
    for word in read:
        if word == "./cint":
            found.append([])
            ours = True
        elif _STOP.match(word):
            ours = False
        elif ours and "..." not in word and not word.startswith("["):
            found[-1].append(word)
    return found


def _parse(words: Sequence[str]) -> argparse.Namespace | None:
    """What the parsers make of a command; None of one that only asks for help."""
    parser = cli.build_parser(list(words))
    for one in (parser, *_verbs(parser)):
        for action in one._actions:
            _loosen(action)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return parser.parse_args(list(words))
    except SystemExit:
        return None


def _loosen(action: argparse.Action) -> None:
    """Take names such as N for values, and files and source trees that are not here."""
    parse = action.type
    if action.dest in ("qemu_src", "linux_src", "fio_src", "drive", "fio", "app"):
        action.type = str
    elif callable(parse):
        action.type = lambda text: text if _is_name(text) else parse(text)


def _verbs(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    return [verb for action in parser._actions
            if isinstance(action, argparse._SubParsersAction) for verb in action.choices.values()]


def _is_name(word: str) -> bool:
    """Whether a word stands for another: LIST, FILE."""
    return bool(re.fullmatch(r"[A-Z][A-Z-]*", word))


def _own_policies(one: Document) -> frozenset[str]:
    """Policies that the document itself adds to the list of policies."""
    lines = "\n".join(block.text for block in one.blocks if block.kind == "code")
    return frozenset(re.findall(r'^POLICY\("([\w-]+)"', lines, re.MULTILINE))


def _check_values(args: argparse.Namespace, own: frozenset[str]) -> None:
    """Words that the verbs look at only when they run."""
    text = getattr(args, "policy", None) or "default"
    if getattr(args, "verb", None) == "compare":
        text, _ = timers.expand(text)
    for name in properties.split_list(text):
        if not _is_name(name) and name.partition(":")[0] not in own:
            properties.parse_policy(name)
    if args.verb == "figure":
        catalog.choose([i for i in args.id if not _is_name(i)], args.set, True)
    if args.verb == "test":
        known = {suite.name for suite in suites.SUITES}
        for name in args.suite:
            if name not in known and not _is_name(name):
                raise CintError(f"there is no suite {name}")


def _check_command(words: Sequence[str], own: frozenset[str]) -> None:
    if words and _is_name(words[0]):
        return
    args = _parse(words)
    if args is not None and args.verb:
        _check_values(args, own)


def command_lines(one: Document) -> Found:
    """Commands of ours are understood by a shell and by the parsers."""
    for line, text in _command_lines(one):
        try:
            for words in words_of(text):
                _check_command(words, _own_policies(one))
        except CintError as problem:
            yield line, f"{text}: {problem.message}"


@cache
def _options() -> frozenset[str]:
    parser = cli.build_parser(list(cli.VERBS))
    ours = {flag for one in (parser, *_verbs(parser)) for flag in one._option_string_actions}
    programs = "".join((paths.ROOT / name).read_text(encoding="utf-8") for name in
                       ("replay/options.c", "libcint/examples/vhost-blk/main.c"))
    return frozenset(ours | _FOREIGN | {f"--{name}" for name in
                                        re.findall(r'\{ "([a-z-]+)",', programs)})


def options(one: Document) -> Found:
    """Options that stand alone in a code span are those of some verb, or of a program of ours."""
    for block in one.blocks:
        for span in block.spans if block.kind != "code" else ():
            for match in re.finditer(r"(?:^|[\s,])(--[a-z][a-z-]+)", span):
                if span.startswith("--") and match[1] not in _options():
                    yield block.line, f"no verb has the option {match[1]}"


# ---- what the device and the tree have ---------------------------------------

@cache
def _properties() -> frozenset[str]:
    """The names in the device's own tables."""
    text = (paths.OVERLAY_NVME / "cint-props.c").read_text(encoding="utf-8")
    names = re.findall(r'\.name = "([\w.-]+)"', text)
    return frozenset(f"cint.{name}" for name in (*names, "policy", *params.ALL))


def device_properties(one: Document) -> Found:
    """Properties that start with `cint.` are the device's."""
    for block in one.blocks:
        for match in re.finditer(r"(?<![\w./-])cint\.[a-z][\w.-]*", block.text):
            name = match[0].rstrip(".-")
            if name.rpartition(".")[2] in _SUFFIXES or _is_module(name):
                continue
            if not any(f"{known}.".startswith(f"{name}.") for known in _properties()) \
                    and block.text[match.end():match.end() + 1] != "*":
                yield block.line, f"the device has no property {name}"


#: Of files that are called after us.
_SUFFIXES = frozenset({"1", "csr", "fish", "key", "pem"})


def _is_module(name: str) -> bool:
    """Whether it is a module of the tool, or something in one."""
    places = [paths.TOOLS / part.replace(".", "/") for part in (name, name.rpartition(".")[0])]
    return any(place.with_suffix(".py").exists() for place in places) or places[0].is_dir()


def files(one: Document) -> Found:
    """Paths of the tree in code spans exist; so do tests by their names."""
    for block in one.blocks:
        for span in block.spans if block.kind != "code" else ():
            if re.fullmatch(rf"({'|'.join(_ROOMS)})/[\w./*{{}},\[\]-]*", span) \
                    and not _exists(span.rstrip("/")):
                yield block.line, f"there is no {span}"
            elif (match := re.fullmatch(r"(test_\w+)(\.py|\[.*\])?", span)) and not (
                    f"def {match[1]}" in _tests() or f"{match[1]}.py" in _tests()):
                yield block.line, f"there is no test {match[1]}"


def _exists(name: str) -> bool:
    """Whether a path is there; {a,b} and [ch] stand for several."""
    if choice := re.search(r"\{([^}]*)\}", name):
        return all(_exists(name[:choice.start()] + one + name[choice.end():])
                   for one in choice[1].split(","))
    pattern = re.sub(r"/$", "", name)
    return any(True for _ in paths.ROOT.glob(pattern))


@cache
def _tests() -> str:
    return "\n".join(path.read_text(encoding="utf-8") + path.name
                     for room in ("tests", "tools/tests")
                     for path in (paths.ROOT / room).rglob("test_*.py"))


@cache
def _sources() -> str:
    """Where the environment is read."""
    found = [paths.ROOT / "cint", *(paths.ROOT / "tools/cint").rglob("*.py")]
    for room in ("tests", "hw", "images", "replay", "userspace"):
        found += [path for path in (paths.ROOT / room).rglob("*")
                  if path.suffix in (".c", ".h", ".py", ".build", ".sh")]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in found
                     if path != Path(__file__))


def environment(one: Document) -> Found:
    """Variables that documents name are read somewhere."""
    for block in one.blocks:
        for name in re.findall(r"\bCINT_[A-Z_]+\b", block.text):
            if name not in _sources():
                yield block.line, f"nothing reads {name}"


@cache
def trace_events() -> tuple[str, ...]:
    """The device's trace events, from the patch that adds them."""
    patch = (paths.ROOT / "qemu-patches/10.0")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(patch.glob("*.patch")))
    return tuple(re.findall(r"^\+(pci_nvme_(?:ub_)?cint_\w+)\(", text, re.MULTILINE))


def events(one: Document) -> Found:
    """Trace events by their whole names."""
    for block in one.blocks:
        for name in re.findall(r"\bpci_nvme_(?:ub_)?cint_\w+", block.text):
            if name not in trace_events() and not any(e.startswith(name) for e in trace_events()):
                yield block.line, f"there is no trace event {name}"


def width(one: Document) -> Found:
    """Prose is wrapped; a word that is longer by itself is not at fault."""
    for block in one.blocks:
        if block.kind == "prose":
            for at, line in enumerate(block.text.split("\n"), block.line):
                if len(line) > WIDTH and len(line.split()) > 2:
                    yield at, f"{len(line)} columns; ./cint docs wrap makes lines of {WIDTH}"


CHECKS: Sequence[Callable[[Document], Found]] = (
    links, command_lines, options, device_properties, files, environment, events, width)


def problems(path: Path) -> list[str]:
    """Everything that is wrong with a document, as FILE:LINE: what."""
    one = Document(path)
    found = [(line, text) for check in CHECKS for line, text in check(one)]
    return [f"{paths.display(path)}:{line}: {text}" for line, text in sorted(found)]
