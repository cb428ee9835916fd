"""Whether draws accuse anybody wrongly: every correct variant and every right rewrite, on draw after draw."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.choice import ARGMAX
from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError, id_of
from conformance.search.job import OPERATORS, PIECE
from conformance.search.judged import Draw, task_of
from conformance.search.rewriting import RewriteTask
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.deviations.rewrites import FaultyRewrite
    from conformance.search.choice import Choice


@dataclass
class Acquittal:
    """What the draws of one seed came to.

    Attributes:
        draws: how many there were.
        unanswered: of how many of them no case could be made.
        accused: by the name of a right implementation the draws that accuse it.
        seconds: of processor time.
    """

    seed: int
    draws: int = 0
    unanswered: int = 0
    accused: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether nobody is accused."""
        return not self.accused

    def lines(self) -> Iterator[str]:
        """What was measured, for people."""
        accusations = sum(map(len, self.accused.values()))
        yield (
            f"{self.draws} draws of seed {self.seed} in {self.seconds:.0f} s of processor time,"
            f" {self.unanswered} without a must answer: {accusations} accusations of right implementations"
        )
        yield from (f"  {name} by {', '.join(draws)}" for name, draws in self.accused.items())


def acquit(
    variants: Sequence[tuple[str, set[str], Any]],
    rewrites: Sequence[tuple[FaultyRewrite, Sequence[str]]],
    seed: int,
    draws: int,
    progress: Callable[[str], None],
) -> Acquittal:
    """Run what is right on so many draws, of which one in three is about the pass.

    Args:
        variants: names, the operators that are computed otherwise, and backends that are right.
        rewrites: graph optimizers that are right, each with the passes that it claims.
        progress: called with the name of each draw when it is done.
    """
    found, started = Acquittal(seed), time.process_time()
    for choice in islice(_choices(seed), draws):
        draw = Draw(choice)
        try:
            accused = list(_accusing(draw, variants, rewrites))
        except NoAnswerError:
            accused = []
        for name in accused:
            found.accused.setdefault(name, []).append(id_of(choice))
        found.draws += 1
        found.unanswered += draw.has_no_answer
        found.seconds = time.process_time() - started
        progress(choice.operator)
    return found


def _choices(seed: int) -> Iterator[Choice]:
    for piece in count():
        yield from choices((*OPERATORS, PASS_NAME, PASS_NAME, PASS_NAME), seed, piece, PIECE)


def _accusing(
    draw: Draw, variants: Sequence[tuple[str, set[str], Any]], rewrites: Sequence[tuple[FaultyRewrite, Sequence[str]]]
) -> Iterator[str]:
    """The names of those whom a draw accuses."""
    present = {draw.choice.operator, *draw.choice.chain}
    yield from (name for name, concerned, backend in variants if concerned & present and draw.is_wrong(backend))
    if draw.choice.operator == ARGMAX:
        task = RewriteTask(task_of(draw.native))
        yield from (right.id for right, passes in rewrites if task.complains(right.optimize, passes, Level.MUST))
