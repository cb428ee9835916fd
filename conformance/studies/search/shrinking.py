"""Shrink a failing example: simplify it step by step as long as it keeps its failure signature.

The stages remove tensors, runs and elements first, because small examples are judged faster. Then they simplify the
context, the types and the attributes, and finally they replace operand values by plain numbers. The stages change the
`Example` itself. (Hypothesis changes the random choices from which an example was generated.) They can thus use
knowledge of what makes a model simpler.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.factors.training_factors import tensor_names
from conformance.corpus.factors.wrapping import Context
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.drawn_example import DRAWN_STAGES, AnyExample, DrawnExample
from conformance.studies.search.example import ARGMAX, Example, keep_tensors, slice_tensor
from conformance.studies.search.program_example import PROGRAM_STAGES, ProgramExample
from conformance.studies.search.search_conditions import features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.exact.models.arrays import Array

PLAIN_VALUES = (0.0, 1.0, 2.0, -1.0, 0.5)
"""Floating-point values that operands are simplified to, in order of preference."""
PLAIN_COUNTS = (0, 1, 2, 3, 10)
"""Integers that operands are simplified to, in order of preference."""
MAX_ELEMENTS_TRIED_SINGLY = 16
"""Number of elements up to which each element is removed or simplified individually. Larger tensors are only halved."""

MAX_TRIES = 600
"""Maximum number of simpler examples to try."""


def shrink(example: AnyExample, is_same: Callable[[AnyExample], bool]) -> tuple[AnyExample, int]:
    """Return the simplest example that was found with the same failure, and the number of examples tried.

    Args:
        is_same: returns whether an example has the same failure; False if a model cannot be built from it.
    """
    stages: Any = STAGES
    if isinstance(example, DrawnExample):
        stages = DRAWN_STAGES
    elif isinstance(example, ProgramExample):
        stages = (PROGRAM_STAGES[0], _restored_features, *PROGRAM_STAGES[1:])
    tries = 0
    before = None
    while example is not before and tries < MAX_TRIES:
        before = example
        for stage in stages:
            example, tries = _apply_stage(stage, example, is_same, tries)
    return example, tries


def _apply_stage(
    stage: Callable[[Any], Iterator[AnyExample]], example: AnyExample, is_same: Callable[[AnyExample], bool], tries: int
) -> tuple[AnyExample, int]:
    """Apply the simplifications of one stage until none of them keeps the failure.

    Return the example and the number of examples tried so far; `tries` is the number before this stage.
    """
    left = stage(example)
    while tries < MAX_TRIES and (smaller := next(left, None)) is not None:
        if smaller.complexity < example.complexity:
            tries += 1
            if is_same(smaller):
                example = smaller
                left = stage(smaller)
    return example, tries


def _restored_features(example: AnyExample) -> Iterator[AnyExample]:
    """Yield examples in which all parts of the context are plain, or one feature is."""
    if isinstance(example, Example):
        context = example.context
        for plainer in (Context(), context.changed(sources={}), context.changed(consumers={})):
            yield replace(example, context=plainer)
        for place in range(len(example.chain)):
            yield replace(example, chain=(*example.chain[:place], *example.chain[place + 1 :]))
    for feature in features(example):
        yield from feature.restored


def _fewer_runs(example: Example) -> Iterator[Example]:
    if len(example.runs) > 1:
        for run in example.runs:
            yield replace(example, runs=(run,))
        for place in range(len(example.runs)):
            yield replace(example, runs=(*example.runs[:place], *example.runs[place + 1 :]))


def _fewer_tensors(example: Example) -> Iterator[Example]:
    if example.operator == ARGMAX or example.tensor_count < 2:
        return
    halves = (range(example.tensor_count // 2), range(example.tensor_count // 2, example.tensor_count))
    for kept in (*([place] for place in range(example.tensor_count)), *halves):
        yield keep_tensors(example, list(kept))
    for left in range(example.tensor_count):
        yield keep_tensors(example, [place for place in range(example.tensor_count) if place != left])


def _fewer_elements(example: Example) -> Iterator[Example]:
    """Yield examples in which a tensor is reduced to one element, one half, or all elements but one."""
    if example.operator == ARGMAX:
        yield from _smaller_rows(example)
        return
    optimizer = TRAINING_OPTIMIZERS[example.operator]
    count = example.tensor_count
    shapes = [example.operands[name].shape for name in tensor_names(optimizer.operands[:1], count)]
    for place, shape in enumerate(shapes):
        size = int(np.prod(shape))
        parts = [slice(0, 1), slice(size - 1, size)] if size > 1 or len(shape) > 1 else []
        parts += [slice(0, size // 2), slice(size // 2, size)] if size > 2 else []
        parts += [slice(at, at + 1) for at in range(1, size - 1)] if size <= MAX_ELEMENTS_TRIED_SINGLY else []
        parts += [slice(1, size), slice(0, size - 1)] if size > 2 else []
        for part in parts:
            yield slice_tensor(example, place, part)


def _smaller_rows(example: Example) -> Iterator[Example]:
    """Yield examples with a smaller operand of ArgMax: fewer slices, shorter slices, fewer dimensions.

    The operands of all runs must have one shape.
    """
    X = example.operands["X"]
    axis = example.attributes.get("axis", 0)
    if example.is_resized:
        return
    for place, size in enumerate(X.shape):
        parts = [[at] for at in range(min(size, MAX_ELEMENTS_TRIED_SINGLY))] if place != axis % X.ndim else []
        parts += [list(range(size // 2)), list(range(size // 2, size))] if size > 2 else []
        if size <= MAX_ELEMENTS_TRIED_SINGLY:
            parts += [[at for at in range(size) if at != left] for left in range(size)]
        for part in parts if size > 1 else ():
            yield example.map_operands(lambda _, array: np.take(array, part, axis=place))  # noqa: B023 - called here
        if size == 1 and X.ndim > 1 and place != axis % X.ndim:
            attributes = {**example.attributes, "axis": axis % X.ndim - (place < axis % X.ndim)}
            flatter = example.map_operands(lambda _, array: array.reshape(np.delete(X.shape, place)))  # noqa: B023
            yield replace(flatter, attributes=attributes)


def _fewer_attributes(example: Example) -> Iterator[Example]:
    given = dict(example.attributes)
    required = () if example.operator == ARGMAX else TRAINING_OPTIMIZERS[example.operator].required
    optional = [name for name in given if name not in required]
    if example.chain:
        optional = [name for name in optional if name != "axis"]
    if len(optional) > 1:
        yield replace(example, attributes={name: value for name, value in given.items() if name not in optional})
        for kept in optional:
            left = {name: value for name, value in given.items() if name not in optional or name == kept}
            yield replace(example, attributes=left)
    for name in optional:
        yield replace(example, attributes={key: value for key, value in given.items() if key != name})
    for name, value in given.items():
        plainer = (0.0, 1.0, 0.5, 0.25) if isinstance(value, float) else (0,) if isinstance(value, int) else ()
        for plain in plainer:
            yield replace(example, attributes={**given, name: plain})


def _plainer_numbers(example: Example) -> Iterator[Example]:
    """Yield examples in which all elements of an operand, or a single element, are replaced by a plain number."""
    for place, run in enumerate(example.runs):
        for name, array in run.items():
            plain = PLAIN_COUNTS if array.dtype.kind in "iu" else PLAIN_VALUES
            for value in plain:
                yield _with_run(example, place, name, np.full_like(array, value))
            for at in range(array.size) if 1 < array.size <= MAX_ELEMENTS_TRIED_SINGLY else ():
                for value in plain:
                    changed = array.copy()
                    changed.reshape(-1)[at] = value
                    yield _with_run(example, place, name, changed)


def _with_run(example: Example, place: int, name: str, array: Array) -> Example:
    runs = list(example.runs)
    runs[place] = {**runs[place], name: array}
    return replace(example, runs=tuple(runs))


STAGES: Sequence[Callable[[Any], Iterator[AnyExample]]] = (
    _fewer_tensors,
    _fewer_runs,
    _fewer_elements,
    _restored_features,
    _fewer_attributes,
    _plainer_numbers,
)
"""The stages in the order of execution. Each stage yields simpler examples; the first stages make the others faster."""
