# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants that operators make of C source: one change of one place each.

The source is parsed by tree-sitter as it is written. So comments, strings and macros' bodies are
left alone, and no file needs what it includes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import tree_sitter_c
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_c.language()))

#: What the grammar does not know and nothing needs: blanks stand in its place.
_NO_GRAMMAR = re.compile(r"\b(?:G_GNUC_\w+(?:\([^()]*\))?|G_NORETURN|APART|CINT_COLD|g_autofree|"
                         r"g_autoptr(?=\()|__init|__read_mostly|coroutine_fn)(?=[\s(])")
#: Calls that only check, trace or measure a type: what is broken there breaks no behaviour.
_CHECKS = re.compile(r"CINT_MUST|assert|g_assert\w*|_Static_assert|QEMU_BUILD_BUG_ON|trace_\w+|"
                     r"BUILD_BUG_ON|WARN_ON\w*|offsetof|sizeof|va_start|va_end|va_arg")

_RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
              "==": ("!=",), "!=": ("==",)}
_ARITHMETIC = {"+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",), "<<": (">>",),
               ">>": ("<<",), "&": ("|",), "|": ("&",), "^": ("|",)}
#: Of these each operand can be left out.
_EITHER = ("&&", "||", "+", "*", "&", "|", "^")
_ASSIGNMENTS = {"+=": ("-=", "="), "-=": ("+=", "="), "*=": ("/=",), "/=": ("*=",),
                "|=": ("&=", "="), "&=": ("|=", "="), "<<=": (">>=",), ">>=": ("<<=",),
                "^=": ("=",), "%=": ("=",)}
_FLIPPED = {"true": "false", "false": "true", "TRUE": "FALSE", "FALSE": "TRUE"}
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")

#: Where an expression has to be a constant, or is one of a type or a label.
_CONSTANT_PLACES = frozenset({"enumerator", "bitfield_clause", "preproc_def", "preproc_if",
                              "preproc_elif", "attribute_specifier"})


@dataclass(frozen=True)
class Mutant:
    """`old`, from `start` on, becomes `new`."""

    name: str
    start: int
    old: str
    new: str
    #: A whole statement, an expression, or what no run-time switch can choose ("constant").
    kind: str

    @property
    def end(self) -> int:
        """Where the old text ends."""
        return self.start + len(self.old)

    @property
    def change(self) -> str:
        """What becomes of what, in one line."""
        return f"{shown(self.old)} => {shown(self.new)}"

    def applied(self, text: str) -> str:
        """The file with this mutant."""
        assert text.startswith(self.old, self.start), self.name
        return text[:self.start] + self.new + text[self.end:]


def shown(text: str) -> str:
    """Source in one line, and not all of it where that is long."""
    line = " ".join(text.split()) or "nothing"
    return line if len(line) <= 60 else f"{line[:40]} ... {line[-15:]}"


#: (operator, node that is replaced, new text)
_Change = tuple[str, Node, str]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8")


def _field(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    assert child is not None, (name, _text(node))
    return child


def _with_operator(node: Node, new: str) -> str:
    """A node's text with another operator in its operator's place."""
    operator = _field(node, "operator")
    text = (node.text or b"")
    at = operator.start_byte - node.start_byte
    return (text[:at] + new.encode() + text[at + len(operator.text or b""):]).decode("utf-8")


def _binary(node: Node) -> Iterator[_Change]:
    operator = _text(_field(node, "operator"))
    for name, table in (("relation", _RELATIONS), ("arithmetic", _ARITHMETIC)):
        for new in table.get(operator, ()):
            yield name, node, _with_operator(node, new)
    if operator in ("&&", "||"):
        yield "logic", node, _with_operator(node, "||" if operator == "&&" else "&&")
    if operator not in _RELATIONS:
        yield "operand", node, _text(_field(node, "left"))
    if operator in _EITHER:
        yield "operand", node, _text(_field(node, "right"))


def _assignment(node: Node) -> Iterator[_Change]:
    for new in _ASSIGNMENTS.get(_text(_field(node, "operator")), ()):
        yield "assignment", node, _with_operator(node, new)


def _update(node: Node) -> Iterator[_Change]:
    operator = _text(_field(node, "operator"))
    argument = _text(_field(node, "argument"))
    other = "--" if operator == "++" else "++"
    yield "increment", node, _with_operator(node, other)
    if node.parent is not None and node.parent.type not in ("expression_statement",
                                                            "for_statement"):
        is_prefix = _text(node).startswith(operator)
        yield "increment", node, argument + operator if is_prefix else operator + argument


def _unary(node: Node) -> Iterator[_Change]:
    if _text(_field(node, "operator")) in ("!", "-", "~"):
        yield "unary", node, _text(_field(node, "argument"))


def _number(node: Node) -> Iterator[_Change]:
    match = _NUMBER.fullmatch(_text(node))
    if not match:
        return
    value = int(match[1], 8 if re.fullmatch(r"0[0-7]+", match[1]) else 0)
    for new in (value + 1, value - 1):
        if new >= 0:
            yield "constant", node, (hex(new) if match[1][:2] in ("0x", "0X") else str(new)) + \
                match[2]


def _truth(node: Node) -> Iterator[_Change]:
    yield "constant", node, _FLIPPED[_text(node)]


def _conditions(node: Node) -> Iterator[_Change]:
    """The condition of a statement or of ?: is negated, or always or never holds."""
    condition = node.child_by_field_name("condition")
    if condition is None or _CHECKS.match(_text(condition).strip("(!")):
        return
    if condition.type == "parenthesized_expression":
        condition = condition.named_children[0]
    if condition.type in ("number_literal", "true", "false", "comment"):
        return
    is_relation = (condition.type == "binary_expression" and
                   _text(_field(condition, "operator")) in _RELATIONS)
    # Others make of a relation its opposite, and of !x x.
    if not is_relation and condition.type != "unary_expression":
        yield "negate", condition, f"!({_text(condition)})"
    yield "condition", condition, "0"
    if node.type in ("if_statement", "conditional_expression"):
        yield "condition", condition, "1"


def _statement(node: Node) -> Iterator[_Change]:
    parent = node.parent
    if parent is None or (not node.named_children and node.type == "expression_statement"):
        return
    if node.type == "expression_statement" and _is_check(node.named_children[0]):
        return
    if node.type == "return_statement" and (parent.type == "compound_statement" and
                                            parent.parent is not None and
                                            parent.parent.type == "function_definition"):
        return
    if parent.type == "case_statement" and node.type == "break_statement" and \
            parent.next_named_sibling is None:
        return
    yield "statement", node, ";"


def _returned(node: Node) -> Iterator[_Change]:
    yield from _statement(node)
    values = [child for child in node.named_children if child.type != "comment"]
    if values and _text(values[0]) not in ("0", "1", "NULL", "true", "false"):
        yield "return", values[0], "0"
        yield "return", values[0], "1"


def _initializer(node: Node) -> Iterator[_Change]:
    value = node.child_by_field_name("value")
    if value is not None and _text(value) not in ("0", "false", "true", "NULL", "1"):
        yield "field", value, "0"


def _declarator(node: Node) -> Iterator[_Change]:
    """A variable begins with nothing."""
    value = _field(node, "value")
    if value.type not in ("initializer_list", "number_literal", "string_literal", "null", "true",
                          "false"):
        yield "value", value, "0"


def _definition(node: Node) -> Iterator[_Change]:
    """A whole function does nothing, if it returns nothing."""
    body = _field(node, "body")
    if _text(_field(node, "type")) == "void" and "*" not in _text(node)[:_text(node).find("(")]:
        inside = [child for child in body.named_children if child.type != "comment"]
        if len(inside) > 1:
            yield "early", inside[0], f"return; {_text(inside[0])}"


_MAKERS: dict[str, tuple[Callable[[Node], Iterator[_Change]], ...]] = {
    "binary_expression": (_binary,),
    "assignment_expression": (_assignment,),
    "update_expression": (_update,),
    "unary_expression": (_unary,),
    "number_literal": (_number,),
    "true": (_truth,),
    "false": (_truth,),
    "if_statement": (_conditions,),
    "while_statement": (_conditions,),
    "for_statement": (_conditions,),
    "do_statement": (_conditions,),
    "conditional_expression": (_conditions,),
    "expression_statement": (_statement,),
    "break_statement": (_statement,),
    "continue_statement": (_statement,),
    "goto_statement": (_statement,),
    "return_statement": (_returned,),
    "initializer_pair": (_initializer,),
    "init_declarator": (_declarator,),
    "function_definition": (_definition,),
}


def _is_check(node: Node) -> bool:
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    return function is not None and bool(_CHECKS.fullmatch(_text(function)))


def _changes(node: Node) -> Iterator[_Change]:
    """The changes of a node and of what is in it, from its beginning on."""
    if _is_check(node) or node.type in ("sizeof_expression", "static_assert_declaration"):
        return
    if not node.has_error:
        for maker in _MAKERS.get(node.type, ()):
            yield from maker(node)
    for child in node.named_children:
        yield from _changes(child)


def _is_constant(node: Node, top: Node) -> bool:
    """Whether no choice at run time may stand in a node's place."""
    above: Node | None = node
    child: Node | None = None
    while above is not None:
        if above.type in _CONSTANT_PLACES or (
                above.type == "case_statement" and child == above.child_by_field_name("value")):
            return True
        if above.type in ("array_declarator", "subscript_designator"):
            return True
        if above.type == "declaration" and _text(above).startswith("static"):
            return True
        if above == top:
            break
        above, child = above.parent, above
    return top.type != "function_definition"


def _declared(node: Node) -> str:
    """The name that a definition or a declaration gives."""
    inner: Node | None = node
    while inner is not None and inner.type not in ("identifier", "field_identifier"):
        inner = inner.child_by_field_name("declarator")
    return _text(inner) if inner is not None else "file"


def _tops(root: Node) -> Iterator[Node]:
    """Functions, and initialised objects, wherever the preprocessor's conditions have put them."""
    for node in root.named_children:
        if node.type in ("function_definition", "declaration"):
            yield node
        elif node.type in ("preproc_ifdef", "preproc_if", "preproc_else", "ERROR",
                           "linkage_specification", "declaration_list"):
            yield from _tops(node)
        elif node.type == "preproc_def":
            yield node


def _macro(node: Node) -> Iterator[tuple[str, int, str, str]]:
    """A macro that is a number."""
    value = node.child_by_field_name("value")
    match = re.match(r"\s*(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)\s*(?=$|/\*)", _text(value) if value
                     else "")
    if value is None or not match:
        return
    number, digits = int(match[1], 0), match[1] + match[2]
    for new in (number + 1, number - 1):
        if new >= 0:
            shape = hex(new) if match[1][:2] in ("0x", "0X") else str(new)
            yield "constant", value.start_byte + match.start(1), digits, shape + match[2]


def mutants(file: str, text: str) -> list[Mutant]:
    """All mutants of a C file, in its order. They are named by what is around them."""
    parsed = _NO_GRAMMAR.sub(lambda match: " " * len(match[0]), text)
    if not parsed.isascii():    # places are in bytes
        parsed = "".join(c if c.isascii() else "?" for c in parsed)
    found: list[Mutant] = []
    seen: set[tuple[int, int, str]] = set()
    count: Counter[tuple[str, str]] = Counter()

    def add(place: str, operator: str, mutant: Mutant) -> None:
        where = (mutant.start, mutant.end, mutant.new)
        if where not in seen:
            seen.add(where)
            count[place, operator] += 1
            name = f"{file}:{place}:{operator}:{count[place, operator]}"
            found.append(replace(mutant, name=name))

    for top in _tops(_PARSER.parse(parsed.encode()).root_node):
        if top.type == "preproc_def":
            place = _text(_field(top, "name"))
            for operator, start, old, new in _macro(top):
                add(place, operator, Mutant("", start, old, new, "constant"))
            continue
        place = _declared(top)
        for operator, node, new in _changes(top):
            kind = ("constant" if _is_constant(node, top) else
                    "statement" if node.type.endswith("_statement") or operator == "early"
                    else "expression")
            add(place, operator, Mutant("", node.start_byte, text[node.start_byte:node.end_byte],
                                        new, kind))
    return found


def _switched_one(mutants: list[tuple[str, Mutant]], inner: str) -> str:
    """What stands in one place, by the conditions of the mutants that change it."""
    for condition, mutant in mutants:
        new = " ".join(mutant.new.split())
        if mutant.new.startswith("return; "):
            inner = f"if ({condition}) {{ return; }} {inner}"
        elif mutant.kind == "statement":
            inner = f"{{ if (!({condition})) {{ {inner} }} }}"
        else:
            inner = f"(({condition}) ? ({new}) : ({inner}))"
    return inner


def switched(text: str, numbered: list[tuple[str, Mutant]]) -> str:
    """A file with all these mutants, each in force when its condition holds.

    Its lines are where they were. Those that no run-time switch can choose must not be among them.
    """
    by_place: dict[tuple[int, int], list[tuple[str, Mutant]]] = {}
    for condition, mutant in numbered:
        assert mutant.kind != "constant", mutant.name
        by_place.setdefault((mutant.start, mutant.end), []).append((condition, mutant))
    places = sorted(by_place, key=lambda place: (place[0], -place[1]))

    def between(start: int, end: int, first: int) -> tuple[str, int]:
        """The text there, with the places from the first on that are within; the next place."""
        made, at, index = "", start, first
        while index < len(places) and places[index][1] <= end:
            here = places[index]
            inner, index = between(*here, index + 1)
            made += text[at:here[0]] + _switched_one(by_place[here], inner)
            at = here[1]
        return made + text[at:end], index

    return between(0, len(text), 0)[0]
