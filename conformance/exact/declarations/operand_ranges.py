"""Ranges of integers of an operand, which a declaration states by sizes: lengths, classes, positions and the like."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from onnx import defs

from conformance.exact.declarations.declaration_tables import TYPE_SETS, OperatorDeclaration, Rule
from conformance.exact.models.arrays import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import onnx

    from conformance.exact.declarations.declaration_tables import DeclaredOperand
    from conformance.exact.models.arrays import Array

RANGED_OPERANDS = ("batches", "lengths", "positions", "segments", "shifts", "target", "words")
"""Operands of declarations of which each integer of the range is valid, and changes no shape."""

MAX_OPTIONS = 256
"""Number of integers of a large range that are used."""

_TERM = re.compile(r"(-?)([\w*]+)")


def declared_range(
    declarations: Iterable[OperatorDeclaration], node: onnx.NodeProto, place: int, values: Mapping[str, Array]
) -> tuple[int, int] | None:
    """Return the smallest and the largest integer of an operand; None if no declaration of the node states them.

    Args:
        declarations: the declarations of the operator.
        node: the node.
        place: the place of the operand.
        values: the values of the operands that are known, by name.
    """
    for declaration in declarations:
        operands = declaration.operands()
        if place >= len(operands) or operands[place].name not in RANGED_OPERANDS:
            continue
        rules = [each for each in declaration.value_kinds(operands[place].name) if isinstance(each, Rule) and each.low]
        sizes = _sizes(operands, node, values)
        if len(rules) != 1 or sizes is None or not _fits(declaration, operands[place], node, values[node.input[place]]):
            continue
        low, high = (_value(text, sizes) for text in (rules[0].low, rules[0].high))
        if low is not None and high is not None and low <= high:
            return low, high
    return None


def range_options(low: int, high: int) -> tuple[int, ...]:
    """Return at most `MAX_OPTIONS` integers of a range, with both ends."""
    step = max(1, -(-(high - low) // (MAX_OPTIONS - 1)))
    return (*range(low, high, step), high)


def _fits(declaration: OperatorDeclaration, operand: DeclaredOperand, node: onnx.NodeProto, array: Array) -> bool:
    """Return whether a declaration has the type of an operand, and a node the integer of each attribute that has one."""
    types = declaration.types.get(operand.type, (operand.type,))
    if type_name(array.dtype) not in (TYPE_SETS[types] if isinstance(types, str) else types):
        return False
    given = {each.name: each.i for each in node.attribute}
    for name, options in declaration.attributes.items():
        others = {*options} - {"absent"}
        is_left_out = name not in given and ("absent" in options or _default(node, name) in others)
        is_only_one = len(others) == 1 and all(isinstance(each, int) for each in others)
        if is_only_one and not is_left_out and given.get(name) not in others:
            return False
    return True


def _default(node: onnx.NodeProto, name: str) -> int | None:
    """Return the default of an integer that is an attribute of a node's operator; None if there is none."""
    if not defs.has(node.op_type, node.domain):
        return None
    known = defs.get_schema(node.op_type, node.domain).attributes
    return int(known[name].default_value.i) if name in known else None


def _sizes(
    operands: Iterable[DeclaredOperand], node: onnx.NodeProto, values: Mapping[str, Array]
) -> dict[str, int] | None:
    """Return the sizes by name that the shapes of known operands have; None if they contradict the declaration."""
    found: dict[str, int] = {}
    for operand, name in zip(operands, node.input, strict=False):
        if name not in values:
            continue
        parts = operand.shape.split()
        shape = values[name].shape
        leading = [*takewhile(str.isidentifier, parts)]
        if len(parts) > len(shape) + (len(leading) < len(parts)):
            return None
        for part, size in zip(leading, shape, strict=False):
            if found.setdefault(part, size) != size:
                return None
    return found


def _value(text: str, sizes: Mapping[str, int]) -> int | None:
    """Return the value of a sum of products of sizes and numbers; None if a size is not known."""
    total = 0
    for sign, product in _TERM.findall(text):
        value = -1 if sign else 1
        for factor in product.split("*"):
            size = int(factor) if factor.isdecimal() else sizes.get(factor)
            if size is None:
                return None
            value *= size
        total += value
    return total
