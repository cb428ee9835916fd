"""The HTML page of a history: one table per subject with one narrow column per release, and a plot of faults.

The page is one file, like the report of a run, with the style sheet and the functions of the report. The script draws
the tables from JSON in the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct
from packaging.utils import canonicalize_name

from conformance.base.pages import templating
from conformance.studies.history.timeline import SYMBOLS, Course, failing_span
from conformance.subjects.environments.requirements import released_packages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.base.verdicts import Level
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


class ShownRow(Struct):
    """A row of the table of a subject, with one symbol for each release; for the other attributes see `RowRecord`.

    Attributes:
        known: location of the known fault; empty without one.
        good: the release with a result before the first release that fails; empty without one.
        span: the last series of releases that fail, in words.
    """

    course: Course
    verdicts: str
    name: str
    known: str
    level: Level
    cases: tuple[str, ...]
    since: str = ""
    good: str = ""
    span: list[str] = []
    varies: int = 0


class ShownSubject(Struct):
    """The table of a subject.

    Attributes:
        option: the option of the command line for a subject of this kind.
        releases: releases with results, the oldest first.
        commands: the name of each release on the command line.
        changes: for each release, the changed packages.
        unavailable: each release without results, with the reason.
        unfailing: the number of cases that no release fails.
        rows: the rows of the cases that a release fails.
    """

    name: str
    option: str
    releases: tuple[str, ...]
    commands: list[str]
    changes: list[list[str]]
    unavailable: list[tuple[str, str]]
    unfailing: int
    rows: list[ShownRow]


class PageData(Struct):
    """The data of the script: each course with its meaning, the verdict of each symbol, and the tables."""

    courses: list[tuple[str, str]]
    verdicts: dict[str, str]
    subjects: list[ShownSubject]


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


def _page_data(found: Sequence[Timeline]) -> PageData:
    courses = [(str(course), course.meaning) for course in Course if course is not Course.NO_FAILURE]
    verdicts = {symbol: str(verdict) for verdict, symbol in SYMBOLS.items()}
    return PageData(courses, verdicts, [_shown_subject(timeline) for timeline in found])


def _shown_subject(timeline: Timeline) -> ShownSubject:
    failing = [row for row in timeline.rows if row.course is not Course.NO_FAILURE]
    return ShownSubject(
        timeline.target.text,
        timeline.target.kind.flag,
        timeline.releases,
        [timeline.target.at_release(release).text for release in timeline.releases],
        _package_changes(timeline),
        [(each.release, each.reason) for each in timeline.unavailable],
        sum(len(row.cases) for row in timeline.rows if row.course is Course.NO_FAILURE),
        [_shown_row(timeline, row) for row in failing],
    )


def _shown_row(timeline: Timeline, row: Row) -> ShownRow:
    symbols = "".join(SYMBOLS[verdict] for verdict in row.verdicts)
    known = row.fault.location if row.fault else ""
    shown = ShownRow(row.course, symbols, row.name, known, row.level, row.cases, varies=row.varies)
    if span := failing_span(timeline.releases, row.verdicts):
        shown.since = span.since
        shown.good = span.last_good or ""
        shown.span = span.texts
    return shown


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
