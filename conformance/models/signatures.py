"""Operands, results, attributes and defaults of the operators, as their schemas give them.

The schemas of the installed `onnx` are not asked, so that no expected value depends on its version; a test holds these
tables against them. Attribute defaults are the float32 values nearest to the decimals here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAINING = "ai.onnx.preview.training"


@dataclass(frozen=True)
class TrainingOptimizer:
    """A training optimizer's signature: R, T, then each operand of every tensor in turn.

    Attributes:
        operands: what each tensor brings: X, G and the state.
        results: what each tensor gets: X_new and the new state.
        defaults: the optional attributes with their defaults.
        required: the attributes without a default.
    """

    operands: tuple[str, ...]
    results: tuple[str, ...]
    defaults: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()


TRAINING_OPTIMIZERS: Mapping[str, TrainingOptimizer] = {
    "Adam": TrainingOptimizer(
        operands=("X", "G", "V", "H"),
        results=("X_new", "V_new", "H_new"),
        defaults={"alpha": 0.9, "beta": 0.999, "epsilon": 1e-6, "norm_coefficient": 0.0, "norm_coefficient_post": 0.0},
    ),
    "Momentum": TrainingOptimizer(
        operands=("X", "G", "V"),
        results=("X_new", "V_new"),
        required=("alpha", "beta", "mode", "norm_coefficient"),
    ),
    "Adagrad": TrainingOptimizer(
        operands=("X", "G", "H"),
        results=("X_new", "H_new"),
        defaults={"decay_factor": 0.0, "epsilon": 1e-6, "norm_coefficient": 0.0},
    ),
}

MODES = ("standard", "nesterov")
"""What Momentum's mode may be."""

ARGMAX_DEFAULTS: Mapping[str, Any] = {"axis": 0, "keepdims": 1, "select_last_index": 0}


def softmax_default_axis(opset: int) -> int:
    """The axis of Softmax and LogSoftmax where none is given: the last since opset 13, the second below it."""
    return -1 if opset >= 13 else 1
