"""`audit --outputs`: values that were recorded elsewhere are judged without a subject."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from refusals import assert_bad_input

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Values = Mapping[str, np.ndarray[Any, Any]]

X = np.array([[-1, 0.5, 2], [3, -0.25, 0]], np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with the values Y = Sqrt(b), b = Abs(a) and a = Neg(X)."""
    names = ("X", "a", "b", "Y")
    nodes = [
        helper.make_node(op_type, [names[number]], [names[number + 1]])
        for number, op_type in enumerate(("Neg", "Abs", "Sqrt"))
    ]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in ("X", "Y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", X=X)
    return tmp_path / "m.onnx"


RIGHT: Values = {"a": -X, "b": np.abs(X), "Y": np.sqrt(np.abs(X))}


def encoded(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return an array as polygraphy writes it."""
    content = io.BytesIO()
    np.save(content, array)
    plain = {"array": base64.b64encode(content.getvalue()).decode(), "polygraphy_class": "ndarray"}
    return {"values": plain, "polygraphy_class": "LazyArray"}


def write_npz(folder: Path, values: Values) -> list[Any]:
    np.savez(folder / "out.npz", **values)
    return [folder / "out.npz", "--inputs", folder / "in.npz"]


def write_folder(folder: Path, values: Values) -> list[Any]:
    """Write onnx's test data: the name of a tensor is that of its value."""
    place = folder / "data/test_data_set_0"
    place.mkdir(parents=True)
    for number, (name, array) in enumerate({"X": X, **values}.items()):
        file = f"output_{number - 1}.pb" if number else "input_0.pb"
        (place / file).write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    return [folder / "data"]


def write_polygraphy(folder: Path, values: Values) -> list[Any]:
    run = {"outputs": {name: encoded(array) for name, array in values.items()}, "runner_name": "board"}
    (folder / "out.json").write_text(json.dumps({"lst": [["board", [run]]], "polygraphy_class": "RunResults"}))
    (folder / "in.json").write_text(json.dumps([{"X": encoded(X)}]))
    return [folder / "out.json", "--inputs", folder / "in.json"]


@pytest.mark.parametrize("write", [write_npz, write_folder, write_polygraphy])
@pytest.mark.parametrize("is_right", [True, False])
def test_recorded_values_are_judged_in_each_format(
    model: Path, tmp_path: Path, command: Any, write: Any, is_right: bool
) -> None:
    values = RIGHT if is_right else {**RIGHT, "b": RIGHT["b"] * np.float32(1.5)}
    ended = command("audit", model, "--outputs", *write(tmp_path, values), "--json", tmp_path / "a.json")
    assert ended.status == (0 if is_right else 1), ended.err
    (audit,) = json.loads((tmp_path / "a.json").read_text())["audits"]
    assert [node["verdict"] for node in audit["nodes"]] == ["correct", "correct" if is_right else "wrong", "correct"]
    assert audit["subject"] == ("board" if write is write_polygraphy else "recorded")
    assert audit["ways"]["recorded elsewhere"] == 3


@pytest.mark.parametrize(("factor", "status"), [(1, 0), (1.01, 1)])
def test_nodes_around_a_value_that_is_missing_are_judged_together(
    model: Path, tmp_path: Path, command: Any, factor: float, status: int
) -> None:
    values = {"Y": RIGHT["Y"] * np.float32(factor)}
    ended = command("audit", model, "--outputs", *write_npz(tmp_path, values), "--json", tmp_path / "a.json")
    assert ended.status == status
    (audit,) = json.loads((tmp_path / "a.json").read_text())["audits"]
    assert audit["nodes"][2]["together"] == ["a", "b"]
    assert [node["covered_by"] for node in audit["nodes"]] == [2, 2, None]
    judged = audit["judged"]
    assert [judged[key] for key in ("nodes", "covered", "groups", "largest_group", "unjudged")] == [1, 2, 1, 3, {}]
    assert 0 < judged["passing"] < 1e-6
    assert judged["share"] == pytest.approx(1 / 3)


def test_intermediate_value_that_a_fused_kernel_rounds_differently_is_not_wrong(
    model: Path, tmp_path: Path, command: Any
) -> None:
    proto = onnx.load(model)
    proto.graph.node[0].op_type = "Tanh"  # whose result the kernel computes once more for the next node
    onnx.save(proto, model)
    a = np.tanh(X.astype(np.float64)).astype(np.float32)
    values = {"a": np.nextafter(a, np.float32(0)), "b": np.abs(a), "Y": np.sqrt(np.abs(a))}
    ended = command("audit", model, "--outputs", *write_npz(tmp_path, values))
    assert ended.status == 0, ended.out


@pytest.mark.parametrize(
    ("values", "words", "code"),
    [
        ({"other": X}, (), "usage.recorded-missing"),
        ({"Y": X.astype(np.float64)}, (), "usage.input-differs"),
        ({"Y": X[:1]}, (), "usage.input-differs"),
        (RIGHT, ("-b", "reference"), "usage.options-conflict"),
        (RIGHT, ("--node", "0"), "usage.options-conflict"),
    ],
)
def test_values_or_options_that_do_not_fit_are_refused(
    model: Path, tmp_path: Path, command: Any, values: Values, words: tuple[str, ...], code: str
) -> None:
    assert_bad_input(command("audit", model, "--outputs", *write_npz(tmp_path, values), *words), code)


def test_recorded_values_without_inputs_are_refused(model: Path, tmp_path: Path, command: Any) -> None:
    file = write_npz(tmp_path, RIGHT)[0]
    assert_bad_input(command("audit", model, "--outputs", file), "usage.recorded-inputs")


@pytest.mark.parametrize("content", ['{"lst": []}', '{"lst": [["a", []]]}'])
def test_file_without_a_run_is_refused(model: Path, tmp_path: Path, command: Any, content: str) -> None:
    (tmp_path / "out.json").write_text(content)
    ended = command("audit", model, "--outputs", tmp_path / "out.json", "--inputs", tmp_path / "in.npz")
    assert_bad_input(ended, "usage.recorded-missing")


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{}",
        '{"lst": 1}',
        '{"lst": [["a", [{"outputs": {"Y": {"array": "?"}}}]]]}',
        '{"lst": [["a", [{}]]]}',
        '{"lst": [["a", [{"outputs": [1]}]]]}',
        "{",
    ],
)
def test_damaged_file_of_polygraphy_is_refused(model: Path, tmp_path: Path, command: Any, content: str) -> None:
    (tmp_path / "out.json").write_text(content)
    ended = command("audit", model, "--outputs", tmp_path / "out.json", "--inputs", tmp_path / "in.npz")
    assert_bad_input(ended, "usage.input-unreadable")
