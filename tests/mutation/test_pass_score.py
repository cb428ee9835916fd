"""The cases of the pass detect every mutant of the pass, and have no false positives."""

from __future__ import annotations

import json
import re

import pytest
from corpus_measurements import measure_pass_cases, read_pass_measurement
from session_cache import compute_once

from mutation.pass_mutants import pass_mutants
from mutation.passes import pass_progress_steps
from mutation.report import pass_score_document, pass_score_lines

MUTANTS = [mutant for mutants in pass_mutants().values() for mutant in mutants]


@pytest.fixture(scope="module")
def pass_score(whole_corpus, tmp_path_factory):
    """The mutation score of the pass cases of the whole corpus."""
    return read_pass_measurement(compute_once(tmp_path_factory, "pass-score", lambda: measure_pass_cases(whole_corpus)))


@pytest.mark.whole
def test_pass_mutants_are_all_detected(pass_score):
    assert [one.mutant.id for one in pass_score.survivors] == []


@pytest.mark.whole
def test_correct_optimizers_have_no_false_positives(pass_score):
    false_positives = {
        one.optimizer.id: list(map(str, one.false_positives)) for one in pass_score.correct if one.false_positives
    }
    assert false_positives == {}
    assert all(one.cases for one in pass_score.correct)


@pytest.mark.whole
def test_pass_score_passes(pass_score):
    assert pass_score.passes


@pytest.mark.whole
def test_pass_score_lines_list_every_mutant(pass_score):
    text = "\n".join(pass_score_lines(pass_score, verbose=True))
    assert all(f"  {mutant.id}: {mutant.text}: " in text for mutant in MUTANTS)
    assert re.search(r": 0 with \D*$", text, re.MULTILINE)


@pytest.mark.whole
def test_pass_score_document_lists_every_mutant(pass_score):
    document = json.loads(json.dumps(pass_score_document(pass_score)))
    assert [entry["id"] for entry in document["mutants"]] == [mutant.id for mutant in MUTANTS]
    assert all(entry["detection"]["violation"] for entry in document["mutants"])


def test_pass_mutant_themes_have_at_least_five_mutants():
    assert len(MUTANTS) >= 100
    assert {len(mutants) >= 5 for mutants in pass_mutants().values()} == {True}


@pytest.mark.whole
def test_pass_mutants_are_detected_at_their_level(pass_score):
    results = [one for results in pass_score.results.values() for one in results]
    assert [one.mutant.id for one in results if one.detection.level.rank > one.mutant.level.rank] == []


def test_ids_and_texts_of_mutants_are_unique():
    assert len({mutant.id for mutant in MUTANTS}) == len({mutant.text for mutant in MUTANTS}) == len(MUTANTS)


def test_progress_steps_cover_all_mutants():
    assert pass_progress_steps() > len(MUTANTS)
