"""Continuing a run that was cut off: what it had written, and whether today's run would have written the same.

A run writes `results.jsonl.partial` and gives it its name with the footer, so that a run which is killed or abandoned
leaves the results of an earlier one alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import ResultsError, UsageError
from conformance.results.file import record_of
from conformance.results.lines import Lines
from conformance.results.reread import Reread
from conformance.run.partial import PARTIAL, partial_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from conformance.results.file import Key
    from conformance.results.records import Footer, Header, ResultRecord

DONE = "onnx_conformance_done"
"""Under which key of xdist's `workerinput` the finished subjects and cases are."""

_ALIKE = ("format", "suite", "subjects", "environment", "selection")
"""What two headers must agree on, besides the corpus's digest."""


@dataclass(frozen=True)
class Begun:
    """What a run had written when it was cut off.

    Attributes:
        target: the results file that it was to become.
        source: the file that has it.
        size: bytes of its whole records, but for a footer.
        header: its first record.
        results: its result records by subject and case, each read again when it is asked for.
        cases: the ids of the cases that it describes.
        archives: the ids of the cases whose files it carries.
    """

    target: Path
    source: Path
    size: int
    header: Header
    results: Mapping[Key, ResultRecord]
    cases: frozenset[str]
    archives: frozenset[str]

    @property
    def done(self) -> frozenset[Key]:
        """The subjects and cases that have a result."""
        return frozenset(self.results)


def begun_run(path: Path) -> Begun:
    """Read the results of a run that was cut off, by the name they were to have or have so far.

    Raises:
        ResultsError: there are none, or it was not cut off.
    """
    target = path.with_name(path.name.removesuffix(PARTIAL))
    source = partial_of(target) if partial_of(target).is_file() else target
    lines, size = Lines(source), 0
    header: Header | None = None
    found: dict[str, dict[Any, int]] = {"result": {}, "case": {}, "archive": {}}
    for number, line in enumerate(lines):
        if not line.endswith(b"\n"):
            break
        record = record_of(lines, number, line)
        kind = record["record"]
        if (kind == "header") != (number == 0):
            raise ResultsError(f"{source} does not begin with its one header.", "Run it again without --resume.")
        if kind == "footer":
            _refuse_whole(source, record)
            break
        header, size = header or record, size + len(line)
        if kind != "header":
            key = (record["subject"], record["case"]) if kind == "result" else record["case"]
            if kind == "result" and key in found[kind]:
                raise ResultsError(f"{source} has two results of one case.", "Run it again without --resume.")
            found[kind][key] = number
    if header is None:
        raise ResultsError(f"{source} does not begin with a header.", "Run it again without --resume.")
    results = Reread(lambda number: record_of(lines, number, lines[number]), found["result"])
    return Begun(target, source, size, header, results, frozenset(found["case"]), frozenset(found["archive"]))


def check_begun(begun: Begun, header: Mapping[str, Any]) -> None:
    """Make sure that a run's header would be that of the run which it continues.

    Raises:
        UsageError: it would not.
    """
    if begun.header["corpus"]["digest"] != header["corpus"]["digest"]:
        raise not_alike(begun, "its corpus")
    if _profile(begun.header) != _profile(header):
        raise not_alike(begun, "its profile (see --profile)")
    begun_header: Mapping[str, Any] = begun.header
    for name in _ALIKE:
        if begun_header[name] != header[name]:
            raise not_alike(begun, f"its {name}: {_told(begun_header[name])} instead of {_told(header[name])}")
    before, now = begun_header.get("rules", {}), header["rules"]
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


def _refuse_whole(source: Path, footer: Footer) -> None:
    if not footer.get("interrupted"):
        raise ResultsError(f"{source} is whole: there is nothing to continue.", "Run it again without --resume.")


def _told(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "…"
