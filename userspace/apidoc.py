#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a header says of itself, as manual pages, in Markdown, or as a program.

    apidoc.py HEADER list              names of the manual pages
    apidoc.py HEADER man DIRECTORY     the manual pages
    apidoc.py HEADER markdown FILE     the reference
    apidoc.py HEADER example FILE      the first example, as the lines of a function
    apidoc.py HEADER functions         names of the functions

The comments have the form of the kernel's kernel-doc: a name, members or parameters, paragraphs,
"Context:" and "Return:". A paragraph that ends with two colons is followed by lines as they are.
The library has its header's name: cintio.h declares cintio_open(), CINTIO_VERSION and so on. The
first comment of the header says in a line what it is: "cintio: an NVMe driver that sleeps."
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path


class FaultError(Exception):
    """The header is not as it should be."""


@dataclass
class Entry:
    """A comment and what it is about; a DOC section has no code."""

    kind: str                   # doc, function, struct, enum, typedef
    name: str
    brief: str = ""
    members: dict[str, str] = field(default_factory=dict)
    #: Paragraphs; a list is lines as they are.
    text: list[str | list[str]] = field(default_factory=list)
    context: str = ""
    returns: str = ""
    code: str = ""


# ---- reading --------------------------------------------------------------------

_COMMENT = re.compile(r"^/\*\*\n(.*?)^ \*/\n", re.DOTALL | re.MULTILINE)
_HEAD = re.compile(r"(?:(DOC): (.+)|(struct|enum|typedef) (\w+) - (.+)|(\w+)\(\) - (.+))$")


def _lines(comment: str) -> list[str]:
    return [re.sub(r"^ \* ?", "", line) for line in comment.splitlines()]


def _paragraphs(lines: list[str]) -> list[str | list[str]]:
    """Paragraphs of a text; lines that are indented behind "::" stay as they are."""
    found: list[str | list[str]] = []
    for line in lines:
        last = found[-1] if found else ""
        if isinstance(last, list) and (not line or line.startswith("    ")):
            last.append(line[4:])
        elif not line:
            literal = isinstance(last, str) and last.endswith("::")
            if literal:
                found[-1] = str(last)[:-1]
            found.append([] if literal else "")
        elif isinstance(last, list):
            found.append(line)
        elif found:
            found[-1] = f"{last} {line}".strip()
        else:
            found.append(line)
    return [("\n".join(part).strip("\n").split("\n") if isinstance(part, list) else part)
            for part in found if part]


def _declaration(text: str, kind: str) -> str:
    """The code behind a comment, as far as it goes."""
    end = r"^\};\n" if kind in ("struct", "enum") else r";\n|\n\{\n"
    found = re.search(end, text, re.MULTILINE)
    if not found:
        raise FaultError("a comment with no code behind it")
    # a function that is defined where it stands is shown as it is declared
    inline = text[found.start()] == "\n"
    return f"{text[:found.start()]};" if inline else text[:found.end()].strip()


def _members(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Members at the beginning, and the other lines."""
    members: dict[str, str] = {}
    name = ""
    for at, line in enumerate(lines):
        start = re.match(r"@(\w+): (.*)", line)
        if start:
            name = start[1]
            members[name] = start[2]
        elif name and re.match(r" +\S", line):
            members[name] += " " + line.strip()
        else:
            return members, lines[at:]
    return members, []


def _entry(comment: str, behind: str) -> Entry:
    lines = _lines(comment)
    head = _HEAD.match(lines[0])
    if not head:
        raise FaultError(f"a comment that begins with \"{lines[0]}\"")
    doc, title, kind, type_name, type_brief, function, brief = head.groups()
    if doc:
        return Entry("doc", title, text=_paragraphs(lines[2:]))
    entry = Entry(kind or "function", type_name or function, type_brief or brief)
    entry.members, rest = _members(lines[1:])
    for part in _paragraphs(rest):
        label = re.match(r"(Context|Return): (.*)", part) if isinstance(part, str) else None
        if label and label[1] == "Return":
            entry.returns = label[2]
        elif label:
            entry.context = label[2]
        else:
            entry.text.append(part)
    entry.code = _declaration(behind, entry.kind)
    return entry


def _parameters(entry: Entry) -> list[str]:
    """Names that the code has and the comment should have."""
    opening, closing = "()" if entry.kind in ("function", "typedef") else "{}"
    inside = entry.code[entry.code.rindex(opening) + 1:entry.code.rindex(closing)]
    if entry.kind == "enum":
        return re.findall(r"^\s*(\w+)", inside, re.MULTILINE)
    parts = re.split(r"[,;]", inside)
    return [name for part in parts if part.strip() not in ("", "void")
            for name in re.findall(r"(\w+)(?:\[\w+\])?\s*$", part.strip())]


def read(header: Path) -> list[Entry]:
    """All that the header documents, in its order; FaultError if it leaves something out."""
    text = header.read_text("utf-8")
    entries = [_entry(found[1], text[found.end():]) for found in _COMMENT.finditer(text)]
    named = {entry.name for entry in entries}
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for kind, name in re.findall(
            r"^(?:typedef .*\(\*(?P<t>\w+)\)|(?:[A-Za-z]\w*[ *]+)+(\w+)\()", bare, re.MULTILINE):
        if (kind or name) not in named:
            raise FaultError(f"{kind or name} has no comment")
    for entry in entries:
        if entry.kind != "doc" and _parameters(entry) != list(entry.members):
            raise FaultError(f"{entry.name} has {', '.join(_parameters(entry))}, and its comment "
                        f"{', '.join(entry.members)}")
    return entries


@dataclass(frozen=True)
class Library:
    """Whose pages are made."""

    name: str
    brief: str
    version: str


def library_of(header: Path) -> Library:
    """The library of a header; FaultError if that does not say what it is."""
    text, name = header.read_text("utf-8"), header.stem
    brief = re.search(rf"^ \* {name}: (.*)\.$", text, re.MULTILINE)
    version = re.search(rf'{name.upper()}_VERSION\s+"(.*)"', text)
    if not brief or not version:
        raise FaultError(f"no line \"{name}: what it is.\", or no {name.upper()}_VERSION")
    return Library(name, brief[1], version[1])


# ---- manual pages ---------------------------------------------------------------

def _roff(text: str) -> str:
    """Text as roff: names stand out, nothing is taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"\b([a-z]\w*_\w+)\(\)", r"\\fB\1\\fP(3)", text)
    text = re.sub(r"@(\w+)", r"\\fI\1\\fP", text)
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fP", text)


def _guard(line: str) -> str:
    return "\\&" + line if line[:1] in (".", "'") else line


def _literal(lines: list[str]) -> list[str]:
    return [".PP", ".in +4n", ".nf",
            *(_guard(line.replace("\\", "\\e").replace("-", "\\-")) for line in lines),
            ".fi", ".in"]


def _body(parts: list[str | list[str]]) -> list[str]:
    lines: list[str] = []
    for part in parts:
        lines += [".PP", _guard(_roff(part))] if isinstance(part, str) else _literal(part)
    return lines


def _tagged(members: dict[str, str]) -> list[str]:
    return [line for name, text in members.items()
            for line in (".TP", f"\\fI{name}\\fP", _guard(_roff(text)))]


def _page(name: str, brief: str, library: Library, lines: list[str], others: str) -> str:
    return "\n".join([f'.TH {name.upper()} 3 "" "{library.name} {library.version}"', ".nh",
                      ".SH NAME",
                      f"{name} \\- {_roff(brief)}", *lines, ".SH SEE ALSO", others]) + "\n"


def _function_page(entry: Entry, library: Library) -> str:
    lines = [".SH SYNOPSIS", ".nf", f"#include <{library.name}.h>", "",
             *(_guard(line.replace("-", "\\-")) for line in entry.code.splitlines()), ".fi"]
    if entry.members:
        lines += [".SH PARAMETERS", *_tagged(entry.members)]
    if entry.text:
        lines += [".SH DESCRIPTION", *_body(entry.text)[1:]]
    if entry.context:
        lines += [".SH CONTEXT", _roff(entry.context)]
    if entry.returns:
        lines += [".SH RETURN VALUE", _roff(entry.returns)]
    return _page(entry.name, entry.brief, library, lines,
                 f".BR {library.name} (3),\n.BR {library.name}_types (3)")


def _types_page(entries: list[Entry], library: Library) -> str:
    lines = [".SH SYNOPSIS", ".nf", f"#include <{library.name}.h>", ".fi"]
    for entry in entries:
        if entry.kind in ("struct", "enum", "typedef"):
            lines += [f'.SH "{entry.kind} {entry.name}"', _guard(_roff(entry.brief)) + ".",
                      *_literal(entry.code.splitlines()), *_tagged(entry.members)]
    return _page(f"{library.name}_types", f"structures and constants of {library.name}", library,
                 lines, f".BR {library.name} (3)")


def _overview_page(entries: list[Entry], library: Library) -> str:
    lines = [".SH SYNOPSIS", ".nf", f"#include <{library.name}.h>", "",
             f"cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs {library.name})", ".fi"]
    for entry in entries:
        if entry.kind == "doc":
            lines += [f".SH {entry.name.upper()}", *_body(entry.text)[1:]]
    lines += [".SH FUNCTIONS"]
    for entry in entries:
        if entry.kind == "function":
            lines += [".TP", f"\\fB{entry.name}\\fP(3)", _guard(_roff(entry.brief))]
    return _page(library.name, library.brief, library, lines, f".BR {library.name}_types (3)")


def manual(entries: list[Entry], library: Library) -> dict[str, str]:
    """Pages by file name."""
    pages = {f"{library.name}.3": _overview_page(entries, library),
             f"{library.name}_types.3": _types_page(entries, library)}
    for entry in entries:
        if entry.kind == "function":
            pages[f"{entry.name}.3"] = _function_page(entry, library)
    return pages


# ---- Markdown -------------------------------------------------------------------

def _markdown(text: str) -> str:
    text = text.replace("<", "&lt;")
    text = re.sub(r"@(\w+)", r"`\1`", text)
    return re.sub(r"(?<!`)\b([a-z]\w*_\w+\(\)|(?:CINT|CINTIO|LIBCINT|NVME_CINT)_\w+\*?)", r"`\1`",
                  text)


def _blocks(parts: list[str | list[str]]) -> list[str]:
    lines: list[str] = []
    for part in parts:
        lines += ["", _markdown(part)] if isinstance(part, str) else ["", "```c", *part, "```"]
    return lines


def markdown(entries: list[Entry], header: str) -> str:
    """The reference."""
    lines = [f"# {header}", "", "Made from the comments of the header."]
    for entry in entries:
        if entry.kind == "doc":
            lines += ["", f"## {entry.name}", *_blocks(entry.text)]
            continue
        title = f"{entry.name}()" if entry.kind == "function" else f"{entry.kind} {entry.name}"
        brief = _markdown(entry.brief[:1].upper() + entry.brief[1:])
        lines += ["", f"### {title}", "", f"{brief}.", "",
                  "```c", *entry.code.splitlines(), "```"]
        if entry.members:
            rows = (f"| `{name}` | {_markdown(text).replace('|', chr(92) + '|')} |"
                    for name, text in entry.members.items())
            lines += ["", "| | |", "|---|---|", *rows]
        lines += _blocks(entry.text)
        lines += ["", f"Context: {_markdown(entry.context)}"] if entry.context else []
        lines += ["", f"Return: {_markdown(entry.returns)}"] if entry.returns else []
    return "\n".join(lines) + "\n"


# ---- the example ----------------------------------------------------------------

def example(entries: list[Entry]) -> str:
    """The first one."""
    for entry in entries:
        for part in entry.text:
            if isinstance(part, list):
                return "\n".join(part) + "\n"
    raise FaultError("no example")


def main(argv: list[str]) -> int:
    """Command line; 0 done, 1 the header is not as it should be, 2 wrong words."""
    if len(argv) < 3 or argv[2] not in ("list", "man", "markdown", "example", "functions") or \
            len(argv) != (3 if argv[2] in ("list", "functions") else 4):
        print(__doc__, file=sys.stderr)
        return 2
    header, verb = Path(argv[1]), argv[2]
    try:
        entries = read(header)
        if verb == "list":
            print("\n".join(manual(entries, library_of(header))))
        elif verb == "functions":
            print("\n".join(entry.name for entry in entries if entry.kind == "function"))
        elif verb == "man":
            Path(argv[3]).mkdir(parents=True, exist_ok=True)
            for name, text in manual(entries, library_of(header)).items():
                (Path(argv[3]) / name).write_text(text, "utf-8")
        else:
            text = markdown(entries, header.name) if verb == "markdown" else example(entries)
            Path(argv[3]).write_text(text, "utf-8")
    except (OSError, FaultError) as problem:
        print(f"apidoc.py: {header}: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
