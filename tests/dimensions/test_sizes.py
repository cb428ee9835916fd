"""Sizes lie at and around the blocks of kernels, and what is tiled or shown of long tensors says of every element."""

from __future__ import annotations

from math import gcd

import numpy as np
import onnx
import pytest

from conformance.dimensions.fragments import joined
from conformance.dimensions.long_tensors import OPSET, shown, tiled, with_peaks
from conformance.dimensions.sizes import BLOCKS, LONG_BLOCKS, PERIOD, RANKS, around, borders, of_long, tied
from conformance.generation.models import declared, model
from conformance.models.constants import elements_of
from conformance.reference.evaluation import evaluate

PERIODIC = np.arange(PERIOD, dtype=np.int32)


def outputs(part, inputs):
    """What the nodes of a part give for these inputs, by name."""
    serialised = model(
        "long",
        part.nodes,
        [declared(*named) for named in inputs.items()],
        [declared(*named) for named in part.given.items()],
        {"": OPSET},
        {tensor.name: elements_of(tensor) for tensor in part.initializers},
    )
    values = evaluate(onnx.load_model_from_string(serialised), list(inputs.values()))
    return dict(zip(part.given, values, strict=True))


def shown_of(changed: int | None, length: int = 2 * 256) -> dict:
    """What is shown of a periodic vector, one element of which is another."""
    vector = np.resize(PERIODIC, length)
    if changed is not None:
        vector[changed] += 1000
    return outputs(shown("X", vector, length, 256), {"X": vector})


@pytest.mark.parametrize("block", [*BLOCKS, *LONG_BLOCKS])
def test_no_block_is_made_of_whole_periods(block):
    assert gcd(block, PERIOD) == 1


def test_lengths_have_a_full_tail_none_one_element_and_two_blocks():
    assert around(8) == (7, 8, 9, 16)
    assert of_long(4096) == (4097, 8192)


def test_there_is_a_shape_of_every_rank_to_8():
    assert [len(shape) for shape in RANKS] == list(range(9))


def test_named_places_are_the_ends_and_both_sides_of_each_border():
    assert borders(9, 4) == [0, 3, 4, 7, 8]


def test_ties_stand_in_one_lane_in_two_and_at_both_ends():
    assert list(tied(16, 8)) == [(1, 9), (6, 7), (0, 15)]


def test_a_tiled_tensor_has_the_period_s_elements_over_and_over():
    part = tiled("period", PERIOD, "X", (3, 50))
    part = joined((part, type(part)(given={"X": np.zeros((3, 50), dtype=np.int32)})))
    assert np.array_equal(outputs(part, {"period": PERIODIC})["X"], np.resize(PERIODIC, (3, 50)))


@pytest.mark.parametrize("place", [0, 60, 61, 300, 487, 488, 511])
def test_whatever_element_is_wrong_something_that_is_shown_is(place):
    right, wrong = shown_of(None), shown_of(place)
    assert any(not np.array_equal(right[name], wrong[name]) for name in right)


def test_peaks_stand_in_their_rows_at_their_places_and_nowhere_else():
    part = with_peaks("period", "peak", "X", [(0, 69), (5,), (5, 6)], 70)
    part = joined((part, type(part)(given={"X": np.zeros((3, 70), dtype=np.int32)})))
    matrix = outputs(part, {"period": PERIODIC, "peak": np.array([100], dtype=np.int32)})["X"]
    assert np.argwhere(matrix == 100).tolist() == [[0, 0], [0, 69], [1, 5], [2, 5], [2, 6]]
