"""The evidence of a case's results, packed: what several subjects have in common is said once, defaults not at all.

With twenty subjects the evidence is most of the document. What is left out is what nobody looks at: the values of an
accepted output (except where the specification leaves the answer open, and comparing them is the point) and digits
of an error beyond the fourth.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from conformance.report.html.pool import packed_tensor
from conformance.results.failure_kinds import failure_kind
from conformance.results.levels import other_level
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.report.html.pool import Pool
    from conformance.results.records import CaseRecord, OutputEvidence, ResultRecord


class PackedEvidence:
    """The distinct evidence of one case's results, in the order in which it came."""

    def __init__(self, case: CaseRecord, pool: Pool) -> None:
        self._case = case
        self._pool = pool
        self._numbers: dict[str, int] = {}

    @property
    def distinct(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self._numbers]

    def add(self, result: ResultRecord | None, deviations: Sequence[str] = ()) -> list[float] | None:
        """The number of the result's evidence and the time it took, in seconds; None of no result.

        Args:
            deviations: the ids of those that explain it; a result of format 1 has them itself.
        """
        if result is None:
            return None
        told = {
            "phase": result["phase"],
            "message": result["message"],
            "expected": result["expected"],
            "outputs": [self._output(output) for output in result["outputs"]],
            "signature": self._signature(result),
            "stderr": result.get("stderr"),
            "deviations": list(deviations) or result.get("agrees_with"),
            "repeats": result.get("repeats"),
            "baseline": result.get("baseline"),
            "level": other_level(result, Level(self._case["level"])),
            "checks": self._checks(result),
            "quality": [[name, each["within"], each["elements"]] for name, each in result.get("quality", {}).items()],
            "hazards": [
                [change[key] for key in ("class", "data_set", "run", "before", "after")]
                for change in result.get("hazards", ())
            ],
        }
        text = json.dumps({key: value for key, value in told.items() if value not in (None, "", [])})
        return [self._numbers.setdefault(text, len(self._numbers)), round(result["seconds"], 6)]

    def _signature(self, result: ResultRecord) -> int | None:
        """The number of the complaint that results of one verdict and phase have in common."""
        found = failure_kind(self._case, result)
        return None if found is None else self._pool.add(found.text)

    def _checks(self, result: ResultRecord) -> int | None:
        checks = result.get("checks")
        rows = [
            [check["name"], check.get("run", ""), check.get("complaint"), check.get("level")] for check in checks or ()
        ]
        return self._pool.add(rows) if rows else None

    def _output(self, output: OutputEvidence) -> list[Any]:
        """A row: data set, place among its outputs, max ULP, error over bound, where that is, and anything else."""
        place, wanted = self._wanted(output)
        more: dict[str, Any] = {key: output[key] for key in ("complaint", "first_bad", "wrong") if output.get(key)}
        if wanted is None or wanted["check"] != output["check"]:
            more |= {"name": output["name"], "check": output["check"]}
        if "actual" in output and (more or self._case["level"] == Level.SILENT):
            more["actual"] = "expected" if _alike(output["actual"], wanted) else packed_tensor(output["actual"])
        errors = [_short(output.get("max_ulp")), _short(output.get("error_over_bound")), output.get("worst_index")]
        row = [output["data_set"], place, *errors, more or None]
        while row[-1] is None:
            row.pop()
        return row

    def _wanted(self, output: OutputEvidence) -> tuple[int | None, Mapping[str, Any] | None]:
        """The expected output that the evidence is on, and its place in its data set."""
        for data_set in self._case["data_sets"][output["data_set"] : output["data_set"] + 1]:
            for place, wanted in enumerate(data_set["outputs"]):
                if wanted["name"] == output["name"]:
                    return place, wanted
        return None, None


def _alike(actual: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether what is shown of two tensors is the same."""
    return wanted is not None and all(actual.get(key) == wanted.get(key) for key in ("type", "shape", "values", "hex"))


def _short(error: float | None) -> float | None:
    return None if error is None else float(f"{error:.4g}")
