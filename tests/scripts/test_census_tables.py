"""One table of several censuses."""

from __future__ import annotations

import gzip
import json
import sys
from importlib import import_module

import pytest
from repository import ROOT

from conformance.census.cell import Cell
from conformance.census.findings import CellFindings
from conformance.census.reading import read_census
from conformance.census.report import json_lines


@pytest.fixture
def main():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return import_module("census_tables").main
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture
def results(tmp_path):
    """Writes a census of one subject, and returns its path."""

    def write(name, environment):
        row = {"binade": 5, "counts": {"values": 8, "pairs": 8}, "extremes": {}, "places": {}}
        found = CellFindings(Cell(name, "Exp", "float16"), "1", {5: row})
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"".join(json_lines([found], environment)))
        return path

    return write


def test_a_table_has_the_cells_of_all_files_each_once(main, results, tmp_path):
    files = [results(name, {"cpu": "A"}) for name in ("b", "a")]
    main([str(tmp_path / "table"), *map(str, files), str(files[0])])
    text = (tmp_path / "table.md").read_text()
    assert text.index("| a 1 | Exp | float16 | 8 |") < text.index("| b 1 | Exp | float16 | 8 |")
    records = [json.loads(line) for line in gzip.decompress((tmp_path / "table.jsonl.gz").read_bytes()).splitlines()]
    assert [record.get("subject") for record in records] == [None, "a", "b", None]
    main([str(tmp_path / "again"), str(tmp_path / "table.jsonl.gz")])
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "table.jsonl.gz").read_bytes()


def test_a_cell_that_was_counted_on_another_machine_says_what_was_otherwise_there(main, results, tmp_path):
    files = [results("a", {"cpu": "A", "os": "L"}), results("b", {"cpu": "B", "os": "L"})]
    main([str(tmp_path / "table"), *map(str, files)])
    assert "here: cpu A, os L.\n\nWhere it was cpu B: Exp of float16 on b.\n" in (tmp_path / "table.md").read_text()
    environment, cells = read_census(tmp_path / "table.jsonl.gz")
    assert environment == {"cpu": "A", "os": "L"}
    assert [each.elsewhere for each in cells] == [{}, {"cpu": "B"}]


def test_what_was_otherwise_is_told_of_a_table_that_is_made_of_a_table(main, results, tmp_path):
    files = [results("a", {"cpu": "A"}), results("b", {"cpu": "B"})]
    main([str(tmp_path / "table"), *map(str, files)])
    main([str(tmp_path / "other"), str(files[1]), str(tmp_path / "table.jsonl.gz")])
    environment, cells = read_census(tmp_path / "other.jsonl.gz")
    assert environment == {"cpu": "B"}
    assert [each.elsewhere for each in cells] == [{"cpu": "A"}, {}]
