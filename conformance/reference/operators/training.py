"""The training optimizers: each one's formula and signature, and how a node's operands are handed to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.models.signatures import TRAINING_OPTIMIZERS
from conformance.reference.operators.adagrad import adagrad
from conformance.reference.operators.adam import adam
from conformance.reference.operators.momentum import momentum
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.reference.nodes import Node
    from conformance.reference.numbers.values import NumberSystem, Value


FORMULAS: Mapping[str, Callable[..., Any]] = {"Adam": adam, "Momentum": momentum, "Adagrad": adagrad}


def training_optimizer(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Operands come grouped (all X, all G, …), and so do results; the formula runs on one tensor at a time."""
    R, T, *operands = inputs
    groups = len(TRAINING_OPTIMIZERS[node.op_type].operands)
    count, rest = divmod(len(operands), groups)
    if rest:
        raise Unsupported(f"{node.op_type} takes R, T and {groups} operands per tensor, not {len(inputs)} inputs")
    formula = FORMULAS[node.op_type]
    by_tensor = [system.optimizer(formula, R, T, operands[i::count], node.attributes) for i in range(count)]
    return [results[place] for place in range(len(TRAINING_OPTIMIZERS[node.op_type].results)) for results in by_tensor]
