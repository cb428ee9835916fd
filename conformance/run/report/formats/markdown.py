"""A summary in Markdown for the page of a CI job: outcome, reasons, counts of verdicts and causes of failures.

Text from results files is escaped: characters with a meaning in Markdown or HTML are written as entities.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from conformance.base.pages.templating import render_text
from conformance.base.serialization.printable_text import escape_markdown
from conformance.base.verdicts import Level, Verdict
from conformance.run.report.summary import summary
from conformance.run.results.failure_groups import not_examined_sentence
from conformance.run.results.recorded_environment import format_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.report.summary import AccuracySummary, RunSummary
    from conformance.run.results.results_file import Results

MAX_GROUPS = 40
MAX_CASES = 20
MAX_REASONS = 20


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the document; the same runs give the same bytes."""
    document = summary(runs)
    counted = {name for subject in document.subjects for counts in subject.levels.values() for name in counts}
    accuracy: dict[tuple[str, str], dict[str, AccuracySummary]] = defaultdict(dict)
    for each in document.accuracy:
        accuracy[each.subject, each.operator][each.accuracy] = each
    yield render_text(
        "summary.md.j2",
        document=document,
        settings=list(dict.fromkeys(map(_settings_sentence, document.runs))),
        dates=list(dict.fromkeys(filter(None, (format_date(run.started) for run in document.runs)))),
        verdicts=[verdict for verdict in Verdict if verdict in counted and verdict is not Verdict.PASS],
        has_known="known_failures" in counted,
        check_levels=[level for level in Level if any(level in check.levels for check in document.checks)],
        grades=list(dict.fromkeys(each.accuracy for each in document.accuracy)),
        accuracy=accuracy,
        not_examined_sentence=not_examined_sentence,
        max_groups=MAX_GROUPS,
        max_cases=MAX_CASES,
        max_reasons=MAX_REASONS,
    )


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


def _code(text: str) -> str:
    return f"<code>{escape_markdown(text)}</code>"
