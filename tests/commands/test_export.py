"""`export` writes cases with all that a runner in any language needs."""

from __future__ import annotations

import csv
import os

from command_outputs import read_tree
from corpora import ADAM, SMALL
from refusals import assert_bad_input
from repository import DATA

from conformance.corpus.cases.archive import write_archive
from conformance.corpus.cases.case_loading import load_case, load_companion
from conformance.corpus.cases.corpus import ADDED_FILES, NOTICE, open_corpus


def test_export_of_all_cases_is_a_corpus_with_index_and_judge(command, small_corpus, here):
    ended = command("export", here / "exported", "--data", small_corpus)
    assert ended.status == 0
    files = read_tree(here / "exported")
    added = {"README.md", "LICENSE", "index.csv", "judge/judge.c", "judge/CMakeLists.txt", "SHA256SUMS"}
    assert added <= files.keys()
    assert added == ADDED_FILES - {NOTICE}
    assert open_corpus(here / "exported").digest == open_corpus(small_corpus).digest


def test_export_of_selected_cases_has_only_these(command, small_corpus, here):
    assert command("export", here / "exported", "--data", small_corpus, "--case", ADAM).status == 0
    with (here / "exported" / "index.csv").open(newline="", encoding="utf-8") as stream:
        assert [row["case"] for row in csv.DictReader(stream)] == [ADAM]
    assert len(SMALL) > 1


def test_export_from_archive_equals_export_from_folder(command, small_corpus, here):
    write_archive(small_corpus, here / "corpus.zip")
    for data, name in ((small_corpus, "folder"), (here / "corpus.zip", "archive")):
        assert command("export", here / name, "--data", data).status == 0
    assert read_tree(here / "folder") == read_tree(here / "archive")


def test_export_of_case_with_companion_has_the_companion(command, here):
    case = "test_adagrad_in_turns_first_float"
    assert command("export", here / "exported", "--data", DATA, "--case", case).status == 0
    exported = open_corpus(here / "exported")
    companion = load_companion(load_case(exported, exported.cases[case]))
    assert companion.id != case
    assert exported.cases.keys() == {case, companion.id}


def test_export_into_folder_with_files_is_refused(command, small_corpus, here):
    (here / "exported").mkdir()
    (here / "exported" / "kept").write_text("")
    assert_bad_input(command("export", here / "exported", "--data", small_corpus), "usage.directory-not-empty", "")
    assert (here / "exported" / "kept").exists()
    can_write = os.access("/", os.W_OK)  # as root
    problem = "usage.directory-not-empty" if can_write else "usage.target-not-writable"
    assert_bad_input(command("export", "/", "--data", small_corpus), problem, "/")


def test_export_of_no_case_is_refused(command, small_corpus, here):
    ended = command("export", here / "exported", "--data", small_corpus, "-k", "no_such_case")
    assert_bad_input(ended, "usage.no-case-selected", "")
    assert not (here / "exported").exists()
