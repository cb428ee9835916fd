"""At which level a verdict stands: its case's, but for a failure that rests on weaker checks alone; and on which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.results.records import ResultRow


def standing_level(result: Mapping[str, Any], case: Level) -> Level:
    """The level at which a result's verdict stands.

    A graph optimizer that fails by complaints of its checks alone fails at the strongest of their levels. A complaint's
    level is never stronger than the case's; where it is not told, as in format 1, it is the case's.

    Args:
        result: a result record, with or without its own level.
        case: the level of its case.
    """
    if result["verdict"] != Verdict.FAIL or result["phase"] != "compare":
        return case
    complaints = [Level(check.get("level", case)) for check in result.get("checks", ()) if "complaint" in check]
    return Level.strongest(complaints) if complaints else case


def other_level(result: ResultRow, case: Level) -> Level | None:
    """The level at which a result's verdict stands, where that is another than its case's; otherwise None."""
    level = Level(result["level"])
    return level if level is not case else None


def weaker_level(result: ResultRow, case: Level) -> Level | None:
    """The level at which a result's verdict stands, where that is weaker than its case's; otherwise None."""
    level = Level(result["level"])
    return level if case.is_stronger_than(level) else None


def complaining_checks(result: Mapping[str, Any], gate: Level) -> tuple[str, ...]:
    """The names of the checks that complain at a level that a gate judges, each once."""
    complaints = (check for check in result.get("checks", ()) if "complaint" in check)
    names = {check["name"] for check in complaints if Level(check.get("level", result["level"])).within(gate)}
    return tuple(sorted(names))
