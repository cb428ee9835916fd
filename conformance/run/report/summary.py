"""The summary of runs: verdict counts, violated checks, grouped failures and accuracy.

The formats JSON, Markdown, badge and annotations use the summary. The JSON report is the summary itself; its JSON
Schema is generated from the types in this module.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from conformance.base.serialization.decoding import Count, Positive, Seconds, StoredRecord
from conformance.base.verdicts import Level
from conformance.run.report.ci_status import CiResult
from conformance.run.results.evidence import short_evidence
from conformance.run.results.failure_groups import failing_cases, group_failures, not_examined, violated_clause
from conformance.run.results.outcome_counts import NodeShare, OutcomeCounts, known_failures_by_level, node_shares
from conformance.run.results.records import (
    LEVEL_KEYS,
    BaselineRecord,
    CorpusRecord,
    FailLevelName,
    OutcomeName,
    ProfileRecord,
    SubjectIdentity,
)
from conformance.run.results.results_file import is_partial
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.results.results_file import Results


class AccuracySummary(StoredRecord):
    """For one operator on one subject: the numbers of elements and of whole cases that attain an accuracy grade."""

    subject: str
    operator: str
    accuracy: str
    elements: Count
    within: Count
    cases: Count
    cases_within: Count


def accuracy_summaries(run: Results) -> Iterator[AccuracySummary]:
    """Yield the accuracy of a run by subject and operator, the strictest grade first.

    Results without `accuracy` are not counted.
    """
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for (subject, case), row in run.rows.items():
        for name, attained in row.accuracy.items():
            key = subject, run.case_rows[case].family, name
            whole = int(attained.within == attained.elements)
            counts[key].update(elements=attained.elements, within=attained.within, cases=1, cases_within=whole)
    for (subject, operator, name), found in sorted(counts.items(), key=lambda item: item[0][:2]):
        yield AccuracySummary(subject, operator, name, **found)


FORMAT: Literal[1] = 1


class SubjectSummary(StoredRecord):
    """A subject and its numbers of cases by level and verdict.

    `cases` is the number of all cases of a level, and `known_failures` the number of failures that are as expected.
    """

    id: str
    kind: SubjectKind
    version: str
    levels: Annotated[
        dict[Level, Annotated[dict[str, Count], Meta(extra_json_schema={"required": ["cases"]})]], LEVEL_KEYS
    ]
    identity: SubjectIdentity | None = None


class CheckSummary(StoredRecord):
    """A check that a graph optimizer violates, and by level the number of cases with this violation."""

    subject: str
    check: str
    levels: Annotated[dict[Level, Positive], LEVEL_KEYS]


class NotJudgedSummary(StoredRecord):
    """A check of a graph optimizer that could not be evaluated in some cases, with the reason."""

    subject: str
    check: str
    reason: str
    cases: Annotated[list[str], Meta(min_length=1)]


class FailureSummary(StoredRecord):
    """Unexpected results of one subject with the same cause.

    `message` and `evidence` describe the smallest case. `mutant` is the id of the mutant that explains the results, if
    a diagnosis has found one.
    """

    subject: str
    verdict: str
    cause: str
    signature: str
    message: str
    evidence: list[str]
    cases: Annotated[list[str], Meta(min_length=1)]
    clause: str | None = None
    check: str | None = None
    mutant: str | None = None


class RunSummary(StoredRecord):
    """One results file: its pass criterion, its outcome, and the counts that belong to the outcome.

    `failing` has the number of failing cases of all levels by subject, and `not_examined` those of them that diagnosis
    did not examine. `started` is the start of the run
    in seconds since 1970, 0 if it is unknown.
    """

    outcome: OutcomeName
    counts: OutcomeCounts
    failing: dict[str, Count]
    not_examined: dict[str, list[str]]
    started: Seconds
    reasons: list[str]
    level: FailLevelName
    require: list[str]
    selection: dict[str, str]
    expected_results: Count
    results: Count
    interrupted: bool
    environment: dict[str, str]
    baseline: BaselineRecord | None = None
    profile: ProfileRecord | None = None


class Summary(StoredRecord):
    """The summary of all runs.

    `outcome` is `pass` if every run passes. `counts` has the sums of the runs. `accuracy` is present if a run has the
    option `--accuracy`. `node_shares` is present if the cases are nodes of a user's models.
    """

    format: Literal[1]
    suite: str
    corpus: CorpusRecord
    outcome: OutcomeName
    counts: OutcomeCounts
    reasons: list[str]
    partial: bool
    subjects: list[SubjectSummary]
    checks: list[CheckSummary]
    not_judged: list[NotJudgedSummary]
    failures: list[FailureSummary]
    runs: Annotated[list[RunSummary], Meta(min_length=1)]
    accuracy: Annotated[list[AccuracySummary], Meta(min_length=1)] = []
    node_shares: Annotated[list[NodeShare], Meta(min_length=1)] = []


def summary(runs: Sequence[Results]) -> Summary:
    """Return the summary of one or more runs of one corpus."""
    parts = [_run_summary(run) for run in runs]
    corpora = [run.header.corpus for run in runs]
    subjects = [subject for run in runs for subject in _subject_summaries(run)]
    return Summary(
        format=FORMAT,
        suite=runs[0].header.suite,
        corpus=replace(corpora[0], selected=min(corpus.selected for corpus in corpora)),
        outcome="fail" if any(part.outcome == "fail" for part in parts) else "pass",
        counts=OutcomeCounts.of_runs(runs),
        reasons=list(dict.fromkeys(reason for part in parts for reason in part.reasons)),
        partial=any(is_partial(run) for run in runs),
        subjects=subjects,
        checks=[check for run in runs for check in _check_summaries(run)],
        not_judged=[check for run in runs for check in _not_judged_summaries(run)],
        failures=[failure for run in runs for failure in _failure_summaries(run)],
        runs=parts,
        accuracy=[counts for run in runs for counts in accuracy_summaries(run)],
        node_shares=[share for run in runs for share in node_shares(run)],
    )


def _run_summary(run: Results) -> RunSummary:
    criterion = run.header.criterion
    failing = failing_cases(run)
    return RunSummary(
        outcome=run.footer.outcome,
        counts=OutcomeCounts.of_run(run),
        failing={subject: len(cases) for subject, cases in failing.items()},
        not_examined=not_examined(run.footer, failing),
        started=run.header.started,
        reasons=run.footer.reasons,
        level=criterion.level,
        require=list(criterion.require),
        selection=run.header.selection_options,
        expected_results=criterion.expected_results,
        results=run.footer.results,
        interrupted=run.footer.interrupted,
        environment=dict(sorted(run.header.environment.items())),
        baseline=criterion.baseline,
        profile=criterion.profile,
    )


def _subject_summaries(run: Results) -> list[SubjectSummary]:
    verdicts = run.footer.verdicts
    known = known_failures_by_level(run)
    return [
        SubjectSummary(
            subject.id,
            subject.kind,
            subject.version,
            levels={
                level: {
                    "cases": sum(counts.values()),
                    **({"known_failures": number} if (number := known[subject.id, level]) else {}),
                    **dict(sorted(counts.items())),
                }
                for level in Level
                if (counts := verdicts.get(subject.id, {}).get(level))
            },
            identity=subject.identity,
        )
        for subject in run.header.subjects
    ]


def _check_summaries(run: Results) -> list[CheckSummary]:
    """Return the checks that graph optimizers violate; a case counts once per check, also if it was optimized twice."""
    cases: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for result in run.rows.values():
        for check in result.checks:
            if check.violation is not None:
                cases[result.subject, check.name][result.case] = check.level
    counts = {key: Counter(levels.values()) for key, levels in sorted(cases.items())}
    return [
        CheckSummary(subject, check, {level: count[level] for level in Level if count[level]})
        for (subject, check), count in counts.items()
    ]


def _not_judged_summaries(run: Results) -> list[NotJudgedSummary]:
    """Return the checks that could not be evaluated, by subject, check and reason."""
    cases: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for result in run.rows.values():
        for check in result.checks:
            if check.not_judged is not None:
                cases[result.subject, check.name, check.not_judged][result.case] = None
    return [
        NotJudgedSummary(subject, check, reason, sorted(own)) for (subject, check, reason), own in sorted(cases.items())
    ]


def _failure_summaries(run: Results) -> list[FailureSummary]:
    """Return the groups of unexpected results by subject; groups with a diagnosis come first."""
    causes = group_failures(run)
    found: list[FailureSummary] = []
    for cause in causes:
        case, result = cause.smallest[0]
        smallest = CiResult(run, run.rows[cause.subject, cause.cases[0]], cause)
        found.append(
            FailureSummary(
                cause.subject,
                cause.verdict,
                cause.sentence,
                cause.text,
                smallest.reason,
                list(short_evidence(result, violated_clause(cause, case, result), run.header.clauses)),
                list(cause.cases),
                cause.clause,
                cause.check,
                None if cause.diagnosis is None else cause.diagnosis.mutant,
            )
        )
    return sorted(found, key=lambda each: each.subject)
