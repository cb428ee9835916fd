"""`reproduce.py` accepts and rejects the same outputs as the suite, for every kind of output."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conformance.corpus.cases.case_loading import ExpectedTensor
from conformance.run.diagnosis.reproduction import backend_script, optimizer_script
from conformance.run.judging.compare import acceptable_elements

NAN, INF = float("nan"), float("inf")
QUIET_NAN, OTHER_NAN = np.array([0x7FC00000, 0xFFC12345], np.uint32).view(np.float32)
BFLOAT16 = ml_dtypes.bfloat16


def outputs(expected, actual, dtype, bound=None, accepted=None):
    bound = None if bound is None else np.array(bound, np.float64)
    accepted = None if accepted is None else np.array(accepted, np.bool_)
    return np.array(actual, dtype), np.array(expected, dtype), bound, accepted


ACCEPTABLE = {
    "float_equal": outputs([1.5, -2.0], [1.5, -2.0], np.float32),
    "float_nan": outputs([NAN, 1.0], [NAN, 1.0], np.float32),
    "float_nan_of_other_bits": (np.array([OTHER_NAN]), np.array([QUIET_NAN]), None, None),
    "float_infinities": outputs([INF, -INF], [INF, -INF], np.float32),
    "float_signed_zeros": outputs([0.0, -0.0], [0.0, -0.0], np.float32),
    "float_0d": outputs(NAN, NAN, np.float64),
    "float_empty": outputs([], [], np.float32),
    "float_within_bound": outputs([1.0, 2.0], [1.25, 1.75], np.float32, bound=[0.25, 0.25]),
    "float_infinite_bound": outputs([1.0], [NAN], np.float32, bound=[INF]),
    "float_bound_nan_and_infinity": outputs([NAN, INF], [NAN, INF], np.float64, bound=[0.0, 0.0]),
    "float_bound_signed_zero": outputs([0.0], [-0.0], np.float32, bound=[0.0]),
    "half_nan": outputs([NAN, 2.0], [NAN, 2.0], np.float16),
    "bfloat16_nan": outputs([NAN, 2.0], [NAN, 2.0], BFLOAT16),
    "integers": outputs([1, -(2**63)], [1, -(2**63)], np.int64),
    "unsigned": outputs([2**64 - 1], [2**64 - 1], np.uint64),
    "booleans": outputs([True, False], [True, False], np.bool_),
    "index_among_accepted": outputs([0, 2], [1, 2], np.int64, accepted=[[1, 1, 0], [0, 0, 1]]),
    "index_0d": outputs(0, 1, np.int64, accepted=[1, 1]),
}

WRONG = {
    "float_value": outputs([1.5], [1.25], np.float32),
    "float_number_for_nan": outputs([NAN], [1.0], np.float32),
    "float_nan_for_number": outputs([1.0], [NAN], np.float32),
    "float_infinity_sign": outputs([INF], [-INF], np.float32),
    "float_zero_sign": outputs([0.0], [-0.0], np.float32),
    "float_0d": outputs(1.0, 2.0, np.float32),
    "float_beyond_bound": outputs([1.0], [1.5], np.float32, bound=[0.25]),
    "float_bound_number_for_nan": outputs([NAN], [1.0], np.float32, bound=[0.5]),
    "float_bound_nan_for_number": outputs([1.0], [NAN], np.float32, bound=[0.5]),
    "float_bound_infinity": outputs([1.0], [INF], np.float32, bound=[0.5]),
    "half_value": outputs([NAN, 2.0], [NAN, 1.0], np.float16),
    "half_zero_sign": outputs([-0.0], [0.0], np.float16),
    "bfloat16_value": outputs([NAN, 2.0], [NAN, 1.0], BFLOAT16),
    "bfloat16_zero_sign": outputs([0.0], [-0.0], BFLOAT16),
    "integers": outputs([1, 2], [1, 3], np.int64),
    "booleans": outputs([True, False], [True, True], np.bool_),
    "index_not_accepted": outputs([0], [2], np.int64, accepted=[[1, 1, 0]]),
    "index_negative": outputs([0], [-1], np.int64, accepted=[[1, 1, 0]]),
    "index_out_of_range": outputs([0], [3], np.int64, accepted=[[1, 1, 1]]),
}

MISFITS = {
    "type": (np.zeros(2, np.float64), np.zeros(2, np.float32)),
    "bfloat16_as_float": (np.zeros(2, np.float32), np.zeros(2, BFLOAT16)),
    "index_type": (np.zeros(2, np.int32), np.zeros(2, np.int64)),
    "shape": (np.zeros((2, 1), np.float32), np.zeros(2, np.float32)),
    "broadcastable_shape": (np.float32(0), np.zeros(2, np.float32)),
    "sequence": ([np.zeros(2, np.float32)], np.zeros(2, np.float32)),
    "none": (None, np.zeros(2, np.float32)),
    "python_number": (0.0, np.zeros((), np.float32)),
}


def is_wrong(case):
    return backend_script.print_differences("Y", *case)


def suite_accepts(case):
    actual, expected, bound, accepted = case
    return bool(acceptable_elements(ExpectedTensor("Y", expected, bound, accepted), actual).all())


@pytest.mark.parametrize("case", ACCEPTABLE.values(), ids=ACCEPTABLE)
def test_print_differences_of_acceptable_output_prints_nothing(case, capsys):
    assert suite_accepts(case)
    assert not is_wrong(case)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_print_differences_of_wrong_output_prints_the_element(case, capsys):
    assert not suite_accepts(case)
    assert is_wrong(case)
    assert capsys.readouterr().out.startswith("Y[")


@pytest.mark.parametrize(("actual", "expected"), MISFITS.values(), ids=MISFITS)
def test_print_differences_of_wrong_type_or_shape_prints_both(actual, expected, capsys):
    assert is_wrong((actual, expected, None, None))
    assert capsys.readouterr().out.startswith("Y: got ")


def test_print_differences_of_many_elements_prints_eight(capsys):
    assert is_wrong(outputs(range(20), range(1, 21), np.int64))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert lines[-1].startswith("Y: 12 ")


def test_print_differences_prints_accepted_indices_and_bounds(capsys):
    is_wrong(outputs([0], [2], np.int64, accepted=[[1, 1, 0]]))
    is_wrong(outputs([1.0], [1.5], np.float32, bound=[0.25]))
    indices, bound = capsys.readouterr().out.splitlines()
    assert indices.endswith("one of [0, 1]")
    assert bound.endswith("within 0.25")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A reproduction folder of a model with one float and one bool output, and a replaceable subject."""
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [2])]
    results = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2]), helper.make_tensor_value_info("Z", 9, [2])]
    nodes = [helper.make_node("Sqrt", ["X"], ["Y"]), helper.make_node("IsNaN", ["Y"], ["Z"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, results), opset_imports=[helper.make_opsetid("", 13)]
    )
    onnx.save(model, tmp_path / "model.onnx")
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    arrays = {"input_0": np.array([-1, 4], np.float32), "output_0": np.array([NAN, 2], np.float32)}
    for name, array in (arrays | {"output_1": np.array([True, False])}).items():
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for script in (backend_script, optimizer_script):
        monkeypatch.setattr(script, "HERE", tmp_path)
    monkeypatch.setitem(sys.modules, "subject", ModuleType("subject"))
    return tmp_path


def run_backend(run, monkeypatch):
    monkeypatch.setattr(sys.modules["subject"], "prepare", lambda _: run, raising=False)
    return backend_script.main()


def test_backend_script_with_expected_nan_succeeds(folder, monkeypatch):
    assert run_backend(lambda _: [np.array([NAN, 2], np.float32), np.array([True, False])], monkeypatch) == 0


@pytest.mark.parametrize(
    "run",
    [
        lambda _: [np.array([1, 2], np.float32), np.array([True, False])],
        lambda _: [np.array([NAN, 2], np.float32), np.array([True, True])],
        lambda _: [np.array([NAN, 2], np.float32)],
        lambda inputs: [np.sqrt(inputs[0], out=inputs[0], where=inputs[0] > 0), np.array([True, False])],
        lambda _: 1 / 0,
    ],
    ids=["float", "bool", "number", "changed_input", "error"],
)
def test_backend_script_with_wrong_outputs_fails(folder, monkeypatch, run):
    assert run_backend(run, monkeypatch) == 1


@pytest.mark.parametrize(("run", "status"), [(lambda _: [], 1), (lambda _: 1 / 0, 0)], ids=["accepted", "rejected"])
def test_backend_script_of_an_invalid_model_expects_an_error(folder, monkeypatch, run, status):
    for file in (folder / "test_data_set_0").glob("output_*.pb"):
        file.unlink()
    assert run_backend(run, monkeypatch) == status


def replace_operator(op_type):
    def optimize(model):
        copy = onnx.ModelProto.FromString(model.SerializeToString())
        copy.graph.node[0].op_type = op_type
        return copy

    return optimize


@pytest.mark.parametrize(("optimize", "status"), [(lambda model: model, 0), (replace_operator("Abs"), 1)])
def test_optimizer_script_compares_outputs_with_nan(folder, monkeypatch, capsys, optimize, status):
    monkeypatch.setattr(sys.modules["subject"], "optimize", optimize, raising=False)
    assert optimizer_script.main() == status
    assert ("Y: got [1.0, 4.0]" in capsys.readouterr().out) == bool(status)


def test_optimizer_script_prints_removed_nodes(folder, monkeypatch, capsys):
    (folder / "rewrite.json").write_text(json.dumps(["Y"]))
    monkeypatch.setattr(sys.modules["subject"], "optimize", lambda model: model, raising=False)
    assert optimizer_script.main() == 1
    assert "got [], expected ['Y']" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("actual", "expected", "are_equal"),
    [
        (np.array([NAN, 1], np.float32), np.array([NAN, 1], np.float32), True),
        (np.array([NAN, 1], BFLOAT16), np.array([NAN, 1], BFLOAT16), True),
        (np.array([0.0], np.float32), np.array([NAN], np.float32), False),
        (np.array([1], np.int64), np.array([1], np.int32), False),
        (np.array([[1]], np.int64), np.array([1], np.int64), False),
        (np.array([True]), np.array([True]), True),
        (np.array(["a"], object), np.array(["b"], object), False),
    ],
)
def test_are_equal_compares_type_shape_and_elements(actual, expected, are_equal):
    assert optimizer_script.are_equal(actual, expected) is are_equal
