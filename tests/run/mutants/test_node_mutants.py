"""Mutants of any node: each is one mistake, and results of a mistake name this mistake and no other."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from checks.mutation.mutant_pairs import PAIR, with_pairs
from conformance.exact.reference.oracle import Answer
from conformance.run.diagnosis.node_diagnosis import (
    NodeResult,
    mistake_text,
    mistakes_of_parts,
    mistakes_of_results,
)
from conformance.run.mutants import mutants_by_id
from conformance.run.mutants.node_mutants import (
    ADMISSIBLE,
    NodeRun,
    differs_where_determined,
    explaining_mistakes,
    failing_mistakes,
    node_mutants,
)

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


@pytest.mark.variants(4)
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
    assert explaining_mistakes(run, [right]) == []
    assert explaining_mistakes(run, [right * np.float32(1.5) + 7]) == []


CUBE = numbers(3, 5, 4)


def softmax_of(axis: int, opset: int = 13) -> NodeRun:
    return node_run("Softmax", [CUBE], opset=opset, axis=axis)


def right_softmax(axis: int, opset: int = 13) -> NodeResult:
    return NodeResult(softmax_of(axis, opset), None, None, is_wrong=False)


def wrong_softmax(axis: int, output, opset: int = 13) -> dict[str, list[NodeResult]]:
    return {f"test_axis_{axis}": [NodeResult(softmax_of(axis, opset), None, [output], is_wrong=True)]}


def ignores_axis(axis: int) -> dict[str, list[NodeResult]]:
    return wrong_softmax(axis, softmax_of(-1).answers()[0].expected)


class TestMistakesOfParts:
    def test_known_mistake_is_named_beside_another_one(self):
        wrong = {**ignores_axis(0), **ignores_axis(1), **wrong_softmax(2, np.full_like(CUBE, np.nan))}
        (found,) = mistakes_of_parts(wrong, [right_softmax(-1)])
        assert (found.mistakes, found.cases, found.condition) == (("ignores axis",), {"test_axis_0", "test_axis_1"}, "")

    def test_mistake_in_one_version_has_this_version_as_its_condition(self):
        (found,) = mistakes_of_parts({**ignores_axis(0), **ignores_axis(1)}, [right_softmax(0, opset=11)])
        assert (found.mistakes, found.condition) == (("ignores axis",), "have version 13 of Softmax")

    def test_refuted_mistake_and_mistake_in_one_case_are_not_named(self):
        assert not list(mistakes_of_parts({**ignores_axis(0), **ignores_axis(1)}, [right_softmax(0)]))
        assert not list(mistakes_of_parts(ignores_axis(1), []))

    def test_mistakes_that_no_result_distinguishes_are_named_together(self):
        run = node_run("Softmax", [CUBE[0]], axis=0)
        output = node_run("Softmax", [CUBE[0]], axis=1).answers()[0].expected
        (found,) = mistakes_of_results({"a": [NodeResult(run, None, [output], is_wrong=True)]}, [])
        assert found.mistakes[0] == "ignores axis"
        assert {*found.mistakes[1:]} == {"counts axis from the other end", "is off by one in axis"}
        assert found.is_of_all

    def test_old_version_that_is_computed_as_the_newest_is_named(self):
        wrong: dict[str, list[NodeResult]] = {}
        for axis in (0, 1):
            wrong |= wrong_softmax(axis, softmax_of(axis).answers()[0].expected, opset=11)
        (found,) = mistakes_of_parts(wrong, [right_softmax(0), right_softmax(1)])
        assert found.mistakes == ("computes the newest version",)
        assert mistake_text("Softmax", *found.mistakes) == mutants_by_id()["softmax.as_opset_13"].description
        assert "Clip-13" in mistake_text("Clip", *found.mistakes)


@pytest.mark.parametrize("computed", [np.float16, np.float32])
def test_softmax_without_subtracted_maximum_is_named_in_both_types_of_its_exponentials(computed):
    run = node_run("Softmax", [np.array([[1, 2, 3], [4, 5, 100]], np.float16)])
    with np.errstate(all="ignore"):
        powers = np.exp(run.inputs[0].astype(computed))
        output = (powers / powers.sum(-1, keepdims=True)).astype(np.float16)
    assert explaining_mistakes(run, [output]) == ["does not subtract the maximum"]
    small = node_run("Softmax", [np.array([[1, 2, 20]], np.float16)])
    assert failing_mistakes(small, small.answers(), ["does not subtract the maximum"]) == set()


def test_mistake_of_an_optional_input_needs_the_input():
    without = node_run("Gemm", [numbers(3, 5), numbers(5, 4)])
    assert "ignores the input C" not in results_of_mistakes(without)


@pytest.mark.parametrize(
    ("run", "has", "lacks"),
    [
        (
            node_run("ReduceSum", [numbers(2, 3), np.array([0])], keepdims=1),
            {"takes keepdims as 0", "takes noop_with_empty_axes as 1"},
            {"ignores keepdims", "negates keepdims", "is off by one in keepdims"},
        ),
        (
            node_run("Conv", [numbers(1, 2, 7, 7), numbers(3, 2, 3, 3)], kernel_shape=[3, 3]),
            set(),
            {"ignores kernel_shape", "is off by one in kernel_shape", "reads NaN as 0"},
        ),
        (node_run("ReduceMax", [numbers(2, 3, 4)], opset=13, axes=[0, 1]), {"negates axes"}, {"reverses axes"}),
        (node_run("Acos", [np.array([0.5, np.nan], np.float32)]), {"returns NaN as 0"}, {"computes an older version"}),
        (
            node_run("Softmax", [numbers(2, 3, 4)], opset=13),
            {"computes an older version", "takes 1 for axis by default, as another version does"},
            {"takes -1 for axis by default, as another version does"},
        ),
        (node_run("ArgMax", [numbers(2, 3)]), set(), {"returns int64 rounded to int32", "ignores axis"}),
        (node_run("Size", [np.array([np.nan, 1], np.float32)]), set(), {"reads NaN as 0"}),
        (node_run("Expand", [np.ones((2, 1), np.int64), np.array([2, 3])]), set(), {"broadcasts from the left"}),
    ],
    ids=lambda value: value.node.op_type if hasattr(value, "node") else "",
)
def test_mistake_without_a_meaning_is_no_mutant(run, has, lacks):
    found = results_of_mistakes(run)
    assert has <= found.keys()
    assert not lacks & found.keys()


@pytest.mark.parametrize(
    ("expected", "bound", "changed", "differs"),
    [
        ([1.0, 2.0], [0.1, np.inf], [1.0, 9.0], False),
        ([1.0, 2.0], [0.1, np.inf], [1.05, 2.0], True),
        ([0.0], [0.1], [-0.0], False),
        ([0.0], None, [-0.0], True),
    ],
)
def test_only_elements_that_the_page_determines_count(expected, bound, changed, differs):
    answer = Answer(np.array(expected, np.float32), None if bound is None else np.array(bound))
    assert differs_where_determined([np.array(changed, np.float32)], [answer]) is differs


INT64 = np.iinfo(np.int64)
MANY = [np.float32(number).reshape(1) for number in range(17)]
IMAGE = numbers(1, 2, 6, 7)


@pytest.mark.parametrize(
    ("run", "mistakes"),
    [
        (
            node_run("Slice", [numbers(4, 3), np.array([0]), np.array([INT64.max])], opset=13),
            {"reads ends in int32"},
        ),
        (node_run("Max", [np.array([INT64.max - 1]), np.array([INT64.max])], opset=13), {"reads int64 in float64"}),
        (
            node_run("Max", [np.array([200, 7], np.uint8), np.array([3, 255], np.uint8)], opset=13),
            {"reads unsigned integers as signed ones"},
        ),
        (node_run("Identity", [np.array([-128, 1], np.int8)], opset=13), {"reads the lowest integer as the next one"}),
        (node_run("Concat", MANY, opset=13, axis=0), {"ignores the inputs after 8", "ignores the inputs after 16"}),
        (
            node_run("MatMul", [numbers(1, 131), numbers(131, 2)], opset=13),
            {"reads rows above 128 elements in whole vectors"},
        ),
        (node_run("Gemm", [numbers(3, 2), numbers(2, 3), numbers(3, 1)], opset=13), {"reads the column C as a row"}),
        (
            node_run("Pad", [numbers(2, 3), np.array([1, 0, 0, 2]), None, np.array([1, 0])], opset=21),
            {"sorts axes"},
        ),
        (
            node_run("ReduceMean", [numbers(2, 3, 4), np.array([0, 2])], opset=18),
            {"takes all axes from the first to the last"},
        ),
        (
            node_run("RMSNormalization", [np.array([[300, 1]], np.float16), np.ones(2, np.float16)], opset=23),
            {"reads float16 with too large squares as infinity"},
        ),
        (
            node_run("MaxPool", [IMAGE], auto_pad="SAME_UPPER", kernel_shape=[2, 2], strides=[2, 3], dilations=[2, 2]),
            {"pads SAME without strides", "pads SAME without dilations"},
        ),
        (
            node_run(
                "DequantizeLinear",
                [np.arange(4, dtype=np.int8).reshape(4, 1), np.array([[1], [9]], np.float32)],
                21,
                axis=0,
                block_size=3,
            ),
            {"spreads the blocks evenly"},
        ),
        (node_run("Transpose", [numbers(2, 3, 4)], perm=[1, 2, 0]), {"applies the inverse permutation"}),
        (
            node_run(
                "Resize",
                [numbers(1, 1, 4, 5), None, None, np.array([2, 3])],
                19,
                axes=[2, 3],
                keep_aspect_ratio_policy="not_larger",
            ),
            {"rounds sizes of a policy half to even"},
        ),
        (
            node_run("MatMulInteger", [np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)], 10),
            {"saturates sums of two products at 16 bits"},
        ),
        (
            node_run("Mod", [np.array([1e10], np.float32), np.array([3.7], np.float32)], 13, fmod=1),
            {"subtracts a rounded multiple"},
        ),
    ],
    ids=lambda value: value.node.op_type if hasattr(value, "node") else "",
)
def test_mistake_with_operands_of_one_class_changes_the_outputs(run, mistakes):
    (right,) = run.answers()
    results = results_of_mistakes(run)
    changed = {name for name, (array,) in results.items() if not np.array_equal(array, right.expected, equal_nan=True)}
    assert mistakes <= changed


@pytest.mark.parametrize(
    ("run", "mistakes"),
    [
        (
            node_run("Add", [np.array([200], np.uint8), np.array([7], np.uint8)], opset=14),
            {"reads unsigned integers as signed ones"},
        ),
        (node_run("MaxPool", [IMAGE], auto_pad="VALID", kernel_shape=[2, 2]), {"pads SAME without strides"}),
        (node_run("ReduceMean", [numbers(2, 3, 4), np.array([2, 1])], opset=18), {"sorts axes"}),
    ],
    ids=lambda value: value.node.op_type if hasattr(value, "node") else "",
)
def test_mistake_with_the_right_outputs_is_no_mutant(run, mistakes):
    assert not mistakes & results_of_mistakes(run).keys()


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            node_run("Add", [numbers(3), numbers(2, 1)]),
            {"at rank 1", "where the first input has fewer axes", "where the second input repeats an axis"},
        ),
        (
            node_run("Softmax", [numbers(1, 66)], axis=-2),
            {
                "at rank 2",
                "for axis -2",
                "where the last axis has a rest of 2 after vectors",
                "where an axis has more than 64 elements, and a rest after vectors",
            },
        ),
        (node_run("Relu", [numbers(0, 2)]), {"at rank 2", "for an empty input"}),
    ],
    ids=["Add", "Softmax", "Relu"],
)
def test_paths_of_a_node_have_mutants(run, expected):
    right = run.answers()
    found = with_pairs(run, [])
    assert {each.mistake.removeprefix("is wrong ") for each in found} == expected
    assert all(not np.array_equal(each.compute(right)[0].expected, right[0].expected) for each in found)


def test_pairs_are_the_mutants_under_each_other_condition_of_the_node():
    run = node_run("MaxPool", [IMAGE], auto_pad="SAME_UPPER", ceil_mode=0, kernel_shape=[2, 2], strides=[2, 3])
    right = run.answers()
    mutants = node_mutants(run, [answer.expected for answer in right])
    found = {each.id: each for each in with_pairs(run, mutants)}
    of_paths = {each.id for each in with_pairs(run, [])}
    assert {each.id for each in mutants} == {id for id in found if PAIR not in id} - of_paths
    pairs = {id.removeprefix("MaxPool-ignores-strides-with-") for id in found if "ignores-strides-with" in id}
    assert pairs == {"auto_pad-SAME_UPPER", "kernel_shape"}
    ids = ("MaxPool-ignores-strides", "MaxPool-ignores-strides-with-kernel_shape")
    outputs = [found[id].compute(right) for id in ids]
    assert outputs[0][0] is outputs[1][0]
