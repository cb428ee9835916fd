"""When two failures look like one: the same verdict in the same phase with the same complaint, numbers aside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.corpus.case import CaseKind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from conformance.results.records import CaseRow, ResultRecord

LONGEST = 200
OF_INVALID = "computed something from a model that is invalid"

# What differs between two failures of one kind: which data set, which element, how many, and every lone number.
_PLACES = (
    re.compile(r" \(and \d+ more(?: outputs?)?\)"),
    re.compile(r" of data set \d+"),
    re.compile(r", first at \[.*", re.DOTALL),
)
_SHAPES = re.compile(r"\bhas shape \[[^\]]*\] instead of \[[^\]]*\]")
_SERIAL = re.compile(r"\b([A-Za-z_]+)\d+(?=_new\b)")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)*(?:[eE][-+]?\d+)?)(?!\w)")


# What differs between two complaints of one check of graph optimizers: of which value, and what was before and after.
_DETAILS = (
    (re.compile(r", which makes [^,]*,?"), ""),
    (re.compile(r": .*", re.DOTALL), ""),
    (re.compile(r" changed from .*", re.DOTALL), " changed"),
    (re.compile(r" takes .* instead of .*", re.DOTALL), " takes other inputs"),
    (re.compile(r" is made by .*", re.DOTALL), " is made by another operator"),
    (re.compile(r" (?:is|has) .* instead of .*", re.DOTALL), " is another"),
    (re.compile(r" on data set .*", re.DOTALL), ""),
)


@dataclass(frozen=True)
class FailureKind:
    """What failures of one kind have in common."""

    verdict: str
    phase: str | None
    text: str


def failure_kind(case: CaseRow, result: ResultRecord) -> FailureKind | None:
    """The signature of a result; None of a pass."""
    if result["verdict"] == Verdict.PASS:
        return None
    return FailureKind(result["verdict"], result["phase"], _text(case, result))


def serial_free(name: str) -> str:
    """An output's name without the number that tells several tensors of one operator apart: X1_new is an X_new."""
    return _SERIAL.sub(r"\1", name)


def normalized(message: str) -> str:
    """The first line of a message without what differs between two failures of one kind."""
    lines = message.strip().splitlines()
    text = lines[0] if lines else ""
    for place in _PLACES:
        text = place.sub("", text)
    text = _SHAPES.sub("has another shape", text)
    return _NUMBER.sub("N", serial_free(text))[:LONGEST]


def undetailed(complaint: str) -> str:
    """What a check of graph optimizers complains of, without the details in which its complaints differ."""
    for detail, instead in _DETAILS:
        complaint = detail.sub(instead, complaint)
    return normalized(complaint)


def _text(case: CaseRow, result: ResultRecord) -> str:
    if case["kind"] == CaseKind.INVALID and result["verdict"] == Verdict.FAIL:
        return OF_INVALID
    return normalized(_complaint(result))


def _complaint(result: ResultRecord) -> str:
    """The message, or where there is none the first complaint about an output or a rewritten model."""
    if result["message"]:
        return result["message"]
    of_outputs = (f"{output['name']} {output['complaint']}" for output in result["outputs"] if "complaint" in output)
    of_checks = (f"{check['name']}: {check['complaint']}" for check in result.get("checks", ()) if "complaint" in check)
    return next(of_outputs, next(of_checks, ""))
