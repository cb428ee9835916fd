"""Deviations compose where one implementation can have them all."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.deviations import catalogue
from conformance.deviations.composition import DoNotComposeError, composed
from conformance.deviations.pseudocode import rewritten
from conformance.reference.operators.adagrad import adagrad

DEVIATIONS = {one.id: one for rows in catalogue().values() for one in rows}


def outputs(case_of, *ids):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    backend = composed(tuple(DEVIATIONS[id] for id in ids))
    return backend.prepare(case.model).run(list(data_set.inputs))


@pytest.mark.parametrize("id", ["adam.root_missing", "adam.flattened", "adam.default_alpha_0"])
def test_a_deviation_alone_gives_what_its_own_backend_gives(case_of, id):
    case = case_of("test_adam")
    (data_set, *_) = case.data_sets()
    own = DEVIATIONS[id].backend.prepare(case.model).run(list(data_set.inputs))
    assert all(map(np.array_equal, outputs(case_of, id), own))


def test_each_of_two_edits_shows_in_the_output_that_it_is_about(case_of):
    right, both = outputs(case_of), outputs(case_of, "adam.v_sum", "adam.h_absolute")
    assert not np.array_equal(right[1], both[1])
    assert np.array_equal(both[1], outputs(case_of, "adam.v_sum")[1])
    assert np.array_equal(both[2], outputs(case_of, "adam.h_absolute")[2])


def test_an_edit_is_computed_in_the_arithmetic_of_the_other_deviation(case_of):
    both = outputs(case_of, "adam.v_sum", "adam.half_outputs")
    assert np.array_equal(both[1], outputs(case_of, "adam.v_sum")[1].astype(np.float16).astype(np.float32))


def test_the_first_deviation_is_the_outermost(case_of):
    one, other = "adam.state_not_returned", "adam.gradient_as_half"
    assert np.array_equal(outputs(case_of, one, other)[1], outputs(case_of, one)[1])


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("adam.epsilon_ignored", "adam.root_missing", "both say what stands for"),
        ("adam.default_alpha_0", "adam.default_alpha_95", "both say the default of 'alpha'"),
        ("adam.half_arithmetic", "adam.computes_in_float", "both compute in an arithmetic of their own"),
        ("adam.never_corrected", "adam.t_minus_1", "both say what stands for"),
    ],
)
def test_deviations_that_say_different_things_of_one_place_do_not_compose(one, other, why):
    with pytest.raises(DoNotComposeError, match=why):
        composed((DEVIATIONS[one], DEVIATIONS[other]))


def test_replacements_that_share_text_are_refused():
    with pytest.raises(ValueError, match="share 'np"):
        rewritten(adagrad, {"np.sqrt(H_new) + epsilon": "H_new", "H_adaptive = np.sqrt(H_new)": ""})
