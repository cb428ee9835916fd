"""Where a graph optimizer's documented rewrite changed an answer, over all subjects and cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.report.html.data import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.report.html.columns import Column
    from conformance.results.file import Results


def hazards(runs: Sequence[Results], shown: Sequence[Column]) -> list[list[Any]]:
    """[class, subject, case, data set, run, before, after] per change; subject and case as numbers in the index."""
    return [
        [change["class"], number, at, change["data_set"], change["run"], change["before"], change["after"]]
        for at, case in enumerate(described(runs))
        for number, column in enumerate(shown)
        if case["case"] in column.results
        for change in column.results[case["case"]].get("hazards", ())
    ]
