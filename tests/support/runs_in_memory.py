"""Runs without a results file, and reports as one text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.results.file import LazyRecords, Results, result_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


def make_run(path: str, header: Any, cases: Iterable[Any], results: Iterable[Any], footer: Any) -> Results:
    """Return a run with these records, which may be incomplete."""
    return with_records(Results(path, header, {}, {}, {}, {}, footer), cases, results)


def plain_case(name: str, clause: str = "adam.x_new") -> Any:
    """Return the record of a case without nodes and data, as far as failure groups need it."""
    return {
        "record": "case",
        "case": name,
        "kind": "node",
        "level": "must",
        "clauses": [clause],
        "tags": [],
        "model": {"nodes": []},
        "data_sets": [],
    }


def plain_result(subject: str, case: str, verdict: str, **more: Any) -> Any:
    """Return the record of a result at level must without evidence."""
    result = {"subject": subject, "case": case, "level": "must", "verdict": verdict, "phase": None, "message": verdict}
    return {**result, "seconds": 0.0, "outputs": [], "expected": None, "unexpected": verdict != "pass", **more}


def with_records(run: Results, cases: Iterable[Any], results: Iterable[Any], **news: Any) -> Results:
    """Return a run with other records."""
    by_case = {case["case"]: case for case in cases}
    by_key = {(result["subject"], result["case"]): result for result in results}
    return replace(run, rows=LazyRecords(result_row, by_key), results=by_key, case_rows=by_case, cases=by_case, **news)


def with_results(run: Results, results: Iterable[Any], **news: Any) -> Results:
    """Return a run with other results of its cases."""
    return with_records(run, run.cases.values(), results, **news)


def list_results(run: Results) -> list[Any]:
    """Return the results of a run in their order."""
    return list(run.results.values())


def text_renderer(render: Callable[[Sequence[Results]], Iterator[str]]) -> Callable[[Sequence[Results]], str]:
    """Return a function that renders a report as one text."""
    return lambda runs: "".join(render(runs))
