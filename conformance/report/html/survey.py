"""What the report says of all results together: one reading of them, case by case, for all pages that need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.report.html.data import described
from conformance.report.html.errors import largest
from conformance.report.html.profiles import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.report.html.columns import Column
    from conformance.results.file import Results


@dataclass(frozen=True)
class Survey:
    """What all results say.

    Attributes:
        errors: per case, in the index's order, each subject's largest error as a fraction of the bound.
        hazards: where a documented rewrite changed an answer: [class, subject, case, data set, run, before, after],
            subject and case as numbers in the index.
        profiles: what each subject's own page shows, in the columns' order.
    """

    errors: list[list[float | None]]
    hazards: list[list[Any]]
    profiles: list[dict[str, Any]]


def surveyed(runs: Sequence[Results], shown: Sequence[Column]) -> Survey:
    """Read all results once."""
    errors: list[list[float | None]] = []
    hazards: list[list[Any]] = []
    profiles = [Profile() for _ in shown]
    for at, case in enumerate(described(runs).values()):
        errors.append([None] * len(shown))
        for number, column in enumerate(shown):
            if (result := column.results.get(case["case"])) is None:
                continue
            errors[at][number] = largest(result)
            hazards += [
                [change["class"], number, at, change["data_set"], change["run"], change["before"], change["after"]]
                for change in result.get("hazards", ())
            ]
            profiles[number].add(at, case, result)
    packed = [profile.packed(column, runs) for profile, column in zip(profiles, shown, strict=True)]
    return Survey(errors, hazards, packed)
