"""Mutants compose if one implementation can have all of them."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.mutants import catalogue
from conformance.mutants.mutant import IncompatibleMutantsError, compose, replace_pseudocode
from conformance.reference.operators.training_optimizers import adagrad

DEVIATIONS = {one.id: one for rows in catalogue().values() for one in rows}


def outputs(case_of, *ids):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    backend = compose(tuple(DEVIATIONS[id] for id in ids))
    return backend.prepare(case.model).run(list(data_set.inputs))


@pytest.mark.parametrize("id", ["adam.root_missing", "adam.flattened", "adam.default_alpha_0"])
def test_compose_of_one_mutant_equals_its_backend(case_of, id):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    own = DEVIATIONS[id].backend.prepare(case.model).run(list(data_set.inputs))
    assert all(map(np.array_equal, outputs(case_of, id), own))


def test_compose_applies_the_edits_of_both_mutants(case_of):
    right, both = outputs(case_of), outputs(case_of, "adam.v_sum", "adam.h_absolute")
    assert not np.array_equal(right[1], both[1])
    assert np.array_equal(both[1], outputs(case_of, "adam.v_sum")[1])
    assert np.array_equal(both[2], outputs(case_of, "adam.h_absolute")[2])


def test_compose_evaluates_edits_with_the_wrapper_of_the_other(case_of):
    both = outputs(case_of, "adam.v_sum", "adam.half_outputs")
    assert np.array_equal(both[1], outputs(case_of, "adam.v_sum")[1].astype(np.float16).astype(np.float32))


def test_compose_applies_the_first_mutant_outermost(case_of):
    one, other = "adam.state_not_returned", "adam.gradient_as_half"
    assert np.array_equal(outputs(case_of, one, other)[1], outputs(case_of, one)[1])


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("adam.epsilon_ignored", "adam.root_missing", "the pseudo-code"),
        ("adam.default_alpha_0", "adam.default_alpha_95", "'alpha'"),
        ("adam.half_arithmetic", "adam.computes_in_float", "arithmetic"),
        ("adam.never_corrected", "adam.t_minus_1", "the pseudo-code"),
    ],
)
def test_compose_rejects_contradicting_mutants(one, other, why):
    with pytest.raises(IncompatibleMutantsError, match=why):
        compose((DEVIATIONS[one], DEVIATIONS[other]))


def test_replace_pseudocode_rejects_overlapping_texts():
    with pytest.raises(ValueError, match="'np"):
        replace_pseudocode(adagrad, {"np.sqrt(H_new) + epsilon": "H_new", "H_adaptive = np.sqrt(H_new)": ""})
