# SPDX-License-Identifier: GPL-2.0-or-later
"""Help, the manual page and completion: made of the parsers, whole, and understood by shells."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cint import cli, examples, paths
from cint.device import properties, words
from cint.manual import commands, completion, man
from cint.measure import workloads

VERBS = [command.name for command in commands.commands()]


def parser_of(verb: str) -> str:
    """The whole help of a verb."""
    return next(f"{c.usage}\n{c.description}\n{c.epilog}" for c in commands.commands()
                if c.name == verb)


# ---- help and examples ------------------------------------------------------

def example_lines() -> Iterator[tuple[str, str]]:
    """Every example in any verb's help: the verb whose help it is, and the line."""
    for command in commands.commands():
        found = command.epilog.partition("examples:\n")[2].split("\n\n")[0]
        for line in found.splitlines():
            yield command.name, line.strip()


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_ends_with_examples_of_the_verb(verb: str) -> None:
    mine = [line for name, line in example_lines() if name == verb]
    assert any(line.startswith(f"./cint {verb}") for line in mine)


@pytest.mark.parametrize("line", sorted({line for _, line in example_lines()}))
def test_every_example_is_understood(line: str, tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """The parsers take it, with source trees and files where it names some."""
    for name, inside in (("linux", ("Kconfig", "drivers/nvme")), ("qemu", ("configure",
                                                                         "hw/nvme"))):
        for part in inside:
            (tmp_path / name / part).mkdir(parents=True)
    (tmp_path / "my.fio").write_text("[job]\nfilename=${DEVICE}\n")
    (tmp_path / "apps").symlink_to(paths.ROOT / "apps")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)
    words = words[:words.index(">")] if ">" in words else words
    assert words[0] == "./cint"
    args = cli.build_parser(words).parse_args(words[1:])
    assert args.verb in cli.VERBS


#: How many words a person is shown at most: a further one takes the place of one that is there.
MOST_VERBS, MOST_OPTIONS, MOST_OF_ALL = 17, 30, 162


def test_there_are_few_words_to_learn() -> None:
    shown = {verb for title, verbs in cli.GROUPS.items() if title != cli.MAINTAINERS
             for verb in verbs}
    own = {command.name: [option for option in command.options if "--help" not in option.flags]
           for command in commands.commands()}
    assert len(shown) <= MOST_VERBS
    assert max(len(options) for options in own.values()) <= MOST_OPTIONS
    assert sum(len(options) for options in own.values()) <= MOST_OF_ALL
    page = " ".join((paths.ROOT / "docs/user-guide.md").read_text("utf-8").split())
    assert f"{len(shown)} verbs are for use, {len(own) - len(shown)} for work on cint" in page
    assert f"`compare` has most options, {len(own['compare'])}" in page


def test_examples_are_of_verbs() -> None:
    assert set(examples.EXAMPLES) <= set(cli.VERBS)


def test_no_help_is_wider_than_a_terminal_with_room() -> None:
    for command in commands.commands():
        for line in f"{command.description}\n{command.epilog}".splitlines():
            assert len(line) <= 100, f"{command.name}: {line}"


# ---- the manual page ---------------------------------------------------------

@pytest.fixture(scope="module")
def page() -> str:
    """The page as a terminal shows it."""
    done = subprocess.run(["man", "--warnings=all", "-l", "-Tutf8", "-"], input=man.text(
        commands.commands()), text=True, capture_output=True, check=True,
        env={"MANWIDTH": "100", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
             "MAN_KEEP_FORMATTING": "", "GROFF_NO_SGR": "1", "MANROFFOPT": "-rHY=0"})
    assert done.stderr == ""
    return re.sub(r".\x08", "", done.stdout)


def test_the_page_has_every_verb_and_option(page: str) -> None:
    shown = re.sub(r"[\s‐]+", "", page)
    for command in commands.commands():
        assert f"cint{command.name}[options]" in shown
        for one in (*command.options, *commands.common()):
            assert re.sub(r"\s", "", one.shown.split(" ")[0]) in shown, one.shown
    for word in (*cli.ENVIRONMENT, "EXIT STATUS", "SEE ALSO"):
        assert word in page
    assert "SUPPRESS" not in page and "%(" not in page
    assert "(default: papers)" in page


def test_text_stays_text_in_roff() -> None:
    assert man._plain(".a\n'b\\n") == "\\&.a\n\\&'b\\en"
    assert man._plain("--x") == "\\-\\-x"


def test_a_new_option_is_in_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """One source: what a parser has, page and completions have."""
    new = commands.Argument(("--brandnew",), "FILE", "does it", is_file=True)
    found = [commands.Command("run", "start", "", "", "", (), (new,))]
    assert "\\-\\-brandnew" in man.text(found)
    for make in completion.SHELLS.values():
        assert "brandnew" in make(found)


# ---- completion ----------------------------------------------------------------

# What each shell does with the words of one line, before the marker that ends its answer.
_ASK = {
    "bash": """COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _cint
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": "words=({words}) CURRENT=$#words; _cint\n",
    "fish": "complete -C '{line}'\n",
}
# Outside of a widget zsh's compadd and its friends are not there: these say what they are given.
_BEFORE = {
    "bash": "", "fish": "",
    "zsh": """compdef() { }
compadd() {
  local p=
  while [[ $1 == -* ]]; do case $1 in -p) p=$2; shift 2 ;; -S) shift 2 ;; --) shift; break ;; esac
  done
  local w; for w; do [[ $p$w == ${words[CURRENT]}* ]] && print -r -- $p$w; done
}
_describe() { local w; for w in ${(P)2}; do
  [[ ${w%%:*} == ${words[CURRENT]}* ]] && print -r -- ${w%%:*}; done }
_files() { ls -d ${words[CURRENT]}* }
""",
}
_END = "end of the answer"


def ask(shell: str, lines: Sequence[str], where: Path) -> list[set[str]]:
    """What a shell offers at the end of each line."""
    script = _BEFORE[shell] + completion.SHELLS[shell](commands.commands())
    for line in lines:
        words = " ".join(shlex.quote(word) for word in line.split(" "))
        script += f"{_ASK[shell].format(words=words, line=line)}echo '{_END}'\n"
    options = {"zsh": ["-f"], "bash": ["--norc"], "fish": ["--no-config"]}[shell]
    done = subprocess.run([shell, *options], input=script, text=True, capture_output=True,
                          cwd=where, check=False,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(where), "TERM": "dumb"})
    assert done.stderr == ""
    answers = done.stdout.split(f"{_END}\n")[:-1]
    assert len(answers) == len(lines)
    return [{text.split("\t")[0] for text in answer.splitlines()} for answer in answers]


ASKED = [
    ("cint comp", {"compare", "completion"}, {"run"}),
    ("./cint -v re", {"replay", "results"}, {"run", "report"}),
    ("cint -j 3 tra", {"trace"}, {"run"}),
    ("cint compare --pol", {"--policy", "--polling"}, {"--media"}),
    ("cint compare --policy ad", {"adaptive"}, {"default"}),
    ("cint compare --policy default,ad", {"default,adaptive"}, {"default,static20"}),
    ("cint compare --time ", {"virtual", "real"}, {"optane"}),
    ("cint run --media opt", {"optane"}, {"p3700"}),
    ("cint test gu", {"guest"}, {"unit"}),
    ("cint test unit mo", {"model"}, {"unit"}),
    ("cint figure vic-tab", {"vic-tab1"}, {"cint-fig8"}),
    ("cint patches che", {"check"}, {"refresh"}),
    ("cint compare --fio my", {"my.fio"}, {"--media"}),
    ("cint compare --no-col", {"--no-color"}, {"--policy"}),
    ("cint completion ", {"bash", "zsh", "fish"}, {"run"}),
    ("cint compare --label ", set(), {"my.fio", "compare"}),
]
#: What only bash and zsh know: what is in a list already, and parameters.
LISTED = [
    ("cint compare --workload sync,", {"sync,async"}, {"sync,sync"}),
    ("cint compare --policy adaptive:", {"adaptive:delta=", "adaptive:thr="},
     {"adaptive:epoch=", "adaptive:"}),
    ("cint compare --policy default,vic:ep", {"default,vic:epoch="}, {"default,vic:delta="}),
    ("cint compare --policy adaptive:delta=1us,th", {"adaptive:delta=1us,thr="},
     {"adaptive:delta=1us,epoch="}),
]


def test_every_policy_is_offered() -> None:
    compare = next(one for one in commands.commands() if one.name == "compare")
    offered = next(one.words for one in compare.options if "--policy" in one.flags)
    assert {*words.POLICIES, *properties.DEFAULT_POLICIES.split(","), "stock"} == set(offered)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion(shell: str, tmp_path: Path) -> None:
    assert shutil.which(shell), "the suite installs it"
    (tmp_path / "my.fio").touch()
    (tmp_path / "cint").touch(mode=0o755)
    answers = ask(shell, [line for line, _, _ in ASKED], tmp_path)
    for found, (line, offered, not_offered) in zip(answers, ASKED, strict=True):
        assert offered <= found, line
        assert not found & not_offered, line


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_of_lists_and_parameters(shell: str, tmp_path: Path) -> None:
    answers = ask(shell, [line for line, _, _ in LISTED], tmp_path)
    for found, (line, offered, not_offered) in zip(answers, LISTED, strict=True):
        assert offered <= found, line
        assert not found & not_offered, line


@pytest.mark.parametrize(("line", "offered"), [
    ("cint run --media=op", {"optane"}), ("cint compare --policy adaptive:de", {"delta="}),
    ("cint compare --policy=default,vic:ep", {"epoch="}), ("cint run --media op", {"optane"})])
def test_bash_breaks_words_at_colons_and_equals_signs(line: str, offered: set[str],
                                                      tmp_path: Path) -> None:
    """It replaces only what is behind the last of them, so that is what it has to be given."""
    script = completion.SHELLS["bash"](commands.commands())
    script += (f"COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}\n"
               "COMP_WORDS=(cint x) COMP_CWORD=1; _cint; printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = subprocess.run(["bash", "--norc"], input=script, text=True, capture_output=True,
                          cwd=tmp_path, check=False)
    assert (set(done.stdout.split()), done.stderr) == (offered, "")


def test_completion_verb_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "fish"]) == 0
    assert capsys.readouterr().out == completion.fish(commands.commands())


def test_docs_man_writes_the_page(sandbox: Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(man, "FILE", sandbox / "build/docs/cint.1")
    assert cli.main(["docs", "man"]) == 0
    assert capsys.readouterr().out.strip() == paths.display(man.FILE)
    assert man.FILE.read_text("utf-8") == man.text(commands.commands())


def test_every_workload_is_completed() -> None:
    assert commands._WORDS["--workload"]() == list(workloads.BUILT_IN)
