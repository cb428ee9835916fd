"""In every context, a model is valid and computes the same as the nodes alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from batches import for_each
from onnx import helper, numpy_helper

from conformance.factors.connections import ALIAS_SOURCES, CONSUMERS, SOURCES, TENSOR_ENCODINGS, Fragment
from conformance.factors.scopes import ITERATIONS, SCOPES
from conformance.factors.wrapping import IMPORT_LEVELS, Context, build_in_context
from conformance.models.inputs import fed_input_names, required_input_names
from conformance.reference.oracle import evaluate

X = np.array([[1.5, -2.0, 4.0], [0.5, 8.0, -1.0]], dtype=np.float32)
Y = np.array([[3.0, 1.0, 2.0], [5.0, 4.0, 7.0]], dtype=np.float32)
S = np.array(0.25, dtype=np.float32)


def fragment():
    """Return Z = LeakyRelu(X * Y + S). Every operand and the attribute affect the result."""
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
    """Return the outputs of the fragment in a context, by name."""
    built = build_in_context("contexts", fragment(), context)
    model = onnx.load_model_from_string(built.model)
    onnx.checker.check_model(model, full_check=True)
    count = len(built.data_sets[0])
    assert len(fed_input_names(model.graph, count)) == count
    names = [value.name for value in model.graph.output]
    return dict(zip(names, evaluate(model, built.data_sets[0]), strict=True))


def test_later_run_keeps_constants_of_the_first_run():
    context = Context("if_then", {"X": "rearranged", "Y": "initializer", "S": "part"})
    built = build_in_context("contexts", fragment(), context, [{"X": Y, "Y": X, "S": 2 * S}])
    model = onnx.load_model_from_string(built.model)
    given = [evaluate(model, data_set)[0] for data_set in built.data_sets]
    np.testing.assert_array_equal(given, [EXPECTED, leaky(Y * Y + 2 * S)])


@pytest.mark.parametrize("scope", SCOPES)
def test_scope_keeps_the_result(scope):
    """Check every scope. In `loop`, the result is used as operand of a second iteration."""
    given = outputs(Context(scope))
    assert ITERATIONS == 2
    expected = leaky(EXPECTED * Y + S) if scope == "loop" else EXPECTED
    first, *others = given.values()
    np.testing.assert_array_equal(first, np.stack([expected] * 2) if scope == "if_in_loop" else expected)
    assert len(others) == (scope in {"function_twice", "if_both"})


@pytest.mark.parametrize("scope", ["function_twice", "if_both"])
def test_second_result_has_own_attributes(scope):
    np.testing.assert_array_equal(outputs(Context(scope))["Z_again"], leaky(X * Y + S, 0.25))


@pytest.mark.parametrize("source", ALIAS_SOURCES)
def test_alias_source_shows_the_other_name_unchanged(source):
    given = outputs(Context(sources={"X": source}))
    np.testing.assert_array_equal(given["Z"], EXPECTED)
    np.testing.assert_array_equal(given["X_other_negative"], -X)


def test_overridden_initializers_are_fed_all_inputs():
    context = Context(sources={"X": "overridden", "Y": "overridable"})
    built = build_in_context("contexts", fragment(), context, [{"X": -X, "Y": Y, "S": S}])
    model = onnx.load_model_from_string(built.model)
    given = [evaluate(model, data_set)[0] for data_set in built.data_sets]
    np.testing.assert_array_equal(given, [EXPECTED, leaky(-X * Y + S)])


@pytest.mark.parametrize("stored", TENSOR_ENCODINGS)
@for_each("source", SOURCES)
@for_each("scope", SCOPES)
def test_source_keeps_the_result_in_every_scope(scope, source, stored):
    operands = "XY" if source == "sparse_constant" else "XYS"  # ONNX's sparse format has no scalars
    given = outputs(Context(scope, dict.fromkeys(operands, source), stored=stored))
    plain = outputs(Context(scope))
    np.testing.assert_array_equal(next(iter(given.values())), next(iter(plain.values())))


@pytest.mark.parametrize("consumer", [level for level in CONSUMERS if level != "unused"])
@for_each("scope", SCOPES)
def test_consumer_receives_the_result_in_every_scope(scope, consumer):
    given = outputs(Context(scope, consumers={"Z": consumer}))
    plain = next(iter(outputs(Context(scope)).values()))
    others = {name: array for name, array in given.items() if "_again" not in name}
    assert len(others) == (1 if consumer == "output" else 2)
    for name, array in others.items():
        times = -2 if "_later" in name else -1 if "_negative" in name else 1
        np.testing.assert_array_equal(array.reshape(-1), times * plain.reshape(-1))


def test_unused_result_is_not_an_output():
    assert outputs(Context(consumers={"Z": "unused"}, shared=("X",))).keys() == {"X_negative"}


def test_sliced_operand_is_padded():
    built = build_in_context("contexts", fragment(), Context(sources={"X": "part", "S": "part"}))
    model = onnx.load_model_from_string(built.model)
    fed = dict(zip(required_input_names(model.graph), built.data_sets[0], strict=True))
    assert fed["X_whole"].shape == (4, 5)
    np.testing.assert_array_equal(fed["S_whole"], [77, 77, 0.25, 77])


@pytest.mark.parametrize("level", IMPORT_LEVELS)
def test_import_level_keeps_model_valid(level):
    np.testing.assert_array_equal(outputs(Context(imports=level))["Z"], EXPECTED)


def test_training_info_binds_results_to_initializers():
    built = build_in_context("contexts", fragment(), Context(trains=True))
    (info,) = onnx.load_model_from_string(built.model).training_info
    (binding,) = info.update_binding
    assert binding.key in {tensor.name for tensor in info.algorithm.initializer}
    assert binding.value in {value.name for value in info.algorithm.output}


@pytest.mark.parametrize("encode", TENSOR_ENCODINGS.values())
def test_sparse_constant_of_a_scalar_is_dense(encode):
    (node,) = SOURCES["sparse_constant"]("S", np.array(2.5, np.float32), encode).before.nodes
    assert [attribute.name for attribute in node.attribute] == ["value"]
    assert numpy_helper.to_array(node.attribute[0].t) == np.float32(2.5)
