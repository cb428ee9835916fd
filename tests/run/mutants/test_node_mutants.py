"""Mutants of any node: each is one mistake, and results of a mistake name this mistake and no other."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from conformance.run.mutants.node_mutants import ADMISSIBLE, NodeRun, explaining_mistakes, node_mutants

RANDOM = np.random.default_rng(1)


def numbers(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def node_run(op_type, inputs, opset=22, **attributes):
    names = [f"x{number}" if each is not None else "" for number, each in enumerate(inputs)]
    return NodeRun(helper.make_node(op_type, names, ["y"], **attributes), opset, tuple(inputs))


RUNS = {
    "Conv": node_run(
        "Conv",
        [numbers(1, 2, 7, 7), numbers(3, 2, 3, 3), numbers(3)],
        dilations=[2, 1],
        pads=[1, 0, 0, 0],
        strides=[1, 2],
    ),
    "Gemm": node_run("Gemm", [numbers(5, 3), numbers(5, 4), numbers(4)], alpha=0.5, beta=3.0, transA=1),
    "Sub": node_run("Sub", [numbers(2, 3, 4), numbers(3, 1)]),
    "Softmax": node_run("Softmax", [numbers(3, 5, 7)], axis=0),
    "Round": node_run("Round", [np.array([0.5, 1.5, 2.5, -0.5, -2.5, 3.2], np.float32)]),
    "CumSum": node_run("CumSum", [numbers(3, 4), np.array(1)], exclusive=1, reverse=1),
    "LayerNormalization": node_run(
        "LayerNormalization", [numbers(2, 6), numbers(6), numbers(6)], axis=-1, epsilon=0.25
    ),
}
EXPECTED = {
    "Conv": {"ignores dilations", "reverses strides", "ignores the input B", "leaves out the last channel"},
    "Gemm": {"ignores alpha", "negates beta", "ignores the input C", "reads float32 in bfloat16"},
    "Sub": {"swaps the first two inputs"},
    "Softmax": {"ignores axis", "counts axis from the other end", "is off by one in axis"},
    "Round": {"rounds half away from zero", "rounds half up", "rounds towards zero"},
    "CumSum": {"ignores exclusive", "ignores reverse"},
    "LayerNormalization": {"ignores epsilon", "ignores the input B"},
}


def results_of_mistakes(run):
    """Return the outputs of each mistake that changes them by more than their bounds allow."""
    right = run.answers()
    found = {}
    for mutant in node_mutants(run, [answer.expected for answer in right]):
        changed = mutant.compute(right)
        if changed is not None:
            found[mutant.mistake] = [answer.expected for answer in changed]
    return found


@pytest.mark.parametrize("operator", RUNS)
def test_mistakes_of_a_node_change_its_outputs(operator):
    run = RUNS[operator]
    (right,) = run.answers()
    results = results_of_mistakes(run)
    changed = {name for name, (array,) in results.items() if not np.array_equal(array, right.expected, equal_nan=True)}
    assert EXPECTED[operator] <= changed
    assert not {mistake for mistake in results if mistake.startswith(("returns int", "returns float64"))}


@pytest.mark.parametrize("operator", RUNS)
def test_result_of_a_mistake_is_explained_by_it_and_never_by_another_mistake_alone(operator):
    run = RUNS[operator]
    for mistake, outputs in results_of_mistakes(run).items():
        found = explaining_mistakes(run, outputs)
        assert mistake in ADMISSIBLE or not found or mistake in found, (mistake, found)


@pytest.mark.parametrize("operator", RUNS)
def test_right_and_unrelated_results_have_no_explanation(operator):
    run = RUNS[operator]
    (right,) = (answer.expected for answer in run.answers())
    assert explaining_mistakes(run, [right]) == set()
    assert explaining_mistakes(run, [right * np.float32(1.5) + 7]) == set()


def test_mistake_of_an_optional_input_needs_the_input():
    without = node_run("Gemm", [numbers(3, 5), numbers(5, 4)])
    assert "ignores the input C" not in results_of_mistakes(without)
