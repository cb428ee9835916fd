"""The operators of the corpus, each implemented from its ONNX document. `OPERATORS` lists them by domain and name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checks.oracle.operators import (
    activations,
    constants,
    control_flow,
    data_movement,
    elementwise,
    normalizations,
    ranking,
    reductions,
    sequences,
    training,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GROUPS = (
    activations,
    constants,
    control_flow,
    elementwise,
    data_movement,
    normalizations,
    ranking,
    reductions,
    sequences,
)

OPERATORS: dict[tuple[str, str], Callable[..., Any]] = {
    **{("", name): operator for group in GROUPS for name, operator in group.OPERATORS.items()},
    **{("ai.onnx.preview.training", name): operator for name, operator in training.OPERATORS.items()},
}
