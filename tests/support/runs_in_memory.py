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
