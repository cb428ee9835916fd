"""Audits of models on backends with planted faults."""

from __future__ import annotations

import errno
import json
import sys
import tomllib
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from refusals import assert_raises

from conformance.base.errors import ModelError
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.external_data import map_external_tensor
from conformance.own.audit.audit_cases import write_cases
from conformance.own.audit.audit_job import AuditWorkers
from conformance.own.audit.audit_page import render_page
from conformance.own.audit.audit_report import JudgedShare, audit_document, text_lines, wrong_text
from conformance.own.audit.audit_session import AuditOptions, SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import InputSet, make_inputs, parse_shapes, read_inputs, save_inputs_to
from conformance.own.graphs.reading import LoadedModel, shared_weights
from conformance.run.judging.backend import judge_backend
from conformance.run.results.records import DiagnosisRecord
from conformance.subjects.calling.subject_loading import load_backend
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits, NotStarted
from conformance.subjects.isolation.start_subjects import StartingSubjects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conformance.exact.models.arrays import Array

Outputs = dict[str, Any]


class EvaluatorBackend:
    """onnx's evaluator, with a fault that changes values by name after a run.

    Args:
        fault: changes the values of a run; it takes the values, the number of the run of the prepared model, and the
            outputs of the model.
    """

    def __init__(self, fault: Callable[[Outputs, int, Sequence[str]], Outputs] = lambda values, *_: values) -> None:
        self.fault = fault

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        backend, evaluator, names = self, ReferenceEvaluator(model), [value.name for value in model.graph.output]

        class Prepared:
            runs = 0

            def run(self, inputs: list[Any]) -> list[Any]:
                given = dict(zip([value.name for value in model.graph.input], inputs, strict=True))
                values = dict(zip(names, evaluator.run(None, given), strict=True))
                self.runs += 1
                changed = backend.fault(values, self.runs - 1, names)
                return [changed[name] for name in names]

        return Prepared()


class RefusesAddedOutputs(EvaluatorBackend):
    """A backend that loads models with one output only."""

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        if len(model.graph.output) > 1:
            raise ValueError("more than one output")
        return super().prepare(model, device)


class IgnoresAlpha(EvaluatorBackend):
    """A backend that ignores the attribute alpha of the nodes with some outputs."""

    def __init__(self, *outputs: str) -> None:
        super().__init__()
        self.outputs = outputs

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        for node in copy.graph.node:
            if node.output[0] in self.outputs:
                del node.attribute[:]
        return super().prepare(copy, device)


def tensor_value(name: str, shape: Sequence[Any]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def write_model(path: Path, nodes: Sequence[onnx.NodeProto], shape: Sequence[Any], *, opset: int = 17) -> LoadedModel:
    """Write a model from X to Y, and read it for an audit."""
    graph = helper.make_graph(list(nodes), "g", [tensor_value("X", shape)], [tensor_value("Y", shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return LoadedModel.read(path)


def audit(
    model: LoadedModel, backend: Any, shape: tuple[int, ...] = (2, 3, 4), *, makes_cases: bool = False
) -> SubjectAudit:
    X = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    return audit_subject(
        model, Subject("fake", "1", backend), InputSet("given", (X,)), options=AuditOptions(makes_cases=makes_cases)
    )


@pytest.fixture
def chain(tmp_path: Path) -> LoadedModel:
    """A model with the values A, B, C and Y."""
    nodes = [
        helper.make_node("Exp", ["X"], ["A"]),
        helper.make_node("Mul", ["A", "X"], ["B"]),
        helper.make_node("Add", ["B", "X"], ["C"]),
        helper.make_node("Tanh", ["C"], ["Y"]),
    ]
    return write_model(tmp_path / "chain.onnx", nodes, [2, 3, 4])


def test_correct_backend_has_no_wrong_node(chain: LoadedModel) -> None:
    result = audit(chain, EvaluatorBackend())
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4
    assert not result.has_faults
    assert all(node.share <= 1 for node in result.nodes)


def test_wrong_softmax_below_opset_13_is_found_among_300_nodes(tmp_path: Path) -> None:
    names = ["X", *(f"v{k}" for k in range(299)), "Y"]
    nodes = [helper.make_node("Identity", [a], [b]) for a, b in pairwise(names)]
    nodes[150] = helper.make_node("Softmax", [names[150]], [names[151]], axis=1)
    model = write_model(tmp_path / "deep.onnx", nodes, [2, 3, 4], opset=11)

    class NormalizesLastAxis:
        """A backend that computes Softmax of opset 11 along one axis."""

        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            copy.opset_import[0].version = 13
            return EvaluatorBackend().prepare(copy, device)

    result = audit(model, NormalizesLastAxis())
    assert [(node.number, node.op_type) for node in result.wrong_nodes] == [(150, "Softmax")]
    worst = result.wrong_nodes[0].worst
    assert worst is not None
    assert (worst.output, len(worst.index)) == (names[151], 3)


def test_fault_of_a_fused_kernel_is_attributed_to_the_segment(chain: LoadedModel) -> None:
    def fused(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        if "B" in names:  # exposing B prevents the fusion of Mul and Add
            return values
        return {name: value * np.float32(1.01) if name in ("C", "Y") else value for name, value in values.items()}

    result = audit(chain, EvaluatorBackend(fused))
    (wrong,) = [node for node in result.wrong_nodes if node.op_type == "Add"]
    assert wrong.together == ("B",)
    assert wrong.wrong_alone == (2,)
    assert result.ways["hidden"] == 1


@pytest.mark.parametrize(("is_wrong_alone", "wrong"), [(True, (1,)), (False, ())])
def test_cause_of_a_wrong_fused_kernel_is_the_node_that_is_wrong_alone(
    chain: LoadedModel, *, is_wrong_alone: bool, wrong: tuple[int, ...]
) -> None:
    """The backend fuses Mul and Add unless the product is an output, and its product is wrong."""

    class WrongProduct(EvaluatorBackend):
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            operators = {node.op_type for node in model.graph.node}
            factor = np.float32(1.01 if is_wrong_alone else 1.0)

            def fault(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
                if operators == {"Mul"}:
                    return {"B": values["B"] * factor}
                if operators >= {"Mul", "Add"} and "B" not in names:
                    return {name: value * np.float32(1.01) for name, value in values.items() if name in ("C", "Y")}
                return values

            self.fault = lambda values, run, names: values | fault(values, run, names)
            return super().prepare(model, device)

    result = audit(chain, WrongProduct())
    (found,) = [node for node in result.wrong_nodes if node.op_type == "Add"]
    assert (found.together, found.wrong_alone) == (("B",), wrong)
    assert ("1 B" in wrong_text(found)) == is_wrong_alone


@pytest.mark.parametrize("is_fused", [False, True])
def test_wrong_node_becomes_a_case_that_a_correct_backend_passes(
    chain: LoadedModel, tmp_path: Path, is_fused: bool
) -> None:
    def wrong(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        if is_fused and "B" in names:
            return values
        return {name: value * np.float32(1.01) if name in ("C", "Y") else value for name, value in values.items()}

    result = audit(chain, EvaluatorBackend(wrong), makes_cases=True)
    write_cases(tmp_path / "corpus", result.cases)
    corpus = open_corpus(tmp_path / "corpus")
    corpus.verify()
    loaded = {id: load_case_in_memory(corpus, entry) for id, entry in corpus.cases.items()}
    add = loaded["test_audit_chain_2_add"]
    assert [node.op_type for node in add.model.graph.node] == (["Mul", "Add"] if is_fused else ["Add"])
    verdicts = {id: judge_backend(EvaluatorBackend(), case).verdict for id, case in loaded.items()}
    assert set(verdicts.values()) == {Verdict.PASS}
    spoilt = EvaluatorBackend(
        lambda values, _, names: {name: value * np.float32(1.01) for name, value in values.items()}
    )
    assert judge_backend(spoilt, add).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("limits", "hidden", "further"),
    [
        ({"OBTAINED": 200}, 0, 1),
        ({"GROUP": 200}, 0, 1),
        ({"GROUP": 95}, 0, 2),
        ({"VALUE": 95}, 0, 0),
        ({"VALUE": 95, "OBTAINED": 100}, 0, 2),
        ({"VALUE": 95, "MAPPED": 100}, 2, 0),
        ({"OBTAINED": 95}, 3, 0),
    ],
)
def test_values_above_the_limits_are_obtained_in_further_runs_or_judged_together(
    chain: LoadedModel, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], hidden: int, further: int
) -> None:
    plain = audit(chain, EvaluatorBackend())
    for name, most in limits.items():
        monkeypatch.setattr(f"conformance.own.graphs.intermediate_values.MAX_{name}_BYTES", most)
    result = audit(chain, EvaluatorBackend())
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4
    assert (result.ways.get("hidden", 0), bool(result.remark)) == (hidden, hidden > 0)
    assert result.model_runs - plain.model_runs == (further if hidden < 3 else -1)
    if not hidden:
        assert [node.elements for node in result.nodes] == [node.elements for node in plain.nodes]
    cut = audit(chain, RefusesAddedOutputs())
    assert {node.verdict for node in cut.nodes} <= {NodeVerdict.CORRECT, NodeVerdict.NOT_JUDGED}


def test_large_values_stay_hidden_if_the_disk_is_full(chain: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_disk() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("conformance.own.graphs.intermediate_values.MAX_VALUE_BYTES", 95)
    monkeypatch.setattr("conformance.exact.models.external_data.TemporaryFile", fill_disk)
    result = audit(chain, EvaluatorBackend())
    assert result.ways["hidden"] == 3
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4


def test_hidden_values_that_are_too_large_together_are_not_computed(
    chain: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.own.graphs.intermediate_values.MAX_OBTAINED_BYTES", 0)
    monkeypatch.setattr("conformance.exact.reference.node_enclosures.MAX_OUTPUT_ELEMENTS", 47)  # A, but not A and B
    result = audit(chain, EvaluatorBackend())
    assert {node.verdict for node in result.nodes} == {NodeVerdict.NOT_JUDGED}


def test_value_that_depends_on_the_exposed_group_makes_no_node_wrong(chain: LoadedModel) -> None:
    def other_kernel(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        if {"A", "B", "C"} <= set(names):
            return values | {"Y": values["Y"] * np.float32(0.999)}
        if "A" in names and "B" not in names:
            return values | {"A": np.nextafter(values["A"], np.float32(np.inf))}
        return values

    result = audit(chain, EvaluatorBackend(other_kernel))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4
    assert "group of added outputs" in result.ways


def test_results_of_constants_that_are_fused_are_tried_apart_and_only_a_few_alone(tmp_path: Path) -> None:
    """The backend fuses each Neg of a constant, and keeps the Abs of one."""

    def fused(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        return values | ({"Y": values["Y"] * np.float32(0.999)} if any(each.startswith("N") for each in names) else {})

    ones = numpy_helper.from_array(np.ones((2, 3, 4), np.float32), "ones")
    nodes = [helper.make_node("Constant", [], ["C"], value=ones), helper.make_node("Abs", ["C"], ["K"])]
    nodes += [helper.make_node("Neg", ["C"], [f"N{number}"]) for number in range(64)]
    values = ["X", *(f"A{number}" for number in range(63)), "Z"]
    nodes += [helper.make_node("Add", [values[number], f"N{number}"], [values[number + 1]]) for number in range(64)]
    nodes.append(helper.make_node("Add", ["Z", "K"], ["Y"]))
    result = audit(write_model(tmp_path / "m.onnx", nodes, [2, 3, 4]), EvaluatorBackend(fused))
    ways = {node.name: node.way for node in result.nodes}
    assert {ways[name] for name in (*values[1:], "K")} == {"group of added outputs"}
    assert {ways[f"N{number}"] for number in range(64)} == {"hidden"}
    assert not result.wrong_nodes
    assert result.model_runs < 64


def test_value_of_a_refused_group_is_judged_if_a_smaller_group_exposes_it(chain: LoadedModel) -> None:
    class RefusesBAndC(EvaluatorBackend):
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            names = [value.name for value in model.graph.output]
            if "A" not in names and {"B", "C"} <= set(names):
                raise RuntimeError("out of memory")
            return super().prepare(model, device)

    def changed(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        return values | ({"Y": values["Y"] * np.float32(0.999)} if {"A", "B", "C"} <= set(names) else {})

    result = audit(chain, RefusesBAndC(changed))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4


def test_operand_that_a_fused_kernel_computes_again_makes_no_node_wrong(chain: LoadedModel) -> None:
    def computed_twice(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        if {"A", "B", "C"} <= set(names):
            return values | {"Y": values["Y"] * np.float32(0.999)}
        return values | ({"A": np.nextafter(values["A"], np.float32(np.inf))} if "A" in names else {})

    result = audit(chain, EvaluatorBackend(computed_twice))
    assert not result.wrong_nodes
    assert [node.together for node in result.nodes if node.name == "B"] == [("A",)]


def test_wrong_node_is_confirmed_on_values_of_one_run(chain: LoadedModel) -> None:
    def wrong_product(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        if {"A", "B", "C"} <= set(names):
            return values | {"Y": values["Y"] * np.float32(0.999)}
        return values | ({"B": values["B"] + np.float32(0.5)} if "B" in names else {})

    result = audit(chain, EvaluatorBackend(wrong_product))
    assert [node.name for node in result.wrong_nodes] == ["B"]


@pytest.mark.parametrize(("factor", "number"), [(1.0, None), (1.01, 3)])
def test_node_that_is_judged_again_is_shown_as_progress(chain: LoadedModel, factor: float, number: int | None) -> None:
    def wrong(values: Outputs, _: int, names: Sequence[str]) -> Outputs:
        return values | {"Y": values["Y"] * np.float32(factor)}

    shown: list[str] = []
    subject = Subject("fake", "1", EvaluatorBackend(wrong))
    audit_subject(chain, subject, InputSet("given", (np.ones((2, 3, 4), np.float32),)), shown.append)
    assert [text.split()[1] for text in shown if text.startswith("node ")] == ([] if number is None else [str(number)])


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, []), (1.01, ["Sub"])])
def test_node_of_a_fused_kernel_is_judged_with_the_node_before_although_all_values_are_outputs(
    tmp_path: Path, factor: float, wrong: list[str]
) -> None:
    """The backend cancels the sum and the difference, and computes the sum only as an output."""
    large = numpy_helper.from_array(np.full((2, 3, 4), 1e4, np.float32), "large")
    nodes = [
        helper.make_node("Constant", [], ["C"], value=large),
        helper.make_node("Add", ["X", "C"], ["A"]),
        helper.make_node("Sub", ["A", "C"], ["Y"]),
    ]
    model = write_model(tmp_path / "m.onnx", nodes, [2, 3, 4])
    X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)

    class Cancels(EvaluatorBackend):
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            is_whole = any(node.op_type == "Add" for node in model.graph.node)
            self.fault = lambda values, *_: values | ({"Y": X * np.float32(factor)} if is_whole else {})
            return super().prepare(model, device)

    result = audit(model, Cancels())
    assert [node.op_type for node in result.wrong_nodes] == wrong
    (node,) = [node for node in result.nodes if node.op_type == "Sub"]
    assert node.together == ("A",)


def test_fault_of_the_first_run_is_found(chain: LoadedModel) -> None:
    def first_run(values: Outputs, run: int, _: Sequence[str]) -> Outputs:
        return {name: value + np.float32(1) if name == "A" and not run else value for name, value in values.items()}

    def first_output(values: Outputs, run: int, _: Sequence[str]) -> Outputs:
        return {name: value + np.float32(1) if name == "Y" and not run else value for name, value in values.items()}

    assert [node.op_type for node in audit(chain, EvaluatorBackend(first_output)).wrong_nodes] == ["Tanh"]
    assert not audit(chain, EvaluatorBackend(first_output)).is_repeatable
    assert {node.op_type for node in audit(chain, EvaluatorBackend(first_run)).wrong_nodes} == {"Exp"}


def test_backend_that_is_not_deterministic_is_reported(chain: LoadedModel) -> None:
    random = np.random.default_rng(3)

    def noisy(values: Outputs, *_: Any) -> Outputs:
        noise = np.float32(random.uniform(-0.01, 0.01))
        return {name: value + noise if name == "Y" else value for name, value in values.items()}

    result = audit(chain, EvaluatorBackend(noisy))
    assert not result.is_repeatable
    assert not result.repeats_when_prepared_again
    assert [node.op_type for node in result.wrong_nodes] == ["Tanh"]


def test_one_wrong_element_of_a_million_is_found(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["X"], ["A"]), helper.make_node("Add", ["A", "A"], ["Y"])]
    model = write_model(tmp_path / "large.onnx", nodes, [1000, 1000])

    def one_element(values: Outputs, *_: Any) -> Outputs:
        changed = {name: value.copy() for name, value in values.items()}
        changed["Y"][617, 42] += np.float32(0.001)
        return changed

    (wrong,) = audit(model, EvaluatorBackend(one_element), (1000, 1000)).wrong_nodes
    assert wrong.worst is not None
    assert (wrong.op_type, wrong.worst.index, wrong.elements) == ("Add", (617, 42), 10**6)


def test_large_tensor_is_sampled_with_its_special_values(tmp_path: Path) -> None:
    model = write_model(tmp_path / "large.onnx", [helper.make_node("Exp", ["X"], ["Y"])], [3, 2**20])
    X = np.random.default_rng(0).standard_normal((3, 2**20)).astype(np.float32)
    X[2, 77] = np.nan
    data_set = InputSet("given", (X,))

    def loses_nan(values: Outputs, *_: Any) -> Outputs:
        return {name: np.nan_to_num(value) for name, value in values.items()}

    subject = Subject("fake", "1", EvaluatorBackend(loses_nan))
    sampled = audit_subject(model, subject, data_set)
    (node,) = sampled.wrong_nodes
    assert node.elements < node.all_elements == 3 * 2**20
    share = JudgedShare.of([sampled])
    assert (node.is_sampled, share.sampled) == (True, 1)
    assert share.operations / share.all_operations == pytest.approx(node.elements / node.all_elements)
    assert node.worst is not None
    assert node.worst.index == (2, 77)
    (node,) = audit_subject(model, subject, data_set, options=AuditOptions(all_elements=True)).nodes
    assert node.elements == node.all_elements


def test_small_product_with_a_large_operand_is_judged_whole(tmp_path: Path) -> None:
    nodes = [helper.make_node("Transpose", ["X"], ["T"]), helper.make_node("MatMul", ["X", "T"], ["Y"])]
    model = write_model(tmp_path / "m.onnx", nodes, [1, 2**21 + 1])
    product = audit(model, EvaluatorBackend(), (1, 2**21 + 1)).nodes[1]
    assert (product.is_sampled, product.elements) == (False, 1)


def test_subject_that_refuses_added_outputs_is_cut(chain: LoadedModel) -> None:
    result = audit(chain, RefusesAddedOutputs())
    assert result.ways["cut model"] == 4
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4


def test_subject_that_refuses_added_integers_exposes_the_other_values(tmp_path: Path) -> None:
    class RefusesIntegers(EvaluatorBackend):
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            assert all(value.type.tensor_type.elem_type == TensorProto.FLOAT for value in model.graph.output)
            return super().prepare(model, device)

    nodes = [helper.make_node("Exp", ["X"], ["A"]), helper.make_node("Shape", ["A"], ["B"])]
    nodes += [helper.make_node("Reshape", ["X", "B"], ["C"]), helper.make_node("Tanh", ["C"], ["Y"])]
    result = audit(write_model(tmp_path / "shapes.onnx", nodes, [2, 3, 4]), RefusesIntegers())
    assert result.ways["added output"] == 2
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 4


def test_subject_that_fails_is_reported(chain: LoadedModel) -> None:
    class Raises:
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            raise RuntimeError("no")

    result = audit(chain, Raises())
    assert result.has_faults
    assert result.failure
    assert not result.nodes


def test_subject_that_does_not_start_again_is_an_error_and_no_fault_of_the_runtime(chain: LoadedModel) -> None:
    class StartsOnce(EvaluatorBackend):
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            if len(model.graph.output) > 1:
                raise NotStarted("not started in 3 attempts")
            return super().prepare(model, device)

    with assert_raises("subject.not-started", "StartsOnce", "not started in 3 attempts"):
        audit(chain, StartsOnce())


def branch(name: str, op_type: str) -> onnx.GraphProto:
    node = helper.make_node(op_type, ["X"], [f"{name}_inner"])
    last = helper.make_node("Tanh", [f"{name}_inner"], [f"{name}_out"])
    return helper.make_graph([node, last], name, [], [tensor_value(f"{name}_out", [2, 3, 4])])


def test_nodes_of_a_branch_are_judged_alone(tmp_path: Path) -> None:
    true = numpy_helper.from_array(np.array(True), "flag")
    choice = helper.make_node(
        "If", ["flag"], ["Y"], then_branch=branch("then", "Exp"), else_branch=branch("else", "Neg")
    )
    model = write_model(
        tmp_path / "if.onnx", [helper.make_node("Constant", [], ["flag"], value=true), choice], [2, 3, 4]
    )
    result = audit(model, EvaluatorBackend())
    assert [node.op_type for node in result.nodes] == ["If"]
    assert result.nodes[0].verdict is NodeVerdict.CORRECT
    assert result.nodes[0].inner_nodes == 4


def test_nodes_of_a_branch_that_replaced_an_if_of_a_part_have_the_number_of_the_if(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Abs", ["X"], ["A"]),
        helper.make_node("ReduceSum", ["A"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["flag"], to=TensorProto.BOOL),
        helper.make_node("If", ["flag"], ["Y"], then_branch=branch("then", "Exp"), else_branch=branch("else", "Neg")),
    ]
    model = write_model(tmp_path / "if.onnx", nodes, [2, 3, 4])
    X = InputSet("given", (np.ones((2, 3, 4), np.float32),))
    numbering = {"A": 5, "s": 6, "flag": 7, "Y": 8}
    result = audit_subject(model, Subject("fake", "1", EvaluatorBackend()), X, numbering=numbering)
    found = [(node.number, node.op_type) for node in result.nodes]
    assert found == [(5, "Abs"), (6, "ReduceSum"), (7, "Cast"), (8, "Exp"), (8, "Tanh"), (8, "Identity")]
    assert result.edges == [(5, 6), (6, 7)]


def test_loop_is_judged_with_composed_bounds(tmp_path: Path) -> None:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["condition"], ["next"]),
            helper.make_node("Tanh", ["state"], ["t"]),
            helper.make_node("Add", ["t", "X"], ["new"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
            tensor_value("state", [2, 3, 4]),
        ],
        [helper.make_tensor_value_info("next", TensorProto.BOOL, []), tensor_value("new", [2, 3, 4])],
    )
    count = numpy_helper.from_array(np.array(5, np.int64), "count")
    nodes = [
        helper.make_node("Constant", [], ["count"], value=count),
        helper.make_node("Constant", [], ["true"], value=numpy_helper.from_array(np.array(True), "true")),
        helper.make_node("Loop", ["count", "true", "X"], ["Y"], body=body),
    ]
    model = write_model(tmp_path / "loop.onnx", nodes, [2, 3, 4])
    (node,) = audit(model, EvaluatorBackend()).nodes
    assert (node.verdict, node.inner_nodes) == (NodeVerdict.CORRECT, 3)
    assert 0 < node.share <= 1
    wrong = EvaluatorBackend(lambda values, *_: {name: value * np.float32(1.0001) for name, value in values.items()})
    assert [node.op_type for node in audit(model, wrong).wrong_nodes] == ["Loop"]


def test_operator_without_reference_is_not_judged(tmp_path: Path) -> None:
    transform = helper.make_node("DFT", ["X"], ["D"], inverse=1, onesided=1)
    nodes = [transform, helper.make_node("Add", ["X", "X"], ["Y"])]
    outputs = [tensor_value("D", [2, 4, 1]), tensor_value("Y", [2, 3, 2])]
    graph = helper.make_graph(nodes, "g", [tensor_value("X", [2, 3, 2])], outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "d.onnx")
    result = audit(LoadedModel.read(tmp_path / "d.onnx"), EvaluatorBackend(), (2, 3, 2))
    assert [node.verdict for node in result.nodes] == [NodeVerdict.NOT_JUDGED, NodeVerdict.CORRECT]
    assert result.nodes[0].reason == "DFT with inverse and onesided below opset 20"


@pytest.mark.parametrize(("outputs", "named"), [(("A", "Y"), {"LeakyRelu": "ignores alpha"}), (("A",), {})])
def test_mistake_is_named_unless_another_node_refutes_it(
    tmp_path: Path, outputs: Sequence[str], named: dict[str, str]
) -> None:
    nodes = [
        helper.make_node("LeakyRelu", ["X"], ["A"], alpha=0.5),
        helper.make_node("Neg", ["A"], ["B"]),
        helper.make_node("LeakyRelu", ["B"], ["Y"], alpha=0.25),
    ]
    result = audit(write_model(tmp_path / "m.onnx", nodes, [2, 3, 4]), IgnoresAlpha(*outputs))
    assert len(result.wrong_nodes) == len(outputs)
    assert {record.operator: record.text for record in result.diagnoses} == named


class IgnoresAxis(EvaluatorBackend):
    """A backend that computes Softmax and ArgMax along their default axis, and the first of equal maxima."""

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        for node in copy.graph.node:
            kept = [each for each in node.attribute if each.name not in {"axis", "select_last_index"}]
            del node.attribute[:]
            node.attribute.extend(kept)
        return super().prepare(copy, device)


IGNORES_AXIS = IgnoresAxis()


def test_mistake_has_one_name_in_an_audit_in_a_run_of_its_cases_and_in_expectations(command: Any, here: Path) -> None:
    nodes = [
        helper.make_node("Softmax", ["X"], ["S"], axis=0),
        helper.make_node("Cast", ["S"], ["T"], to=TensorProto.INT32),
        helper.make_node("ArgMax", ["T"], ["I"], axis=0, select_last_index=1),
        helper.make_node("Cast", ["I"], ["Y"], to=TensorProto.FLOAT),
    ]
    write_model(here / "m.onnx", nodes, [3, 4])
    backend = ("-b", f"{__name__}:IGNORES_AXIS")
    assert command("audit", "m.onnx", *backend, "--no-isolation", "--json", "a.json", "--output", "wrong").status == 1
    (audit,) = json.loads((here / "a.json").read_text())["audits"]
    found = {record["operator"]: record["text"] for record in audit["diagnoses"]}
    assert found["Softmax"] == "ignores axis"
    assert found["ArgMax"].startswith("ignores select_last_index and")
    assert command("run", *backend, "--data", "wrong", "--results", "r.jsonl", diagnose=True).status == 1
    footer = json.loads((here / "r.jsonl").read_text().splitlines()[-1])
    assert {record["operator"]: record["text"] for record in footer["diagnoses"]} == found
    reasons = {f"{operator}: {text}" for operator, text in found.items()}
    for results, file in (("a.json", "a.toml"), ("r.jsonl", "r.toml")):
        assert command("update-expectations", results, "--expect", file, "--by-cause").status == 0
        entries = tomllib.loads((here / file).read_text())["expect"]
        assert {entry["reason"] for entry in entries} == reasons
    checked = command("update-expectations", "r.jsonl", "--expect", "new.toml", "--check")
    assert sum(line.startswith("1. ") for line in checked.out.splitlines()) == 1


NO_ALPHA = IgnoresAlpha("Y")


def test_mistake_of_an_audit_is_the_reason_of_its_expectations(command: Any, here: Path) -> None:
    write_model(here / "m.onnx", [helper.make_node("LeakyRelu", ["X"], ["Y"], alpha=0.5)], [2, 3, 4])
    options = ("audit", "m.onnx", "-b", f"{__name__}:NO_ALPHA", "--no-isolation", "--json", "a.json")
    assert command(*options).status == 1
    (here / "known.toml").write_text(f'subject = "{__name__}:NO_ALPHA"\ncorpus = "audit"\n')
    assert command("update-expectations", "a.json", "--expect", "known.toml", "--by-cause").status == 0
    entries = tomllib.loads((here / "known.toml").read_text())["expect"]
    assert [entry["reason"] for entry in entries] == ["LeakyRelu: ignores alpha"]
    assert command(*options, "--expect", "known.toml").status == 0


CHANGED = EvaluatorBackend()


@pytest.mark.parametrize(
    ("later", "status"),
    [
        (lambda y: y + np.float32(100), 0),
        (lambda y: y + np.float32(70), 0),
        (np.zeros_like, 1),
        (lambda y: np.full_like(y, np.nan), 1),
        (lambda y: y[..., :1], 1),
        (lambda y: y.astype(np.float64), 1),
        (lambda y: y, 1),
    ],
)
def test_audit_with_known_wrong_nodes_fails_if_a_node_becomes_wrong_otherwise(
    command: Any, here: Path, monkeypatch: pytest.MonkeyPatch, later: Callable[[Array], Array], status: int
) -> None:
    def change(fault: Callable[[Array], Array]) -> None:
        backend = EvaluatorBackend(lambda values, *_: {name: fault(value) for name, value in values.items()})
        monkeypatch.setattr(sys.modules[__name__], "CHANGED", backend)

    write_model(here / "m.onnx", [helper.make_node("Exp", ["X"], ["Y"])], [2, 3, 4])
    change(lambda y: y + np.float32(100))
    options = ("audit", "m.onnx", "-b", f"{__name__}:CHANGED", "--no-isolation")
    assert command(*options, "--json", "a.json").status == 1
    assert command("update-expectations", "a.json", "--expect", "known.toml", "--by-cause").status == 0
    assert command(*options, "--expect", "known.toml").status == 0
    change(later)
    ended = command(*options, "--expect", "known.toml")
    assert ended.status == status, ended.out


def test_reports_have_every_node(chain: LoadedModel) -> None:
    evil = EvaluatorBackend(lambda values, *_: {name: value + np.float32(1) for name, value in values.items()})
    text = "ignores <everything>"
    mistake = DiagnosisRecord.of_mistake("evil", "Relu", [text], ["test_audit_m_0_relu"], 1, texts=[text])
    result = replace(audit(chain, evil), version="<script>alert(1)</script>", diagnoses=[mistake])
    document = audit_document(chain, [result], ["X float 2x3x4"], 0)
    assert [node.verdict for node in document.audits[0].nodes] == [node.verdict for node in result.nodes]
    page = render_page(chain, [result], ["X float 2x3x4"])
    assert "<script>" not in page
    assert "Relu: ignores &lt;everything&gt;" in page
    assert (page.count("<details"), page.count("<rect")) == (4, 8)
    graph = page.partition("<h3>Graph</h3>")[2].partition("</svg>")[0]
    assert graph.count("<path") == 3
    assert result.edges == [(0, 1), (1, 2), (2, 3)]
    assert len(list(text_lines(result))) > 4


# Inputs


def test_same_seed_gives_the_same_inputs(chain: LoadedModel) -> None:
    first, second, other = (make_inputs(chain.original.graph, {}, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.arrays[0], second.arrays[0])
    assert not np.array_equal(first.arrays[0], other.arrays[0])


def test_shape_sets_open_dimensions(tmp_path: Path) -> None:
    model = write_model(tmp_path / "open.onnx", [helper.make_node("Tanh", ["X"], ["Y"])], ["batch", None, 4])
    by_name = make_inputs(model.original.graph, parse_shapes(["batch=5"]), 0)
    assert by_name.arrays[0].shape == (5, 2, 4)
    assert make_inputs(model.original.graph, parse_shapes(["X=1x7x4"]), 0).arrays[0].shape == (1, 7, 4)


@pytest.mark.parametrize(
    ("texts", "code"),
    [(["X=2x3"], "usage.shape-differs"), (["Z=1"], "usage.unknown-shape"), (["X"], "usage.invalid-shape")],
)
def test_wrong_shape_is_refused(chain: LoadedModel, texts: list[str], code: str) -> None:
    with assert_raises(code):
        make_inputs(chain.original.graph, parse_shapes(texts), 0)


def test_saved_inputs_are_read_again(chain: LoadedModel, tmp_path: Path) -> None:
    data_set = make_inputs(chain.original.graph, {}, 7)
    save_inputs_to(tmp_path / "saved", [data_set], chain.original.graph)
    (read,) = read_inputs(tmp_path / "saved", chain.original.graph)
    np.testing.assert_array_equal(read.arrays[0], data_set.arrays[0])
    np.savez(tmp_path / "inputs.npz", X=data_set.arrays[0])
    (read,) = read_inputs(tmp_path / "inputs.npz", chain.original.graph)
    np.testing.assert_array_equal(read.arrays[0], data_set.arrays[0])


@pytest.mark.parametrize("name", ["test_data_set_0", "test_data_set_0/input_0.pb"])
def test_inputs_are_not_saved_through_a_link(chain: LoadedModel, tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "input_0.pb").write_bytes(b"mine")
    link = tmp_path / "saved" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(mine if link.suffix != ".pb" else mine / "input_0.pb")
    with assert_raises("job.state-linked"):
        save_inputs_to(tmp_path / "saved", [make_inputs(chain.original.graph, {}, 7)], chain.original.graph)
    assert (mine / "input_0.pb").read_bytes() == b"mine"


def test_data_sets_are_read_in_the_order_of_their_numbers(chain: LoadedModel, tmp_path: Path) -> None:
    made = [make_inputs(chain.original.graph, {}, seed) for seed in range(11)]
    save_inputs_to(tmp_path / "saved", made, chain.original.graph)
    read = read_inputs(tmp_path / "saved", chain.original.graph)
    assert [np.array_equal(a.arrays[0], b.arrays[0]) for a, b in zip(made, read, strict=True)] == [True] * 11


def test_unusable_inputs_are_refused(chain: LoadedModel, tmp_path: Path) -> None:
    graph = chain.original.graph
    (tmp_path / "empty").mkdir()
    with assert_raises("usage.input-missing"):
        read_inputs(tmp_path / "empty", graph)
    with assert_raises("usage.input-unreadable"):
        read_inputs(tmp_path / "missing.npz", graph)
    (tmp_path / "text.npz").write_text("text")
    with assert_raises("usage.input-unreadable"):
        read_inputs(tmp_path / "text.npz", graph)
    np.savez(tmp_path / "pickled.npz", X=np.array([{"a": 1}], dtype=object))
    with assert_raises("usage.input-unreadable"):
        read_inputs(tmp_path / "pickled.npz", graph)
    np.savez(tmp_path / "shape.npz", X=np.zeros((2, 2), np.float32))
    with assert_raises("usage.input-differs"):
        read_inputs(tmp_path / "shape.npz", graph)


def test_damaged_inputs_are_refused(chain: LoadedModel, tmp_path: Path) -> None:
    graph, array = chain.original.graph, make_inputs(chain.original.graph, {}, 7).arrays[0]
    np.savez_compressed(tmp_path / "x.npz", X=array)
    packed = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(packed[:60] + bytes([packed[60] ^ 255]) + packed[61:])
    with assert_raises("usage.input-unreadable"):
        read_inputs(tmp_path / "x.npz", graph)
    np.save(tmp_path / "input_0.npy", array)
    plain = (tmp_path / "input_0.npy").read_bytes()
    for damaged in (plain.replace(b"}", b" "), plain[:-1]):
        (tmp_path / "input_0.npy").write_bytes(damaged)
        with assert_raises("usage.input-unreadable"):
            read_inputs(tmp_path, graph)


# Models


def test_unusable_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("text")
    with pytest.raises(ModelError):
        LoadedModel.read(tmp_path / "text.onnx")
    with assert_raises("model.file-unreadable"):
        LoadedModel.read(tmp_path / "missing.onnx")


@pytest.mark.parametrize("location", ["../outside.bin", "/etc/hostname", "missing.bin"])
def test_external_data_outside_of_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "outside.bin").write_bytes(bytes(24))
    folder = tmp_path / "model"
    folder.mkdir()
    weights = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=[6], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "24")):
        weights.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("Add", ["X", "W"], ["Y"])], "g", [tensor_value("X", [6])], [tensor_value("Y", [6])], [weights]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with assert_raises("model.external-data"):
        LoadedModel.read(folder / "m.onnx")


def keep_weights_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every model with more than 100 bytes of weights be a large one, whose weights stay in files."""
    monkeypatch.setattr("conformance.own.graphs.reading.MAX_LOADED_BYTES", 100)
    monkeypatch.setattr("conformance.own.graphs.reading.MIN_MAPPED_BYTES", 1)


def write_external_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a model with external data that is not loaded, because it is above the limit of this test."""
    keep_weights_in_files(monkeypatch)
    folder.mkdir()
    W = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)
    (folder / "w.bin").write_bytes(bytes(64) + W.tobytes())
    weights = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=W.shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "64"), ("length", str(W.nbytes))):
        weights.external_data.add(key=key, value=value)
    nodes = [helper.make_node("MatMul", ["X", "W"], ["A"]), helper.make_node("Tanh", ["A"], ["Y"])]
    graph = helper.make_graph(nodes, "g", [tensor_value("X", [2, 40])], [tensor_value("Y", [2, 30])], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


@pytest.mark.parametrize(
    ("subjects", "is_shared"),
    [
        (["onnxruntime", "my_module:Backend"], True),
        (["onnxruntime", "tract"], False),
        (["exec:./harness"], False),
        ([], False),
    ],
)
def test_large_weights_are_in_files_if_every_subject_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subjects: list[str], is_shared: bool
) -> None:
    """A module of the user gets the model with all tensors from its harness, and an adapter of the suite may not."""
    keep_weights_in_files(monkeypatch)
    (tmp_path / "m.onnx").write_bytes(bytes(101))
    named = [SubjectName.parse(text, SubjectKind.BACKEND) for text in subjects]
    with shared_weights([tmp_path / "m.onnx"], named) as scratch:
        assert (scratch is not None) is is_shared
    monkeypatch.setattr("conformance.own.graphs.reading.MAX_MERGED_BYTES", 100)
    with shared_weights([tmp_path / "m.onnx"], named) as scratch:
        assert scratch is None


def test_external_data_of_a_subject_in_this_process_is_that_of_the_folder_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the same name in the current folder has other elements."""
    path = write_external_model(tmp_path / "model", monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.bin").write_bytes(bytes(64 + 40 * 30 * 4))
    model = LoadedModel.read(path)
    assert model.data_folder == tmp_path / "model"
    monkeypatch.setattr("conformance.own.graphs.reading.MAX_LOADED_BYTES", 2**28)
    whole = LoadedModel.read(path)
    assert whole.data_folder is None
    for backend, read in ((load_backend("onnx-reference").target, model), (EvaluatorBackend(), whole)):
        result = audit(read, backend, (2, 40))
        assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 2


@pytest.mark.programs
def test_external_data_is_mapped_and_found_by_the_subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LoadedModel.read(write_external_model(tmp_path / "model", monkeypatch))
    assert model.data_folder == tmp_path / "model"
    assert len(model.original.SerializeToString()) < 40 * 30 * 4
    starting = StartingSubjects([SubjectName.parse("onnxruntime", SubjectKind.BACKEND)], Limits(60), {})
    try:
        (subject,) = starting.subjects()
        result = audit_subject(model, subject, make_inputs(model.original.graph, {}, 0))
        kept = AuditWorkers(ProcessWorkers(1, pytest.fail), tmp_path / "kept")
        again = audit_subject(
            model, subject, make_inputs(model.original.graph, {}, 0), options=AuditOptions(workers=kept)
        )
    finally:
        starting.end()
    assert not result.failure
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT] * 2
    assert again.nodes == result.nodes


def test_initializers_of_a_large_model_file_move_to_one_file_that_all_parts_share(
    tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_external_model(tmp_path / "model", monkeypatch)
    model = onnx.load(path)
    onnx.save(model, tmp_path / "whole.onnx")
    (tmp_path / "scratch").mkdir()
    moved = LoadedModel.read(tmp_path / "whole.onnx", scratch=tmp_path / "scratch")
    assert moved.data_folder == tmp_path / "scratch"
    assert len(moved.prepared.SerializeToString()) < 40 * 30 * 4
    weights = map_external_tensor(moved.prepared.graph.initializer[0], tmp_path / "scratch")
    assert weights.tobytes() == model.graph.initializer[0].raw_data
    pytest.importorskip("onnxruntime")
    options = ("-b", "onnxruntime", "--no-isolation", "--json", tmp_path / "audit.json")
    assert command("audit", tmp_path / "whole.onnx", *options).status == 0
    first = json.loads((tmp_path / "audit.json").read_text())["audits"][0]["nodes"]
    assert command("audit", path, *options).status == 0
    assert json.loads((tmp_path / "audit.json").read_text())["audits"][0]["nodes"] == first


@pytest.mark.parametrize(("location", "offset"), [("../w.bin", 0), ("missing.bin", 0), (".", 0), ("w.bin", 4000)])
def test_unusable_external_data_above_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, offset: int
) -> None:
    file = write_external_model(tmp_path / "model", monkeypatch)
    (tmp_path / "w.bin").write_bytes(bytes(5000))
    model = onnx.load(file, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        entry.value = {"location": location, "offset": str(offset)}.get(entry.key, entry.value)
    file.write_bytes(model.SerializeToString())
    with assert_raises("model.external-data"):
        LoadedModel.read(file)


def test_protobuf_above_two_gibibytes_is_refused_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "m.onnx").open("wb") as stream:
        stream.truncate(2**31 + 1)
    with assert_raises("model.too-large"):
        LoadedModel.read(tmp_path / "m.onnx")


def test_large_weights_are_judged_with_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_weights_in_files(monkeypatch)
    rows = 2**16
    with (tmp_path / "w.bin").open("wb") as stream:
        stream.truncate(64 * rows * 4)  # 16 MiB
    weights = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=[64, rows], data_location=TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="w.bin")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "W"], ["Y"])], "g", [tensor_value("X", [1, 64])], [], [weights]
    )
    graph.output.append(tensor_value("Y", [1, rows]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    class Zeros:
        def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> Any:
            return type("Prepared", (), {"run": lambda *_: [np.zeros((1, rows), np.float32)]})()

    monkeypatch.setattr("conformance.exact.judgement.samples._BLOCK", 2**18)
    audited = LoadedModel.read(tmp_path / "m.onnx")
    tracemalloc.start()
    try:
        result = audit(audited, Zeros(), (1, 64))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.nodes[0].verdict is NodeVerdict.CORRECT
    assert 0 < result.nodes[0].elements < rows
    assert peak < 3 * 16 * 2**20
