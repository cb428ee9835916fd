"""Timelines: courses of rows, series of failing releases, tables, JSON and the page."""

from __future__ import annotations

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from corpora import ADAM, EXACT, INDEX
from fake_subject import always_right, always_wrong, wrong_on_argmax
from history_stores import TARGET, add_release

from conformance.base.verdicts import Level
from conformance.studies.history import index as index_module
from conformance.studies.history.first_bad_release import releases_worth_comparing
from conformance.studies.history.history_page import render_page
from conformance.studies.history.index import open_index
from conformance.studies.history.store import INDEX_FILE, HistoryStore
from conformance.studies.history.timeline import Course, Row, document, failing_span, text_table, timelines
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName


@pytest.fixture(scope="module")
def store(tmp_path_factory, corpus):
    """Return a history in which ArgMax fails in two releases and Adam in the newest release."""
    store = HistoryStore(tmp_path_factory.mktemp("history") / "store")
    for release, backend in {
        "1.0": always_right,
        "1.1": wrong_on_argmax,
        "1.2": wrong_on_argmax,
        "1.10": always_wrong,
    }.items():
        add_release(store, corpus, release, backend)
    with store.lock():
        store.record_unavailable(TARGET, "1.3", "subject.not-installable", "<script>no wheel</script>")
    return store


@pytest.fixture
def timeline(store):
    with open_index(store) as index:
        (found,) = timelines(store, index)
    return found


@pytest.mark.parametrize(
    ("verdicts", "course"),
    [
        ("pass pass fail", Course.REGRESSION),
        ("pass error pass", Course.FIXED_REGRESSION),
        ("pass crash unsupported", Course.UNSUPPORTED_SINCE),
        ("fail unsupported", Course.UNSUPPORTED_SINCE),
        ("fail pass unsupported", Course.FIXED),
        ("pass unsupported pass", Course.NO_FAILURE),
        ("unsupported unsupported", Course.NO_FAILURE),
        ("fail fail fail", Course.PERSISTENT),
        ("unsupported fail", Course.PERSISTENT),
        ("fail pass fail", Course.REGRESSION),
        ("fail pass", Course.FIXED),
        ("pass unsupported", Course.UNSUPPORTED_SINCE),
        ("unsupported pass", Course.NO_FAILURE),
        ("pass pass", Course.NO_FAILURE),
    ],
)
def test_course_follows_from_verdicts(verdicts, course):
    assert Row(tuple(verdicts.split()), "cause", ("test_a",), Level.MUST, None, 0).course is course


def test_course_ignores_releases_without_results():
    assert Row(("", "pass", "", "fail", ""), "cause", ("test_a",), Level.MUST, None, 0).course is Course.REGRESSION


def test_failing_span_is_last_series():
    span = failing_span(["1", "2", "3", "4", "5", "6"], ["fail", "pass", "", "error", "fail", "pass"])
    assert (span.since, span.is_oldest, span.is_again, span.last_good, span.fixed_in) == ("4", False, True, "2", "6")
    assert failing_span(["1", "2"], ["fail", "fail"]).is_again is False
    assert failing_span(["1"], ["pass"]) is None


def test_failing_span_is_not_fixed_by_unsupported_release():
    span = failing_span(["1", "2"], ["error", "unsupported"])
    assert (span.is_oldest, span.fixed_in, span.end, span.end_verdict) == (True, None, "2", "unsupported")


def test_timeline_has_regressions_with_first_releases(timeline):
    assert timeline.releases == ("1.0", "1.1", "1.2", "1.10")
    assert timeline.failing == (0, 2, 2, 3)
    document_ = document([timeline]).subjects[0]
    found = {row.cases: (row.course, row.since, row.fixed_in) for row in document_.rows}
    assert {case: value for cases, value in found.items() for case in cases} == {
        ADAM: ("regression", "1.10", None),
        EXACT: ("regression", "1.1", None),
        INDEX: ("regression", "1.1", None),
    }
    assert document_.unavailable[0].release == "1.3"


def test_text_table_marks_only_rows_that_vary(timeline):
    varying, *others = timeline.rows
    assert not any("varies" in line for line in text_table(timeline))
    marked = replace(timeline, rows=(replace(varying, varies=1), *others))
    assert sum("varies" in line for line in text_table(marked)) == 1


def test_text_table_counts_the_cases_of_each_row(timeline):
    text = "\n".join(text_table(timeline))
    assert [f" {count} case{'s' * (count > 1)}," in text for count in (1, 2, 3)] == [True, True, False]


def test_text_table_has_one_column_per_release(timeline):
    lines = list(text_table(timeline))
    assert any(line.startswith("  ...F ") for line in lines)
    assert any(line.startswith("  .FFF ") for line in lines)
    columns = lines[1:5]
    assert ["".join(line[2 + number] for line in columns).strip() for number in range(4)] == [
        "1.0",
        "1.1",
        "1.2",
        "1.10",
    ]


def test_index_is_built_again_if_it_is_damaged_or_stale(store, timeline):
    (store.folder / INDEX_FILE).write_bytes(b"no database")
    with open_index(store) as index:
        assert timelines(store, index) == [timeline]
        index.execute("DELETE FROM results")
        index.execute("UPDATE files SET size = 0")
        index.commit()
    with open_index(store) as index:
        assert timelines(store, index) == [timeline]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE TRIGGER more AFTER INSERT ON causes BEGIN DELETE FROM results; END",
        "ALTER TABLE files ADD COLUMN more INTEGER",
    ],
)
def test_index_with_another_schema_is_built_again(store, timeline, statement):
    with open_index(store) as index:
        index.execute(statement)
        index.commit()
    with open_index(store) as index:
        assert timelines(store, index) == [timeline]
        assert not [sql for (sql,) in index.execute("SELECT sql FROM sqlite_master") if sql and "more" in sql]


def test_index_is_in_memory_if_its_file_cannot_be_written(store, timeline):
    (store.folder / INDEX_FILE).unlink()
    (store.folder / INDEX_FILE).mkdir()
    with open_index(store) as index:
        assert timelines(store, index) == [timeline]
    (store.folder / INDEX_FILE).rmdir()


def test_index_on_full_disk_is_in_memory(store, timeline, monkeypatch):
    (store.folder / INDEX_FILE).unlink()
    add_results = index_module._add_results

    def fail(connection, *rest):
        if connection.execute("PRAGMA database_list").fetchone()[2]:
            raise sqlite3.OperationalError("database or disk is full")
        add_results(connection, *rest)

    monkeypatch.setattr(index_module, "_add_results", fail)
    with open_index(store) as index:
        assert timelines(store, index) == [timeline]


def test_index_that_two_processes_build_at_once_is_complete(store, timeline):
    (store.folder / INDEX_FILE).unlink()

    def read(_):
        with open_index(store) as index:
            return timelines(store, index)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(read, range(4))) == [[timeline]] * 4


def test_release_that_is_added_after_index_was_opened_is_not_shown(store, corpus, timeline):
    with open_index(store) as index:
        added = add_release(store, corpus, "1.11", always_right)
        assert timelines(store, index) == [timeline]
    added.path.unlink()


def test_page_is_one_file_without_markup_from_results(timeline):
    page = render_page([timeline])
    assert "<script>no wheel" not in page
    assert re.search(r'Content-Security-Policy" content="default-src &#39;none&#39;', page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert next(row["verdicts"] for row in data["subjects"][0]["rows"]) == "...F"
    assert len(re.findall("<circle", page)) == len(timeline.releases)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_show_writes_json_and_page(command, store):
    ended = command("history", "show", "--store", store.folder, "--json", "h.json", "--html", "h.html")
    assert ended.status == 0
    assert json.loads(Path("h.json").read_text())["subjects"][0]["subject"] == "onnxruntime"
    assert Path("h.html").stat().st_size < 2_000_000


def test_show_case_prints_its_row(command, store):
    ended = command("history", "show", EXACT, "--store", store.folder)
    assert ended.status == 0
    assert EXACT in ended.out
    assert ADAM not in ended.out


def test_blame_without_an_environment_says_that_no_folder_is_written(command, corpus, store):
    options = ("--releases", "..", "--store", store.folder, "--data", corpus.path, "--output", "folder")
    ended = command("blame", ADAM, "-b", "onnxruntime", *options)
    assert (ended.status, Path("folder").exists()) == (1, False)
    assert "folder was not written: add --install" in ended.out


def test_page_names_changed_packages_besides_the_subject_itself(timeline):
    packages = [("onnxruntime==1.0", "numpy==1"), ("onnxruntime==1.1", "numpy==1")]
    changed = [*packages, ("onnxruntime==1.2", "numpy==2"), ("onnxruntime==1.10",)]
    page = render_page([replace(timeline, packages=tuple(changed))])
    (subject,) = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["subjects"]
    assert subject["changes"] == [[], [], ["numpy 1 → 2"], ["numpy 2 → absent"]]


def test_offline_update_without_stored_releases_is_an_error(command, corpus):
    ended = command("history", "update", "onnxruntime", "--store", "new", "--offline", "--data", corpus.path, "-v")
    assert (ended.status, ended.code) == (2, "history.no-result")


def test_show_fault_selects_cases_of_fault(command, store):
    ended = command("history", "show", "onnxruntime", "--store", store.folder)
    assert ended.status == 0
    assert "regression" in ended.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "test_no_such_case"], "name.no-such-history"),
        (["show", "--store", "empty"], "history.empty"),
        (["update", "no-such-runtime"], "name.unknown-subject"),
        (["update", "onnxruntime@2..1"], "name.empty-range"),
        (["update", "onnxruntime@x"], "name.malformed-release"),
    ],
)
def test_bad_input_of_history_is_refused(command, store, arguments, code):
    options = [] if "--store" in arguments else ["--store", store.folder]
    ended = command("history", *arguments, *options)
    assert (ended.status, ended.code) == (2, code)


def test_update_of_locked_store_is_refused(command, store):
    with store.lock():
        ended = command("history", "update", "onnxruntime", "--offline", "--store", store.folder)
    assert (ended.status, ended.code) == (2, "history.locked")


def test_neighbours_with_changed_verdicts_are_worth_comparing(store):
    named = SubjectName.parse("onnxruntime@1.2[optimization=disabled]", SubjectKind.BACKEND)
    assert not releases_worth_comparing(store.folder, named, ["Gelu"])
    found = releases_worth_comparing(store.folder, named, ["ArgMax", "Softmax", "Adam", "Adagrad", "Momentum"])
    assert {(each.older, each.newer) for each in found} == {("1.0", "1.1"), ("1.2", "1.10")}
    assert all(each.subject == "onnxruntime" and each.changed > 0 for each in found)
    assert [each.changed for each in found] == sorted((each.changed for each in found), reverse=True)


def test_missing_history_names_no_releases(tmp_path):
    assert (
        releases_worth_comparing(tmp_path / "none", SubjectName.parse("onnxruntime", SubjectKind.BACKEND), ["Adam"])
        == []
    )
