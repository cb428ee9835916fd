"""The properties of a case describe its model and data."""

from __future__ import annotations

import pytest

from conformance.corpus.loading import load_case_in_memory
from conformance.diagnosis.properties import case_properties


@pytest.fixture
def properties_of(whole_corpus):
    return lambda name, *tags: case_properties(load_case_in_memory(whole_corpus, whole_corpus.cases[name]), tags)


def test_case_properties_list_set_and_default_attributes(properties_of):
    found = properties_of("test_adam")
    assert {"set norm_coefficient", "set alpha", "leave norm_coefficient_post to its default"} <= set(found.words)
    assert found.numbers["norm_coefficient_post"] == (0.0,)


def test_case_properties_list_types_and_numbers_of_an_optimizer(properties_of):
    found = properties_of("test_adam_multiple")
    assert {"have float tensors", "have R of type float"} <= set(found.words)
    assert found.numbers["tensors of a node"] == (2,)
    assert found.numbers["T"] == (0,)
    assert max(found.numbers["elements of a tensor"]) == 2


def test_case_properties_list_operators_and_data_of_an_argmax(properties_of):
    found = properties_of("test_argmax_in_range_nan_negative_first", "argmax")
    assert {"have ArgMax", "have a NaN in the input of ArgMax", "are tagged argmax"} <= set(found.words)
    assert found.numbers["runs of a prepared model"] == (1,)
