"""A campaign: the pieces of a job that are known already, then those that workers do, each counted once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.campaigns.job import Job, Piece, Workers
    from conformance.campaigns.state import State


def campaign(job: Job, workers: Workers, state: State | None = None) -> Iterator[Piece]:
    """Every piece of a job once, in the order in which it is known; closing it stops the campaign.

    Args:
        job: what is to be done.
        workers: who does it.
        state: what an earlier campaign with this job did, and where this one's pieces are kept before they are given.

    Raises:
        ConformanceError: it cannot go on; what is done is in the state.
    """
    counted = set()
    for piece in state.pieces if state is not None else ():
        counted.add(piece.number)
        yield piece
    rest = (number for number in job.pieces() if number not in counted)
    with closing(workers.done(job, rest)) as done:  # type: ignore[type-var]
        for piece in done:
            if piece.number in counted:
                continue
            if state is not None:
                state.keep(piece)
            counted.add(piece.number)
            yield piece
