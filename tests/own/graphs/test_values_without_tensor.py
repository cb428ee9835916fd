"""Sequences and maps as outputs: they are compared by value, and the other nodes of the model are judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.base.jobs.process_pool import create_workers
from conformance.own.audit.audit_job import AuditWorkers
from conformance.own.audit.audit_session import AuditOptions, audit_subject
from conformance.own.audit.judgement import NodeVerdict
from conformance.own.blame.difference import find_difference
from conformance.own.blame.model_comparison import Computation
from conformance.own.graphs.intermediate_values import are_identical
from conformance.own.graphs.model_inputs import make_inputs
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.harness import value_digest
from conformance.subjects.calling.subject_loading import Subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.limits import Limits
from conformance.subjects.isolation.protocol import placeholder_for_type
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from pathlib import Path

ONE = np.ones(2, np.float32)
MAIN = helper.make_opsetid("", 17)


def split_to_sequence() -> onnx.ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("SplitToSequence", ["n"], ["s"], axis=0)]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])]
    parts = [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)]
    return helper.make_model(helper.make_graph(nodes, "g", values, parts), opset_imports=[MAIN], ir_version=8)


def classifier() -> onnx.ModelProto:
    """Return a classifier whose probabilities are a sequence of maps."""
    ml: dict[str, Any] = {"domain": "ai.onnx.ml"}
    weights: dict[str, Any] = {
        "coefficients": [0.1, 0.2, 0.3, -0.1, 0.2, 0.5, 0.3, 0.3, 0.1],
        "intercepts": [0.0, 0.1, 0.2],
    }
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("LinearClassifier", ["n"], ["y", "p"], classlabels_ints=[0, 1, 2], **weights, **ml),
        helper.make_node("ZipMap", ["p"], ["z"], classlabels_int64s=[0, 1, 2], **ml),
    ]
    maps = onnx.ValueInfoProto(name="z")
    maps.type.sequence_type.elem_type.map_type.key_type = TensorProto.INT64
    maps.type.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])]
    labels = helper.make_tensor_value_info("y", TensorProto.INT64, [4])
    graph = helper.make_graph(nodes, "g", values, [labels, maps])
    imports = [MAIN, helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ([ONE, ONE], [ONE.copy(), ONE.copy()], True),
        ([ONE, ONE], [ONE], False),
        ([ONE], [ONE * 2], False),
        ([ONE], [ONE.astype(np.float64)], False),
        ([ONE], [ONE.reshape(1, 2)], False),
        ([ONE * np.nan], [ONE * -np.nan], True),
        ([{0: 0.5, 1: 0.25}], [{1: 0.25, 0: 0.5}], True),
        ([{0: 0.5}], [{0: 0.25}], False),
        ([{"a": 0.5}], [{"b": 0.5}], False),
        (np.array(["a", "b"], object), np.array(["a", "b"], object), True),
        (None, None, True),
        ([], [[]], False),
    ],
)
def test_values_that_are_not_tensors_are_identical_by_their_elements(first: Any, second: Any, is_same: bool) -> None:
    assert are_identical([first], [second]) is is_same
    assert (value_digest(first) == value_digest(second)) is is_same


def test_value_of_another_kind_has_no_digest() -> None:
    assert value_digest([object()]) == ""


def test_difference_of_two_sequences_has_its_kind() -> None:
    (found,) = find_difference(["s"], Computation([[ONE]]), Computation([[ONE * 2]])).outputs
    assert found.kind == "value"


@pytest.mark.programs
@pytest.mark.parametrize(
    ("make", "judged"), [(split_to_sequence, ["correct", "correct"]), (classifier, ["correct", "correct", "correct"])]
)
@pytest.mark.parametrize("is_isolated", [True, False])
def test_audit_of_outputs_that_are_not_tensors_is_deterministic(
    tmp_path: Path, make: Any, judged: list[str], is_isolated: bool
) -> None:
    pytest.importorskip("onnxruntime")
    onnx.save(make(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    named = [SubjectName.parse("onnxruntime", SubjectKind.BACKEND)]
    with started_subjects(named, Limits(60), no_isolation=not is_isolated) as (subject,):
        result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
    assert (result.is_repeatable, result.repeats_when_prepared_again, result.failure) == (True, True, None)
    assert [node.verdict for node in result.nodes] == list(map(NodeVerdict, judged))


def change_last(outputs: list[Any]) -> list[Any]:
    """Return outputs of which the last element of the last sequence is another one."""
    *before, last = outputs
    changed = {**last[-1], 2: 0.125} if isinstance(last[-1], dict) else last[-1] + np.float32(1)
    return [*before, [*last[:-1], changed]]


class Computes:
    """A backend that computes sequences and maps with NumPy, or as a change of the outputs has them.

    Args:
        change: the change; it is applied to every run.
        shows_elements: whether outputs are returned, and not only their digests.
    """

    def __init__(self, change: Any = list, *, shows_elements: bool = True) -> None:
        self.change, self.shows_elements = change, shows_elements

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        names = [value.name for value in model.graph.output]

        def run(inputs: list[Any]) -> list[Any]:
            n = -inputs[0]
            values = {"n": n, "s": [*np.split(n, len(n))], "z": [{k: float(x) for k, x in enumerate(row)} for row in n]}
            own = self.change([values[names[0]]])
            own = own if self.shows_elements else [placeholder_for_type("list", value_digest(own[0]))]
            return [*own, *(values[name] for name in names[1:])]

        return SimpleNamespace(run=run)


def zip_map() -> onnx.ModelProto:
    ml = "ai.onnx.ml"
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("ZipMap", ["n"], ["z"], classlabels_int64s=[0, 1, 2], domain=ml),
    ]
    model = classifier()
    del model.graph.node[:], model.graph.output[0]
    model.graph.node.extend(nodes)
    return model


@pytest.mark.parametrize("make", [split_to_sequence, zip_map])
@pytest.mark.parametrize("shows_elements", [True, False])
@pytest.mark.parametrize(("change", "verdict"), [(list, NodeVerdict.CORRECT), (change_last, NodeVerdict.WRONG)])
def test_sequence_or_map_with_another_element_is_wrong(
    tmp_path: Path, make: Any, change: Any, verdict: NodeVerdict, *, shows_elements: bool
) -> None:
    onnx.save(make(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    subject = Subject("computes", "1", Computes(change, shows_elements=shows_elements))
    result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, verdict]
    assert result.nodes[1].elements == 12


def test_recording_keeps_the_digest_of_a_sequence(tmp_path: Path) -> None:
    onnx.save(split_to_sequence(), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    subject, inputs = Subject("computes", "1", Computes(change_last)), make_inputs(model.original.graph, {}, 0)
    workers = AuditWorkers(create_workers(1, None, lambda _: None), tmp_path / "state")
    for _ in range(2):  # the second audit reads the recording
        result = audit_subject(model, subject, inputs, options=AuditOptions(workers=workers))
        assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, NodeVerdict.WRONG]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_tensors_are_identical_by_their_bits_except_for_nan(dtype: Any) -> None:
    first = np.array([np.nan, 0, 1]).astype(dtype)
    assert are_identical([first], [np.array([-np.nan, 0, 1]).astype(dtype)])
    assert not are_identical([first], [np.array([np.nan, -0.0, 1]).astype(dtype)])
    assert not are_identical([first], [np.array([0, np.nan, 1]).astype(dtype)])
