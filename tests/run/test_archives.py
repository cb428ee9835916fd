"""The archives of a results file: which cases have one, and that each is a corpus which a run accepts."""

from __future__ import annotations

import base64
import io
import zipfile
from typing import TYPE_CHECKING

import fake_backends as fakes
import pytest
from corpora import ADAM, SMALL
from outputs import records
from recorded_runs import EXPECTED, record

from conformance.corpus.corpus import open_corpus
from conformance.results.file import read
from conformance.run import archives
from conformance.run.archives import Archives, archive

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.corpus.corpus import Corpus


def unpacked(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        bundle.extractall(folder)
    (only,) = folder.iterdir()
    return only


def test_an_unpacked_archive_is_a_corpus_of_one_case(opened: Corpus, tmp_path: Path) -> None:
    case = opened.cases[ADAM]
    corpus = open_corpus(unpacked(archive(opened, case), tmp_path / "taken"))
    assert corpus.cases == {ADAM: case}
    assert corpus.verify() == len(case.files)


def test_an_archive_is_named_after_its_case(opened: Corpus, tmp_path: Path) -> None:
    assert unpacked(archive(opened, opened.cases[ADAM]), tmp_path / "taken").name == ADAM


def test_the_same_case_gives_the_same_archive(opened: Corpus) -> None:
    case = opened.cases[ADAM]
    assert archive(opened, case) == archive(opened, case)


def test_each_case_that_goes_wrong_has_one_archive_after_its_first_defect(opened: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    record(opened, path, {"a": fakes.AlwaysWrong, "b": fakes.AlwaysWrong, "right": fakes.AlwaysRight})
    lines = records(path)
    archived = [line["case"] for line in lines if line["record"] == "archive"]
    assert sorted(archived) == sorted(SMALL)
    for line, before in zip(lines[1:], lines, strict=False):
        if line["record"] == "archive":
            assert (before["record"], before["case"]) == ("result", line["case"])


def test_a_run_without_a_defect_carries_no_archive(opened: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    record(opened, path, {"right": fakes.AlwaysRight})
    assert not [line for line in records(path) if line["record"] == "archive"]


def test_archives_are_read_back(opened: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    record(opened, path, {"acme": fakes.AlwaysWrong}, {"acme": EXPECTED})
    content = base64.b64decode(read(path).archives[ADAM])
    assert content == archive(opened, opened.cases[ADAM])


def test_a_case_larger_than_the_limit_is_left_out(opened: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST", len(archive(opened, opened.cases[ADAM])) - 1)
    assert Archives(opened).of(opened.cases[ADAM], surprise=True) is None


@pytest.mark.parametrize(("surprise", "archived"), [(True, True), (False, False)])
def test_known_defects_leave_half_of_the_budget_to_surprises(
    opened: Corpus, monkeypatch: pytest.MonkeyPatch, surprise: bool, archived: bool
) -> None:
    monkeypatch.setattr(archives, "BUDGET", len(archive(opened, opened.cases[ADAM])) + 1)
    found = Archives(opened).of(opened.cases[ADAM], surprise=surprise)
    assert (found is not None) is archived


def test_the_first_case_without_room_is_the_last(opened: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    small, big = sorted((len(archive(opened, case)), name) for name, case in opened.cases.items())[:: len(SMALL) - 1]
    monkeypatch.setattr(archives, "BUDGET", big[0] - 1)
    kept = Archives(opened)
    assert kept.of(opened.cases[big[1]], surprise=True) is None
    assert kept.of(opened.cases[small[1]], surprise=True) is None


def test_a_case_that_was_too_much_as_known_is_archived_as_a_surprise(
    opened: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "BUDGET", len(archive(opened, opened.cases[ADAM])) + 1)
    kept = Archives(opened)
    assert kept.of(opened.cases[ADAM], surprise=False) is None
    assert kept.of(opened.cases[ADAM], surprise=True) is not None
