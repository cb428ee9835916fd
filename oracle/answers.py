"""What this oracle computes for one data set of a model, in each mode, with as many bits as it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracle.calls import rounded
from oracle.graphs import Evaluation
from oracle.reals import Undecided, precision
from oracle.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from onnx import ModelProto

    from oracle.calls import Mode
    from oracle.tensors import Value

PRECISIONS = (320, 1280, 5120, 20480)
"""Bits of Arb's balls: more where fewer leave something undecided."""


@dataclass(frozen=True)
class Answers:
    """The outputs of a model for these inputs, each mode computed where it is first asked for.

    Attributes:
        folder: where the model's external data are.
    """

    model: ModelProto
    folder: Path
    inputs: Mapping[str, Tensor]
    _known: dict[Mode, tuple[Value, ...]] = field(default_factory=dict)

    def output(self, mode: Mode, number: int) -> Tensor:
        """The output at this place, a tensor.

        Raises:
            Undecided: the most bits are too few to round an element.
            NotImplementedError: the model has what this oracle does not know.
        """
        if mode not in self._known:
            self._known[mode] = self._decided(mode)
        value = self._known[mode][number]
        if not isinstance(value, Tensor):
            raise NotImplementedError("The second oracle compares tensors only.")
        return value

    def _decided(self, mode: Mode) -> tuple[Value, ...]:
        evaluation = Evaluation(self.model, self.folder, mode)
        for bits in PRECISIONS:
            try:
                with precision(bits):
                    return _roundable(evaluation.run(self.inputs), mode)
            except Undecided:
                continue
        raise Undecided(
            f"{PRECISIONS[-1]} bits are too few to round a value, which may lie between two numbers exactly."
        )


def _roundable(outputs: tuple[Value, ...], mode: Mode) -> tuple[Value, ...]:
    """The outputs, if each element can be rounded. Raises Undecided otherwise."""
    for output in outputs:
        if isinstance(output, Tensor) and not mode.encloses:
            rounded(output)
    return outputs
