"""The words a result is told in: levels and verdicts, in the order in which they are shown; and the one refusal."""

from __future__ import annotations

from enum import StrEnum


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
        return self is not Level.SILENT and list(Level).index(self) <= list(Level).index(gate)


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
        return _VERDICTS[self]

    @property
    def is_defect(self) -> bool:
        """Whether the subject did something wrong, as against saying that it cannot, or not being asked."""
        return self in {Verdict.FAIL, Verdict.ERROR, Verdict.CRASH, Verdict.TIMEOUT}

    def is_worse_than(self, other: Verdict) -> bool:
        """Whether a change from the other verdict to this one is a regression."""
        return _BADNESS[self] > _BADNESS[other]


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

_VERDICTS = {
    Verdict.PASS: "ran, and every output is acceptable",
    Verdict.FAIL: "ran, and an output is wrong",
    Verdict.ERROR: "raised an error instead of an answer",
    Verdict.CRASH: "the process died",
    Verdict.TIMEOUT: "did not answer in time",
    Verdict.UNSUPPORTED: "says that it has no such operator, type or opset",
    Verdict.SKIPPED: "was not asked to run",
}

_BADNESS = {
    Verdict.PASS: 0,
    Verdict.UNSUPPORTED: 1,
    Verdict.SKIPPED: 1,
    Verdict.FAIL: 2,
    Verdict.ERROR: 2,
    Verdict.TIMEOUT: 3,
    Verdict.CRASH: 3,
}


VERBS = {
    "pass": ("passes", "pass"),
    "fail": ("fails", "fail"),
    "error": ("ends in an error", "end in an error"),
    "crash": ("crashes", "crash"),
    "timeout": ("takes too long", "take too long"),
    "unsupported": ("is unsupported", "are unsupported"),
    "skipped": ("is skipped", "are skipped"),
}
"""What a case, and what several cases do, by verdict."""
