"""How strong the cases of the pass are: which faulty rewrites they notice, and whether they accuse a right one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.corpus.case import CaseKind
from conformance.corpus.loading import load_case
from conformance.deviations.rewrites import faulty_rewrites
from conformance.judging.optimizer import Task, judge_rewrite
from conformance.judging.ours import Ours
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.deviations.rewrites import FaultyRewrite


@dataclass(frozen=True)
class Sighting:
    """A case that notices a faulty rewrite, and what it says of it.

    Attributes:
        level: the strongest at which it complains.
    """

    case: str
    complaint: str
    level: Level = Level.MUST

    def __str__(self) -> str:
        return f"{self.case}, {self.complaint}"


@dataclass(frozen=True)
class RewriteStanding:
    """What the corpus says of a faulty rewrite: a case that notices it at its level, or None."""

    fault: FaultyRewrite
    noticed: Sighting | None


@dataclass(frozen=True)
class RewriteAcquittal:
    """What the corpus says of a right one: the cases that accuse it."""

    rewrite: FaultyRewrite
    accusers: tuple[Sighting, ...]
    cases: int


@dataclass(frozen=True)
class RewriteStrength:
    """The whole finding.

    Attributes:
        standings: by what is got wrong, in the catalogue's order.
    """

    standings: Mapping[str, Sequence[RewriteStanding]]
    acquittals: Sequence[RewriteAcquittal]

    @property
    def survivors(self) -> list[RewriteStanding]:
        """Faulty rewrites that no case notices."""
        return [one for standings in self.standings.values() for one in standings if one.noticed is None]

    @property
    def holds(self) -> bool:
        """Whether the corpus notices what it must and accuses nobody wrongly."""
        return not self.survivors and not any(one.accusers for one in self.acquittals)


@dataclass(frozen=True)
class _Held:
    """A case of the pass, and what the suite's own implementation makes of it: whoever makes the same passes too."""

    id: str
    task: Task
    ours: Ours

    def sighting(self, optimize: Callable[..., Any], passes: Sequence[str]) -> Sighting | None:
        """What a case says against a graph optimizer, if anything."""
        outcome = judge_rewrite(optimize, passes, self.task)
        if outcome.verdict is Verdict.PASS:
            return None
        levels = [Level(check["level"]) for check in outcome.checks if "complaint" in check]
        strongest = min(levels, key=lambda level: level.rank, default=self.task.level)
        return Sighting(self.id, f"{outcome.verdict}: {outcome.message}", strongest)


def measure_rewrites(corpus: Corpus, progress: Callable[[str], None]) -> RewriteStrength:
    """Run every faulty rewrite and every right one on the cases that say what the pass does.

    Args:
        progress: called with the id of each when it is done.
    """
    from conformance.deviations.rewrites.admissible import ADMISSIBLE, WITHOUT_CLAIM

    cases = _held(corpus)
    order = list(cases)
    standings: dict[str, list[RewriteStanding]] = {}
    for theme, faults in faulty_rewrites().items():
        standings[theme] = []
        for fault in faults:
            standings[theme].append(RewriteStanding(fault, _noticed(fault, order)))
            progress(fault.id)
    acquittals = []
    for rewrites, passes in ((ADMISSIBLE, (PASS_NAME,)), (WITHOUT_CLAIM, ())):
        for rewrite in rewrites:
            asked = cases if rewrite.optimize is eliminate or not passes else _differing(rewrite, cases)
            found = (case.sighting(rewrite.optimize, passes) for case in asked)
            acquittals.append(RewriteAcquittal(rewrite, tuple(one for one in found if one), len(cases)))
            progress(rewrite.id)
    return RewriteStrength(standings, acquittals)


def rewrites_work() -> int:
    """How often `measure_rewrites` calls `progress`."""
    from conformance.deviations.rewrites.admissible import ADMISSIBLE, WITHOUT_CLAIM

    return sum(map(len, faulty_rewrites().values())) + len(ADMISSIBLE) + len(WITHOUT_CLAIM)


def _held(corpus: Corpus) -> list[_Held]:
    cases = []
    for id, case in corpus.cases.items():
        task = Task.of(load_case(corpus, case)) if case.kind is not CaseKind.NODE else None
        if task is not None:
            cases.append(_Held(id, task, Ours(task.model)))
    return cases


def _differing(rewrite: FaultyRewrite, cases: Iterable[_Held]) -> Iterator[_Held]:
    """The cases of whose models a rewrite makes something else than the suite's own, which is judged on all."""
    return (case for case in cases if not case.ours.is_made_by(rewrite.optimize))


def _noticed(fault: FaultyRewrite, cases: list[_Held]) -> Sighting | None:
    """The first case that notices a fault at its level; it moves to the front, for the next is often alike."""
    for place, case in enumerate(cases):
        if case.ours.is_made_by(fault.optimize):
            continue
        sighting = case.sighting(fault.optimize, (PASS_NAME,))
        if sighting is not None and sighting.level.rank <= fault.level.rank:
            cases.insert(0, cases.pop(place))
            return sighting
    return None
