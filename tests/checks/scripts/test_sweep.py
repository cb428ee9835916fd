"""sweep.py: results of runtimes and correct variants are within the bounds, or are faults of the runtime."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import mpmath
import numpy as np
import onnx
import pytest
from repository import ROOT

from checks.truth.exact import evaluate_exactly
from checks.truth.known_faults import evaluate_arithmetic, known_faults
from conformance.exact.declarations.declaration_tables import declarations
from conformance.exact.declarations.drawing import DrawnNode, draw_node
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.subjects.adapters.onnx_reference import OnnxReferenceBackend
from conformance.subjects.calling.subject_names import Subject


@pytest.fixture
def script(monkeypatch):
    """Import the script."""
    monkeypatch.syspath_prepend(str(ROOT / "checks" / "measurements"))
    import sweep

    return sweep


@pytest.mark.long
def test_sweep_of_all_operators_has_no_open_cause(script):
    found = script.sweep(2 * len(declarations()), 7)
    assert found.open == set(), [found.examples[cause] for cause in found.open]
    assert found.counts["judged nodes"] > 1.8 * len(declarations())
    assert found.counts["results of onnxruntime"] > found.counts["judged nodes"] * 0.6
    for kind in ("in double", "in another order", "as a function", "with folded scale"):
        assert found.counts[f"results of variant {kind}"] > 0


def test_sweep_lists_a_wrong_runtime_as_open_and_settles_it_where_it_can(script, monkeypatch):
    right = script.run_onnxruntime
    monkeypatch.setattr(
        script, "run_onnxruntime", lambda *given, **options: [each * 2 for each in right(*given, **options) or []]
    )
    found = script.sweep(20, 3, ["Exp", "ThresholdedRelu"])
    states = {cause.partition(":")[0]: cause for cause in found.causes if "onnxruntime" in cause}
    assert {"settled", "open"} <= {*states}
    assert "Exp" in states["settled"]
    assert "ThresholdedRelu" in states["open"]


def test_sweep_lists_a_node_that_the_suite_does_not_evaluate_as_open(script, monkeypatch):
    def fail(*_):
        raise ValueError("no shape")

    monkeypatch.setattr(script, "enclose", fail)
    found = script.sweep(2, 3, ["Exp"])
    assert found.causes == {"open: suite: Exp: ValueError": 2}
    assert found.open == {*found.causes}


def test_sweep_lists_a_wrong_string_as_open(script, monkeypatch):
    right = script.run_evaluator
    monkeypatch.setattr(
        script, "run_evaluator", lambda *given: [np.full(each.shape, "wrong", object) for each in right(*given)]
    )
    found = script.sweep(1, 3, ["StringConcat"])
    assert found.open == {"open: onnx-reference: StringConcat of string: must, a string instead of a string"}


class Wrong:
    """A backend that returns zeros."""

    @classmethod
    def prepare(cls, model, device="CPU"):
        return SimpleNamespace(run=lambda inputs: [np.zeros_like(inputs[0])])


def test_sweep_of_a_backend_is_contradicted_by_another_implementation(script):
    backend = Subject("wrong", "1", Wrong)
    found = script.sweep(12, 3, ["ThresholdedRelu", "Identity"], backend)
    states = {cause.partition(":")[0] for cause in found.causes}
    assert found.counts["results of wrong"] > 0
    assert "contradicted" in states
    assert found.open == set()
    assert script.sweep(12, 3, ["ThresholdedRelu"], Subject("right", "1", OnnxReferenceBackend)).causes == {}


def test_moved_element_that_no_operand_has_is_a_fault_of_the_subject(script):
    node = draw_node("Identity", "4", {"declaration": 0, "type T": 0})
    first = node.operands["X"].flat[0]
    assert script.is_invented(node, np.float32(123.456), first)
    assert not script.is_invented(node, first, np.float32(123.456))


def test_quantized_sum_has_an_exact_value():
    graph = "q (int8[2] A, float a, int8[1] B, float b, int8 zero, float y, int8 start) => (int8[2] Y)"
    text = f'{graph} {{ Y = com.microsoft.QLinearAdd (A, a, "", B, b, zero, y, start) }}'
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]> {text}')
    feeds = {"A": [1, -2], "a": 0.25, "B": [-75], "b": 0.1, "zero": 18, "y": 1.0, "start": -12}
    types = {"a": np.float32, "b": np.float32, "y": np.float32}
    (exact,) = evaluate_exactly(model, {name: np.array(each, types.get(name, np.int8)) for name, each in feeds.items()})
    assert exact.tolist() == [-21, -22]


def test_variants_agree_with_onnxruntime(script):
    node = draw_node("MatMul", "4", {"declaration": 0, "type T": 0, "values of A": 2, "values of B": 2})
    (expected,) = script.run_onnxruntime(node.model, node.inputs, is_optimized=True)
    for variant in (script.in_other_order(node, 1), script.with_fused_multiply_add(node)):
        np.testing.assert_allclose(variant[0], expected, rtol=1e-3, atol=1e-4)


def test_sweep_of_sums_compares_all_variants_of_their_terms(script):
    found = script.sweep(100, 3, ["ReduceSum", "Conv", "MatMul", "GlobalAveragePool", "ReduceL1"])
    assert found.open == set()
    for kind in ("in double", "in another order", "as a function", "with fused multiply-add"):
        assert found.counts[f"results of variant {kind}"] > 0


@pytest.mark.parametrize(("operator", "seed", "is_sum"), [("ReduceProd", "1/67", True), ("ReduceL1", "1/190", False)])
def test_reduction_over_empty_axes_has_another_order_unless_it_reduces_none(script, operator, seed, is_sum):
    node = draw_node(operator, seed)
    assert node.operands["axes"].size == 0
    assert bool(script.attributes_of(node).get("noop_with_empty_axes")) is not is_sum
    assert (script.in_other_order(node, 1) is not None) is is_sum


@pytest.mark.parametrize(
    ("actual", "value", "error", "exact", "expected"),
    [
        (2.0, 1.0, 0.5, mpmath.mpf(1), True),
        (2.0, 1.0, 0.5, mpmath.mpf(2), False),
        (2.0, 1.0, 0.5, None, False),
        (2.0, float("nan"), 0.0, mpmath.nan, True),
        (2.0, 1.0, 0.0, mpmath.nan, False),
    ],
)
def test_is_fault_of_subject_needs_an_exact_value_within_the_bound(script, actual, value, error, exact, expected):
    assert script.is_fault_of_subject(actual, value, error, exact) is expected


@pytest.mark.parametrize(("actual", "expected"), [([0.1, 2.0], True), ([0.1, 1.5], False)])
def test_any_element_outside_of_its_bound_can_settle_an_output(script, actual, expected):
    exact = np.array([mpmath.mpf(0), mpmath.mpf(1)], object)
    bound = Enclosure(np.array([-0.5, 1.0]), np.array([0.5, 0.6]), np.dtype(np.float32))
    assert script.is_settled_by(exact, np.float32(actual), bound, [(0,), (1,)]) is expected
    assert not script.is_settled_by(None, np.float32(actual), bound, [(0,), (1,)])


@pytest.mark.parametrize("fault", known_faults(), ids=lambda fault: f"{fault.subject}-{fault.operator}")
def test_known_fault_is_shown_by_exact_arithmetic(script, fault):
    for given in fault.in_types():
        node = DrawnNode(given.operator, given.model, given.operands, {}, ())
        with np.errstate(all="ignore"):
            tensor = enclose(NodeScope.of(given.model), node.proto, node.operands)[given.output]
            outputs = next(outputs for name, outputs in script.subjects(node, 0) if name == given.subject)
            outcome = evaluate_exactly(given.model, given.operands)[given.output]
            exact = script.exact_number(outcome.flat[given.element])
        if given is fault:
            assert mpmath.nstr(exact, 30) == mpmath.nstr(fault.exact_value, 30)
        if given.subject == "torch" and not script.is_installed:
            assert outputs is None
            continue
        value, error = (tensor.value, tensor.error) if isinstance(tensor, Enclosure) else (tensor, 0 * tensor)
        place = np.unravel_index(given.element, value.shape)
        actual = np.asarray(outputs[given.output])[place]
        assert script.is_fault_of_subject(actual.item(), value[place].item(), float(error[place]), exact)


@pytest.mark.parametrize(
    ("below", "is_known"), [({}, True), ({"opset": 14}, False), ({"kinds": ["zero instead of a number"]}, False)]
)
def test_known_fault_explains_accusations_of_its_kind_alone(below, is_known):
    fault = next(fault for fault in known_faults() if fault.operator == "BatchNormalization")
    kind = "must, a number instead of a number"
    assert replace(fault, **below).explains("onnx-reference", replace(fault, **below).model, kind) is is_known


def test_arithmetic_of_known_faults_calls_no_other_functions():
    assert evaluate_arithmetic("-2 ** 2 + sqrt(9) / 3") == -3
    for text in ("__import__('os')", "exp(1, 2)", "'a' + 'b'", "x"):
        with pytest.raises(ValueError, match="arithmetic"):
            evaluate_arithmetic(text)


def test_type_that_onnx_infers_settles_an_output_of_another_type(script):
    model = next(fault.model for fault in known_faults() if fault.operator == "Softmax")
    result = np.ones((1, 2, 2), np.float32)
    assert script.is_inferred(model, 0, result)
    assert not script.is_inferred(model, 0, result.astype(np.float64))
    assert not script.is_inferred(model, 0, result[np.newaxis])
