"""The constants of a model: initializers and the operator Constant, dense and sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.reference.nodes import Node
    from conformance.reference.numbers.values import NumberSystem, Value


def constant(node: Node, _: list[Value], system: NumberSystem) -> list[Value]:
    """The operator Constant, which has one attribute of several kinds."""
    ((name, value),) = node.attributes.items()
    if name not in _KINDS:
        raise Unsupported(f"Constant with the attribute {name}")
    return [system.entering(np.asarray(value, dtype=_KINDS[name]))]


_KINDS: Mapping[str, Any] = {
    "value": None,
    "sparse_value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}
