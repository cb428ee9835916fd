"""The JSON data that the HTML report embeds: an index of all cases, the details of each case, and statistics.

The browser parses the index immediately, and the details of a case when the page of the case is opened. Many details
are equal: models, tensors and messages. Each distinct value is stored once in a pool, and the details contain its
number.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct, to_builtins
from msgspec.structs import astuple

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_json import ExpectedOutput
from conformance.run.report.html.groups import pack_groups, pack_known_faults
from conformance.run.report.html.subjects import Column, SubjectPage, expectation_mark, largest_error
from conformance.run.results.failure_groups import failure_kind, mutants_by_case
from conformance.run.results.results_file import LazyRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.base.verdicts import CheckKind, Phase
    from conformance.corpus.cases.case_json import DataSetPreview, RewriteDocument
    from conformance.exact.models.summaries import ModelSummary, TensorPreview
    from conformance.run.report.html.groups import Group, GroupRow, KnownFaultCases, KnownFaultRow
    from conformance.run.report.html.subjects import SubjectStatistics
    from conformance.run.results.records import BadElement, CaseRecord, CaseRow, Expected, OutputEvidence, Result
    from conformance.run.results.results_file import Results


T = TypeVar("T")

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


Cell: TypeAlias = "str | float | Sequence[str | int] | OutputDetails | None"
"""A value in a row of varying length."""


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
    cases: list[tuple[str | list[int], ...]]


class ModelDiagram(Struct, frozen=True):
    """A model; inputs, outputs and nodes are numbers in the pool."""

    ir_version: int
    opset_imports: dict[str, int]
    inputs: list[int]
    outputs: list[int]
    nodes: list[int]


class DataSetTensors(Struct, frozen=True, omit_defaults=True):
    """A data set; the tensors are numbers in the pool."""

    inputs: list[int]
    outputs: list[int]
    hazard: str = ""


class OutputDetails(Struct, omit_defaults=True):
    """The rare parts of the evidence on an output; a preview that equals the expected one is the text `expected`."""

    violation: str | None = None
    first_bad: BadElement | None = None
    wrong: int | None = None
    name: str | None = None
    check: CheckKind | None = None
    actual: list[Cell] | Literal["expected"] | None = None


class CaseEvidence(Struct, frozen=True, omit_defaults=True):
    """The evidence of a result; the failure text `signature` and the rows of `checks` are numbers in the pool."""

    phase: Phase | None = None
    message: str = ""
    expected: Expected | None = None
    outputs: list[list[Cell]] = []
    signature: int | None = None
    stderr: str = ""
    mutants: list[str] = []
    repeats: dict[Verdict, int] = {}
    baseline: Verdict | None = None
    level: Level | None = None
    checks: int | None = None
    accuracy: list[tuple[str, int, int]] = []
    hazards: list[tuple[str, int, str, list[str], list[str]]] = []


class CaseDetail(Struct, frozen=True, omit_defaults=True):
    """The details of a case.

    Attributes:
        evidence: the distinct evidence of its results.
        results: for each subject, the number of the evidence and the seconds, or None.
        select: the id as a word of a shell command, if it needs quotes.
    """

    model: ModelDiagram
    data_sets: list[DataSetTensors]
    evidence: list[CaseEvidence]
    results: list[tuple[int, float] | None]
    select: str | None = None
    rewrite: RewriteDocument | None = None


class ValuePool(Generic[T]):
    """A list of values that differ in JSON; the details of cases refer to each value by its number."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[str, int] = {}

    def add(self, value: T) -> int:
        """Add a value unless the pool has it; return its number."""
        number = self._numbers.setdefault(json.dumps(to_builtins(value)), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def pack_model(model: ModelSummary, pool: ValuePool[Any]) -> ModelDiagram:
    """Return a model with its nodes, inputs and outputs in the pool."""
    parts = ([pool.add(astuple(part)) for part in of] for of in (model.inputs, model.outputs, model.nodes))
    return ModelDiagram(model.ir_version, model.opset_imports, *parts)


def pack_data_set(data_set: DataSetPreview, pool: ValuePool[Any]) -> DataSetTensors:
    """Return a data set with its tensors in the pool."""
    inputs = [pool.add(pack_tensor(tensor)) for tensor in data_set.inputs]
    outputs = [pool.add(pack_tensor(tensor)) for tensor in data_set.outputs]
    return DataSetTensors(inputs, outputs, data_set.hazard)


def pack_tensor(tensor: TensorPreview) -> list[Cell]:
    """Return a tensor as a list without None values at the end.

    The list contains name, type, shape, number of elided elements, decimals, bits, check, bounds and acceptable
    indices.
    """
    row: list[Cell] = [tensor.name, tensor.type, tensor.shape, tensor.elided, _join_texts(tensor.values)]
    row.append(_strip_hex_prefix(tensor.hex))
    if isinstance(tensor, ExpectedOutput):
        row += [tensor.check, None if tensor.bounds is None else _join_texts(tensor.bounds), tensor.accept]
    return _without_end(row)


def _without_end(row: list[Cell]) -> list[Cell]:
    """Return a row without None values at the end."""
    while row[-1] is None:
        row.pop()
    return row


def _join_texts(texts: list[str]) -> str | list[str]:
    """Return the texts joined by spaces; if a text is empty or contains a space, return the list unchanged."""
    plain = bool(texts) and all(text and " " not in text for text in texts)
    return " ".join(texts) if plain else texts


def _strip_hex_prefix(texts: list[str] | None) -> str | list[str] | None:
    """Return hexadecimal numbers joined without the prefix 0x; if one lacks the prefix, return the list unchanged."""
    if texts and all(text.startswith("0x") for text in texts):
        packed = _join_texts([text[2:] for text in texts])
        return packed if isinstance(packed, str) else texts
    return texts


class EvidencePool:
    """The distinct evidence of the results of one case; results refer to it by number."""

    def __init__(self, case: CaseRecord, pool: ValuePool[Any]) -> None:
        self._case = case
        self._pool = pool
        self.distinct = ValuePool[CaseEvidence]()

    def add(self, result: Result | None, mutants: Sequence[str] = ()) -> tuple[int, float] | None:
        """Add the evidence of a result; return the number of the evidence and the seconds of the result.

        Return None if there is no result.

        Args:
            mutants: ids of the mutants that explain the result.
        """
        if result is None:
            return None
        evidence = CaseEvidence(
            result.phase,
            result.message,
            result.expected,
            [self._output(output) for output in result.outputs],
            _failure_text(self._case, result, self._pool),
            result.stderr,
            list(mutants),
            result.repeats,
            result.baseline,
            result.level_if_different(self._case.level),
            self._checks(result),
            [(name, each.within, each.elements) for name, each in result.accuracy.items()],
            list(map(astuple, result.hazards)),
        )
        return self.distinct.add(evidence), round(result.seconds, 6)

    def _checks(self, result: Result) -> int | None:
        rows = [(each.name, each.run or "", each.violation, each.level, each.not_judged) for each in result.checks]
        return self._pool.add(rows) if rows else None

    def _output(self, output: OutputEvidence) -> list[Cell]:
        """Return the evidence on an output as a list without None values at the end.

        The list contains data set, index among the outputs, largest error in ULP, error over bound, the index of the
        worst element, and the details.
        """
        wanted = self._case.expected_output(output.data_set, output.name)
        place = None if wanted is None else self._case.data_sets[output.data_set].outputs.index(wanted)
        more = OutputDetails(output.violation or None, output.first_bad, output.wrong or None)
        if wanted is None or wanted.check != output.check:
            more.name = output.name
            more.check = output.check
        if output.actual is not None and (more != _NO_DETAILS or self._case.level == Level.SILENT):
            more.actual = "expected" if _same_preview(output.actual, wanted) else pack_tensor(output.actual)
        errors = map(_four_digits, (output.max_ulp, output.error_over_bound))
        return _without_end(
            [output.data_set, place, *errors, output.worst_index, more if more != _NO_DETAILS else None]
        )


_NO_DETAILS = OutputDetails()


def _same_preview(actual: TensorPreview, wanted: TensorPreview | None) -> bool:
    """Return whether the previews of two tensors are equal."""
    names = ("type", "shape", "values", "hex")
    return wanted is not None and all(getattr(actual, name) == getattr(wanted, name) for name in names)


def _four_digits(error: float | None) -> float | None:
    return None if error is None else float(f"{error:.4g}")


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


def case_details(runs: Sequence[Results], shown: Sequence[Column], pool: ValuePool[Any]) -> Iterator[CaseDetail]:
    """Yield the details of each case in the order of the index: model, data sets and evidence."""
    explained = [mutants_by_case(run.footer) for run in runs]
    for case in case_records(runs).values():
        evidence = EvidencePool(case, pool)
        results = [
            evidence.add(column.results.get(case.case), explained[column.run].get((column.subject.id, case.case), ()))
            for column in shown
        ]
        select = shlex.quote(case.case)
        yield CaseDetail(
            pack_model(case.model, pool),
            [pack_data_set(data_set, pool) for data_set in case.data_sets],
            evidence.distinct.values,
            results,
            None if select == case.case else select,
            case.rewrite,
        )


def failure_texts(runs: Sequence[Results], shown: Sequence[Column], pool: ValuePool[Any]) -> list[list[int | None]]:
    """Return, for each case and subject, the number of the failure text in the pool; None if the case does not fail."""
    return [
        [_column_failure_text(runs[number].case_rows[name], column, pool) for column in shown]
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


def _column_failure_text(case: CaseRow, column: Column, pool: ValuePool[Any]) -> int | None:
    row = column.rows.get(case.case)
    is_failure = row is not None and row.verdict != Verdict.PASS
    return _failure_text(case, column.results[case.case], pool) if is_failure else None


def _failure_text(case: CaseRow, result: Result, pool: ValuePool[Any]) -> int | None:
    """Add the failure text of a result, without the numbers in it, to the pool; return its index in the pool."""
    found = failure_kind(case, result)
    return None if found is None else pool.add(found.text)


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


HazardRow: TypeAlias = tuple[str, int, int, int, str, list[str], list[str]]
"""A changed output: hazard class, subject, case, data set, run, output before and output after."""


@dataclass(frozen=True)
class ResultSurvey:
    """Statistics of all results.

    Attributes:
        errors: the largest error of each result as a fraction of the bound, by case and subject.
        hazards: outputs that a correct application of the pass changes. Subject and case are numbers in the index.
        pages: the statistics on the page of each subject, in the order of the columns.
    """

    errors: list[list[float | None]]
    hazards: list[HazardRow]
    pages: list[SubjectStatistics]


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
