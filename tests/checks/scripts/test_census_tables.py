"""scripts/census_tables.py: several censuses in one table."""

from __future__ import annotations

import gzip
import json

import pytest
from script_modules import script_module

from conformance.studies.census.census_file import read_census
from conformance.studies.census.census_report import json_lines
from conformance.studies.census.census_results import CellResult
from conformance.studies.census.chunks import Cell
from conformance.studies.census.counters import BinadeCounters


@pytest.fixture
def main():
    return script_module("census_tables").main


@pytest.fixture
def results(tmp_path):
    """Return a function that writes a census of one subject and returns its path."""

    def write(name, environment):
        row = BinadeCounters(5, {"values": 8, "pairs": 8}, {}, {})
        found = CellResult(Cell(name, "Exp", "float16"), "1", {5: row})
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"".join(json_lines([found], environment)))
        return path

    return write


def test_table_has_the_cells_of_all_files_once(main, results, tmp_path):
    files = [results(name, {"cpu": "A"}) for name in ("b", "a")]
    main([str(tmp_path / "table"), *map(str, files), str(files[0])])
    text = (tmp_path / "table.md").read_text()
    assert text.index("| a 1 | Exp | float16 | 8 |") < text.index("| b 1 | Exp | float16 | 8 |")
    records = [json.loads(line) for line in gzip.decompress((tmp_path / "table.jsonl.gz").read_bytes()).splitlines()]
    assert [record.get("subject") for record in records] == [None, "a", "b", None]
    main([str(tmp_path / "again"), str(tmp_path / "table.jsonl.gz")])
    assert (tmp_path / "again.jsonl.gz").read_bytes() == (tmp_path / "table.jsonl.gz").read_bytes()


def test_table_marks_a_cell_from_another_environment(main, results, tmp_path):
    files = [results("a", {"cpu": "A", "os": "L"}), results("b", {"cpu": "B", "os": "L"})]
    main([str(tmp_path / "table"), *map(str, files)])
    assert "cpu B: Exp" in (tmp_path / "table.md").read_text()
    environment, cells = read_census(tmp_path / "table.jsonl.gz")
    assert environment == {"cpu": "A", "os": "L"}
    assert [each.elsewhere for each in cells] == [{}, {"cpu": "B"}]


def test_table_of_a_table_keeps_differing_environments(main, results, tmp_path):
    files = [results("a", {"cpu": "A"}), results("b", {"cpu": "B"})]
    main([str(tmp_path / "table"), *map(str, files)])
    main([str(tmp_path / "other"), str(files[1]), str(tmp_path / "table.jsonl.gz")])
    environment, cells = read_census(tmp_path / "other.jsonl.gz")
    assert environment == {"cpu": "B"}
    assert [each.elsewhere for each in cells] == [{"cpu": "A"}, {}]
