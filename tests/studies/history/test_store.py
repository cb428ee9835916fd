"""Files of a history: reading, sharing of values, versions, locks, and errors of the disk."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest
from corpora import ADAM, EXACT
from fake_subject import always_right, always_wrong
from history_stores import TARGET, OneStepOff, add_release
from refusals import assert_raises

from conformance.base.files import atomic_write
from conformance.run.results.results_file import read_results
from conformance.studies.history import store as store_module
from conformance.studies.history.store import LOCK_FILE, HistoryStore
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName


def test_results_of_release_are_normal_results_file(store, corpus, command):
    wrong = add_release(store, corpus, "1.0", always_wrong)
    right = add_release(store, corpus, "1.1", OneStepOff)
    run = read_results(wrong.path)
    assert {case: row.verdict for (_, case), row in run.rows.items()} == dict.fromkeys(corpus.cases, "fail")
    assert run.cases[ADAM].title
    assert command("report", right.path, "--json", "summary.json").status == 0
    ended = command("diff", wrong.path, right.path)
    assert ended.status == 0
    assert ADAM in ended.out


def test_equal_outputs_are_flag_and_others_are_stored_once(store, corpus):
    first = add_release(store, corpus, "1.0", OneStepOff)
    second = add_release(store, corpus, "1.1", OneStepOff)
    returned = {record.case: record.returned for record in first.read().results.values()}
    assert returned[EXACT] == "="
    assert returned[ADAM] in store.values(TARGET)
    assert [path.name for path in first.path.parent.glob("*.values.xz")] == [
        first.path.name.replace(".jsonl.gz", ".values.xz")
    ]
    assert {record.case: record.returned for record in second.read().results.values()} == returned


def test_releases_are_sorted_as_versions(store, corpus):
    for release in ("1.10.0", "1.9.0", "1.9.1"):
        add_release(store, corpus, release, always_right)
    assert [each.release for each in store.releases(TARGET)] == ["1.9.0", "1.9.1", "1.10.0"]
    assert store.releases(SubjectName.parse("onnxruntime[optimization=disabled]", SubjectKind.BACKEND)) == []


def test_unavailable_release_is_recorded_until_it_has_results(store, corpus):
    with store.lock():
        store.record_unavailable(TARGET, "1.0", "subject.not-installable", "no wheel")
    assert store.unavailable(TARGET)["1.0"].reason == "no wheel"
    add_release(store, corpus, "1.0", always_right)
    assert store.unavailable(TARGET) == {}


def test_store_of_another_format_is_refused(store, corpus):
    add_release(store, corpus, "1.0", always_right)
    (store.folder / "store.json").write_text(json.dumps({"format": 99}))
    with assert_raises("history.other-format", "99"):
        HistoryStore(store.folder)


def test_store_without_format_or_in_file_is_refused(store, corpus, tmp_path):
    add_release(store, corpus, "1.0", always_right)
    (store.folder / "store.json").unlink()
    with assert_raises("history.damaged"):
        HistoryStore(store.folder)
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "folder"):
        with assert_raises("history.not-a-store"):
            HistoryStore(path)


def test_folder_with_other_files_becomes_no_store(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with assert_raises("history.not-a-store"), HistoryStore(tmp_path).lock():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_second_update_at_once_is_refused(store):
    with store.lock(), assert_raises("history.locked"), HistoryStore(store.folder).lock():
        pass


def test_damaged_values_are_refused(store, corpus):
    path = add_release(store, corpus, "1.0", OneStepOff).path
    values = Path(str(path).replace(".jsonl.gz", ".values.xz"))
    values.write_bytes(values.read_bytes()[:-9])
    with assert_raises("history.damaged", values.name):
        store.values(TARGET)


def test_results_without_release_are_refused(store, corpus):
    path = add_release(store, corpus, "1.0", always_right).path
    lines = gzip.decompress(path.read_bytes()).splitlines()
    header = json.loads(lines[0])
    del header["history"]
    path.write_bytes(gzip.compress(b"\n".join([json.dumps(header).encode(), *lines[1:]])))
    with assert_raises("results.malformed"):
        store.releases()


def flip_byte(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def replace_by_link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def change_lines(path, change):
    lines = list(map(json.loads, gzip.decompress(path.read_bytes()).splitlines()))
    path.write_bytes(gzip.compress("".join(f"{json.dumps(line)}\n" for line in change(lines)).encode()))


def name_release(lines, **history):
    lines[0]["history"] |= history
    return lines


def name_corpus(lines):
    lines[0]["corpus"]["digest"] = "../../elsewhere"
    return lines


DAMAGES = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "changed byte in header": lambda path: flip_byte(path, 20),
    "changed byte in results": lambda path: flip_byte(path, path.stat().st_size * 2 // 3),
    "link": replace_by_link,
    "pipe": replace_by_pipe,
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "no header": lambda path: change_lines(path, lambda lines: lines[1:]),
    "no line": lambda path: change_lines(path, lambda lines: []),
    "no footer": lambda path: change_lines(path, lambda lines: lines[:-1]),
    "missing result": lambda path: change_lines(path, lambda lines: [*lines[:1], *lines[2:]]),
    "result twice": lambda path: change_lines(path, lambda lines: [*lines[:2], *lines[1:]]),
    "no version": lambda path: change_lines(path, lambda lines: name_release(lines, release="<script>")),
    "no subject": lambda path: change_lines(path, lambda lines: name_release(lines, subject="[[")),
    "two subjects": lambda path: change_lines(path, lambda lines: [{**lines[0], "subjects": []}, *lines[1:]]),
    "other folder": lambda path: change_lines(path, name_corpus),
}


@pytest.mark.variants(8)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_results_are_refused_and_named(store, corpus, command, damage):
    add_release(store, corpus, "1.0", always_right)
    path = add_release(store, corpus, "1.1", always_wrong).path
    damage(path)
    ended = command("history", "show", "--store", store.folder)
    assert (ended.status, ended.code) == (2, "results.malformed")
    assert path.name in ended.err
    path.rmdir() if path.is_dir() else path.unlink()
    assert command("history", "show", "--store", store.folder).status == 0


def test_cases_file_with_other_records_is_refused(store, corpus, command):
    results = add_release(store, corpus, "1.0", always_right).path
    for path in (store.folder / "cases").glob("*.jsonl.gz"):
        path.write_bytes(results.read_bytes())
    ended = command("history", "show", "--store", store.folder, "--html", "page.html")
    assert (ended.status, ended.code) == (2, "history.damaged"), ended


def test_damaged_reason_of_unavailable_release_is_refused(store, corpus):
    with store.lock():
        store.record_unavailable(TARGET, "<b>", "subject.not-installable", "no wheel")
    with assert_raises("history.damaged"):
        store.unavailable(TARGET)


def test_update_writes_missing_cases_again(store, corpus, command):
    add_release(store, corpus, "1.0", always_right)
    for path in (store.folder / "cases").iterdir():
        path.unlink()
    assert command("history", "show", "--store", store.folder).code == "history.damaged"
    ended = command("history", "update", "onnxruntime", "--offline", "--data", corpus.path, "--store", store.folder)
    assert ended.status == 0
    assert command("history", "show", "--store", store.folder).status == 0


def test_results_that_another_process_removes_are_left_out(store, corpus, monkeypatch):
    add_release(store, corpus, "1.0", always_right)
    removed = add_release(store, corpus, "1.1", always_right)
    read_state = store_module.read_state

    def remove_first(path, largest):
        removed.path.unlink(missing_ok=True)
        return read_state(path, largest)

    monkeypatch.setattr(store_module, "read_state", remove_first)
    assert [each.release for each in store.releases()] == ["1.0"]


def test_lock_that_is_a_link_is_refused(store, tmp_path):
    store.folder.mkdir()
    (store.folder / LOCK_FILE).symlink_to(tmp_path / "elsewhere")
    with assert_raises("history.not-writable"), store.lock():
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_digest_of_corpus_cannot_name_other_folder(store, corpus):
    path = add_release(store, corpus, "1.0", always_right).path
    content = gzip.decompress(path.read_bytes()).replace(corpus.digest.encode(), b"../../../../etc/passwd")
    path.write_bytes(gzip.compress(content))
    with assert_raises("results.malformed"):
        read_results(path)


def test_full_disk_leaves_earlier_results(store, corpus, monkeypatch):
    first = add_release(store, corpus, "1.0", always_right)

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_write, "_replace_file", fail)
    with assert_raises("history.disk-full"):
        add_release(store, corpus, "1.1", OneStepOff)
    assert [each.path for each in store.releases()] == [first.path]
    assert read_results(first.path).rows
