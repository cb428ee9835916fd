"""`blame` on two models: inputs, outputs and cut points are matched, and both models are reduced together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from refusals import assert_bad_input

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OPERATORS = ("Tanh", "Relu", "Sin", "Abs", "Exp")
BACKEND = ("-b", "fake_subject:correct", "--no-isolation")


def write(
    path: Path,
    operators: Sequence[str] = OPERATORS,
    names: Sequence[str] = "abcd",
    ends: tuple[Sequence[str], Sequence[str]] = (["X"], ["Y"]),
) -> Path:
    """Write a chain of operators in which each value is multiplied by one weight, and return its path."""
    inputs, outputs = ends
    values = [inputs[0], *names, outputs[0]]
    nodes = []
    for number, op_type in enumerate(operators):
        nodes.append(helper.make_node("Mul", [values[number], "W"], [f"{values[number + 1]}_scaled"]))
        nodes.append(helper.make_node(op_type, [f"{values[number + 1]}_scaled"], [values[number + 1]]))
    nodes += [helper.make_node("Neg", [values[1]], [name]) for name in outputs[1:]]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in inputs],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in outputs],
        [numpy_helper.from_array(np.array([0.5, -1.25, 2], np.float32), "W")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def blame(command: Any, folder: Path, first: Path, second: Path) -> tuple[int, dict[str, Any]]:
    """Return the exit status and the steps."""
    ended = command("blame", first, second, *BACKEND, "--json", folder / "blame.json")
    steps: dict[str, Any] = json.loads((folder / "blame.json").read_text())["steps"]
    return ended.status, steps


CHANGED = ("Tanh", "Relu", "Sin", "Neg", "Exp")
SHIFTED = ("b", "c", "d", "e")


@pytest.mark.parametrize(
    ("names", "ends"),
    [("abcd", (["X"], ["Y"])), ("efgh", (["X"], ["Y"])), (SHIFTED, (["P"], ["Q"])), ("dcba", (["X"], ["Z"]))],
    ids=["same names", "other names", "shifted names and other ends", "reversed names"],
)
def test_changed_operator_is_the_only_node_of_both_models(
    tmp_path: Path, command: Any, names: Sequence[str], ends: tuple[Sequence[str], Sequence[str]]
) -> None:
    first = write(tmp_path / "first.onnx")
    second = write(tmp_path / "second.onnx", CHANGED, names, ends)
    status, steps = blame(command, tmp_path, first, second)
    assert status == 1
    assert steps["verdict"]["outcome"] == "the models compute different functions"
    assert [node["operator"] for node in steps["reduction"]["nodes"]] == ["Abs"]
    assert [node["operator"] for node in steps["reduction"]["second_nodes"]] == ["Neg"]


def test_weights_that_stay_in_files_of_two_folders_are_those_of_each_model(
    tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both files have the same name, as has a file of the current folder."""
    monkeypatch.setattr("conformance.own.graphs.reading.MAX_LOADED_BYTES", 8)
    monkeypatch.setattr("conformance.own.graphs.reading.MIN_MAPPED_BYTES", 1)
    paths = []
    for name, weight in (("one", [0.5, -1.25, 2]), ("two", [0.5, -1.5, 2])):
        (tmp_path / name).mkdir()
        paths.append(write(tmp_path / name / "m.onnx"))
        model = onnx.load(paths[-1])
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(weight, np.float32), "W"))
        options = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 0}
        onnx.save(model, paths[-1], **options)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.bin").write_bytes(bytes(12))
    status, steps = blame(command, tmp_path, *paths)
    assert status == 1
    assert steps["verdict"]["outcome"] == "the models compute different functions"
    assert len(steps["reduction"]["nodes"]) == 1
    assert blame(command, tmp_path, paths[0], paths[0])[0] == 0


def test_graph_optimizer_gets_weights_that_stay_in_files(
    tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.own.graphs.reading.MAX_LOADED_BYTES", 8)
    monkeypatch.setattr("conformance.own.graphs.reading.MIN_MAPPED_BYTES", 1)
    path = write(tmp_path / "m.onnx", ("Tanh",), "")
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    options = ("-o", "fake_subject:doubles_weights", *BACKEND)
    ended = command("blame", path, *options, "--json", tmp_path / "blame.json")
    assert ended.status == 1, ended
    verdict = json.loads((tmp_path / "blame.json").read_text())["steps"]["verdict"]
    assert verdict["outcome"] == "the graph optimizer is wrong"
    monkeypatch.setattr("conformance.own.blame.model_comparison.MAX_REWRITTEN_BYTES", 8)
    assert_bad_input(command("blame", path, *options), "model.too-large")


def test_models_of_other_names_without_difference_pass(tmp_path: Path, command: Any) -> None:
    first = write(tmp_path / "first.onnx")
    status, steps = blame(command, tmp_path, first, write(tmp_path / "second.onnx", names="efgh"))
    assert status == 0
    assert steps["verdict"]["outcome"] == "no difference"


def test_difference_by_a_fault_of_the_backend_is_no_difference_of_functions(tmp_path: Path, command: Any) -> None:
    first = write(tmp_path / "first.onnx", ("Tanh", "Relu"), "a")
    second = write(tmp_path / "second.onnx", ("Tanh", "Abs"), "a")  # equal to Relu on values that are not negative
    np.savez(tmp_path / "inputs.npz", X=np.array([[1, 1, 1], [2, 2, 2]], np.float32))
    options = ("-b", "fake_subject:wrong_abs", "--no-isolation", "--inputs", tmp_path / "inputs.npz")
    ended = command("blame", first, second, *options, "--json", tmp_path / "blame.json")
    assert ended.status == 1
    verdict = json.loads((tmp_path / "blame.json").read_text())["steps"]["verdict"]
    assert verdict["outcome"] == "the second is wrong"


def test_output_without_counterpart_is_named_and_not_compared(tmp_path: Path, command: Any) -> None:
    first = write(tmp_path / "first.onnx")
    second = write(tmp_path / "second.onnx", ends=(["X"], ["Y", "more"]))
    ended = command("blame", first, second, *BACKEND)
    assert ended.status == 0, ended.err
    assert "more" in ended.out


@pytest.mark.parametrize(
    ("ends", "words", "code"),
    [
        ((["X", "more"], ["Y"]), (), "usage.models-differ"),
        ((["X"], ["one", "two"]), (), "usage.models-differ"),
        ((["X"], ["Y"]), ("-b", "reference"), "usage.subject-count"),
        ((["X"], ["Y"]), ("-o", "fake_subject:leaves_it"), "usage.subject-count"),
        ((["X"], ["Y"]), ("--releases", "1..2"), "usage.options-conflict"),
    ],
)
def test_models_or_options_that_do_not_fit_are_refused(
    tmp_path: Path, command: Any, ends: tuple[Sequence[str], Sequence[str]], words: tuple[str, ...], code: str
) -> None:
    first = write(tmp_path / "first.onnx")
    second = write(tmp_path / "second.onnx", ends=ends)
    assert_bad_input(command("blame", first, second, *BACKEND, *words), code)


def write_graph(
    path: Path, nodes: Sequence[tuple[str, str, str]], weights: dict[str, Any], shape: Sequence[int]
) -> Path:
    """Write nodes as (operator, operands, output) from X to Y, and return the path."""
    made = [helper.make_node(op_type, operands.split(), [output]) for op_type, operands, output in nodes]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in "XY"]
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(made, "g", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def write_folded_normalization(folder: Path, epsilon: float) -> tuple[Path, Path]:
    """Write a Conv with a BatchNormalization, and a Conv with both, whose output has the name of the first Conv."""
    rng = np.random.default_rng(7)
    w, mean, bias = rng.normal(size=(3, 3, 1, 1)), rng.normal(size=3), rng.normal(size=3)
    variance, scale = rng.uniform(0.01, 0.1, 3), rng.normal(size=3)
    after = [("Sin", "b", "c"), ("Tanh", "c", "Y")]
    norm = {"s": scale, "t": bias, "m": mean, "v": variance}
    nodes = [("Conv", "X w", "a"), ("BatchNormalization", "a s t m v", "b"), *after]
    first = write_graph(folder / "first.onnx", nodes, {"w": w, **norm}, [2, 3, 5, 5])
    factor = scale / np.sqrt(variance + epsilon)
    weights = {"w": w * factor[:, None, None, None], "t": bias - mean * factor}
    folded = [("Conv", "X w t", "a"), ("Sin", "a", "c"), ("Tanh", "c", "Y")]
    return first, write_graph(folder / "second.onnx", folded, weights, [2, 3, 5, 5])


def write_folded_scale(folder: Path, scale: float) -> tuple[Path, Path]:
    """Write a Mul after two MatMul, and two MatMul with the factor in the first weight, under the same names."""
    rng = np.random.default_rng(8)
    w, k = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    after = [("Sin", "d", "e"), ("Softmax", "e", "Y")]
    nodes = [("MatMul", "X w", "a"), ("Transpose", "a", "b"), ("MatMul", "b k", "c"), ("Mul", "c s", "d"), *after]
    factor = np.array(1 / np.sqrt(8))
    first = write_graph(folder / "first.onnx", nodes, {"w": w, "k": k, "s": factor}, [4, 4])
    nodes = [("MatMul", "X w", "a"), ("Transpose", "a", "b"), ("MatMul", "b k", "c"), ("Sin", "c", "e"), after[1]]
    return first, write_graph(folder / "second.onnx", nodes, {"w": w.astype(np.float32) * scale, "k": k}, [4, 4])


def rename_values(path: Path) -> Path:
    """Give the intermediate values of a model other names, as an exporter does, and return the path."""
    model = onnx.load(path)
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [f"/{name}_0" if name in "abcde" else name for name in names]
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("has_other_names", [False, True])
@pytest.mark.parametrize(
    ("write_models", "right", "wrong", "changed"),
    [
        (write_folded_normalization, 1e-5, 0.0, {"Conv", "BatchNormalization"}),
        (write_folded_scale, 8**-0.5, 4**-0.5, {"MatMul", "Transpose", "Mul"}),
    ],
)
def test_models_are_cut_at_equal_values_whatever_their_names(
    write_models: Any,
    right: float,
    wrong: float,
    changed: set[str],
    has_other_names: bool,
    tmp_path: Path,
    command: Any,
) -> None:
    def blame_folded(parameter: float) -> tuple[int, dict[str, Any]]:
        first, second = write_models(tmp_path, parameter)
        return blame(command, tmp_path, first, rename_values(second) if has_other_names else second)

    status, steps = blame_folded(right)
    assert steps["difference"]["outputs"]
    assert (status, steps["verdict"]["outcome"]) == (0, "both are admissible")
    status, steps = blame_folded(wrong)
    assert (status, steps["verdict"]["outcome"]) == (1, "the models compute different functions")
    assert {node["operator"] for node in steps["reduction"]["nodes"]} == changed


def test_attribute_and_constant_in_which_the_nodes_differ_are_named(tmp_path: Path, command: Any) -> None:
    paths = []
    for number, (alpha, weight) in enumerate([(0.5, 1.0), (0.25, 3.0)]):
        path = write_graph(
            tmp_path / f"{number}.onnx", [("LeakyRelu", "X", "a"), ("Mul", "a w", "Y")], {"w": np.array(weight)}, [3]
        )
        model = onnx.load(path)
        model.graph.node[0].attribute.append(helper.make_attribute("alpha", alpha))
        onnx.save(model, path)
        paths.append(path)
    _, steps = blame(command, tmp_path, *paths)
    found = [("alpha", "0.5 in A, 0.25 in B"), ("w", "1.0 in A, 3.0 in B")]
    changes = steps["reduction"]["changes"]
    assert changes
    assert all(any(name in change and text in change for name, text in found) for change in changes)


def test_steps_that_lose_accuracy_are_ordered_by_their_own_error(tmp_path: Path, command: Any) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[3,4] X) => (float[3,4] Y) <float a = {%s}, float b = {%s}>'
    )
    nodes = "{ c = Mul(X, a) d = Tanh(c) e = Mul(d, b) f = Sin(e) Y = Exp(f) }"
    paths = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    for path, factors in zip(paths, (("1.0", "1.0"), ("1.01", "1.1")), strict=True):
        onnx.save(onnx.parser.parse_model(f"{text % factors} {nodes}"), path)
    _, steps = blame(command, tmp_path, *paths)
    losses = steps["reduction"]["losses"]
    assert [each["node"]["name"] for each in losses] == ["e", "c"]
    np.testing.assert_allclose([each["own"] for each in losses], [0.1, 0.01], rtol=1e-3)
    assert losses[0]["since_inputs"] > losses[0]["own"]
    assert losses[1]["since_inputs"] == losses[1]["own"]


@pytest.mark.parametrize(
    ("node", "named"), [("Flatten(c)", "q"), ("Softmax(c)", "q"), ("Relu(c)", "q"), ("MatMul(c, W)", "e")]
)
def test_error_of_a_step_belongs_to_the_node_that_rounds(tmp_path: Path, command: Any, node: str, named: str) -> None:
    head = '<ir_version: 10, opset_import: ["" : 21]> g (float[3,4] X) => (float[3,4] Y)'
    head += " <float s = {0.0625}, int8 z = {0}, float[4, 4] W = {1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0}>"
    rounded = node.replace("(c", "(d")
    paths = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    texts = f"e = {node}", f"q = QuantizeLinear(c, s, z) d = DequantizeLinear(q, s, z) e = {rounded}"
    for path, step in zip(paths, texts, strict=True):
        onnx.save(onnx.parser.parse_model(f"{head} {{ c = Sin(X) {step} Y = Exp(e) }}"), path)
    _, steps = blame(command, tmp_path, *paths)
    assert [each["node"]["name"] for each in steps["reduction"]["losses"]] == [named]


@pytest.mark.parametrize("element_type", [-1, 99])
def test_output_of_an_unknown_type_is_refused(tmp_path: Path, command: Any, element_type: int) -> None:
    first = write(tmp_path / "first.onnx")
    model = onnx.load(first)
    model.graph.output[0].type.tensor_type.elem_type = element_type
    (tmp_path / "second.onnx").write_bytes(model.SerializeToString())
    for pair in ((first, tmp_path / "second.onnx"), (tmp_path / "second.onnx", first)):
        ended = command("blame", *pair, "-b", "reference", "--no-isolation")
        assert_bad_input(ended, "model.invalid")


def test_float16_model_gets_the_inputs_of_the_float_model_rounded(tmp_path: Path, command: Any) -> None:
    first = write(tmp_path / "first.onnx")
    model = onnx.load(first)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    weights = numpy_helper.to_array(model.graph.initializer[0]).astype(np.float16)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "W"))
    onnx.save(model, tmp_path / "second.onnx")
    for pair in ((first, tmp_path / "second.onnx"), (tmp_path / "second.onnx", first)):
        status, steps = blame(command, tmp_path, *pair)
        assert not any(steps["difference"]["failures"])
        assert (status, steps["verdict"]["outcome"]) == (0, "both are admissible")
