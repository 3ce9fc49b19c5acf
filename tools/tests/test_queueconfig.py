# SPDX-License-Identifier: GPL-2.0-or-later
"""queueconfig.py: the data of feature D0h."""

import re

import pytest

from cint import paths
from cint.device import abi, params, properties, queueconfig

#: What is in the feature, by property.
FIELDS = {param.prop: param for param in params.ALL.values() if param.feature == "FIELD"}
#: The row of a property in the device's documentation, up to its default.
ROW = r"^\| `{}` \|[^|]*\| ([\w-]+)"


def value(data: bytes, prop: str) -> int:
    field = FIELDS[prop].field if prop in FIELDS else "policy"
    return abi.read(queueconfig.LAYOUT, data)[field][0]


def test_a_policy_says_what_it_sets_and_the_device_the_rest() -> None:
    policy = properties.parse_policy("cint+ooo:delta=3us,barrier=strict,storm=retune")
    data = queueconfig.pack(policy.kind, properties.policy_properties(policy, 2.0))
    assert (len(data), data[:2], data[3]) == (64, b"\1\0", 3)
    assert (value(data, "cint.policy"), value(data, "cint.barrier")) == (4, 1)
    assert (value(data, "cint.delta"), value(data, "cint.thr")) == (6000, 32)
    assert (value(data, "cint.drain"), value(data, "cint.max-hold")) == (2, 0)
    assert (value(data, "cint.epoch"), value(data, "cint.ewma-shift")) == (200, 7)


@pytest.mark.parametrize("param", FIELDS.values(), ids=lambda param: param.name)
def test_defaults_are_the_devices(param: params.Param) -> None:
    text = (paths.ROOT / "docs/interface.md").read_text("utf-8")
    row = re.search(ROW.format(param.prop), text, re.MULTILINE)
    assert row and row[1] == str(param.usual)
