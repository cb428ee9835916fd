"""Examples of any declared operator are drawn, judged by the enclosures, shrunk, and written as cases."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from msgspec import structs
from onnx.reference import ReferenceEvaluator

from conformance.corpus.corpus import read_manifest
from conformance.declarations.values import MODES
from conformance.jobs.job import run_job
from conformance.jobs.process_pool import ProcessWorkers
from conformance.search.cases import build_oracle_case
from conformance.search.conditions import find_conditions, restore
from conformance.search.drawn_example import DrawnDocument, DrawnExample, draw_example
from conformance.search.evaluation import EvaluatedExample, evaluate
from conformance.search.failing_examples import FailingExamples
from conformance.search.job import SearchJob
from conformance.search.shrinking import shrink
from conformance.serialization.codec import JsonReader, encode_json
from conformance.serialization.decoding import MalformedError
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level, Verdict


class LeakyBelowMinusTwo:
    """A backend whose Relu returns its operand where that is below -2."""

    def __init__(self, model):
        self.evaluator = ReferenceEvaluator(model)
        self.is_faulty = model.graph.node[0].op_type == "Relu"

    @classmethod
    def prepare(cls, model, device="CPU"):
        return cls(model)

    def run(self, inputs):
        feeds = dict(zip(self.evaluator.input_names, inputs, strict=True))
        with np.errstate(all="ignore"):
            (output,) = self.evaluator.run(None, feeds)
            return [np.where(inputs[0] < -2, inputs[0], output) if self.is_faulty else np.asarray(output)]


FAULTY = f"{__name__}:LeakyBelowMinusTwo"


def search(*operators, examples=40, workers=1, level=Level.MUST):
    job = SearchJob(((FAULTY, SubjectKind.BACKEND),), operators, 3, examples, isolated=False, level=level)
    found = FailingExamples(job)
    for chunk in run_job(job, ProcessWorkers(workers, lambda _: None)):
        found.add(chunk)
    return found


@pytest.fixture(scope="module")
def found():
    return search("Relu", "Exp")


def test_search_of_declared_operators_finds_and_shrinks_the_fault(found):
    (failure,) = found
    example = DrawnExample.from_document(failure.drawn)
    assert (failure.about, example.operator) == ("Relu", "Relu")
    assert example.node.operands["X"].size == 1
    assert failure.conditions == []
    assert found.verdicts[FAULTY][Verdict.PASS] > 20


def test_search_with_several_workers_finds_the_same(found):
    (again,), (failure,) = search("Relu", "Exp", workers=2), found
    assert structs.replace(again, seconds=0) == structs.replace(failure, seconds=0)


def test_failing_drawn_example_is_written_as_a_case(found, tmp_path):
    found.write_corpus(tmp_path / "failing")
    ((id, case),) = read_manifest(tmp_path / "failing").cases.items()
    assert id.startswith("test_search_relu_")
    model = onnx.load(tmp_path / "failing" / case.path / "model.onnx")
    assert [node.op_type for node in model.graph.node] == ["Relu"]


def test_drawn_example_survives_json_and_a_wrong_document_is_refused():
    example = draw_example("Conv", "4").choosing("size c", 1).editing("X", 0, 2.0)
    document = JsonReader(DrawnDocument)(encode_json(example.to_document()))
    assert DrawnExample.from_document(document).built.model == example.built.model
    for change in ({"operator": "Convv"}, {"edits": {"X": {"x": 1.0}}}, {"edits": {"X": {"-1": 1.0}}}):
        with pytest.raises(MalformedError):
            DrawnExample.from_document(structs.replace(document, **change))


def test_shrink_of_a_drawn_example_keeps_what_the_failure_needs():
    example = draw_example("TopK", "1").choosing("size S1", 4).choosing("rank", 0)

    def is_same(other):
        return other.node.operands["X"].shape[-1] >= 3

    assert is_same(example)
    small, _ = shrink(example, is_same)
    assert small.node.operands["X"].shape[-1] == 3
    assert small.complexity < example.complexity
    names = find_conditions(small, is_same)
    assert names
    assert not is_same(restore(small, names))


def test_indices_with_nan_are_accepted_as_unspecified():
    subject = load_subject(SubjectName.parse("onnxruntime", SubjectKind.BACKEND))
    for seed in range(10):
        example = draw_example("ArgMin", str(seed)).choosing("declaration", 0).choosing("opset", 0)
        example = example.choosing("type T", 0).choosing("values of X", MODES.index("hard"))
        case = build_oracle_case(example)
        assert evaluate(subject, case).verdict is Verdict.PASS


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_evaluated_drawn_example_passes_on_a_right_backend(level):
    subject = load_subject(SubjectName.parse("onnxruntime", SubjectKind.BACKEND))
    for operator in ("Add", "MatMul", "Tanh", "Softplus"):
        evaluated = EvaluatedExample(draw_example(operator, "2"), level)
        assert evaluated.outcome(subject).verdict in {Verdict.PASS, Verdict.UNSUPPORTED}


def test_search_command_with_an_unknown_operator_names_a_near_one(command):
    ended = command("search", "-b", "reference", "--operator", "Convv")
    assert (ended.status, ended.code) == (2, "usage.operator-not-declared")
    assert "Conv" in ended.err
