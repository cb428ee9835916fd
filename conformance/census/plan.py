"""Which values a piece has: all of a type one after the other, or, where these are too many, a sample of them.

A sample is windows that are spread evenly, and closer looks at some places; a pair of neighbours is in it once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 2**22
"""Values of a piece."""

WINDOW = 2**12
"""Neighbours that a sample takes together."""

CLOSE = 2**8
"""So many pairs of neighbours on either side of a place are its neighbourhood."""


@dataclass(frozen=True)
class Plan:
    """The places of one operator in one type.

    Attributes:
        first: the first place.
        last: the last one.
        sample: how many pairs of neighbours are spread evenly; 0 for all there are.
        close: places whose neighbourhoods are in a sample too.
    """

    first: int
    last: int
    sample: int = 0
    close: tuple[int, ...] = ()

    @property
    def pieces(self) -> int:
        """How many there are."""
        return len(self._sampled) if self.sample else -(-(self.last - self.first) // PIECE)

    def windows(self, piece: int) -> Iterator[tuple[int, int]]:
        """The runs of places of a piece: each its first place and how many pairs of neighbours it has."""
        if self.sample:
            yield from self._sampled[piece]
        else:
            first = self.first + piece * PIECE
            yield first, min(PIECE, self.last - first)

    @cached_property
    def _sampled(self) -> list[list[tuple[int, int]]]:
        """The runs of a sample, by piece."""
        pieces: list[list[tuple[int, int]]] = []
        size = PIECE
        for start, end in _joined([*self._spread(), *self._neighbourhoods()]):
            if size >= PIECE:
                pieces.append([])
                size = 0
            pieces[-1].append((start, end - start))
            size += end - start
        return pieces

    def _spread(self) -> Iterator[tuple[int, int]]:
        """Windows from end to end, by their first and last places."""
        count = self.sample // WINDOW
        for window in range(count):
            start = self.first + (self.last - self.first - WINDOW) * window // max(1, count - 1)
            yield start, start + WINDOW

    def _neighbourhoods(self) -> Iterator[tuple[int, int]]:
        """As much of each neighbourhood as there is, by its first and last places."""
        for place in self.close:
            start, end = max(place - CLOSE, self.first), min(place + CLOSE, self.last)
            if start < end:
                yield start, end


def _joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
