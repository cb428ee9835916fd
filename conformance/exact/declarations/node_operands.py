"""The operands of a node that may have other elements, and hard elements of them.

The elements come from the declaration of the operator. Indices take other valid values, also negative ones. Operands
that are shapes or axes have no other elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.exact.declarations.declaration_tables import OperatorDeclaration, Rule, declarations, operator_name
from conformance.exact.declarations.hard_values import choose_by_bits, element_bits
from conformance.exact.declarations.probe_values import probe_indices, probe_values
from conformance.exact.models.arrays import Array, is_floating
from conformance.exact.models.types import normal_domain

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    import onnx


QUANTIZED_STEPS = (0.5, 1.5, 2.5, 127.5, -128.5, 255.5, 300.0, -300.0, 40000.0, 70000.0, -70000.0)
"""Numbers of quantization steps at which a result is a tie or out of the range of its type."""

DRAWN_OPERANDS = ("indices", "rois", "boxes")
"""Operands of which each option of the declaration is valid in each model."""


def fitting_declarations(node: onnx.NodeProto, opset: int) -> list[OperatorDeclaration]:
    """Return the declarations of a node's operator that fit the version of the main domain that a model imports.

    Those of an operator of another domain fit each version.
    """
    domain = normal_domain(node.domain)
    every = [each for each in declarations().get(operator_name(node.op_type, domain), ()) if each.domain == domain]
    fitting = [each for each in every if domain or min(each.opsets_of(node.op_type)) <= opset]
    return [each for each in fitting if len(each.inputs) >= len(node.input)] or fitting


def free_operands(
    node: onnx.NodeProto, opset: int, values: Mapping[str, Array], constants: Container[str]
) -> dict[str, str | Rule]:
    """Return the kind of elements, or the rule of indices, of each operand that may have other elements, by name.

    Args:
        node: the node.
        opset: the version of the main domain.
        values: the values of the operands by name.
        constants: the names of operands that keep their elements.
    """
    found: dict[str, str | Rule] = {}
    declarations = list(fitting_declarations(node, opset))
    for place, name in enumerate(node.input):
        if not name or name in found or name in constants:
            continue
        fitting = [each for each in declarations if _has_elements(each, place, values[name])]
        newest = max(fitting, key=lambda each: min(each.opsets_of(node.op_type)), default=None)
        kinds = [kind for each in fitting for kind in each.value_kinds(_operand_name(each, place))]
        texts = [kind for kind in kinds if isinstance(kind, str)]
        if texts and (place == 0 or len(texts) == len(kinds)) and _has_modes(values[name], place):
            found[name] = "divisor" if "divisor" in texts else texts[0]
        own = _operand_name(newest, place) if newest is not None else ""
        for kind in newest.value_kinds(own) if newest is not None else ():
            if isinstance(kind, Rule) and (is_index(kind) or own in DRAWN_OPERANDS):
                found[name] = kind
    return found


def operand_rule(node: onnx.NodeProto, opset: int, place: int) -> str | Rule:
    """Return the kind of the elements of an operand, or the rule that they must follow if a declaration has one."""
    kinds = [
        kind for each in fitting_declarations(node, opset) for kind in each.value_kinds(_operand_name(each, place))
    ]
    return next((kind for kind in kinds if isinstance(kind, Rule)), next(iter(kinds), "number"))


def _has_elements(declaration: OperatorDeclaration, place: int, array: Array) -> bool:
    """Return whether a declaration draws elements of an operand; it may lack an operand of floating-point numbers."""
    operands = declaration.operands()
    if place >= len(operands) and operands[-1].mark != "*":
        return is_floating(array.dtype)
    operand = operands[min(place, len(operands) - 1)]
    return operand.mark != "-" and operand.shape != "0"


def _operand_name(declaration: OperatorDeclaration, place: int) -> str:
    return declaration.operands()[min(place, len(declaration.inputs) - 1)].name


def is_index(rule: Rule) -> bool:
    """Return whether a rule gives indices of an axis of the first operand, or of several axes."""
    return bool(rule.columns) or rule.high == "S[axis]-1"


def _has_modes(array: Array, place: int) -> bool:
    """Return whether elements of an operand are drawn: numbers of 8 bits and more, but not zero points of 8 bits."""
    if is_floating(array.dtype) and array.dtype.itemsize == 1:
        return place == 0
    return array.dtype.kind in "biu" or is_floating(array.dtype)


def hard_numbers_of(node: onnx.NodeProto, opset: int, values: Mapping[str, Array]) -> list[float]:
    """Return numbers that are hard for a node; for QuantizeLinear they depend on the scale."""
    if node.op_type == "QuantizeLinear":
        return [step * float(values[node.input[1]].flat[0]) for step in QUANTIZED_STEPS]
    return [value for declaration in fitting_declarations(node, opset) for value in declaration.hard]


def hard_elements(
    node: onnx.NodeProto, values: Mapping[str, Array], name: str, kind: str | Rule, probe: int, hard: Sequence[float]
) -> Array:
    """Return hard elements of an operand of a node.

    Args:
        node: the node.
        values: the values of the operands by name.
        name: the name of the operand.
        kind: the kind of its elements, or the rule of its indices; see `free_operands`.
        probe: the number of the probe.
        hard: numbers that are hard for the node.
    """
    array = values[name]
    place = list(node.input).index(name)
    if isinstance(kind, str):
        return probe_values(node.op_type, f"X{place}", array, kind, probe, hard)
    text = f"{node.op_type}/X{place}/{probe}"
    data = values[node.input[0]]
    if not is_index(kind):
        return choose_by_bits(kind.options, element_bits(text, array.shape)).astype(array.dtype)
    attributes = {each.name: each.i for each in node.attribute}
    first = attributes.get("batch_dims", 0)
    sizes = data.shape[first : first + array.shape[-1]] if kind.columns else data.shape[attributes.get("axis", 0)]
    keeps_order = node.op_type.startswith("Scatter")
    has_negative = bool(kind.columns) or kind.low.startswith("0-")
    return probe_indices(text, array, np.array(sizes), has_negative=has_negative, keeps_order=keeps_order)
