# SPDX-License-Identifier: GPL-2.0-or-later
"""The policy language: the tool's parser and cint-replay's take the same words for the same."""

import ast
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping

import pytest

from cint import paths
from cint.device import params, properties, words
from cint.device.words import Value
from cint.errors import UsageError


def ours(text: str, k: float, extras: str) -> dict[str, Value] | None:
    """The device properties, as the tool reads the words; None where it refuses them."""
    try:
        found = properties.policy_properties(properties.parse_policy(text), k, extras)
    except UsageError:
        return None
    policy = properties.parse_policy(text).kind
    return {"policy": policy} | {name.removeprefix("cint."): v for name, v in found.items()}


def run_program(text: str, k: float, extras: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([paths.REPLAY, "--json", "--extras", extras, "--cpu-scale", f"{k:g}",
                           "--policy", text], input="", text=True, capture_output=True,
                          timeout=60, check=False)


def theirs(text: str, k: float, extras: str) -> Mapping[str, Value] | None:
    """The parameters of the policy, as cint-replay reads the words; None where it refuses them."""
    done = run_program(text, k, extras)
    if done.returncode:
        assert done.returncode == 2 and done.stderr.startswith("cint-replay: error: --policy ")
        return None
    summary = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert len(summary["policies"]) == 1
    found: dict[str, Value] = summary["policies"][0]["parameters"]
    return found


def read_alike(text: str, k: float, extras: str) -> bool:
    """Whether both take the words; fail where they do not agree."""
    mine, found = ours(text, k, extras), theirs(text, k, extras)
    assert (mine is None) == (found is None), (text, k, extras, mine, found)
    if mine is not None and found is not None:
        said = {name: {"on": True, "off": False}.get(str(value), value)
                if isinstance(found[name], bool) else value for name, value in mine.items()}
        assert said == {name: found[name] for name in said}, (text, k, extras)
    return mine is not None


#: Of today's documents and of those before: each stays valid.
GOOD = [
    "default", "static", "static100", "static20", "static6", "adaptive", "vic", "cint",
    "cint+ooo", "pointer", "static:time=50us,thr=16", "static20:thr=8",
    "static:static-time=20000,static-thr=16", "static:drain=off,max-hold=0,static-time=20000",
    "default:each-cqe=off", "default:static-time=5us,static-thr=4", "adaptive:delta=10us,thr=64",
    "adaptive:delta=1.5us", "adaptive:delta=0.0015ms", "adaptive:delta=10000,thr=0",
    "adaptive:drain=on,max-hold=1ms", "adaptive:storm=retune,max-irq-rate=90000",
    "vic:cif-threshold=2,epoch=100ms", "vic:epoch=50,iops-threshold=0,max-skip=16",
    "vic:scope=cq,ratios=coarse", "vic:vic-scope=cq,vic-ratios=coarse", "vic:max-hold=1ms",
    "vic:ratios=adaptive", "vic:iops-threshold=12345", "cint:delta=10us,barrier=strict",
    "cint:ooo=on", "cint:infer=all,max-hold=0", "cint+ooo:ooo=on", "static20:time=20us,thr=3",
    "cint:ewma-shift=5,kick-window=20us",
    "cint+ooo:delta=1ms,thr=1024,max-hold=10ms", "pointer:max-hold=50000",
]
#: What is refused, and a word that the message of both has to name.
BAD = [
    ("adaptve", "adaptive"), ("cint+oo", "cint+ooo"), ("pionter", "pointer"), ("", "default"),
    ("Default", "default"), ("static1.5", "static"), ("static-5", "static"), ("static0", "thr"),
    ("static2000000", "1s"), ("static:tiem=5us", "time"), ("static:", "time"),
    ("static:time", "="), ("static:time=5", "us"), ("static:time=5min", "ms"),
    ("static:thr=0", "static-time"), ("default:static-thr=4", "static-time"),
    ("default:thr=3", "static-thr"), ("adaptive:delta=-1us", "1s"),
    ("adaptive:delta=1.5", "ns"), ("adaptive:delta=1001ms", "1s"), ("adaptive:delta=.5us", "ns"),
    ("adaptive:delta=6us,", "adaptive"), ("adaptive:delay=6us", "delta"),
    ("adaptive:thr=65536", "65535"), ("adaptive:drain=maybe", "auto"),
    ("adaptive:barrier=strict", "delta"), ("vic:epoch=1500us", "60s"), ("vic:epoch=0", "1ms"),
    ("vic:max-hold=0", "max-hold"), ("pointer:max-hold=0us", "max-hold"),
    ("vic:scope=queue", "controller"), ("cint:barier=strict", "barrier"),
    ("cint:ooo=maybe", "off"), ("cint:ewma-shift=0", "16"), ("cint:policy=vic", "delta"),
    ("cint+ooo:ooo=off", "the name cint+ooo says"), ("static20:time=5us", "the name static20 says"),
]


@pytest.mark.parametrize("k", [1, 2.831, 3])
@pytest.mark.parametrize("extras", properties.EXTRAS)
def test_words_mean_the_same(extras: str, k: float) -> None:
    for text in GOOD:
        assert read_alike(text, k, extras), (text, k, extras)


@pytest.mark.parametrize(("text", "named"), BAD, ids=[text for text, _ in BAD])
def test_mistakes_are_refused_alike(text: str, named: str) -> None:
    assert not read_alike(text, 1, "papers")
    with pytest.raises(UsageError) as caught:
        properties.policy_properties(properties.parse_policy(text), 1)
    assert named in caught.value.message
    assert named in run_program(text, 1, "papers").stderr


@pytest.mark.parametrize("text", ["adaptve", "cint+oo", "pionter", "adaptive:delay=6us",
                                  "cint:barier=strict", "static:tiem=5us"])
def test_both_suggest_the_nearest_word(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        properties.parse_policy(text)
    _, found, suggested = caught.value.message.partition("did you mean ")
    assert found
    assert f"did you mean {suggested.partition('?')[0]}?" in run_program(text, 1, "papers").stderr


def _values(parameter: words.Parameter) -> Iterator[str]:
    """The ends of a parameter's range, and what lies just beyond."""
    yield from parameter.values
    if not parameter.values:
        for number in {parameter.low - 1, parameter.low, parameter.low + 1, parameter.high - 1,
                       parameter.high, parameter.high + 1}:
            yield f"{number}"
            yield f"{number}{parameter.unit.strip()}"
    yield from ("", "on", "auto", "1us", "7", "0", "1e3", "0x10", " 5", "5 us")


@pytest.mark.parametrize("kind", [kind for kind in words.PARAMETERS if kind != "stock"])
def test_every_parameter_has_the_same_range(kind: str) -> None:
    taken = 0
    for parameter in words.PARAMETERS[kind].values():
        for value in _values(parameter):
            taken += read_alike(f"{kind}:{parameter.word}={value}", 1, "papers")
    assert taken > len(words.PARAMETERS[kind])


def test_every_policy_refuses_the_others_parameters() -> None:
    every = {word for table in words.PARAMETERS.values() for word in table}
    for kind, table in words.PARAMETERS.items():
        for word in (every - set(table)) if kind != "stock" else ():
            assert not read_alike(f"{kind}:{word}=7", 1, "papers"), (kind, word)


def test_a_scale_may_make_a_value_too_large() -> None:
    for text in ("static:time=900ms", "vic:epoch=10s", "adaptive:max-hold=9s"):
        assert read_alike(text, 1, "papers")
        assert not read_alike(text, 16, "papers")


def test_lists_split_alike() -> None:
    text = "default,static:time=50us,thr=16, adaptive:delta=1us,cint"
    done = run_program(text, 1, "papers")
    found = json.loads(done.stdout.splitlines()[-1])["summary"]["policies"]
    assert [one["policy"] for one in found] == properties.split_list(text)
    assert len(found) == 4


def test_old_extras_leave_the_rest_to_the_engine() -> None:
    """--extras on and off: cint has ooo=on, as the engine has it."""
    for extras in ("on", "off"):
        found = theirs("cint", 1, extras)
        assert found is not None and found["ooo"] is True
    for extras in properties.EXTRAS:
        found = theirs("cint", 1, extras)
        assert found is not None and found["ooo"] is False


#: Names that only the lists may say: a rule of the language is about one of them.
NAMES = {*params.ALL, *words.POLICIES, *(line[0] for line in words.lines_of("ALIAS"))}
#: Of the tool's own, no rules of the language: what a row is called, what a guest without hints
#: has or one that takes out of order is to have, and what the engine refuses as well, said before a
#: guest boots.
NO_RULES = {"_label", "typed", "inferred", "out_of_order", "parse_policy", "device_properties",
            "_check_released"}


def named_in(texts: Iterable[str]) -> set[str]:
    return {text for text in texts if text.removeprefix("cint.") in NAMES}


def strings(tree: ast.AST) -> Iterator[str]:
    return (node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_no_rule_is_written_in_a_parser() -> None:
    """What names a policy or a parameter is a line of a list that both read."""
    code = re.sub(r"/\*.*?\*/", "", (paths.REPLAY_SRC / "words.c").read_text("utf-8"), flags=re.S)
    assert named_in(re.findall(r'"([^"]*)"', code)) == set()
    assert named_in(strings(ast.parse((paths.TOOLS / "cint/device/words.py").read_text()))) == set()
    functions = {node.name: named_in(strings(node)) for node in ast.walk(ast.parse(
        (paths.TOOLS / "cint/device/properties.py").read_text()))
        if isinstance(node, ast.FunctionDef)}
    assert {name for name, found in functions.items() if found} == NO_RULES


@pytest.mark.parametrize("line", ['if (!strcmp(name, "max-hold"))', 'x = the_param("ooo");'])
def test_a_rule_in_a_parser_is_seen(line: str) -> None:
    assert named_in(re.findall(r'"([^"]*)"', line))
