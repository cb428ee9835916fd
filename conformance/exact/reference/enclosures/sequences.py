"""Enclosures as tensors of sequences and control flow. A sequence is a list of tensors; an empty optional is `None`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.exact.reference.numbers.enclosure import (
    Enclosure,
    Tensor,
    TensorOrSequence,
    as_enclosure,
    as_tensor,
    known_elements,
    move,
)
from conformance.exact.reference.operators.data_movement import place_along

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.exact.models.arrays import Array


def stack(parts: Sequence[TensorOrSequence], axis: int, *, joins: bool = False) -> Tensor:
    """Return tensors stacked along a new axis, or joined along an axis that they have."""
    combine = np.concatenate if joins else np.stack
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.asarray(combine(arrays, axis))
    enclosures = [as_enclosure(as_tensor(part)) for part in parts]
    values, errors = (combine([getattr(each, name) for each in enclosures], axis) for name in ("value", "error"))
    overflows = None
    if any(each.overflows is not None for each in enclosures):
        masks = [np.zeros(each.shape, bool) if each.overflows is None else each.overflows for each in enclosures]
        overflows = combine(masks, axis)
    return Enclosure(values, errors, enclosures[0].dtype, overflows=overflows)


class EnclosureTensors:
    """Tensors with bounds, and lists of them."""

    absent: TensorOrSequence = None

    def constant(self, array: Array) -> TensorOrSequence:
        return array

    def known(self, value: TensorOrSequence) -> Array:
        return known_elements(as_tensor(value))

    def sequence(self, items: Iterable[TensorOrSequence]) -> TensorOrSequence:
        return [as_tensor(each) for each in items]

    def items(self, value: TensorOrSequence) -> Sequence[TensorOrSequence] | None:
        return value if isinstance(value, list) else None

    def size(self, value: TensorOrSequence, axis: int) -> int:
        X = as_tensor(value)
        assert X is not None
        return int(X.shape[axis])

    def take(self, value: TensorOrSequence, index: int | slice, axis: int) -> TensorOrSequence:
        return move(as_tensor(value), lambda x: x[place_along(axis, x.ndim, index)])

    def join(self, values: Sequence[TensorOrSequence], axis: int, *, stacks: bool) -> TensorOrSequence:
        return stack(values, axis, joins=not stacks)
