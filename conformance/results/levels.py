"""Levels of results: the effective level beside that of the case, and the checks that are violated at a level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.clauses import family_titles
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from conformance.results.records import CaseJudgement, CaseRow, ResultRow


def effective_level(result: ResultRow | CaseJudgement, case: Level) -> Level:
    """Return the effective level of a result: the strongest level of its violated checks, else the level of its case.

    A graph optimizer may violate only checks of a weaker level than that of the case; no check has a stronger level.

    Args:
        result: a result; its own level is not read.
        case: the level of its case.
    """
    if result.verdict != Verdict.FAIL or result.phase != "compare":
        return case
    violations = [check.level for check in result.checks if check.violation is not None]
    return Level.strongest(violations) if violations else case


def level_if_different(result: ResultRow, case: Level) -> Level | None:
    """Return the effective level of a result if it differs from the level of its case, else None."""
    level = result.level
    return level if level is not case else None


def level_if_weaker(result: ResultRow, case: Level) -> Level | None:
    """Return the effective level of a result if it is weaker than the level of its case, else None."""
    level = result.level
    return level if case.is_stronger_than(level) else None


def violated_checks(result: ResultRow, fail_level: Level) -> tuple[str, ...]:
    """Return the sorted names of the violated checks whose level is `fail_level` or stronger."""
    violations = (check for check in result.checks if check.violation is not None)
    names = {check.name for check in violations if check.level.is_within(fail_level)}
    return tuple(sorted(names))


def passes_checked_levels(result: ResultRow, fail_level: Level) -> bool:
    """Return whether a failing graph optimizer satisfies all checks of `fail_level` or stronger.

    There must be at least one such check.
    """
    if result.verdict != Verdict.FAIL or result.level.is_within(fail_level):
        return False
    satisfied = (check for check in result.checks if check.is_satisfied)
    return any(check.level.is_within(fail_level) for check in satisfied)


def case_family(case: CaseRow) -> str:
    """Return the name of the operator or pass that a case tests: from its first clause, or else its first tag."""
    named = case.clauses[0].partition(".")[0] if case.clauses else next(iter(case.tags), case.kind)
    return family_titles().get(named, named)
