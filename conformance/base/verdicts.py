"""Levels and verdicts, and the exception for unsupported models.

A level states how strongly the specification requires a result. A verdict states what a subject did with a case.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(StrEnum):
    """The support of the specification for the expected result of a case; the strongest level comes first."""

    MUST = "must"
    SHOULD = "should"
    SILENT = "silent"

    @property
    def meaning(self) -> str:
        """The meaning of the level in one phrase."""
        return _LEVEL_MEANINGS[self]

    def is_within(self, fail_level: Level) -> bool:
        """Return whether a case of this level can fail a run; `should` includes `must`, and `silent` never fails."""
        return self is not Level.SILENT and self.rank <= fail_level.rank

    def is_stronger_than(self, other: Level) -> bool:
        """Return whether this level is a stronger requirement than the other."""
        return self.rank < other.rank

    @staticmethod
    def weakest(levels: Iterable[Level]) -> Level:
        """Return the weakest of several levels: the level of a conclusion that needs all of several requirements."""
        return max(levels, key=lambda level: level.rank)

    @staticmethod
    def strongest(levels: Iterable[Level]) -> Level:
        """Return the strongest of several levels: the level of a failure that violates several requirements."""
        return min(levels, key=lambda level: level.rank)

    @property
    def rank(self) -> int:
        """Position among the levels, 0 for the strongest."""
        return _RANKS[self]


class RewriteEffect(StrEnum):
    """The effect of a rewrite on the outputs of a model; the strongest effect comes last."""

    BITS = "bits"
    """If each node rounds its exact result once, the outputs have the same bits as before."""
    INTERVAL = "interval"
    """The outputs are admissible for the model before the rewrite."""
    HAZARD = "hazard"
    """The outputs are admissible for ordinary numbers only."""
    FAULT = "fault"
    """The outputs are not admissible."""


class Verdict(StrEnum):
    """The verdict of one case on one subject."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    ERROR = "error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"

    @property
    def meaning(self) -> str:
        """The behaviour of the subject, as a verb phrase."""
        return _VERDICTS[self].meaning

    @property
    def is_defect(self) -> bool:
        """Whether the verdict shows a fault of the subject; `pass`, `unsupported` and `skipped` do not."""
        return _VERDICTS[self].severity >= _MIN_DEFECT_SEVERITY

    @property
    def lacks_answer(self) -> bool:
        """Whether the verdict is a defect in which the subject returned no outputs, such as `crash`."""
        return self.is_defect and self is not Verdict.FAIL

    def is_worse_than(self, other: Verdict) -> bool:
        """Return whether a change from the other verdict to this verdict is a regression."""
        return _VERDICTS[self].severity > _VERDICTS[other].severity

    def verb(self, cases: int) -> str:
        """Return the verb for a number of cases: `fails` for 1, else `fail`."""
        return _VERDICTS[self].verbs[cases > 1]


CheckKind = Literal["exact", "bound", "index"]
"""The check of an output: equal bits, distance from the expected value, or acceptable indices."""

Phase = Literal["start", "load", "run", "optimize", "compare"]
"""A phase of a case."""

OptimizerRunName = Literal["once", "fixed_point"]
"""A run of a graph optimizer on a case."""


def check_name(*, bound: object | None, choices: object | None) -> CheckKind:
    """Return the kind of check of an output: `index`, `bound` or `exact`.

    Args:
        bound: the bounds of the elements, or None.
        choices: the acceptable indices, or None.
    """
    if choices is not None:
        return "index"
    return "exact" if bound is None else "bound"


class Unsupported(Exception):
    """The runtime or the reference does not support an operator, type, opset or shape.

    An adapter raises it when it loads or runs a model. The verdict is then `unsupported` and not `error`.
    """


_RANKS = {level: rank for rank, level in enumerate(Level)}

_LEVEL_MEANINGS = {
    Level.MUST: "the specification's text or schema determines the answer",
    Level.SHOULD: "IEEE 754 or plain quality determines the answer",
    Level.SILENT: "the specification leaves the answer open: recorded, never failed",
}

_MIN_DEFECT_SEVERITY = 2
"""Least severity of a defect."""


@dataclass(frozen=True)
class _VerdictInfo:
    """Properties of a verdict.

    Attributes:
        meaning: the behaviour of the subject, as a verb phrase.
        verbs: verb for one case and for several cases: `fails`, `fail`.
        severity: rank of the verdict; a larger number is a worse verdict.
    """

    meaning: str
    verbs: tuple[str, str]
    severity: int


_VERDICTS = {
    Verdict.PASS: _VerdictInfo("ran, and every output is acceptable", ("passes", "pass"), 0),
    Verdict.FAIL: _VerdictInfo("ran, and an output is wrong", ("fails", "fail"), 2),
    Verdict.ERROR: _VerdictInfo("raised an error instead of an answer", ("ends in an error", "end in an error"), 2),
    Verdict.CRASH: _VerdictInfo("the process died", ("crashes", "crash"), 3),
    Verdict.TIMEOUT: _VerdictInfo("did not answer in time", ("takes too long", "take too long"), 3),
    Verdict.UNSUPPORTED: _VerdictInfo(
        "does not support an operator, type or opset", ("is unsupported", "are unsupported"), 1
    ),
    Verdict.SKIPPED: _VerdictInfo("was not run, or its outputs were not judged", ("is skipped", "are skipped"), 1),
}
