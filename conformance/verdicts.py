"""The words a result is told in: levels and verdicts, in the order in which they are shown; and the one refusal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(StrEnum):
    """How strongly the specification stands behind a case."""

    MUST = "must"
    SHOULD = "should"
    SILENT = "silent"

    @property
    def meaning(self) -> str:
        return _LEVELS[self]

    def within(self, gate: Level) -> bool:
        """Whether a gate at `gate` judges this level: one at `should` judges `must` too, none judges `silent`."""
        return self is not Level.SILENT and self.rank <= gate.rank

    def is_stronger_than(self, other: Level) -> bool:
        """Whether the specification stands more strongly behind this level than behind the other."""
        return self.rank < other.rank

    @staticmethod
    def weakest(levels: Iterable[Level]) -> Level:
        """The level that is left of several which all must hold."""
        return max(levels, key=lambda level: level.rank)

    @staticmethod
    def strongest(levels: Iterable[Level]) -> Level:
        """The level that is left of several of which one is enough."""
        return min(levels, key=lambda level: level.rank)

    @property
    def rank(self) -> int:
        """Its place among the levels, 0 for the strongest."""
        return list(Level).index(self)


class Verdict(StrEnum):
    """What became of one case on one subject."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    ERROR = "error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    UNSUPPORTED = "unsupported"
    SKIPPED = "skipped"

    @property
    def meaning(self) -> str:
        """What it says of the subject, a sentence without its subject."""
        return _VERDICTS[self].meaning

    @property
    def is_defect(self) -> bool:
        """Whether the subject did something wrong, as against saying that it cannot, or not being asked."""
        return _VERDICTS[self].badness >= _WRONG

    @property
    def lacks_answer(self) -> bool:
        """Whether it is a defect because no answer came."""
        return self.is_defect and self is not Verdict.FAIL

    def is_worse_than(self, other: Verdict) -> bool:
        """Whether a change from the other verdict to this one is a regression."""
        return _VERDICTS[self].badness > _VERDICTS[other].badness

    def verb(self, cases: int) -> str:
        """What so many cases do: `fails`, `fail`."""
        return _VERDICTS[self].verbs[cases > 1]


def check_name(*, bound: object | None, choices: object | None) -> str:
    """How an output is checked: an `index` among choices, within a `bound`, or `exact`, bit for bit."""
    if choices is not None:
        return "index"
    return "exact" if bound is None else "bound"


class Unsupported(Exception):
    """A runtime, or the reference, says that it has no such operator, type, opset or shape.

    An adapter raises it at load or at run, and the case is `unsupported`, never `error`.
    """


_LEVELS = {
    Level.MUST: "the specification's text or schema determines the answer",
    Level.SHOULD: "IEEE 754 or plain quality determines the answer",
    Level.SILENT: "the specification leaves the answer open: recorded, never failed",
}

_WRONG = 2
"""From which badness on a verdict is a defect."""


@dataclass(frozen=True)
class _Row:
    """What there is to know of a verdict: its meaning, what one case and several do, and how bad it is."""

    meaning: str
    verbs: tuple[str, str]
    badness: int


_VERDICTS = {
    Verdict.PASS: _Row("ran, and every output is acceptable", ("passes", "pass"), 0),
    Verdict.FAIL: _Row("ran, and an output is wrong", ("fails", "fail"), 2),
    Verdict.ERROR: _Row("raised an error instead of an answer", ("ends in an error", "end in an error"), 2),
    Verdict.CRASH: _Row("the process died", ("crashes", "crash"), 3),
    Verdict.TIMEOUT: _Row("did not answer in time", ("takes too long", "take too long"), 3),
    Verdict.UNSUPPORTED: _Row(
        "says that it has no such operator, type or opset", ("is unsupported", "are unsupported"), 1
    ),
    Verdict.SKIPPED: _Row("was not asked to run", ("is skipped", "are skipped"), 1),
}
