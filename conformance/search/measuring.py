"""How good the search is, the corpus withheld: which known deviations draws notice."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from itertools import count
from typing import TYPE_CHECKING, Any

from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError
from conformance.search.job import OPERATORS, PIECE
from conformance.search.judged import Draw
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.deviations import Deviation

LARGE = (
    "Only tensors larger than any draw show it; the corpus has them, and a draw of one would cost as much as hundreds."
)

BEYOND: Mapping[str, str] = {
    "*.*_of_4096_skipped": LARGE,
    "*.*_of_65536_skipped": LARGE,
    "*.4096_elements_at_most": LARGE,
    "*.32768_elements_at_most": LARGE,
    "*.65535_elements_at_most": LARGE,
    "*.65536_elements_at_most": LARGE,
    "*.1048576_elements_at_most": LARGE,
    "*.places_of_16_bits": LARGE,
    "argmax.65535_rows_at_most": LARGE,
    "argmax.indices_through_*": LARGE,
}
"""Deviations that no draw can notice, by pattern, and why."""


@dataclass
class SearchStrength:
    """What the draws of one seed came to.

    Attributes:
        noticed: by the id of a deviation, after how many draws it was noticed.
        missed: the deviations that were not, though draws can notice them.
        beyond: those that no draw can notice, each with why.
        draws: how many there were.
        unanswered: of how many of them no case could be made.
        seconds: of processor time.
    """

    seed: int
    noticed: dict[str, int] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    beyond: dict[str, str] = field(default_factory=dict)
    draws: int = 0
    unanswered: int = 0
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no deviation was missed."""
        return not self.missed


def search_document(strength: SearchStrength) -> dict[str, Any]:
    """What was measured, for JSON."""
    return asdict(strength)


def search_lines(strength: SearchStrength) -> Iterator[str]:
    """What was measured, for people."""
    reachable = len(strength.noticed) + len(strength.missed)
    yield (
        f"{strength.draws} draws of seed {strength.seed} in {strength.seconds:.0f} s of processor time,"
        f" {strength.unanswered} without a must answer"
    )
    yield f"{len(strength.noticed)} of {reachable} deviations that draws can reach are noticed"
    yield from (f"  missed: {id}" for id in strength.missed)
    if strength.beyond:
        yield f"{len(strength.beyond)} are beyond draws:"
        for reason, ids in sorted(by_reason(strength.beyond).items()):
            yield f"  {reason}"
            yield from (f"    {id}" for id in ids)


def by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """The ids of each reason."""
    found: dict[str, list[str]] = {}
    for id, reason in reasons.items():
        found.setdefault(reason, []).append(id)
    return found


def measure_search(
    deviations: Sequence[Deviation],
    seed: int,
    is_enough: Callable[[SearchStrength], bool],
    progress: Callable[[str], None],
) -> SearchStrength:
    """Run every deviation that is not noticed yet on every draw of a stream.

    Args:
        deviations: those of level must are looked for.
        is_enough: asked after each draw whether what was measured so far suffices.
        progress: called with the id of each deviation when it is noticed.
    """
    strength = SearchStrength(seed)
    left: dict[str, list[Deviation]] = {}
    for one in deviations:
        if (reason := _beyond(one.id)) is not None:
            strength.beyond[one.id] = reason
        elif one.level is Level.MUST:
            left.setdefault(one.operator, []).append(one)
    started = time.process_time()
    for draw in _stream(seed, strength):
        present = {draw.choice.operator, *draw.choice.chain}
        for deviation in [one for name in present for one in left.get(name, ())]:
            if _is_wrong(deviation.backend, draw):
                left[deviation.operator].remove(deviation)
                strength.noticed[deviation.id] = strength.draws
                progress(deviation.id)
        strength.seconds = time.process_time() - started
        if is_enough(strength) or not any(left.values()):
            break
    strength.missed = [one.id for group in left.values() for one in group]
    return strength


def _beyond(id: str) -> str | None:
    return next((reason for pattern, reason in BEYOND.items() if fnmatch(id, pattern)), None)


def _stream(seed: int, strength: SearchStrength) -> Iterator[Draw]:
    for piece in count():
        for choice in choices(OPERATORS, seed, piece, PIECE):
            strength.draws += 1
            draw = Draw(choice)
            yield draw
            strength.unanswered += draw.has_no_answer


def _is_wrong(backend: Any, draw: Draw) -> bool:
    try:
        return draw.is_wrong(backend)
    except NoAnswerError:
        return False
