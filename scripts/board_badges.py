"""Badges of the board, as shields.io reads them: a file for each subject and operator.

A badge says how much is right of what was computed at `must`, so a cell without anything computed has none.
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

VERSION = 1
"""Of shields.io's endpoint schema."""


def badge(label: str, cell: Cell) -> dict[str, object]:
    """What shields.io shows for a cell."""
    unsupported = f" ({cell.unsupported} unsupported)" if cell.unsupported else ""
    message = f"{cell.right}/{cell.computed}{unsupported}"
    return {"schemaVersion": VERSION, "label": label, "message": message, "color": shade(cell).removeprefix("#")}


def file_name(subject: str, operator: str) -> str:
    """A file's name for a subject and what its badge is of: `onnxruntime-level-all-argmax.json`."""
    return "-".join(re.findall(r"[a-z0-9.]+", f"{subject} {operator}".lower())) + ".json"


def badges(cells: Mapping[str, Mapping[str, Cell]]) -> Iterator[tuple[str, str]]:
    """The files' names and texts.

    Args:
        cells: by the subject's name and the operator's.
    """
    for subject, by_operator in cells.items():
        for operator, cell in by_operator.items():
            if cell.computed:
                yield file_name(subject, operator), json.dumps(badge(f"{operator} on {subject}", cell)) + "\n"


def write_badges(folder: Path, cells: Mapping[str, Mapping[str, Cell]]) -> None:
    """Write the badges into a folder, in the place of those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for name, text in badges(cells):
        (folder / name).write_text(text, encoding="utf-8")
