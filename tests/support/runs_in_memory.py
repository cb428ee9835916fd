"""Results that were never in a file, and reports in one piece, for tests of what is made of results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.results.file import Results, result_row
from conformance.results.reread import Reread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


def run_of(path: str, header: Any, cases: Iterable[Any], results: Iterable[Any], footer: Any) -> Results:
    """A run as if it had been read; its records need not be whole."""
    return with_records(Results(path, header, {}, {}, {}, {}, footer), cases, results)


def with_records(run: Results, cases: Iterable[Any], results: Iterable[Any], **news: Any) -> Results:
    """A run with other records."""
    by_case = {case["case"]: case for case in cases}
    by_key = {(result["subject"], result["case"]): result for result in results}
    return replace(run, rows=Reread(result_row, by_key), results=by_key, described=by_case, cases=by_case, **news)


def with_results(run: Results, results: Iterable[Any], **news: Any) -> Results:
    """A run with other results on its cases."""
    return with_records(run, run.cases.values(), results, **news)


def results_of(run: Results) -> list[Any]:
    """The results of a run in their order."""
    return list(run.results.values())


def whole(render: Callable[[Sequence[Results]], Iterator[str]]) -> Callable[[Sequence[Results]], str]:
    """A format's reports in one piece."""
    return lambda runs: "".join(render(runs))
