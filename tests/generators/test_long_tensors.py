"""Sizes around block sizes, and graph parts that build and summarise long tensors."""

from __future__ import annotations

from math import gcd

import numpy as np
import onnx
import pytest

from conformance.factors.connections import join_parts
from conformance.generation.models import array_value_info, build_model
from conformance.models.inputs import tensor_elements
from conformance.reference.oracle import evaluate
from generators.declarations.sizes import (
    BLOCKS,
    LONG_BLOCKS,
    OPSET,
    PERIOD,
    RANKS,
    border_indices,
    build_peak_rows,
    lengths_around,
    lengths_around_long,
    summarize_long,
    tied_index_sets,
    tile_to_shape,
)

PERIODIC = np.arange(PERIOD, dtype=np.int32)


def outputs(part, inputs):
    """Return the outputs of a part for these inputs, by name."""
    serialised = build_model(
        "long",
        part.nodes,
        [array_value_info(*named) for named in inputs.items()],
        [array_value_info(*named) for named in part.given.items()],
        {"": OPSET},
        {tensor.name: tensor_elements(tensor) for tensor in part.initializers},
    )
    values = evaluate(onnx.load_model_from_string(serialised), list(inputs.values()))
    return dict(zip(part.given, values, strict=True))


def summary_of(changed: int | None, length: int = 2 * 256) -> dict:
    """Return the summary of a periodic vector in which one element is changed."""
    vector = np.resize(PERIODIC, length)
    if changed is not None:
        vector[changed] += 1000
    return outputs(summarize_long("X", vector, length, 256), {"X": vector})


@pytest.mark.parametrize("block", [*BLOCKS, *LONG_BLOCKS])
def test_period_and_block_size_are_coprime(block):
    assert gcd(block, PERIOD) == 1


def test_lengths_surround_the_block_size():
    assert lengths_around(8) == (7, 8, 9, 16)
    assert lengths_around_long(4096) == (4097, 8192)


def test_shapes_have_ranks_0_to_8():
    assert [len(shape) for shape in RANKS] == list(range(9))


def test_border_indices_are_ends_and_border_sides():
    assert border_indices(9, 4) == [0, 3, 4, 7, 8]


def test_tied_index_sets_cover_lanes_and_ends():
    assert list(tied_index_sets(16, 8)) == [(1, 9), (6, 7), (0, 15)]


def test_tile_to_shape_repeats_the_period():
    part = tile_to_shape("period", PERIOD, "X", (3, 50))
    part = join_parts((part, type(part)(given={"X": np.zeros((3, 50), dtype=np.int32)})))
    assert np.array_equal(outputs(part, {"period": PERIODIC})["X"], np.resize(PERIODIC, (3, 50)))


@pytest.mark.parametrize("index", [0, 60, 61, 300, 487, 488, 511])
def test_any_wrong_element_changes_a_summary_output(index):
    right, wrong = summary_of(None), summary_of(index)
    assert any(not np.array_equal(right[name], wrong[name]) for name in right)


def test_peaks_are_exactly_at_their_indices():
    part = build_peak_rows("period", "peak", "X", [(0, 69), (5,), (5, 6)], 70)
    part = join_parts((part, type(part)(given={"X": np.zeros((3, 70), dtype=np.int32)})))
    matrix = outputs(part, {"period": PERIODIC, "peak": np.array([100], dtype=np.int32)})["X"]
    assert np.argwhere(matrix == 100).tolist() == [[0, 0], [0, 69], [1, 5], [2, 5], [2, 6]]
