"""The template variables of the overview page: outcome, reasons, causes of failures, and counts of passed cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from conformance.base.verdicts import Level, Verdict
from conformance.run.report.html.subjects import (
    Group,
    GroupKind,
    Mark,
    case_link,
    expectation_mark,
    link_cases,
    run_name,
)
from conformance.run.results.failure_groups import failing_cases, format_group_counts, not_examined_sentences
from conformance.run.results.missing_operators import (
    missing_operator_sentences,
    older_versions_sentences,
    unsupported_reasons,
    unsupported_sentence,
)
from conformance.run.results.outcome_counts import WEAKER_OPTION, OutcomeCounts, node_shares
from conformance.run.results.recorded_environment import format_date
from conformance.run.results.results_file import fail_level, is_partial

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from conformance.run.report.html.subjects import Column, KnownFaultCases, ResultSurvey
    from conformance.run.results.records import Header
    from conformance.run.results.results_file import Results

MIN_SEGMENT_SHARE = 0.008
"""Smallest share of a bar for one segment, so that a single failure among thousands is visible."""

MAX_NAMED_CASES = 5
"""Number of cases that a warning names."""

MAX_OPEN_CAUSES = 10
"""Number of causes of a subject that are visible without opening a list."""

MAX_OPEN_MINOR = 3
"""Number of unexplained groups without a common property that are visible without opening a list."""

MIN_BOARD_SUBJECTS = 4
"""From this number of subjects on, the overview begins with a table that compares them."""


@dataclass(frozen=True)
class Segment:
    """The part of a bar for one verdict; position and width are in thousandths of the bar."""

    verdict: str
    known: bool
    x: str
    width: str


@dataclass(frozen=True)
class VerdictCount:
    """The number of results with one verdict other than `pass`, and the link that shows them."""

    text: str
    verdict: str
    link: str


@dataclass(frozen=True)
class LevelTally:
    """The results of one subject at one level: number of passes, number of cases, and the other verdicts."""

    level: str
    passed: int
    total: int
    segments: list[Segment]
    others: list[VerdictCount]

    @property
    def text(self) -> str:
        return ", ".join([f"{self.passed} of {self.total} passed", *(other.text for other in self.others)])


@dataclass(frozen=True)
class ShownFault:
    """A known fault that cases of a group show: the number of these cases, and the number of all cases of the group."""

    known: KnownFaultCases
    cases: int
    of: int

    @property
    def share(self) -> str:
        """The share of the cases that show the fault as text; empty if all cases of the group do."""
        return "" if self.cases == self.of else f" ({self.cases} of {self.of} cases)"


@dataclass(frozen=True)
class ShownCause:
    """A cause of failures with its smallest case, the link to that case, and the known faults of its cases."""

    group: Group
    smallest: str
    link: str
    known: Sequence[ShownFault]


@dataclass(frozen=True)
class SubjectCauses:
    """The causes of failures of one subject: the visible ones, and those in a collapsed list."""

    column: Column
    first: list[ShownCause]
    more: list[ShownCause]

    @property
    def count(self) -> str:
        """The numbers of causes and cases as text: "2 causes, 18 cases"."""
        return format_group_counts([cause.group.cases for cause in (*self.first, *self.more)])


def overview(
    runs: Sequence[Results],
    shown: Sequence[Column],
    survey: ResultSurvey,
    groups: Sequence[Group],
    faults: Sequence[KnownFaultCases],
) -> dict[str, Any]:
    """Return the variables of the template for the overview."""
    cases = {case for run in runs for case in run.case_rows}
    return {
        "runs": [
            _run_variables(run, cases) | {"name": _capitalize(run_name(runs, number))}
            for number, run in enumerate(runs)
        ],
        "warnings": list(_comparison_warnings(runs)),
        "passes": bool(runs) and all(run.footer.outcome == "pass" for run in runs),
        "is_board": len(shown) >= MIN_BOARD_SUBJECTS,
        "subjects": [(column, [_level_tally(column, level) for level in Level]) for column in shown],
        "has_silent": any(case.level == Level.SILENT for run in runs for case in run.case_rows.values()),
        "has_hazards": bool(survey.hazards),
        "unexpected": sum(
            expectation_mark(result) is Mark.UNEXPECTED for column in shown for result in column.rows.values()
        ),
        "cases": len(cases),
        "counts": OutcomeCounts.of_runs(runs),
        "judges_should": any(fail_level(run.header) is Level.SHOULD for run in runs),
        "few_minor": MAX_OPEN_MINOR,
        "weaker_option": WEAKER_OPTION,
        "dates": list(dict.fromkeys(filter(None, (format_date(run.header.started) for run in runs)))),
        "not_examined": [text for run in runs for text in not_examined_sentences(run.footer, failing_cases(run))],
        "notes": [sentence for run in runs for sentence in _notes(run)],
        "causes": list(_causes_by_subject(shown, groups, faults)),
        "diagnosed": [
            (group, _known_faults_of(group, faults)) for group in groups if group.kind is not GroupKind.CAUSE
        ],
        "levels": list(Level),
        "verdicts": list(Verdict),
    }


def _run_variables(run: Results, cases: Collection[str]) -> dict[str, Any]:
    corpus = run.header.corpus
    return {
        "passes": run.footer.outcome == "pass",
        "reasons": [link_cases(reason, cases) for reason in run.footer.reasons],
        "warnings": list(_warnings(run)),
        "subjects": ", ".join(subject.id for subject in run.header.subjects),
        "corpus": corpus,
        "facts": [
            *_run_facts(run.header, run.footer.results, run.footer.seconds),
            *(("Nodes of the models", share.sentence) for share in node_shares(run)),
        ],
    }


def _causes_by_subject(
    shown: Sequence[Column], groups: Sequence[Group], faults: Sequence[KnownFaultCases]
) -> Iterator[SubjectCauses]:
    for number, column in enumerate(shown):
        own = [group for group in groups if group.column == number and group.kind is GroupKind.CAUSE]
        causes = [
            ShownCause(group, group.cases[0], case_link(group.cases[0], column.label), _known_faults_of(group, faults))
            for group in own
        ]
        if causes:
            yield SubjectCauses(column, causes[:MAX_OPEN_CAUSES], causes[MAX_OPEN_CAUSES:])


def _notes(run: Results) -> Iterator[str]:
    """Yield what the terminal prints about missing operators, older versions and unsupported cases of the subjects."""
    unexpected = [key for key, row in run.rows.items() if row.unexpected]
    verdicts = {key: row.verdict for key, row in run.rows.items()}
    errors = [run.results[key] for key in unexpected if verdicts[key] is Verdict.ERROR]
    started = [error for error in errors if error.phase != "start" and error.expected is None]
    if started:
        yield from missing_operator_sentences(
            started, verdicts, lambda case: {node.op_type for node in run.cases[case].model.nodes}
        )
    if Verdict.PASS in verdicts.values():
        yield from older_versions_sentences(unexpected, verdicts, lambda case: run.cases[case])
    level = fail_level(run.header)
    judged = (key for key, row in run.rows.items() if row.level.is_within(level))
    unsupported = [run.results[key] for key in judged if verdicts[key] is Verdict.UNSUPPORTED]
    if unsupported:
        for subject, reasons in unsupported_reasons(unsupported).items():
            yield unsupported_sentence(subject, reasons)


def _known_faults_of(group: Group, faults: Sequence[KnownFaultCases]) -> list[ShownFault]:
    """Return the known faults of the subject of a group that its cases show, each with the number of these cases."""
    own = ((fault, len(set(fault.cases) & set(group.cases))) for fault in faults if fault.column == group.column)
    return [ShownFault(fault, count, len(group.cases)) for fault, count in own if count]


def _warnings(run: Results) -> list[str]:
    corpus = run.header.corpus
    warnings = []
    if run.footer.interrupted:
        warnings.append("The run was interrupted. Cases that were not run have no result.")
    if is_partial(run) and corpus.selected < corpus.cases:
        warnings.append(
            f"Partial run: {corpus.selected} of the {corpus.cases} cases of the corpus were selected. "
            "The other cases have no result."
        )
    if len(run.case_rows) < corpus.selected:
        warnings.append(f"The run ended early: {len(run.case_rows)} of {corpus.selected} selected cases have a result.")
    return warnings


def _comparison_warnings(runs: Sequence[Results]) -> Iterator[str]:
    """Yield warnings about properties of the runs that make their comparison unreliable, such as different corpora."""
    if len({run.header.corpus.digest for run in runs}) <= 1:
        return
    yield "The runs have different corpora. Only the cases that all corpora have are compared."
    first: dict[str, Results] = {}
    cases = [(name, run) for run in runs for name in run.cases]
    if altered := {name for name, run in cases if first.setdefault(name, run).cases[name] != run.cases[name]}:
        count = "1 case differs" if len(altered) == 1 else f"{len(altered)} cases differ"
        named = ", ".join([*sorted(altered)[:MAX_NAMED_CASES], *(["…"] if len(altered) > MAX_NAMED_CASES else [])])
        yield f"{count} between the corpora; the report shows the version of the first run: {named}"


def _run_facts(header: Header, results: int, seconds: float) -> list[tuple[str, str]]:
    corpus = header.corpus
    return [
        *([("Date", date)] if (date := format_date(header.started)) else []),
        ("Suite", header.suite),
        ("Corpus", corpus.label),
        ("Corpus digest", corpus.digest),
        ("Cases", f"{corpus.selected} of {corpus.cases} selected"),
        ("Results", f"{results} in {seconds:.1f} s"),
        *_profile_facts(header),
        *header.selection_options.items(),
        *header.environment.items(),
        ("Command", header.command),
    ]


def _profile_facts(header: Header) -> Iterator[tuple[str, str]]:
    """Yield the rules of the profile of a run, each with its source."""
    if (profile := header.criterion.profile) is not None:
        yield "Profile", f"{profile.name}: {profile.title} ({profile.source})"
        for rule in profile.rules:
            yield f"{rule.level} by {rule.id}", f"{rule.text} ({rule.source})"


def _level_tally(column: Column, level: Level) -> LevelTally:
    counts = Counter(
        (result.verdict, expectation_mark(result) is Mark.KNOWN)
        for result in column.rows.values()
        if result.level == level
    )
    passed = sum(counts[Verdict.PASS, known] for known in (False, True))
    others = [_verdict_count(column, level, verdict, counts) for verdict in Verdict if verdict is not Verdict.PASS]
    return LevelTally(level, passed, counts.total(), _segments(counts), [other for other in others if other])


def _verdict_count(
    column: Column, level: Level, verdict: Verdict, counts: Counter[tuple[Verdict, bool]]
) -> VerdictCount | None:
    known = counts[verdict, True]
    new = counts[verdict, False]
    if not known + new:
        return None
    text = f"{known + new} {verdict}"
    if known:
        text += " (known)" if not new else f" ({known} known)"
    filters = {"view": "matrix", "verdict": verdict, "level": level, "of": column.label}
    return VerdictCount(text, verdict, "#" + urlencode(filters, quote_via=quote))


def _segments(counts: Counter[tuple[Verdict, bool]]) -> list[Segment]:
    present = [(verdict, known) for verdict in Verdict for known in (False, True) if counts[verdict, known]]
    shares = [max(counts[key] / counts.total(), MIN_SEGMENT_SHARE) for key in present]
    whole = sum(shares)
    segments = []
    x = 0.0
    for (verdict, known), share in zip(present, shares, strict=True):
        width = 1000 * share / whole
        segments.append(Segment(verdict, known, f"{x:.2f}", f"{width:.2f}"))
        x += width
    return segments


def _capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]
