"""scripts/board_badges.py: badges with right and computed cases."""

from __future__ import annotations

import json
import sys

import pytest
from repository import ROOT


@pytest.fixture
def scripts(monkeypatch):
    """Import the scripts of the board, which import each other by their file names."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import board_badges
    import board_page

    yield board_badges, board_page
    for name in ("board_badges", "board_page", "board_map"):
        sys.modules.pop(name, None)


def test_badge_has_the_fields_of_shields_io(scripts):
    badges, page = scripts
    [(name, text)] = badges.badges({"onnxruntime[level=all]": {"ArgMax": page.Cell(right=9, wrong=1, unsupported=2)}})
    assert name == "onnxruntime-level-all-argmax.json"
    assert json.loads(text) == {
        "schemaVersion": 1,
        "label": "ArgMax on onnxruntime[level=all]",
        "message": "9/10 (2 unsupported)",
        "color": "fee08b",
    }


def test_badges_without_computed_cases_are_empty(scripts):
    badges, page = scripts
    assert list(badges.badges({"tract": {"Adam": page.Cell(unsupported=3)}})) == []


def test_by_operator_adds_the_forms_of_an_optimizer(scripts):
    _, page = scripts
    cells = {column: page.Cell(right=1) for column in page.COLUMNS}
    assert {operator: cell.right for operator, cell in page.by_operator(cells).items()} == {
        "Adam": 3,
        "Adagrad": 3,
        "Momentum": 3,
        "ArgMax": 2,
    }


def test_write_badges_removes_older_badges(scripts, tmp_path):
    badges, page = scripts
    (tmp_path / "gone-adam.json").write_text("{}", encoding="utf-8")
    badges.write_badges(tmp_path, {"tract": {"ArgMax": page.Cell(right=1)}})
    assert [file.name for file in tmp_path.iterdir()] == ["tract-argmax.json"]
