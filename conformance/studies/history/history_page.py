"""The HTML page of a history: one table per subject with one narrow column per release, and a plot of faults.

The page is one file, like the report of a run, with the style sheet and the functions of the report. The script draws
the tables from JSON in the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from conformance.base.files.atomic_write import write_json_atomically, write_text_atomically
from conformance.base.pages import templating
from conformance.studies.history.timeline import SYMBOLS, Course, document, failing_span
from conformance.subjects.environments.requirements import released_packages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.run.report.report_files import ReportFiles
    from conformance.studies.history.timeline import Row, Timeline

_PLOT_WIDTH = 300
_PLOT_HEIGHT = 72


@dataclass(frozen=True)
class FaultPlot:
    """The number of causes of failures by release, as a line of an SVG.

    Attributes:
        name: the subject.
        points: x, y and title of each release.
        top: the largest number.
        first: the oldest release.
        last: the newest release.
    """

    name: str
    points: Sequence[tuple[float, float, str]]
    top: int
    first: str
    last: str

    @property
    def line(self) -> str:
        """The points as the attribute of a polyline."""
        return " ".join(f"{x:g},{y:g}" for x, y, _ in self.points)


def write_timelines(found: Sequence[Timeline], reports: ReportFiles) -> None:
    """Write timelines to the files `json` and `html` of which a path is given."""
    if (path := reports.paths.get("json")) is not None:
        write_json_atomically(path, document(found))
    if (path := reports.paths.get("html")) is not None:
        write_text_atomically(path, render_page(found))


def render_page(found: Sequence[Timeline]) -> str:
    """Return the HTML page of some timelines; equal timelines give equal pages."""
    return templating.render_page(
        "history.html.j2",
        styles=["history.css"],
        scripts=["dom.js", "history.js"],
        data=[("data", _page_data(found))],
        plots=[_plot(timeline) for timeline in found],
        plot_size=(_PLOT_WIDTH, _PLOT_HEIGHT),
        releases=sum(len(timeline.releases) for timeline in found),
        subjects=len(found),
        failing=any(timeline.failing[-1] for timeline in found),
        judged=sum(map(_newest_results, found)),
        newest=list(map(_newest_text, found)),
    )


def _newest_results(timeline: Timeline) -> int:
    """Return the number of cases with a result of the newest release."""
    return sum(len(row.cases) for row in timeline.rows if row.verdicts[-1])


def _newest_text(timeline: Timeline) -> str:
    """Return the outcome of the newest release."""
    name = timeline.target.at_release(timeline.releases[-1]).text
    results = _newest_results(timeline)
    causes = templating.count_text(timeline.faults[-1], "cause")
    regressions = sum(len(row.cases) for row in timeline.rows if row.course is Course.REGRESSION)
    return f"{name}: {timeline.failing[-1]:,} of {results:,} cases fail, with {causes}; {regressions:,} are regressions"


def _page_data(found: Sequence[Timeline]) -> dict[str, Any]:
    """Return the data of the script: each course with its meaning, the verdict of each symbol, and the tables."""
    return {
        "courses": [(course, course.meaning) for course in Course if course is not Course.NO_FAILURE],
        "verdicts": {symbol: verdict for verdict, symbol in SYMBOLS.items()},
        "subjects": [_shown_subject(timeline) for timeline in found],
    }


def _shown_subject(timeline: Timeline) -> dict[str, Any]:
    """Return the table of a subject; `changes` has the changed packages of each release."""
    return {
        "name": timeline.target.text,
        "option": timeline.target.kind.flag,
        "releases": timeline.releases,
        "commands": [timeline.target.at_release(release).text for release in timeline.releases],
        "changes": _package_changes(timeline),
        "unavailable": [(each.release, each.reason) for each in timeline.unavailable],
        "unfailing": sum(len(row.cases) for row in timeline.rows if row.course is Course.NO_FAILURE),
        "rows": [_shown_row(timeline, row) for row in timeline.rows if row.course is not Course.NO_FAILURE],
    }


def _shown_row(timeline: Timeline, row: Row) -> dict[str, Any]:
    """Return a row of a table, with one symbol for each release; `good` is the release before the failures."""
    span = failing_span(timeline.releases, row.verdicts)
    return {
        "course": row.course,
        "verdicts": "".join(SYMBOLS[verdict] for verdict in row.verdicts),
        "name": row.name,
        "known": row.fault.location if row.fault else "",
        "level": row.level,
        "cases": row.cases,
        "since": span.since if span else "",
        "good": (span.last_good or "") if span else "",
        "span": span.texts if span else [],
        "varies": row.varies,
    }


def _package_changes(timeline: Timeline) -> list[list[str]]:
    """Return for each release the packages that differ from those of the release before: `numpy 1.26.4 → 2.0.0`.

    The packages of the subject itself are left out.
    """
    own = {canonicalize_name(name) for name in released_packages(timeline.target.at_release(timeline.releases[0]))}
    pairs = [[package.split("==", 1) for package in packages if "==" in package] for packages in timeline.packages]
    versions = [{name: version for name, version in each if canonicalize_name(name) not in own} for each in pairs]
    changes: list[list[str]] = [[]]
    for old, new in pairwise(versions):
        names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)) if old else []
        changes.append([f"{name} {old.get(name, 'absent')} → {new.get(name, 'absent')}" for name in names])
    return changes


def _plot(timeline: Timeline) -> FaultPlot:
    top = max(1, *timeline.faults) if timeline.faults else 1
    step = (_PLOT_WIDTH - 12) / max(1, len(timeline.releases) - 1)
    points = [
        (
            round(6 + number * step, 1),
            round(_PLOT_HEIGHT - 6 - faults / top * (_PLOT_HEIGHT - 12), 1),
            f"{timeline.releases[number]}: {faults} causes, {timeline.failing[number]} failing cases",
        )
        for number, faults in enumerate(timeline.faults)
    ]
    return FaultPlot(timeline.target.text, points, top, timeline.releases[0], timeline.releases[-1])
