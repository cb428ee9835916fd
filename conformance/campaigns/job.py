"""What a campaign does: a job, cut into pieces, and what somebody who does the pieces is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager


@dataclass(frozen=True)
class Piece:
    """A piece that is done.

    Attributes:
        number: which piece; its result is a function of it and of the job.
        result: what came of it, as JSON has it.
    """

    number: int
    result: Any


class Job(Protocol):
    """Work in pieces. It is pickled, and opened where pieces are done: it holds names and numbers, and no process."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes it this job and no other, as JSON has it: two jobs with one identity have the same pieces."""

    @property
    def result(self) -> Any:
        """The typed dict that each piece's result is; see `conformance.boundary.decoding`."""

    def pieces(self) -> Iterable[int]:
        """The numbers of its pieces; they need not end."""

    def opened(self) -> AbstractContextManager[Callable[[int], Any]]:
        """Make ready what the pieces need (a subject's process, say), for one piece at a time; gives what does a piece.

        Raises:
            ConformanceError: it is not to be had here.
        """


class Workers(Protocol):
    """Those that do pieces."""

    def done(self, job: Job, numbers: Iterable[int]) -> Iterator[Piece]:
        """Each piece as soon as it is done, in any order; closing it ends what is under way.

        Raises:
            ConformanceError: the job cannot be opened, or a piece cannot be done.
            SuiteFault: a piece raised what is a fault of ours.
        """
