"""The HTML report: one self-contained document that is computed from results files alone.

The template renders the overview. The script of the document draws every other page in the browser, from JSON that the
document contains.

The data are an index of all cases, the details of each case, and statistics. The browser parses the index immediately.
The details of cases are in blocks that are packed by gzip; the browser unpacks a block when it shows a case of the
block.
"""

from __future__ import annotations

import shlex
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from conformance.base.pages.templating import page_parts
from conformance.base.verdicts import Level, Verdict
from conformance.run.report.html.overview import overview
from conformance.run.report.html.subjects import (
    Column,
    ResultSurvey,
    SubjectPage,
    columns,
    expectation_mark,
    groups,
    known_fault_cases,
    largest_error,
    pack_groups,
    pack_known_faults,
)
from conformance.run.results.failure_groups import failure_kind, mutants_by_case
from conformance.run.results.records import printed_record
from conformance.run.results.results_file import LazyRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.base.verdicts import Phase
    from conformance.corpus.cases.case_loading import DataSetPreview, RewriteDocument
    from conformance.exact.models.summaries import ModelSummary
    from conformance.run.report.html.subjects import (
        Group,
        GroupRow,
        HazardRow,
        KnownFaultCases,
        KnownFaultRow,
    )
    from conformance.run.results.records import (
        CaseRecord,
        CaseRow,
        Expected,
        HazardChange,
        OutputEvidence,
        Result,
        Within,
    )
    from conformance.run.results.results_file import Results


STYLES = ("matrix.css", "case.css", "plots.css")
SCRIPTS = (
    "dom.js",
    "data.js",
    "address.js",
    "groups.js",
    "filters.js",
    "lists.js",
    "matrix.js",
    "plots.js",
    "graph.js",
    "tensors.js",
    "evidence.js",
    "case.js",
    "subject.js",
    "clauses.js",
    "scores.js",
    "errors.js",
    "silent.js",
    "hazards.js",
    "compare.js",
    "report.js",
)


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the parts of the HTML document; the same runs give the same bytes.

    Several runs of one subject are shown in adjacent columns. The report warns about runs of different corpora. Without
    runs, the report has neither subjects nor cases.
    """
    shown = columns(runs)
    survey = survey_results(runs, shown)
    found = groups(runs, shown)
    faults = known_fault_cases(shown)
    yield from page_parts(
        "report.html.j2",
        styles=STYLES,
        scripts=SCRIPTS,
        data=_data(runs, shown, survey, found, faults),
        packed=_packed(runs, shown),
        archives=case_archives(runs),
        **overview(runs, shown, survey, found, faults),
    )


def _data(
    runs: Sequence[Results],
    shown: Sequence[Column],
    survey: ResultSurvey,
    found: Sequence[Group],
    faults: Sequence[KnownFaultCases],
) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values that the script reads at once, each with the id of the HTML element that contains it."""
    yield "index", case_index(runs, shown, found, faults)
    yield "errors", survey.errors
    yield "hazards", survey.hazards
    yield from ((f"subject-{number}", page) for number, page in enumerate(survey.pages))


def _packed(runs: Sequence[Results], shown: Sequence[Column]) -> Iterator[tuple[str, Any]]:
    """Yield the values that the script unpacks for the page that shows them, each with the id of its element."""
    yield from ((f"details-{number}", block) for number, block in enumerate(detail_blocks(runs, shown)))
    yield "failure-texts", failure_texts(runs, shown)


CASE_PLACEHOLDER = "«case»"
SUBJECT_PLACEHOLDER = "«subject»"
OPTIONS_PLACEHOLDER = "«options»"

RERUN_SCRIPTS = {
    kind: f"""\
import sys
from conformance.run.judging.run_one import judge_one

outcome = judge_one({SUBJECT_PLACEHOLDER}, "{kind}", {CASE_PLACEHOLDER}, *sys.argv[1:], **{OPTIONS_PLACEHOLDER})
print(outcome.verdict, outcome.phase, outcome.message)
"""
    for kind in ("backend", "optimizer")
}
"""The Python script that runs one case on one subject again, by kind of subject.

The browser replaces each placeholder by a Python literal.
"""


class RerunScripts(Struct, frozen=True):
    """The scripts that run a case again, by kind of subject, and the placeholders in them."""

    case: str
    subject: str
    options: str
    of: Mapping[str, str]


class CaseIndex(Struct, frozen=True):
    """The data that the browser reads at once.

    Attributes:
        subjects: rows of label, version, command, kind, id, options and digest of the environment.
        levels: the meaning of each level.
        verdicts: the meaning of each verdict.
        defects: the verdicts that are defects.
        checks: the meaning of each check of an output.
        clauses: rows of id, text and source.
        groups: see `pack_groups`.
        known: see `pack_known_faults`.
        mutants: the description of each mutant in the diagnoses.
        block: the number of cases in a block of details.
        cases: rows of id, title, level, clauses, tags, verdicts, expectation marks, kind, types and, if a result has
            another level than the case, levels. Verdicts, marks and levels have one character for each subject.
            Clauses, tags and types are numbers in their lists.
    """

    subjects: list[tuple[str, ...]]
    levels: dict[Level, str]
    verdicts: dict[Verdict, str]
    defects: list[Verdict]
    checks: Mapping[str, str]
    scripts: RerunScripts
    clauses: list[tuple[str, ...]]
    tags: list[str]
    types: list[str]
    groups: list[GroupRow]
    known: list[KnownFaultRow]
    mutants: dict[str, str]
    block: int
    cases: list[tuple[str | list[int], ...]]


class ResultDetail(Struct, frozen=True, omit_defaults=True):
    """A result with its evidence; `signature` is the failure text, and `level` is present if the case has another."""

    seconds: float
    phase: Phase | None = None
    message: str = ""
    expected: Expected | None = None
    outputs: list[dict[str, Any]] = []
    signature: str = ""
    stderr: str = ""
    mutants: list[str] = []
    repeats: dict[Verdict, int] = {}
    baseline: Verdict | None = None
    level: Level | None = None
    checks: list[dict[str, Any]] = []
    accuracy: dict[str, Within] = {}
    hazards: list[HazardChange] = []


class CaseDetail(Struct, frozen=True, omit_defaults=True):
    """The details of a case.

    Attributes:
        results: the result of each subject, or None.
        select: the id as a word of a shell command, if it needs quotes.
    """

    model: ModelSummary
    data_sets: list[DataSetPreview]
    results: list[ResultDetail | None]
    select: str | None = None
    rewrite: RewriteDocument | None = None


CASES_PER_BLOCK = 64
"""Number of cases whose details are packed together."""

CHECKS = {
    "exact": "Every element must agree bit for bit.",
    "bound": (
        "The bound is the running error bound of the operator's formula in the tensor's precision: any order of "
        "evaluation, fused or wider, is admitted, plus half an ULP."
    ),
    "index": "Any index is accepted whose exact value lies within the bound of the exact maximum.",
}
MAX_ARCHIVED_CHARACTERS = 3 * 2**20
"""Maximum number of base64 characters of all archives in one report, so that it stays small enough to send."""

_CODES = {str(verdict): str(code) for code, verdict in enumerate(Verdict)}
_NO_RESULT = "."


def case_index(
    runs: Sequence[Results], shown: Sequence[Column], groups: Sequence[Group], faults: Sequence[KnownFaultCases]
) -> CaseIndex:
    """Return the index of the cases; filters need no details, because the row of a case has the verdicts."""
    names = first_run_by_case(runs)
    cases = [runs[number].case_rows[name] for name, number in names.items()]
    types_of = [sorted({value.type for value in case.model.inputs}) for case in case_records(runs).values()]
    texts = {name: clause for run in runs for name, clause in run.header.clauses.items()}
    clauses = _number([*texts, *(name for case in cases for name in case.clauses)])
    tags = _number(name for case in cases for name in case.tags)
    types = _number(sorted({type for own in types_of for type in own}))
    return CaseIndex(
        subjects=list(map(_subject_row, shown)),
        levels={level: level.meaning for level in Level},
        verdicts={verdict: verdict.meaning for verdict in Verdict},
        defects=[verdict for verdict in Verdict if verdict.is_defect],
        checks=CHECKS,
        scripts=RerunScripts(CASE_PLACEHOLDER, SUBJECT_PLACEHOLDER, OPTIONS_PLACEHOLDER, RERUN_SCRIPTS),
        clauses=[(name, *(astuple(texts[name]) if name in texts else ("", ""))) for name in clauses],
        tags=list(tags),
        types=list(types),
        groups=pack_groups(groups, _number(names)),
        known=pack_known_faults(faults, _number(names)),
        mutants={record.mutant: record.text for run in runs for record in run.footer.diagnoses},
        block=CASES_PER_BLOCK,
        cases=[
            (
                case.case,
                case.title,
                case.level,
                [clauses[name] for name in case.clauses],
                [tags[name] for name in case.tags],
                *_verdict_digits(case.case, shown),
                case.kind,
                [types[type] for type in own],
                *_level_digits(case, shown),
            )
            for case, own in zip(cases, types_of, strict=True)
        ],
    )


def _subject_row(column: Column) -> tuple[str, ...]:
    subject = column.subject
    digest = subject.identity.digest if subject.identity else ""
    return column.label, subject.version, column.command, subject.kind, subject.id, column.options, digest


def detail_blocks(runs: Sequence[Results], shown: Sequence[Column]) -> Iterator[list[CaseDetail]]:
    """Yield the details of the cases in the order of the index, in blocks."""
    explained = [mutants_by_case(run.footer) for run in runs]
    records = iter(case_records(runs).values())
    while block := list(islice(records, CASES_PER_BLOCK)):
        yield [_case_detail(case, shown, explained) for case in block]


def _case_detail(
    case: CaseRecord, shown: Sequence[Column], explained: Sequence[Mapping[tuple[str, str], Sequence[str]]]
) -> CaseDetail:
    results = [
        _result_detail(case, result, explained[column.run].get((column.subject.id, case.case), ()))
        if (result := column.results.get(case.case))
        else None
        for column in shown
    ]
    select = shlex.quote(case.case)
    return CaseDetail(case.model, case.data_sets, results, None if select == case.case else select, case.rewrite)


def _result_detail(case: CaseRecord, result: Result, mutants: Sequence[str]) -> ResultDetail:
    return ResultDetail(
        round(result.seconds, 6),
        result.phase,
        result.message,
        result.expected,
        [printed_record(_shown_output(case, output)) for output in result.outputs],
        _failure_text(case, result) or "",
        result.stderr,
        list(mutants),
        result.repeats,
        result.baseline,
        result.level_if_different(case.level),
        list(map(printed_record, result.checks)),
        result.accuracy,
        result.hazards,
    )


def _shown_output(case: CaseRecord, output: OutputEvidence) -> OutputEvidence:
    """Return an output, without the actual elements if it is right and the case defines it."""
    is_shown = output.violation or output.first_bad or output.wrong or case.level == Level.SILENT
    return output if is_shown else replace(output, actual=None)


def failure_texts(runs: Sequence[Results], shown: Sequence[Column]) -> list[list[str | None]]:
    """Return the failure text for each case and subject; None if the case does not fail."""
    return [
        [_column_failure_text(runs[number].case_rows[name], column) for column in shown]
        for name, number in first_run_by_case(runs).items()
    ]


def case_archives(runs: Sequence[Results]) -> Iterator[tuple[int, str]]:
    """Yield the number in the index of each archived case, with its archive in base64."""
    room = MAX_ARCHIVED_CHARACTERS
    for number, name in enumerate(first_run_by_case(runs)):
        archive = next((run.archives[name] for run in runs if name in run.archives), None)
        if archive is not None and len(archive) <= room:
            yield number, archive
            room -= len(archive)


def first_run_by_case(runs: Sequence[Results]) -> dict[str, int]:
    """Return the sorted ids of the cases of all runs, each with the number of the first run that has it."""
    found: dict[str, int] = {}
    for number, run in enumerate(runs):
        for name in run.case_rows:
            found.setdefault(name, number)
    return dict(sorted(found.items()))


def case_records(runs: Sequence[Results]) -> Mapping[str, CaseRecord]:
    """Return the records of the cases of all runs, sorted by id; each access reads the results file again."""
    return LazyRecords(
        lambda place: runs[place[0]].cases[place[1]],
        {name: (run, name) for name, run in first_run_by_case(runs).items()},
    )


def _column_failure_text(case: CaseRow, column: Column) -> str | None:
    row = column.rows.get(case.case)
    is_failure = row is not None and row.verdict != Verdict.PASS
    return _failure_text(case, column.results[case.case]) if is_failure else None


def _failure_text(case: CaseRow, result: Result) -> str | None:
    """Return the failure text of a result, without the numbers in it."""
    found = failure_kind(case, result)
    return None if found is None else found.text


def _number(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _level_digits(case: CaseRow, shown: Sequence[Column]) -> list[str]:
    """Return a text with one character per subject: the level of its result as a digit, or a dot for the case's level.

    The list is empty if all levels equal the level of the case.
    """
    results = [column.rows.get(case.case) for column in shown]
    levels = [result.level_if_different(case.level) if result else None for result in results]
    return ["".join(_NO_RESULT if level is None else str(level.rank) for level in levels)] if any(levels) else []


def _verdict_digits(case: str, shown: Sequence[Column]) -> tuple[str, str]:
    """Return two texts: the verdicts and the expectation marks of a case, with one character for each subject."""
    results = [column.rows.get(case) for column in shown]
    verdicts = "".join(_CODES[result.verdict] if result else _NO_RESULT for result in results)
    marks = "".join(expectation_mark(result) if result else _NO_RESULT for result in results)
    return verdicts, marks


def survey_results(runs: Sequence[Results], shown: Sequence[Column]) -> ResultSurvey:
    """Compute the statistics; every result is read once."""
    errors: list[list[float | None]] = []
    hazards: list[HazardRow] = []
    pages = [SubjectPage() for _ in shown]
    for at, case in enumerate(case_records(runs).values()):
        errors.append([None] * len(shown))
        for number, column in enumerate(shown):
            if (result := column.results.get(case.case)) is None:
                continue
            errors[at][number] = largest_error(result)
            hazards += [
                (change.hazard, number, at, change.data_set, change.run, change.before, change.after)
                for change in result.hazards
            ]
            pages[number].add(at, case, result)
    packed = [page.statistics(column, runs) for page, column in zip(pages, shown, strict=True)]
    return ResultSurvey(errors, hazards, packed)
