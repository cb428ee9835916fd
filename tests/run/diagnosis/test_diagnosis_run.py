"""A run's failures are explained by subject and family, in several processes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs
from runs_in_memory import make_result

from conformance.base.errors import JobError
from conformance.base.verdicts import Level
from conformance.run.diagnosis import diagnosis_run
from conformance.run.diagnosis.collected_results import ResultCollector
from conformance.run.diagnosis.diagnosis_run import diagnose_run
from conformance.run.diagnosis.failure_evidence import record_outputs
from conformance.run.mutants import catalogue
from conformance.run.results.records import Diagnosed
from conformance.subjects.calling.subject_names import Subject

NOTHING = Diagnosed([], [])


@pytest.fixture
def died(whole_corpus):
    """Results of two subjects that die on uint64 in ArgMax and on chained steps in Adagrad."""

    def found(verdict: str = "crash") -> ResultCollector:
        findings = ResultCollector()
        for subject in "ab":
            for id, case in whole_corpus.cases.items():
                if id.startswith(("test_argmax_type_", "test_adagrad_c")) and not case.is_invalid:
                    wrong = "uint64" in id or id.startswith("test_adagrad_chained_")
                    told = {"verdict": verdict, "phase": "run", "message": f"died {len(id)} ms on"} if wrong else {}
                    findings.add(make_result(subject=subject, case=id, **told), case.level)
        return findings

    return found


def test_diagnose_run_without_failures_is_empty(whole_corpus):
    findings = ResultCollector()
    findings.add(make_result(), Level.MUST)
    assert not findings.has_explainable_failure
    assert diagnose_run(findings, whole_corpus) == NOTHING


@pytest.mark.parametrize("verdict", ["crash", "timeout"])
def test_diagnose_run_groups_crashes_by_message_and_properties(whole_corpus, died, verdict):
    found = diagnose_run(died(verdict), whole_corpus)
    assert found.diagnoses == []
    (group,) = (one for one in found.unexplained if (one.subject, one.operator) == ("a", "ArgMax"))
    assert group.failure_mode == f"{verdict}: died N ms on"
    assert [one.text for one in group.shared] == ["have the input of ArgMax of type uint64"]


def test_diagnosis_that_takes_too_long_is_recorded_and_loses_no_other(whole_corpus, died, monkeypatch):
    monkeypatch.setattr("conformance.run.diagnosis.diagnosis_run.MAX_SECONDS", 1e-3)
    found = diagnose_run(died(), whole_corpus)
    undiagnosed = {(one.subject, one.operator) for one in found.undiagnosed}
    others = {(one.subject, one.operator) for one in found.unexplained}  # a quick one may end before the clock ticks
    assert undiagnosed
    assert undiagnosed | others == {("a", "Adagrad"), ("a", "ArgMax"), ("b", "Adagrad"), ("b", "ArgMax")}
    assert {one.code for one in found.undiagnosed} == {"diagnosis.failed"}


def test_diagnose_run_orders_records_by_family_and_subject(whole_corpus, died):
    asked = [(one.operator, one.subject) for one in diagnose_run(died(), whole_corpus).unexplained]
    assert asked == [("Adagrad", "a"), ("Adagrad", "b"), ("ArgMax", "a"), ("ArgMax", "b")]


def test_diagnose_run_ignores_unsupported_cases(whole_corpus, died):
    findings, more = died(), died()
    more.add(make_result(subject="a", case="test_argmax_ties_default", verdict="unsupported"), Level.MUST)
    assert diagnose_run(more, whole_corpus) == diagnose_run(findings, whole_corpus)


@pytest.mark.programs
@pytest.mark.parametrize("processes", [2, pytest.param(9, marks=pytest.mark.long)])
def test_diagnose_run_is_independent_of_the_number_of_processes(whole_corpus, died, processes):
    assert diagnose_run(died(), whole_corpus, processes) == diagnose_run(died(), whole_corpus)


def test_diagnose_run_continues_alone_if_workers_die(monkeypatch, whole_corpus, died):
    workers = diagnosis_run.ProcessWorkers

    def failing_workers(count, notice):
        if count > 1:
            raise JobError("chunk-failed", "Chunk 0 failed.", "Check the memory.")
        return workers(count, notice)

    monkeypatch.setattr(diagnosis_run, "ProcessWorkers", failing_workers)
    assert diagnose_run(died(), whole_corpus, 2) == diagnose_run(died(), whole_corpus) != NOTHING


def test_diagnose_run_with_unreadable_corpus_names_what_is_undiagnosed(tmp_path, whole_corpus, died):
    found = diagnose_run(died(), replace(whole_corpus, path=tmp_path))
    assert structs.replace(found, undiagnosed=[]) == NOTHING
    assert {(one.subject, one.code.partition(".")[0]) for one in found.undiagnosed} == {
        ("a", "corpus"),
        ("b", "corpus"),
    }


def test_diagnose_run_keeps_other_diagnoses_if_one_raises(monkeypatch, whole_corpus, died):
    whole = diagnose_run(died(), whole_corpus)
    diagnose = diagnosis_run.diagnose

    def failing_on_argmax(subject, family, *rest):
        if family == "ArgMax":
            raise ValueError("external data")
        return diagnose(subject, family, *rest)

    monkeypatch.setattr(diagnosis_run, "diagnose", failing_on_argmax)
    found = diagnose_run(died(), whole_corpus)
    assert found.unexplained == [one for one in whole.unexplained if one.operator == "Adagrad"]
    assert [(one.subject, one.operator, one.code) for one in found.undiagnosed] == [
        ("a", "ArgMax", "diagnosis.failed"),
        ("b", "ArgMax", "diagnosis.failed"),
    ]


def test_diagnose_run_survives_an_error_before_the_first_diagnosis(monkeypatch, whole_corpus, died):
    def failing(*_):
        raise ValueError("external data")

    monkeypatch.setattr(diagnosis_run, "_families", failing)
    found = diagnose_run(died(), whole_corpus)
    assert [(one.subject, one.code) for one in found.undiagnosed] == [
        ("a", "diagnosis.failed"),
        ("b", "diagnosis.failed"),
    ]


@pytest.mark.long
def test_named_mutant_explains_failure_on_a_model_with_further_operators(whole_corpus):
    wrong = Subject("acme", "1", next(one for one in catalogue()["Adam"] if one.id == "adam.gradient_ascent").backend)
    further, findings = "test_adam_constants_002_r_constant_float", ResultCollector()
    for id, case in whole_corpus.cases.items():
        if id == further or id.startswith("test_adam_pairwise_00"):
            outputs = record_outputs(wrong, whole_corpus, case)
            told = {"verdict": "fail", "phase": "compare", "recorded_outputs": outputs}
            findings.add(make_result(subject="acme", case=id, **told), case.level)
    (record,) = diagnose_run(findings, whole_corpus).diagnoses
    assert further in record.cases
    assert record.explained == record.failing == len(record.cases)
