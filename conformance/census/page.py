"""A census as a page that needs nothing else: a table, and of each cell pictures over its arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.census.findings import COLUMNS, line, percent
from conformance.census.notes import notes
from conformance.census.report import ASSUMPTION, EFFECT, EXPLAINED, effect_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.census.findings import CellFindings
    from conformance.census.tally import Row

HEIGHT = 100


@dataclass(frozen=True)
class Bar:
    """One binade of a picture.

    Attributes:
        height: from 0 to `HEIGHT`.
        title: what it says when it is pointed at.
    """

    height: float
    title: str


@dataclass(frozen=True)
class Picture:
    """Something over the arguments of an operator, a bar for each binade.

    Attributes:
        title: what is shown.
        top: what the full height stands for.
        ends: the first and the last binade.
    """

    title: str
    top: str
    bars: Sequence[Bar]
    ends: tuple[str, str]


def page(found: Sequence[CellFindings], facts: Mapping[str, str]) -> str:
    """The page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("conformance.census")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    cells = [each for each in found if each.number("pairs")]
    return environment.get_template("census.html.j2").render(
        columns=COLUMNS,
        lines=[(line(each), _anchor(each)) for each in found],
        effects=EFFECT,
        effect_lines=[effect_line(each) for each in cells if each.has_order],
        cells=[_shown(each) for each in cells],
        facts=facts,
        assumption=ASSUMPTION,
        explained=EXPLAINED,
        height=HEIGHT,
    )


def _anchor(found: CellFindings) -> str:
    return f"{found.cell.subject} {found.cell.operator} {found.cell.type}"


def _shown(found: CellFindings) -> dict[str, Any]:
    name = f"{found.cell.operator} of {found.cell.type} on {found.cell.subject} {found.version}"
    return {
        "name": name,
        "anchor": _anchor(found),
        "notes": notes(found),
        "pictures": pictures(found) if found.has_order else [],
    }


def pictures(found: CellFindings) -> list[Picture]:
    """What there is to see: disorder, ties, errors and the share of values that are not the correctly rounded ones."""
    shown = [
        _picture(found, "neighbours out of order", lambda row: row["counts"].get("out_of_order", 0), count=True),
        _picture(found, "share of neighbours merged", lambda row: _share(row, "merged", "pairs")),
    ]
    if found.has_errors:
        shown += [
            _picture(found, "share of values not correctly rounded", lambda row: _share(row, "wrong", "values")),
            _picture(found, "largest error in ULP", _error, ulp=True),
            _distances(found),
        ]
    return shown


def _distances(found: CellFindings) -> Picture:
    """A histogram: how many values are how many neighbours off."""
    off = {int(kind[7:]): number for kind, number in found.whole["counts"].items() if kind.startswith("off_by_")}
    steps = [2**power for power in range(max(off, default=1).bit_length())]
    numbers = {0: found.number("values") - sum(off.values()), **{step: off.get(step, 0) for step in steps}}
    top = max(numbers.values())
    bars = [
        Bar(HEIGHT * math.log1p(number) / math.log1p(top), f"{_span(step)} off: {number:,} values")
        for step, number in numbers.items()
    ]
    return Picture("values by how many neighbours they are off", f"{top:,}, logarithmic", bars, ("0", _span(steps[-1])))


def _span(step: int) -> str:
    """The distances that are counted together with one."""
    return str(step) if step < 3 else f"{step // 2 + 1} to {step}"


def _picture(
    found: CellFindings, title: str, of: Callable[[Row], float], *, count: bool = False, ulp: bool = False
) -> Picture:
    """A picture; counts on a logarithmic scale, shares from none to all, errors up to the largest."""
    rows = {binade: row for binade, row in found.rows.items() if binade and row["counts"].get("pairs")}
    values = {binade: of(row) for binade, row in rows.items()}
    top = max([*values.values(), 1.0])
    bars = []
    for binade, value in values.items():
        height = math.log1p(value) / math.log1p(top) if count else value / top
        shown = f"{value:,.0f}" if count else f"{value:.3f} ULP" if ulp else percent(value)
        bars.append(Bar(HEIGHT * height, f"{binade_name(found, binade)}: {shown}"))
    full = f"{top:,.0f}, logarithmic" if count else f"{top:.3f} ULP" if ulp else "all"
    names = [binade_name(found, binade) for binade in rows]
    return Picture(title, full, bars, (names[0], names[-1]) if names else ("", ""))


def binade_name(found: CellFindings, binade: int) -> str:
    """The arguments of a binade, in words."""
    scale = found.cell.scale
    sign = "-" if binade < 0 else ""
    if abs(binade) == 1:
        return f"{sign}subnormal"
    if scale.exponent(binade) > scale.format.largest_exponent:
        return f"{sign}infinity"
    return f"{sign}2^{scale.exponent(binade)}"


def _share(row: Row, kind: str, of: str) -> float:
    return row["counts"].get(kind, 0) / (row["counts"].get(of, 0) or 1)


def _error(row: Row) -> float:
    extreme = row["extremes"].get("error")
    return extreme["value"] if extreme is not None else 0.5
