"""The differences between two runs as lines for a terminal and as Markdown."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.boundary.text import one_line
from conformance.report.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.results.diff import Differences, Growth, VerdictChange

MOST_CASES, MOST_GROWTHS = 10, 20
HEADINGS = {"regressions": "Regressions", "fixes": "Fixes", "changes": "Other changes"}


def sections(told: Differences) -> dict[str, list[str]]:
    """What changed, as lines by heading; a heading without lines is left out."""
    named = {heading: list(_changes(told[kind])) for kind, heading in HEADINGS.items()}  # type: ignore[literal-required]
    named["Errors that grew while passing"] = list(_growths(told["growth"]))
    named["Cases added"] = list(_cases(told["cases_added"]))
    named["Cases removed"] = list(_cases(told["cases_removed"]))
    named["Subjects"] = list(_subjects(told))
    return {heading: [one_line(line) for line in lines] for heading, lines in named.items() if lines}


def as_text(told: Differences) -> str:
    """For a terminal."""
    parts = [f"{heading}:\n" + "".join(f"  {line}\n" for line in lines) for heading, lines in sections(told).items()]
    return f"{_verdict(told)}\n" + "".join(parts)


def as_markdown(told: Differences) -> str:
    """For a job's page; all that results files say is text in it."""
    parts = [
        f"\n### {heading}\n\n" + "".join(f"- {escaped(line, 1000)}\n" for line in lines)
        for heading, lines in sections(told).items()
    ]
    return f"## {_verdict(told)}\n" + "".join(parts)


def _verdict(told: Differences) -> str:
    count = len(told["regressions"])
    return f"{count} regression{'s' if count > 1 else ''}" if count else "No regressions"


def _changes(changes: Sequence[VerdictChange]) -> Iterator[str]:
    """A line for each subject, verdict before and verdict after, with their levels where these differ."""
    groups: dict[tuple[str, str, str], list[VerdictChange]] = defaultdict(list)
    for change in changes:
        groups[change["subject"], *_before_and_after(change)].append(change)
    for (subject, before, after), own in sorted(groups.items()):
        what = "another message" if before == after else f"{before} before, {after} now"
        first = f"; first: {own[0]['message']}" if own[0]["message"] else ""
        yield f"{subject}, {what}: {_listed([change['case'] for change in own])}{first}"


def _before_and_after(change: VerdictChange) -> tuple[str, str]:
    before, after = change["before"], change["after"]
    if "level_before" not in change:
        return before, after
    return f"{before} at {change['level_before']}", f"{after} at {change['level']}"


def _growths(growths: Sequence[Growth]) -> Iterator[str]:
    """The largest errors first."""
    worst = sorted(growths, key=lambda one: (-one["after"], one["subject"], one["case"], one["output"]))
    for one in worst[:MOST_GROWTHS]:
        place = f"{one['output']} of data set {one['data_set']}"
        before, after = f"{one['before']:.3g}", f"{one['after']:.3g}"
        yield f"{one['case']} on {one['subject']}: {place} from {before} to {after} of its bound"
    if len(worst) > MOST_GROWTHS:
        yield f"and {len(worst) - MOST_GROWTHS} more outputs"


def _cases(by_subject: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from (f"{subject}: {_listed(cases)}" for subject, cases in by_subject.items())


def _subjects(told: Differences) -> Iterator[str]:
    yield from (f"{subject} is new" for subject in told["subjects_added"])
    yield from (f"{subject} is gone" for subject in told["subjects_removed"])
    old, new = told["before"]["subjects"], told["after"]["subjects"]
    for subject in sorted(old.keys() & new.keys()):
        if old[subject] != new[subject]:
            yield f"{subject} was {old[subject]} and is {new[subject]}"
    before, after = (told[run].get("profile", "none") for run in ("before", "after"))
    if before != after:
        yield f"the profile was {before} and is {after}"
    if told["before"]["digest"] != told["after"]["digest"]:
        yield f"the corpus was {told['before']['corpus']} and is {told['after']['corpus']}"


def _listed(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - MOST_CASES} more" if len(cases) > MOST_CASES else ""
    return ", ".join(cases[:MOST_CASES]) + more
