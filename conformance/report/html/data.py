"""The JSON data that the HTML report embeds: an index of all cases, the details of each case, and statistics.

The browser parses the index immediately, and the details of a case when the page of the case is opened. Many details
are equal: models, tensors and messages. Each distinct value is stored once in a pool, and the details contain its
number.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.structs import astuple

from conformance.corpus.case_json import ExpectedOutput
from conformance.report.html.groups import mutant_texts, pack_groups, pack_known_faults
from conformance.report.html.subjects import Column, SubjectPage, expectation_mark, largest_error
from conformance.results.failure_groups import failure_kind, mutants_by_case
from conformance.results.file import LazyRecords
from conformance.results.levels import level_if_different
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.case_json import DataSetPreview
    from conformance.models.summaries import ModelSummary, TensorPreview
    from conformance.report.html.groups import Group, KnownFaultCases
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, CaseRow, OutputEvidence, Result


CASE_PLACEHOLDER = "«case»"
SUBJECT_PLACEHOLDER = "«subject»"
OPTIONS_PLACEHOLDER = "«options»"

RERUN_SCRIPTS = {
    kind: f"""\
import sys
from conformance.judging.run_one import judge_one

outcome = judge_one({SUBJECT_PLACEHOLDER}, "{kind}", {CASE_PLACEHOLDER}, *sys.argv[1:], **{OPTIONS_PLACEHOLDER})
print(outcome.verdict, outcome.phase, outcome.message)
"""
    for kind in ("backend", "optimizer")
}
"""The Python script that runs one case on one subject again, by kind of subject.

The browser replaces each placeholder by a Python literal.
"""


class ValuePool:
    """A list of distinct JSON values; the details of cases refer to each value by its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def values(self) -> list[Any]:
        return [json.loads(text) for text in self._numbers]

    def add(self, value: Any) -> int:
        """Add a value unless the pool has it; return its number."""
        return self._numbers.setdefault(json.dumps(value), len(self._numbers))


def pack_model(model: ModelSummary, pool: ValuePool) -> dict[str, Any]:
    """Return a model as JSON, with its nodes, inputs and outputs in the pool."""
    nodes = [[node.op_type, node.domain, node.inputs, node.outputs, node.attributes] for node in model.nodes]
    return {
        "ir_version": model.ir_version,
        "opset_imports": model.opset_imports,
        "inputs": [pool.add([value.name, value.type, value.shape]) for value in model.inputs],
        "outputs": [pool.add([value.name, value.type, value.shape]) for value in model.outputs],
        "nodes": [pool.add(node) for node in nodes],
    }


def pack_data_set(data_set: DataSetPreview, pool: ValuePool) -> dict[str, Any]:
    """Return a data set as JSON, with its tensors in the pool."""
    tensors: dict[str, Sequence[TensorPreview]] = {"inputs": data_set.inputs, "outputs": data_set.outputs}
    packed: dict[str, Any] = {key: [pool.add(pack_tensor(each)) for each in of] for key, of in tensors.items()}
    return packed | _without_none(hazard=data_set.hazard or None)


def pack_tensor(tensor: TensorPreview) -> list[Any]:
    """Return a tensor as a list without None values at the end.

    The list contains name, type, shape, number of elided elements, decimals, bits, check, bounds and acceptable
    indices.
    """
    row = [tensor.name, tensor.type, tensor.shape, tensor.elided, _join_texts(tensor.values)]
    row.append(_strip_hex_prefix(tensor.hex))
    if isinstance(tensor, ExpectedOutput):
        row += [tensor.check, None if tensor.bounds is None else _join_texts(tensor.bounds), tensor.accept]
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

    def __init__(self, case: CaseRecord, pool: ValuePool) -> None:
        self._case, self._pool, self._own = case, pool, ValuePool()

    @property
    def distinct(self) -> list[dict[str, Any]]:
        return self._own.values

    def add(self, result: Result | None, mutants: Sequence[str] = ()) -> list[float] | None:
        """Add the evidence of a result; return the number of the evidence and the seconds of the result.

        Return None if there is no result.

        Args:
            mutants: ids of the mutants that explain the result.
        """
        if result is None:
            return None
        evidence = {
            "phase": result.phase,
            "message": result.message,
            "expected": result.expected,
            "outputs": [self._output(output) for output in result.outputs],
            "signature": _failure_text(self._case, result, self._pool),
            "stderr": result.stderr,
            "mutants": list(mutants),
            "repeats": result.repeats,
            "baseline": result.baseline,
            "level": level_if_different(result, self._case.level),
            "checks": self._checks(result),
            "accuracy": [[name, each.within, each.elements] for name, each in result.accuracy.items()],
            "hazards": [
                [change.hazard, change.data_set, change.run, change.before, change.after] for change in result.hazards
            ],
        }
        shown = {key: value for key, value in evidence.items() if value not in (None, "", [], {})}
        return [self._own.add(to_builtins(shown)), round(result.seconds, 6)]

    def _checks(self, result: Result) -> int | None:
        checks = result.checks
        rows = [[check.name, check.run or "", check.violation, check.level, check.not_judged] for check in checks or ()]
        return self._pool.add(rows) if rows else None

    def _output(self, output: OutputEvidence) -> list[Any]:
        """Return the evidence on an output as a list without None values at the end.

        The list contains data set, index among the outputs, largest error in ULP, error over bound, the index of the
        worst element, and an object with the remaining keys.
        """
        wanted = self._case.expected_output(output.data_set, output.name)
        place = None if wanted is None else self._case.data_sets[output.data_set].outputs.index(wanted)
        more: dict[str, Any] = {
            key: got for key in ("violation", "first_bad", "wrong") if (got := getattr(output, key))
        }
        if wanted is None or wanted.check != output.check:
            more |= {"name": output.name, "check": output.check}
        if output.actual is not None and (more or self._case.level == Level.SILENT):
            more["actual"] = "expected" if _same_preview(output.actual, wanted) else pack_tensor(output.actual)
        errors = map(_four_digits, (output.max_ulp, output.error_over_bound))
        row = [output.data_set, place, *errors, output.worst_index, more or None]
        while row[-1] is None:
            row.pop()
        return row


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
) -> dict[str, Any]:
    """Return the data that the browser reads at once: subjects, clauses, tags, groups, and one row for each case.

    A row contains one character for the verdict of each subject, so that filters need no details.
    """
    names = first_run_by_case(runs)
    cases = [runs[number].case_rows[name] for name, number in names.items()]
    types_of = [sorted({value.type for value in case.model.inputs}) for case in case_records(runs).values()]
    texts = {name: clause for run in runs for name, clause in run.header.clauses.items()}
    clauses = _number([*texts, *(name for case in cases for name in case.clauses)])
    tags = _number(name for case in cases for name in case.tags)
    types = _number(sorted({type for own in types_of for type in own}))
    return {
        "subjects": [
            [
                column.label,
                column.subject.version,
                column.command,
                column.subject.kind,
                column.subject.id,
                column.options,
                column.subject.identity.digest if column.subject.identity else "",
            ]
            for column in shown
        ],
        "levels": {level: level.meaning for level in Level},
        "verdicts": {verdict: verdict.meaning for verdict in Verdict},
        "defects": [verdict for verdict in Verdict if verdict.is_defect],
        "checks": CHECKS,
        "scripts": {
            "case": CASE_PLACEHOLDER,
            "subject": SUBJECT_PLACEHOLDER,
            "options": OPTIONS_PLACEHOLDER,
            "of": RERUN_SCRIPTS,
        },
        "clauses": [[name, *(astuple(texts[name]) if name in texts else ("", ""))] for name in clauses],
        "tags": list(tags),
        "types": list(types),
        "groups": pack_groups(groups, _number(names)),
        "known": pack_known_faults(faults, _number(names)),
        "mutants": mutant_texts(runs),
        "cases": [
            [
                case.case,
                case.title,
                case.level,
                [clauses[name] for name in case.clauses],
                [tags[name] for name in case.tags],
                *_verdict_digits(case.case, shown),
                case.kind,
                [types[type] for type in own],
                *_level_digits(case, shown),
            ]
            for case, own in zip(cases, types_of, strict=True)
        ],
    }


def case_details(runs: Sequence[Results], shown: Sequence[Column], pool: ValuePool) -> Iterator[dict[str, Any]]:
    """Yield the details of each case in the order of the index: model, data sets and evidence."""
    explained = [mutants_by_case(run.footer) for run in runs]
    for case in case_records(runs).values():
        evidence = EvidencePool(case, pool)
        results = [
            evidence.add(column.results.get(case.case), explained[column.run].get((column.subject.id, case.case), ()))
            for column in shown
        ]
        detail = {
            "model": pack_model(case.model, pool),
            "data_sets": [pack_data_set(data_set, pool) for data_set in case.data_sets],
            "evidence": evidence.distinct,
            "results": results,
        }
        select = shlex.quote(case.case)
        yield detail | _without_none(select=None if select == case.case else select, rewrite=to_builtins(case.rewrite))


def failure_texts(runs: Sequence[Results], shown: Sequence[Column], pool: ValuePool) -> list[list[int | None]]:
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


def _column_failure_text(case: CaseRow, column: Column, pool: ValuePool) -> int | None:
    row = column.rows.get(case.case)
    is_failure = row is not None and row.verdict != Verdict.PASS
    return _failure_text(case, column.results[case.case], pool) if is_failure else None


def _failure_text(case: CaseRow, result: Result, pool: ValuePool) -> int | None:
    """Add the failure text of a result, without the numbers in it, to the pool; return its index in the pool."""
    found = failure_kind(case, result)
    return None if found is None else pool.add(found.text)


def _number(names: Any) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _level_digits(case: CaseRow, shown: Sequence[Column]) -> list[str]:
    """Return a text with one character per subject: the level of its result as a digit, or a dot for the case's level.

    The list is empty if all levels equal the level of the case.
    """
    results = [column.rows.get(case.case) for column in shown]
    levels = [level_if_different(result, case.level) if result else None for result in results]
    return ["".join(_NO_RESULT if level is None else str(level.rank) for level in levels)] if any(levels) else []


def _verdict_digits(case: str, shown: Sequence[Column]) -> tuple[str, str]:
    """Return two texts: the verdicts and the expectation marks of a case, with one character for each subject."""
    results = [column.rows.get(case) for column in shown]
    verdicts = "".join(_CODES[result.verdict] if result else _NO_RESULT for result in results)
    marks = "".join(expectation_mark(result) if result else _NO_RESULT for result in results)
    return verdicts, marks


@dataclass(frozen=True)
class ResultSurvey:
    """Statistics of all results.

    Attributes:
        errors: the largest error of each result as a fraction of the bound, by case and subject.
        hazards: outputs that a correct application of the pass changes, as rows of hazard class, subject, case, data
            set, run, output before and output after. Subject and case are numbers in the index.
        pages: the statistics on the page of each subject, in the order of the columns.
    """

    errors: list[list[float | None]]
    hazards: list[list[Any]]
    pages: list[dict[str, Any]]


def survey_results(runs: Sequence[Results], shown: Sequence[Column]) -> ResultSurvey:
    """Compute the statistics; every result is read once."""
    errors: list[list[float | None]] = []
    hazards: list[list[Any]] = []
    pages = [SubjectPage() for _ in shown]
    for at, case in enumerate(case_records(runs).values()):
        errors.append([None] * len(shown))
        for number, column in enumerate(shown):
            if (result := column.results.get(case.case)) is None:
                continue
            errors[at][number] = largest_error(result)
            hazards += [
                [change.hazard, number, at, change.data_set, change.run, change.before, change.after]
                for change in result.hazards
            ]
            pages[number].add(at, case, result)
    packed = [page.to_json(column, runs) for page, column in zip(pages, shown, strict=True)]
    return ResultSurvey(errors, hazards, packed)
