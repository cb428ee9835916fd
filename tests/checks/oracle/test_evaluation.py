"""Outputs of graphs equal those of ONNX's reference evaluator, for graphs in which it is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from checks.oracle.calls import DECLARED_TYPES, EXACT, WITHIN_8_ULP, round_tensor
from checks.oracle.evaluation import Evaluation
from checks.oracle.tensors import Tensor, bits_of, map_elements, object_array, tensor_of

if TYPE_CHECKING:
    from pathlib import Path

    from checks.oracle.calls import Mode

    Feeds = dict[str, np.ndarray]

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
SQUARE = np.array([[3, 1, 3], [-2, -2, -5]], np.float32)


def model_of(body: str, opset: int = 13, more: str = "") -> onnx.ModelProto:
    """Return the model of a text."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "own": 1]> agraph {body} {more}')


def outputs_of(model: onnx.ModelProto, feeds: Feeds, folder: Path, mode: Mode = EXACT) -> list[Tensor]:
    """Return the rounded output of the second oracle."""
    inputs = {name: tensor_of(numpy_helper.from_array(array), folder) for name, array in feeds.items()}
    return [round_tensor(output) for output in Evaluation(model, folder, mode).run(inputs)]


def as_tensor(array: np.ndarray, folder: Path) -> Tensor:
    """Return an array as a tensor of the second oracle."""
    return tensor_of(numpy_helper.from_array(np.asarray(array)), folder)


SCAN = """(float[3,2] X) => (float[2] S, float[2,3] Y) {
    Zero = Constant <value = float[2] {0, 0}> ()
    S, Y = Scan <
        num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1],
        body = step (float[2] before, float[2] x) => (float[2] after, float[2] y) {
            after = Add (before, x)
            y = Mul (after, x)
        }
    > (Zero, X)
}"""

LOOP = """(float[2] X) => (float[2] Y, float[n,2] All) {
    Count = Constant <value = int64 {4}> ()
    Y, All = Loop <
        body = step (int64 at, bool go, float[2] x) => (bool on, float[2] y, float[2] z) {
            y = Add (x, X)
            Limit = Constant <value = int64 {2}> ()
            on = Less (at, Limit)
            z = Neg (y)
        }
    > (Count, , X)
}"""

HALVED = "H = Constant <value_float = 0.5> () A = Mul (X, H)"
GRAPHS = {
    "argmax_of_ties": (SQUARE, "int64[2,1] Y", "Y = ArgMax <axis = 1> (X)"),
    "argmax_last": (SQUARE, "int64[2] Y", "Y = ArgMax <axis = -1, keepdims = 0, select_last_index = 1> (X)"),
    "argmin": (CUBE, "int64[2,4] Y", "Y = ArgMin <axis = 1, keepdims = 0> (X)"),
    "top_k": (SQUARE, "float[2,2] Y, int64[2,2] I", "K = Constant <value = int64[1] {2}> () Y, I = TopK (X, K)"),
    "hardmax": (SQUARE, "float[2,3] Y", "Y = Hardmax <axis = 0> (X)"),
    "matmul": (CUBE, "float[2,3,3] Y", "T = Transpose <perm = [0, 2, 1]> (X) Y = MatMul (X, T)"),
    "reduce_mean": (CUBE, "float[1,3,1] Y", "Y = ReduceMean <axes = [0, 2]> (X)"),
    "reduce_max": (CUBE, "float[2,4] Y", "Y = ReduceMax <axes = [-2], keepdims = 0> (X)"),
    "reduce_sum": (CUBE, "float Y", "Y = ReduceSum <keepdims = 0> (X)"),
    "relu": (SQUARE, "float[2,3] Y, float[2,3] Z", "Y = Relu (X) Z = LeakyRelu <alpha = 0.25> (X)"),
    "shrink": (SQUARE, "float[2,3] Y", "Y = Shrink <lambd = 2.5, bias = 0.5> (X)"),
    "thresholded": (SQUARE, "float[2,3] Y", "Y = ThresholdedRelu <alpha = 1.0> (X)"),
    "round": (SQUARE, "float[2,3] Y, float[2,3] Z", f"{HALVED} Y = Round (A) Z = Ceil (A)"),
    "cast": (SQUARE, "int32[2,3] Y, bool[2,3] Z", f"{HALVED} Y = Cast <to = 6> (A) Z = Cast <to = 9> (A)"),
    "flatten": (CUBE, "float[a,b] Y", "Y = Flatten <axis = 2> (X)"),
    "split": (SQUARE, "float[2,1] Y, float[2,2] Z", "S = Constant <value_ints=[1,2]> () Y, Z = Split <axis=1> (X, S)"),
    "split_opset_12": (SQUARE, "float[2,1] Y, float[2,2] Z", "Y, Z = Split <axis = 1, split = [1, 2]> (X)"),
    "squeeze_no_axis": (SQUARE[None], "float[1,2,3] Y", "N = Constant <value = int64[0] {}> () Y = Squeeze (X, N)"),
    "squeeze_opset_12": (SQUARE, "float[2,3] Y", "A = Unsqueeze <axes = [0, 3]> (X) Y = Squeeze <axes = [-1, 0]> (A)"),
    "tile": (SQUARE, "float[4,3] Y", "R = Constant <value = int64[2] {2, 1}> () Y = Tile (X, R)"),
    "gather": (CUBE, "float[2,2,4] Y", "I = Constant <value = int64[2] {-1, 0}> () Y = Gather <axis = 1> (X, I)"),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("mode", [EXACT, DECLARED_TYPES], ids=["exact", "declared"])
def test_graph_outputs_equal_reference_evaluator(name, mode, tmp_path):
    data, outputs, nodes = GRAPHS[name]
    text = f"(float[{','.join(map(str, data.shape))}] X) => ({outputs}) {{ {nodes} }}"
    model = model_of(text, opset=12 if name.endswith("opset_12") else 13)
    expected = ReferenceEvaluator(model).run(None, {"X": data})
    for actual, array in zip(outputs_of(model, {"X": data}, tmp_path, mode), expected, strict=True):
        wanted = as_tensor(array, tmp_path)
        assert (actual.type, actual.shape) == (wanted.type, wanted.shape)
        assert actual.elements.tolist() == wanted.elements.tolist()


def test_scan_supports_reverse_directions(tmp_path):
    state, scanned = outputs_of(model_of(SCAN), {"X": np.array([[1, 2], [3, 4], [5, 6]], np.float32)}, tmp_path)
    assert state.elements.tolist() == [9, 12]
    assert scanned.elements.tolist() == [[9, 24, 25], [24, 40, 36]]


def test_loop_ends_when_condition_is_false(tmp_path):
    last, scanned = outputs_of(model_of(LOOP), {"X": np.array([1, 2], np.float32)}, tmp_path)
    assert last.elements.tolist() == [4, 8]
    assert scanned.elements.tolist() == [[-2, -4], [-3, -6], [-4, -8]]


def test_softmax_below_opset_13_uses_all_later_axes(tmp_path):
    model = model_of("(float[2,2] X) => (float[2,2] Y) { Y = Softmax <axis = 0> (X) }", opset=11)
    (output,) = outputs_of(model, {"X": np.zeros((2, 2), np.float32)}, tmp_path)
    assert output.elements.tolist() == as_tensor(np.full((2, 2), 0.25, np.float32), tmp_path).elements.tolist()


def test_function_attributes_override_defaults(tmp_path):
    more = """<domain: "own", opset_import: ["": 13]> Scaled <by: float = 2.0> (x) => (y) {
        factor = Constant <value_float: float = @by> ()
        y = Mul (x, factor)
    }"""
    model = model_of(
        "(float[1] X) => (float[1] Y, float[1] Z) { Y = own.Scaled (X) Z = own.Scaled <by = 5.0> (X) }", more=more
    )
    outputs = outputs_of(model, {"X": np.array([3], np.float32)}, tmp_path)
    assert [output.scalar() for output in outputs] == [6, 15]


def test_exact_mode_does_not_round_between_nodes(tmp_path):
    model = model_of("(float[1] X, float[1] Y) => (float[1] Z) { S = Add (X, Y) Z = Sub (S, X) }")
    feeds = {"X": np.array([1e10], np.float32), "Y": np.array([1e-10], np.float32)}
    exact, declared = (outputs_of(model, feeds, tmp_path, mode)[0] for mode in (EXACT, DECLARED_TYPES))
    assert exact.elements.tolist() == as_tensor(feeds["Y"], tmp_path).elements.tolist()
    assert declared.elements.tolist() == [0.0]


def test_undecided_condition_is_unsupported(tmp_path):
    text = """(float[1] X, float[1] Y) => (float[1] Z) {
        E = Exp (X)
        F = Exp (Y)
        C = Less (E, F)
        Z = If <
            then_branch = t () => (float[1] a) { a = Identity (X) },
            else_branch = e () => (float[1] b) { b = Identity (Y) }
        > (C)
    }"""
    one = np.array([1], np.float32)
    with pytest.raises(NotImplementedError, match="condition"):
        outputs_of(model_of(text), {"X": one, "Y": one}, tmp_path, WITHIN_8_ULP)


class TestTensorSources:
    def test_sparse_initializer_is_zero_elsewhere(self, tmp_path):
        values = helper.make_tensor("W", TensorProto.FLOAT, [2], [5, 7])
        indices = helper.make_tensor("at", TensorProto.INT64, [2], [1, 3])
        model = model_of("(float[2,2] X) => (float[2,2] Y) { Y = Add (X, W) }")
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 2]))
        (output,) = outputs_of(model, {"X": np.zeros((2, 2), np.float32)}, tmp_path)
        assert output.elements.tolist() == [[0, 5], [0, 7]]

    def test_external_data_are_in_the_case_s_folder(self, tmp_path):
        tensor = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "weights", "offset": "4", "length": "8"}.items():
            tensor.external_data.add(key=key, value=value)
        (tmp_path / "weights").write_bytes(np.array([9, 1, 2, 9], np.float32).tobytes())
        assert tensor_of(tensor, tmp_path).elements.tolist() == [1, 2]

    def test_external_data_outside_of_the_case_s_folder_are_not_read(self, tmp_path):
        tensor = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="../weights")
        with pytest.raises(ValueError, match="outside"):
            tensor_of(tensor, tmp_path)

    @pytest.mark.parametrize("type_", [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16])
    def test_typed_fields_hold_the_same_bits_as_raw_data(self, type_, tmp_path):
        typed = helper.make_tensor("W", type_, [3], [0, 1, 1])
        raw = helper.make_tensor("W", type_, [3], numpy_helper.to_array(typed).tobytes(), raw=True)
        assert bits_of(typed, tmp_path) == bits_of(raw, tmp_path)


def test_repeated_elements_are_computed_once():
    asked = []
    tiled = np.tile(object_array([1, 2], (2,)), 3)
    assert map_elements(lambda item: asked.append(item) or item + 1, tiled).tolist() == [2, 3, 2, 3, 2, 3]
    assert asked == [1, 2]
