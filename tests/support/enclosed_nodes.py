"""Enclosures of single nodes, by operator, opset, operands and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations_of
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask, as_enclosure


def enclosed(op_type: str, opset: int, arrays: list[Any], *, domain: str = "", **attributes: Any) -> Enclosure:
    """Return the first output of a node; an operand that is None is left out."""
    names = [f"i{place}" if array is not None else "" for place, array in enumerate(arrays)]
    node = helper.make_node(op_type, names, ["y"], domain=domain, **attributes)
    imports = [helper.make_opsetid(name, opset if name == domain else 17) for name in {"", domain}]
    model = helper.make_model(helper.make_graph([node], "g", [], []), opset_imports=imports, ir_version=9)
    values = {name: array for name, array in zip(names, arrays, strict=True) if name}
    (result, *_) = enclose(NodeScope.of(model), node, values)
    assert isinstance(result, Enclosure | np.ndarray)
    return as_enclosure(result)


def is_judged(op_type: str, opset: int, arrays: list[Any], **attributes: Any) -> bool:
    """Return whether the reference judges a node."""
    try:
        enclosed(op_type, opset, arrays, **attributes)
    except Unsupported:
        return False
    return True


def is_admissible(actual: Any, expected: Enclosure) -> Any:
    """Return for each element whether it is admissible."""
    return admissible_mask(np.asarray(actual, expected.dtype), expected)


def declared_hard_numbers(operator: str) -> list[float]:
    """Return the numbers that the declarations of an operator name as hard."""
    return [value for declaration in declarations_of(operator) for value in declaration.hard]
