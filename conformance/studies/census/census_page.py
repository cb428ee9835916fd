"""HTML page with the results of a census: tables, and charts by binade of the argument for each cell.

A cell is one operator with one element type on one subject. The page is a single file. `write_census` writes the other
reports too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import write_chunks_atomically, write_text_atomically
from conformance.base.pages import templating
from conformance.studies.census.census_report import (
    ASSUMPTION,
    IMPACT_EXPLANATION,
    PASS_IMPACT_COLUMNS,
    environment_facts,
    footnotes,
    json_lines,
    markdown,
    pass_impact_row,
)
from conformance.studies.census.census_results import TABLE_COLUMNS, format_percent, table_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.run.report.report_files import ReportFiles
    from conformance.studies.census.census_results import CellResult
    from conformance.studies.census.counters import BinadeCounters

CHART_HEIGHT = 100


@dataclass(frozen=True)
class Bar:
    """A bar of a chart.

    Attributes:
        height: height from 0 to `CHART_HEIGHT`.
        title: text that is shown when the pointer is over the bar.
    """

    height: float
    title: str


@dataclass(frozen=True)
class Chart:
    """A bar chart over the arguments of an operator, with one bar per binade.

    Attributes:
        title: title of the chart.
        top: value of the full height, as text.
        bars: the bars.
        ends: names of the first and the last binade.
    """

    title: str
    top: str
    bars: Sequence[Bar]
    ends: tuple[str, str]


@dataclass(frozen=True)
class CellSection:
    """The section of a cell.

    Attributes:
        name: the heading.
        anchor: the id of the heading, to which the table links.
        notes: remarks, as sentences.
        charts: the charts.
    """

    name: str
    anchor: str
    notes: Sequence[str]
    charts: Sequence[Chart]


def write_census(found: Sequence[CellResult], reports: ReportFiles) -> None:
    """Write the results of a census to the files `results`, `html` and `markdown` of which a path is given."""
    facts = environment_facts()
    if (path := reports.paths.get("results")) is not None:
        write_chunks_atomically(path, json_lines(found, facts))
    if (path := reports.paths.get("html")) is not None:
        write_text_atomically(path, render_page(found, facts))
    if (path := reports.paths.get("markdown")) is not None:
        write_text_atomically(path, markdown(found, facts))


def render_page(found: Sequence[CellResult], facts: Mapping[str, str]) -> str:
    """Return the HTML page for the results of all cells; `facts` describes the environment."""
    cells = [each for each in found if each.number("pairs")]
    compared = [each for each in cells if each.has_errors]
    pairs = sum(each.number("pairs") for each in cells)
    sampled = sum(each.sampled for each in cells)
    return templating.render_page(
        "census.html.j2",
        styles=["census.css"],
        judged=f"{pairs:,} pairs in {templating.count_text(len(cells), 'cell')}, {sampled} sampled",
        out_of_order=sum(each.number("out_of_order") for each in cells),
        compared=sum(each.number("values") for each in compared),
        wrong=sum(each.number("wrong") for each in compared),
        not_measured=len(found) - len(cells),
        columns=TABLE_COLUMNS,
        lines=[(table_row(each), each.cell.name) for each in found],
        effects=PASS_IMPACT_COLUMNS,
        effect_lines=[pass_impact_row(each) for each in cells if each.has_order],
        cells=[_cell_section(each) for each in cells],
        facts=facts,
        assumption=ASSUMPTION,
        explained=IMPACT_EXPLANATION,
        height=CHART_HEIGHT,
    )


def _cell_section(found: CellResult) -> CellSection:
    name = f"{found.cell.operator} of {found.cell.type} on {found.cell.subject} {found.version}"
    return CellSection(name, found.cell.name, footnotes(found), cell_charts(found) if found.has_order else [])


def cell_charts(found: CellResult) -> list[Chart]:
    """Return the charts of a cell: order, equal neighbours, and errors if they were measured."""
    shown = [
        _binade_chart(found, "neighbours out of order", lambda row: row.counts.get("out_of_order", 0), count=True),
        _binade_chart(found, "share of neighbours merged", lambda row: _count_ratio(row, "merged", "pairs")),
    ]
    if found.has_errors:
        shown += [
            _binade_chart(
                found, "share of values not correctly rounded", lambda row: _count_ratio(row, "wrong", "values")
            ),
            _binade_chart(found, "largest error in ULP", _largest_error, ulp=True),
            _distance_chart(found),
        ]
    return shown


def _distance_chart(found: CellResult) -> Chart:
    """Return a histogram of the values by their distance from the correctly rounded value."""
    off = {int(kind[7:]): number for kind, number in found.whole.counts.items() if kind.startswith("off_by_")}
    steps = [2**power for power in range(max(off, default=1).bit_length())]
    numbers = {0: found.number("values") - sum(off.values()), **{step: off.get(step, 0) for step in steps}}
    top = max(numbers.values())
    bars = [
        Bar(CHART_HEIGHT * math.log1p(number) / math.log1p(top), f"{_format_distances(step)} off: {number:,} values")
        for step, number in numbers.items()
    ]
    return Chart(
        "values by how many neighbours they are off", f"{top:,}, logarithmic", bars, ("0", _format_distances(steps[-1]))
    )


def _format_distances(step: int) -> str:
    """Return the distances in the bucket that ends with `step`."""
    return str(step) if step < 3 else f"{step // 2 + 1} to {step}"


def _binade_chart(
    found: CellResult, title: str, of: Callable[[BinadeCounters], float], *, count: bool = False, ulp: bool = False
) -> Chart:
    """Return a chart with a bar for each binade.

    Args:
        of: function that returns the height of the bar from the counters of its binade.
        count: whether heights are counts, which get a logarithmic scale.
        ulp: whether heights are errors in ULP; otherwise, without `count`, they are shares.
    """
    rows = {binade: row for binade, row in found.rows.items() if binade and row.counts.get("pairs")}
    values = {binade: of(row) for binade, row in rows.items()}
    top = max([*values.values(), 1.0])
    bars = []
    for binade, value in values.items():
        height = math.log1p(value) / math.log1p(top) if count else value / top
        shown = f"{value:,.0f}" if count else f"{value:.3f} ULP" if ulp else format_percent(value)
        bars.append(Bar(CHART_HEIGHT * height, f"{format_binade(found, binade)}: {shown}"))
    full = f"{top:,.0f}, logarithmic" if count else f"{top:.3f} ULP" if ulp else "all"
    names = [format_binade(found, binade) for binade in rows]
    return Chart(title, full, bars, (names[0], names[-1]) if names else ("", ""))


def format_binade(found: CellResult, binade: int) -> str:
    """Return the magnitude of the arguments of a binade as text."""
    float_type = found.cell.float_type
    sign = "-" if binade < 0 else ""
    if abs(binade) == 1:
        return f"{sign}subnormal"
    if float_type.exponent(binade) > float_type.format.largest_exponent:
        return f"{sign}infinity"
    return f"{sign}2^{float_type.exponent(binade)}"


def _count_ratio(row: BinadeCounters, kind: str, of: str) -> float:
    return row.counts.get(kind, 0) / (row.counts.get(of, 0) or 1)


def _largest_error(row: BinadeCounters) -> float:
    extreme = row.extremes.get("error")
    return extreme.value if extreme is not None else 0.5
