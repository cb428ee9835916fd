"""The heat map of the board as an SVG: correct and computed cases of each subject, one row per subject.

Every cell contains its numbers, so that the colour is not the only information. The SVG has no script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from board_page import Cell

LEFT, TOP, WIDTH, HEIGHT, BELOW = 190, 64, 78, 26, 40
"""Pixels: space left of and above the cells, width and height of a cell, space below the cells."""

NOTHING = "#eaeef2"
SHADES = (
    (1.0, "#1a9850", "all"),
    (0.99, "#a6d96a", "from 99 %"),
    (0.9, "#fee08b", "from 90 %"),
    (0.5, "#fdae61", "from 50 %"),
)
WORST = "#f46d43"


def shade(cell: Cell) -> str:
    """Return the colour of a cell, by the share of correct cases among the computed cases."""
    if not cell.computed:
        return NOTHING
    return next((colour for least, colour, _ in SHADES if cell.right >= least * cell.computed), WORST)


def heat_map(rows: Mapping[str, Mapping[str, Cell]], columns: Sequence[str], title: str) -> bytes:
    """Return the SVG of the heat map.

    Args:
        rows: the cells by subject and column.
        columns: the columns in order.
    """
    width, height = LEFT + WIDTH * len(columns) + 10, TOP + HEIGHT * len(rows) + BELOW
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "font-family": "sans-serif",
            "font-size": "12",
            "role": "img",
        },
    )
    ET.SubElement(root, "title").text = title
    _box(root, 0, 0, width, height, "#ffffff")
    for place, column in enumerate(columns):
        first, _, second = column.partition(" ")
        _text(root, LEFT + WIDTH * (place + 0.5), TOP - 30, first)
        _text(root, LEFT + WIDTH * (place + 0.5), TOP - 14, second)
    for line, (name, cells) in enumerate(rows.items()):
        top = TOP + HEIGHT * line
        _text(root, LEFT - 8, top + 17, name, "end")
        for place, column in enumerate(columns):
            _cell(root, LEFT + WIDTH * place, top, f"{name}, {column}", cells[column])
    _key(root, height - BELOW + 14)
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8") + b"\n"


def _cell(root: ET.Element, left: float, top: float, name: str, cell: Cell) -> None:
    box = _box(root, left + 1, top + 1, WIDTH - 2, HEIGHT - 2, shade(cell))
    text = f"{name}: {cell.right} right, {cell.wrong} wrong, {cell.unsupported} unsupported"
    ET.SubElement(box, "title").text = text
    _text(root, left + WIDTH / 2, top + 17, f"{cell.right}/{cell.computed}" if cell.computed else "-")


def _key(root: ET.Element, top: float) -> None:
    shown = [(colour, f"right: {share}") for _, colour, share in SHADES]
    shown += [(WORST, "less"), (NOTHING, "nothing computed")]
    for place, (colour, meaning) in enumerate(shown):
        _box(root, 10 + 120 * place, top, 14, 14, colour)
        _text(root, 29 + 120 * place, top + 12, meaning, "start")


def _box(root: ET.Element, left: float, top: float, width: float, height: float, colour: str) -> ET.Element:
    box = {"x": left, "y": top, "width": width, "height": height}
    return ET.SubElement(root, "rect", {**{key: f"{value:g}" for key, value in box.items()}, "fill": colour})


def _text(root: ET.Element, left: float, top: float, text: str, anchor: str = "middle") -> None:
    place = {"x": f"{left:g}", "y": f"{top:g}", "text-anchor": anchor, "fill": "#1f2328"}
    ET.SubElement(root, "text", place).text = text
