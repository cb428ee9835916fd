"""The planted faults and correct variants as backends: `checks.truth.subject:Backend[fault=NAME]`, `[variant=NAME]`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .evaluate import Behavior, evaluate
from .faults import FAULTS
from .variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx
    from numpy.typing import NDArray

__version__ = "1.0"


def find_behavior(fault: str = "", variant: str = "plain") -> Behavior:
    """Return the behavior of a fault in a correct variant; without a fault, the variant alone.

    Raises:
        ValueError: there is no such fault or variant.
    """
    if fault and fault not in FAULTS:
        raise ValueError(f"There is no fault {fault}.")
    if variant not in VARIANTS:
        raise ValueError(f"There is no variant {variant}.")
    behavior = VARIANTS[variant]
    if not fault:
        return behavior
    planted = FAULTS[fault]
    if planted.pair is not None:
        pairs = {**behavior.replaced_pairs, planted.pair: planted.pair_result}
        return replace(behavior, replaced_pairs=pairs)
    return replace(behavior, replaced={**behavior.replaced, planted.operator: planted.result})


class Prepared:
    """A model that is ready to run."""

    def __init__(self, model: onnx.ModelProto, behavior: Behavior) -> None:
        stored = {tensor.name for tensor in model.graph.initializer}
        self._names = [value.name for value in model.graph.input if value.name not in stored]
        self._model = model
        self._behavior = behavior

    def run(self, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return the outputs for the inputs, in the order of the graph."""
        return evaluate(self._model, dict(zip(self._names, inputs, strict=True)), self._behavior)


class Backend:
    """Runs a model with a planted fault, or as a correct variant."""

    __version__ = __version__

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto,
        device: str = "CPU",
        *,
        fault: str = "",
        variant: str = "plain",
        node: str = "",
        change: str = "",
    ) -> Prepared:
        """Load a model. The output of `node` is changed in the way that `CHANGES` names."""
        del device
        return Prepared(model, replace(find_behavior(fault, variant), changed_node=node, change=change))
