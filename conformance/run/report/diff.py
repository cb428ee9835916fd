"""The differences between two runs of the same subjects, or of two releases, and their output as text and as Markdown.

`match_subjects` returns which subject of the earlier run corresponds to which subject of the later run.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.base.errors import ResultsError
from conformance.base.serialization.decoding import StoredRecord
from conformance.base.serialization.printable_text import escape_markdown, one_line
from conformance.base.verdicts import Level, Verdict
from conformance.run.results.failure_groups import result_signature
from conformance.run.results.recorded_environment import identity_changes
from conformance.run.results.result_releases import match_subjects, rename_subjects
from conformance.run.results.wrong_elements import is_wrong_otherwise, wrong_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.run.results.records import ResultRow, SubjectIdentity
    from conformance.run.results.results_file import Key, Results


MIN_ERROR_GROWTH_FACTOR = 2.0
"""An error of a passing output is reported if it grew at least by this factor."""

MIN_REPORTED_ERROR = 0.1
"""Smaller errors, as a fraction of the bound, are not reported: their growth is noise."""


class VerdictChange(StoredRecord):
    """A changed verdict, or a changed message or level of a failure.

    `level_before` is present if the level of the result changed.
    """

    subject: str
    case: str
    level: Level
    before: Verdict
    after: Verdict
    message: str
    level_before: Level | None = None


class ErrorGrowth(StoredRecord):
    """A larger error of an output in a case that passes in both runs; errors are fractions of the bound."""

    subject: str
    case: str
    output: str
    data_set: int
    before: float
    after: float


class RunNames(StoredRecord):
    """The corpus of a run, its profile if any, and its subjects with their versions and identities."""

    corpus: str
    digest: str
    subjects: dict[str, str]
    profile: str | None = None
    identities: dict[str, SubjectIdentity] = {}


class Differences(StoredRecord):
    """All differences between two runs; added and removed cases are listed for subjects of both runs only.

    `compared` is present if subjects with different ids were compared, such as two releases: the id in the earlier run
    by the id in the later run. Differences have the id of the later run.
    """

    format: int
    before: RunNames
    after: RunNames
    regressions: list[VerdictChange]
    fixes: list[VerdictChange]
    changes: list[VerdictChange]
    growth: list[ErrorGrowth]
    cases_added: dict[str, list[str]]
    cases_removed: dict[str, list[str]]
    subjects_added: list[str]
    subjects_removed: list[str]
    compared: dict[str, str] = {}


def compare_runs(before: Results, after: Results) -> Differences:
    """Compare two runs, whose subjects correspond as `match_subjects` describes.

    A verdict that is worse than before is a regression, except at level `silent`. A defect with a stronger level than
    before is a regression too.

    Raises:
        ResultsError: the runs have no subject or no case in common, so that nothing is compared.
    """
    old = _run_names(before)
    new = _run_names(after)
    matches = match_subjects(before.header.subjects, after.header.subjects)
    if not matches:
        raise ResultsError("no-common-subject", before=before.path, after=after.path)
    before = rename_subjects(before, matches)
    both = sorted(before.rows.keys() & after.rows.keys())
    if not both:
        raise ResultsError("no-common-case", before=before.path, after=after.path, subjects=sorted(matches.values()))
    kinds: dict[str, list[VerdictChange]] = {"regressions": [], "fixes": [], "changes": []}
    for key in both:
        if kind := _change_kind(before, after, key):
            kinds[kind].append(_verdict_change(before.rows[key], after.rows[key]))
    subjects = sorted(matches.values())
    return Differences(
        1,
        before=old,
        after=new,
        regressions=kinds["regressions"],
        fixes=kinds["fixes"],
        changes=kinds["changes"],
        growth=[
            growth
            for key in both
            if before.rows[key].verdict == after.rows[key].verdict == Verdict.PASS
            for growth in _error_growths(before, after, key)
        ],
        cases_added=_cases_only_in(after, before, subjects),
        cases_removed=_cases_only_in(before, after, subjects),
        subjects_added=sorted(new.subjects.keys() - matches.values()),
        subjects_removed=sorted(old.subjects.keys() - matches.keys()),
        compared={new_id: old_id for old_id, new_id in matches.items() if old_id != new_id},
    )


def _run_names(run: Results) -> RunNames:
    corpus = run.header.corpus
    subjects = {subject.id: subject.version for subject in run.header.subjects}
    profile = run.header.criterion.profile
    identities = {one.id: one.identity for one in run.header.subjects if one.identity}
    return RunNames(corpus.label, corpus.digest, subjects, profile.name if profile else None, identities)


def _weaker_level(run: Results, key: Key) -> Level | None:
    """Return the level of a result if it is weaker than the level of its case, else None."""
    row = run.rows[key]
    return row.level_if_weaker(run.case_rows[row.case].level)


def _verdict_change(old: ResultRow, new: ResultRow) -> VerdictChange:
    level_before = None if old.level == new.level else old.level
    return VerdictChange(new.subject, new.case, new.level, old.verdict, new.verdict, new.message, level_before)


def _change_kind(before: Results, after: Results, key: Key) -> str:
    """Return the kind of the change of a result; empty if its verdict is equal and it passes or fails as before."""
    old = before.rows[key]
    new = after.rows[key]
    was = old.verdict
    verdict = new.verdict
    level = new.level
    stood = _weaker_level(before, key)
    if was is verdict and not (verdict.is_defect and _has_changed_failure(before, after, key, stood)):
        return ""
    is_stronger = verdict.is_defect and stood is not None and level.is_stronger_than(stood)
    if level is not Level.SILENT and (verdict.is_worse_than(was) or is_stronger):
        return "regressions"
    return "fixes" if verdict is Verdict.PASS and was is not Verdict.PASS else "changes"


def _has_changed_failure(before: Results, after: Results, key: Key, stood: Level | None) -> bool:
    """Return whether a failure has another signature or level than before, or other or more wrong elements.

    Args:
        stood: its earlier level, if it was weaker than that of the case.
    """
    old = before.results[key]
    new = after.results[key]
    is_other = result_signature(old) != result_signature(new) or is_wrong_otherwise(wrong_words(new), wrong_words(old))
    return is_other or stood != _weaker_level(after, key)


def _error_growths(before: Results, after: Results, key: Key) -> Iterator[ErrorGrowth]:
    old = before.results[key]
    new = after.results[key]
    errors = {(one.data_set, one.name): one.error_over_bound or 0.0 for one in old.outputs}
    for output in new.outputs:
        place = output.data_set, output.name
        was = errors.get(place)
        error = output.error_over_bound or 0.0
        if was is not None and error >= MIN_REPORTED_ERROR and error >= MIN_ERROR_GROWTH_FACTOR * was:
            yield ErrorGrowth(new.subject, new.case, output.name, output.data_set, was, error)


def _cases_only_in(of: Results, from_: Results, subjects: Sequence[str]) -> dict[str, list[str]]:
    """Return the cases that run `of` has and run `from_` lacks, by subject."""
    lost = sorted(of.rows.keys() - from_.rows.keys())
    return {name: cases for name in subjects if (cases := [case for subject, case in lost if subject == name])}


MAX_LISTED_CASES = 10
MAX_LISTED_GROWTHS = 20
MAX_LISTED_CHANGES = 20
HEADINGS = {"regressions": "Regressions", "fixes": "Fixes", "changes": "Other changes"}


def change_lines(differences: Differences) -> dict[str, list[str]]:
    """Return the differences as lines by heading; headings without lines are left out."""
    named = {heading: list(_verdict_change_lines(getattr(differences, kind))) for kind, heading in HEADINGS.items()}
    named["Errors that grew while passing"] = list(_error_growth_lines(differences.growth))
    named["Cases added"] = list(_case_lines(differences.cases_added))
    named["Cases removed"] = list(_case_lines(differences.cases_removed))
    named["Subjects"] = list(_subject_lines(differences))
    return {heading: [one_line(line) for line in lines] for heading, lines in named.items() if lines}


def to_text(differences: Differences) -> str:
    """Return the differences as text for a terminal."""
    parts = [
        f"{heading}:\n" + "".join(f"  {line}\n" for line in lines)
        for heading, lines in change_lines(differences).items()
    ]
    return f"{_headline(differences)}\n" + "".join(parts)


def to_markdown(differences: Differences) -> str:
    """Return the differences as Markdown for the page of a CI job; text of results files is escaped."""
    parts = [
        f"\n### {heading}\n\n" + "".join(f"- {escape_markdown(line, 1000)}\n" for line in lines)
        for heading, lines in change_lines(differences).items()
    ]
    return f"## {_headline(differences)}\n" + "".join(parts)


def _headline(differences: Differences) -> str:
    count = len(differences.regressions)
    return f"{count} regression{'s' if count > 1 else ''}" if count else "No regressions"


def _verdict_change_lines(changes: Sequence[VerdictChange]) -> Iterator[str]:
    """Yield a line for each subject, old verdict and new verdict, with levels if these differ."""
    groups: dict[tuple[str, str, str], list[VerdictChange]] = defaultdict(list)
    for change in changes:
        groups[change.subject, *_verdicts_with_levels(change)].append(change)
    for (subject, before, after), own in sorted(groups.items()):
        what = "another failure" if before == after else f"{before} before, {after} now"
        first = f"; first: {own[0].message}" if own[0].message else ""
        yield f"{subject}, {what}: {_list_cases([change.case for change in own])}{first}"


def _verdicts_with_levels(change: VerdictChange) -> tuple[str, str]:
    before = change.before
    after = change.after
    if change.level_before is None:
        return before, after
    return f"{before} at {change.level_before}", f"{after} at {change.level}"


def _error_growth_lines(growths: Sequence[ErrorGrowth]) -> Iterator[str]:
    """Yield a line for each larger error, the largest first."""
    worst = sorted(growths, key=lambda one: (-one.after, one.subject, one.case, one.output))
    for one in worst[:MAX_LISTED_GROWTHS]:
        place = f"{one.output} of data set {one.data_set}"
        before = f"{one.before:.3g}"
        after = f"{one.after:.3g}"
        yield f"{one.case} on {one.subject}: {place} from {before} to {after} of its bound"
    if len(worst) > MAX_LISTED_GROWTHS:
        yield f"and {len(worst) - MAX_LISTED_GROWTHS} more outputs"


def _case_lines(by_subject: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from (f"{subject}: {_list_cases(cases)}" for subject, cases in by_subject.items())


def _subject_lines(differences: Differences) -> Iterator[str]:
    yield from (f"{subject} is new" for subject in differences.subjects_added)
    yield from (f"{subject} is gone" for subject in differences.subjects_removed)
    old = differences.before.subjects
    new = differences.after.subjects
    for subject in sorted(old.keys() & new.keys()):
        if old[subject] != new[subject]:
            yield f"{subject}: version {old[subject]} before, {new[subject]} now"
    for subject, earlier in differences.compared.items():
        yield f"{subject}: compared with {earlier}"
    yield from _identity_lines(differences)
    before, after = (run.profile or "none" for run in (differences.before, differences.after))
    if before != after:
        yield f"profile: {before} before, {after} now"
    if differences.before.digest != differences.after.digest:
        yield f"corpus: {differences.before.corpus} before, {differences.after.corpus} now"


def _identity_lines(differences: Differences) -> Iterator[str]:
    """Yield the changes of packages, Python, processor and adapter of each subject that both runs have."""
    old, new = (run.identities for run in (differences.before, differences.after))
    compared = differences.compared
    for subject, identity in new.items():
        earlier = old.get(compared.get(subject, subject))
        if earlier is not None and (changes := list(identity_changes(earlier, identity))):
            more = f" and {len(changes) - MAX_LISTED_CHANGES} more changes" if len(changes) > MAX_LISTED_CHANGES else ""
            yield f"{subject}, environment: {'; '.join(changes[:MAX_LISTED_CHANGES])}{more}"


def _list_cases(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - MAX_LISTED_CASES} more" if len(cases) > MAX_LISTED_CASES else ""
    return ", ".join(cases[:MAX_LISTED_CASES]) + more
