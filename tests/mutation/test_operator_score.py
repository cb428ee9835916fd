"""The corpus detects every mutant that it must, decisively, and has no false positives."""

from __future__ import annotations

import json

import pytest

from conformance.evidence.inputs import MutationDocument
from conformance.mutants import FAMILIES, catalogue
from conformance.serialization.codec import JsonReader
from conformance.verdicts import Level
from mutation.operators import (
    DECISIVE_MARGIN,
    ONNX_CASES,
    cases_by_family,
    detect,
    measure_mutation_score,
    progress_steps,
)
from mutation.pass_mutants import pass_mutants
from mutation.report import score_document, score_lines

OPTIMIZERS = FAMILIES[:3]


def mutant(id):
    return next(one for rows in catalogue().values() for one in rows if one.id == id)


@pytest.mark.whole
def test_must_mutants_are_detected_by_must_cases(mutation_score):
    assert [result.mutant.id for result in mutation_score.survivors] == []


@pytest.mark.whole
def test_mutants_below_must_are_detected_at_their_level(mutation_score):
    results = [one for results in mutation_score.results.values() for one in results]
    below = [one for one in results if one.mutant.level is not Level.MUST]
    assert [one.mutant.id for one in below if one.detection is None] == []


@pytest.mark.whole
def test_must_cases_have_no_false_positives(mutation_score):
    assert [(one.mutant.id, str(one.false_positive)) for one in mutation_score.false_positives] == []


@pytest.mark.whole
def test_correct_variants_have_no_false_positives(mutation_score):
    assert {one.variant.id: one.false_positives for one in mutation_score.variants if one.false_positives} == {}
    assert all(one.cases for one in mutation_score.variants)


@pytest.mark.whole
def test_must_mutants_are_detected_decisively(mutation_score):
    results = [one for results in mutation_score.results.values() for one in results]
    must = [one for one in results if one.mutant.level is Level.MUST and one.detection]
    assert [one.mutant.id for one in must if not one.detection.is_decisive] == []
    assert DECISIVE_MARGIN >= 10


@pytest.mark.whole
def test_onnx_cases_detect_less_than_half(mutation_score):
    results = [one for name in OPTIMIZERS for one in mutation_score.results[name] if one.mutant.level is Level.MUST]
    theirs = sum(bool(one.detected_by_onnx) for one in results) / len(results)
    assert 0.3 < theirs < 0.5
    assert all(one.detected_by_onnx is None for one in mutation_score.results["ArgMax"])


def test_corpus_contains_all_onnx_cases(whole_corpus):
    assert set(ONNX_CASES) <= whole_corpus.cases.keys()


def test_case_in_memory_survives_a_backend_that_changes_inputs(opened):
    (case,) = (case for case in cases_by_family(opened)["Adam"] if case.id == "test_adam")
    spoiler = mutant("adam.overwrites_x").backend
    assert detect(spoiler, case).how == "inputs"
    assert detect(spoiler, case).how == "inputs"
    assert detect(mutant("adam.default_beta_0").backend, case) is None


def test_progress_is_called_as_often_as_announced(opened):
    seen = []
    measure_mutation_score(opened, seen.append, only=("ArgMax",))
    assert len(seen) == progress_steps() - sum(len(catalogue()[name]) for name in OPTIMIZERS)


@pytest.mark.whole
def test_score_document_and_lines_list_every_mutant(mutation_score, whole_corpus):
    document = score_document(whole_corpus, mutation_score, [])
    assert json.loads(json.dumps(document)) == document
    assert set(document["operators"]) == set(FAMILIES)
    assert document["passes"] == mutation_score.passes
    text = "\n".join(score_lines(mutation_score, [], verbose=True))
    assert all(one.id in text for rows in catalogue().values() for one in rows)
    assert "correct variants" in text


def test_command_with_survivors_exits_with_1(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus)
    assert ended.status == 1, "a corpus of seven cases cannot detect most mutants"
    assert "NOT DETECTED" in ended.out


def test_command_with_json_prints_one_object(mutation_command, small_corpus):
    ended = mutation_command("--data", small_corpus, "--json", "-", "--sweep", 1)
    assert JsonReader(MutationDocument)(ended.out.encode()).command.startswith("python -m mutation --data")
    document = json.loads(ended.out)
    assert document["passes"] is False
    assert len(document["sweep"]) == 6
    assert len(document["pass"]["mutants"]) == sum(map(len, pass_mutants().values()))


def test_help_counts_the_mutants_of_the_catalogue(mutation_command):
    words = mutation_command("--help").out.split()
    for table in (catalogue(), pass_mutants()):
        assert str(sum(map(len, table.values()))) in words
