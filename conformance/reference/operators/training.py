"""The training optimizers: a row for each, and how a node's operands are handed to its formula.

The schemas of the installed `onnx` are not asked, so that no expected value depends on its version; a test holds this
table against them. Attribute defaults are the float32 values nearest to the decimals here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.signatures import TRAINING
from conformance.reference.operators.adagrad import adagrad
from conformance.reference.operators.adam import adam
from conformance.reference.operators.momentum import momentum
from conformance.reference.operators.other_forms import adam_by_differences, adam_by_lerp, momentum_distributed
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.reference.nodes import Node
    from conformance.reference.numbers.values import NumberSystem, Value


@dataclass(frozen=True)
class TrainingOptimizer:
    """A training optimizer. Its inputs are R, T, then all tensors' X, all their G, and so on.

    Attributes:
        formula: its pseudo-code, called with R, T, the operands of one tensor, and all attributes by name.
        operands: what each tensor brings: X, G and the state.
        results: what each tensor gets: X_new and the new state.
        defaults: the optional attributes with their defaults.
        required: the attributes without a default.
        choices: what an attribute that is a text may be.
        domain: the operator's domain.
        version: the one version of its domain that the suite knows.
        other_forms: the formula in other forms, equal in algebra, that kernels have.
    """

    formula: Callable[..., Any]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    defaults: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    domain: str = TRAINING
    version: int = 1
    other_forms: tuple[Callable[..., Any], ...] = ()

    @property
    def forms(self) -> tuple[Callable[..., Any], ...]:
        """The formula as its page writes it, then in its other forms."""
        return (self.formula, *self.other_forms)

    def attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A node's attributes with the schema's defaults, floats as the float32 values that the model holds.

        Raises:
            Unsupported: a required one is missing, or there is one that the schema does not know.
        """
        missing = [name for name in self.required if name not in given]
        unknown = [name for name in given if name not in {*self.required, *self.defaults}]
        if missing or unknown:
            raise Unsupported(f"{self.formula.__name__} lacks {missing} or does not know {unknown}")
        values = {**{name: float(np.float32(value)) for name, value in self.defaults.items()}, **given}
        return {name: values[name] for name in (*self.required, *self.defaults)}


TRAINING_OPTIMIZERS: Mapping[str, TrainingOptimizer] = {
    "Adam": TrainingOptimizer(
        adam,
        operands=("X", "G", "V", "H"),
        results=("X_new", "V_new", "H_new"),
        defaults={"alpha": 0.9, "beta": 0.999, "epsilon": 1e-6, "norm_coefficient": 0.0, "norm_coefficient_post": 0.0},
        other_forms=(adam_by_differences, adam_by_lerp),
    ),
    "Momentum": TrainingOptimizer(
        momentum,
        operands=("X", "G", "V"),
        results=("X_new", "V_new"),
        required=("alpha", "beta", "mode", "norm_coefficient"),
        choices={"mode": ("standard", "nesterov")},
        other_forms=(momentum_distributed,),
    ),
    "Adagrad": TrainingOptimizer(
        adagrad,
        operands=("X", "G", "H"),
        results=("X_new", "H_new"),
        defaults={"decay_factor": 0.0, "epsilon": 1e-6, "norm_coefficient": 0.0},
    ),
}
"""All of them by op_type."""

DOMAINS = frozenset(optimizer.domain for optimizer in TRAINING_OPTIMIZERS.values())
"""The domains that they are of."""


def training_optimizer_of(domain: str, op_type: str) -> TrainingOptimizer | None:
    """The training optimizer of this domain and name, if there is one."""
    optimizer = TRAINING_OPTIMIZERS.get(op_type)
    return optimizer if optimizer is not None and optimizer.domain == domain else None


def evaluate_optimizer(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Operands come grouped (all X, all G, …), and so do results; the formula runs on one tensor at a time."""
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    R, T, *operands = inputs
    groups = len(optimizer.operands)
    count, rest = divmod(len(operands), groups)
    if rest:
        raise Unsupported(f"{node.op_type} takes R, T and {groups} operands per tensor, not {len(inputs)} inputs")
    by_tensor = [system.optimizer(optimizer.forms, R, T, operands[i::count], node.attributes) for i in range(count)]
    return [results[place] for place in range(len(optimizer.results)) for results in by_tensor]
