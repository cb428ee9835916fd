"""Runs: archives, versions of the environment, partial results, selections and settings."""

from __future__ import annotations

import base64
import errno
import io
import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import fake_subject as fakes
import pytest
from command_outputs import expectations_text, read_records, results_by_key
from corpora import ADAM, SMALL
from recorded_runs import EXPECTED, record_run
from refusals import assert_raises

from conformance.base.verdicts import Level
from conformance.corpus.cases.corpus import open_corpus
from conformance.run.corpus_run import recorder
from conformance.run.corpus_run.recorder import Archives, archive_case
from conformance.run.corpus_run.resume import PartialResults, partial_path
from conformance.run.corpus_run.settings import Settings, parse_shard, select_shard, settings_from_options
from conformance.run.results.records import Selection, Shard
from conformance.run.results.results_file import read_results
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus


# Archives in a results file: which cases have one, and that each archive is a valid corpus.


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


# Partial results files.


def test_second_run_into_a_file_is_rejected(tmp_path):
    first = PartialResults(tmp_path / "results.jsonl")
    with assert_raises("usage.results-locked", "results.jsonl"):
        PartialResults(tmp_path / "results.jsonl")
    first.abandon()
    PartialResults(tmp_path / "results.jsonl").abandon()
    assert list(tmp_path.iterdir()) == []


def test_command_into_a_locked_file_is_rejected(command, small_corpus, here):
    first = PartialResults(here / "out.jsonl")
    ended = command("run", "-b", "reference", "--data", small_corpus, "--results", "out.jsonl")
    first.abandon()
    assert (ended.status, ended.code) == (2, "usage.results-locked")


def test_earlier_records_stay_until_a_run_begins(tmp_path):
    left = partial_path(tmp_path / "results.jsonl")
    left.write_text("left")
    PartialResults(tmp_path / "results.jsonl").abandon()
    assert left.read_text() == "left"


def test_target_of_a_link_is_written(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    file = PartialResults(tmp_path / "link")
    file.begin()
    file.write(b'{"record":"header"}\n')
    file.finish()
    assert (tmp_path / "link").is_symlink()
    assert read_records(tmp_path / "real") == [{"record": "header"}]


def test_full_temporary_folder_ends_the_run_and_keeps_results(command, small_corpus, here, full_temporary_folder):
    """A full disk is no verdict about the backend, and the run can be resumed."""
    run = ("run", "-b", "reference", "--data", small_corpus)
    with full_temporary_folder(4):
        ended = command(*run, "--results", "out.jsonl", isolate=True)
    assert (ended.status, ended.code) == (2, "storage.temporary-file")
    before = len(read_records(partial_path(here / "out.jsonl")))
    assert before > 1
    assert command(*run, "--results", "out.jsonl", "--resume", "out.jsonl.partial", isolate=True).status == 0


@pytest.mark.parametrize(("records", "is_kept"), [(1, False), (3, True)])
def test_records_before_a_full_disk_are_kept_for_resuming(tmp_path, monkeypatch, records, is_kept):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = PartialResults(tmp_path / "results.jsonl")
    file.begin()
    for _ in range(records):
        file.write(b"{}\n")
    monkeypatch.setattr("conformance.run.corpus_run.resume.os.write", fail)
    with assert_raises("usage.cannot-write", "results.jsonl"):
        file.write(b"{}\n")
    monkeypatch.undo()
    file.abandon()
    assert partial_path(tmp_path / "results.jsonl").exists() == is_kept


# Shards of a run.


RIGHT = "fake_subject:always_right"


class TestShards:
    @pytest.mark.parametrize("of", [1, 2, 3, 7, 8])
    def test_shards_partition_cases_equally(self, whole_corpus, of):
        cases = whole_corpus.cases
        parts = [select_shard(cases, Shard(number, of)) for number in range(1, of + 1)]
        assert Counter(case for part in parts for case in part) == Counter(list(cases))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1

    @pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/99999"])
    def test_malformed_shard_is_rejected(self, text):
        with assert_raises("usage.malformed-shard", text):
            parse_shard(text)

    def test_header_has_the_shard(self, run_with_faults, here):
        assert run_with_faults("-b", RIGHT, "--shard", "2/3", "--results", "out.jsonl").status == 0
        header = read_results(here / "out.jsonl").header
        assert header.selections == [Selection(shard=Shard(2, 3))]
        assert {case for _, case in results_by_key(here / "out.jsonl")} == set(sorted(SMALL)[1::3])

    @pytest.mark.long
    def test_parallel_run_has_the_same_cases(self, process, small_corpus, here):
        told = ("--data", small_corpus, "--shard", "2/3", "--results", "out.jsonl", "-n", "2")
        assert process("fork", "run", "-b", RIGHT, *told).status == 0
        assert {case for _, case in results_by_key(here / "out.jsonl")} == set(sorted(SMALL)[1::3])

    def test_shard_tolerates_patterns_without_match(self, run_with_faults, here):
        (here / "e.toml").write_text(expectations_text(RIGHT, "test_gone"))
        assert run_with_faults("-b", RIGHT, "--expect", "e.toml", "--shard", "1/2").status == 0


# Settings of a run: option values, and consistency.


PASS = "eliminate_nop_monotone_argmax"
BACKEND = SubjectName.parse("onnxruntime[optimization=disabled]", SubjectKind.BACKEND)
OPTIMIZER = SubjectName.parse("onnxsim", SubjectKind.OPTIMIZER)


def test_option_values_give_settings(tmp_path):
    values = {
        "backend": [BACKEND.text],
        "optimizer": [OPTIMIZER.text],
        "data": tmp_path / "data",
        "keyword": "adam or x",
        "case": ["test_adam"],
        "tag": ["float"],
        "select_level": ["must"],
        "fail_level": "should",
        "expect": [tmp_path / "a.toml", tmp_path / "b.toml"],
        "results": tmp_path / "results.jsonl",
        "implements": [PASS],
        "diagnosis": False,
        "shard": "3/8",
        "repeat": 4,
        "timeout": 2.5,
        "memory": "1G",
    }
    assert settings_from_options(values) == Settings(
        (BACKEND, OPTIMIZER),
        data=tmp_path / "data",
        selection=Selection("adam or x", ("test_adam",), tag=("float",), select_level=("must",), shard=Shard(3, 8)),
        fail_level=Level.SHOULD,
        expect=(tmp_path / "a.toml", tmp_path / "b.toml"),
        results=tmp_path / "results.jsonl",
        implements=(PASS,),
        diagnosis=False,
        repeat=4,
        limits=Limits(2.5, 2**30),
    )


def test_missing_option_values_give_the_defaults():
    assert settings_from_options({"backend": [BACKEND.text], "data": None, "shard": ""}) == Settings((BACKEND,))


def test_paths_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = Settings((BACKEND,), data=Path("data"))
    assert settings.options_of(SubjectKind.BACKEND) == ["--data", str(tmp_path / "data")]


def test_words_have_the_options_that_verdicts_depend_on():
    settings = Settings((OPTIMIZER,), implements=(PASS,), fail_level=Level.SHOULD, limits=Limits(2.5))
    words = ["--fail-level", "should", "--timeout", "2.5"]
    assert settings.options_of(SubjectKind.BACKEND) == words
    assert settings.options_of(SubjectKind.OPTIMIZER) == ["--implements", PASS, *words]


@pytest.mark.parametrize(
    ("wrong", "code", "data"),
    [
        ({"subjects": (BACKEND, BACKEND)}, "usage.subject-twice", BACKEND.text),
        ({"subjects": (BACKEND,), "implements": (PASS,)}, "usage.optimizer-missing", "-o"),
        ({"subjects": (OPTIMIZER,), "implements": ("fold",)}, "name.no-such-pass", "fold"),
        ({"subjects": (BACKEND,), "results": Path("/")}, "usage.target-is-directory", "/"),
        ({"subjects": (BACKEND,), "python": Path("no-such-python")}, "usage.python-not-executable", "no-such-python"),
        ({"subjects": (BACKEND,), "python": Path("x"), "no_isolation": True}, "usage.options-conflict", "--python"),
    ],
)
def test_inconsistent_settings_are_rejected(wrong, code, data):
    with assert_raises(code, data):
        Settings(**wrong)
