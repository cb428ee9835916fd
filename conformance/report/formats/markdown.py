"""A summary in Markdown for a job's page: the gate and why, counts with their denominators, failures that look alike.

Everything that a results file says is text here: characters that Markdown or HTML would read are written as entities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.report.summary import summary
from conformance.report.text import escaped
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.quality import QualitySummary
    from conformance.report.summary import CheckSummary, FailureSummary, RunSummary, Summary
    from conformance.results.file import Results

MOST_GROUPS, MOST_CASES, MOST_REASONS = 40, 20, 20


def render(runs: Sequence[Results]) -> Iterator[str]:
    """The document; the same runs give the same bytes."""
    yield from (f"{line}\n" for line in _lines(summary(runs)))


def _lines(told: Summary) -> Iterator[str]:
    yield f"## ONNX conformance: the gate {'holds' if told['gate'] == 'pass' else 'does not hold'}"
    yield ""
    corpus = told["corpus"]
    part = f", {corpus['selected']} of {corpus['cases']} cases" if told["partial"] else f", {corpus['cases']} cases"
    yield f"Corpus {escaped(corpus['version'])} ({escaped(corpus['digest'][:12])}){part}."
    yield from dict.fromkeys(_settings(run) for run in told["runs"])
    yield ""
    if told["reasons"]:
        yield "Why:"
        yield ""
        yield from _listed([escaped(reason) for reason in told["reasons"]], MOST_REASONS, "reasons")
        yield ""
    yield from _table(told)
    yield from _checks(told["checks"])
    yield from _quality(told.get("quality", []))
    yield from _failures(told["failures"])


def _settings(run: RunSummary) -> str:
    judged = "`must`" if run["level"] == "must" else "`must` and `should`"
    parts = [f"The gate judges {judged}"]
    if run["require"]:
        parts.append(f"requires {', '.join(map(escaped, run['require']))}")
    if "baseline" in run:
        parts.append(
            f"takes corpus {escaped(run['baseline']['version'])} in {_code(run['baseline']['file'])} as baseline"
        )
    if "profile" in run:
        rules = "; ".join(f"{rule['level']} by {rule['id']}: {rule['text']}" for rule in run["profile"]["rules"])
        parts.append(f"goes by the profile {_code(run['profile']['name'])} ({escaped(rules)})")
    selection = " ".join(f"{name} {value}" for name, value in run["selection"].items())
    return "; ".join(parts) + "." + (f" Selected by {_code(selection)}." if selection else "")


def _table(told: Summary) -> Iterator[str]:
    subjects = told["subjects"]
    counted = {verdict for subject in subjects for counts in subject["levels"].values() for verdict in counts}
    shown = [verdict for verdict in Verdict if verdict in counted and verdict is not Verdict.PASS]
    yield f"| subject | level | passed | {''.join(f'{verdict} | ' for verdict in shown)}".rstrip()
    yield "| --- | --- | ---: |" + " ---: |" * len(shown)
    for subject in subjects:
        name = f"{_code(subject['id'])} {escaped(subject['version'])}"
        for level, counts in subject["levels"].items():
            cells = [name, level, f"{counts.get('pass', 0)} of {counts['cases']}"]
            yield f"| {' | '.join([*cells, *(str(counts.get(verdict, 0)) for verdict in shown)])} |"
            name = ""


def _checks(checks: Sequence[CheckSummary]) -> Iterator[str]:
    """How many cases each check of a graph optimizer complains of, by the level at which it does."""
    if not checks:
        return
    levels = [level for level in Level if any(level in check["levels"] for check in checks)]
    yield ""
    yield f"| subject | check | {' | '.join(levels)} |"
    yield "| --- | --- |" + " ---: |" * len(levels)
    for check in checks:
        counts = [str(check["levels"].get(level, 0)) for level in levels]
        yield f"| {' | '.join([_code(check['subject']), escaped(check['check']), *counts])} |"


def _quality(counts: Sequence[QualitySummary]) -> Iterator[str]:
    """How accurate answers are, by operator: what of them has which quality. No verdict rests on it."""
    if not counts:
        return
    names = list(dict.fromkeys(each["quality"] for each in counts))
    told = {(each["subject"], each["operator"], each["quality"]): each for each in counts}
    yield ""
    yield f"| subject | operator | within {' | within '.join(map(escaped, names))} |"
    yield "| --- | --- |" + " ---: |" * len(names)
    for subject, operator in dict.fromkeys((each["subject"], each["operator"]) for each in counts):
        cells = [_share(told.get((subject, operator, name))) for name in names]
        yield f"| {' | '.join([_code(subject), escaped(operator), *cells])} |"


def _share(counts: QualitySummary | None) -> str:
    if counts is None:
        return ""
    elements = f"{counts['within']} of {counts['elements']} elements"
    return f"{elements}, {counts['cases_within']} of {_counted(counts['cases'], 'case')}"


def _failures(failures: Sequence[FailureSummary]) -> Iterator[str]:
    """Each cause, explained ones first, with the evidence of its smallest case; causes are counted before cases."""
    for subject in dict.fromkeys(group["subject"] for group in failures):
        own = [group for group in failures if group["subject"] == subject]
        yield ""
        yield f"{_code(subject)}: {_counted(len(own), 'cause')}, {_counted(sum(len(g['cases']) for g in own), 'case')}."
        for group in own[:MOST_GROUPS]:
            yield from _failure(group)
        if len(own) > MOST_GROUPS:
            yield ""
            yield f"And {len(own) - MOST_GROUPS} more causes."


def _failure(group: FailureSummary) -> Iterator[str]:
    cases = group["cases"]
    yield ""
    told = f"{group['verdict']}, {_counted(len(cases), 'case')}: {escaped(group['cause'])}"
    yield f"<details><summary>{told}</summary>"
    yield ""
    yield f"{_code(cases[0])}: {escaped(group['message'])}"
    for listed in (
        [f"- {escaped(line)}" for line in group["evidence"]],
        list(_listed([_code(case) for case in cases], MOST_CASES, "cases")) if len(cases) > 1 else [],
    ):
        if listed:
            yield ""
            yield from listed
    yield ""
    yield "</details>"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _listed(lines: Sequence[str], most: int, what: str) -> Iterator[str]:
    yield from (f"- {line}" for line in lines[:most])
    if len(lines) > most:
        yield f"- and {len(lines) - most} more {what}"


def _code(text: str) -> str:
    return f"<code>{escaped(text)}</code>"
