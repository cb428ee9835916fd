"""Measure how often the rewrite changes the index on random logits: by operator, type, number of classes and spread.

Writes docs/images/hazard-rates.svg and prints the same figures. Logits are approximately normal: sums of
twelve uniform numbers times the spread. The generator is counter-based, so all machines give the same numbers.

Operators are rounded correctly to the type. Softmax and LogSoftmax subtract the maximum, and compute float16 in float.
The inputs of Log and Sqrt are the Softmax of the logits, as in a model that computes the logarithm of probabilities.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.pages.templating import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.exact.models.arrays import Array

CLASSES = (2, 10, 100, 1000, 32000)
SPREADS = (0.001, 0.01, 0.1, 1, 10, 100, 1000)
TYPES = {"float": np.float32, "float16": np.float16}
ELEMENTS = 1_000_000
MIN_ROWS = 500
TARGET = Path(__file__).resolve().parents[2] / "docs" / "images" / "hazard-rates.svg"

PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ width }} {{ height }}" font-family="sans-serif" font-size="11">
<title>Share of rows whose index changes if the operator before ArgMax is removed</title>
<rect width="{{ width }}" height="{{ height }}" fill="#fff"/>
{% for panel in panels %}
<g transform="translate({{ panel.x }},{{ panel.y }})">
<text x="40" y="-8" font-weight="bold">{{ panel.title }}</text>
{% for cell in panel.cells %}
<rect x="{{ cell.x }}" y="{{ cell.y }}" width="46" height="22" fill="{{ cell.fill }}" stroke="#fff"/>
<text x="{{ cell.x + 23 }}" y="{{ cell.y + 15 }}" text-anchor="middle" fill="{{ cell.ink }}">{{ cell.text }}</text>
{% endfor %}
{% for label in panel.rows %}<text x="36" y="{{ label.y }}" text-anchor="end">{{ label.text }}</text>{% endfor %}
{% for label in panel.columns %}<text x="{{ label.x }}" y="124" text-anchor="middle">{{ label.text }}</text>{% endfor %}
</g>
{% endfor %}
<text x="20" y="{{ height - 10 }}">Rows: number of classes. Columns: spread (standard deviation) of the logits. \
Cells: percent of rows in which ArgMax gives another index without it.</text>
</svg>
"""


@dataclass(frozen=True)
class Cell:
    """One measurement: the number of rows, and of rows in which the index changes."""

    operator: str
    type: str
    classes: int
    spread: float
    changed: int
    rows: int

    @property
    def share(self) -> str:
        """The share of changed rows in percent, with two digits."""
        percent = 100 * self.changed / self.rows
        return f"{percent:.2g}" if percent < 99.5 else "100"


def logits(rows: int, classes: int, spread: float) -> Array:
    """Return approximately normal random numbers with standard deviation `spread` (double, rows by classes)."""
    total = np.zeros(rows * classes)
    for part in range(12):
        raw = np.random.Philox(key=[classes, part]).random_raw(rows * classes)
        total += (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (total.reshape(rows, classes) - 6) * spread


def exp(X: Array) -> Array:
    """Return the exponential, rounded once to the type of X."""
    return np.exp(X.astype(np.float64)).astype(X.dtype)


def log(X: Array) -> Array:
    """Return the logarithm, rounded once to the type of X."""
    return np.log(X.astype(np.float64)).astype(X.dtype)


def sqrt(X: Array) -> Array:
    """Return the square root, rounded once to the type of X."""
    return np.sqrt(X.astype(np.float64)).astype(X.dtype)


def softmax(X: Array) -> Array:
    """Return Softmax with every operation rounded to float and the result rounded to the type of X."""
    wide = X.astype(np.float32)
    powers = exp(wide - wide.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True, dtype=np.float32)).astype(X.dtype)


def log_softmax(X: Array) -> Array:
    """Return LogSoftmax with every operation rounded to float and the result rounded to the type of X."""
    wide = X.astype(np.float32)
    shifted = wide - wide.max(axis=1, keepdims=True)
    return (shifted - log(exp(shifted).sum(axis=1, keepdims=True, dtype=np.float32))).astype(X.dtype)


OPERATORS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "Softmax": (softmax, lambda X: X),
    "LogSoftmax": (log_softmax, lambda X: X),
    "Exp": (exp, lambda X: X),
    "Log": (log, softmax),
    "Sqrt": (sqrt, softmax),
}
"""The function of each operator, and the function that computes its input from the logits."""


def measure_cells() -> Iterator[Cell]:
    """Yield every cell in the order of the picture."""
    for classes in CLASSES:
        rows = max(MIN_ROWS, ELEMENTS // classes)
        unit = logits(rows, classes, 1.0)
        for type_name, dtype in TYPES.items():
            for spread in SPREADS:
                with np.errstate(all="ignore"):
                    X = (unit * spread).astype(dtype)
                    for operator, (compute, before) in OPERATORS.items():
                        given = before(X)
                        changed = int((compute(given).argmax(axis=1) != given.argmax(axis=1)).sum())
                        yield Cell(operator, type_name, classes, spread, changed, rows)


def picture(cells: list[Cell]) -> str:
    """Return the cells as an SVG with a panel for each operator and type."""
    panels = [
        _panel(operator, type_name, place, [c for c in cells if (c.operator, c.type) == (operator, type_name)])
        for place, (operator, type_name) in enumerate((o, t) for o in OPERATORS for t in TYPES)
    ]
    return environment().from_string(PICTURE).render(panels=panels, width=780, height=160 * len(OPERATORS) + 30)


def _panel(operator: str, type_name: str, place: int, cells: list[Cell]) -> dict[str, Any]:
    shown = [
        {
            "x": 40 + 46 * SPREADS.index(cell.spread),
            "y": 22 * CLASSES.index(cell.classes),
            "text": cell.share,
            "fill": _fill(cell),
            "ink": "#fff" if cell.changed / cell.rows > 0.3 else "#111",
        }
        for cell in cells
    ]
    return {
        "title": f"{operator}, {type_name}",
        "x": 10 + 385 * (place % 2),
        "y": 30 + 160 * (place // 2),
        "cells": shown,
        "rows": [{"y": 22 * row + 15, "text": f"{classes}"} for row, classes in enumerate(CLASSES)],
        "columns": [{"x": 63 + 46 * column, "text": f"{spread:g}"} for column, spread in enumerate(SPREADS)],
    }


def _fill(cell: Cell) -> str:
    """Return the colour of a share: white for no change, darker red for more; one in a thousand is visible."""
    if not cell.changed:
        return "#f2f2f2"
    strength = min(1.0, max(0.12, 1 + np.log10(cell.changed / cell.rows) / 4))
    return f"#{255:02x}{round(235 * (1 - strength)) + 10:02x}{round(215 * (1 - strength)) + 20:02x}"


def main() -> None:
    """Measure all cells, write the picture, and print the figures."""
    cells = list(measure_cells())
    TARGET.write_text(picture(cells), encoding="utf-8")
    for cell in cells:
        setting = f"{cell.operator:10} {cell.type:7} {cell.classes:6} classes, spread {cell.spread:<6g}"
        sys.stdout.write(f"{setting} {cell.changed:7} of {cell.rows} rows  {cell.share} %\n")


if __name__ == "__main__":
    main()
