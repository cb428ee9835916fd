"""Matching of the subjects of two runs, and distinct ids for the releases of one subject."""

from __future__ import annotations

import pytest
from runs_in_memory import make_run, plain_case, plain_result

from conformance.results.records import EntryRecord, SubjectRecord
from conformance.results.releases import match_subjects, rename_subjects, separate_releases
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict

DIAGNOSIS = {
    "operator": "Adam",
    "mutant": "adam.x",
    "text": "forgets x",
    "explained": 1,
    "failing": 1,
    "indistinguishable": [],
    "cases": ["test_x"],
    "jointly_explained": [],
}


def optimizer(id: str, version: str = "1.0"):
    return SubjectRecord(id, SubjectKind.OPTIMIZER, version)


def backend(id: str, version: str = "1.0"):
    return SubjectRecord(id, SubjectKind.BACKEND, version)


def run_of(subject):
    """Return a run of one failing case on one subject."""
    id = subject.id
    header = {
        "subjects": [subject],
        "options": {id: ["--timeout", "9"]},
        "criterion": {"expectations": [EntryRecord(id, "e.toml:1", Verdict.FAIL, [], [], [])]},
    }
    footer = {"verdicts": {id: {"must": {"fail": 1}}}, "diagnoses": [{**DIAGNOSIS, "subject": id}]}
    return make_run("r.jsonl", header, [plain_case("test_x")], [plain_result(id, "test_x", "fail")], footer)


@pytest.mark.parametrize(
    ("before", "after", "matches"),
    [
        ([backend("acme")], [backend("acme", "2.0")], {"acme": "acme"}),
        ([backend("acme@1")], [backend("acme@2")], {"acme@1": "acme@2"}),
        ([backend("acme@1")], [backend("acme[python=/opt/python]")], {"acme@1": "acme[python=/opt/python]"}),
        ([backend("acme@1[level=all]")], [backend("acme@2[level=all]")], {"acme@1[level=all]": "acme@2[level=all]"}),
        ([backend("acme@1[level=all]")], [backend("acme@2")], {}),
        ([backend("acme@1")], [backend("acme@2"), backend("acme@3")], {}),
        ([backend("acme@1")], [optimizer("acme@2")], {}),
        ([backend("acme")], [backend("other")], {}),
        ([backend("exec:acme one")], [backend("exec:acme two")], {}),
        ([backend("][")], [backend("[]]")], {}),
        ([optimizer("acme")], [optimizer("other")], {"acme": "other"}),
        ([optimizer("acme")], [optimizer("other"), optimizer("third")], {}),
        ([optimizer("acme"), optimizer("x@1")], [optimizer("acme"), optimizer("x@2")], {"acme": "acme", "x@1": "x@2"}),
    ],
)
def test_subjects_match_by_id_then_by_name_then_as_only_optimizers(before, after, matches):
    assert match_subjects(before, after) == matches


def test_rename_changes_the_id_in_header_results_and_footer():
    run = rename_subjects(run_of(backend("acme")), {"acme": "acme@1"})
    assert [subject.id for subject in run.header.subjects] == list(run.header.options) == ["acme@1"]
    assert [entry.subject for entry in run.header.criterion.expectations] == ["acme@1"]
    assert list(run.rows) == list(run.results) == [("acme@1", "test_x")]
    assert {row.subject for row in (*run.rows.values(), *run.results.values())} == {"acme@1"}
    assert list(run.footer.verdicts) == [one.subject for one in run.footer.diagnoses] == ["acme@1"]
    assert run.footer.undiagnosed == []


@pytest.mark.parametrize(
    ("subjects", "ids"),
    [
        ([optimizer("acme", "1"), optimizer("acme", "2")], ["acme@1", "acme@2"]),
        ([optimizer("acme", "1"), optimizer("acme", "1")], ["acme", "acme"]),
        ([backend("acme[a=b]", "1 (jax 2)"), backend("acme[a=b]", "2")], ["acme@1[a=b]", "acme@2[a=b]"]),
        ([backend("exec:acme", "1"), backend("exec:acme", "2")], ["exec:acme", "exec:acme"]),
        ([backend("acme@1", "1"), backend("acme@1", "2")], ["acme@1", "acme@1"]),
        ([backend("acme", "1"), backend("acme", "[2]")], ["acme@1", "acme"]),
    ],
)
def test_only_subjects_in_several_versions_get_an_id_with_release(subjects, ids):
    runs = separate_releases([run_of(subject) for subject in subjects])
    assert [run.header.subjects[0].id for run in runs] == ids
