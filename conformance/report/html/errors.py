"""How large the errors are: each result's largest, and how they are distributed by output and type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from conformance.results.failure_kinds import serial_free

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.results.records import CaseRecord, OutputEvidence, ResultRecord

# Bars of a distribution: no error at all, ten tenths of the bound, and beyond it.
TENTHS = 10
BARS = TENTHS + 2


def largest(result: ResultRecord) -> float | None:
    """A result's largest error as a fraction of the bound, in four digits; None where nothing has a bound."""
    error = max((error for _, error in measured(result)), default=None)
    return None if error is None else float(f"{error:.4g}")


def measured(result: ResultRecord) -> Iterator[tuple[OutputEvidence, float]]:
    """The outputs that were held against a bound, and how much of it their error is."""
    for output in result["outputs"]:
        if "error_over_bound" in output:
            yield output, output["error_over_bound"]


class Distributions:
    """Per output and type how many outputs have an error in each bar's range."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}

    def add(self, case: CaseRecord, result: ResultRecord) -> None:
        """Count a result's outputs."""
        for output, error in measured(result):
            key = serial_free(output["name"]), _type(case, output)
            self._counts.setdefault(key, [0] * BARS)[_bar(error)] += 1

    @property
    def rows(self) -> list[list[Any]]:
        """[output, type, counts], in order."""
        return [[*key, bars] for key, bars in sorted(self._counts.items())]


def _bar(error: float) -> int:
    if not error <= 1:
        return BARS - 1
    return 0 if error == 0 else min(TENTHS, math.floor(error * TENTHS) + 1)


def _type(case: CaseRecord, output: OutputEvidence) -> str:
    for data_set in case["data_sets"][output["data_set"] : output["data_set"] + 1]:
        for wanted in data_set["outputs"]:
            if wanted["name"] == output["name"]:
                return wanted["type"]
    return "unknown type"
