"""The error that an adversary attains by choosing each rounding is within the bound, and not far below it."""

from __future__ import annotations

from statistics import median

import pytest
from corpora import write_corpus

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import load_case_in_memory
from mutation.tightness import AttainedError, Tightness, largest_attained_error

CASES = (
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
    """The errors that the adversary attains on a few generated cases."""
    directory = tmp_path_factory.mktemp("corpora") / "tightness"
    write_corpus(directory, [defined[id][1] for id in CASES])
    corpus = open_corpus(directory)
    return [largest_attained_error(load_case_in_memory(corpus, corpus.cases[id])) for id in CASES]


def test_attained_errors_are_within_the_bounds(found):
    assert [one for one in found if one.ratio < 1] == []


def test_median_ratio_is_at_most_two(found):
    assert median(one.ratio for one in found) <= 2


def test_bound_is_at_most_16_times_attained_error(found):
    assert [one for one in found if one.ratio > 16] == []


def test_exact_case_has_no_attained_error(tmp_path, defined):
    write_corpus(tmp_path / "exact", [defined["test_argmax_ties_default"][1]])
    corpus = open_corpus(tmp_path / "exact")
    assert largest_attained_error(load_case_in_memory(corpus, corpus.cases["test_argmax_ties_default"])) is None


def test_command_bounds_of_prints_matching_cases(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus, "--bounds-of", "test_adam*")
    assert ended.status == 0
    assert "1 cases, 0 refuted" in ended.out


def test_command_bounds_of_without_matches_is_refused(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus, "--bounds-of", "test_nothing*")
    assert ended.status == 2
    assert "usage.no-bounded-cases" in ended.err
    assert "'test_nothing*'" in ended.err


def test_tightness_with_a_wide_bound_does_not_pass():
    wide = AttainedError("test_adam", "X_new", (0,), bound=17.0, error=1.0)
    assert not Tightness([wide, *[AttainedError("test_adam", "X_new", (0,), 1.0, 1.0)] * 3]).passes
