"""In every context a model passes ONNX's checker and shape inference, and gives what its nodes give by themselves."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance.dimensions.contexts import IMPORTS, Context, in_context
from conformance.dimensions.fragments import Fragment
from conformance.dimensions.origins import ORIGINS, STORED
from conformance.dimensions.places import ITERATIONS, PLACES
from conformance.dimensions.uses import USES
from conformance.models.feeds import fed_names
from conformance.reference.evaluation import evaluate

X = np.array([[1.5, -2.0, 4.0], [0.5, 8.0, -1.0]], dtype=np.float32)
Y = np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 7.0]], dtype=np.float32)
S = np.array(0.25, dtype=np.float32)


def fragment():
    """Z = LeakyRelu(X * Y + S): every operand shows, and so does the attribute."""
    nodes, again = (
        (
            helper.make_node("Mul", ["X", "Y"], ["XY"]),
            helper.make_node("Add", ["XY", "S"], ["sum"]),
            helper.make_node("LeakyRelu", ["sum"], ["Z"], alpha=alpha),
        )
        for alpha in (0.5, 0.25)
    )
    return Fragment(nodes, {"X": X, "Y": Y, "S": S}, {"Z": np.zeros_like(X)}, {"": 13}, {"Z": "X"}, again)


def leaky(total, alpha=0.5):
    return np.where(total < 0, alpha * total, total)


EXPECTED = leaky(X * Y + S)


def outputs(context):
    """The outputs of the fragment in a context, by name."""
    built = in_context("contexts", fragment(), context)
    model = onnx.load_model_from_string(built.model)
    onnx.checker.check_model(model, full_check=True)
    assert len(fed_names(model.graph)) == len(built.data_sets[0])
    names = [value.name for value in model.graph.output]
    return dict(zip(names, evaluate(model, built.data_sets[0]), strict=True))


def test_a_later_run_is_fed_its_own_operands_and_has_the_constants_of_the_first():
    context = Context("if_then", {"X": "rearranged", "Y": "initializer", "S": "part"})
    built = in_context("contexts", fragment(), context, [{"X": Y, "Y": X, "S": 2 * S}])
    model = onnx.load_model_from_string(built.model)
    given = [evaluate(model, data_set)[0] for data_set in built.data_sets]
    np.testing.assert_array_equal(given, [EXPECTED, leaky(Y * Y + 2 * S)])


@pytest.mark.parametrize("place", PLACES)
def test_a_place_gives_what_the_nodes_give(place):
    """A loop of which the result takes the operand's place does it twice."""
    given = outputs(Context(place))
    assert ITERATIONS == 2
    expected = leaky(EXPECTED * Y + S) if place == "loop" else EXPECTED
    first, *others = given.values()
    np.testing.assert_array_equal(first, np.stack([expected] * 2) if place == "if_in_loop" else expected)
    assert len(others) == (place == "function_twice")


def test_the_second_call_of_a_function_has_attributes_of_its_own():
    np.testing.assert_array_equal(outputs(Context("function_twice"))["Z_again"], leaky(X * Y + S, 0.25))


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("place", PLACES)
def test_an_origin_gives_its_operand_in_every_place(place, origin, stored):
    given = outputs(Context(place, dict.fromkeys("XYS", origin), stored=stored))
    plain = outputs(Context(place))
    np.testing.assert_array_equal(next(iter(given.values())), next(iter(plain.values())))


@pytest.mark.parametrize("use", [use for use in USES if use != "unused"])
@pytest.mark.parametrize("place", PLACES)
def test_a_use_gives_its_result_in_every_place(place, use):
    given = outputs(Context(place, uses={"Z": use}))
    plain = next(iter(outputs(Context(place)).values()))
    others = {name: array for name, array in given.items() if "_again" not in name}
    assert len(others) == (1 if use == "output" else 2)
    for name, array in others.items():
        times = -2 if "_later" in name else -1 if "_negative" in name else 1
        np.testing.assert_array_equal(array, times * plain)


def test_an_unused_result_leaves_nothing():
    assert outputs(Context(uses={"Z": "unused"}, shared=("X",))).keys() == {"X_negative"}


def test_a_part_is_surrounded_by_what_would_show():
    built = in_context("contexts", fragment(), Context(origins={"X": "part", "S": "part"}))
    model = onnx.load_model_from_string(built.model)
    fed = dict(zip(fed_names(model.graph), built.data_sets[0], strict=True))
    assert fed["X_whole"].shape == (4, 5)
    np.testing.assert_array_equal(fed["S_whole"], [77, 77, 0.25, 77])


@pytest.mark.parametrize("spelling", IMPORTS)
def test_imports_are_spelled_in_every_way_that_the_checker_takes(spelling):
    np.testing.assert_array_equal(outputs(Context(imports=spelling))["Z"], EXPECTED)


def test_a_model_that_trains_binds_results_to_the_initializers_of_its_algorithm():
    built = in_context("contexts", fragment(), Context(trains=True))
    (info,) = onnx.load_model_from_string(built.model).training_info
    (binding,) = info.update_binding
    assert binding.key in {tensor.name for tensor in info.algorithm.initializer}
    assert binding.value in {value.name for value in info.algorithm.output}
