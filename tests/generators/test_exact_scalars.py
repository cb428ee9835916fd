"""Wide `must` cases in double become `should`, and get a sibling in which float and double give the same scalars."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance.reference.oracle import answers
from conformance.verdicts import Level
from generators import adagrad, adam, momentum
from generators.exact_scalars import MAX_ULP, excludes_float, largest_width, needs_double, with_siblings


def split_cases(module):
    """Return the cases of an operator's family `pairwise`, and the same cases with siblings, by id."""
    before = {case.id: case for case in module.MATRIX.cases()}
    return before, {case.id: case for case in with_siblings(lambda: iter(before.values()))()}


@pytest.fixture(scope="module", params=[adam, adagrad], ids=["adam", "adagrad"])
def split(request):
    return split_cases(request.param)


def siblings(after):
    return {id.removesuffix("_exact"): case for id, case in after.items() if id.endswith("_exact")}


def update(case):
    return answers(case.model, case.data_sets[0], Level.MUST)[0]


def test_case_with_a_sibling_is_should_and_otherwise_unchanged(split):
    before, after = split
    assert siblings(after)
    for id, case in before.items():
        level = Level.SHOULD if id in siblings(after) else Level.MUST
        assert (after[id].level, after[id].model, after[id].tags) == (level, case.model, case.tags), id


def test_sibling_is_must_and_narrow(split):
    _, after = split
    for id, sibling in siblings(after).items():
        assert sibling.level is Level.MUST
        answer = update(sibling)
        assert largest_width(answer.expected, answer.bound, sibling.data_sets[0]) <= MAX_ULP, id
        assert not needs_double(answer.expected) or excludes_float(answer.expected, answer.bound), id


def test_sibling_keeps_the_tensors(split):
    before, after = split
    for id, sibling in siblings(after).items():
        for inputs, exact in zip(before[id].data_sets, sibling.data_sets, strict=True):
            assert int(exact[1]) == min(int(inputs[1]), 0)
            assert exact[0].dtype == inputs[0].dtype
            assert all(map(np.array_equal, inputs[2:], exact[2:])), id


def test_sibling_keeps_exact_attributes(split):
    before, after = split
    for id, sibling in siblings(after).items():
        given, exact = (attributes(case) for case in (before[id], sibling))
        changed = {name for name in exact if exact[name] != given.get(name)}
        assert changed <= {"alpha", "beta", "norm_coefficient_post"}, id
        assert list(exact)[: len(given)] == list(given), id


def attributes(case):
    (node,) = onnx.load_model_from_string(case.model).graph.node
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def test_momentum_has_no_siblings():
    before, after = split_cases(momentum)
    assert list(after.values()) == list(before.values())


class TestWidth:
    def test_width_is_relative_to_the_largest_operand(self):
        expected, bound = np.array([1.0]), np.array([2.0**-50])
        assert largest_width(expected, bound, ()) == 4
        assert largest_width(expected, bound, [np.array([8.0])]) == 0.5
        assert largest_width(expected, bound, [np.array([np.inf])]) == 4
        assert largest_width(expected, None, ()) == 0

    def test_float_is_excluded_outside_of_the_bound(self):
        expected = np.array([0.5, 0.1, np.nan])
        distance = abs(float(np.float32(0.1)) - 0.1)
        assert needs_double(expected)
        assert not needs_double(expected[[0, 2]])
        assert excludes_float(expected, np.full(3, distance / 2))
        assert not excludes_float(expected, np.full(3, distance))
        assert excludes_float(expected, None)
