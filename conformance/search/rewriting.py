"""How good the search is at the pass, the corpus withheld: which faulty rewrites draws notice."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from conformance.judging.optimizer import judge_rewrite
from conformance.judging.ours import Ours
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError
from conformance.search.job import PIECE
from conformance.search.judged import Draw, task_of
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.deviations.rewrites import FaultyRewrite
    from conformance.judging.optimizer import Task


AT_LEAST = (98, 101)
"""Of so many faulty rewrites so many are to be noticed."""


@dataclass
class RewriteTask:
    """A draw as graph optimizers are judged on it."""

    task: Task

    @cached_property
    def ours(self) -> Ours:
        """What the suite's own implementation makes of the model."""
        return Ours(self.task.model)

    def complains(self, optimize: Callable[..., Any], passes: Sequence[str], level: Level) -> bool:
        """Whether a graph optimizer is told to be wrong, at this level or a stronger one."""
        if self.ours.is_made_by(optimize):
            return False
        outcome = judge_rewrite(optimize, passes, self.task)
        levels = [Level(check["level"]) for check in outcome.checks if "complaint" in check]
        strongest = min(levels, key=lambda each: each.rank, default=self.task.level)
        return outcome.verdict.is_defect and strongest.rank <= level.rank


@dataclass
class RewriteSearch:
    """What the draws of one seed came to.

    Attributes:
        noticed: by the id of a faulty rewrite, after how many draws it was noticed.
        missed: what those do that were not, by id.
        draws: how many there were.
        seconds: of processor time.
    """

    seed: int
    noticed: dict[str, int] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    draws: int = 0
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no more are missed than may be: `AT_LEAST` of a hundred and one."""
        every = len(self.noticed) + len(self.missed)
        return len(self.noticed) * AT_LEAST[1] >= every * AT_LEAST[0]

    def lines(self) -> Iterator[str]:
        """What was measured, for people."""
        every = len(self.noticed) + len(self.missed)
        yield f"{self.draws} draws of seed {self.seed} about the pass in {self.seconds:.0f} s of processor time"
        yield f"{len(self.noticed)} of {every} faulty rewrites are noticed"
        yield from (f"  missed: {id}: {text}" for id, text in self.missed.items())


def measure_rewrites_drawn(
    faults: Sequence[FaultyRewrite], seed: int, seconds: float, progress: Callable[[str], None]
) -> RewriteSearch:
    """Run every faulty rewrite that is not noticed yet on every draw of a stream, for so much processor time.

    Args:
        progress: called with the id of each when it is noticed.
    """
    found, left, started = RewriteSearch(seed), list(faults), time.process_time()
    for number, task in tasks(seed):
        for fault in list(left):
            if task.complains(fault.optimize, (PASS_NAME,), fault.level):
                left.remove(fault)
                found.noticed[fault.id] = number
                progress(fault.id)
        found.draws, found.seconds = number, time.process_time() - started
        if not left or found.seconds > seconds:
            break
    found.missed = {fault.id: fault.text for fault in left}
    return found


def tasks(seed: int) -> Iterator[tuple[int, RewriteTask]]:
    """The draws about the pass, each with its number; what nobody can be judged by is left out."""
    numbers = count(1)
    for piece in count():
        for choice in choices((PASS_NAME,), seed, piece, PIECE):
            number = next(numbers)
            try:
                yield number, RewriteTask(task_of(Draw(choice).native))
            except NoAnswerError:
                continue
