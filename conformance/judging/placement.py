"""Where a runtime ran the nodes of a model, held against the provider or device that they were to run on.

A provider that runs nothing gives right answers all the same where another one, mostly the CPU's, runs what it leaves.
So a case says something of a provider only where every node ran on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.schemas import complaint

if TYPE_CHECKING:
    from conformance.results.records import Placement

_MOVES = {"Cast", "Identity", "MemcpyFromHost", "MemcpyToHost"}
"""Operators that say nothing of a provider: a runtime puts them in between providers, or runs them anywhere."""


def placement_of(prepared: Any) -> Placement | None:
    """What a prepared model says of where its nodes run, in a dict; None where it does not say, or not yet.

    Raises:
        ValueError: what it says is no placement.
    """
    told = getattr(prepared, "placement", None)
    if not isinstance(told, dict):
        return None
    if complaint("protocol", told, "placement"):
        raise ValueError("what it says of where its nodes run is no number of nodes by provider and operator")
    placement: Placement = told
    return placement


def placement_complaint(provider: str, placement: Placement | None) -> str:
    """Why a placement is none on the provider that every node was to run on; empty where it is.

    A node ran elsewhere, none ran there, or nobody knows.
    """
    if placement is None:
        return f"nothing is told of whether its nodes ran on {provider}"
    counted = {place: _counted(operators, is_own=place == provider) for place, operators in placement.items()}
    total = sum(sum(operators.values()) for operators in counted.values())
    elsewhere = [place for place, operators in counted.items() if place != provider and operators]
    if elsewhere:
        return "; ".join(_sentence(place, counted[place], total) for place in sorted(elsewhere))
    return "" if total else f"no node ran on {provider}"


def _counted(operators: dict[str, int], *, is_own: bool) -> dict[str, int]:
    """The nodes that count: on the provider itself all, elsewhere those that do more than to move values."""
    return {name: count for name, count in operators.items() if is_own or name not in _MOVES}


def _sentence(place: str, operators: dict[str, int], total: int) -> str:
    count = sum(operators.values())
    return f"{count} of {total} {'node' if total == 1 else 'nodes'} ran on {place}: {', '.join(sorted(operators))}"
