"""Badges of the board say how much is right of what was computed."""

from __future__ import annotations

import json
import sys

import pytest
from repository import ROOT


@pytest.fixture
def scripts(monkeypatch):
    """The board's scripts, which import each other as programs do."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import board_badges
    import board_page

    yield board_badges, board_page
    for name in ("board_badges", "board_page", "board_map"):
        sys.modules.pop(name, None)


def test_a_badge_has_what_shields_io_asks_for(scripts):
    badges, page = scripts
    [(name, text)] = badges.badges({"onnxruntime[level=all]": {"ArgMax": page.Cell(right=9, wrong=1, unsupported=2)}})
    assert name == "onnxruntime-level-all-argmax.json"
    assert json.loads(text) == {
        "schemaVersion": 1,
        "label": "ArgMax on onnxruntime[level=all]",
        "message": "9/10 (2 unsupported)",
        "color": "fee08b",
    }


def test_what_computed_nothing_has_no_badge(scripts):
    badges, page = scripts
    assert list(badges.badges({"tract": {"Adam": page.Cell(unsupported=3)}})) == []


def test_the_forms_of_an_optimizer_are_one_badge(scripts):
    _, page = scripts
    cells = {column: page.Cell(right=1) for column in page.COLUMNS}
    assert {operator: cell.right for operator, cell in page.by_operator(cells).items()} == {
        "Adam": 3,
        "Adagrad": 3,
        "Momentum": 3,
        "ArgMax": 2,
    }


def test_badges_of_another_day_are_gone(scripts, tmp_path):
    badges, page = scripts
    (tmp_path / "gone-adam.json").write_text("{}", encoding="utf-8")
    badges.write_badges(tmp_path, {"tract": {"ArgMax": page.Cell(right=1)}})
    assert [file.name for file in tmp_path.iterdir()] == ["tract-argmax.json"]
