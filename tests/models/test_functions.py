"""Calls of functions: which end, and how far they reach."""

from __future__ import annotations

import pytest
from many_nodes import doubling, recursive
from steps import steps

from conformance.models import functions
from conformance.models.functions import endless_calls


def test_calls_that_end_are_followed():
    assert endless_calls(doubling(10)) is None


def test_functions_that_call_each_other_do_not_end():
    assert "leads to a function that calls itself" in endless_calls(recursive())


def test_a_function_that_calls_itself_does_not_end():
    model = doubling(1)
    model.functions[0].node[0].domain, model.functions[0].node[0].op_type = "acme", "f0"
    assert "acme.f0 leads to a function that calls itself" in endless_calls(model)


def test_functions_of_one_name_with_two_overloads_are_two():
    model = doubling(2)
    model.functions[0].name, model.functions[0].overload = "f1", "inner"
    for node in model.functions[1].node:
        node.op_type, node.overload = "f1", "inner"
    assert endless_calls(model) is None


@pytest.mark.parametrize(("most", "fits"), [(14, True), (13, False)])
def test_nodes_are_counted_with_every_call_in_place(monkeypatch, most, fits):
    """Three nodes of the graph; two calls in f2, four in what these call, and eight Sqrt below."""
    monkeypatch.setattr(functions, "MOST_NODES", most + 3)
    assert (endless_calls(doubling(3)) is None) is fits


def test_levels_are_counted(monkeypatch):
    monkeypatch.setattr(functions, "MOST_LEVELS", 3)
    assert endless_calls(doubling(3)) is None
    assert "3 levels deep" in endless_calls(doubling(4))


def test_calls_are_counted_without_being_followed():
    assert steps(lambda: endless_calls(doubling(40))) < 4.4 * steps(lambda: endless_calls(doubling(10)))
