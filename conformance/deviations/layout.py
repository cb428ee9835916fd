"""Deviations that any optimizer's kernel can have in its layout: operands and results, tensors, shapes, buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations.deviation import Deviation
from conformance.deviations.sizes import OF_TENSORS
from conformance.deviations.twists import (
    R,
    T,
    answering,
    by_tensor,
    each_output,
    each_tensor,
    feeding,
    first_elements,
    grouped,
    interleaved,
    keeping_state,
    named,
    one_buffer,
    only_tensors,
    overwriting,
    refusing,
)
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from conformance.deviations.deviation import Kernel
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


def _operands_by_tensor(node: Node, inputs: list[Array]) -> list[Array]:
    return [*inputs[:2], *interleaved(inputs[2:], len(TRAINING_OPTIMIZERS[node.op_type].operands))]


def _results_by_tensor(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    count = len(by_tensor(node, inputs))
    return [array for number in range(count) for array in outputs[number::count]]


def _results_backwards(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    count = len(by_tensor(node, inputs))
    return grouped([outputs[number::count] for number in reversed(range(count))])


def _gradient_last(tensor: list[Array]) -> list[Array]:
    """What a kernel finds in the places of X, G and the state if it takes the gradient to come last."""
    X, *state, G = tensor
    return [X, G, *state]


def _gradients_of_next(tensors: list[list[Array]]) -> list[list[Array]]:
    following = [*tensors[1:], tensors[0]]
    return [[X, _fitted(next[1], X), *state] for (X, _, *state), next in zip(tensors, following, strict=True)]


def _state_of_first(tensors: list[list[Array]]) -> list[list[Array]]:
    return [[X, G, *(_fitted(array, X) for array in tensors[0][2:])] for X, G, *_ in tensors]


def _fitted(array: Array, X: Array) -> Array:
    """An array's elements, over and over, in X's shape and type."""
    return np.resize(array, X.shape).astype(X.dtype) if array.size else np.zeros_like(X)


def _counting_tensors(kernel: Kernel) -> Kernel:
    """Each tensor sees a T that is one higher than that of the tensor before."""

    def run(node: Node, inputs: list[Array]) -> list[Array]:
        tensors = enumerate(by_tensor(node, inputs))
        return grouped([kernel(node, [inputs[R], inputs[T] + number, *tensor]) for number, tensor in tensors])

    return run


def _in_shape_of_first(_: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    return [_fitted(array, inputs[2].astype(array.dtype)) for array in outputs]


def _gradient_of_first_element(node: Node, inputs: list[Array]) -> list[Array]:
    first = [np.broadcast_to(a.flat[0], a.shape) if name == "G" and a.size else a for name, a in named(node, inputs)]
    return [*inputs[:2], *first]


OPERANDS = (
    Deviation(
        "operands_by_tensor",
        "takes the operands of each tensor to stand together",
        "operands",
        twists=(feeding(_operands_by_tensor),),
    ),
    Deviation(
        "gradient_last",
        "takes the gradient to come after the state",
        "operands",
        twists=(each_tensor(lambda tensors: [_gradient_last(tensor) for tensor in tensors]),),
    ),
    Deviation(
        "gradient_first",
        "takes the gradient to come before X",
        "operands",
        twists=(each_tensor(lambda tensors: [[G, X, *state] for X, G, *state in tensors]),),
    ),
    Deviation(
        "results_by_tensor",
        "gives the results of each tensor together",
        "results",
        twists=(answering(_results_by_tensor),),
    ),
    Deviation(
        "results_backwards",
        "gives the tensors' results from the last tensor to the first",
        "results",
        twists=(answering(_results_backwards),),
    ),
)

SEVERAL_TENSORS = (
    Deviation(
        "first_tensor_only", "updates the first tensor only", "several_tensors", twists=(only_tensors(lambda _: {0}),)
    ),
    Deviation(
        "last_tensor_only",
        "updates the last tensor only",
        "several_tensors",
        twists=(only_tensors(lambda count: {count - 1}),),
    ),
    Deviation(
        "two_tensors_at_most",
        "updates at most two tensors",
        "several_tensors",
        twists=(only_tensors(lambda _: {0, 1}),),
    ),
    Deviation(
        "four_tensors_at_most",
        "updates at most four tensors",
        "several_tensors",
        twists=(only_tensors(lambda _: {0, 1, 2, 3}),),
    ),
    Deviation(
        "state_of_first_tensor",
        "uses the first tensor's state for all",
        "several_tensors",
        twists=(each_tensor(_state_of_first),),
    ),
    Deviation(
        "gradient_of_next_tensor",
        "uses each tensor's gradient for the one before",
        "several_tensors",
        twists=(each_tensor(_gradients_of_next),),
    ),
    Deviation(
        "shape_of_first_tensor",
        "gives every output the first tensor's shape",
        "several_tensors",
        twists=(answering(_in_shape_of_first),),
    ),
    Deviation("t_counts_tensors", "counts T up from tensor to tensor", "several_tensors", twists=(_counting_tensors,)),
)

SHAPES = (
    Deviation("vector_for_0d", "gives shape [1] for a 0-d tensor", "elementwise", twists=(each_output(np.atleast_1d),)),
    Deviation("flattened", "gives outputs of one dimension", "elementwise", twists=(each_output(np.ravel),)),
    Deviation("squeezed", "drops dimensions of size 1", "elementwise", twists=(each_output(np.squeeze),)),
    Deviation(
        "column_major",
        "writes outputs in column-major order",
        "elementwise",
        twists=(each_output(lambda array: array.ravel(order="F").reshape(array.shape)),),
    ),
    Deviation(
        "empty_refused",
        "raises an error for an empty tensor",
        "elementwise",
        twists=(refusing(lambda array: not array.size, "a tensor is empty"),),
    ),
    Deviation(
        "empty_as_vector",
        "gives shape [0] for every empty tensor",
        "elementwise",
        twists=(each_output(lambda array: array if array.size else array.ravel()),),
    ),
    Deviation(
        "0d_refused",
        "raises an error for a 0-d tensor",
        "elementwise",
        twists=(feeding(lambda _, inputs: _without_0d(inputs)),),
    ),
    Deviation(
        "rank_4_refused",
        "raises an error for a tensor of more than three dimensions",
        "elementwise",
        twists=(refusing(lambda array: array.ndim > 3, "a tensor has more than three dimensions"),),
    ),
    Deviation(
        "tail_of_4_skipped",
        "leaves what is over after whole vectors of four elements",
        "elementwise",
        twists=(first_elements(lambda size: size // 4 * 4),),
    ),
    Deviation(
        "tail_of_8_skipped",
        "leaves what is over after whole vectors of eight elements",
        "elementwise",
        twists=(first_elements(lambda size: size // 8 * 8),),
    ),
    Deviation(
        "last_element_skipped",
        "leaves the last element",
        "elementwise",
        twists=(first_elements(lambda size: size - 1),),
    ),
    Deviation(
        "256_elements_at_most",
        "updates at most 256 elements, one block of threads",
        "elementwise",
        twists=(first_elements(lambda _: 256),),
    ),
    Deviation(
        "1024_elements_at_most",
        "updates at most 1024 elements, one block of threads",
        "elementwise",
        twists=(first_elements(lambda _: 1024),),
    ),
    Deviation(
        "tail_of_1024_skipped",
        "leaves what is over after whole blocks of 1024 elements",
        "elementwise",
        twists=(first_elements(lambda size: size // 1024 * 1024 if size > 1024 else size),),
    ),
    Deviation(
        "one_gradient",
        "uses the first element of the gradient for all",
        "elementwise",
        twists=(feeding(_gradient_of_first_element),),
    ),
)

BUFFERS = (
    Deviation("overwrites_x", "writes X_new into the buffer of X", "pure", twists=(overwriting("X"),)),
    Deviation("overwrites_v", "writes V_new into the buffer of V", "pure", twists=(overwriting("V"),)),
    Deviation("overwrites_h", "writes H_new into the buffer of H", "pure", twists=(overwriting("H"),)),
    Deviation("one_buffer", "gives all results of a tensor in one buffer", "results", twists=(answering(one_buffer),)),
    Deviation(
        "keeps_state", "keeps the state of the run before instead of reading it", "pure", twists=(keeping_state,)
    ),
)


def _without_0d(inputs: list[Array]) -> list[Array]:
    if any(not array.ndim for array in inputs[2:]):
        raise ValueError("a tensor has no dimension")
    return inputs


def rows(operator: str) -> tuple[Deviation, ...]:
    """Those that can be had with the operator's state."""
    lacking = {f"overwrites_{name.lower()}" for name in "VH" if name not in TRAINING_OPTIMIZERS[operator].operands}
    every = (*OPERANDS, *SEVERAL_TENSORS, *SHAPES, *OF_TENSORS, *BUFFERS)
    return tuple(row for row in every if row.id not in lacking)
