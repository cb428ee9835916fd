"""The model of an article on the pass, with three branches: when their indices agree and when they differ."""

from __future__ import annotations

import numpy as np
import pytest
from indexed_models import INT64
from onnx import helper
from reference_models import both_levels, build_model

from conformance.reference.oracle import answers
from conformance.verdicts import Level


def article(X, level=Level.MUST, opset=13):
    """Return the answer for the article's model: Relu, Softmax and Log of one input, each followed by an ArgMax."""
    nodes = [helper.make_node("Softmax", ["X"], ["softmax_out"], axis=0)]
    nodes += [helper.make_node(name, ["X"], [f"{name.lower()}_out"]) for name in ("Relu", "Log")]
    nodes += [
        helper.make_node("ArgMax", [f"{name}_out"], [f"argmax_{name}"], axis=0) for name in ("relu", "softmax", "log")
    ]
    nodes.append(helper.make_node("Concat", ["argmax_relu", "argmax_softmax", "argmax_log"], ["Y"], axis=0))
    return answers(build_model(nodes, {"X": X}, {"Y": INT64}, opset=opset), [X], level)[0]


@both_levels
@pytest.mark.parametrize("opset", [11, 13])
def test_article_branches_agree_on_clear_maximum(opset, level):
    answer = article(np.arange(1, 11, dtype=np.float32)[::-1].copy(), level, opset)
    assert answer.expected.tolist() == [0, 0, 0]


def test_article_relu_branch_of_negatives_takes_first_index():
    # Relu maps all elements to zero, Softmax keeps their order, and the Log of a negative number is NaN.
    assert article(np.array([-3, -1, -2], np.float32)).expected.tolist()[:2] == [0, 1]


def test_article_relu_branch_accepts_fewer_indices():
    X = np.array([1e30, np.nextafter(np.float32(1e30), np.float32(np.inf)), 1], np.float32)
    choices = article(X).choices
    assert [np.flatnonzero(row).tolist() for row in choices] == [[1], [1], [0, 1]]


def test_concat_pads_choices_to_widest():
    wide, narrow = np.array([0, 1, 2, 9], np.float32), np.array([1e30, 1e30], np.float32)
    nodes = [
        helper.make_node("ArgMax", ["wide"], ["i"], axis=0),
        helper.make_node("Log", ["narrow"], ["log"]),
        helper.make_node("ArgMax", ["log"], ["j"], axis=0),
        helper.make_node("Concat", ["i", "j"], ["Y"], axis=-1),
    ]
    answer = answers(build_model(nodes, {"wide": wide, "narrow": narrow}, {"Y": INT64}), [wide, narrow], Level.MUST)[0]
    assert [np.flatnonzero(row).tolist() for row in answer.choices] == [[3], [0, 1]]


def test_concat_of_exact_indices_has_no_choices():
    X = np.array([1, 3, 2], np.float32)
    nodes = [helper.make_node("ArgMax", ["X"], [name], axis=0) for name in "ij"]
    nodes.append(helper.make_node("Concat", ["i", "j"], ["Y"], axis=0))
    answer = answers(build_model(nodes, {"X": X}, {"Y": INT64}), [X], Level.MUST)[0]
    assert (answer.expected.tolist(), answer.choices) == ([1, 1], None)
