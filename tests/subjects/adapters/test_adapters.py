"""Adapters of the installed runtimes: wrong inputs, order of outputs, and unsupported operators."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
from onnx import TensorProto, helper, load_model_from_string, parser
from repository import DATA

from conformance.base.plugins import registered_entry_points
from conformance.base.verdicts import Unsupported, Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.input_files import GraphInputs, required_input_names
from conformance.run.judging.backend import judge_backend
from conformance.subjects.adapters.kernel import CheckedKernel
from conformance.subjects.calling.harness import is_unsupported
from conformance.subjects.calling.subject_loading import load_backend
from generators.declarations.families import TRAINING_FAMILIES

PACKAGES = {
    "aidge": "aidge-core",
    "emx-onnx-cgen": "emx-onnx-cgen",
    "iree": "iree-base-runtime",
    "jaxonnxruntime": "jaxonnxruntime",
    "nxrt": "nxrt",
    "onnx-reference": "onnx",
    "onnx2torch": "onnx2torch",
    "onnxruntime": "onnxruntime",
    "opencv": "opencv-python-headless",
    "openvino": "openvino",
    "tinygrad": "tinygrad",
    "tract": "tract",
    "tvm": "apache-tvm",
}


def is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


INSTALLED = [name for name, package in PACKAGES.items() if is_installed(package)]

MODULES = [f"{package}.backend" for package in ("jaxonnxruntime", "onnxruntime") if is_installed(package)]
"""Modules with ONNX's interface, which need no adapter."""

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
Y = np.array([[2], [4]], np.float32)

WRONG = {
    "none": [],
    "one too few": [X],
    "one too many": [X, Y, Y],
    "another type": [X.astype(np.float64), Y],
    "another rank": [X, Y.reshape(2)],
    "another size": [X[:, :2], Y],
    "in another order": [Y, X],
}


def verdict_of(name, case):
    corpus = open_corpus(DATA)
    return judge_backend(load_backend(name).target, load_case(corpus, corpus.cases[case])).verdict


def model():
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in (("X", X), ("Y", Y))
    ]
    outputs = [
        helper.make_tensor_value_info("quotient", TensorProto.FLOAT, (2, 3)),
        helper.make_tensor_value_info("index", TensorProto.INT64, (2,)),
    ]
    nodes = [
        helper.make_node("Div", ["X", "Y"], ["quotient"]),
        helper.make_node("ArgMax", ["quotient"], ["index"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(nodes, "divided", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def prepared():
    return {name: load_backend(name).target.prepare(model()) for name in INSTALLED}


def test_packages_all_have_an_adapter():
    assert set(PACKAGES) <= set(registered_entry_points("backends"))


@pytest.mark.parametrize("name", INSTALLED)
def test_adapter_returns_outputs_in_order_with_types(prepared, name):
    quotient, index = prepared[name].run([X, Y])
    np.testing.assert_array_equal(quotient, X / Y)
    assert (quotient.dtype, index.dtype, index.tolist()) == (np.float32, np.int64, [2, 2])


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("wrong", WRONG)
def test_adapter_wrong_inputs_are_refused(prepared, name, wrong):
    with pytest.raises(Exception) as caught:
        prepared[name].run(WRONG[wrong])
    assert not is_unsupported(caught.value)


@pytest.mark.parametrize("name", INSTALLED)
def test_adapter_second_run_keeps_first_outputs(prepared, name):
    first, _ = prepared[name].run([X, Y])
    prepared[name].run([-X, Y])
    np.testing.assert_array_equal(first, X / Y)


@pytest.mark.parametrize("name", INSTALLED)
def test_adapter_unknown_operator_is_unsupported(name):
    assert verdict_of(name, "test_invalid_adam_name_unknown") is Verdict.UNSUPPORTED


@pytest.mark.parametrize("name", [name for name in INSTALLED if name == "onnxruntime"])
def test_adapter_missing_operator_in_function_is_unsupported(name):
    """ONNX Runtime's error is then about types."""
    family = TRAINING_FAMILIES["placed"]
    plain = {factor: values[0] for factor, values in family.declaration("Adam").factors.items()}
    built = family.build("Adam", "in_a_function", {**plain, "scope": "function", "consumer_X_new": "identity"})
    with pytest.raises(Exception, match="inferred types") as caught:
        load_backend(name).target.prepare(load_model_from_string(built.model))
    assert is_unsupported(caught.value)


@pytest.mark.parametrize("name", [name for name in INSTALLED if name == "onnxruntime"])
@pytest.mark.parametrize("change", ["ir_version", "opset"])
def test_adapter_version_after_the_release_is_unsupported(name, change):
    newer = model()
    if change == "ir_version":
        newer.ir_version = 99
    else:
        newer.opset_import[0].version = 99
    with pytest.raises(Exception) as caught:
        load_backend(name).target.prepare(newer)
    assert is_unsupported(caught.value)


@pytest.mark.parametrize("name", [name for name in INSTALLED if name == "nxrt"])
def test_adapter_missing_operator_in_branch_is_unsupported(name):
    """nxrt fails only when the branch runs."""
    assert verdict_of(name, "test_adagrad_placed_010_if_then_one_float_r_double") is Verdict.UNSUPPORTED


def test_onnx_reference_unimplemented_scan_is_unsupported():
    assert verdict_of("onnx-reference", "test_argmax_pass_contexts_scan_of_columns") is Verdict.UNSUPPORTED


def test_onnx_reference_operator_version_without_implementation_is_unsupported():
    text = """<ir_version: 8, opset_import: ["": 13]> g (int8[2] X) => (float[2] Y)
    { s = Constant<value_float = 1.0>() Y = DequantizeLinear(X, s) }"""
    with pytest.raises(Exception) as caught:
        load_backend("onnx-reference").target.prepare(parser.parse_model(text))
    assert is_unsupported(caught.value)


def test_onnx_reference_error_in_reading_is_error():
    assert verdict_of("onnx-reference", "test_adam_main_domain_by_name_float") is Verdict.ERROR


@pytest.mark.filterwarnings("ignore:onnx.version is deprecated")
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("case", "verdict"), [("test_argmax_ties_default", "pass"), ("test_adam", "unsupported")])
def test_module_with_onnx_interface_is_a_backend(module, case, verdict):
    assert verdict_of(module, case) == verdict


def test_required_input_names_skip_initializers():
    held = model()
    held.graph.initializer.append(helper.make_tensor("Y", TensorProto.FLOAT, (2, 1), [2.0, 4.0]))
    assert required_input_names(held.graph) == ["X"]


def test_graph_inputs_unknown_dimension_accepts_any_size():
    loose = model()
    loose.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "N"
    assert list(GraphInputs.of(loose).by_name([X[:, :2], Y])) == ["X", "Y"]


def test_is_unsupported_depends_on_class_name():
    assert is_unsupported(Unsupported("no such operator"))
    assert not is_unsupported(ValueError("is not a registered function/op"))


@pytest.mark.parametrize("message", ["Acme is not a registered function/op", "Failed to construct locale with name:x"])
def test_is_unsupported_knows_what_onnxruntime_or_this_machine_lacks(message):
    assert is_unsupported(type("Fail", (Exception,), {})(message))


def test_kernel_receives_arrays_also_for_scalars_of_numpy():
    kernel = CheckedKernel(np.array)
    for number in range(4):  # the second call has the memory of the first one
        assert kernel.call([np.uint64(number)]) == [number]
