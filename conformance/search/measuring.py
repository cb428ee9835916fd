"""How good the search is, the corpus withheld: which known deviations draws notice, and whom they accuse wrongly."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from conformance.judging.backend import judge_backend
from conformance.search.drawing import choices
from conformance.search.filled import DEFECTS, NoAnswerError, filled
from conformance.search.job import PIECE
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.loading import CaseInMemory
    from conformance.deviations import Deviation
    from conformance.search.choice import Choice

OPERATORS = ("Adam", "Momentum", "Adagrad", "ArgMax")


@dataclass
class SearchStrength:
    """What the draws of one seed came to.

    Attributes:
        noticed: by the id of a deviation, after how many draws it was noticed.
        missed: the deviations that were not.
        accused: correct variants that a draw accuses, each with the draw.
        draws: how many there were.
        seconds: of processor time.
    """

    seed: int
    noticed: dict[str, int] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    accused: dict[str, str] = field(default_factory=dict)
    draws: int = 0
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether nobody is accused wrongly, and no deviation was missed."""
        return not (self.accused or self.missed)


def measure_search(
    families: Mapping[str, Sequence[Deviation]],
    variants: Mapping[str, Sequence[tuple[str, Any]]],
    seed: int,
    seconds: float,
    progress: Callable[[str], None],
) -> SearchStrength:
    """Run every deviation that is not noticed yet, and every correct variant, on every draw of a stream.

    Args:
        families: deviations by the operator that draws have to be about or have in their chain.
        variants: by operator, names and backends that are right.
        seconds: of processor time.
        progress: called with the id of each deviation when it is noticed.
    """
    strength = SearchStrength(seed)
    left = {name: [one for one in deviations if one.level is Level.MUST] for name, deviations in families.items()}
    started = time.process_time()
    for choice, case in _stream(seed, strength):
        for name in {choice.operator, *choice.chain}:
            for deviation in list(left.get(name, ())):
                if _is_wrong(deviation.backend, case):
                    left[name].remove(deviation)
                    strength.noticed[deviation.id] = strength.draws
                    progress(deviation.id)
            for variant, backend in variants.get(name, ()):
                if variant not in strength.accused and _is_wrong(backend, case):
                    strength.accused[variant] = case.id
        if time.process_time() - started > seconds or not (any(left.values()) or variants):
            break
    strength.seconds = time.process_time() - started
    strength.missed = [one.id for deviations in left.values() for one in deviations]
    return strength


def _stream(seed: int, strength: SearchStrength) -> Iterator[tuple[Choice, CaseInMemory]]:
    for piece in count():
        for choice in choices(OPERATORS, seed, piece, PIECE):
            strength.draws += 1
            try:
                yield choice, filled(choice)
            except NoAnswerError:
                continue


def _is_wrong(backend: Any, case: CaseInMemory) -> bool:
    return judge_backend(backend, case).verdict in DEFECTS
