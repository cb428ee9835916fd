"""Why a gate is shut, in sentences: surprises of one kind are one sentence, whatever the order of the results."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto
from typing import TYPE_CHECKING

from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_REASONS = 50
"""How many kinds of surprises are told; the rest is counted."""


class SurpriseKind(IntEnum):
    """In which way a result is a surprise, in the order in which reasons are told."""

    VARIES = auto()
    REQUIRED = auto()
    REGRESSED = auto()
    UNEXPECTED = auto()
    PASSES = auto()
    DIFFERS = auto()
    COMPLAINS = auto()


@dataclass(frozen=True, order=True)
class Surprise:
    """What several surprising results have in common.

    Attributes:
        family: the operator or pass.
        verdict: what became of them.
        place: the line of the expectations file that says otherwise, or nothing.
        was: what that line expects, the checks that it does not name, what the baseline has, or nothing.
    """

    kind: SurpriseKind
    subject: str
    family: str
    verdict: str
    place: str = ""
    was: str = ""


def reasons(surprises: Mapping[Surprise, Sequence[str]]) -> list[str]:
    """A sentence for each kind of surprise, in a fixed order.

    Args:
        surprises: the cases of each.
    """
    told = [_sentence(surprise, sorted(surprises[surprise])) for surprise in sorted(surprises)]
    more = len(told) - MOST_REASONS
    return [*told[:MOST_REASONS], f"and {more} more reasons"] if more > 0 else told


def _sentence(surprise: Surprise, cases: Sequence[str]) -> str:
    verb = Verdict(surprise.verdict).verb(len(cases))
    which, first = _named(surprise.family, cases)
    on = f"on {surprise.subject}"
    match surprise.kind:
        case SurpriseKind.VARIES:
            return f"{which} {'vary' if len(cases) > 1 else 'varies'} from run to run {on}{first}"
        case SurpriseKind.REQUIRED:
            return f"{which} {verb} {on} though the operator is required{first}"
        case SurpriseKind.REGRESSED:
            return f"{which} {verb} {on}, in the baseline {surprise.was}{first}"
        case SurpriseKind.UNEXPECTED:
            return f"{which} {verb} {on}{first}"
        case SurpriseKind.PASSES:
            them = "them" if len(cases) > 1 else "it"
            return f"{surprise.place}: {which} {verb} {on}, {surprise.was} expected: take {them} out{first}"
        case SurpriseKind.DIFFERS:
            return f"{surprise.place}: {which} {verb} {on}, {surprise.was} expected: change the verdict{first}"
        case SurpriseKind.COMPLAINS:
            return f"{surprise.place}: {which} {verb} {on} by {surprise.was} too: say why in an entry of its own{first}"


def _named(family: str, cases: Sequence[str]) -> tuple[str, str]:
    """One case by its name; several by their number and operator, and the first by its name at the end."""
    return (cases[0], "") if len(cases) == 1 else (f"{len(cases)} cases of {family}", f" (first {cases[0]})")
