"""Cases are filled side by side: one is a piece of work, and what comes of it is a function of the case alone."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.campaigns.processes import ProcessWorkers, processors
from conformance.generation.case_files import files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.case import Case

FEW = 100
"""So many cases are filled before another process has begun."""


@dataclass(frozen=True)
class Filling:
    """A job of campaigns, of which nothing is kept on disk.

    Attributes:
        cases: with the names of their generators.
    """

    cases: Sequence[tuple[str, Case]]

    @property
    def identity(self) -> Mapping[str, Any]:
        """Which cases they are."""
        return {"cases": [case.id for _, case in self.cases]}

    @property
    def result(self) -> Any:
        """Files by their paths in the case's folder."""
        return dict[str, bytes]

    def pieces(self) -> Iterable[int]:
        """The places of the cases."""
        return range(len(self.cases))

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], dict[str, bytes]]]:
        """What fills the case at a place.

        Raises:
            CaseError: it cannot be filled.
        """

        def filled(place: int) -> dict[str, bytes]:
            generator, case = self.cases[place]
            return files_of(case, generator)

        yield filled


def filled(cases: Sequence[tuple[str, Case]]) -> Iterator[tuple[Case, dict[str, bytes]]]:
    """Each case with its files, as soon as it is filled, by as many processes as there are processors.

    Raises:
        CaseError: a case cannot be filled.
    """
    job = Filling(cases)
    workers = ProcessWorkers(processors() if len(cases) > FEW else 1, _unsaid)
    for piece in workers.done(job, job.pieces()):
        yield cases[piece.number][1], piece.result


def _unsaid(_: str) -> None:
    """A worker that dies has its case filled again, which changes nothing that anybody sees."""
