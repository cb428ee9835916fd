"""Whether outputs that are within their bounds fit one reading throughout; asked of double optimizers at `must` only.

The bound encloses every reading of the scalars at once, so an answer may be within it and fit none of them. What a
reading leaves is computed by the reference, from the model in the corpus, when it is first asked for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from conformance.reference.readings import has_readings, readings
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.loading import DataSet, LoadedCase
    from conformance.models.arrays import Array
    from conformance.reference.readings import ReadNode

COMPLAINT = "fits no one reading of what has no tensor in it, though each element is within its bound"

MOST_HELD = 512
"""How many data sets' readings are kept, since every subject is held against the same."""


def contradictory(case: LoadedCase, data_set: DataSet, outputs: Sequence[Array]) -> int | None:
    """The place of the first output of a node whose outputs fit no one reading of it, or None.

    Args:
        data_set: as the subject got it; none of its inputs is altered.
        outputs: within their bounds.
    """
    if case.entry.level is not Level.MUST or not has_readings(case.model):
        return None
    expected = (output.expected.tobytes() for output in data_set.outputs)
    if all(actual.tobytes() == bits for actual, bits in zip(outputs, expected, strict=True)):
        return None
    asked = _Asked(case, data_set)
    return next((node.outputs[0] for node in _readings(asked) if not node.fits(outputs)), None)


class _Asked:
    """A data set of a case, equal to another where the model and the inputs are."""

    def __init__(self, case: LoadedCase, data_set: DataSet) -> None:
        self.case, self.inputs = case, data_set.inputs
        self._key = case.entry.files["model.onnx"], tuple(array.tobytes() for array in data_set.inputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=MOST_HELD)
def _readings(asked: _Asked) -> list[ReadNode]:
    return readings(asked.case.corpus.read(asked.case.entry, "model.onnx"), asked.inputs)
