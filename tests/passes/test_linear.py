"""The pass and the survey take steps in proportion to a model's nodes, however these are joined."""

from __future__ import annotations

import pytest
from many_nodes import chain, doubling, pairs
from steps import steps

from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.passes.survey import survey

FEW, MANY = 60, 240
SLACK = 1.15
"""Room for what takes a few steps more in longer lists: a search by halves."""


@pytest.mark.parametrize("models", [pairs, chain])
@pytest.mark.parametrize("work", [survey, lambda model: eliminate(model, fixed_point=True)], ids=["survey", "pass"])
def test_four_times_the_nodes_take_four_times_the_steps(models, work):
    few, many = (steps(lambda: work(model)) for model in (models(FEW), models(MANY)))  # noqa: B023 - called at once
    assert many < MANY / FEW * SLACK * few


@pytest.mark.parametrize("models", [pairs, chain])
def test_nothing_is_left_of_so_many(models):
    after = eliminate(models(FEW), fixed_point=True)
    assert {node.op_type for node in after.graph.node} == {"ArgMax"}
    assert {node.input[0] for node in after.graph.node} == {"X"}
    assert not after.graph.value_info


def test_functions_that_double_forty_times_are_surveyed_without_their_types():
    (site,) = survey(doubling(40))
    assert [(removal.op_type, removal.type) for removal in site.removals] == [("Exp", "unknown type")]
