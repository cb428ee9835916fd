"""What an adversary attains by choosing each rounding is within the bound, and not far from it."""

from __future__ import annotations

from statistics import median

import pytest
from corpora import write_corpus

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import case_in_memory
from conformance.strength.tightness import attained

FEW = (
    "test_adam",
    "test_adam_multiple",
    "test_adam_shape_2x3x4_float",
    "test_adam_tiny_double",
    "test_adagrad",
    "test_adagrad_multiple",
    "test_adagrad_shape_3001_double",
    "test_adagrad_training_10_steps_float",
    "test_momentum",
    "test_momentum_chained_steps_double",
    "test_momentum_training_10_steps_double",
    "test_nesterov_momentum",
)


@pytest.fixture(scope="module")
def found(tmp_path_factory, defined):
    """What the adversary attains on a few cases, as they are generated."""
    directory = tmp_path_factory.mktemp("corpora") / "tightness"
    write_corpus(directory, [defined[id][1] for id in FEW])
    corpus = open_corpus(directory)
    return [attained(case_in_memory(corpus, corpus.cases[id])) for id in FEW]


def test_no_adversary_goes_beyond_a_bound(found):
    assert [one for one in found if one.ratio < 1] == []


def test_bounds_are_at_most_twice_what_an_adversary_attains_in_the_median(found):
    assert median(one.ratio for one in found) <= 2


def test_no_bound_is_sixteen_times_what_an_adversary_attains(found):
    assert [one for one in found if one.ratio > 16] == []


def test_there_is_nothing_to_attain_where_every_bit_counts(tmp_path, defined):
    write_corpus(tmp_path / "exact", [defined["test_argmax_ties_default"][1]])
    corpus = open_corpus(tmp_path / "exact")
    assert attained(case_in_memory(corpus, corpus.cases["test_argmax_ties_default"])) is None
