"""scripts/board_page.py: the board's table, its ranks and its heat map, from a results file and the findings."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from xml.etree import ElementTree as ET

import pytest
from recorded_runs import record
from repository import ROOT

from conformance.backends.reference import ReferenceBackend
from conformance.corpus.corpus import open_corpus
from conformance.deviations import catalogue

FINDINGS = (ROOT / "docs" / "findings" / "README.md").read_text(encoding="utf-8")

COLUMNS = {
    "Adam native": ("node", ["adam", "float"]),
    "Adagrad function": ("node", ["adagrad", "placed", "place=function_twice"]),
    "Momentum function": ("node", ["momentum", "function"]),
    "Momentum lowered": ("node", ["momentum", "function", "expanded"]),
    "ArgMax alone": ("node", ["argmax"]),
    "ArgMax chains": ("pass", ["argmax", "pass"]),
    None: ("invalid", ["adam"]),
}


@pytest.fixture(scope="module")
def board():
    """The script as a module."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return import_module("board_page")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture
def standing(board):
    """Makes a subject's standing."""

    def make(name, faults=0, wrong=0, right=0, unsupported=0):
        cells = {column: board.Cell() for column in board.COLUMNS}
        cells["ArgMax alone"] = board.Cell(right, wrong, unsupported)
        fault = board.Fault("Wrong", "acme", "wrong", "test_argmax", "must")
        return board.Standing(name, "1.0", is_optimizer=False, faults=(fault,) * faults, cells=cells)

    return make


@pytest.fixture(scope="module")
def written(tmp_path_factory, small_corpus):
    """What the script writes of a run in which acme takes the last of ties, and of the suite's own backend."""
    folder = tmp_path_factory.mktemp("board")
    wrong = next(one for one in catalogue()["ArgMax"] if one.id == "argmax.last_of_ties").backend
    record(open_corpus(small_corpus), folder / "run.jsonl", {"acme": wrong, "reference": ReferenceBackend})
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "board_page.py", folder / "run.jsonl", folder / "made"], check=True
    )
    return folder / "made"


@pytest.mark.parametrize("column", COLUMNS)
def test_a_case_is_counted_by_its_operator_and_form(board, column):
    kind, tags = COLUMNS[column]
    assert board.column_of({"kind": kind, "tags": tags}) == column


def test_every_row_of_the_findings_is_a_fault(board):
    rows = [line for line in FINDINGS.split("\n## ")[0].splitlines() if line.startswith("| ") and "](" in line]
    assert len(board.faults_known(FINDINGS)) == len(rows)


def test_fewer_faults_rank_before_fewer_cases(standing):
    few, many = standing("few", faults=1, wrong=9), standing("many", faults=2, wrong=3)
    assert sorted([many, few], key=lambda one: one.rank) == [few, many]


def test_what_is_unsupported_is_neither_right_nor_wrong(board, standing):
    *_, row = board.table([standing("acme", wrong=1, right=3, unsupported=5)], ["ArgMax alone", "Adam native"])
    assert row == "| 1 | acme 1.0 | 0 | 1 | 3 | 5 | 3/4 (5 unsupported) | - |"


def test_a_harness_and_a_provider_are_called_by_their_names(board):
    named = {"acme-web": "exec:node acme.mjs", "acme-fast": "acme[provider=Fast]"}
    pinned = {name: {"subject": subject} for name, subject in (named | {"acme": "acme"}).items()}
    assert board.short_names(pinned) == {subject: name for name, subject in named.items()}


def test_a_runtime_with_a_page_of_its_own_has_its_faults_there(board):
    assert board.page_of("acme-fast", {"acme", "acme-fast"}) == "acme-fast"


@pytest.mark.parametrize("subject", ["acme", "acme[level=all]", "acme-defaults"])
def test_a_subjects_faults_stand_on_the_page_of_its_package(board, subject):
    assert board.page_of(subject, {"ac", "acme"}) == "acme"
    assert board.page_of(subject, {"ac"}) is None


def test_the_board_leaves_out_the_suites_own_backend(written):
    page = (written / "README.md").read_text(encoding="utf-8")
    assert "| acme 1.0 | 0 |" in page
    assert "| reference" not in page


def test_the_board_says_which_runtimes_were_not_run(written):
    page = (written / "README.md").read_text(encoding="utf-8")
    assert "openvino" in page.split("## Not run on this corpus\n\n")[1].split("\n")[0]


def test_the_heat_map_has_a_number_in_each_cell_and_no_script(board, written):
    root = ET.fromstring((written / "heat.svg").read_bytes())
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "text"}
    told = [box for box in root.iter("{http://www.w3.org/2000/svg}rect") if len(box)]
    assert len(told) == len(board.COLUMNS)
    assert "acme 1.0, ArgMax alone: 0 right, 1 wrong, 0 unsupported" in {box[0].text for box in told}


def test_a_results_file_that_is_missing_ends_with_2(tmp_path):
    script = [sys.executable, ROOT / "scripts" / "board_page.py", tmp_path / "nothing.jsonl", tmp_path]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ended.returncode, "nothing.jsonl" in ended.stderr) == (2, True)
