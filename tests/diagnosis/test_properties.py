"""What is said of a case is so."""

from __future__ import annotations

import pytest

from conformance.corpus.loading import case_in_memory
from conformance.diagnosis.properties import properties


@pytest.fixture
def told(whole_corpus):
    return lambda name, *tags: properties(case_in_memory(whole_corpus, whole_corpus.cases[name]), tags)


def test_attributes_that_are_set_and_those_that_are_not(told):
    found = told("test_adam")
    assert {"set norm_coefficient", "set alpha", "leave norm_coefficient_post to its default"} <= set(found.words)
    assert found.numbers["norm_coefficient_post"] == (0.0,)


def test_types_shapes_and_numbers_of_an_optimizer(told):
    found = told("test_adam_multiple")
    assert {"have float tensors", "have R of type float"} <= set(found.words)
    assert found.numbers["tensors of a node"] == (2,)
    assert found.numbers["T"] == (0,)
    assert max(found.numbers["elements of a tensor"]) == 2


def test_operators_and_axes_of_an_argmax(told):
    found = told("test_argmax_in_range_nan_negative_first", "argmax")
    assert {"have ArgMax", "have a NaN in the input of ArgMax", "are tagged argmax"} <= set(found.words)
    assert found.numbers["runs of a prepared model"] == (1,)
