"""The search as a campaign's job: a piece draws, fills and judges some choices, and makes what it finds small."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, TypedDict

from conformance.isolation.limits import Limits
from conformance.isolation.starting import StartingSubjects
from conformance.search.choice import ARGMAX, Choice, ChoiceDocument
from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError, filled
from conformance.search.judged import Draw, cause, judged
from conformance.search.shrinking import shrunk
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.search.judged import Cause
    from conformance.subjects.loading import Subject

OPERATORS = ("Adam", "Momentum", "Adagrad", "ArgMax")
"""What draws can be about."""

PIECE = 40
"""Draws of a piece."""

LONGEST = 200
"""Characters of a reason for which no answer is known."""


class Find(TypedDict):
    """What was found: the smallest choice that has a fault, what the fault is, and how it was told."""

    subject: str
    about: str
    verdict: str
    phase: str
    complaint: str
    message: str
    choice: ChoiceDocument
    tries: int
    seconds: float


class PieceResult(TypedDict):
    """What came of a piece.

    `unanswered` counts draws by the reason for which no `must` case can be made of them, `verdicts` by subject those
    that were judged, `unfilled` those of them on which the oracle was not asked, since a backend answered as the native
    reference to the bit or did not support them, and `places` the draws by what surrounds the node.
    """

    draws: int
    unanswered: dict[str, int]
    verdicts: dict[str, dict[str, int]]
    unfilled: dict[str, int]
    places: dict[str, int]
    finds: list[Find]


@dataclass(frozen=True)
class SearchJob:
    """A search.

    Attributes:
        subjects: what is searched, each with its kind.
        operators: which op_types the draws are about.
        seed: of all draws.
        examples: how many draws there are to be at least; 0 for no end.
        timeout: seconds that a subject has for a draw.
        isolated: whether each subject is in a process of its own.
        claims: passes that graph optimizers implement which do not say so themselves.
        level: at which draws are judged.
        until: the time, in seconds of the epoch, after which nothing is drawn any more: a piece then ends early.
    """

    subjects: tuple[tuple[str, SubjectKind], ...]
    operators: tuple[str, ...]
    seed: int
    examples: int = 0
    timeout: float = 10.0
    isolated: bool = True
    claims: tuple[str, ...] = ()
    level: Level = Level.MUST
    until: float = float("inf")

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes it this search and no other."""
        return {
            "search": [text for text, _ in self.subjects],
            "operators": list(self.operators),
            "seed": self.seed,
            "level": str(self.level),
        }

    @property
    def result(self) -> Any:
        """The type of what comes of a piece."""
        return PieceResult

    def pieces(self) -> Iterable[int]:
        """The numbers of the pieces."""
        return range(-(-self.examples // PIECE)) if self.examples else count()

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], PieceResult]]:
        """Start the subjects, for one piece after the other."""
        named = [SubjectName.of(text, kind) for text, kind in self.subjects]
        starting = StartingSubjects(named, Limits(self.timeout), {}, in_process=not self.isolated, claims=self.claims)
        try:
            subjects = starting.subjects()
            yield lambda number: _searched(self, subjects, number)
        finally:
            starting.end()


def _searched(job: SearchJob, subjects: Iterable[Subject], number: int) -> PieceResult:
    found: dict[Cause, Find] = {}
    result: PieceResult = {"draws": 0, "unanswered": {}, "verdicts": {}, "unfilled": {}, "places": {}, "finds": []}
    for choice in choices(job.operators, job.seed, number, PIECE):
        if time.time() >= job.until:
            break
        result["draws"] += 1
        _count(result["places"], choice.context.place)
        draw = Draw(choice, job.level)
        try:
            for subject in subjects:
                if subject.kind is SubjectKind.OPTIMIZER and choice.operator != ARGMAX:
                    continue
                outcome = draw.outcome(subject)
                _count(result["verdicts"].setdefault(subject.id, {}), str(outcome.verdict))
                if not draw.is_filled:
                    _count(result["unfilled"], subject.id)
                fault = cause(subject, choice, outcome)
                if fault is not None and fault not in found:
                    found[fault] = _find(job, subject, choice, fault, outcome.message)
        except NoAnswerError as reason:
            _count(result["unanswered"], str(reason)[:LONGEST])
    result["finds"] = list(found.values())
    return result


def _count(counts: dict[str, int], word: str) -> None:
    counts[word] = counts.get(word, 0) + 1


def _find(job: SearchJob, subject: Subject, choice: Choice, fault: Cause, message: str) -> Find:
    """A choice with a fault, made small."""
    started = time.process_time()
    small, tries = shrunk(choice, lambda smaller: _fault_of(job, subject, smaller) == fault)
    if small is not choice:
        message = judged(subject, filled(small, job.level)).message
    return {
        "subject": subject.id,
        "about": fault.about,
        "verdict": fault.verdict,
        "phase": fault.phase,
        "complaint": fault.complaint,
        "message": message,
        "choice": small.document(),
        "tries": tries,
        "seconds": round(time.process_time() - started, 3),
    }


def _fault_of(job: SearchJob, subject: Subject, choice: Choice) -> Cause | None:
    try:
        return cause(subject, choice, judged(subject, filled(choice, job.level, whole=True)))
    except (NoAnswerError, ValueError, IndexError, KeyError):
        return None
