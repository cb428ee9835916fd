"""The difference of two answers to one model: outputs, elements, largest and mean difference, ULP, and indices."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from conformance.base.serialization.decoding import Count  # noqa: TC001 - msgspec reads the annotations
from conformance.exact.models.arrays import element_count, equal_elements, format_of
from conformance.own.blame.model_comparison import Comparison, Computation, Failure
from conformance.own.graphs.intermediate_values import are_identical, constant_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.own.graphs.fed_model import FedModel

MAX_LISTED_ELEMENTS = 10
"""Differing elements of an output that are kept, the worst first."""

KEPT_SHARE = 1 / 64
"""Share of the original size that the difference of a smaller model must have to count as the same difference."""


class DifferingElement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An element in which two outputs differ.

    Attributes:
        index: its position; in a sequence, the place of the tensor or map comes first.
        values: the values of both ways; text if they are no numbers, empty for a key that a map does not have.
        key: the key of an entry of a map.
    """

    index: tuple[Count, ...]
    values: tuple[bool | int | float | str, bool | int | float | str]
    key: int | str | msgspec.UnsetType = msgspec.UNSET

    @property
    def place(self) -> str:
        """The position and the key in brackets."""
        return str(list(self.index)) + ("" if self.key is msgspec.UNSET else f"[{self.key!r}]")


class OutputDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The difference of one output.

    Attributes:
        name: the name of the output.
        kind: `values`, `type` or `shape`; `length` for sequences of other lengths.
        elements: the number of elements, of entries of maps, or of items of sequences of other lengths.
        differing: the number of differing elements.
        largest: the largest absolute difference; infinite if only one value is finite.
        mean: the mean absolute difference of all elements with two finite values.
        ulps: the largest difference in units in the last place of the larger value; None for integers.
        worst: differing elements, the largest difference first.
        steps: the largest difference in quantization steps, for a quantized output.
    """

    name: str
    kind: str
    elements: Count
    differing: Count
    largest: float = 0.0
    mean: float = 0.0
    ulps: float | None = None
    worst: tuple[DifferingElement, ...] = ()
    steps: float | msgspec.UnsetType = msgspec.UNSET

    @property
    def size(self) -> float:
        """The size of the difference, for comparison with the difference of another model."""
        return math.inf if self.kind != "values" or self.ulps is None else self.ulps


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The difference of two answers; it is false if there is none.

    Attributes:
        differs: whether an output differs, or only one way fails.
        failures: the kinds of failure of both ways.
        messages: their messages.
        outputs: the outputs that differ.
        constant: notes on identical outputs whose elements are all equal.
    """

    differs: bool = False
    failures: tuple[Failure, Failure] = (Failure.NONE, Failure.NONE)
    messages: tuple[str, str] = ("", "")
    outputs: tuple[OutputDifference, ...] = ()
    constant: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.differs

    @property
    def kind(self) -> tuple[str, ...]:
        """The kind of the difference; a smaller model must keep it."""
        kinds = {each.kind for each in self.outputs}
        found = next((kind for kind in ("type", "shape", "length", "values") if kind in kinds), "")
        classes = tuple(message.partition(":")[0] for message in self.messages)
        return (*self.failures, *classes) if any(self.failures) else (found,)

    @property
    def size(self) -> float:
        """The size of the largest difference of an output."""
        return max((each.size for each in self.outputs), default=0.0)

    @property
    def is_finite(self) -> bool:
        """Whether the largest difference of each output is a finite number."""
        return all(math.isfinite(each.largest) for each in self.outputs)

    def is_same(self, other: Difference) -> bool:
        """Return whether the difference of a smaller model is the same: of one kind, and not far smaller.

        A finite difference that becomes NaN or infinite is another one.
        """
        if not self or not other or self.kind != other.kind or (self.is_finite and not other.is_finite):
            return False
        if not all(map(_are_alike, self.messages, other.messages)):
            return False
        return other.size >= self.size * KEPT_SHARE or other.size == self.size

    def is_alike(self, other: Difference) -> bool:
        """Return whether another difference has the same kind; a difference of zeros only is a kind of its own."""
        return bool(other) and self.kind == other.kind and (self.size > 0) == (other.size > 0)


_WORD = re.compile(r"[A-Za-z]{3,}")


def _are_alike(first: str, second: str) -> bool:
    """Return whether two messages are of one failure: at least half of their words are common to both.

    Names and numbers of a message change with the model.
    """
    words = [set(_WORD.findall(message)) for message in (first, second)]
    return 2 * len(words[0] & words[1]) >= len(words[0] | words[1])


def find_difference(names: Sequence[str], first: Computation, second: Computation) -> Difference:
    """Compare two answers.

    Args:
        names: the names of the outputs.
        first: the answer of the first way.
        second: the answer of the second way.
    """
    failures = (first.failure, second.failure)
    messages = (first.message, second.message)
    if any(failures):
        return Difference(failures[0] is not failures[1], failures, messages)
    pairs = list(zip(names, first.outputs, second.outputs, strict=True))
    outputs = tuple(_compare(*pair) for pair in pairs if not are_identical([pair[1]], [pair[2]]))
    constant = () if outputs else tuple(filter(None, (constant_text(name, value) for name, value, _ in pairs)))
    return Difference(bool(outputs), outputs=outputs, constant=constant)


def observe(comparison: Comparison, fed: FedModel) -> tuple[Difference, tuple[Computation, Computation]]:
    """Compute a fed model in both ways; return the difference and the answers."""
    answers = comparison.answers(fed)
    names = [value.name for value in fed.model.graph.output]
    return find_difference(names, *answers), answers


def _compare_maps(name: str, first: Mapping[Any, Any], second: Mapping[Any, Any]) -> OutputDifference:
    """Compare two maps that are not identical: the values of the keys that both have, and the other keys."""
    keys = list(dict.fromkeys((*first, *second)))
    found = []
    for key in keys:
        pair = (first.get(key, ""), second.get(key, ""))
        has_both = key in first and key in second
        if has_both and are_identical([np.asarray(pair[0])], [np.asarray(pair[1])]):
            continue
        is_number = has_both and not any(isinstance(each, str) for each in pair)
        distance = abs(float(pair[0]) - float(pair[1])) if is_number else math.inf
        plain = int(key) if isinstance(key, int | np.integer) else str(key)
        values = (_plain(pair[0]), _plain(pair[1]))
        found.append((math.inf if math.isnan(distance) else distance, DifferingElement((), values, plain)))
    found.sort(key=lambda each: -each[0])
    finite = [distance for distance, _ in found if math.isfinite(distance)]
    return OutputDifference(
        name,
        "values",
        len(keys),
        len(found),
        found[0][0] if found else 0.0,
        sum(finite) / max(1, len(keys)),
        worst=tuple(element for _, element in found[:MAX_LISTED_ELEMENTS]),
    )


def _compare_items(name: str, first: Sequence[Any], second: Sequence[Any]) -> OutputDifference:
    """Compare two sequences of the same length that are not identical."""
    pairs = enumerate(zip(first, second, strict=True))
    found = [(place, _compare(name, *pair)) for place, pair in pairs if not are_identical([pair[0]], [pair[1]])]
    worst = max((each for _, each in found), key=lambda each: (each.kind != "values", each.largest))
    elements = element_count(first)
    ulps = [each.ulps for _, each in found if each.ulps is not None]
    listed = sorted(
        (
            (each.largest, msgspec.structs.replace(element, index=(place, *element.index)))
            for place, each in found
            for element in each.worst
        ),
        key=lambda each: -each[0],
    )
    return OutputDifference(
        name,
        worst.kind,
        elements,
        sum(each.differing for _, each in found),
        worst.largest,
        sum(each.mean * each.elements for _, each in found) / max(1, elements),
        max(ulps, default=None),
        tuple(element for _, element in listed[:MAX_LISTED_ELEMENTS]),
    )


def _compare(name: str, first: Any, second: Any) -> OutputDifference:
    """Compare two outputs that are not identical."""
    if isinstance(first, list) and isinstance(second, list):
        if len(first) == len(second):
            return _compare_items(name, first, second)
        lengths = DifferingElement((), (len(first), len(second)))
        differing = abs(len(first) - len(second))
        return OutputDifference(name, "length", len(first), differing, differing, worst=(lengths,))
    if isinstance(first, dict) and isinstance(second, dict):
        return _compare_maps(name, first, second)
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)) or first.dtype != second.dtype:
        return OutputDifference(name, "type", int(np.size(first)), int(np.size(first)))
    if first.shape != second.shape:
        return OutputDifference(name, "shape", int(first.size), int(first.size))
    if first.dtype.kind not in "fiubV":
        differs = first != second
        places = np.argwhere(differs)[:MAX_LISTED_ELEMENTS]
        return OutputDifference(
            name, "values", first.size, int(differs.sum()), math.inf, worst=_elements(first, second, places)
        )
    is_integer = first.dtype.kind in "iub"
    with np.errstate(all="ignore"):
        a, b = (each.astype(np.float64) for each in (first, second))
        same = equal_elements(first, second, with_signs=True)
        distance = np.where(same, 0.0, np.abs(a - b))
        distance = np.where(np.isnan(distance), np.inf, distance)
        finite = np.isfinite(distance)
        mean = float(distance[finite].mean()) if finite.any() else math.inf
        ulps = None if is_integer else _ulps(a, b, distance, first.dtype)
    order = np.argsort(np.where(same, -1.0, distance), axis=None, kind="stable")[::-1]
    chosen = [
        np.unravel_index(int(flat), first.shape) for flat in order[: min(MAX_LISTED_ELEMENTS, int((~same).sum()))]
    ]
    return OutputDifference(
        name,
        "values",
        int(first.size),
        int((~same).sum()),
        float(distance.max()),
        mean,
        ulps,
        _elements(first, second, chosen),
    )


def _ulps(a: Array, b: Array, distance: Array, dtype: np.dtype[Any]) -> float:
    """Return the largest distance in units in the last place; the unit is at least that of the tensor's middle."""
    limits = format_of(dtype)
    digits = 2 * float(limits.unit_roundoff)
    tiny = float(limits.smallest_subnormal)
    magnitude = np.maximum(np.abs(a), np.abs(b))
    usual = magnitude[np.isfinite(magnitude)]
    scale = np.maximum(magnitude, float(np.median(usual)) if usual.size else 0.0)
    unit = np.maximum(digits * np.exp2(np.floor(np.log2(np.maximum(scale, tiny)))), tiny)
    shares = np.where(distance > 0, distance / unit, 0.0)
    return float(np.where(np.isnan(shares), np.inf, shares).max())


def _elements(first: Array, second: Array, places: Any) -> tuple[DifferingElement, ...]:
    return tuple(
        DifferingElement(tuple(map(int, place)), (_plain(first[tuple(place)]), _plain(second[tuple(place)])))
        for place in places
    )


def _plain(element: Any) -> bool | int | float | str:
    """Return an element as JSON has it."""
    value = element.item() if isinstance(element, np.generic) else element
    return value if isinstance(value, bool | int | float | str) else str(value)
