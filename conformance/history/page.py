"""The HTML page of a history: one table per subject with one narrow column per release, and a plot of faults.

The page is one file, like the report of a run, with the style sheet and the functions of the report. The script draws
the tables from JSON in the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from conformance.environments.requirements import released_packages
from conformance.history.timeline import SYMBOLS, Course, failing_span
from conformance.pages import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.history.timeline import Row, Timeline

_PLOT_WIDTH, _PLOT_HEIGHT = 300, 72


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


def render_page(found: Sequence[Timeline]) -> str:
    """Return the HTML page of some timelines; equal timelines give equal pages."""
    return environment.render_page(
        "history.html.j2",
        styles=["history.css"],
        scripts=["dom.js", "history.js"],
        data=[("data", _data(found))],
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
    results, causes = _newest_results(timeline), environment.count_text(timeline.faults[-1], "cause")
    regressions = sum(len(row.cases) for row in timeline.rows if row.course is Course.REGRESSION)
    return f"{name}: {timeline.failing[-1]:,} of {results:,} cases fail, with {causes}; {regressions:,} are regressions"


def _data(found: Sequence[Timeline]) -> dict[str, Any]:
    return {
        "courses": [[str(course), course.meaning] for course in Course if course is not Course.NO_FAILURE],
        "verdicts": {symbol: str(verdict) for verdict, symbol in SYMBOLS.items()},
        "subjects": [
            {
                "name": timeline.target.text,
                "option": timeline.target.kind.flag,
                "releases": list(timeline.releases),
                "commands": [timeline.target.at_release(release).text for release in timeline.releases],
                "changes": _package_changes(timeline),
                "unavailable": [[each.release, each.reason] for each in timeline.unavailable],
                "unfailing": sum(len(row.cases) for row in timeline.rows if row.course is Course.NO_FAILURE),
                "rows": [_row_data(timeline, row) for row in timeline.rows if row.course is not Course.NO_FAILURE],
            }
            for timeline in found
        ],
    }


def _row_data(timeline: Timeline, row: Row) -> dict[str, Any]:
    span = failing_span(timeline.releases, row.verdicts)
    return {
        "course": str(row.course),
        "verdicts": "".join(SYMBOLS[verdict] for verdict in row.verdicts),
        "name": row.name,
        "known": row.fault.location if row.fault else "",
        "level": str(row.level),
        "cases": list(row.cases),
        "since": span.since if span else "",
        "good": (span.last_good or "") if span else "",
        "span": span.texts if span else [],
        "varies": row.varies,
    }


def _package_changes(timeline: Timeline) -> list[list[str]]:
    """Return for each release the packages that differ from those of the release before: `numpy 1.26.4 → 2.0.0`.

    The packages of the subject itself are left out.
    """
    changes: list[list[str]] = []
    own = {canonicalize_name(name) for name in released_packages(timeline.target.at_release(timeline.releases[0]))}
    before: dict[str, str] = {}
    for packages in timeline.packages:
        now = dict(package.split("==", 1) for package in packages if "==" in package)
        now = {name: version for name, version in now.items() if canonicalize_name(name) not in own}
        names = (
            sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name)) if before else []
        )
        changes.append([f"{name} {before.get(name, 'absent')} → {now.get(name, 'absent')}" for name in names])
        before = now
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
