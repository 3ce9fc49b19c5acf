# SPDX-License-Identifier: GPL-2.0-or-later
"""The site: the documents as they are, every option, and a search; made by Sphinx.

The Markdown of docs/ is copied to build/docs/source, where links that leave it become plain text.
What is not written by hand is added there: the options from the parsers, the references of the
user-space library and of the coalescing engine from their headers, the navigation. The site needs
no network and no other file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cint import __version__, bootstrap, paths, steps
from cint.errors import CintError
from cint.manual import commands, reference
from cint.manual.commands import Argument, Command
from cint.manual.documents import DOCS

SOURCE = paths.BUILD / "docs/source"
SITE = paths.BUILD / "docs/site"
STYLE_FILE = Path(__file__).with_name("site.css")

#: The navigation. A test holds it against the documents that there are.
CHAPTERS = {
    "To begin with": ("tour", "tasks", "choose", "existing-vm", "faq", "glossary"),
    "The tool": ("user-guide", "compare", "run", "figure", "replay", "trace", "cluster", "scaling",
                 "options"),
    "The device": ("policies", "auto", "interface", "own-policy", "coalesce", "standard-hint",
                   "others", "papers-since", "libcint"),
    "The guest": ("guest", "apps", "mark-your-io", "hints-module", "preload", "polling",
                  "blk-switch", "userspace", "cintio", "nvme-cli"),
    "What was measured": ("figures", "measured"),
    "For the project's own people": ("contributing", "architecture", "development", "porting",
                                     "model", "cost", "mutations", "first-contact"),
}
#: Of these, what is made here.
MADE = ("options", "cintio", "coalesce")

_CONF = """\
project = "cint"
author = "cint developers"
copyright = "the cint developers, GPL-2.0-or-later"
version = release = {version!r}
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "cint"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
# Two dashes are an option, and quotes are typed.
smartquotes = False
# Blocks are terminal output and file formats.
highlight_language = "none"
"""


# ---- pages that are made --------------------------------------------------------

def _arguments(found: Sequence[Argument]) -> list[str]:
    if not found:
        return []
    return ["", "| | |", "|---|---|",
            *(f"| `{one.shown.replace('|', chr(92) + '|')}` | {reference.cell(one.help)} |"
              for one in found)]


def _verb(command: Command) -> list[str]:
    return ["", f"## {command.name}", "", f"{command.summary[:1].upper()}{command.summary[1:]}.",
            "", "```text", command.usage, "```", "", "```text", command.description, "```",
            *_arguments([*command.arguments, *command.options]), "", "```text", command.epilog,
            "```"]


def options_page() -> str:
    """Every verb with its options."""
    lines = ["# Every option", "", "Made from the parsers, as `--help` and the manual page are.",
             "", "## Common options", *_arguments(commands.common())]
    for command in commands.commands():
        lines += _verb(command)
    return "\n".join(lines) + "\n"


#: The width of a figure's drawing in the list, px.
_THUMBNAIL_PX = 220
#: A figure's row in docs/figures.md; links to it lead to its page here.
_ROW = re.compile(r'\| <a id="([\w.-]+)"></a>\[\1\]\(figures/\1\.json\) \| ([^|]*) \|')


def _with_drawing(row: re.Match[str]) -> str:
    """A row of the list that leads to the figure's page, by name and by its drawing."""
    name, title = row[1], row[2]
    page = f"(figures/{name}.md)"
    drawing = ""
    if (SOURCE / f"figures/{name}.svg").exists():
        drawing = (f'[<img src="figures/{name}.svg" width="{_THUMBNAIL_PX}" alt="{title}">]'
                   f"{page}")
    return f"| {drawing} | [{name}]{page}: {title} |"


def figures_page(text: str) -> str:
    """docs/figures.md with the figures' pages below it, in its own order, and their drawings."""
    names = [row[1] for row in _ROW.finditer(text)]
    text = re.sub(rf"\(#({'|'.join(map(re.escape, names))})\)", r"(figures/\1.md)",
                  _ROW.sub(_with_drawing, text))
    below = (f"figures/{name}" for name in names)
    return "\n".join([text, "```{toctree}", ":hidden:", "", *below, "```", ""])


#: The headers that have a page, by its name.
_HEADERS = {"cintio": paths.USERSPACE / "cintio.h",
            "coalesce": paths.OVERLAY_NVME / "coalesce/coalesce.h"}


def write_reference(page: Path) -> None:
    """Write what a header says, by apidoc.py; :class:`CintError` where that fails."""
    done = subprocess.run([sys.executable, paths.USERSPACE / "apidoc.py", _HEADERS[page.stem],
                           "markdown", page],
                          check=False, text=True, stderr=subprocess.PIPE)
    if done.returncode:
        raise CintError(done.stderr.strip())


def _navigation() -> str:
    parts = []
    for chapter, pages in CHAPTERS.items():
        parts += ["", "```{toctree}", ":hidden:", f":caption: {chapter}", "", *pages, "```"]
    return "\n".join([*parts, ""])


# ---- the source that Sphinx reads -----------------------------------------------

_OUTSIDE = re.compile(r"\[((?:[^]\[]|\[[^]]*\])*)\]"
                      r"\(((?:\.\./|own-policy/|\w+\.schema\.)[^)\s]*)\)")


#: A row of the list of figures, which is a page of its own here, or a heading there.
_FIGURE = re.compile(r"\(figures\.md#([\w.-]+)\)")
#: A link by the file's name, as one reads it in a repository.
_BY_NAME = re.compile(r"\[[\w-]+\.md\]\(([\w-]+\.md)((?:#[\w-]+)?)\)")


def staged(text: str) -> str:
    """A document for the site: links to files that are not in it are text, others have titles."""
    return _BY_NAME.sub(_by_title, _OUTSIDE.sub(r"\1", _FIGURE.sub(_to_its_page, text)))


def _to_its_page(link: re.Match[str]) -> str:
    """A link to a figure's own page; headings of the list stay there."""
    is_figure = (DOCS / f"figures/{link[1]}.json").exists()
    return f"(figures/{link[1]}.md)" if is_figure else link[0]


def _by_title(link: re.Match[str]) -> str:
    """A link with the page's title, as far as its colon, in place of its file's name."""
    title = (DOCS / link[1]).read_text("utf-8").splitlines()[0].removeprefix("# ")
    return f"[{title.partition(':')[0]}]({link[1]}{link[2]})"


def stage() -> None:
    """Write build/docs/source."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE, ignore=shutil.ignore_patterns("*.json", "*.c"))
    for path in SOURCE.rglob("*.md"):
        path.write_text(staged(path.read_text(encoding="utf-8")), encoding="utf-8")
    from cint.figures import stored  # noqa: PLC0415 - imports all figures

    stored.write(stored.pages(SOURCE / "figures"))
    figures = SOURCE / "figures.md"
    figures.write_text(figures_page(figures.read_text("utf-8")), encoding="utf-8")
    (SOURCE / "options.md").write_text(options_page(), encoding="utf-8")
    for name in _HEADERS:
        write_reference(SOURCE / f"{name}.md")
    with (SOURCE / "index.md").open("a", encoding="utf-8") as index:
        index.write(_navigation())
    (SOURCE / "_static").mkdir()
    shutil.copy(STYLE_FILE, SOURCE / "_static")
    (SOURCE / "conf.py").write_text(_CONF.format(version=__version__), encoding="utf-8")


def build() -> Path:
    """Build the site, every warning an error; return the page to open."""
    bootstrap.ensure("docs", "plots")
    stage()
    with steps.step("docs", "Build the site") as step:
        shutil.rmtree(SITE, ignore_errors=True)
        code, lines = step.run([paths.VENV / "bin/python", "-m", "sphinx", "-q", "-W",
                                "--keep-going", "-b", "html", "-d", SITE.with_name("doctrees"),
                                SOURCE, SITE], check=False)
        if code:
            wrong = [line for line in lines if "WARNING" in line or "ERROR" in line]
            raise step.fail(f"{len(wrong)} faults, the first: {(wrong or lines or ['?'])[0]}")
    return SITE / "index.html"
