"""Makes a find small: whatever can be taken from a choice without its fault going away is taken.

Plainer surroundings come first, then fewer tensors, elements, runs and attributes, then plain numbers. A reducer of our
own, in the declaration's words: what Hypothesis shrinks is the order of its draws, which knows nothing of models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.dimensions.building import numbered
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.search.choice import ARGMAX, OPSET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.search.choice import Choice

PLAIN = (0.0, 1.0, 2.0, -1.0, 0.5)
PLAIN_COUNTS = (0, 1, 2, 3, 10)
FEW = 16
"""Of so many elements each is tried alone; of more, halves come first."""

TRIES = 600
"""How often a choice is tried at most."""


def shrunk(choice: Choice, is_same: Callable[[Choice], bool]) -> tuple[Choice, int]:
    """The smallest choice that was found to have the same fault, and how many tries that took.

    Args:
        is_same: whether a choice has it; one of which no model can be made has not.
    """
    tries, before = 0, None
    while choice is not before and tries < TRIES:
        before = choice
        for stage in STAGES:
            choice, tries = _as_small_as(stage, choice, is_same, tries)
    return choice, tries


def _as_small_as(
    stage: Callable[[Choice], Iterator[Choice]], choice: Choice, is_same: Callable[[Choice], bool], tries: int
) -> tuple[Choice, int]:
    """What is left where nothing more can be taken in one way."""
    left: Iterator[Choice] = stage(choice)
    while tries < TRIES and (smaller := next(left, None)) is not None:
        if smaller.size < choice.size:
            tries += 1
            if is_same(smaller):
                choice, left = smaller, stage(smaller)
    return choice, tries


def _plainer_context(choice: Choice) -> Iterator[Choice]:
    if choice.beside:
        yield replace(choice, beside="")
    context = choice.context
    everything = replace(
        context, place="main", origins={}, uses={}, shared=(), stored="raw", imports="main_first", trains=False
    )
    for plainer in (
        everything,
        replace(context, place="main"),
        replace(context, origins={}),
        replace(context, uses={}),
        replace(context, shared=(), stored="raw", imports="main_first", trains=False),
        replace(context, shared=()),
        replace(context, stored="raw"),
        replace(context, imports="main_first"),
        replace(context, trains=False),
        *(replace(context, origins=_without(context.origins, name)) for name in context.origins),
        *(replace(context, uses=_without(context.uses, name)) for name in context.uses),
    ):
        yield replace(choice, context=plainer)


def _without(words: Mapping[str, str], left_out: str) -> dict[str, str]:
    return {name: word for name, word in words.items() if name != left_out}


def _shorter_chain(choice: Choice) -> Iterator[Choice]:
    yield replace(choice, opset=OPSET)
    yield replace(choice, along="same")
    yield replace(choice, chain=())
    for place in range(len(choice.chain)):
        yield replace(choice, chain=(*choice.chain[:place], *choice.chain[place + 1 :]))


def _fewer_runs(choice: Choice) -> Iterator[Choice]:
    if len(choice.runs) > 1:
        for run in choice.runs:
            yield replace(choice, runs=(run,))
        for place in range(len(choice.runs)):
            yield replace(choice, runs=(*choice.runs[:place], *choice.runs[place + 1 :]))


def _fewer_tensors(choice: Choice) -> Iterator[Choice]:
    if choice.operator == ARGMAX or choice.tensors < 2:
        return
    halves = (range(choice.tensors // 2), range(choice.tensors // 2, choice.tensors))
    for kept in (*([place] for place in range(choice.tensors)), *halves):
        yield _with_tensors(choice, list(kept))
    for left in range(choice.tensors):
        yield _with_tensors(choice, [place for place in range(choice.tensors) if place != left])


def _with_tensors(choice: Choice, kept: list[int]) -> Choice:
    """The choice with these of its tensors."""
    optimizer, count = TRAINING_OPTIMIZERS[choice.operator], choice.tensors

    def renamed(groups: Any) -> dict[str, str]:
        old, new = numbered(groups, count), numbered(groups, len(kept))
        taken = [old[group * count + place] for group in range(len(groups)) for place in kept]
        return dict(zip(taken, new, strict=True))

    operands = {"R": "R", "T": "T", **renamed(optimizer.operands)}
    results, context = renamed(optimizer.results), choice.context
    return replace(
        choice,
        context=replace(
            context,
            origins={operands[name]: word for name, word in context.origins.items() if name in operands},
            uses={results[name]: word for name, word in context.uses.items() if name in results},
            shared=tuple(operands[name] for name in context.shared if name in operands),
        ),
        runs=tuple({new: run[name] for name, new in operands.items()} for run in choice.runs),
    )


def _fewer_elements(choice: Choice) -> Iterator[Choice]:
    """Tensors of other shapes: an element alone, a half, or one element less; first in all tensors."""
    if choice.operator == ARGMAX:
        yield from _smaller_rows(choice)
        return
    optimizer, count = TRAINING_OPTIMIZERS[choice.operator], choice.tensors
    shapes = [choice.operands[name].shape for name in numbered(optimizer.operands[:1], count)]
    for place, shape in enumerate(shapes):
        size = int(np.prod(shape))
        parts = [slice(0, 1), slice(size - 1, size)] if size > 1 or len(shape) > 1 else []
        parts += [slice(0, size // 2), slice(size // 2, size)] if size > 2 else []
        parts += [slice(at, at + 1) for at in range(1, size - 1)] if size <= FEW else []
        parts += [slice(1, size), slice(0, size - 1)] if size > 2 else []
        for part in parts:
            yield _with_elements(choice, place, part)


def _with_elements(choice: Choice, tensor: int, part: slice) -> Choice:
    """The choice with a part of a tensor's elements, as a vector."""
    operands, count = TRAINING_OPTIMIZERS[choice.operator].operands, choice.tensors
    names = numbered(operands, count)[tensor::count]
    return replace(
        choice, runs=tuple({**run, **{name: run[name].reshape(-1)[part] for name in names}} for run in choice.runs)
    )


def _smaller_rows(choice: Choice) -> Iterator[Choice]:
    """ArgMax of fewer rows, of shorter ones, and of one axis."""
    X, axis = choice.operands["X"], choice.attributes.get("axis", 0)
    for place, size in enumerate(X.shape):
        parts = [[at] for at in range(min(size, FEW))] if place != axis % X.ndim else []
        parts += [list(range(size // 2)), list(range(size // 2, size))] if size > 2 else []
        parts += [[at for at in range(size) if at != left] for left in range(size)] if size <= FEW else []
        for part in parts if size > 1 else ():
            yield replace(choice, runs=tuple({"X": np.take(run["X"], part, axis=place)} for run in choice.runs))
        if size == 1 and X.ndim > 1 and place != axis % X.ndim:
            attributes = {**choice.attributes, "axis": axis % X.ndim - (place < axis % X.ndim)}
            runs = tuple({"X": run["X"].reshape(np.delete(X.shape, place))} for run in choice.runs)
            yield replace(choice, attributes=attributes, runs=runs)


def _fewer_attributes(choice: Choice) -> Iterator[Choice]:
    given = dict(choice.attributes)
    required = set() if choice.operator == ARGMAX else _required(choice.operator)
    optional = [name for name in given if name not in required]
    if choice.chain:
        optional = [name for name in optional if name != "axis"]
    if len(optional) > 1:
        yield replace(choice, attributes={name: value for name, value in given.items() if name not in optional})
        for kept in optional:
            left = {name: value for name, value in given.items() if name not in optional or name == kept}
            yield replace(choice, attributes=left)
    for name in optional:
        yield replace(choice, attributes={key: value for key, value in given.items() if key != name})
    for name, value in given.items():
        plainer = (0.0, 1.0, 0.5, 0.25) if isinstance(value, float) else (0,) if isinstance(value, int) else ()
        for plain in plainer:
            yield replace(choice, attributes={**given, name: plain})


def _required(operator: str) -> set[str]:
    optimizer = TRAINING_OPTIMIZERS[operator]
    return {name for name in ("alpha", "beta", "mode", "norm_coefficient") if name not in optimizer.defaults}


def _plainer_numbers(choice: Choice) -> Iterator[Choice]:
    """Operands of plain numbers: all of one at once, then element by element."""
    for place, run in enumerate(choice.runs):
        for name, array in run.items():
            plain = PLAIN_COUNTS if array.dtype.kind in "iu" else PLAIN
            for value in plain:
                yield _with_run(choice, place, name, np.full_like(array, value))
            for at in range(array.size) if 1 < array.size <= FEW else ():
                for value in plain:
                    changed = array.copy()
                    changed.reshape(-1)[at] = value
                    yield _with_run(choice, place, name, changed)


def _with_run(choice: Choice, place: int, name: str, array: Array) -> Choice:
    runs = list(choice.runs)
    runs[place] = {**runs[place], name: array}
    return replace(choice, runs=tuple(runs))


STAGES: Sequence[Callable[[Choice], Iterator[Choice]]] = (
    _plainer_context,
    _fewer_runs,
    _fewer_tensors,
    _fewer_elements,
    _shorter_chain,
    _fewer_attributes,
    _plainer_numbers,
)
"""What is taken, in turn: what surrounds the node first, plain numbers last."""
