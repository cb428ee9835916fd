"""Examples about the pass detect mutants of the pass, with the help of distractors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from batches import for_each

from conformance.factors.wrapping import Context
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.search.cases import NoExpectedOutputsError
from conformance.search.distractors import NAMES, NAMES_WITHOUT_FUNCTIONS
from conformance.search.evaluation import EvaluatedExample, optimizer_task
from conformance.search.example import Example
from conformance.search.rows import PASS_STARTS
from conformance.search.shrinking import shrink
from conformance.verdicts import Level
from mutation.pass_mutants import pass_mutants
from mutation.pass_mutants.correct_variants import CORRECT_PASSES
from mutation.search_score import OptimizerExample, measure_pass_search_score

MUTANTS = {mutant.id: mutant for group in pass_mutants().values() for mutant in group}
PASSES = (PASS_NAME,)


PLAIN = Example(
    "ArgMax", Context(), {"axis": 1}, ({"X": np.array([[0.5, 2.0, 1.0], [3.0, 0.25, 1.5]], np.float32)},), ("Exp",)
)


@for_each("name", NAMES)
def test_distractor_makes_a_valid_model_with_all_inputs(name):
    evaluated = EvaluatedExample(replace(PLAIN, distractor=name))
    assert OptimizerExample(optimizer_task(evaluated.native)).reference_output.expected
    assert name == Example.from_document(evaluated.example.to_document()).distractor


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("captured_in_a_scan", "captures_not_in_scan"),
        ("exp_of_others", "ignores_producer_domain"),
        ("fields_node_main", "clears_node_doc_string_main"),
        ("fields_attribute_function", "clears_attribute_sparse_tensor_function"),
        ("ir_3", "since_ir_version_4"),
        ("opset_6", "since_opset_7"),
        ("after_hardmax", "removes_hardmax"),
        ("argmax_of_others", "ignores_argmax_domain"),
        ("a_name_in_a_graph_before", "same_name_inside"),
    ],
)
def test_distractor_detects_its_mutant(name, id):
    mutant, task = (
        MUTANTS[id],
        OptimizerExample(optimizer_task(EvaluatedExample(replace(PLAIN, distractor=name)).native)),
    )
    assert task.detects(mutant.optimize, PASSES, mutant.level)


def test_own_pass_is_not_detected():
    assert not OptimizerExample(optimizer_task(EvaluatedExample(PLAIN).native)).detects(eliminate, PASSES, Level.SHOULD)


def test_pass_starts_include_every_distractor():
    (start,) = PASS_STARTS
    assert set(start.factors["distractor"]) == set(NAMES) >= set(NAMES_WITHOUT_FUNCTIONS)


def test_pass_search_score_counts_detected_and_missed():
    mutants = [MUTANTS["removes_relu"], replace(MUTANTS["removes_relu"], id="right", optimize=eliminate)]
    found = measure_pass_search_score(mutants, 0, 2.0, lambda _: None)
    assert list(found.detected) == ["removes_relu"]
    assert list(found.missed) == ["right"]
    assert not found.passes
    assert any(line.startswith("1 of 2 ") for line in found.lines())


def test_shrink_removes_the_distractor_first():
    assert replace(PLAIN, distractor="annotated").complexity > PLAIN.complexity
    assert shrink(replace(PLAIN, distractor="annotated"), lambda smaller: bool(smaller.chain))[0].distractor == ""


def test_removal_of_coerced_softmax_is_optional():
    example = replace(PLAIN, chain=("Softmax",), opset=11, attributes={"axis": -2})
    (stays,) = (one for one in CORRECT_PASSES if one.id == "not_coerced")
    task = OptimizerExample(optimizer_task(EvaluatedExample(example).native))
    assert not task.detects(stays.optimize, PASSES, Level.MUST)
    assert not task.detects(eliminate, PASSES, Level.MUST)


def test_chain_with_several_optional_removals_has_no_outputs():
    example = replace(PLAIN, chain=("LogSoftmax", "Sqrt", "Exp"), opset=11, attributes={"axis": -2})
    with pytest.raises(NoExpectedOutputsError, match="optional"):
        optimizer_task(EvaluatedExample(example).native)
