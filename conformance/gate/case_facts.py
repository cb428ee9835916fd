"""The little that a gate and the reports need to know of a case besides its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.corpus.case import CaseKind
from conformance.results.families import family

if TYPE_CHECKING:
    from conformance.results.records import CaseRecord


@dataclass(frozen=True)
class Facts:
    """What a gate needs of a case.

    Attributes:
        family: the operator or pass that the case is about, by its first clause.
        operators: the operators in a valid model's main graph; none of an invalid model, which nobody need support.
        rejection: whether it asks for a rejection, which a subject that can do nothing passes too.
    """

    family: str
    operators: frozenset[str]
    rejection: bool = False


def facts(case: CaseRecord) -> Facts:
    """The facts of a case as a results file tells of it."""
    rejection = case["kind"] == CaseKind.INVALID
    operators = frozenset(node["op_type"] for node in case["model"]["nodes"])
    return Facts(family(case), frozenset() if rejection else operators, rejection)
