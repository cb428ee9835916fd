"""Draws about the pass notice faulty rewrites, and have beside the pair whatever a word stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.deviations.rewrites import faulty_rewrites
from conformance.deviations.rewrites.admissible import ADMISSIBLE
from conformance.dimensions.contexts import Context
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.search.argmax_rows import PASS_STARTS
from conformance.search.beside import WITHOUT_FUNCTIONS, WORDS
from conformance.search.choice import Choice
from conformance.search.filled import NoAnswerError
from conformance.search.judged import Draw, task_of
from conformance.search.rewriting import RewriteTask, measure_rewrites_drawn
from conformance.search.shrinking import shrunk
from conformance.verdicts import Level

FAULTS = {fault.id: fault for group in faulty_rewrites().values() for fault in group}
PASSES = (PASS_NAME,)


PLAIN = Choice(
    "ArgMax", Context(), {"axis": 1}, ({"X": np.array([[0.5, 2.0, 1.0], [3.0, 0.25, 1.5]], np.float32)},), ("Exp",)
)


@pytest.mark.parametrize("word", WORDS)
def test_what_a_word_stands_for_makes_a_valid_model_of_which_everything_is_fed(word):
    draw = Draw(replace(PLAIN, beside=word))
    assert RewriteTask(task_of(draw.native)).ours.right
    assert word == Choice.of(draw.choice.document()).beside


@pytest.mark.parametrize(
    ("word", "id"),
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
def test_a_word_shows_what_it_is_there_for(word, id):
    fault, task = FAULTS[id], RewriteTask(task_of(Draw(replace(PLAIN, beside=word)).native))
    assert task.complains(fault.optimize, PASSES, fault.level)


def test_the_suites_own_pass_is_not_complained_of():
    assert not RewriteTask(task_of(Draw(PLAIN).native)).complains(eliminate, PASSES, Level.SHOULD)


def test_every_word_comes_in_turn():
    (start,) = PASS_STARTS
    assert set(start.factors["beside"]) == set(WORDS) >= set(WITHOUT_FUNCTIONS)


def test_faults_are_counted_as_noticed_or_missed():
    faults = [FAULTS["removes_relu"], replace(FAULTS["removes_relu"], id="right", optimize=eliminate)]
    found = measure_rewrites_drawn(faults, 0, 2.0, lambda _: None)
    assert list(found.noticed) == ["removes_relu"]
    assert list(found.missed) == ["right"]
    assert not found.holds
    assert "1 of 2 faulty rewrites are noticed" in list(found.lines())


def test_a_bystander_is_left_out_first():
    assert replace(PLAIN, beside="annotated").size > PLAIN.size
    assert shrunk(replace(PLAIN, beside="annotated"), lambda smaller: bool(smaller.chain))[0].beside == ""


def test_where_softmax_normalizes_more_than_the_axis_of_argmax_it_may_stay():
    choice = replace(PLAIN, chain=("Softmax",), opset=11, attributes={"axis": -2})
    (stays,) = (one for one in ADMISSIBLE if one.id == "not_coerced")
    task = RewriteTask(task_of(Draw(choice).native))
    assert not task.complains(stays.optimize, PASSES, Level.MUST)
    assert not task.complains(eliminate, PASSES, Level.MUST)


def test_where_several_of_a_chain_may_stay_nobody_is_judged():
    choice = replace(PLAIN, chain=("LogSoftmax", "Sqrt", "Exp"), opset=11, attributes={"axis": -2})
    with pytest.raises(NoAnswerError, match="more than one of a chain may stay"):
        task_of(Draw(choice).native)
