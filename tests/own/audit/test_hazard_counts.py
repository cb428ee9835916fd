"""Counts of the indices that the pass changes, on models and inputs with known hazards."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from computing_backend import Computes, evaluate
from refusals import assert_raises

from conformance.own.graphs.model_inputs import InputSet, choose_inputs
from conformance.own.hazard_counts import NO_HAZARD, NO_OPERAND, HazardCounts, count_hazards, text_lines
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class LoadsFewOutputs(Computes):
    """onnx's evaluator, which loads only models with so many outputs."""

    def __init__(self, max_outputs: int) -> None:
        super().__init__()
        self.max_outputs = max_outputs

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        if len(model.graph.output) > self.max_outputs:
            raise ValueError("too many outputs")
        return super().prepare(model, device)


def model_of(body: str, *, opset: int = 13, shape: str = "N, 3", index: str = "N, 1") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[{shape}] X) => (int64[{index}] I) {{ {body} }}'
    )


def count(model: onnx.ModelProto, rows: Any, backend: Any = None) -> HazardCounts:
    given = InputSet("given", (np.array(rows, np.float32),))
    return count_hazards(model, Subject("fake", "1", backend or Computes()), [given])


@pytest.mark.parametrize(
    ("op_type", "row", "hazard"),
    [
        ("Exp", [0, 1e-8, -1], "rounding_tie"),
        ("Exp", [89, 100, 0], "exp_overflow"),
        ("Exp", [-200, -150, -300], "exp_underflow"),
        ("Log", [16777216, 16777218, 1], "rounding_tie"),
        ("Log", [-1, 2, 1], "log_negative"),
        ("Sqrt", [1, 1.0000001, 0], "rounding_tie"),
        ("Sqrt", [2, -1, 1], "sqrt_negative"),
        ("Softmax<axis = 1>", [0, 1e-8, 0], "rounding_tie"),
        ("Softmax<axis = 1>", [1, np.inf, 0], "softmax_infinity"),
        ("Softmax<axis = 1>", [1, np.nan, 2], "softmax_nan"),
        ("LogSoftmax<axis = 1>", [0, 1e-8, 0], "rounding_tie"),
        ("Exp", [np.nan, 89, 100], None),
    ],
)
def test_changed_index_has_the_hazard_of_its_operand(op_type: str, row: Sequence[float], hazard: str | None) -> None:
    name, _, attributes = op_type.partition("<")
    body = f"Y = {name} {'<' + attributes if attributes else ''} (X) I = ArgMax<axis = 1>(Y)"
    (changes,) = count(model_of(body), [[3, 2, 1], row, [1, 2, 3]]).argmax
    assert changes.compared == 3
    assert changes.changed == (Counter([hazard]) if hazard else Counter())
    if hazard:
        assert changes.first[hazard].position == (1, 0)


def test_coercion_is_found_below_opset_13() -> None:
    body = "Y = Softmax<axis = 0>(X) I = ArgMax<axis = 0>(Y)"
    model = model_of(body, opset=11, shape="2, 2", index="1, 2")

    def coerce(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
        """Compute Softmax over all dimensions; the evaluator ignores the coercion."""
        X = inputs[0]
        has_softmax = any(node.op_type == "Softmax" for node in model.graph.node)
        Y = np.exp(X - X.max()) / np.exp(X - X.max()).sum() if has_softmax else X
        values = {"X": X, "Y": Y, "I": Y.argmax(0, keepdims=True)}
        return [values[value.name] for value in model.graph.output]

    (changes,) = count(model, [[0, 1000], [5, 1000]], Computes(coerce)).argmax
    assert changes.changed == {"coercion": 1}


def test_first_operator_of_a_chain_that_changes_the_order_decides() -> None:
    body = "A = Exp(X) B = Log(A) I = ArgMax<axis = 1, keepdims = 0>(B)"
    (changes,) = count(model_of(body, index="N"), [[89, 100, 1], [0, 1, 2], [0, 1e-8, 0]]).argmax
    assert changes.changed == {"exp_overflow": 1, "rounding_tie": 1}
    assert changes.first["rounding_tie"].position == (2,)


def test_last_index_of_a_tie_is_selected_if_the_model_says_so() -> None:
    body = "A = Exp(X) I = ArgMax<axis = 1, select_last_index = 1>(A)"
    (changes,) = count(model_of(body), [[1e-8, 0, -1], [0, 1e-8, -1]]).argmax
    assert changes.changed == {"rounding_tie": 1}
    assert changes.first["rounding_tie"].position == (0, 0)


def test_changes_without_hazard_are_counted_apart() -> None:
    def lose_index(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
        """Return an index of 0 if the model has no Exp."""
        outputs = evaluate(model, inputs)
        has_exp = any(node.op_type == "Exp" for node in model.graph.node)
        return outputs if has_exp else [np.zeros_like(array) for array in outputs]

    (changes,) = count(model_of("A = Exp(X) I = ArgMax<axis = 1>(A)"), [[0, 1, 2]], Computes(lose_index)).argmax
    assert changes.changed == {NO_HAZARD: 1}


def test_order_that_the_runtime_reverses_is_not_monotone() -> None:
    def fall(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
        """Compute Neg in place of Exp."""
        falling = onnx.ModelProto.FromString(model.SerializeToString())
        for node in falling.graph.node:
            node.op_type = "Neg" if node.op_type == "Exp" else node.op_type
        return evaluate(falling, inputs)

    (changes,) = count(model_of("A = Exp(X) I = ArgMax<axis = 1>(A)"), [[0, 1, 2]], Computes(fall)).argmax
    assert changes.changed == {"not_monotone": 1}


def test_operands_that_the_subject_does_not_return_leave_the_class_open() -> None:
    found = count(model_of("A = Exp(X) I = ArgMax<axis = 1>(A)"), [[89, 100, 0]], LoadsFewOutputs(1))
    assert found.argmax[0].changed == {NO_OPERAND: 1}
    assert found.remarks


def test_subject_that_fails_is_reported() -> None:
    found = count(model_of("A = Exp(X) I = ArgMax<axis = 1>(A)"), [[89, 100, 0]], LoadsFewOutputs(0))
    assert found.failure
    assert any(found.failure in line for line in text_lines(found))


def test_model_that_the_pass_does_not_change_is_not_run() -> None:
    found = count(model_of("I = ArgMax<axis = 1>(X)"), [[89, 100, 0]], LoadsFewOutputs(0))
    assert (found.argmax, found.failure) == ([], None)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    onnx.save(model_of("A = Exp(X) I = ArgMax<axis = 1>(A)"), tmp_path / "m.onnx")
    np.savez(tmp_path / "i.npz", X=np.array([[89, 100, 0], [0, 1, 2]], np.float32))
    return tmp_path


def test_hazards_verb_counts_on_a_subject(command: Any, saved: Path) -> None:
    told = command("hazards", saved / "m.onnx", "-b", "onnx-reference", "--inputs", saved / "i.npz", "--json", "-")
    (counts,) = json.loads(told.out)["counts"]
    assert (told.status, json.loads(told.out)["seed"]) == (0, None)
    assert counts["argmax"][0]["changed"] == {"exp_overflow": 1}
    assert counts["argmax"][0]["compared"] == 2


def test_inputs_without_a_subject_are_refused(command: Any, saved: Path) -> None:
    assert command("hazards", saved / "m.onnx", "--inputs", saved / "i.npz").status == 2


def test_inputs_and_shapes_exclude_each_other(saved: Path) -> None:
    with assert_raises("usage.options-conflict"):
        choose_inputs(model_of("I = ArgMax<axis = 1>(X)").graph, saved / "i.npz", ["X=2x3"], 0)
