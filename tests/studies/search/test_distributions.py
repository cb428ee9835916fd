"""The distributions of random examples have no gaps, and the same seed gives the same examples."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.exact.models.arrays import type_name
from conformance.studies.search.distributions import (
    COUNT_CLASSES,
    LARGEST_SIZE,
    SIZE_CLASSES,
    SWEPT_LENGTHS,
    SWEPT_SIZES,
    SWEPT_TENSORS,
    attribute_class,
    class_of,
    other_length,
    other_shape,
    sample_attribute,
    sample_number,
    sample_shape,
    spread_choice,
    swept_length,
    swept_sizes,
)
from conformance.studies.search.search_sampling import sample_examples
from generators.declarations.argmax_dimensions import ARGMAX_TYPES

SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def examples():
    """Examples of a training optimizer and of ArgMax."""
    chunks = [sample_examples(("Adagrad", "ArgMax"), 0, chunk, 40) for chunk in range(10)]
    return [example for chunk in chunks for example in chunk]


def shapes(example):
    return [array.shape for name, array in example.operands.items() if name[0] == "X"]


def test_size_classes_have_no_gaps():
    classes = list(SIZE_CLASSES.values())
    assert [each.stop for each in classes[:-1]] == [each.start for each in classes[1:]]
    assert (classes[0].start, classes[-1][-1]) == (0, LARGEST_SIZE)


def test_count_classes_contain_every_int64():
    ranges = sorted(COUNT_CLASSES.values(), key=lambda each: each.start)
    assert [each.stop for each in ranges[:-1]] == [each.start for each in ranges[1:]]
    assert (ranges[0].start, ranges[-1].stop) == (-(2**63), 2**63)


@given(SEEDS, st.sampled_from([*SIZE_CLASSES.values(), *COUNT_CLASSES.values()]))
def test_sample_number_is_in_its_class(seed, numbers):
    assert sample_number(random.Random(seed), numbers) in numbers


@pytest.mark.parametrize("name", ["2-7", "8-33", "34-72", "73-511"])
def test_sample_number_reaches_every_number_of_a_small_class(name):
    chance, numbers = random.Random(0), SIZE_CLASSES[name]
    assert {sample_number(chance, numbers) for _ in range(40 * len(numbers))} == {*numbers}


@given(SEEDS, st.integers(1, LARGEST_SIZE), st.integers(1, 8))
def test_sample_shape_has_the_rank_and_at_most_the_size(seed, size, rank):
    shape = sample_shape(random.Random(seed), size, rank)
    assert len(shape) == rank
    assert 1 <= prod(shape) <= size


@given(SEEDS, st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_other_shape_has_the_same_size(seed, shape):
    assert prod(other_shape(random.Random(seed), shape)) == prod(shape)


@given(SEEDS, st.sampled_from(["usual", "zero", "one", "negative", "above 1", "tiny"]))
def test_sample_attribute_is_in_its_class(seed, kind):
    assert attribute_class([sample_attribute(random.Random(seed), kind)]) == kind


def test_swept_sizes_visit_every_size():
    sweeps = range(-(-SWEPT_SIZES // SWEPT_TENSORS))
    assert {size for sweep in sweeps for size in swept_sizes(sweep)} == {*range(1, SWEPT_SIZES + 1)}


@given(SEEDS, st.lists(st.integers(0, 9), max_size=8))
def test_other_length_keeps_the_rank_and_empty_dimensions(seed, shape):
    changed = other_length(random.Random(seed), shape)
    assert [length == 0 for length in changed] == [length == 0 for length in shape]


@given(st.integers(0, 10**9))
def test_swept_lengths_visit_every_length(turn):
    lengths = {swept_length(turn + each) for each in range(SWEPT_LENGTHS)}
    assert lengths == {*range(1, SWEPT_LENGTHS + 1)}


@given(st.integers(0, 10**6), st.integers(0, 2**32 - 1))
def test_spread_choice_visits_every_pair_of_levels(turn, offset):
    levels = range(8), range(12)
    found = {
        tuple(spread_choice(each, turn + step, dimension, offset) for dimension, each in enumerate(levels))
        for step in range(8 * 12 * 10)
    }
    assert found == {*product(*levels)}


@pytest.mark.long
def test_examples_have_every_size_class(examples):
    for operator in ("Adagrad", "ArgMax"):
        sizes = {prod(shape) for one in examples if one.operator == operator for shape in shapes(one)}
        assert {class_of(size, SIZE_CLASSES) for size in sizes} == {*SIZE_CLASSES}


def test_examples_have_every_type_of_argmax(examples):
    types = {type_name(one.operands["X"].dtype) for one in examples if one.operator == "ArgMax"}
    assert types == {*ARGMAX_TYPES}


def test_examples_have_every_rank_and_class_of_t(examples):
    own = [one for one in examples if one.operator == "Adagrad"]
    assert {len(shape) for one in own for shape in shapes(one)} == {*range(9)}
    counts = {int(one.operands["T"]) for one in own}
    assert {class_of(T, COUNT_CLASSES) for T in counts} == {*COUNT_CLASSES}


def test_examples_have_tensors_of_equal_size_and_other_shapes(examples):
    assert any(
        prod(one) == prod(other) and one != other
        for example in examples
        if example.operator == "Adagrad"
        for one in shapes(example)
        for other in shapes(example)
    )


@pytest.mark.long
def test_examples_have_attributes_in_every_order():
    examples = (one for chunk in range(10) for one in sample_examples(("Adagrad",), 0, chunk, 40))
    orders = {tuple(one.attributes) for one in examples if len(one.attributes) == 3}
    assert len(orders) == 6


def test_examples_seldom_repeat_a_combination(examples):
    combinations = {example.combination for example in examples}
    assert len(combinations) > 0.8 * len(examples)


def test_examples_of_a_seed_have_these_operands():
    """The examples do not depend on the machine or the version of NumPy."""
    example = sample_examples(("Adagrad",), 7, 3, 3)[1]
    again = sample_examples(("Adagrad",), 7, 3, 3)[1]
    assert example.to_document() == again.to_document()
    assert all(np.array_equal(example.operands[name], again.operands[name], equal_nan=True) for name in again.operands)
