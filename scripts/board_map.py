"""The pictures of the boards as SVG: a heat map of cases, and bars of operators, with one row for each subject.

Every cell and bar contains its numbers, so that the colour is not the only information. The SVG has no script.
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
    root = _picture(width, height, title)
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


BAR_LEFT = 290
BAR_WIDTH = 860
BAR_HEIGHT = 30
BAR_ROW = 66
BAR_TOP = 76
"""Pixels: left and top end of the bars of operators, their size, and the distance of two rows."""

STATES = {
    "right": ("#1a9850", "#ffffff", "every computed case is right"),
    "wrong": ("#c92a2a", "#ffffff", "an output is wrong"),
    "error": ("#fdae61", "#1f2328", "a case ends in an error"),
    "unsupported": ("#d0d7de", "#1f2328", "not supported"),
}
"""Colours of the bar and of its text, and the meaning, by the state of an operator."""

MAX_NAMES = 104
"""Characters of the names of wrong operators below a bar."""


def operator_bars(rows: Mapping[str, Mapping[str, Sequence[str]]]) -> bytes:
    """Return the SVG with a bar for each subject, whose parts are the numbers of operators in each of `STATES`.

    Args:
        rows: the names of the operators by subject and state.
    """
    title = "How many operators of ONNX does each runtime compute rightly?"
    width = BAR_LEFT + BAR_WIDTH + 20
    root = _picture(width, BAR_TOP + BAR_ROW * len(rows) + 6, title)
    _text(root, 12, 26, title, "start", size=18)
    for place, (colour, _, meaning) in enumerate(STATES.values()):
        _box(root, BAR_LEFT + 215 * place, 42, 14, 14, colour)
        _text(root, BAR_LEFT + 20 + 215 * place, 54, meaning, "start")
    for line, (name, operators) in enumerate(rows.items()):
        top = BAR_TOP + BAR_ROW * line
        _text(root, BAR_LEFT - 12, top + 20, name, "end", size=14)
        total = max(sum(map(len, operators.values())), 1)
        left = float(BAR_LEFT)
        for state, (colour, ink, meaning) in STATES.items():
            size = BAR_WIDTH * len(operators[state]) / total
            box = _box(root, left, top, size, BAR_HEIGHT, colour)
            ET.SubElement(box, "title").text = f"{name}, {meaning}: {', '.join(operators[state]) or 'none'}"
            if size > 16:
                _text(root, left + size / 2, top + 20, str(len(operators[state])), size=14, ink=ink)
            left += size
        _text(root, BAR_LEFT, top + BAR_HEIGHT + 16, _shortened("wrong", operators["wrong"]), "start")
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8") + b"\n"


def _shortened(what: str, names: Sequence[str]) -> str:
    shown: list[str] = []
    for name in names:
        if len(", ".join((*shown, name))) > MAX_NAMES:
            return f"{what}: {', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return f"{what}: {', '.join(shown) or 'none'}"


def _picture(width: float, height: float, title: str) -> ET.Element:
    """Return an empty picture with a white ground."""
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
    return root


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


def _text(
    root: ET.Element, left: float, top: float, text: str, anchor: str = "middle", *, size: int = 0, ink: str = "#1f2328"
) -> None:
    place = {"x": f"{left:g}", "y": f"{top:g}", "text-anchor": anchor, "fill": ink}
    if size:
        place["font-size"] = str(size)
    ET.SubElement(root, "text", place).text = text
