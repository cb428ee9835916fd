"""The pass and the survey take steps in proportion to a model's nodes, however these are joined."""

from __future__ import annotations

import pytest
from instruction_count import count_instructions
from large_models import chain, doubling, pairs

from conformance.passes.analysis import analyse_argmaxes
from conformance.passes.eliminate_nop_monotone_argmax import eliminate

FEW, MANY = 60, 240
SLACK = 1.15
"""Room for what takes a few steps more in longer lists: a search by halves."""


@pytest.mark.parametrize("models", [pairs, chain])
@pytest.mark.parametrize(
    "work", [analyse_argmaxes, lambda model: eliminate(model, fixed_point=True)], ids=["survey", "pass"]
)
def test_steps_are_proportional_to_nodes(models, work):
    few, many = (count_instructions(lambda: work(model)) for model in (models(FEW), models(MANY)))  # noqa: B023 - called at once
    assert many < MANY / FEW * SLACK * few


@pytest.mark.parametrize("models", [pairs, chain])
def test_long_chain_is_removed_completely(models):
    after = eliminate(models(FEW), fixed_point=True)
    assert {node.op_type for node in after.graph.node} == {"ArgMax"}
    assert {node.input[0] for node in after.graph.node} == {"X"}
    assert not after.graph.value_info


def test_analysis_of_exponential_calls_has_no_types():
    (site,) = analyse_argmaxes(doubling(40))
    assert [(removal.op_type, removal.type) for removal in site.removals] == [("Exp", "unknown type")]
