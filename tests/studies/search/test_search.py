"""Examples are reproducible, are judged as cases are, and keep their failure when they are shrunk."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import fake_subject as fakes
import numpy as np
import onnx
import pytest
from dask_clusters import make_cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from runs_in_memory import make_result

from conformance.base.jobs.dask import DaskWorkers
from conformance.base.jobs.job import run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.serialization.decoding import JsonReader, encode_json
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.factors.wrapping import Context
from conformance.run.judging.execute import execute
from conformance.studies.search.evaluation import EvaluatedExample, evaluate, expected_rewrite, failure_signature
from conformance.studies.search.example import Example, ExampleDocument, build_model
from conformance.studies.search.failing_examples import FailingExamples
from conformance.studies.search.search_cases import NoExpectedOutputsError, build_oracle_case
from conformance.studies.search.search_job import SearchJob
from conformance.studies.search.search_sampling import sample_examples
from conformance.studies.search.shrinking import shrink
from conformance.subjects.adapters.reference import ReferenceBackend
from conformance.subjects.calling.subject_loading import load_subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

OPERATORS = ("Adam", "Momentum", "Adagrad", "ArgMax")


@pytest.fixture(scope="module")
def examples():
    """The first chunk of a seed."""
    return sample_examples(OPERATORS, 0, 0, 40)


def subject(name, kind=SubjectKind.BACKEND):
    return load_subject(SubjectName.parse(name, kind))


def job(name, examples=40, **options):
    return SearchJob(((name, SubjectKind.BACKEND),), ("Adagrad", "ArgMax"), 0, examples, isolated=False, **options)


ALONE = ProcessWorkers(1, lambda _: None)


def found(job, workers=ALONE):
    failures = FailingExamples(job)
    for chunk in run_job(job, workers):
        failures.add(chunk)
    return failures


def without_times(failures):
    return [structs.replace(find, seconds=0) for find in failures]


@pytest.mark.parametrize(("chunk", "are_equal"), [(0, True), (1, False)])
def test_sample_examples_is_reproducible_and_differs_between_chunks(examples, chunk, are_equal):
    again, first = (
        [one.to_document() for one in found] for found in (sample_examples(OPERATORS, 0, chunk, 40), examples)
    )
    assert (again == first) is are_equal


def test_example_survives_json(examples):
    for example in examples:
        again = Example.from_document(JsonReader(ExampleDocument)(encode_json(example.to_document())))
        assert build_model(again).model == build_model(example).model


def test_sample_examples_vary_every_dimension(examples):
    contexts = [example.context for example in examples]
    assert {example.operator for example in examples} == set(OPERATORS)
    assert len({context.scope for context in contexts}) > 5
    assert len({word for context in contexts for word in context.sources.values()}) > 4
    assert len({word for context in contexts for word in context.consumers.values()}) > 3
    assert {len(example.runs) for example in examples} > {1}


def test_build_model_keeps_the_order_of_attributes(examples):
    example = replace(next(one for one in examples if one.operator == "Adagrad"), context=Context())
    reordered = replace(example, attributes={"norm_coefficient": 0.5, "decay_factor": 0.25})
    (node,) = onnx.load_model_from_string(build_model(reordered).model).graph.node
    assert [attribute.name for attribute in node.attribute] == ["norm_coefficient", "decay_factor"]


def test_reference_passes_all_examples_with_outputs(examples):
    expected = subject("reference")
    verdicts = []
    for example in examples[:20]:
        try:
            verdicts.append(evaluate(expected, build_oracle_case(example)).verdict)
        except NoExpectedOutputsError:
            continue
    assert len(verdicts) > 10
    assert set(verdicts) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("name", "level", "verdict", "used_oracle"),
    [
        ("reference", Level.MUST, Verdict.PASS, False),
        ("fake_subject:always_wrong", Level.MUST, Verdict.FAIL, True),
        ("reference", Level.SHOULD, Verdict.PASS, True),
    ],
)
def test_outcome_uses_the_oracle_for_other_outputs_and_below_must(examples, name, level, verdict, used_oracle):
    evaluated = EvaluatedExample(examples[0], level)
    assert (evaluated.result(subject(name)).verdict, evaluated.used_oracle) == (verdict, used_oracle)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 39), st.integers(0, 3))
def test_shrink_returns_a_simpler_valid_example(examples, place, seed):
    chance = np.random.default_rng(seed)
    small, _ = shrink(examples[place], lambda smaller: bool(build_model(smaller).model) and chance.random() < 0.5)
    assert small.complexity <= examples[place].complexity
    onnx.checker.check_model(onnx.load_model_from_string(build_model(small).model))


def has_verdict(backend, verdict):
    """Return a condition: whether an example has this verdict on a backend."""

    def is_so(example):
        try:
            return evaluate(backend, build_oracle_case(example)).verdict is verdict
        except (NoExpectedOutputsError, ValueError, IndexError, KeyError):
            return False

    return is_so


def test_shrink_of_an_always_wrong_backend_leaves_one_element(examples):
    is_wrong = has_verdict(subject("fake_subject:always_wrong"), Verdict.FAIL)
    without_empty = [one for one in examples if all(array.size for array in one.operands.values())]
    for example in filter(is_wrong, without_empty[:8]):
        small, _ = shrink(example, is_wrong)
        assert (small.context, small.tensor_count) == (Context(), 1)
        assert all(array.size == 1 for array in small.operands.values())


class WrongInALoop(ReferenceBackend):
    """Returns wrong outputs for models with a Loop."""

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        inner = fakes.always_wrong if any(n.op_type == "Loop" for n in model.graph.node) else fakes.always_right
        return inner.prepare(model)


@pytest.mark.long
def test_shrink_keeps_what_the_failure_needs(examples):
    is_wrong = has_verdict(replace(subject("reference"), target=WrongInALoop), Verdict.FAIL)
    in_loop = next(example for example in examples if example.operator != "ArgMax" and is_wrong(example))
    small, _ = shrink(in_loop, is_wrong)
    assert "loop" in small.context.scope
    assert (small.context.sources, small.context.consumers, small.tensor_count) == ({}, {}, 1)


def test_equal_signatures_are_one_failing_example():
    failures = found(job("fake_subject:wrong_on_argmax"))
    assert {find.about for find in failures} == {"ArgMax"}
    keys = [(find.subject, find.about, find.violation) for find in failures]
    assert len(keys) == len(set(keys))


@pytest.mark.long
def test_search_has_the_same_examples_and_verdicts_on_all_workers():
    search = job("fake_subject:wrong_on_argmax", 80)
    with make_cluster(2) as cluster:
        teams = (ALONE, ProcessWorkers(2, pytest.fail), DaskWorkers(cluster.scheduler_address, pytest.fail))
        alone, processes, dask = [
            (one.combinations, one.verdicts, one.scopes, one.without_outputs, without_times(one))
            for one in (found(search, team) for team in teams)
        ]
    assert alone == processes == dask


@pytest.mark.parametrize("name", ["reference", "fake_subject:wrong_on_argmax"])
def test_verdict_of_an_example_is_that_of_a_run(examples, name):
    verdicts = []
    for evaluated in map(EvaluatedExample, examples[:8]):
        with suppress(NoExpectedOutputsError):
            verdict = evaluated.result(subject(name)).verdict
            verdicts.append((verdict, execute(subject(name), evaluated.case).verdict))
    assert len(verdicts) > 3
    assert [searched for searched, _ in verdicts] == [run for _, run in verdicts]


def test_correct_backend_has_no_failing_example():
    failures = found(job("reference"))
    assert len(failures) == 0
    assert failures.unsupporting_subjects() == []


def test_search_after_its_deadline_has_no_examples():
    assert found(job("reference", until=0.0)).examples == 0


def test_unsupporting_backend_is_listed():
    assert found(job("fake_subject:says_unsupported")).unsupporting_subjects() == ["fake_subject:says_unsupported"]


def test_expected_rewrite_removes_only_chain_operators():
    examples = sample_examples(("ArgMax",), 0, 0, 40)
    chained = [example for example in examples if example.context.scope == "main"]
    models = [
        (len(example.chain), expected_rewrite(onnx.load_model_from_string(build_model(example).model)))
        for example in chained
    ]
    assert not any(rewrite.fixed_point for length, rewrite in models if not length)
    assert any(rewrite.fixed_point for _, rewrite in models)


@pytest.mark.parametrize(
    ("message", "other"),
    [
        (
            'Evaluating #1 "index"\n\nCaused by:\n    U64 is no number\n\nStack backtrace:\n   0: run',
            "Evaluating If\n\nCaused by:\n    0: Evaluating #2\n    1: U64 is no number\n\nStack backtrace:\n   0: go",
        ),
        ("got ((), (0, 1)) (while lowering if_1, inputs=[no: (", "got ((), (0,)) (while lowering if_3, inputs=[no"),
        ("no kernel for if_3_select_0", "no kernel for if_12_select_1"),
    ],
)
def test_failure_signature_ignores_generated_names(message, other):
    example, expected = sample_examples(OPERATORS, 0, 0, 1)[0], subject("reference")
    told, too = (
        failure_signature(expected, example, make_result(verdict="error", phase="load", message=text))
        for text in (message, other)
    )
    assert told == too
    assert told != failure_signature(
        expected, example, make_result(verdict="error", phase="load", message="U32 is no number")
    )
