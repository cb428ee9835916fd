"""Bounds of optimizers: enclosures, structure and ranking."""

from __future__ import annotations

import random
from decimal import Decimal
from functools import partial
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import onnx
import pytest
from argmax_chains import acceptable, chain
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from random_optimizer_inputs import (
    COUNTS,
    ELEMENTS,
    Setting,
    both_types,
    every_optimizer,
    largest_excess,
    random_settings,
)
from reference_evaluations import AT_MUST_ONLY, IN_ANY_PRECISION, Evaluation
from reference_models import (
    OPERANDS,
    build_model,
    float32,
    optimizer_inputs,
    oracle_answer,
    oracle_answers,
    reference_outputs,
)

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.node_validity import InvalidModelError
from conformance.exact.reference.numbers.bounded import is_power_of_two
from conformance.exact.reference.numbers.decimals import exact_context
from conformance.exact.reference.numbers.interval_system import IntervalSystem
from conformance.exact.reference.numbers.number_system import NumberSystem
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import answers
from conformance.subjects.adapters.reference import ReferenceBackend

# Bounds contain every admissible evaluation, and they are narrow for ordinary settings.


@pytest.mark.variants(18)
@pytest.mark.parametrize(
    ("level", "evaluations"), [(Level.MUST, {**IN_ANY_PRECISION, **AT_MUST_ONLY}), (Level.SHOULD, IN_ANY_PRECISION)]
)
@pytest.mark.parametrize("kind", ["ordinary", "any magnitude", "dyadic"])
@both_types
@every_optimizer
def test_admissible_evaluations_are_within_bounds(op_type, dtype, kind, level, evaluations):
    worst, where = largest_excess(random_settings(op_type, kind, dtype), level, evaluations)
    assert worst <= 1, where


@pytest.mark.parametrize("op_type", ["Adam", "Adagrad"])
def test_learning_rate_factor_can_be_float_for_doubles(op_type):
    # R * (Sqrt(1 - beta**T) / (1 - alpha**T)) and R * (1 / (1 + T * decay_factor)): the factors contain no tensor.
    evaluations = {"factor of R in float": Evaluation(float_attributes=True, factor_first=True)}
    worst, where = largest_excess(random_settings(op_type, "dyadic", np.float64), Level.MUST, evaluations)
    assert worst <= 1, where


@pytest.mark.parametrize("kind", ["ordinary", "dyadic"])
@pytest.mark.parametrize(("dtype", "R_dtype"), [(np.float32, np.float64), (np.float64, np.float32)])
@every_optimizer
def test_scalars_can_be_computed_in_narrower_type(op_type, dtype, R_dtype, kind):
    evaluations = {
        **IN_ANY_PRECISION,
        "scalars in float": Evaluation(narrow_rate=True, float_attributes=True),
        "scalars in float, by reciprocal": Evaluation(
            narrow_rate=True, float_attributes=True, reciprocal=True, step="R * (V / H)"
        ),
    }
    worst, where = largest_excess(random_settings(op_type, kind, dtype, R_dtype), Level.MUST, evaluations)
    assert worst <= 1, where


def product_of_count_and_attribute(T, decay_factor, level):
    """Return T * decay_factor, computed as part of an optimizer's formula on float tensors."""
    system = IntervalSystem(strict=level is not Level.MUST)
    operands = (np.array(1, np.float32), np.array(T), np.ones((), np.float32))
    (product,) = system.update_tensor(
        SimpleNamespace(formula_in_all_forms=lambda _, R, T, X, decay_factor: (T * decay_factor,)),
        *(system.from_array(operand) for operand in operands[:2]),
        [system.from_array(operands[2])],
        {"decay_factor": float(decay_factor)},
    )
    return product.elements.item()


def described(number):
    return str((number.low, number.value, number.high, number.affine_form and number.affine_form.range))


@pytest.mark.parametrize("op_type", TRAINING_OPTIMIZERS)
def test_tensors_of_a_node_have_the_results_of_each_alone(op_type):
    system, optimizer = IntervalSystem(), TRAINING_OPTIMIZERS[op_type]
    scalars = system.from_array(np.array(0.1, np.float32)), system.from_array(np.array(3))
    attributes = optimizer.complete_attributes(dict.fromkeys(optimizer.required, 0.75))
    attributes |= {name: values[0] for name, values in optimizer.allowed_values.items()}
    tensor_types = [((3, 4), "f4"), ((), "f4"), ((2, 5), "f8"), ((0,), "f4"), ((5000,), "f4"), ((4090,), "f4")]
    with exact_context():
        arrays = [np.resize(np.linspace(-2, 2, 7), shape).astype(dtype) for shape, dtype in tensor_types]
        tensors = [[system.from_array(array)] * len(optimizer.operands) for array in arrays]
        together = system.apply_optimizer(optimizer, *scalars, tensors, attributes)
        for operands, results in zip(tensors, together, strict=True):
            alone = system.update_tensor(optimizer, *scalars, operands, attributes)
            for result, other in zip(results, alone, strict=True):
                assert (result.dtype, result.elements.shape) == (other.dtype, other.elements.shape)
                assert [*map(described, result.elements.flat)] == [*map(described, other.elements.flat)]


@pytest.mark.parametrize("T", [2**24 + 1, 2**25 + 3, 2**32 + 2**8 + 1])
@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_update_count_can_be_rounded_before_product(T, level):
    with exact_context():
        for decay_factor in np.linspace(1, 2, 100, dtype=np.float32):
            number = product_of_count_and_attribute(T, decay_factor, level)
            assert number.low <= Decimal(float(np.float32(T) * decay_factor)) <= number.high


TRAINING_SETTINGS = 12
"""Number of settings, of which the median is compared."""


def training_settings(op_type, dtype):
    """Return typical training settings: default coefficients, learning rates up to 0.1, tensors around 1."""
    attributes = {"alpha": float32(0.9), "norm_coefficient": float32(1e-3)} if op_type == "Momentum" else {}
    for seed in range(TRAINING_SETTINGS):
        source = random.Random(seed)
        operands = [
            [source.uniform(0.1, 3) * (1 if name == "H" else source.choice([1, -1])) for _ in range(ELEMENTS)]
            for name in OPERANDS[op_type]
        ]
        inputs = optimizer_inputs(10 ** source.uniform(-4, -1), source.choice(COUNTS), *operands, dtype=dtype)
        yield Setting(op_type, inputs, attributes)


def relative_widths(op_type, dtype, level):
    widths = []
    for setting in training_settings(op_type, dtype):
        X_new = setting.answers(level)[0]
        widths += (X_new.bound / np.abs(X_new.expected)).tolist()
    return widths


@every_optimizer
def test_ordinary_bound_is_a_few_ulps(op_type):
    assert np.median(relative_widths(op_type, np.float32, Level.MUST)) < 5e-7
    assert np.median(relative_widths(op_type, np.float64, Level.SHOULD)) < 1e-15


@both_types
@every_optimizer
def test_should_bounds_are_within_must_bounds(op_type, dtype):
    for setting in random_settings(op_type, "ordinary", dtype):
        for must, should in zip(setting.answers(Level.MUST), setting.answers(Level.SHOULD), strict=True):
            assert (should.bound <= must.bound).all()


# Parts of a model other than operators: initializers, constants, functions, sequences and optionals.


f32 = partial(np.array, dtype=np.float32)
i64 = partial(np.array, dtype=np.int64)
node = helper.make_node
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def outputs_of(serialised, inputs):
    """Return the outputs, after an assertion that the native and the interval system agree."""
    expected = [answer.expected.tolist() for answer in answers(serialised, inputs, Level.MUST)]
    assert [output.tolist() for output in reference_outputs(serialised, inputs)] == expected
    return expected


def given_and_default():
    default = numpy_helper.from_array(f32([10, 20]), "default")
    nodes = [node("Sub", ["X", "default"], ["Y"])]
    return build_model(nodes, {"X": f32([1, 2]), "default": f32([1, 1])}, {"Y": FLOAT}, initializers=[default])


def test_initializer_replaces_omitted_input():
    assert outputs_of(given_and_default(), [f32([1, 2])]) == [[-9, -18]]


def test_given_input_overrides_initializer():
    assert outputs_of(given_and_default(), [f32([1, 2]), f32([1, 1])]) == [[0, 1]]


def sum_with_sparse(numbers, indices):
    """Return the outputs of a sum of 0 and a sparse initializer of shape (2, 3)."""
    values = numpy_helper.from_array(f32(numbers), "W")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(i64(indices)), [2, 3])
    model = onnx.load_model_from_string(build_model([node("Add", ["X", "W"], ["Y"])], {"X": f32(0)}, {"Y": FLOAT}))
    model.graph.sparse_initializer.append(sparse)
    return outputs_of(model.SerializeToString(), [f32(0)])


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]])
def test_sparse_initializer_becomes_dense(indices):
    assert sum_with_sparse([7, 8], indices) == [[[0, 7, 0], [0, 0, 8]]]


def test_sparse_tensor_with_invalid_index_is_unsupported():
    with pytest.raises(Unsupported, match="sparse"):
        sum_with_sparse([7], [6])


SPARSE = helper.make_sparse_tensor(numpy_helper.from_array(f32([5]), "values"), numpy_helper.from_array(i64([1])), [3])


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("value", numpy_helper.from_array(f32([1, 2])), [1, 2]),
        ("sparse_value", SPARSE, [0, 5, 0]),
        ("value_float", 1.5, 1.5),
        ("value_floats", [1.5, 2.5], [1.5, 2.5]),
        ("value_int", 3, 3),
        ("value_ints", [3, 4], [3, 4]),
    ],
)
def test_constant_equals_attribute(attribute, value, expected):
    serialised = build_model([node("Constant", [], ["Y"], **{attribute: value})], {}, {"Y": FLOAT})
    assert outputs_of(serialised, []) == [expected]


@pytest.mark.parametrize(("attribute", "value"), [("value_string", "a"), ("value_strings", ["a", "b"])])
def test_unused_string_constant_is_accepted(attribute, value):
    nodes = [node("Constant", [], ["text"], **{attribute: value}), node("Neg", ["X"], ["Y"])]
    assert outputs_of(build_model(nodes, {"X": f32(1)}, {"Y": FLOAT}), [f32(1)]) == [-1]


def test_unused_string_initializer_is_accepted():
    text = helper.make_tensor("text", TensorProto.STRING, [1], [b"a"])
    serialised = build_model([node("Neg", ["X"], ["Y"])], {"X": f32(1)}, {"Y": FLOAT}, initializers=[text])
    assert outputs_of(serialised, [f32(1)]) == [-1]


def with_function(op_type, body, *, domain="acme", attributes=(), inputs=("A",), **call):
    """Return a model with one call of a function on X."""
    nodes = [node(op_type, ["X"], ["Y"], domain=domain, **call)]
    model = onnx.load_model_from_string(build_model(nodes, {"X": f32([1, 2])}, {"Y": FLOAT}))
    imports = [helper.make_opsetid("", 13)]
    function = helper.make_function(domain, op_type, list(inputs), ["B"], body, imports, list(attributes))
    model.functions.append(function)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    return model.SerializeToString()


@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax", "If", "Constant"])
def test_function_of_other_domain_is_not_the_operator(op_type):
    assert outputs_of(with_function(op_type, [node("Neg", ["A"], ["B"])]), [f32([1, 2])]) == [[-1, -2]]


def test_subgraph_in_function_captures_values():
    branches = {
        name: helper.make_graph([node(op, ["A"], ["C"])], name, [], [helper.make_tensor_value_info("C", FLOAT, None)])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    body = [
        node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["yes"], ["B"], **branches),
    ]
    assert outputs_of(with_function("Chosen", body), [f32([1, 2])]) == [[-1, -2]]


def test_function_attribute_reaches_subgraphs():
    inner = node("LeakyRelu", ["A"], ["C"])
    inner.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    graph = helper.make_graph([inner], "branch", [], [helper.make_tensor_value_info("C", FLOAT, None)])
    body = [
        node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        node("If", ["yes"], ["B"], then_branch=graph, else_branch=graph),
    ]
    serialised = with_function("Leaky", body, attributes=["slope"], slope=0.5)
    assert outputs_of(serialised, [f32([-4, 2])]) == [[-2, 2]]


def test_omitted_call_input_is_absent_in_function():
    body = [node("Clip", ["A", "least", "most"], ["B"])]
    assert outputs_of(with_function("Bound", body, inputs=("A", "least", "most")), [f32([1, 2])]) == [[1, 2]]


def test_undefined_value_is_unsupported():
    with pytest.raises(Unsupported, match="missing"):
        reference_outputs(build_model([node("Add", ["X", "missing"], ["Y"])], {"X": f32(1)}, {"Y": FLOAT}), [f32(1)])


SEQUENCE_NODES = {
    "at": [node("SequenceConstruct", ["X", "Z"], ["S"]), node("SequenceAt", ["S", "minus_one"], ["Y"])],
    "insert": [
        node("SequenceEmpty", [], ["E"], dtype=FLOAT),
        node("SequenceInsert", ["E", "X"], ["S"]),
        node("SequenceInsert", ["S", "Z", "zero"], ["S2"]),
        node("SequenceAt", ["S2", "zero"], ["Y"]),
    ],
    "erase": [
        node("SequenceConstruct", ["X", "Z"], ["S"]),
        node("SequenceErase", ["S", "zero"], ["S2"]),
        node("SequenceAt", ["S2", "zero"], ["Y"]),
    ],
    "optional": [node("Optional", ["Z"], ["O"]), node("OptionalGetElement", ["O"], ["Y"])],
}


@pytest.mark.parametrize("nodes", SEQUENCE_NODES.values(), ids=SEQUENCE_NODES)
def test_sequences_and_optionals_return_elements(nodes):
    inputs = {"X": f32([1, 2]), "Z": f32([3]), "zero": i64(0), "minus_one": i64(-1)}
    assert outputs_of(build_model(nodes, inputs, {"Y": FLOAT}, opset=15), [*inputs.values()]) == [[3]]


@pytest.mark.parametrize(("new_axis", "Y"), [(0, [1, 2, 3, 4]), (1, [[1, 3], [2, 4]])])
def test_concat_from_sequence_supports_new_axis(new_axis, Y):
    nodes = [
        node("SequenceConstruct", ["X", "Z"], ["S"]),
        node("ConcatFromSequence", ["S"], ["Y"], axis=new_axis, new_axis=new_axis),
    ]
    inputs = {"X": f32([1, 2]), "Z": f32([3, 4])}
    assert outputs_of(build_model(nodes, inputs, {"Y": FLOAT}), [*inputs.values()]) == [Y]


@pytest.mark.parametrize(("nodes", "Y"), [
    ([node("SplitToSequence", ["X"], ["S"]), node("SequenceLength", ["S"], ["Y"])], 2),
    ([node("Optional", ["X"], ["O"]), node("OptionalHasElement", ["O"], ["Y"])], True),
    ([node("Optional", [], ["O"], type=helper.make_tensor_type_proto(FLOAT, None)),
      node("OptionalHasElement", ["O"], ["Y"])], False),
])  # fmt: skip
def test_sequence_length_and_optional_state_are_reported(nodes, Y):
    assert outputs_of(build_model(nodes, {"X": f32([1, 2])}, {"Y": INT64}, opset=15), [f32([1, 2])]) == [Y]


def test_sequence_can_be_a_graph_input():
    nodes = [node("SequenceAt", ["S", "zero"], ["Y"])]
    model = onnx.load_model_from_string(build_model(nodes, {"S": f32(0), "zero": i64(0)}, {"Y": FLOAT}))
    values = Graph.from_model(model).run([[f32([1]), f32([2])], i64(0)], NumberSystem())
    assert values[0].elements.tolist() == [1]


def test_optional_graph_input_can_be_empty():
    nodes = [node("OptionalHasElement", ["O"], ["Y"])]
    model = onnx.load_model_from_string(build_model(nodes, {"O": f32(0)}, {"Y": INT64}, opset=15))
    assert not Graph.from_model(model).run([None], NumberSystem())[0].elements.item()


# Acceptable indices after functions: shared errors change no order, and values beyond all digits are not ties.


ANY = [0, 1]
FLAT = [42.4375, 42.3125, 42.5, 42.5, 42.5, 42.5, 42.46875, 42.5, 42.4375, 42.625]


def accepted(operators, X, dtype, level=Level.MUST, **options):
    X = np.array(X, dtype)
    return acceptable(chain(*operators, X=X, **options), X, level)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (FLAT, np.float16),
        ([88.69999999999996, 88.70000000000002], np.float64),
        ([-30.0] * 30 + [16.0, 16.5], ml_dtypes.bfloat16),
    ],
    ids=["float16", "double", "bfloat16"],
)
def test_shared_error_does_not_change_order(operator, X, dtype):
    assert accepted([operator], X, dtype) == [[len(X) - 1]]


@pytest.mark.parametrize("chained", [["LogSoftmax", "Exp"], ["Softmax", "Log"], ["Softmax", "Exp"]], ids="-".join)
def test_shared_error_in_chain_does_not_change_order(chained):
    assert accepted(chained, [8.0] * 20 + [8.25], np.float16) == [[20]]


@pytest.mark.parametrize(
    "chained", [["Sqrt", "LogSoftmax"], ["Sqrt", "Softmax", "Log"], ["Exp", "Softmax"]], ids="-".join
)
def test_error_of_maximum_does_not_change_order(chained):
    X = [88.0, 87.5, 80.0, 1.0] if chained[0] == "Exp" else [3.4e38, 3.39e38, 1e38, 1e30]
    assert accepted(chained, X, np.float32) == [[0]]


def test_possible_maxima_exclude_other_elements():
    largest = np.float32(3.4e38)
    assert accepted(["Sqrt", "LogSoftmax"], [np.nextafter(largest, np.float32(0)), largest, 1e38], np.float32) == [ANY]


def test_sum_over_other_axis_is_not_shared():
    X = np.array([[100.0, 0.0], [0.0, 0.0625]], np.float16)
    node = helper.make_node("Softmax", ["X"], ["Y"], axis=1)
    argmax = helper.make_node("ArgMax", ["Y"], ["I"], axis=0, keepdims=0)
    (answer,) = answers(build_model([node, argmax], {"X": X}, {"I": onnx.TensorProto.INT64}), [X], Level.MUST)
    assert answer.expected.tolist() == [0, 1]
    assert answer.choices is None or answer.choices[0].tolist() == [True, False]


STEPS = {
    "Softmax": lambda shifted, powers, total: powers / total,
    "LogSoftmax": lambda shifted, powers, total: shifted - np.log(total),
    "exp of LogSoftmax": lambda shifted, powers, total: np.exp(shifted - np.log(total)),
    "log of Softmax": lambda shifted, powers, total: np.log(powers / total),
}


@settings(max_examples=60)
@given(data=st.data())
def test_index_of_native_evaluation_is_acceptable(data):
    steps = data.draw(st.sampled_from(sorted(STEPS)))
    operator = "Softmax" if steps in {"Softmax", "exp of LogSoftmax"} else "LogSoftmax"
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64]))
    start = dtype(data.draw(st.floats(-20, 20, width=16)))
    jumps = data.draw(st.lists(st.integers(0, 12), min_size=2, max_size=12))
    X = start + np.array(jumps, dtype) * np.spacing(abs(start) + dtype(0.01))
    shifted = X - X.max()
    powers = np.exp(shifted)
    Y = STEPS[steps](shifted, powers, np.add.accumulate(powers)[-1])
    assert int(Y.argmax()) in accepted([operator], X, dtype)[0]


@pytest.mark.parametrize(
    ("operators", "X", "dtype"),
    [
        (["Exp", "Exp"], [42.5, 43.0], np.float64),
        (["Exp", "Exp"], [7750.0, 7760.0], np.float64),
        (["Exp"], [-3.4e38, -3.3e38], np.float32),
        (["Exp", "Exp", "Exp"], [5.0, 6.0], np.float32),
    ],
)
def test_values_beyond_decimals_tie_in_declared_types_only(operators, X, dtype):
    assert accepted(operators, X, dtype) == [ANY]
    assert accepted(operators, X, dtype, Level.SHOULD) == [[0]]


@pytest.mark.parametrize("X", [[1.0, 43.0], [-3.4e38, 1.0]])
def test_value_beyond_decimals_is_distinguished_from_others(X):
    assert accepted(["Exp", "Exp"], X, np.float64) == [[1]]


def test_underflow_is_not_below_zero():
    assert accepted(["Softmax", "Sqrt"], [60000.0, 1.0], np.float16) == [[0]]


@pytest.mark.parametrize("operator", ["Sqrt", "Log"])
def test_number_just_below_zero_can_be_flushed(operator):
    X = np.array([0, -50], np.float32)
    nodes = [helper.make_node("LogSoftmax", ["X"], ["Y"]), helper.make_node(operator, ["Y"], ["Z"])]
    (answer,) = answers(build_model(nodes, {"X": X}, {"Z": onnx.TensorProto.FLOAT}), [X], Level.SHOULD)
    assert np.isnan(answer.expected).all()
    assert answer.bound.tolist() == [np.inf, 0]


def test_log_of_possible_underflow_can_be_infinite():
    X = np.array([0, -104], np.float32)
    nodes = [helper.make_node("Softmax", ["X"], ["Y"]), helper.make_node("Log", ["Y"], ["Z"])]
    serialised = build_model(nodes, {"X": X}, {"Z": onnx.TensorProto.FLOAT})
    (answer,) = answers(serialised, [X], Level.SHOULD)
    assert answer.bound[1] == np.inf
    assert reference_outputs(serialised, [X])[0][0] == 0


@pytest.mark.parametrize("exponent", [2**31, -(2**31)])
def test_power_beyond_all_formats_is_not_a_power_of_two(exponent):
    with exact_context():
        assert not is_power_of_two(Decimal(2) ** exponent)


def test_update_count_of_two_to_the_31st_is_supported():
    X_new, _, _ = oracle_answers("Adam", 0.1, 2**31, 1, 2, 3, 4, level=Level.MUST, alpha=2.0, beta=0.5)
    assert X_new.indeterminacy


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_softmax_of_vector_below_opset_11_has_two_results(operator):
    X = np.array([1.0, 2.0], np.float32)
    answer = oracle_answer(operator, X, level=Level.MUST, opset=9)
    column, row = (1.0, 0.2689414) if operator == "Softmax" else (0.0, -1.3132616)
    assert answer.indeterminacy
    assert answer.expected[0] == column
    assert abs(answer.expected[0] - row) <= answer.bound[0]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_softmax_of_vector_since_opset_11_is_a_row(operator):
    X = np.array([1.0, 2.0], np.float32)
    assert oracle_answer(operator, X, level=Level.MUST, opset=11, axis=0).indeterminacy is None
    assert oracle_answer(operator, X, level=Level.MUST, opset=9, axis=0).indeterminacy is None


def first_version(operator, opset, **attributes):
    X = np.array([1.0, 4.0], np.float32)
    node = helper.make_node(operator, ["X"], ["Y"], **attributes)
    model = onnx.load_model_from_string(build_model([node], {"X": X}, {"Y": onnx.TensorProto.FLOAT}, opset=opset))
    return ReferenceBackend.prepare(model).run([X])[0]


@pytest.mark.parametrize(("operator", "last"), [("Log", 1.3862944), ("Exp", 54.59815), ("Sqrt", 2.0)])
def test_consumed_inputs_of_first_versions_is_accepted(operator, last):
    assert first_version(operator, 5, consumed_inputs=[0])[1] == np.float32(last)


@pytest.mark.parametrize(("opset", "attributes"), [(6, {"consumed_inputs": [0]}), (5, {"consumed_inputs": 0})])
def test_consumed_inputs_of_later_versions_is_unsupported(opset, attributes):
    with pytest.raises(InvalidModelError, match="consumed_inputs"):
        first_version("Exp", opset, **attributes)


def test_decided_index_can_be_computed_with():
    X = np.array([0.5, 2.0, 1.0], np.float32)
    model = onnx.load_model_from_string(chain("Exp", X=X))
    model.graph.node.append(helper.make_node("Neg", [model.graph.output[0].name], ["negative"]))
    model.graph.output[0].name = "negative"
    (answer,) = answers(model.SerializeToString(), [X], Level.MUST)
    assert int(answer.expected) == -1
