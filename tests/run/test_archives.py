"""Archives in a results file: which cases have one, and that each archive is a valid corpus."""

from __future__ import annotations

import base64
import io
import zipfile
from typing import TYPE_CHECKING

import fake_subject as fakes
import pytest
from command_outputs import read_records
from corpora import ADAM, SMALL
from recorded_runs import EXPECTED, record_run

from conformance.corpus.corpus import open_corpus
from conformance.results.file import read_results
from conformance.run import recorder
from conformance.run.recorder import Archives, archive_case

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.corpus.corpus import Corpus


def unpacked(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        bundle.extractall(folder)
    (only,) = folder.iterdir()
    return only


def test_unpacked_archive_is_a_corpus_of_one_case(opened: Corpus, tmp_path: Path) -> None:
    case = opened.cases[ADAM]
    corpus = open_corpus(unpacked(archive_case(opened, case), tmp_path / "taken"))
    assert corpus.cases == {ADAM: case}
    assert corpus.verify() == len(case.files)


def test_archive_is_named_after_its_case(opened: Corpus, tmp_path: Path) -> None:
    assert unpacked(archive_case(opened, opened.cases[ADAM]), tmp_path / "taken").name == ADAM


def test_archive_of_a_case_is_deterministic(opened: Corpus) -> None:
    case = opened.cases[ADAM]
    assert archive_case(opened, case) == archive_case(opened, case)


def test_failing_case_has_one_archive_after_its_first_defect(opened: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    record_run(opened, path, {"a": fakes.always_wrong, "b": fakes.always_wrong, "right": fakes.always_right})
    lines = read_records(path)
    archived = [line["case"] for line in lines if line["record"] == "archive"]
    assert sorted(archived) == sorted(SMALL)
    for line, before in zip(lines[1:], lines, strict=False):
        if line["record"] == "archive":
            assert (before["record"], before["case"]) == ("result", line["case"])


def test_passing_run_has_no_archive(opened: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    record_run(opened, path, {"right": fakes.always_right})
    assert not [line for line in read_records(path) if line["record"] == "archive"]


def test_archives_are_read_back(opened: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    record_run(opened, path, {"acme": fakes.always_wrong}, {"acme": EXPECTED})
    content = base64.b64decode(read_results(path).archives[ADAM])
    assert content == archive_case(opened, opened.cases[ADAM])


def test_large_case_has_no_archive(opened: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "MAX_ARCHIVE_BYTES", len(archive_case(opened, opened.cases[ADAM])) - 1)
    assert Archives(opened).record_for(opened.cases[ADAM], unexpected=True) is None


@pytest.mark.parametrize(("unexpected", "archived"), [(True, True), (False, False)])
def test_expected_failures_use_half_of_the_budget(
    opened: Corpus, monkeypatch: pytest.MonkeyPatch, unexpected: bool, archived: bool
) -> None:
    monkeypatch.setattr(recorder, "ARCHIVE_BUDGET_BYTES", len(archive_case(opened, opened.cases[ADAM])) + 1)
    found = Archives(opened).record_for(opened.cases[ADAM], unexpected=unexpected)
    assert (found is not None) is archived


def test_archive_after_exhausted_budget_is_omitted(opened: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    small, big = sorted((len(archive_case(opened, case)), name) for name, case in opened.cases.items())[
        :: len(SMALL) - 1
    ]
    monkeypatch.setattr(recorder, "ARCHIVE_BUDGET_BYTES", big[0] - 1)
    archives = Archives(opened)
    assert archives.record_for(opened.cases[big[1]], unexpected=True) is None
    assert archives.record_for(opened.cases[small[1]], unexpected=True) is None


def test_unexpected_failure_is_archived_after_an_expected_one(opened: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "ARCHIVE_BUDGET_BYTES", len(archive_case(opened, opened.cases[ADAM])) + 1)
    archives = Archives(opened)
    assert archives.record_for(opened.cases[ADAM], unexpected=False) is None
    assert archives.record_for(opened.cases[ADAM], unexpected=True) is not None
