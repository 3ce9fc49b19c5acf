# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/results.schema.json: the JSON Schema of results.json, made from measure/records.py."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from cint import paths
from cint.measure import metrics, records

FILE = paths.ROOT / "docs/results.schema.json"

Schema = dict[str, object]

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class Maker:
    """The schemas of types, with those of records by name."""

    def __init__(self) -> None:
        self.records: dict[str, Schema] = {}

    def of(self, kind: object) -> Schema:
        """The schema of a type; TypeError for one that has no JSON."""
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._annotated(*parts)
        if origin in (Union, types.UnionType):
            return self._union([self.of(part) for part in parts])
        if origin is not None:
            return self._of_several(origin, parts)
        if isinstance(kind, type) and kind in _NAMES:
            return {"type": _NAMES[kind]}
        if is_typeddict(kind):
            return self._reference(kind)
        raise TypeError(f"{kind} has no JSON Schema")

    def _of_several(self, origin: object, parts: Sequence[object]) -> Schema:
        if origin is Literal:
            return {"const": parts[0]}
        if origin is Mapping:
            more = {} if parts[1] is object else {"additionalProperties": self.of(parts[1])}
            return {"type": "object", **more}
        length = {"minItems": len(parts), "maxItems": len(parts)} if origin is tuple else {}
        if origin not in (list, tuple) or len(set(parts)) != 1:
            raise TypeError(f"{origin}{parts} has no JSON Schema")
        return {"type": "array", **length, "items": self.of(parts[0])}

    def _annotated(self, kind: object, *said: object) -> Schema:
        """What stands beside a type: a description, or more of its schema."""
        found = self.of(kind)
        for more in said:
            found |= more if isinstance(more, dict) else {"description": more}
        return found

    @staticmethod
    def _union(parts: list[Schema]) -> Schema:
        if all(part.keys() == {"type"} for part in parts):
            return {"type": [part["type"] for part in parts]}
        return {"oneOf": parts}

    def _reference(self, record: object) -> Schema:
        name = getattr(record, "__name__", "")
        if name not in self.records:
            self.records[name] = {}  # a record may have records of its own kind
            self.records[name] = self.record(record)
        return {"$ref": f"#/$defs/{name}"}

    def record(self, record: object) -> Schema:
        """An object with its fields; a row also has the metrics."""
        fields: dict[str, Schema] = {}
        required = []
        for name, kind in get_type_hints(record, include_extras=True).items():
            needed = get_origin(kind) is not NotRequired
            fields[name] = self.of(kind if needed else get_args(kind)[0])
            required += [name] if needed else []
        if record is records.Row:
            fields |= {m.name: self._annotated(records.Value, *([m.note] if m.note else []))
                       for m in metrics.TABLE}
            required += metrics.NAMES
        return {"type": "object", "description": (getattr(record, "__doc__", "") or "").split(
            "\n")[0], "required": required, "properties": fields}


def made() -> Schema:
    """The schema as data."""
    maker = Maker()
    whole = maker.record(records.Comparison)
    title, _, more = (records.Comparison.__doc__ or "").partition("\n")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole,
            "title": title, "description": " ".join(more.split()), "$defs": maker.records}


def as_text() -> str:
    """The schema as the file has it, a field a line."""
    return _lines(made()) + "\n"


def _lines(schema: Mapping[str, object], indent: str = "") -> str:
    inner = indent + " "
    parts = []
    for name, part in schema.items():
        text = json.dumps(part)
        if name in ("properties", "$defs") and isinstance(part, dict):
            fields = [f"{json.dumps(key)}: " + (_lines(value, inner + " ") if name == "$defs"
                                                else json.dumps(value))
                      for key, value in part.items()]
            text = "{\n" + ",\n".join(f"{inner} {field}" for field in fields) + f"\n{inner}}}"
        parts.append(f"{inner}{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
