# SPDX-License-Identifier: GPL-2.0-or-later
"""config.py: a person's own defaults."""

import argparse
from pathlib import Path
from types import SimpleNamespace

import pytest

from cint import cli, config
from cint.errors import UsageError

KNOWN = ["--media", "--vcpus", "--quick", "--job", "--cpu-scale"]


def words(text: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of `compare`, where the file has this text."""
    path.write_text(text)
    monkeypatch.setenv(config.VARIABLE, str(path))
    return config.words("compare", {"compare", "run"}, KNOWN)


@pytest.mark.parametrize(("text", "found"), [
    ("", []),
    ("[run]\nmemory = 1\n", []),
    ("[compare]\nmedia = 'p3700'\nvcpus = 2\nquick = true\ncpu-scale = 2.5\n",
     ["--media=p3700", "--vcpus=2", "--quick", "--cpu-scale=2.5"]),
    ("[compare]\njob = ['randread', 'write:bs=8k']\n", ["--job=randread", "--job=write:bs=8k"]),
])
def test_options_of_a_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str,
                           found: list[str]) -> None:
    assert words(text, tmp_path / "c", monkeypatch) == found


@pytest.mark.parametrize(("text", "said"), [
    ("[compaer]\n", "[compaer]: no command of cint is called so"),
    ("run = 3\n", "run: stands outside of a table"),
    ("[compare]\nmeda = 'x'\n",
     "[compare] meda: compare has no option --meda; did you mean --media?"),
    ("[compare]\nquick = false\n", "[compare] quick: must be a text, a number, true"),
    ("[compare]\nmedia = ''\n", "[compare] media: must be"),
    ("[compare]\njob = [{a = 1}]\n", "[compare] job: must be"),
    ("media = \n", "not TOML: Invalid value"),
])
def test_what_is_wrong_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str,
                                      said: str) -> None:
    with pytest.raises(UsageError) as caught:
        words(text, tmp_path / "c", monkeypatch)
    assert str(caught.value).startswith(f"{tmp_path / 'c'}: ")
    assert said in str(caught.value)


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(config.VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config.words("run", {"run"}, KNOWN) == []
    (tmp_path / "cint.toml").write_text("[run]\nvcpus = 4\n")
    assert config.words("run", {"run"}, KNOWN) == ["--vcpus=4"]
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    assert config.place() == Path("~/.config/cint.toml").expanduser()
    monkeypatch.setenv(config.VARIABLE, "")
    assert config.place() is None
    assert config.words("run", {"run"}, KNOWN) == []
    monkeypatch.setenv(config.VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match=r"CINT_CONFIG=.*nothing: there is no such file"):
        config.words("run", {"run"}, KNOWN)


def test_what_is_typed_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the verb, behind it, and behind `--` where words are not cint's."""
    seen: list[argparse.Namespace] = []

    def declare(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--vcpus")
        parser.add_argument("words", nargs="*")

    def run(args: argparse.Namespace) -> int:
        seen.append(args)
        return 0

    monkeypatch.setattr(cli, "load", lambda _: SimpleNamespace(declare=declare, run=run))
    (tmp_path / "c").write_text("[run]\nvcpus = 4\nverbose = true\n")
    monkeypatch.setenv(config.VARIABLE, str(tmp_path / "c"))
    for typed in (["run"], ["-j", "2", "run", "--vcpus", "8", "--", "--vcpus", "run"]):
        assert cli.main(typed) == 0
    assert [one.vcpus for one in seen] == ["4", "8"]
    assert [one.words for one in seen] == [[], ["--vcpus", "run"]]
    assert seen[1].jobs == 2
    assert all(one.verbose for one in seen)
