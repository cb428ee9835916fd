"""The way in which a result is unexpected, as far as its own row shows it.

The pass criterion of a run adds what only the whole run shows, such as the supports of a subject. Readers of results
files compare the mark `unexpected` of each row with this module.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING

from conformance.base.verdicts import Level, Verdict

if TYPE_CHECKING:
    from conformance.run.results.records import ResultRow


class UnexpectedKind(IntEnum):
    """The way in which a result is unexpected; reasons for a failed run are printed in this order."""

    VARIES = auto()
    REQUIRED = auto()
    REGRESSED = auto()
    UNEXPECTED = auto()
    PASSES = auto()
    DIFFERS = auto()
    VIOLATES = auto()
    OTHER_CAUSE = auto()


def unexpected_kind(result: ResultRow, fail_level: Level) -> UnexpectedKind | None:
    """Return the way in which a result of `fail_level` or stronger is unexpected, or None if it is expected.

    Args:
        result: a result with its level, and with its expectation and its baseline verdict if they exist.
        fail_level: weakest level of results that can fail the run.
    """
    if result.varies:
        return UnexpectedKind.VARIES
    kind = _difference(result, fail_level)
    if kind is None or result.baseline is None:
        return kind
    return UnexpectedKind.REGRESSED if is_worse_than_baseline(result) else None


def _difference(result: ResultRow, fail_level: Level) -> UnexpectedKind | None:
    """Return the way in which a result differs from its expectation, or None if it does not."""
    expected = result.expected
    verdict = result.verdict
    if expected is None:
        return UnexpectedKind.UNEXPECTED if verdict.is_defect else None
    if verdict == expected.verdict:
        if expected.has_other_cause:
            return UnexpectedKind.OTHER_CAUSE
        return UnexpectedKind.VIOLATES if unnamed_checks(result, fail_level) else None
    if verdict is Verdict.PASS:
        return None if expected.intermittent else UnexpectedKind.PASSES
    return UnexpectedKind.DIFFERS


def unnamed_checks(result: ResultRow, fail_level: Level) -> list[str]:
    """Return the checks that a graph optimizer violates and that the expectation of the result does not list."""
    named = result.expected.checks if result.expected else []
    return [name for name in result.violated_checks(fail_level) if named and name not in named]


def is_worse_than_baseline(result: ResultRow) -> bool:
    """Return whether a result is a regression: its verdict is worse than the baseline, or its level is stronger."""
    if result.baseline is None:
        return False
    weaker = result.baseline_level or Level.MUST
    is_stronger = result.verdict.is_defect and result.level.is_stronger_than(weaker)
    return is_stronger or result.verdict.is_worse_than(result.baseline)


def contradicts_mark(result: ResultRow, fail_level: Level) -> bool:
    """Return whether the mark `unexpected` of a result contradicts its verdict, its expectation and its baseline.

    An unsupported result is unexpected also if the run requires its operator, which its row does not show.
    """
    is_unexpected = result.level.is_within(fail_level) and unexpected_kind(result, fail_level) is not None
    may_be_required = result.verdict is Verdict.UNSUPPORTED and result.level.is_within(fail_level)
    return result.unexpected is not is_unexpected and not (result.unexpected and may_be_required)
