# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies and media as a person types them, and the device properties they mean.

A policy is typed as a name (``adaptive``), a name with a number in
microseconds (``static20``) or a free form (``static:time=50us,thr=16``).  All
values here are *reported* values; :func:`device_properties` applies the CPU
scale (see scale.py) when it makes the QEMU command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cint import paths, units
from cint.device import params, scale, words
from cint.errors import UsageError

Value = words.Value

DEFAULT_POLICIES = "default,static100,static20,adaptive,vic,cint,cint+ooo"
#: For guests whose driver gives no hints, and so has no handler for the urgent class either.
HINTLESS_POLICIES = "default,static100,static20,adaptive,vic,cint"
# The device's own max-hold. Policies without a timer of their own cannot have it off.
MAX_HOLD_NS = params.ALL["max-hold"].default
TIMERLESS = tuple(kind for kind, reads in words.POLICIES.items() if "max-hold" in reads)

# One line of tool output cannot hold more, and each policy costs a boot.
MAX_POLICIES = 32

#: What goes on beside a policy: as the papers' figures have it, or as the device does.
EXTRAS = ("papers", "device")
DEFAULT_EXTRAS = "papers"


@dataclass(frozen=True)
class Policy:
    """One policy with its parameters.

    ``name`` is what identifies the policy in tables and results; ``kind`` is
    ``stock`` (no cint at all) or a value of ``cint.policy``; ``properties``
    are device properties with reported values. ``latency`` is the policy of
    queues for I/O of the realtime class, where that is another one.
    """

    name: str
    kind: str
    label: str
    properties: Mapping[str, Value]
    latency: Policy | None = None

    @property
    def out_of_order(self) -> bool:
        """Whether completions are taken out of order, urgent ones first."""
        return self.properties.get("cint.ooo") == "on"


def slug(name: str) -> str:
    """A policy's name, made safe as a directory name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


@dataclass(frozen=True)
class Media:
    """A media profile: times in ns, bandwidth in bytes per second.

    0 units means as many as there are commands, 0 bandwidth no limit.
    """

    name: str
    read_ns: int
    write_ns: int
    units: int = 0
    spread_ns: int = 0
    jitter_ns: int = 0
    read_per_kib_ns: int = 0
    write_per_kib_ns: int = 0
    read_bandwidth: int = 0
    write_bandwidth: int = 0
    overrides: tuple[tuple[str, Value], ...] = ()

    @property
    def profile(self) -> str:
        """The name of the device's own profile."""
        return self.name.partition(":")[0]


# ---- values -------------------------------------------------------------

Parser = Callable[[str, str], Value]


def _number(low: int, high: int) -> Parser:
    return lambda text, what: units.parse_count(text, what, low, high)


_parse_count = _number(0, 65535)
_parse_int = _number(0, 10**18 - 1)

#: Defaults of the policies' own parameters. Those of the device are here because they are scaled.
_SAID: dict[str, Value] = {
    **{p.prop: p.default for p in params.ALL.values() if p.kind == "UINT" and p.default},
    **{f"cint.{name}": int(value) for name, value in words.lines_of("MEANT")},
    **{f"cint.{name}": "off" for [name] in words.lines_of("MEANT_OFF")},
}
_DEFAULTS: dict[str, dict[str, Value]] = {
    kind: {f"cint.{name}": _SAID[f"cint.{name}"] for name in reads
           if f"cint.{name}" in _SAID and name != "max-hold"}
    for kind, reads in words.POLICIES.items()}
#: These are without coalescing.
_DEFAULTS |= {"stock": {}, "default": {}}
#: Names for a policy with some of its parameters.
ALIASES: dict[str, tuple[str, dict[str, Value]]] = {
    alias: (kind, {f"cint.{name}": params.ALL[name].value(int(number))})
    for alias, kind, name, number in words.lines_of("ALIAS")}


def _media_time(text: str, what: str) -> int:
    """A time in ns; none needs no unit."""
    return 0 if text == "0" else units.parse_time(text, what)


# What may follow a media name: the field it overrides, or None when it has no
# field here and is handed on as it is.
_MEDIA_KEYS: dict[str, tuple[str | None, Parser]] = {
    "read-latency": ("read_ns", _media_time),
    "write-latency": ("write_ns", _media_time),
    "read-per-kib": ("read_per_kib_ns", _media_time),
    "write-per-kib": ("write_per_kib_ns", _media_time),
    "spread": ("spread_ns", _media_time),
    "jitter": ("jitter_ns", _media_time),
    "units": ("units", _parse_count),
    "read-bandwidth": ("read_bandwidth", _parse_int),
    "write-bandwidth": ("write_bandwidth", _parse_int),
    "slots": (None, _parse_count),
    "seed": (None, _parse_int),
}
_SHOWN = {"static": "static<us> (static100, static20)", "cint": "cint, cint+ooo"}
#: Two policies, for queues by class of I/O (--steering): ``split:l=cint,t=adaptive``.
SPLIT = "split"
_SPLIT_PART = re.compile(r"\s*[lt]=")
_SPLIT = re.compile(r"l=(?P<l>.+),t=(?P<t>.+)|t=(?P<t2>.+),l=(?P<l2>.+)")
#: What a device's policy may be; a comparison knows more.
ONE_POLICY_HELP = (f"{', '.join(_SHOWN.get(kind, kind) for kind in words.POLICIES)}, or "
                   "static:time=50us,thr=16, adaptive:delta=10us,thr=64, "
                   "vic:cif-threshold=2,epoch=100ms and cint:barrier=strict,max-irq-rate=100000")
POLICY_HELP = (f"{ONE_POLICY_HELP}; stock (with --time real), "
               "and with --steering split:l=cint,t=adaptive")

_MEDIA_LINE = re.compile(r'^MEDIA\("(\w+)", \w+, ([\d, ]+)\),$', re.MULTILINE)


def read_profiles(text: str) -> dict[str, Media]:
    """The media profiles of model/media-list.h, by name."""
    found = {}
    for name, numbers in _MEDIA_LINE.findall(text):
        (read, write, at_once, spread, jitter, read_kib, write_kib, read_rate,
         write_rate) = map(int, numbers.split(","))
        found[name] = Media(name, read_ns=read, write_ns=write, units=at_once, spread_ns=spread,
                            jitter_ns=jitter, read_per_kib_ns=read_kib, write_per_kib_ns=write_kib,
                            read_bandwidth=read_rate, write_bandwidth=write_rate)
    return found


#: The device's own profiles. It is given every latency explicitly, multiplied by the CPU scale.
PROFILES = read_profiles((paths.OVERLAY_NVME / "model/media-list.h").read_text("utf-8"))


def media_as_markdown() -> str:
    """The profiles as a table (docs/interface.md has it)."""
    lines = ["| profile | read | write | per KiB read, write | units | spread | jitter | "
             "bandwidth read, write |", "|---|---|---|---|---|---|---|---|"]
    for m in PROFILES.values():
        per_kib = f"{m.read_per_kib_ns}, {m.write_per_kib_ns}"
        rates = f"{m.read_bandwidth / 1e9:g}, {m.write_bandwidth / 1e9:g} GB/s"
        lines.append(
            f"| {m.name} | {m.read_ns} | {m.write_ns} | "
            f"{per_kib if m.read_per_kib_ns or m.write_per_kib_ns else ''} | {m.units or 'any'} | "
            f"{m.spread_ns or ''} | {m.jitter_ns or ''} | "
            f"{rates if m.read_bandwidth or m.write_bandwidth else ''} |")
    return "\n".join(lines) + "\n"



# ---- policies -----------------------------------------------------------

def split_list(text: str) -> list[str]:
    """Split ``default,static:time=50us,thr=16`` at the commas between names.

    A piece such as ``thr=16`` belongs to the name before it, and so does ``t=vic:epoch=1ms``.
    """
    parts: list[str] = []
    for piece in text.split(","):
        if parts and "=" in piece and (":" not in piece or _SPLIT_PART.match(piece)):
            parts[-1] += "," + piece
        else:
            parts.append(piece)
    return [p.strip() for p in parts]


def _settings(text: str, owner: str, keys: Mapping[str, Parser]) -> dict[str, Value]:
    """Parse ``k=v,k=v`` with the parsers in ``keys``."""
    values: dict[str, Value] = {}
    for item in text.split(","):
        key, sep, value = item.partition("=")
        if not sep or key not in keys:
            valid = ", ".join(keys) or "none"
            raise UsageError(f"{owner}: unknown parameter '{key}'{units.suggestion(key, keys)}; "
                             f"valid: {valid}")
        values[key] = keys[key](value, f"{owner}:{key}")
    return values


def _label(kind: str, props: Mapping[str, Value]) -> str:
    if kind == "static":
        return (f"static {units.format_time(int(props['cint.static-time']))} "
                f"thr {props['cint.static-thr']}")
    if "cint.delta" in props and "cint.thr" in props:
        name = "cint+ooo" if props.get("cint.ooo") == "on" else kind
        return f"{name} {units.format_time(int(props['cint.delta']))} thr {props['cint.thr']}"
    if kind == "vic":
        return f"vic cif {props['cint.cif-threshold']} epoch {props['cint.epoch']}ms"
    return kind


def meant(kind: str) -> dict[str, Value]:
    """Defaults of a policy's bare name that differ from the device's, which has them off."""
    return {f"cint.{name}": int(value) for name, value in words.lines_of("MEANT")
            if name in words.POLICIES[kind]}


def typed(kind: str, value: Callable[[str], Any]) -> str:
    """A running device's policy as it is typed: the name for what is set, where there is one.

    ``value`` gives a property of the device, as QMP has it: a switch is a bool.
    """
    for alias, (owner, said) in ALIASES.items():
        if owner == kind and all(value(name) == _as_qmp(own) for name, own in said.items()):
            return alias
    if kind != "static":
        return kind
    time, thr = value("cint.static-time"), value("cint.static-thr")
    usual = thr == _DEFAULTS["static"]["cint.static-thr"] and time % units.NS_PER["us"] == 0
    return f"static{time // units.NS_PER['us']}" if usual else \
        f"static:time={units.format_time(time)},thr={thr}"


def _as_qmp(value: Value) -> int | bool | str:
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def _name(text: str) -> tuple[str, dict[str, Value]]:
    """The kind of policy that a name means, and what the name says besides."""
    kind, said = ALIASES.get(text, (text, {}))
    for owner, param, unit in words.lines_of("NUMBERED"):
        number = text.removeprefix(owner)
        if number != text and re.fullmatch("[0-9]+", number):
            prop = f"cint.{param}"
            own = next(p for p in words.PARAMETERS[owner].values() if p.prop == prop)
            kind, said = owner, {prop: own.parse(number + unit, text)}
    if kind not in words.PARAMETERS:
        near = units.suggestion(text, (*words.PARAMETERS, *ALIASES))
        problem = f"unknown policy '{text}'{near}" if text else "there is a policy without a name"
        raise UsageError(f"{problem}; valid: {POLICY_HELP}")
    return kind, said


def _parse_split(text: str, rest: str) -> Policy:
    """Both halves of ``split:l=POLICY,t=POLICY``."""
    match = _SPLIT.fullmatch(rest)
    if not match:
        raise UsageError(f"policy '{text}': say a policy for each class, l=POLICY,t=POLICY, "
                         "as in split:l=cint,t=adaptive")
    own, other = (parse_policy(match[name] or match[f"{name}2"]) for name in "lt")
    for half in (own, other):
        if half.kind == "stock" or half.latency:
            raise UsageError(f"policy '{text}': '{half.name}' cannot be a half")
    return replace(other, name=text, latency=own, label=f"L {own.label}, T {other.label}")


def _check_alias(text: str, kind: str, said: Mapping[str, Value],
                 typed: Mapping[str, Value]) -> None:
    """Refuse a name that says one thing with a parameter that says another."""
    for prop, value in said.items():
        if typed.get(prop, value) != value:
            alias, _, rest = text.partition(":")
            own = words.BY_PROPERTY[prop]
            raise UsageError(f"policy '{text}': the name {alias} says "
                             f"{own.word}={own.shown(value) if isinstance(value, int) else value}",
                             hint=f"type {kind}:{rest}")


def parse_policy(text: str) -> Policy:
    """Parse one policy; raise :class:`UsageError` naming what is valid."""
    head, colon, rest = text.partition(":")
    if head == SPLIT:
        return _parse_split(text, rest)
    kind, said = _name(head)
    typed = words.parse_settings(rest, kind) if colon else {}
    _check_alias(text, kind, said, typed)
    props = _DEFAULTS[kind] | said | typed
    if kind in TIMERLESS and props.get("cint.max-hold") == 0:
        raise UsageError(f"policy '{text}': max-hold cannot be off under {kind}, which has no "
                         "timer of its own; give a time such as 10ms")
    return Policy(text, kind, _label(kind, props), props)


def inferred(policy: Policy) -> Policy:
    """The policy for a guest that gives no hints: under cint the device infers them."""
    if "infer" not in words.POLICIES.get(policy.kind, ()) or "cint.infer" in policy.properties:
        return policy
    return replace(policy, label=f"{policy.label} inferred",
                   properties={**policy.properties, "cint.infer": "all"})


def parse_policies(text: str) -> list[Policy]:
    """Parse a comma-separated list; :class:`UsageError` of repeats, empty names, too many."""
    policies = [parse_policy(p) for p in split_list(text)]
    if len(policies) > MAX_POLICIES:
        raise UsageError(f"--policy: {len(policies)} policies; at most {MAX_POLICIES}")
    seen: set[str] = set()
    for policy in policies:
        if slug(policy.name) in seen:
            raise UsageError(f"--policy: '{policy.name}' is given twice")
        seen.add(slug(policy.name))
    return policies


def parse_replayed(text: str) -> list[Policy]:
    """Parse a list of what cint-replay is to replay; :class:`UsageError` of stock: no engine."""
    policies = [parse_policy(p) for p in split_list(text)]
    if any(policy.kind == "stock" for policy in policies):
        raise UsageError("--policy stock: without cint there is nothing to replay")
    return policies


def check_virtual(policies: Iterable[Policy]) -> None:
    """Refuse, by :class:`UsageError`, what means nothing in virtual time."""
    if any(policy.kind == "stock" for policy in policies):
        raise UsageError("--policy stock: the stock device completes requests in real time and "
                         "means nothing in virtual time", hint="compare it with --time real")


# ---- media --------------------------------------------------------------

def parse_media(text: str) -> Media:
    """Parse ``optane`` or ``optane:read-latency=10us,units=4``; :class:`UsageError` of others."""
    head, _, rest = text.partition(":")
    if head not in PROFILES:
        raise UsageError(f"unknown media '{head}'{units.suggestion(head, PROFILES)}; "
                         f"valid: {', '.join(PROFILES)}")
    if not rest:
        return PROFILES[head]
    if head == "none":
        raise UsageError(f"--media {text}: the profile 'none' has no parameters",
                         hint="use custom:read-latency=10us")
    given = _settings(rest, f"media {head}", {k: p for k, (_, p) in _MEDIA_KEYS.items()})
    fields = {field: int(given[key]) for key, (field, _) in _MEDIA_KEYS.items()
              if field and key in given}
    return replace(PROFILES[head], name=text, overrides=tuple(given.items()), **fields)


def media_properties(media: Media, k: float) -> dict[str, Value]:
    """Device properties of ``media``, applied at scale ``k``.

    At k = 1 the profile's own numbers stand and only what was asked for is
    said; otherwise every time and rate is.
    """
    props: dict[str, Value] = {"cint.media": media.profile}
    given = dict(media.overrides)
    for key, (field, _) in _MEDIA_KEYS.items():
        name = f"cint.media.{key}"
        value = getattr(media, field) if field else given.get(key)
        scaled = scale.entry("device", name) is not None and k != 1 and value
        if value is not None and (key in given or scaled):
            props[name] = scale.apply_int("device", name, int(value), k)
    return props


#: The device's own.
_MEDIA_SEED = 1


def with_media_seed(props: Sequence[tuple[str, Value]], seed: int) -> list[tuple[str, Value]]:
    """The properties of a device whose medium draws its times with this seed, unless they say one.

    Nothing is said where there is no medium, or where the seed is the device's own.
    """
    given = dict(props)
    drawn = given.get("cint.media", "none") != "none"
    if not drawn or "cint.media.seed" in given or seed == _MEDIA_SEED:
        return [*props]
    return [*props, ("cint.media.seed", seed)]


# ---- the device ---------------------------------------------------------

def device_properties(policy: Policy, media: Media, k: float, virtual: bool,
                      extras: str = DEFAULT_EXTRAS) -> list[tuple[str, Value]]:
    """Properties of ``-device nvme`` for one run, in command-line order."""
    if policy.kind == "stock":
        return []
    props: dict[str, Value] = {"cint": "on", "cint.policy": policy.kind,
                               "cint.time": "virtual" if virtual else "real"}
    return [*(props | media_properties(media, k) | policy_properties(policy, k, extras)).items()]


def policy_properties(policy: Policy, k: float, extras: str = DEFAULT_EXTRAS) -> dict[str, Value]:
    """The policy's parameters with its extras, at scale ``k``; :class:`UsageError` if too large.

    What was typed with the policy wins over ``extras`` (EXTRAS).
    """
    reported = _extras(policy, k, extras) | dict(policy.properties)
    _check_together(policy, reported)
    applied = {name: _applied(policy, name, value, k) for name, value in reported.items()}
    _check_released(policy, applied)
    return applied


def _extras(policy: Policy, k: float, extras: str) -> dict[str, Value]:
    """Drain and max-hold where nothing is typed.

    Under a policy without a timer max-hold keeps the device's default. That is a time like
    any other, so it is said where it is to be scaled. A policy that is no paper's has both as
    the device does.
    """
    reads = words.POLICIES[policy.kind]
    if extras == "device" or any(listed == "ALL" and name in reads
                                 for name, (_, listed) in words.BESIDE.items()):
        scaled = [params.ALL[name] for name in words.BESIDE if params.ALL[name].unit != "NONE"]
        return {} if k == 1 else {param.prop: param.usual for param in scaled}
    return {f"cint.{name}": params.ALL[name].usual if name in reads else value
            for name, (value, _) in words.BESIDE.items()}


def _check_together(policy: Policy, props: Mapping[str, Value]) -> None:
    for word, param, other_word, other in words.lines_of("TOGETHER"):
        given = [bool(props.get(f"cint.{name}")) for name in (param, other)]
        if param in words.POLICIES[policy.kind] and given[0] != given[1]:
            raise UsageError(f"policy '{policy.name}': {word} ({param}) and {other_word} ({other}) "
                             "are both more than 0, or both 0, which is no coalescing",
                             hint="for example static:time=50us,thr=16")


def _check_released(policy: Policy, props: Mapping[str, Value]) -> None:
    """Refuse what the device does: that Urgent completions out of order starve the others."""
    if (props.get("cint.ooo") == "on" and props.get("cint.max-hold") == 0
            and int(props["cint.thr"]) >= params.ENDLESS["THR"]
            and int(props["cint.delta"]) >= params.ENDLESS["DELTA_NS"]):
        given = policy.properties
        raise UsageError(f"policy '{policy.name}': ooo=on with thr={given['cint.thr']} and "
                         f"delta={units.format_time(int(given['cint.delta']))}: beside Urgent "
                         "completions all others wait until the queue is nearly full",
                         hint="set max-hold (10ms, say), lower thr or delta, or use ooo=off")


def _applied(policy: Policy, name: str, value: Value, k: float) -> Value:
    if not isinstance(value, int):
        return value
    scaled = scale.apply_int("device", name, value, k)
    limits = words.BY_PROPERTY[name]
    if value and not limits.low <= scaled <= limits.high:
        ends = [limits.shown(scale.undo("device", name, end, k))
                for end in (limits.low, limits.high)]
        raise UsageError(f"policy '{policy.name}': {limits.word} is {limits.shown(value)}, but at "
                         f"scale {k:g} the device takes at least {ends[0]} and at most {ends[1]}")
    return scaled


def join_properties(driver: str, props: Iterable[tuple[str, Value]]) -> str:
    """``driver,name=value,...`` for -device; commas in values are doubled."""
    items = [f"{name}={str(value).replace(',', ',,')}" for name, value in props]
    return ",".join([driver, *items])
