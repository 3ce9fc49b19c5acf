# SPDX-License-Identifier: GPL-2.0-or-later
"""properties.py: what is typed, and the device properties that it means."""

import re

import pytest

from cint import paths
from cint.device import logpage, params, words
from cint.device import properties as device
from cint.errors import UsageError


def properties(text: str, k: float = 1, media: str = "optane",
               extras: str = "papers") -> dict[str, device.Value]:
    """The properties of a policy."""
    return dict(device.device_properties(device.parse_policy(text), device.parse_media(media),
                                         k, virtual=True, extras=extras))


def test_default_set() -> None:
    names = [p.name for p in device.parse_policies(device.DEFAULT_POLICIES)]
    assert names == ["default", "static100", "static20", "adaptive", "vic", "cint", "cint+ooo"]
    plain = [p.name for p in device.parse_policies(device.HINTLESS_POLICIES)]
    assert plain == [n for n in names if n != "cint+ooo"]


def test_every_policy_of_the_device_can_be_compared() -> None:
    text = (paths.OVERLAY_NVME / "coalesce/policy-list.h").read_text(encoding="utf-8")
    names = re.findall(r'^POLICY\("(\w+)",', text, re.MULTILINE)
    assert "cint" in names
    for name in names:
        assert properties(name)["cint.policy"] == name


def test_every_parameter_goes_by_its_propertys_name() -> None:
    """Whatever the short one means."""
    for kind, table in words.PARAMETERS.items():
        for parameter in table.values():
            assert parameter.prop.removeprefix("cint.") in table, (kind, parameter.word)


@pytest.mark.parametrize(("text", "wanted"), [
    ("default", {"cint.policy": "default"}),
    ("static100", {"cint.static-time": 100_000, "cint.static-thr": 32}),
    ("static6", {"cint.static-time": 6_000}),
    ("static:time=50us,thr=16", {"cint.static-time": 50_000, "cint.static-thr": 16}),
    ("static20:thr=8", {"cint.static-time": 20_000, "cint.static-thr": 8}),
    ("adaptive", {"cint.delta": 6_000, "cint.thr": 32}),
    ("adaptive:delta=1.5us", {"cint.delta": 1_500, "cint.thr": 32}),
    ("adaptive:delta=1500", {"cint.delta": 1_500, "cint.thr": 32}),
    ("static:static-time=20000,static-thr=8", {"cint.static-time": 20_000, "cint.static-thr": 8}),
    ("vic:epoch=50,vic-scope=cq", {"cint.epoch": 50, "cint.vic-scope": "cq"}),
    ("adaptive:drain=on,max-hold=1ms", {"cint.drain": "on", "cint.max-hold": 1_000_000}),
    ("default:each-cqe=off", {"cint.each-cqe": "off"}),
    ("vic", {"cint.cif-threshold": 4, "cint.iops-threshold": 2000, "cint.epoch": 200}),
    ("vic:cif-threshold=2,iops-threshold=0,epoch=50ms,max-skip=16,scope=cq,ratios=coarse",
     {"cint.cif-threshold": 2, "cint.iops-threshold": 0, "cint.epoch": 50, "cint.max-skip": 16,
      "cint.vic-scope": "cq", "cint.vic-ratios": "coarse"}),
    ("vic:max-hold=1ms", {"cint.max-hold": 1_000_000}),
    ("default:kick-window=20us", {"cint.kick-window": 20_000}),
    ("cint", {"cint.policy": "cint", "cint.delta": 6_000, "cint.thr": 32, "cint.ooo": "off"}),
    ("cint+ooo", {"cint.policy": "cint", "cint.delta": 6_000, "cint.thr": 32, "cint.ooo": "on"}),
    ("cint:ooo=on", {"cint.ooo": "on"}),
    ("cint+ooo:delta=1s,thr=65535,max-hold=10ms,barrier=generation,infer=batch,storm=retune",
     {"cint.ooo": "on", "cint.delta": 1_000_000_000, "cint.thr": 65_535,
      "cint.barrier": "generation", "cint.infer": "batch", "cint.storm": "retune"}),
    ("cint:max-irq-rate=100000,ewma-shift=5",
     {"cint.max-irq-rate": 100_000, "cint.ewma-shift": 5}),
    ("pointer", {"cint.policy": "pointer", "cint.max-hold": 10_000_000}),
])
def test_policy(text: str, wanted: dict[str, device.Value]) -> None:
    got = properties(text)
    assert wanted.items() <= got.items()
    assert got["cint"] == "on"
    assert got["cint.time"] == "virtual"


def test_papers_extras_are_off() -> None:
    got = properties("adaptive")
    assert (got["cint.drain"], got["cint.max-hold"]) == ("off", 0)
    plain = properties("adaptive", extras="device")
    assert not {"cint.drain", "cint.max-hold"} & set(plain)
    assert properties("adaptive:drain=off", extras="device")["cint.drain"] == "off"


def test_the_devices_own_max_hold_is_a_time_like_any_other() -> None:
    assert properties("adaptive", k=3, extras="device")["cint.max-hold"] == 30_000_000


def test_scaled() -> None:
    got = properties("adaptive", k=3)
    assert (got["cint.delta"], got["cint.thr"]) == (18_000, 32)
    assert got["cint.media.read-latency"] == 21_000
    # Counts are not scaled: the profile of the device has them.
    assert "cint.media.units" not in got
    assert properties("adaptive", k=3, media="optane:units=4")["cint.media.units"] == 4
    zssd = properties("static20", k=2, media="zssd")
    assert zssd["cint.media.read-bandwidth"] == 1_600_000_000
    assert zssd["cint.media.write-per-kib"] == 920


def test_vic_is_scaled() -> None:
    got = properties("vic:kick-window=10us", k=3)
    assert (got["cint.epoch"], got["cint.iops-threshold"]) == (600, 667)
    assert (got["cint.kick-window"], got["cint.cif-threshold"]) == (30_000, 4)


def test_storm_limit_is_scaled() -> None:
    assert properties("cint:max-irq-rate=90000,ewma-shift=5", k=3)["cint.max-irq-rate"] == 30_000


def test_inference_is_for_cint_that_says_nothing_of_it() -> None:
    inferred = device.inferred(device.parse_policy("cint"))
    assert inferred.properties["cint.infer"] == "all"
    assert inferred.label == "cint 6us thr 32 inferred"
    for text in ("adaptive", "cint:infer=off"):
        assert device.inferred(device.parse_policy(text)) == device.parse_policy(text)


@pytest.mark.parametrize("k", [1, 3])
def test_urgent_only_may_not_starve_the_others(k: float) -> None:
    delta = 1_000_000 / k
    with pytest.raises(UsageError, match="ooo=on with thr=1024 and delta=") as caught:
        properties(f"cint+ooo:delta={delta + 1:.0f}ns,thr=1024", k)
    assert caught.value.hint is not None
    assert "max-hold" in caught.value.hint
    for text in (f"cint:delta={delta + 1:.0f}ns,thr=1024", "cint+ooo:delta=300ms,thr=1023",
                 f"cint+ooo:delta={delta - 1:.0f}ns,thr=65535",
                 "cint+ooo:delta=300ms,thr=65535,max-hold=10ms"):
        properties(text, k)
    properties("cint+ooo:delta=300ms,thr=65535", k, extras="device")


def test_one_half_of_an_aggregation_is_none() -> None:
    for text in ("static0", "static:thr=0", "default:static-time=5us", "default:static-thr=4"):
        with pytest.raises(UsageError, match=r"time \(static-time\) and thr \(static-thr\)"):
            properties(text)
    both = properties("default:static-time=5us,static-thr=4")
    assert (both["cint.static-time"], both["cint.static-thr"]) == (5000, 4)


def test_labels_tell_cint_from_cint_with_ooo() -> None:
    labels = [device.parse_policy(t).label for t in ("cint", "cint+ooo", "cint:ooo=on")]
    assert labels == ["cint 6us thr 32", *["cint+ooo 6us thr 32"] * 2]


def test_max_hold_stays_on_under_vic() -> None:
    assert properties("vic", k=3)["cint.max-hold"] == 30_000_000
    assert properties("vic:drain=auto")["cint.drain"] == "auto"
    assert "cint.max-hold" not in properties("vic", extras="device")


def test_stock_has_no_properties() -> None:
    assert properties("stock") == {}


def test_media_overrides() -> None:
    got = properties("default", k=3, media="optane:read-latency=10us,units=4,seed=7")
    assert got["cint.media.read-latency"] == 30_000
    assert got["cint.media.write-latency"] == 21_000
    assert (got["cint.media.units"], got["cint.media.seed"]) == (4, 7)
    assert properties("default", media="none", k=3)["cint.media"] == "none"


@pytest.mark.parametrize("k", [1, 3])
def test_the_spread_of_a_medium_can_be_taken_away(k: float) -> None:
    assert device.PROFILES["optane"].spread_ns == 2252
    assert properties("default", k=3)["cint.media.spread"] == 3 * 2252
    assert "cint.media.spread" not in properties("default", k=1)
    for text in ("optane:spread=0", "optane:spread=0us"):
        assert properties("default", k=k, media=text)["cint.media.spread"] == 0


@pytest.mark.parametrize(("text", "named"), [
    ("foo", "default, static<us>"),
    ("static:tiem=5us", "unknown parameter 'tiem'; did you mean time?; valid: time (0 to 1s), "
     "static-time"),
    ("adaptve", "unknown policy 'adaptve'; did you mean adaptive?; valid: default"),
    ("cint:barrier=tight", "relaxed, strict or generation"),
    ("cint:barrier=strikt", "did you mean strict?"),
    ("cint:drain", "drain needs a value: drain=auto, on or off"),
    ("static:time=5", "ns, us, ms or s"),
    ("static:time=", "with ns, us, ms or s"),
    ("adaptive:delta=1.5", "a time, 0 to 1s, with ns, us, ms or s (without: ns)"),
    ("static:", "valid: time"),
    ("adaptive:thr=-1", "0 to 65535"),
    ("adaptive:delta=11s", "0 to 1s"),
    ("adaptive:drain=maybe", "auto, on or off"),
    ("default:thr=3", "each-cqe"),
    ("vic:cif-threshold=1", "from 2 to"),
    ("vic:max-hold=0us", "cannot be off under vic"),
    ("vic:epoch=1500us", "whole milliseconds"),
    ("vic:epoch=0ms", "1ms to 60s"),
    ("vic:scope=queue", "controller or cq"),
    ("vic:ratios=some", "full, coarse or adaptive"),
    ("vic:iops-threshold=200000000", "to 100000000"),
    ("vic:delta=1us", "cif-threshold"),
    ("pointer:max-hold=0us", "cannot be off under pointer"),
    ("cint:barrier=loose", "relaxed, strict or generation"),
    ("cint:infer=some", "off, batch, all, learn, content or both"),
    ("cint:ooo=maybe", "on or off"),
    ("cint:ewma-shift=17", "from 1 to 16"),
    ("cint:max-irq-rate=2000000000", "to 1000000000"),
    ("static20:storm=retune", "valid: time (0 to 1s), static-time (0 to 1s), thr (0 to 65535)"),
    ("cint+foo", "cint+ooo"),
    ("", "a policy without a name"),
])
def test_refused(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=re.escape(named)):
        device.parse_policy(text)


def test_refused_after_scaling() -> None:
    with pytest.raises(UsageError, match="at most 500ms"):
        properties("static:time=900ms", k=2)
    with pytest.raises(UsageError, match=r"epoch is 10s, .* at most 3\.75s"):
        properties("vic:epoch=10s", k=16)


@pytest.mark.parametrize("text", ["default,default", "default,,adaptive", ""])
def test_lists_refused(text: str) -> None:
    with pytest.raises(UsageError):
        device.parse_policies(text)


@pytest.mark.parametrize("text", ["foo", "none:units=1", "optane:colour=3us",
                                  "optane:read-latency=7"])
def test_media_refused(text: str) -> None:
    with pytest.raises(UsageError):
        device.parse_media(text)


def test_lists_split_between_policies() -> None:
    assert device.split_list("default,static:time=50us,thr=16,adaptive:delta=1us") == [
        "default", "static:time=50us,thr=16", "adaptive:delta=1us"]


def test_slugs_are_safe() -> None:
    slugs = [device.slug(device.parse_policy(p).name)
             for p in ("adaptive", "static:time=50us,thr=16")]
    assert slugs == ["adaptive", "static-time-50us-thr-16"]


def test_commas_are_doubled() -> None:
    assert device.join_properties("nvme", [("a", "x,y")]) == "nvme,a=x,,y"


# ---- against the C source ----------------------------------------------

def test_policies_are_those_of_the_device() -> None:
    assert list(words.POLICIES) == list(logpage.POLICIES)
    assert {name for reads in words.POLICIES.values() for name in reads} <= set(params.ALL)
