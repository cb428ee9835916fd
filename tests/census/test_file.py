"""Reading of census files."""

from __future__ import annotations

import gzip

import pytest
from repository import ROOT

from conformance.census.chunks import Cell
from conformance.census.counters import BinadeCounters
from conformance.census.file import cell_record, read_census
from conformance.census.report import json_lines
from conformance.census.results import CellResult
from conformance.errors import CensusFileError

ROW = BinadeCounters(5, {"values": 8, "pairs": 8}, {}, {"nan": [3]})
FOUND = (
    CellResult(Cell("a", "Exp", "float16"), "1", {5: ROW}),
    CellResult(Cell("a", "Exp", "float", sampled=True), "1", {5: ROW}, "no answer", refused=True),
    CellResult(Cell("a", "Softmax", "float"), "1", {5: ROW}, symmetric=False),
)


WRONG_PAIR = (2**16 + 0x3C00) * 2**16 + 0xFFFF


@pytest.mark.parametrize("path", sorted((ROOT / "reports" / "census").glob("*.jsonl.gz")), ids=lambda path: path.name)
def test_read_census_accepts_each_census_of_the_reports(path):
    assert read_census(path)[1]


@pytest.mark.parametrize(("ordinal", "is_right"), [(0, True), (WRONG_PAIR, True), (2**33, False), (-1, False)])
def test_read_census_checks_pairs_of_argmax(tmp_path, ordinal, is_right):
    row = BinadeCounters(0, {"pairs": 8, "wrong": 1}, {}, {"wrong": [ordinal]})
    cell = CellResult(Cell("a", "ArgMax", "float16"), "1", {0: row})
    (tmp_path / "census").write_bytes(b"".join(json_lines([cell], {})))
    if is_right:
        assert read_census(tmp_path / "census")[1][0].rows == {0: row}
    else:
        with pytest.raises(CensusFileError):
            read_census(tmp_path / "census")


@pytest.mark.parametrize("packed", [False, True])
def test_read_census_returns_written_cells(tmp_path, packed):
    path = tmp_path / ("census.jsonl" + ".gz" * packed)
    content = b"".join(json_lines(FOUND, {"cpu": "A"}))
    path.write_bytes(gzip.compress(content) if packed else content)
    environment, found = read_census(path)
    assert environment == {"cpu": "A"}
    assert list(map(cell_record, found)) == list(map(cell_record, FOUND))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "census.truncated"),
        (b"nonsense", "census.malformed"),
        (b'{"record": "header"}', "census.malformed"),
        (b"".join([*json_lines(FOUND, {})][:-1]), "census.truncated"),
        (b"".join([*json_lines(FOUND, {})][1:]), "census.truncated"),
    ],
)
def test_read_census_malformed_file_is_refused(tmp_path, content, code):
    (tmp_path / "census").write_bytes(content)
    with pytest.raises(CensusFileError) as raised:
        read_census(tmp_path / "census")
    assert raised.value.code == code
