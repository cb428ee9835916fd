"""A census as lines of JSON, as Markdown, and as text for a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from conformance.boundary.text import one_line
from conformance.census.findings import COLUMNS, document, effect, line
from conformance.census.notes import notes
from conformance.census.truth import GUARD
from conformance.plugins import suite_version
from conformance.report.text import escaped
from conformance.results.environment import cpu_name, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.census.findings import CellFindings

FORMAT = 1

ASSUMPTION = (
    "Correctly rounded values are NumPy's double Exp and Log rounded once more, these taken to be within 2^-50 of the "
    "exact value; where that leaves two values open, Arb decides."
)


def facts() -> dict[str, str]:
    """What the figures depend on besides the subjects: never a name or a path of the machine."""
    return {"suite": suite_version(), **cpu_name(), **environment()}


def json_lines(found: Sequence[CellFindings], facts: Mapping[str, str]) -> Iterator[bytes]:
    """The results: a header, a record for each cell, and a footer."""
    header = {"record": "header", "format": FORMAT, "environment": facts, "guard": GUARD}
    records = (header, *map(document, found), {"record": "footer", "cells": len(found)})
    for record in records:
        yield json.dumps(record, ensure_ascii=False).encode() + b"\n"


def markdown(found: Sequence[CellFindings], facts: Mapping[str, str]) -> str:
    """Tables for a code host."""
    parts = [
        "# Census of monotone operators",
        f"Figures depend on a processor's instructions; here: {_listed(facts)}.",
        *_elsewhere(found),
        _table(COLUMNS, [line(each) for each in found]),
        ASSUMPTION,
        *[f"- {escaped(note)}" for each in found for note in notes(each)],
        "## What the pass changes",
        EXPLAINED,
        _table(EFFECT, [effect_line(each) for each in found if each.has_order and each.number("pairs")]),
    ]
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


def _listed(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _elsewhere(found: Sequence[CellFindings]) -> list[str]:
    """Which cells were counted elsewhere, a sentence for each such place."""
    places = {_listed(each.elsewhere): each.elsewhere for each in found if each.elsewhere}
    cells = {place: [each for each in found if each.elsewhere == facts] for place, facts in places.items()}
    return [
        f"Where it was {escaped(place)}: {escaped(', '.join(map(_named, counted)))}."
        for place, counted in cells.items()
    ]


def _named(found: CellFindings) -> str:
    return f"{found.cell.operator} of {found.cell.type} on {found.cell.subject}"


EXPLAINED = (
    "Pairs of values, of a 16-bit type all, else the neighbours that were tried, of which ArgMax gives another index "
    "once the operator before it is gone. Where an operator's values hold a NaN, that is each runtime's."
)

EFFECT = ("subject", "operator", "type", "pairs", "rounding_tie", "overflow", "underflow", "NaN", "not_monotone")


def effect_line(found: CellFindings) -> tuple[str, ...]:
    """A cell in the table of the pass, under `EFFECT`."""
    changed: Mapping[str, int] = effect(found)
    names = (f"{found.cell.subject} {found.version}", found.cell.operator, found.cell.type)
    classes = ("rounding_tie", "overflow", "underflow", "nan", "not_monotone")
    of_nan = changed.get("negative", 0) + changed.get("softmax_infinity", 0)
    tried = f"{changed['pairs']:,}{' sampled' if found.sampled else ''}"
    return (*names, tried, *(f"{of_nan if kind == 'nan' else changed.get(kind, 0):,}" for kind in classes))


def text(found: Sequence[CellFindings]) -> Iterator[str]:
    """Lines for a terminal."""
    rows = [COLUMNS, *(line(each) for each in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        texts = (
            cell.ljust(width) if i < 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield one_line_of(texts)
    for each in found:
        yield from map(one_line, notes(each))


def one_line_of(texts: Iterator[str]) -> str:
    """Cells side by side."""
    return "  ".join(texts).rstrip()


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---" if i < 3 else "---:" for i in range(len(columns))]
    lines = (list(map(escaped, columns)), rule, *(map(escaped, row) for row in rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
