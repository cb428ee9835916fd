"""The results of a census, read again."""

from __future__ import annotations

import gzip

import pytest

from conformance.census.cell import Cell
from conformance.census.findings import CellFindings, document
from conformance.census.reading import read_census
from conformance.census.report import json_lines
from conformance.errors import UsageError

ROW = {"binade": 5, "counts": {"values": 8, "pairs": 8}, "extremes": {}, "places": {"nan": [3]}}
FOUND = (
    CellFindings(Cell("a", "Exp", "float16"), "1", {5: ROW}),
    CellFindings(Cell("a", "Exp", "float", sampled=True), "1", {5: ROW}, "no answer", refused=True),
    CellFindings(Cell("a", "Softmax", "float"), "1", {5: ROW}, symmetric=False),
)


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_written_is_read(tmp_path, packed):
    path = tmp_path / ("census.jsonl" + ".gz" * packed)
    content = b"".join(json_lines(FOUND, {"cpu": "A"}))
    path.write_bytes(gzip.compress(content) if packed else content)
    environment, found = read_census(path)
    assert environment == {"cpu": "A"}
    assert list(map(document, found)) == list(map(document, FOUND))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a whole census"),
        (b"nonsense", "is no census"),
        (b'{"record": "header"}', "is no census, by line 1"),
        (b"".join([*json_lines(FOUND, {})][:-1]), "is not a whole census"),
        (b"".join([*json_lines(FOUND, {})][1:]), "is not a whole census"),
    ],
)
def test_what_is_no_census_is_refused(tmp_path, content, sentence):
    (tmp_path / "census").write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        read_census(tmp_path / "census")
