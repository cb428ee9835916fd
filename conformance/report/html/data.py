"""What the report's scripts read: an index of all cases, which every filter needs, and one detail per case.

The index is small and is parsed when the document opens; a detail is parsed when its case is opened, and what details
have in common lies in a pool.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from conformance.report.html.columns import mark
from conformance.report.html.evidence import PackedEvidence
from conformance.report.html.groups import deviation_texts, packed_groups
from conformance.report.html.known import packed_known
from conformance.report.html.pool import Pool, packed_data_set, packed_model
from conformance.report.html.script import CASE, OF_KIND, OPTIONS, SUBJECT
from conformance.results.diagnosed import deviations_by_case
from conformance.results.failure_kinds import failure_kind
from conformance.results.levels import other_level
from conformance.results.reread import Reread
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.report.html.columns import Column
    from conformance.report.html.groups import Group
    from conformance.report.html.known import Known
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, CaseRow

CHECKS = {
    "exact": "Every element must agree bit for bit.",
    "bound": (
        "The bound is the running error bound of the operator's formula in the tensor's precision: any order of "
        "evaluation, fused or wider, is admitted, plus half an ULP."
    ),
    "index": "Any index is accepted whose exact value lies within the bound of the exact maximum.",
}
MOST_ARCHIVED = 3 * 2**20
"""Characters of all archives that a report carries, so that it stays a file one can send."""

_CODES = {str(verdict): str(code) for code, verdict in enumerate(Verdict)}
_NO_RESULT = "."


def index(
    runs: Sequence[Results], shown: Sequence[Column], groups: Sequence[Group], faults: Sequence[Known]
) -> dict[str, Any]:
    """Everything the filters look at: per case one short row, with one character per subject for its verdict."""
    names = homes(runs)
    cases = [runs[number].described[name] for name, number in names.items()]
    types_of = [sorted({value["type"] for value in case["model"]["inputs"]}) for case in described(runs).values()]
    texts = {name: clause for run in runs for name, clause in run.header["clauses"].items()}
    clauses = _numbered([*texts, *(name for case in cases for name in case["clauses"])])
    tags = _numbered(name for case in cases for name in case["tags"])
    types = _numbered(sorted({type for own in types_of for type in own}))
    return {
        "subjects": [
            [
                column.label,
                column.subject["version"],
                column.command,
                column.subject["kind"],
                column.subject["id"],
                column.options,
            ]
            for column in shown
        ],
        "levels": {level: level.meaning for level in Level},
        "verdicts": {verdict: verdict.meaning for verdict in Verdict},
        "defects": [verdict for verdict in Verdict if verdict.is_defect],
        "checks": CHECKS,
        "scripts": {"case": CASE, "subject": SUBJECT, "options": OPTIONS, "of": OF_KIND},
        "clauses": [[name, *texts.get(name, {"text": "", "source": ""}).values()] for name in clauses],
        "tags": list(tags),
        "types": list(types),
        "groups": packed_groups(groups, _numbered(names)),
        "known": packed_known(faults, _numbered(names)),
        "deviations": deviation_texts(runs),
        "cases": [
            [
                case["case"],
                case["title"],
                case["level"],
                [clauses[name] for name in case["clauses"]],
                [tags[name] for name in case["tags"]],
                *_standing(case["case"], shown),
                case["kind"],
                [types[type] for type in own],
                *_other_levels(case, shown),
            ]
            for case, own in zip(cases, types_of, strict=True)
        ],
    }


def details(runs: Sequence[Results], shown: Sequence[Column], pool: Pool) -> Iterator[dict[str, Any]]:
    """Per case, in the index's order, all that is shown only when the case is opened."""
    explained = [deviations_by_case(run.footer) for run in runs]
    for case in described(runs).values():
        evidence = PackedEvidence(case, pool)
        results = [
            evidence.add(
                column.results.get(case["case"]), explained[column.run].get((column.subject["id"], case["case"]), ())
            )
            for column in shown
        ]
        detail = {
            "model": packed_model(case["model"], pool),
            "data_sets": [packed_data_set(data_set, pool) for data_set in case["data_sets"]],
            "evidence": evidence.distinct,
            "results": results,
        }
        select = shlex.quote(case["case"])
        yield detail | _present(select=None if select == case["case"] else select, rewrite=case.get("rewrite"))


def complaints(runs: Sequence[Results], shown: Sequence[Column], pool: Pool) -> list[list[int | None]]:
    """Per case, in the index's order, the number of what each subject's result says; None of a pass or no result."""
    return [
        [_said(runs[number].described[name], column, pool) for column in shown] for name, number in homes(runs).items()
    ]


def archives(runs: Sequence[Results]) -> Iterator[tuple[int, str]]:
    """The archives that the report carries, by the number of their case in the index."""
    room = MOST_ARCHIVED
    for number, name in enumerate(homes(runs)):
        archive = next((run.archives[name] for run in runs if name in run.archives), None)
        if archive is not None and len(archive) <= room:
            yield number, archive
            room -= len(archive)


def homes(runs: Sequence[Results]) -> dict[str, int]:
    """The cases of all runs by name, each with the first run that has it: results come in no particular order."""
    found: dict[str, int] = {}
    for number, run in enumerate(runs):
        for name in run.described:
            found.setdefault(name, number)
    return dict(sorted(found.items()))


def described(runs: Sequence[Results]) -> Mapping[str, CaseRecord]:
    """The cases of all runs in the order of their names, each read again when it is asked for."""
    return Reread(
        lambda place: runs[place[0]].cases[place[1]], {name: (run, name) for name, run in homes(runs).items()}
    )


def _said(case: CaseRow, column: Column, pool: Pool) -> int | None:
    row = column.rows.get(case["case"])
    if row is None or row["verdict"] == Verdict.PASS:
        return None
    found = failure_kind(case, column.results[case["case"]])
    return None if found is None else pool.add(found.text)


def _numbered(names: Any) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _other_levels(case: CaseRow, shown: Sequence[Column]) -> list[str]:
    """Where a verdict stands at another level than the case: for each subject that level's number, or a dot."""
    results = [column.rows.get(case["case"]) for column in shown]
    levels = [other_level(result, Level(case["level"])) if result else None for result in results]
    return ["".join(_NO_RESULT if level is None else str(level.rank) for level in levels)] if any(levels) else []


def _standing(case: str, shown: Sequence[Column]) -> tuple[str, str]:
    """Each subject's verdict as a digit, and how it stands to what was expected, in the subjects' order."""
    results = [column.rows.get(case) for column in shown]
    verdicts = "".join(_CODES[result["verdict"]] if result else _NO_RESULT for result in results)
    marks = "".join(mark(result) if result else _NO_RESULT for result in results)
    return verdicts, marks
