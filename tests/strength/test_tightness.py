"""What an adversary attains by choosing each rounding is within the bound, and not far from it."""

from __future__ import annotations

from statistics import median

import pytest
from corpora import write_corpus

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import case_in_memory
from conformance.strength.tightness import Attained, attained
from conformance.strength.tightness_report import Tightness

FEW = (
    "test_adam",
    "test_adam_multiple",
    "test_adam_shape_2x3x4_float",
    "test_adam_tiny_double",
    "test_adam_function_attributes_double",
    "test_adagrad",
    "test_adagrad_multiple",
    "test_adagrad_shape_3001_double",
    "test_adagrad_training_10_steps_float",
    "test_momentum",
    "test_momentum_chained_steps_double",
    "test_momentum_shape_2x3x4_float",
    "test_momentum_sizes_around_4096_float",
    "test_momentum_training_10_steps_double",
    "test_nesterov_momentum",
    "test_argmax_pass_other_operators_log_softmax_before_reducemax",
    "test_argmax_pass_other_operators_softmax_before_reducemax",
    "test_argmax_pass_contexts_scanned",
    "test_argmax_pass_fields_attribute_main",
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


def test_the_command_prints_the_bounds_of_the_cases_that_are_asked_for(command, small_corpus):
    ended = command("strength", "--data", small_corpus, "--bounds-of", "test_adam*")
    assert ended.status == 0
    assert "1 cases, 0 refuted" in ended.out
    assert "survive" not in ended.out


def test_a_pattern_that_no_case_fits_is_refused(command, small_corpus):
    ended = command("strength", "--data", small_corpus, "--bounds-of", "test_nothing*")
    assert ended.status == 2
    assert "'test_nothing*'" in ended.err


def test_a_wide_bound_does_not_hold():
    wide = Attained("test_adam", "X_new", (0,), bound=17.0, error=1.0)
    assert not Tightness([wide, *[Attained("test_adam", "X_new", (0,), 1.0, 1.0)] * 3]).holds
