"""Audits of whole models: training, a transformer, an LSTM in a branch, a classifier and a tree ensemble."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from computing_backend import Computes, evaluate
from onnx import TensorProto, helper, numpy_helper
from onnx.reference.ops.aionnx_preview_training.op_adagrad import Adagrad
from onnx.reference.ops.aionnx_preview_training.op_adam import Adam
from onnx.reference.ops.aionnx_preview_training.op_momentum import Momentum

from conformance.own.audit.audit_session import SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import make_inputs, parse_shapes
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TRAINING = "ai.onnx.preview.training"


def in_float(operator: Any) -> Any:
    """Return an operator of onnx's evaluator, with outputs of the type that the specification requires."""

    def run(self: Any, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        return tuple(np.asarray(output, np.float32) for output in operator._run(self, *inputs, **attributes))

    return type(operator.__name__, (operator,), {"_run": run, "op_domain": TRAINING})


OPTIMIZERS = [in_float(operator) for operator in (Adam, Momentum, Adagrad)]


def with_faults(faults: Mapping[str, float] | None = None) -> Computes:
    """Return onnx's evaluator, which adds a number to one element of some values."""

    def compute(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
        values = [np.array(value) for value in evaluate(model, inputs, new_ops=OPTIMIZERS)]
        for output, value in zip(model.graph.output, values, strict=True):
            if output.name in (faults or {}):
                value.reshape(-1)[-1] += value.dtype.type((faults or {})[output.name])
        return values

    return Computes(compute)


class ModelMaker:
    """Collects the nodes and weights of a model."""

    def __init__(self, *opsets: tuple[str, int]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.output_types: dict[str, onnx.ValueInfoProto] = {}
        self.opsets = [helper.make_opsetid(*opset) for opset in opsets or (("", 20),)]
        self.random = np.random.default_rng(0)

    def weight(self, name: str, *shape: int, value: Any = None) -> str:
        array = (self.random.standard_normal(shape) * 0.3).astype(np.float32) if value is None else value
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op_type: str, inputs: Sequence[str], *outputs: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def read(self, path: Path, inputs: Mapping[str, Sequence[Any]], *outputs: str) -> LoadedModel:
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        graph = helper.make_graph(
            self.nodes,
            "g",
            values,
            [self.output_types.get(n, onnx.ValueInfoProto(name=n)) for n in outputs],
            self.weights,
        )
        model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=self.opsets, ir_version=9))
        onnx.save(model, path)
        return LoadedModel.read(path)


def audit(model: LoadedModel, faults: Mapping[str, float] | None = None, *shapes: str) -> SubjectAudit:
    data_set = make_inputs(model.original.graph, parse_shapes(shapes), 3)
    return audit_subject(model, Subject("evaluator", "1", with_faults(faults)), data_set)


@pytest.mark.long
def test_training_over_20_steps_is_judged(tmp_path: Path) -> None:
    maker = ModelMaker(("", 20), (TRAINING, 1))
    maker.weight("rate", value=np.float32(0.1))
    W1, W2, W3 = (maker.weight(name, *shape) for name, shape in (("W1", (3, 4)), ("W2", (4, 4)), ("W3", (4, 2))))
    state = {name: maker.weight(name, *shape) for name, shape in (("V", (3, 4)), ("M", (4, 4)), ("S", (4, 2)))}
    state["H"] = maker.weight("H", 3, 4, value=np.full((3, 4), 0.1, np.float32))
    state["S"] = maker.weight("S0", 4, 2, value=np.full((4, 2), 0.1, np.float32))
    for step in range(20):
        T = maker.weight(f"T{step}", value=np.int64(step))
        hidden = maker.add("Tanh", [maker.add("MatMul", ["X", W1], f"{step}/a")], f"{step}/h")
        second = maker.add("MatMul", [hidden, W2], f"{step}/b")
        error = maker.add("Sub", [maker.add("MatMul", [second, W3], f"{step}/y"), "Y"], f"{step}/error")
        G3 = maker.add("Gemm", [second, error], f"{step}/G3", transA=1)
        back = maker.add("Gemm", [error, W3], f"{step}/back", transB=1)
        G2 = maker.add("Gemm", [hidden, back], f"{step}/G2", transA=1)
        G1 = maker.add("Gemm", ["X", back], f"{step}/G1", transA=1)
        new = [f"{step}/{name}" for name in ("W1", "V", "H", "W2", "M", "W3", "S")]
        maker.add("Adam", ["rate", T, W1, G1, state["V"], state["H"]], *new[:3], domain=TRAINING)
        momentum = {"alpha": 0.9, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.001}
        maker.add("Momentum", ["rate", T, W2, G2, state["M"]], *new[3:5], domain=TRAINING, **momentum)
        maker.add("Adagrad", ["rate", T, W3, G3, state["S"]], *new[5:], domain=TRAINING)
        W1, state["V"], state["H"], W2, state["M"], W3, state["S"] = new
    model = maker.read(tmp_path / "train.onnx", {"X": [5, 3], "Y": [5, 2]}, W1, W2, W3)
    result = audit(model, {"13/V": 0.01})
    optimizers = [node for node in result.nodes if node.domain == TRAINING]
    assert Counter(node.op_type for node in optimizers) == {"Adam": 20, "Momentum": 20, "Adagrad": 20}
    wrong = {node.name: node for node in result.nodes if node.verdict is not NodeVerdict.CORRECT}
    assert list(wrong) == ["13/W1", "14/W1"]  # the step after it did not take the value that was exposed
    assert wrong["13/W1"].worst is not None
    assert (wrong["13/W1"].worst.output, wrong["13/W1"].worst.index) == ("13/V", (2, 3))


def test_transformer_is_judged_and_a_wrong_softmax_is_found(tmp_path: Path) -> None:
    maker, x, d = ModelMaker(), "X", 8
    for layer in range(2):
        q, k, v = (maker.add("MatMul", [x, maker.weight(f"{layer}/w{n}", d, d)], f"{layer}/{n}") for n in "qkv")
        scores = maker.add("MatMul", [q, maker.add("Transpose", [k], f"{layer}/kt", perm=[0, 2, 1])], f"{layer}/scores")
        weights = maker.add("Softmax", [scores], f"{layer}/attention")
        mixed = maker.add("Add", [maker.add("MatMul", [weights, v], f"{layer}/mixed"), x], f"{layer}/residual")
        parameters = [maker.weight(f"{layer}/scale", d), maker.weight(f"{layer}/bias", d)]
        x = maker.add("LayerNormalization", [mixed, *parameters], f"{layer}/norm")
        x = maker.add(
            "Gelu", [maker.add("MatMul", [x, maker.weight(f"{layer}/up", d, d)], f"{layer}/up1")], f"{layer}/y"
        )
    model = maker.read(tmp_path / "transformer.onnx", {"X": ["batch", "length", d]}, x)
    result = audit(model, None, "batch=2", "length=5")
    assert not result.has_faults
    assert {node.verdict for node in result.nodes} == {NodeVerdict.CORRECT}
    wrong = audit(model, {"1/attention": 1e-5}, "batch=2", "length=5").wrong_nodes
    assert "1/attention" in [node.name for node in wrong]
    assert {node.name for node in wrong} <= {"1/attention", "1/mixed"}


def test_lstm_in_a_branch_with_open_dimensions_is_judged_alone(tmp_path: Path) -> None:
    def branch(name: str, nodes: list[onnx.NodeProto], rank: int) -> onnx.GraphProto:
        output = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [None] * rank)
        return helper.make_graph(nodes, name, [], [output])

    maker = ModelMaker(("", 17))
    maker.weight("W", 1, 12, 4)
    maker.weight("R", 1, 12, 3)
    maker.weight("B", 1, 24)
    maker.weight("zero", value=np.float32(0))
    total = maker.add("ReduceMax", ["X"], "largest", keepdims=0)
    condition = maker.add("Greater", [total, "zero"], "condition")
    recurrent = [
        helper.make_node("LSTM", ["X", "W", "R", "B"], ["hidden"], name="lstm", hidden_size=3),
        helper.make_node("Tanh", ["hidden"], ["then_out"], name="tanh"),
    ]
    other = [helper.make_node("Neg", ["X"], ["else_out"])]
    maker.output_types["Y"] = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None] * 4)
    maker.add("If", [condition], "Y", then_branch=branch("then", recurrent, 4), else_branch=branch("else", other, 3))
    model = maker.read(tmp_path / "lstm.onnx", {"X": ["time", "batch", 4]}, "Y")
    result = audit(model, None, "time=5", "batch=2")
    assert not result.has_faults
    assert {node.verdict for node in result.nodes} == {NodeVerdict.CORRECT}
    assert "LSTM" in [node.op_type for node in result.nodes if not node.together]
    wrong = audit(model, {"if2/hidden": 1e-4}, "time=5", "batch=2").wrong_nodes
    assert "LSTM" in [node.op_type for node in wrong]


def test_classifier_with_softmax_and_argmax_is_judged(tmp_path: Path) -> None:
    maker = ModelMaker(("", 13))
    logits = maker.add("Gemm", ["X", maker.weight("W", 6, 3), maker.weight("B", 3)], "logits")
    maker.add("Softmax", [logits], "P", axis=1)
    maker.add("ArgMax", ["P"], "label", axis=1, keepdims=0)
    model = maker.read(tmp_path / "classifier.onnx", {"X": ["n", 6]}, "P", "label")
    assert {node.verdict for node in audit(model, None, "n=9").nodes} == {NodeVerdict.CORRECT}
    wrong = audit(model, {"label": 1}, "n=9").wrong_nodes
    assert [(node.op_type, node.worst and node.worst.index) for node in wrong] == [("ArgMax", (8,))]


@pytest.mark.parametrize("garbage", ["text", None, [1.0], object()])
def test_subject_that_returns_garbage_is_reported(tmp_path: Path, garbage: Any) -> None:
    class ReturnsGarbage:
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            return type("Prepared", (), {"run": lambda *_: [garbage] * len(model.graph.output)})()

    maker = ModelMaker()
    maker.add("Tanh", ["X"], "Y")
    model = maker.read(tmp_path / "m.onnx", {"X": [2]}, "Y")
    result = audit_subject(model, Subject("garbage", "1", ReturnsGarbage()), make_inputs(model.original.graph, {}, 0))
    assert result.has_faults
    assert "output Y" in result.failure
