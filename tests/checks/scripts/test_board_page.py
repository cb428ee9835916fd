"""scripts/board_page.py: table, ranks and heat map from a results file and the findings."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from recorded_runs import record_run
from repository import ROOT
from runs_in_memory import make_case
from script_modules import run_script, script_module

from conformance.corpus.cases.corpus import open_corpus
from conformance.run.mutants import catalogue
from conformance.subjects.adapters.reference import ReferenceBackend

FINDINGS = (ROOT / "reports" / "findings" / "README.md").read_text(encoding="utf-8")

COLUMNS = {
    "Adam native": ("node", ["adam", "float"]),
    "Adagrad function": ("node", ["adagrad", "placed", "scope=function_twice"]),
    "Momentum function": ("node", ["momentum", "function"]),
    "Momentum expanded": ("node", ["momentum", "function", "expanded"]),
    "ArgMax alone": ("node", ["argmax"]),
    "ArgMax chains": ("pass", ["argmax", "pass"]),
    None: ("invalid", ["adam"]),
}


@pytest.fixture(scope="module")
def board():
    """Import the script as a module."""
    return script_module("board_page")


@pytest.fixture
def standing(board):
    """Return a function that makes the standing of a subject."""

    def make(name, faults=0, wrong=0, right=0, unsupported=0):
        cells = {column: board.Cell() for column in board.COLUMNS}
        cells["ArgMax alone"] = board.Cell(right, wrong, unsupported)
        fault = board.Fault("Wrong", "acme", "wrong", "test_argmax", "must")
        return board.Standing(name, "1.0", is_optimizer=False, faults=(fault,) * faults, cells=cells)

    return make


@pytest.fixture(scope="module")
def written(tmp_path_factory, small_corpus):
    """Write the board of a run of the reference and of acme, which returns the last index of ties."""
    folder = tmp_path_factory.mktemp("board")
    wrong = next(one for one in catalogue()["ArgMax"] if one.id == "argmax.last_of_ties").backend
    record_run(open_corpus(small_corpus), folder / "run.jsonl", {"acme": wrong, "reference": ReferenceBackend})
    assert run_script("board_page", folder / "run.jsonl", folder / "made")[0] == 0
    return folder / "made"


@pytest.mark.parametrize("column", COLUMNS)
def test_column_of_case_is_operator_and_form(board, column):
    kind, tags = COLUMNS[column]
    assert board.column_of(make_case(kind=kind, tags=list(tags))) == column


def test_faults_known_has_every_row_of_the_findings(board):
    rows = [line for line in FINDINGS.split("\n## ")[0].splitlines() if line.startswith("| ") and "](" in line]
    assert len(board.faults_known(FINDINGS)) == len(rows)


def test_rank_fewer_faults_come_before_fewer_wrong_cases(standing):
    few, many = standing("few", faults=1, wrong=9), standing("many", faults=2, wrong=3)
    assert sorted([many, few], key=lambda one: one.rank) == [few, many]


def test_table_unsupported_cases_are_neither_right_nor_wrong(board, standing):
    *_, row = board.table([standing("acme", wrong=1, right=3, unsupported=5)], ["ArgMax alone", "Adam native"])
    assert row == "| 1 | acme 1.0 | 0 | 1 | 3 | 5 | 3/4 (5 unsupported) | - |"


def test_short_names_of_harness_and_provider_are_runtime_names(board):
    named = {"acme-web": "exec:node acme.mjs", "acme-fast": "acme[provider=Fast]"}
    pinned = {name: {"subject": subject} for name, subject in (named | {"acme": "acme"}).items()}
    assert board.short_names(pinned) == {subject: name for name, subject in named.items()}


def test_page_of_runtime_with_own_page_is_that_page(board):
    assert board.page_of("acme-fast", {"acme", "acme-fast"}) == "acme-fast"


@pytest.mark.parametrize("subject", ["acme", "acme[level=all]", "acme-defaults"])
def test_page_of_subject_is_the_page_of_its_package(board, subject):
    assert board.page_of(subject, {"ac", "acme"}) == "acme"
    assert board.page_of(subject, {"ac"}) is None


def test_board_leaves_out_the_reference(written):
    page = (written / "README.md").read_text(encoding="utf-8")
    assert "| acme 1.0 | 0 |" in page
    assert "| reference" not in page


def test_board_lists_runtimes_without_results(written):
    page = (written / "README.md").read_text(encoding="utf-8")
    assert "openvino" in page.split("## Not run on this corpus\n\n")[1].split("\n")[0]


def test_heat_map_has_numbers_in_cells_and_no_script(board, written):
    root = ET.fromstring((written / "heat.svg").read_bytes())
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "text"}
    described = [box for box in root.iter("{http://www.w3.org/2000/svg}rect") if len(box)]
    assert len(described) == len(board.COLUMNS)
    (counts,) = (
        box[0].text.partition(": ")[2] for box in described if box[0].text.startswith("acme 1.0, ArgMax alone: ")
    )
    assert re.findall(r"\d+", counts) == ["0", "1", "0"]


def test_board_page_missing_results_exits_with_2(tmp_path):
    status, _, err = run_script("board_page", tmp_path / "nothing.jsonl", tmp_path)
    assert (status, "nothing.jsonl" in err) == (2, True)


@pytest.mark.parametrize(
    ("counts", "state", "cell"),
    [
        ({"right": 3}, "right", "3/3"),
        ({"right": 3, "wrong": 1, "error": 1}, "wrong", "**3/4**, 1 error"),
        ({"right": 3, "error": 1, "unsupported": 2}, "error", "3/3, 1 error, 2 unsupported"),
        ({"right": 3, "unsupported": 2}, "right", "3/3, 2 unsupported"),
        ({"unsupported": 2}, "unsupported", "2 unsupported"),
        ({}, "unsupported", "-"),
    ],
)
def test_state_of_operator_is_the_worst_that_a_computed_case_has(counts, state, cell):
    operators = script_module("operator_board")
    assert (operators.state(counts), operators.cell(counts)) == (state, cell)


def test_bars_of_operators_have_numbers_names_and_the_whole_width():
    found = {"right": ["Abs", "Add"], "wrong": ["Conv"], "error": [], "unsupported": ["LSTM"]}
    root = ET.fromstring(script_module("board_map").operator_bars({"acme 1.0": found}))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"acme 1.0", "wrong: Conv", "2", "1"} <= {*texts}
    bars = [element for element in root.iter() if element.tag.endswith("rect") and element.get("height") == "30"]
    assert sum(float(bar.get("width")) for bar in bars) == pytest.approx(script_module("board_map").BAR_WIDTH)
