"""What a backend made of a case, kept to be compared with what other backends make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.judging.compare import accepts
from conformance.models import formats
from conformance.subjects.failures import is_unsupported, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.loading import CaseInMemory, DataSet, ExpectedTensor
    from conformance.models.arrays import Array

ROUNDINGS = 16
"""By how many units of roundoff, besides the bound, two evaluations of one wrong formula may differ."""


@dataclass(frozen=True)
class Observation:
    """What a backend made of a case.

    Attributes:
        outputs: what each data set's run returned, up to the end.
        spoiled: the inputs that each run changed.
        ended: the phase in which it raised an error, and which; or None. Only the same error is the same fault.
    """

    outputs: tuple[tuple[Any, ...], ...]
    spoiled: tuple[tuple[int, ...], ...]
    ended: str | None = None


def observe(backend: Any, case: CaseInMemory, like: Observation | None = None) -> Observation | None:
    """Run a case on a backend and keep all that came; None where the backend says that it cannot.

    Args:
        like: what may be of the same implementation; None as soon as a data set shows that it is of another.
    """
    outputs: list[tuple[Any, ...]] = []
    spoiled: list[tuple[int, ...]] = []
    phase = "load"
    try:
        prepared = backend.prepare(case.fresh_model(), "CPU")
        phase = "run"
        for number, data_set in enumerate(case.data_sets()):
            before = [array.tobytes() for array in data_set.inputs]
            came = prepared.run(list(data_set.inputs))
            outputs.append(tuple(array.copy() if isinstance(array, np.ndarray) else array for array in came))
            pairs = zip(data_set.inputs, before, strict=True)
            spoiled.append(tuple(i for i, (array, old) in enumerate(pairs) if array.tobytes() != old))
            if like is not None and not _is_alike(like, number, data_set, outputs[-1]):
                return None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - as `judge` takes them
        return None if is_unsupported(error) else Observation(tuple(outputs), tuple(spoiled), f"{phase}: {told(error)}")
    return Observation(tuple(outputs), tuple(spoiled))


def agree(one: Observation, other: Observation, case: CaseInMemory) -> bool:
    """Whether two observations of a case show the same implementation, but for rounding."""
    if (one.ended, one.spoiled, len(one.outputs)) != (other.ended, other.spoiled, len(other.outputs)):
        return False
    data_sets = zip(case.held, one.outputs, other.outputs, strict=False)
    return all(_outputs_agree(data_set.outputs, a, b) for data_set, a, b in data_sets)


def _is_alike(observation: Observation, number: int, data_set: DataSet, outputs: Sequence[Any]) -> bool:
    """Whether these are the outputs of an observation for a data set, but for rounding."""
    told = observation.outputs
    return number < len(told) and _outputs_agree(data_set.outputs, outputs, told[number])


def fails(observation: Observation, case: CaseInMemory) -> bool:
    """Whether a backend that was observed so fails the case."""
    if observation.ended or any(observation.spoiled) or len(observation.outputs) != len(case.held):
        return True
    for data_set, came in zip(case.held, observation.outputs, strict=True):
        if len(came) != len(data_set.outputs):
            return True
        if not all(map(accepts, data_set.outputs, came)):
            return True
    return False


def _outputs_agree(expected: Sequence[ExpectedTensor], one: Sequence[Any], other: Sequence[Any]) -> bool:
    if len(one) != len(other) or len(one) != len(expected):
        return False
    return all(_output_agrees(*three) for three in zip(expected, one, other, strict=True))


def _output_agrees(expected: ExpectedTensor, one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic)):
        return False
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    a, b = np.asarray(one), np.asarray(other)
    both_nan = (a != a) & (b != b)  # noqa: PLR0124
    if expected.bound is None:
        alike = a == b if a.dtype.kind not in "fV" else (a == b) & (np.signbit(a) == np.signbit(b))
        return bool((alike | both_nan).all())
    return bool(((a == b) | both_nan | (_distance(a, b) <= _room(expected, a, b))).all())


def _distance(a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.abs(a.astype(np.float64) - b.astype(np.float64)), nan=np.inf, posinf=np.inf)


def _room(expected: ExpectedTensor, a: Array, b: Array) -> Any:
    """How far apart two evaluations of a wrong formula may be: the bound of the right one, and some roundings."""
    assert expected.bound is not None
    format = formats.BY_NAME["float" if expected.expected.dtype == np.float32 else "double"]
    magnitude = np.fmax(np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64)))
    with np.errstate(all="ignore"):
        room = ROUNDINGS * float(format.unit_roundoff) * np.where(np.isfinite(magnitude), magnitude, 0)
    fits = expected.bound.shape == a.shape and np.isfinite(expected.bound).all()
    return room + expected.bound if fits else room
