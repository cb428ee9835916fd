"""Audits of float16 models on runtimes that compute a region of nodes in float, and round only what leaves it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from conformance.own.audit.audit_report import JudgedShare
from conformance.own.audit.audit_session import SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from pathlib import Path

H, F = np.float16, np.float32


def erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[F])(x)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalize(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5, ddof: int = 0) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=ddof) + epsilon) * scale + bias


KERNELS: dict[str, Any] = {
    "MatMul": np.matmul,
    "Add": np.add,
    "Mul": np.multiply,
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Gelu": lambda x: x * (1 + erf(x / np.sqrt(F(2)))) / 2,
    "Softmax": softmax,
    "LayerNormalization": normalize,
}


class KeepsFloat:
    """A backend that computes float16 nodes in float, and rounds only what it returns.

    Args:
        faults: other kernels, by the name of the node.
    """

    def __init__(self, faults: dict[str, Any] | None = None) -> None:
        self.faults = faults or {}

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        faults, graph = self.faults, model.graph

        class Prepared:
            def run(self, inputs: list[Any]) -> list[Any]:
                values = {tensor.name: numpy_helper.to_array(tensor).astype(F) for tensor in graph.initializer}
                values |= {value.name: array.astype(F) for value, array in zip(graph.input, inputs, strict=True)}
                for node in graph.node:
                    kernel = faults.get(node.name, KERNELS[node.op_type])
                    values[node.output[0]] = kernel(*(values[name] for name in node.input)).astype(F)
                with np.errstate(over="ignore"):
                    return [values[value.name].astype(H) for value in graph.output]

        return Prepared()


def write_block(path: Path, activation: str = "Gelu", width: int = 64, seed: int = 0) -> LoadedModel:
    """Write a block: normalization, two products with biases and an activation, a residual sum, and Softmax."""
    random = np.random.default_rng(seed)
    weights = {
        "w1": random.standard_normal((width, width)) / width**0.5,
        "w2": random.standard_normal((width, width)) / width**0.5,
        "b1": random.standard_normal(width),
        "b2": random.standard_normal(width),
        "scale": 1 + random.standard_normal(width) / 8,
        "shift": random.standard_normal(width) / 8,
    }
    nodes = [
        ("LayerNormalization", ["x", "scale", "shift"], "n"),
        ("MatMul", ["n", "w1"], "m1"),
        ("Add", ["m1", "b1"], "a1"),
        (activation, ["a1"], "h"),
        ("MatMul", ["h", "w2"], "m2"),
        ("Add", ["m2", "b2"], "a2"),
        ("Add", ["a2", "x"], "r"),
        ("Softmax", ["r"], "y"),
    ]
    protos = [helper.make_node(op_type, inputs, [output], name=output) for op_type, inputs, output in nodes]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT16, [4, width]) for name in "xy")
    tensors = [numpy_helper.from_array(array.astype(H), name) for name, array in weights.items()]
    graph = helper.make_graph(protos, "g", [x], [y], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return LoadedModel.read(path)


def audit(model: LoadedModel, backend: Any, seed: int = 1) -> SubjectAudit:
    shape = [size.dim_value for size in model.original.graph.input[0].type.tensor_type.shape.dim]
    X = np.random.default_rng(seed).standard_normal(shape).astype(H)
    return audit_subject(model, Subject("region", "1", backend), InputSet("given", (X,)))


@pytest.mark.parametrize("activation", ["Gelu", "Relu", "Tanh", "Sigmoid"])
def test_block_that_is_kept_in_float_is_correct(tmp_path: Path, activation: str) -> None:
    result = audit(write_block(tmp_path / "m.onnx", activation), KeepsFloat())
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 8
    assert not result.nodes_below_should
    assert {node.name for node in result.nodes if node.share} > {"n", "m1", "a1", "m2", "a2", "r"}


def add_in_float16(x: Any, w: Any) -> Any:
    """Return a product of matrices whose partial sums are rounded to float16."""
    total = np.zeros((x.shape[0], w.shape[1]), H)
    for k in range(w.shape[0]):
        total = (total + (x[:, k : k + 1] * w[k : k + 1]).astype(H)).astype(H)
    return total


def spoil_one(x: Any, y: Any) -> Any:
    total = x + y
    total[1, 7] *= F(1.01)
    return total


FAULTS = {
    "Gelu as a logistic function": ("Gelu", "h", lambda x: x / (1 + np.exp(-1.702 * x))),
    "Gelu as Relu": ("Gelu", "h", lambda x: np.maximum(x, 0)),
    "Sigmoid as a line": ("Sigmoid", "h", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "Tanh as a fraction": ("Tanh", "h", lambda x: np.clip(x * (27 + x * x) / (27 + 9 * x * x), -1, 1)),
    "Relu with a slope": ("Relu", "h", lambda x: np.where(x > 0, x, 0.01 * x)),
    "first bias lost": ("Gelu", "a1", lambda x, _: x),
    "second bias lost": ("Gelu", "a2", lambda x, _: x),
    "bias added twice": ("Gelu", "a2", lambda x, b: x + 2 * b),
    "residual of the other sign": ("Gelu", "r", lambda a, x: a - x),
    "one element of a sum": ("Gelu", "r", spoil_one),
    "last term of a product lost": ("Gelu", "m2", lambda x, w: x[:, :-1] @ w[:-1]),
    "weights transposed": ("Gelu", "m1", lambda x, w: x @ w.T),
    "Softmax along the rows": ("Gelu", "y", lambda x: softmax(x.T).T),
    "Softmax in base 2": ("Gelu", "y", lambda x: softmax(x * F(np.log(2)))),
    "variance with n - 1": ("Gelu", "n", lambda x, s, b: normalize(x, s, b, ddof=1)),
    "scale lost": ("Gelu", "n", lambda x, _, b: normalize(x, 1, b)),
    "epsilon of another size": ("Gelu", "n", lambda x, s, b: normalize(x, s, b, epsilon=0.05)),
}


@pytest.mark.variants(12)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_a_region_is_found_at_its_node_only(tmp_path: Path, fault: str, seed: int) -> None:
    activation, name, kernel = FAULTS[fault]
    result = audit(write_block(tmp_path / "m.onnx", activation, seed=seed), KeepsFloat({name: kernel}), seed + 1)
    assert [node.name for node in result.wrong_nodes] == [name]


@pytest.mark.parametrize("name", ["m1", "m2"])
def test_accumulation_in_float16_is_below_should(tmp_path: Path, name: str) -> None:
    model = write_block(tmp_path / "m.onnx", width=512)
    result = audit(model, KeepsFloat({name: add_in_float16}))
    assert not result.wrong_nodes
    assert [node.name for node in result.nodes_below_should] == [name]


def test_sum_that_overflows_only_in_float16_is_not_wrong(tmp_path: Path) -> None:
    """The residual sum is above the largest float16 number, and a region in float normalizes it."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="m"),
        helper.make_node("Add", ["m", "x"], ["s"], name="s"),
        helper.make_node("Add", ["s", "x"], ["t"], name="t"),
        helper.make_node("LayerNormalization", ["t", "scale", "shift"], ["y"], name="y"),
    ]
    random = np.random.default_rng(10)
    weights = {"w": random.standard_normal((16, 16)) / 64, "scale": np.ones(16), "shift": np.zeros(16)}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT16, [2, 16]) for name in "xy")
    tensors = [numpy_helper.from_array(array.astype(H), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], tensors)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    X = (random.standard_normal((2, 16)) * 20).astype(H)
    X[0, 3] = 40000
    result = audit_subject(LoadedModel.read(path), Subject("region", "1", KeepsFloat()), InputSet("given", (X,)))
    assert not result.wrong_nodes
    assert result.nodes[3].undetermined == 16


@pytest.mark.long
@pytest.mark.programs
def test_random_chains_on_onnxruntime_have_no_wrong_node(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    judged = []
    with started_subjects(named, Limits(60), no_isolation=True) as (subject,):
        for seed in range(20):
            activation = ["Gelu", "Relu", "Tanh", "Sigmoid"][seed % 4]
            model = write_block(tmp_path / f"{seed}.onnx", activation, [8, 16, 64, 96, 128][seed % 5], seed)
            shape = [size.dim_value for size in model.original.graph.input[0].type.tensor_type.shape.dim]
            X = (np.random.default_rng(seed).standard_normal(shape) * 3).astype(H)
            judged.append(audit_subject(model, subject, InputSet("given", (X,))))
    assert [[node.name for node in result.wrong_nodes] for result in judged] == [[]] * 20
    assert [[node.name for node in result.nodes_below_should] for result in judged] == [[]] * 20
    assert JudgedShare.of(judged).nodes == 160


class FusesGelu(KeepsFloat):
    """A backend that computes the last product of a Gelu of five nodes from its input, when all values are outputs."""

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        prepared = super().prepare(model, device)

        class Fused:
            def run(self, inputs: list[Any]) -> list[Any]:
                outputs = dict(zip([value.name for value in model.graph.output], prepared.run(inputs), strict=True))
                outputs["y"] = KERNELS["Gelu"](inputs[0].astype(F)).astype(H)
                return list(outputs.values())

        return Fused()


def write_chain(
    path: Path, type: int, nodes: list[tuple[str, ...]], constants: dict[str, Any], size: int = 16
) -> LoadedModel:
    """Write a model of nodes, each an operator with its inputs and its output."""
    protos = [helper.make_node(op_type, inputs, [output], name=output) for op_type, *inputs, output in nodes]
    x, y = (helper.make_tensor_value_info(name, type, [4, size]) for name in "xy")
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(protos, "g", [x], [y], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return LoadedModel.read(path)


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_fused_gelu_is_judged_with_the_nodes_between(
    tmp_path: Path, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One plus Erf cancels for negative numbers; a kernel that does not round it has another result."""
    monkeypatch.setitem(KERNELS, "Erf", erf)
    monkeypatch.setitem(KERNELS, "Div", np.divide)
    nodes = [
        *(("Div", "x", "root", "d"), ("Erf", "d", "e"), ("Add", "e", "one", "s")),
        *(("Mul", "x", "s", "p"), ("Mul", "p", "half", "y")),
    ]
    constants = {"root": H(np.sqrt(F(2))), "one": H(1), "half": H(0.5)}
    model = write_chain(tmp_path / "gelu.onnx", TensorProto.FLOAT16, nodes, constants, 64)
    root = F(H(np.sqrt(2)))
    monkeypatch.setitem(KERNELS, "Gelu", lambda value: F(factor) * value * (1 + erf(value / root)) / 2)
    rounds_all = {name: lambda *operands, op=op: KERNELS[op](*operands).astype(H) for op, *_, name in nodes}
    result = audit(model, FusesGelu(rounds_all))
    assert [node.name for node in result.wrong_nodes] == ([] if factor == 1 else ["y"])


class Fuses:
    """A backend that computes the output with a fused kernel, unless intermediate values are outputs too.

    Args:
        fused: the kernel.
        separate: a function that returns all values by name.
    """

    def __init__(self, fused: Any, separate: Any) -> None:
        self.fused, self.separate = fused, separate

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        names = [value.name for value in model.graph.output]

        class Prepared:
            def run(_, inputs: list[Any]) -> list[Any]:  # noqa: N805
                values = self.separate(inputs[0])
                return [self.fused(inputs[0])] if names == ["y"] else [values[name] for name in names]

        return Prepared()


def audit_fused(model: LoadedModel, kernel: Any, separate: Any, x: Any) -> SubjectAudit:
    return audit_subject(model, Subject("fuses", "1", Fuses(kernel, separate)), InputSet("given", (x,)))


@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_weights_folded_in_float16_keep_the_bounds_of_should(tmp_path: Path, factor: float) -> None:
    random = np.random.default_rng(5)
    w, s, x = (random.standard_normal(shape).astype(H) for shape in ((16, 16), (16,), (4, 16)))
    nodes = [("MatMul", "x", "w", "m"), ("Mul", "m", "s", "y")]
    model = write_chain(tmp_path / "m.onnx", TensorProto.FLOAT16, nodes, {"w": w, "s": s})
    folded = ((w.astype(F) * s.astype(F)).astype(H)).astype(F)

    def separate(x: Any) -> dict[str, Any]:
        m = (x.astype(F) @ w.astype(F)).astype(H)
        return {"m": m, "y": (m.astype(F) * s.astype(F)).astype(H)}

    result = audit_fused(model, lambda x: (F(factor) * (x.astype(F) @ folded)).astype(H), separate, x)
    assert [node.name for node in result.wrong_nodes] == ([] if factor == 1 else ["y"])
    assert not result.nodes_below_should


@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_summands_folded_in_float16_keep_the_bounds(tmp_path: Path, factor: float) -> None:
    random = np.random.default_rng(5)
    x, b, c = (random.standard_normal(shape).astype(H) for shape in ((4, 16), (16,), (16,)))
    nodes = [("Add", "x", "b", "a"), ("Sub", "a", "c", "y")]
    b, c = (10 * b).astype(H), (10 * c).astype(H)
    model = write_chain(tmp_path / "m.onnx", TensorProto.FLOAT16, nodes, {"b": b, "c": c})

    def separate(x: Any) -> dict[str, Any]:
        return {"a": x + b, "y": (x + b) - c}

    result = audit_fused(model, lambda x: (F(factor) * (x.astype(F) + (b - c).astype(F))).astype(H), separate, x)
    assert [node.name for node in result.wrong_nodes] == ([] if factor == 1 else ["y"])


@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_factor_folded_into_layer_normalization_in_float16_keeps_the_bounds(tmp_path: Path, factor: float) -> None:
    random = np.random.default_rng(9)
    x, w, b, s = *(random.standard_normal(shape).astype(H) for shape in ((4, 16), (16,), (16,))), H(0.7)
    nodes = [("LayerNormalization", "x", "w", "b", "n"), ("Mul", "n", "s", "y")]
    model = write_chain(tmp_path / "m.onnx", TensorProto.FLOAT16, nodes, {"w": w, "b": b, "s": s})

    def normalize(x: Any, scale: Any, bias: Any) -> Any:
        d = x.astype(F) - x.mean(-1, keepdims=True, dtype=F)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + F(1e-5)) * scale.astype(F) + bias.astype(F)

    def separate(x: Any) -> dict[str, Any]:
        n = normalize(x, w, b).astype(H)
        return {"n": n, "y": n * s}

    result = audit_fused(model, lambda x: (F(factor) * normalize(x, w * s, b * s)).astype(H), separate, x)
    assert [node.name for node in result.wrong_nodes] == ([] if factor == 1 else ["y"])


@pytest.mark.parametrize("limit", [6.0, 5.9])
def test_hard_swish_of_four_nodes_may_be_computed_in_one_kernel(tmp_path: Path, limit: float) -> None:
    nodes = [
        ("Add", "x", "three", "a"),
        ("Clip", "a", "zero", "six", "c"),
        ("Mul", "x", "c", "p"),
        ("Div", "p", "six", "y"),
    ]
    constants = {"zero": F(0), "three": F(3), "six": F(6)}
    model = write_chain(tmp_path / "m.onnx", TensorProto.FLOAT, nodes, constants)

    def separate(x: Any) -> dict[str, Any]:
        a = x + F(3)
        c = np.clip(a, F(0), F(6))
        return {"a": a, "c": c, "p": x * c, "y": x * c / F(6)}

    x = np.random.default_rng(2).uniform(-4, 4, (4, 16)).astype(F)
    x[0, :8] = F(-3) + np.arange(1, 9, dtype=F) * F(0.003)
    result = audit_fused(model, lambda x: x * np.clip(x / F(limit) + F(0.5), F(0), F(1)), separate, x)
    assert [node.name for node in result.wrong_nodes] == ([] if limit == 6 else ["y"])


def test_fault_after_a_node_that_a_region_cannot_judge_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference has no bounds for a power of an inexact negative number."""
    monkeypatch.setitem(KERNELS, "Pow", np.power)
    nodes = [("MatMul", "x", "w", "m"), ("Pow", "m", "two", "p"), ("Add", "p", "m", "a"), ("Mul", "a", "s", "y")]
    random = np.random.default_rng(4)
    constants = {"w": random.standard_normal((16, 16)), "two": np.full((1,), 2), "s": np.full((1,), 0.8)}
    halves = {name: array.astype(H) for name, array in constants.items()}
    model = write_chain(tmp_path / "m.onnx", TensorProto.FLOAT16, nodes, halves)
    assert not audit(model, KeepsFloat()).wrong_nodes
    assert [node.name for node in audit(model, KeepsFloat({"y": lambda a, _: 0 * a})).wrong_nodes] == ["y"]


def test_branch_whose_values_onnxruntime_rounds_at_its_border_is_moved_into_the_main_graph(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[64] X, bool yes) => (float[64] Y) {
        H = Cast <to = 10> (X) Z = If(yes) <then_branch = t () => (float16[64] T) { U = Mul(H, H) T = Sqrt(U) },
        else_branch = e () => (float16[64] E) { E = Exp(H) }> Y = Cast <to = 1> (Z) }"""
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    inputs = InputSet("random", (np.random.default_rng(0).random(64, np.float32), np.array(True)))
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    with started_subjects(named, Limits(60), no_isolation=True) as started:
        audit = audit_subject(LoadedModel.read(tmp_path / "m.onnx"), started[0], inputs)
    assert [node.op_type for node in audit.nodes] == ["Cast", "If", "Mul", "Sqrt", "If", "Cast"]
    assert not any(node.verdict is NodeVerdict.NOT_JUDGED for node in audit.nodes)


def test_zeros_are_wrong_although_the_bounds_of_a_wide_region_are_useless(tmp_path: Path) -> None:
    model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]>
        g (float16[4,64] x) => (float16[4,8] y) { s = Mul(x, c) h = Sin(s) y = MatMul(h, w) }""")
    for node in model.graph.node:
        node.name = node.output[0]
    for name, weights in (("w", np.random.default_rng(0).standard_normal((64, 8))), ("c", np.array(9999))):
        model.graph.initializer.append(numpy_helper.from_array(weights.astype(H), name))
    onnx.save(model, tmp_path / "m.onnx")
    for faults, wrong in (({}, []), ({"y": lambda x, w: 0 * (x @ w)}, ["y"])):
        result = audit(LoadedModel.read(tmp_path / "m.onnx"), KeepsFloat(faults))
        assert [node.name for node in result.wrong_nodes] == wrong
