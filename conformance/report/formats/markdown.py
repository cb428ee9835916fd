"""A summary in Markdown for the page of a CI job: outcome, reasons, counts of verdicts and causes of failures.

Text from results files is escaped: characters with a meaning in Markdown or HTML are written as entities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.report.summary import format_date, summary
from conformance.results.failure_groups import not_examined_sentence
from conformance.serialization.text import escape_markdown
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.summary import (
        AccuracySummary,
        CheckSummary,
        FailureSummary,
        NotJudgedSummary,
        RunSummary,
        Summary,
    )
    from conformance.results.file import Results

MAX_GROUPS, MAX_CASES, MAX_REASONS = 40, 20, 20


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document; the same runs give the same bytes."""
    yield from (f"{line}\n" for line in _lines(summary(runs)))


def _lines(document: Summary) -> Iterator[str]:
    counts = document.counts
    yield f"## {'PASSED' if document.outcome == 'pass' else 'FAILED'}: ONNX conformance"
    yield ""
    yield f"**{counts.sentence}.**" + (f" {counts.weaker_sentence}." if counts.weaker_sentence else "")
    yield ""
    corpus = document.corpus
    part = f", {corpus.selected} of {corpus.cases} cases" if document.partial else f", {corpus.cases} cases"
    yield f"Corpus {escape_markdown(corpus.label)} ({escape_markdown(corpus.digest[:12])}){part}."
    yield from (f"{escape_markdown(share.sentence)}." for share in document.node_shares)
    yield from dict.fromkeys(_settings_sentence(run) for run in document.runs)
    if dates := dict.fromkeys(filter(None, (format_date(run.started) for run in document.runs))):
        yield f"Date of the run: {', '.join(dates)}."
    yield ""
    if document.reasons:
        yield "Reasons:"
        yield ""
        yield from _bounded_list([escape_markdown(reason) for reason in document.reasons], MAX_REASONS, "reasons")
        yield ""
    yield from _verdict_table(document)
    yield from _check_table(document.checks)
    yield from _not_judged_table(document.not_judged)
    yield from _accuracy_table(document.accuracy)
    yield from _failures(document.failures)
    yield from _not_examined(document)


def _settings_sentence(run: RunSummary) -> str:
    judged = "`must`" if run.level == "must" else "`must` and `should`"
    parts = [f"Pass criterion: {judged} cases"]
    if run.require:
        parts.append(f"required: {', '.join(map(escape_markdown, run.require))}")
    if (baseline := run.baseline) is not None and baseline.relative_to:
        parts.append(f"relative to {_code(baseline.relative_to)}: its own failures are known failures")
    elif baseline is not None:
        parts.append(f"baseline: corpus {escape_markdown(baseline.version)} in {_code(baseline.file)}")
    if run.profile is not None:
        rules = "; ".join(f"{rule.level} by {rule.id}: {rule.text}" for rule in run.profile.rules)
        parts.append(f"profile: {_code(run.profile.name)} ({escape_markdown(rules)})")
    selection = " ".join(f"{name} {value}" for name, value in run.selection.items())
    return "; ".join(parts) + "." + (f" Selection: {_code(selection)}." if selection else "")


def _verdict_table(document: Summary) -> Iterator[str]:
    subjects = document.subjects
    counted = {verdict for subject in subjects for counts in subject.levels.values() for verdict in counts}
    shown = [verdict for verdict in Verdict if verdict in counted and verdict is not Verdict.PASS]
    has_known = any("known_failures" in counts for subject in subjects for counts in subject.levels.values())
    more = [*shown, *(["known failures"] if has_known else [])]
    yield f"| subject | level | passed | {''.join(f'{name} | ' for name in more)}".rstrip()
    yield "| --- | --- | ---: |" + " ---: |" * len(more)
    for subject in subjects:
        name = f"{_code(subject.id)} {escape_markdown(subject.version)}"
        for level, counts in subject.levels.items():
            cells = [name, level, f"{counts.get('pass', 0)} of {counts['cases']}"]
            known = [str(counts.get("known_failures", 0))] if has_known else []
            yield f"| {' | '.join([*cells, *(str(counts.get(verdict, 0)) for verdict in shown), *known])} |"
            name = ""


def _check_table(checks: Sequence[CheckSummary]) -> Iterator[str]:
    """Yield the lines of a table of the checks that graph optimizers violate, with the numbers of cases by level."""
    if not checks:
        return
    levels = [level for level in Level if any(level in check.levels for check in checks)]
    yield ""
    yield f"| subject | check | {' | '.join(levels)} |"
    yield "| --- | --- |" + " ---: |" * len(levels)
    for check in checks:
        counts = [str(check.levels.get(level, 0)) for level in levels]
        yield f"| {' | '.join([_code(check.subject), escape_markdown(check.check), *counts])} |"


def _not_judged_table(checks: Sequence[NotJudgedSummary]) -> Iterator[str]:
    """Yield the lines of a table of the checks that could not be evaluated."""
    if not checks:
        return
    yield ""
    yield "| subject | check not judged | reason | cases |"
    yield "| --- | --- | --- | ---: |"
    for check in checks[:MAX_GROUPS]:
        cells = [_code(check.subject), escape_markdown(check.check), escape_markdown(check.reason)]
        yield f"| {' | '.join([*cells, str(len(check.cases))])} |"
    if len(checks) > MAX_GROUPS:
        yield ""
        yield f"And {len(checks) - MAX_GROUPS} more checks that were not judged."


def _accuracy_table(counts: Sequence[AccuracySummary]) -> Iterator[str]:
    """Yield the lines of a table of the accuracy by operator: the numbers of elements and cases within each grade."""
    if not counts:
        return
    names = list(dict.fromkeys(each.accuracy for each in counts))
    by_key = {(each.subject, each.operator, each.accuracy): each for each in counts}
    yield ""
    yield f"| subject | operator | within {' | within '.join(map(escape_markdown, names))} |"
    yield "| --- | --- |" + " ---: |" * len(names)
    for subject, operator in dict.fromkeys((each.subject, each.operator) for each in counts):
        cells = [_share(by_key.get((subject, operator, name))) for name in names]
        yield f"| {' | '.join([_code(subject), escape_markdown(operator), *cells])} |"


def _share(counts: AccuracySummary | None) -> str:
    if counts is None:
        return ""
    elements = f"{counts.within} of {counts.elements} elements"
    return f"{elements}, {counts.cases_within} of {_count(counts.cases, 'case')}"


def _failures(failures: Sequence[FailureSummary]) -> Iterator[str]:
    """Yield every cause by subject, with the evidence of its smallest case. Causes with a diagnosis come first."""
    for subject in dict.fromkeys(group.subject for group in failures):
        own = [group for group in failures if group.subject == subject]
        yield ""
        yield f"{_code(subject)}: {_count(len(own), 'cause')}, {_count(sum(len(g.cases) for g in own), 'case')}."
        for group in own[:MAX_GROUPS]:
            yield from _failure_details(group)
        if len(own) > MAX_GROUPS:
            yield ""
            yield f"And {len(own) - MAX_GROUPS} more causes."


def _failure_details(group: FailureSummary) -> Iterator[str]:
    cases = group.cases
    yield ""
    title = f"{group.verdict}, {_count(len(cases), 'case')}: {escape_markdown(group.cause)}"
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield f"{_code(cases[0])}: {escape_markdown(group.message)}"
    for listed in (
        [f"- {escape_markdown(line)}" for line in group.evidence],
        list(_bounded_list([_code(case) for case in cases], MAX_CASES, "cases")) if len(cases) > 1 else [],
    ):
        if listed:
            yield ""
            yield from listed
    yield ""
    yield "</details>"


def _not_examined(document: Summary) -> Iterator[str]:
    """Yield a line for each subject with failing cases that diagnosis did not examine."""
    for run in document.runs:
        for subject, cases in run.not_examined.items():
            yield ""
            yield escape_markdown(not_examined_sentence(subject, cases, run.failing[subject]))


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _bounded_list(lines: Sequence[str], most: int, what: str) -> Iterator[str]:
    yield from (f"- {line}" for line in lines[:most])
    if len(lines) > most:
        yield f"- and {len(lines) - most} more {what}"


def _code(text: str) -> str:
    return f"<code>{escape_markdown(text)}</code>"
