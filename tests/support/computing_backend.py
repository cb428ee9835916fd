"""A backend whose models compute their outputs with a function, and onnx's evaluator as such a function."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import onnx


def evaluate(model: onnx.ModelProto, inputs: Sequence[Any], **options: Any) -> list[Any]:
    """Return the outputs that onnx's evaluator computes."""
    names = [value.name for value in model.graph.input]
    with np.errstate(all="ignore"):
        outputs = ReferenceEvaluator(model, **options).run(None, dict(zip(names, inputs, strict=True)))
    return [np.asarray(output) for output in outputs]


class Computes:
    """A backend that computes outputs with a function of the model and of the inputs in the graph's order."""

    def __init__(self, compute: Callable[[Any, Sequence[Any]], list[Any]] = evaluate) -> None:
        self.compute = compute

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        return SimpleNamespace(run=partial(self.compute, model))
