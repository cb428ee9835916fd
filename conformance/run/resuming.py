"""Continuing a run that was cut off: what it had written, and whether today's run would have written the same.

A run writes `results.jsonl.partial` and gives it its name with the footer, so that a run which is killed or abandoned
leaves the results of an earlier one alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import ResultsError, UsageError
from conformance.results.file import LARGEST_FILE
from conformance.run.partial import PARTIAL, partial_of
from conformance.schemas import complaint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DONE = "onnx_conformance_done"
"""Under which key of xdist's `workerinput` the finished subjects and cases are."""

_ALIKE = ("format", "suite", "subjects", "environment", "selection")
"""What two headers must agree on, besides the corpus's digest."""


@dataclass(frozen=True)
class Begun:
    """What a run had written when it was cut off.

    Attributes:
        target: the results file that it was to become.
        header: its first record.
        results: its result records.
        cases: the ids of the cases that it describes.
        archives: the ids of the cases whose files it carries.
        content: its whole lines but for a footer, as bytes.
    """

    target: Path
    header: Mapping[str, Any]
    results: tuple[dict[str, Any], ...]
    cases: frozenset[str]
    archives: frozenset[str]
    content: bytes

    @property
    def done(self) -> frozenset[tuple[str, str]]:
        """The subjects and cases that have a result."""
        return frozenset((result["subject"], result["case"]) for result in self.results)


def begun_run(path: Path) -> Begun:
    """Read the results of a run that was cut off, by the name they were to have or have so far.

    Raises:
        ResultsError: there are none, or it was not cut off.
    """
    target = path.with_name(path.name.removesuffix(PARTIAL))
    source = partial_of(target) if partial_of(target).is_file() else target
    if not source.is_file():
        raise ResultsError(f"{path} is not a file.", "Give the results file of a run that was cut off.")
    if source.stat().st_size > LARGEST_FILE:
        raise ResultsError(f"{source} is larger than {LARGEST_FILE} bytes.", "Run it again, split with -k.")
    lines = source.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    records = list(_records(source, lines))
    if not records or records[0]["record"] != "header":
        raise ResultsError(f"{source} does not begin with a header.", "Run it again without --resume.")
    if records[-1]["record"] == "footer":
        _refuse_whole(source, records.pop())
        lines.pop()
    results = tuple(record for record in records if record["record"] == "result")
    cases = frozenset(record["case"] for record in records if record["record"] == "case")
    archives = frozenset(record["case"] for record in records if record["record"] == "archive")
    begun = Begun(target, records[0], results, cases, archives, b"".join(lines))
    if len(begun.done) != len(results):
        raise ResultsError(f"{source} has two results of one case.", "Run it again without --resume.")
    return begun


def check_begun(begun: Begun, header: Mapping[str, Any]) -> None:
    """Make sure that a run's header would be that of the run which it continues.

    Raises:
        UsageError: it would not.
    """
    if begun.header["corpus"]["digest"] != header["corpus"]["digest"]:
        raise not_alike(begun, "its corpus")
    if _profile(begun.header) != _profile(header):
        raise not_alike(begun, "its profile (see --profile)")
    for name in _ALIKE:
        if begun.header[name] != header[name]:
            raise not_alike(begun, f"its {name}: {_told(begun.header[name])} instead of {_told(header[name])}")
    before, now = begun.header.get("rules", {}), header["rules"]
    for name in ("level", "require", "baseline"):
        if before.get(name) != now.get(name):
            raise not_alike(begun, f"its {name}: {_told(before.get(name))} instead of {_told(now.get(name))}")


def _profile(header: Mapping[str, Any]) -> Any:
    return header.get("rules", {}).get("profile")


def not_alike(begun: Begun, what: str) -> UsageError:
    """The error where a run is not the one that it was to continue."""
    return UsageError(
        f"{begun.target} is of another run, by {what}.",
        "Continue it with the options it was begun with, or run it anew without --resume.",
    )


def done_before(workerinput: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """The finished subjects and cases that a worker of xdist was told; none in any other process."""
    return frozenset((subject, case) for subject, case in workerinput.get(DONE, ()))


def _records(source: Path, lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise ResultsError(
                f"{source} is not a results file: line {number} is not JSON.", "Run it again without --resume."
            ) from None
        if problem := complaint("results", record):
            raise ResultsError(
                f"{source} is not a results file: line {number}: {problem}.", "Run it again without --resume."
            )
        yield record


def _refuse_whole(source: Path, footer: Mapping[str, Any]) -> None:
    if not footer.get("interrupted"):
        raise ResultsError(f"{source} is whole: there is nothing to continue.", "Run it again without --resume.")


def _told(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "…"
