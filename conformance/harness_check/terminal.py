"""What `harness check` prints: a line for each fact, and what was sent, came and is to do where it does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from conformance.boundary.text import visible
from conformance.harness_check.fact import FactOutcome, State

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARKS = {State.HOLDS: ("✓", "green"), State.FAILS: ("✗", "bold red"), State.SKIPPED: ("-", "yellow")}


def print_outcome(outcome: FactOutcome) -> None:
    """Print a fact and what came of it."""
    mark, style = _MARKS[outcome.state]
    console = _console()
    console.print(Text.assemble((mark, style), f" {visible(outcome.text)}"), soft_wrap=True)
    if outcome.state is State.SKIPPED:
        console.print(Text(f"    skipped: {visible(outcome.why)}", "dim"), soft_wrap=True)
    elif outcome.state is State.FAILS:
        for name, text in (("but", outcome.why), ("sent", outcome.sent), ("came", outcome.came), ("do", outcome.mend)):
            if text:
                console.print(Text(f"    {name:4}  {visible(text)}"), soft_wrap=True)


def print_total(counts: Mapping[State, int]) -> None:
    """Print how many facts hold, and how many do not."""
    skipped = f", {counts[State.SKIPPED]} skipped" if counts[State.SKIPPED] else ""
    keeps = "does not keep" if counts[State.FAILS] else "keeps"
    holding = f"{counts[State.HOLDS]} facts hold, {counts[State.FAILS]} do not{skipped}"
    _console().print(
        f"The harness {keeps} to the protocol: {holding}.",
        markup=False,
        soft_wrap=True,
    )


def _console() -> Console:
    return Console(highlight=False, emoji=False)
