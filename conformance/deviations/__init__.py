"""The catalogue of deviations: wrong implementations that the corpus has to notice, one table per operator.

`deviation` says what one is and runs it, `pseudocode`, `twists` and `arithmetic` are what the tables are written in,
`numbers` and `layout` hold what any optimizer's kernel can get wrong.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from conformance.deviations.deviation import Alteration, AlteredBackend, Deviation
from conformance.models.graphs import nodes_of
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx

__all__ = [
    "FAMILIES",
    "Alteration",
    "AlteredBackend",
    "Deviation",
    "catalogue",
    "family_among",
    "family_of",
    "op_types",
]

FAMILIES = (*TRAINING_OPTIMIZERS, "ArgMax")
"""The operators that a model is about; Log, Exp, Sqrt, Softmax, LogSoftmax and Relu show in the ArgMax behind them."""

BEFORE_ARGMAX = frozenset({"ArgMax", "Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu"})
"""ArgMax and the operators that show in it."""


@cache
def catalogue() -> Mapping[str, tuple[Deviation, ...]]:
    """All deviations, by the name of their family."""
    from conformance.deviations.adagrad import ADAGRAD
    from conformance.deviations.adam import ADAM
    from conformance.deviations.argmax import ARGMAX
    from conformance.deviations.momentum import MOMENTUM
    from conformance.deviations.monotone import MONOTONE

    return {"Adam": ADAM, "Momentum": MOMENTUM, "Adagrad": ADAGRAD, "ArgMax": (*ARGMAX, *MONOTONE)}


def family_of(model: onnx.ModelProto) -> str | None:
    """Which of the families a model is about, if any."""
    return family_among(op_types(model))


def family_among(op_types: set[str]) -> str | None:
    """Likewise, of a model with these operators."""
    return next((name for name in FAMILIES if name in op_types), None)


def op_types(model: onnx.ModelProto) -> set[str]:
    """The operators of a model's graph, and those that deviate of the graphs and functions in it."""
    inner = {node.op_type for node in (*nodes_of(model.graph), *chain(*map(nodes_of, model.functions)))}
    outer = {node.op_type for node in model.graph.node}
    beside = BEFORE_ARGMAX if "ArgMax" in inner else frozenset[str]()
    return outer | inner & (TRAINING_OPTIMIZERS.keys() | beside)
