"""The cases of the pass notice every faulty rewrite, and accuse no right one."""

from __future__ import annotations

import json

import pytest
from measured import rewrites_read, rewrites_told
from once import once

from conformance.deviations.rewrites import faulty_rewrites
from conformance.strength.report import rewrite_document, rewrite_lines
from conformance.strength.rewrites import rewrites_work

FAULTS = [fault for faults in faulty_rewrites().values() for fault in faults]


@pytest.fixture(scope="module")
def strength(whole_corpus, tmp_path_factory):
    """What the cases that say what the pass does make of the catalogue."""
    return rewrites_read(once(tmp_path_factory, "rewrites", lambda: rewrites_told(whole_corpus)))


@pytest.mark.whole
def test_every_faulty_rewrite_is_noticed(strength):
    assert [one.fault.id for one in strength.survivors] == []


@pytest.mark.whole
def test_no_right_rewrite_is_accused(strength):
    accused = {one.rewrite.id: list(map(str, one.accusers)) for one in strength.acquittals if one.accusers}
    assert accused == {}
    assert all(one.cases for one in strength.acquittals)


@pytest.mark.whole
def test_it_holds(strength):
    assert strength.holds


@pytest.mark.whole
def test_people_are_told_who_notices_what(strength):
    told = "\n".join(rewrite_lines(strength, verbose=True))
    assert all(f"  {fault.id}: {fault.text}: " in told for fault in FAULTS)
    assert "0 accused" in told


@pytest.mark.whole
def test_machines_are_told_the_same(strength):
    told = json.loads(json.dumps(rewrite_document(strength)))
    assert [entry["id"] for entry in told["faults"]] == [fault.id for fault in FAULTS]
    assert all(entry["noticed"]["complaint"] for entry in told["faults"])


def test_there_are_a_hundred_faults_and_some_of_every_kind():
    assert len(FAULTS) >= 100
    assert {len(faults) >= 5 for faults in faulty_rewrites().values()} == {True}


@pytest.mark.whole
def test_each_is_noticed_at_its_level_or_a_stronger_one(strength):
    standings = [one for standings in strength.standings.values() for one in standings]
    assert [one.fault.id for one in standings if one.noticed.level.rank > one.fault.level.rank] == []


def test_each_has_a_name_and_a_sentence_of_its_own():
    assert len({fault.id for fault in FAULTS}) == len({fault.text for fault in FAULTS}) == len(FAULTS)


def test_progress_is_told_of_each():
    assert rewrites_work() > len(FAULTS)
