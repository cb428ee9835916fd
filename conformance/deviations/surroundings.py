"""Deviations of any optimizer that show in what surrounds a node, in the signs of its numbers, and in many tensors."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations.deviation import Deviation
from conformance.deviations.twists import (
    R,
    T,
    answering,
    by_tensor,
    each_float_attribute,
    each_tensor,
    grouped,
    only_tensors,
    scalar,
    spliced,
    unchanged,
)
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.deviations.deviation import Kernel, Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


def _leaving(kernel: Kernel) -> Kernel:
    """The tensors come out as they came in."""
    del kernel
    return unchanged


def _as_the_first_time(kernel: Kernel) -> Kernel:
    """Whatever the node is given later, it answers as it did at first, if the shapes fit."""
    first: list[Array] = []

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        outputs = kernel(node, inputs)
        if [array.shape for array in first] != [array.shape for array in outputs]:
            first[:] = [array.copy() for array in outputs]
        return [array.copy() for array in first]

    return run


def _with_the_schema_s_defaults(kernel: Kernel) -> Kernel:
    """Attributes are what the schema has for them, whatever the function hands on."""

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        given = {**node.attributes, **TRAINING_OPTIMIZERS[node.op_type].defaults}
        return kernel(dataclasses.replace(node, attributes=given), inputs)

    return run


def _skipping(is_skipped: Callable[[list[Array]], bool]) -> Twist:
    """Tensors whose operands are so are left as they are."""

    def twist(kernel: Kernel) -> Kernel:
        def run(node: Node, inputs: list[Array]) -> list[Array]:
            outputs = []
            for tensor in by_tensor(node, inputs):
                work = unchanged if is_skipped(tensor) else kernel
                outputs.append(work(node, [inputs[R], inputs[T], *tensor]))
            return grouped(outputs)

        return run

    return twist


def _only_first_of(most: Callable[[list[int], int], int]) -> Twist:
    """Only the first elements of each tensor are updated: `most` gets the sizes of all and the place of one."""

    def cut(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        sizes = [X.size for X, *_ in by_tensor(node, inputs)]
        every = zip(unchanged(node, inputs), outputs, strict=True)
        return [
            spliced(old, new, most(sizes, place % len(sizes))) if old.shape == new.shape else new
            for place, (old, new) in enumerate(every)
        ]

    return answering(cut)


def _state_of_the_same_shape(tensors: list[list[Array]]) -> list[list[Array]]:
    """Each tensor has the state of the first whose X has the same shape and type, as of a buffer found by these."""
    kept: dict[tuple[object, ...], list[Array]] = {}
    return [[X, G, *kept.setdefault((X.shape, X.dtype), state)] for X, G, *state in tensors]


def _same_gradients_once(tensors: list[list[Array]]) -> list[list[Array]]:
    """A second tensor with an X that another has, too, is updated with that one's operands."""
    seen: dict[bytes, list[Array]] = {}
    return [seen.setdefault(tensor[0].tobytes(), tensor) if tensor[0].size else tensor for tensor in tensors]


CHUNK, FEW = 2048, 64
"""Elements of a tensor that kernels for many tensors take at once, and so few that they may be left to a vector."""

STEP = "step"
"""Stands for the clause of X_new, which optimizers have under names of their own."""

PLACES = (
    Deviation("left_in_if", "leaves tensors as they are in a branch of an If", STEP, twists=(_leaving,), within="If"),
    Deviation("left_in_scan", "leaves tensors as they are in a Scan", STEP, twists=(_leaving,), within="Scan"),
    Deviation(
        "first_iteration_again",
        "gives in each iteration of a Loop what it gave in the first",
        STEP,
        twists=(_as_the_first_time,),
        within="Loop",
    ),
    Deviation(
        "first_row_again",
        "gives for each row of a Scan what it gave for the first",
        STEP,
        twists=(_as_the_first_time,),
        within="Scan",
    ),
)

FUNCTIONS = (
    Deviation(
        "defaults_in_function",
        "uses the schema's defaults in a function, whatever attributes that hands on",
        "function_attributes",
        twists=(_with_the_schema_s_defaults,),
        within="function",
    ),
)

TENSORS = (
    *(
        Deviation(
            f"{word}_tensors_at_most",
            f"updates at most {word} tensors",
            "several_tensors",
            twists=(only_tensors(lambda _, count=count: set(range(count))),),  # type: ignore[misc]
        )
        for word, count in (("eight", 8), ("sixteen", 16), ("thirty_two", 32))
    ),
    Deviation(
        "state_of_same_shape",
        "uses the state of the first tensor of the same shape",
        "several_tensors",
        twists=(each_tensor(_state_of_the_same_shape),),
    ),
    Deviation(
        "same_x_once",
        "updates tensors with the same X with the first one's operands",
        "several_tensors",
        twists=(each_tensor(_same_gradients_once),),
    ),
    Deviation(
        "length_of_first",
        "updates of each tensor no more elements than the first has",
        "several_tensors",
        twists=(_only_first_of(lambda sizes, _: sizes[0]),),
    ),
    Deviation(
        "length_of_last",
        "updates of each tensor no more elements than the last has",
        "several_tensors",
        twists=(_only_first_of(lambda sizes, _: sizes[-1]),),
    ),
    Deviation(
        "one_chunk_of_others",
        "updates of each tensor but the first no more than 2048 elements",
        "several_tensors",
        twists=(_only_first_of(lambda sizes, place: CHUNK if place else sizes[0]),),
    ),
    Deviation(
        "short_beside_long",
        "leaves tensors of fewer than 64 elements as they are beside one of more than 2048",
        "several_tensors",
        twists=(_only_first_of(lambda sizes, place: 0 if sizes[place] < FEW and max(sizes) > CHUNK else sizes[place]),),
    ),
)

NUMBERS = (
    Deviation(
        "zero_gradients_skipped",
        "leaves a tensor as it is whose gradient is all zero",
        "elementwise",
        twists=(_skipping(lambda tensor: bool(tensor[1].size) and not tensor[1].any()),),
    ),
    Deviation("r_magnitude", "steps with the magnitude of R", "scalars", twists=(scalar(R, np.abs),)),
    Deviation(
        "r_at_most_1",
        "takes an R above 1 for 1",
        "scalars",
        twists=(scalar(R, lambda r: np.minimum(r, r.dtype.type(1))),),
    ),
    Deviation(
        "t_as_int8", "reads T as an 8-bit integer", "update_count_type", twists=(scalar(T, lambda t: t.astype("i1")),)
    ),
    Deviation(
        "t_as_uint8",
        "reads T as an unsigned 8-bit integer",
        "update_count_type",
        twists=(scalar(T, lambda t: t.astype("u1")),),
    ),
    Deviation(
        "attributes_not_negative",
        "takes negative attributes for 0",
        "attribute_type",
        twists=(each_float_attribute(lambda value: np.maximum(value, 0)),),
    ),
    Deviation(
        "attributes_at_most_1",
        "takes attributes above 1 for 1",
        "attribute_type",
        twists=(each_float_attribute(lambda value: np.minimum(value, 1)),),
    ),
    Deviation(
        "attributes_by_place",
        "takes the attributes of a node for those of the page in the page's order, whatever their names are",
        "attributes",
        by_place=True,
    ),
)


def rows(operator: str, step: str) -> tuple[Deviation, ...]:
    """Those that can be had with the operator's attributes.

    Args:
        step: the clause of X_new, without the operator's prefix.
    """
    every = (*PLACES, *TENSORS, *NUMBERS, *(FUNCTIONS if TRAINING_OPTIMIZERS[operator].defaults else ()))
    return tuple(dataclasses.replace(row, clause=step) if row.clause == STEP else row for row in every)
