"""The corpus notices every mistake that a must case has to notice, decisively, and admits what the rulings admit."""

from __future__ import annotations

import json

import pytest

from conformance.deviations import FAMILIES, catalogue
from conformance.strength.operators import DECISIVE, UPSTREAM, held_cases, measure, noticed, work
from conformance.strength.report import document, lines
from conformance.verdicts import Level

OPTIMIZERS = FAMILIES[:3]


def deviation(id):
    return next(one for rows in catalogue().values() for one in rows if one.id == id)


@pytest.mark.whole
def test_every_must_deviation_is_noticed_by_a_must_case(strength):
    assert [standing.deviation.id for standing in strength.survivors] == []


@pytest.mark.whole
def test_every_deviation_below_must_is_noticed_at_its_level(strength):
    standings = [one for standings in strength.standings.values() for one in standings]
    below = [one for one in standings if one.deviation.level is not Level.MUST]
    assert [one.deviation.id for one in below if one.noticed is None] == []


@pytest.mark.whole
def test_no_must_case_accuses_what_the_rulings_admit(strength):
    assert [(one.deviation.id, str(one.accused)) for one in strength.accused] == []


@pytest.mark.whole
def test_no_correct_variant_is_accused(strength):
    assert {one.variant.id: one.accusers for one in strength.acquittals if one.accusers} == {}
    assert all(one.cases for one in strength.acquittals)


@pytest.mark.whole
def test_every_must_deviation_is_noticed_by_far_more_than_the_bound(strength):
    standings = [one for standings in strength.standings.values() for one in standings]
    must = [one for one in standings if one.deviation.level is Level.MUST and one.noticed]
    assert [one.deviation.id for one in must if not one.noticed.is_decisive] == []
    assert DECISIVE >= 10


@pytest.mark.whole
def test_onnx_s_own_cases_notice_less_than_half(strength):
    standings = [one for name in OPTIMIZERS for one in strength.standings[name] if one.deviation.level is Level.MUST]
    theirs = sum(bool(one.upstream) for one in standings) / len(standings)
    assert 0.3 < theirs < 0.5
    assert all(one.upstream is None for one in strength.standings["ArgMax"])


def test_all_of_onnx_s_own_cases_are_in_the_corpus(whole_corpus):
    assert set(UPSTREAM) <= whole_corpus.cases.keys()


def test_a_case_that_is_held_survives_a_subject_that_spoils_it(opened):
    (case,) = (case for case in held_cases(opened)["Adam"] if case.id == "test_adam")
    spoiler = deviation("adam.overwrites_x").backend
    assert noticed(spoiler, case).how == "inputs"
    assert noticed(spoiler, case).how == "inputs"
    assert noticed(deviation("adam.default_beta_0").backend, case) is None


def test_progress_is_told_as_often_as_was_announced(opened):
    seen = []
    measure(opened, seen.append, only=("ArgMax",))
    assert len(seen) == work() - sum(len(catalogue()[name]) for name in OPTIMIZERS)


@pytest.mark.whole
def test_the_finding_is_told_in_full(strength, whole_corpus):
    told = document(whole_corpus, strength, [])
    assert json.loads(json.dumps(told)) == told
    assert set(told["operators"]) == set(FAMILIES)
    assert told["holds"] == strength.holds
    text = "\n".join(lines(strength, [], verbose=True))
    assert all(one.id in text for rows in catalogue().values() for one in rows)
    assert "correct variants" in text


def test_the_command_prints_a_table_and_ends_by_what_it_found(command, small_corpus):
    ended = command("strength", "--data", small_corpus)
    assert ended.status == 1, "a corpus of seven cases lets most deviations survive"
    assert "must deviations survive" in ended.out
    assert "NOT NOTICED" in ended.out


def test_the_command_prints_one_json_object(command, small_corpus):
    ended = command("strength", "--data", small_corpus, "--json", "--sweep", 1)
    told = json.loads(ended.out)
    assert told["holds"] is False
    assert len(told["sweep"]) == 6
