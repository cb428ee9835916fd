"""The names of ONNX Runtime's graph optimizations, on the installed release."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Sequence

onnxruntime: Any = pytest.importorskip("onnxruntime")

NAMES = tuple(
    tomllib.loads(resources.files("conformance.own.blame").joinpath("onnxruntime_optimizers.toml").read_text("utf-8"))[
        "names"
    ]
)

RULE_BASED = {"Level1_RuleBasedTransformer", "Level2_RuleBasedTransformer"}
"""Graph transformers that run many rules. The list has the rules instead."""


def model_of(*nodes: onnx.NodeProto, **weights: Any) -> bytes:
    """Return a model of some nodes from X to Y, and of weights by name."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    X, Y = (onnx.ValueInfoProto(name=name) for name in "XY")
    rank = 2 if nodes[0].op_type == "MatMul" else 4
    X.CopyFrom(helper.make_tensor_value_info("X", TensorProto.FLOAT, [4] * rank))
    Y.CopyFrom(helper.make_tensor_value_info("Y", TensorProto.FLOAT, None))
    graph = helper.make_graph(list(nodes), "g", [X], [Y], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    return bytes(model.SerializeToString())


def optimized_operators(model: bytes, disabled: Sequence[str], folder: Path) -> list[str]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"], disabled_optimizers=list(disabled))
    return [node.op_type for node in onnx.load(folder / "optimized.onnx").graph.node]


def matmul_and_batch_normalization() -> bytes:
    ones = {name: np.ones(4, np.float32) for name in ("scale", "bias", "mean", "var")}
    nodes = [helper.make_node("MatMul", ["X", "W"], ["A"]), helper.make_node("BatchNormalization", ["A", *ones], ["Y"])]
    return model_of(*nodes, W=np.eye(4, dtype=np.float32), **ones)


def pad_and_conv() -> bytes:
    nodes = [helper.make_node("Pad", ["X", "pads"], ["A"]), helper.make_node("Conv", ["A", "W"], ["Y"])]
    return model_of(*nodes, pads=np.array([0, 0, 1, 1, 0, 0, 1, 1]), W=np.ones((2, 4, 3, 3), np.float32))


@pytest.mark.parametrize(
    ("model", "name", "kept"),
    [
        (matmul_and_batch_normalization(), "MatMul_BatchNormalization_Fusion", "BatchNormalization"),
        (pad_and_conv(), "Pad_Fusion", "Pad"),
    ],
)
def test_disabled_rule_keeps_its_nodes(model: bytes, name: str, kept: str, tmp_path: Path) -> None:
    assert name in NAMES
    others = [each for each in NAMES if each != name]
    assert kept not in optimized_operators(model, others, tmp_path)
    assert kept in optimized_operators(model, [name], tmp_path)


def test_every_name_is_a_text_of_the_binary_or_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    logged = logged_transformers(capfd)
    (library,) = Path(onnxruntime.__file__).parent.glob("capi/onnxruntime_pybind11_state*")
    content = library.read_bytes()
    assert [name for name in NAMES if name not in logged and name.encode() + b"\0" not in content] == []


def test_every_transformer_of_the_log_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    logged = logged_transformers(capfd)
    assert len(logged) > 40
    assert logged - RULE_BASED - set(NAMES) == set()


def logged_transformers(capfd: pytest.CaptureFixture[str]) -> set[str]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 0
    onnxruntime.InferenceSession(matmul_and_batch_normalization(), options, ["CPUExecutionProvider"])
    return set(re.findall(r"GraphTransformer (\w+) modified", capfd.readouterr().err))
