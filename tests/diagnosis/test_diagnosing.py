"""A run's failures are explained question by question, in as many processes as worked on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.diagnosis import diagnosing
from conformance.diagnosis.diagnosing import diagnosed
from conformance.diagnosis.findings import Findings
from conformance.errors import CampaignError
from conformance.verdicts import Level

NOTHING = {"diagnoses": [], "unexplained": []}


@pytest.fixture
def died(whole_corpus):
    """What is found of two subjects that die of uint64 in ArgMax and of chained steps in Adagrad, and pass the rest."""

    def found(verdict: str = "crash") -> Findings:
        findings = Findings()
        for subject in "ab":
            for id, case in whole_corpus.cases.items():
                if id.startswith(("test_argmax_type_", "test_adagrad_c")) and not case.is_invalid:
                    wrong = "uint64" in id or id.startswith("test_adagrad_chained_")
                    told = {"verdict": verdict, "phase": "run", "message": f"died {len(id)} ms on"} if wrong else {}
                    findings.add({"subject": subject, "case": id, "verdict": "pass", **told}, case.level)
        return findings

    return found


def test_a_subject_without_a_fault_has_no_diagnosis(whole_corpus):
    findings = Findings()
    findings.add({"subject": "a", "case": "test_adam", "verdict": "pass"}, Level.MUST)
    assert not findings.explicable
    assert diagnosed(findings, whole_corpus) == NOTHING


@pytest.mark.parametrize("verdict", ["crash", "timeout"])
def test_what_ends_a_subject_is_grouped_by_what_was_said_and_by_what_its_cases_share(whole_corpus, died, verdict):
    found = diagnosed(died(verdict), whole_corpus)
    assert found["diagnoses"] == []
    (group,) = (one for one in found["unexplained"] if (one["subject"], one["operator"]) == ("a", "ArgMax"))
    assert group["manner"] == f"{verdict}: died N ms on"
    assert [one["text"] for one in group["shared"]] == ["have the input of ArgMax of type uint64"]


def test_questions_are_asked_family_after_family_for_each_subject(whole_corpus, died):
    asked = [(one["operator"], one["subject"]) for one in diagnosed(died(), whole_corpus)["unexplained"]]
    assert asked == [("Adagrad", "a"), ("Adagrad", "b"), ("ArgMax", "a"), ("ArgMax", "b")]


def test_what_a_subject_does_not_support_says_nothing(whole_corpus, died):
    findings, more = died(), died()
    more.add({"subject": "a", "case": "test_argmax_ties_default", "verdict": "unsupported"}, Level.MUST)
    assert diagnosed(more, whole_corpus) == diagnosed(findings, whole_corpus)


@pytest.mark.programs
@pytest.mark.parametrize("processes", [2, 9])
def test_any_number_of_processes_gives_the_same(whole_corpus, died, processes):
    assert diagnosed(died(), whole_corpus, processes) == diagnosed(died(), whole_corpus)


def test_where_processes_die_the_questions_are_answered_here(monkeypatch, whole_corpus, died):
    workers = diagnosing.ProcessWorkers

    def dies_of_every_piece(count, notice):
        if count > 1:
            raise CampaignError("Piece 0 cannot be done.", "See whether memory is short.")
        return workers(count, notice)

    monkeypatch.setattr(diagnosing, "ProcessWorkers", dies_of_every_piece)
    assert diagnosed(died(), whole_corpus, 2) == diagnosed(died(), whole_corpus) != NOTHING


def test_a_corpus_that_cannot_be_read_explains_nothing(tmp_path, whole_corpus, died):
    assert diagnosed(died(), replace(whole_corpus, path=tmp_path)) == NOTHING
