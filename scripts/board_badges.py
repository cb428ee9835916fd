"""The badges of the board, one JSON file for shields.io for each subject and operator.

A badge shows the number of correct cases of level `must` and the number of computed cases. A subject that computed no
case of an operator has no badge for it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from board_map import shade

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from board_page import Cell

SCHEMA_VERSION = 1
"""Version of the endpoint schema of shields.io."""


def badge(label: str, cell: Cell) -> dict[str, object]:
    """Return the badge of a cell as shields.io reads it."""
    unsupported = f" ({cell.unsupported} unsupported)" if cell.unsupported else ""
    message = f"{cell.right}/{cell.computed}{unsupported}"
    return {"schemaVersion": SCHEMA_VERSION, "label": label, "message": message, "color": shade(cell).removeprefix("#")}


def file_name(subject: str, operator: str) -> str:
    """Return the file name of a badge, such as `onnxruntime-level-all-argmax.json`."""
    return "-".join(re.findall(r"[a-z0-9.]+", f"{subject} {operator}".lower())) + ".json"


def badges(cells: Mapping[str, Mapping[str, Cell]]) -> Iterator[tuple[str, str]]:
    """Yield file name and text of every badge.

    Args:
        cells: the cells by subject and operator.
    """
    for subject, by_operator in cells.items():
        for operator, cell in by_operator.items():
            if cell.computed:
                yield file_name(subject, operator), json.dumps(badge(f"{operator} on {subject}", cell)) + "\n"


def write_badges(folder: Path, cells: Mapping[str, Mapping[str, Cell]]) -> None:
    """Write the badges into a folder, and remove all older badges from it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, text in badges(cells):
        (folder / name).write_text(text, encoding="utf-8")
