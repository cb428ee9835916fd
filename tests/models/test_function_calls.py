"""Calls of model-local functions: recursion, and limits of expansion."""

from __future__ import annotations

import pytest
from instruction_count import count_instructions
from large_models import doubling, recursive

from conformance.models import graphs
from conformance.models.graphs import call_expansion_problem


def test_calls_without_recursion_can_be_expanded():
    assert call_expansion_problem(doubling(10)) is None


def test_mutual_recursion_is_detected():
    assert "recursion" in call_expansion_problem(recursive())


def test_direct_recursion_is_detected():
    model = doubling(1)
    model.functions[0].node[0].domain, model.functions[0].node[0].op_type = "acme", "f0"
    assert {"acme.f0", "recursion."} <= {*call_expansion_problem(model).split()}


def test_overloads_are_different_functions():
    model = doubling(2)
    model.functions[0].name, model.functions[0].overload = "f1", "inner"
    for node in model.functions[1].node:
        node.op_type, node.overload = "f1", "inner"
    assert call_expansion_problem(model) is None


@pytest.mark.parametrize(("limit", "fits"), [(14, True), (13, False)])
def test_expanded_nodes_are_limited(monkeypatch, limit, fits):
    """Count three nodes of the graph, two calls in f2, four calls in the callees, and eight Sqrt."""
    monkeypatch.setattr(graphs, "MAX_EXPANDED_NODES", limit + 3)
    assert (call_expansion_problem(doubling(3)) is None) is fits


def test_call_depth_is_limited(monkeypatch):
    monkeypatch.setattr(graphs, "MAX_CALL_DEPTH", 3)
    assert call_expansion_problem(doubling(3)) is None
    assert "3 levels" in call_expansion_problem(doubling(4))


def test_cost_is_linear_in_the_number_of_functions():
    assert count_instructions(lambda: call_expansion_problem(doubling(40))) < 4.4 * count_instructions(
        lambda: call_expansion_problem(doubling(10))
    )
