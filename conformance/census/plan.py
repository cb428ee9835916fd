"""Which values a piece has: all of a type one after the other, or, where these are too many, windows spread evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 2**22
"""Values of a piece."""

WINDOW = 2**12
"""Neighbours that a sample takes together."""


@dataclass(frozen=True)
class Plan:
    """The places of one operator in one type.

    Attributes:
        first: the first place.
        last: the last one.
        sample: how many pairs of neighbours are taken; 0 for all.
    """

    first: int
    last: int
    sample: int = 0

    @property
    def pieces(self) -> int:
        """How many there are."""
        return -(-(self.sample or self.last - self.first) // PIECE)

    def windows(self, piece: int) -> Iterator[tuple[int, int]]:
        """The runs of places of a piece: each its first place and how many pairs of neighbours it has."""
        if not self.sample:
            first = self.first + piece * PIECE
            yield first, min(PIECE, self.last - first)
            return
        count, each = self.sample // WINDOW, PIECE // WINDOW
        for window in range(piece * each, min((piece + 1) * each, count)):
            yield self.first + (self.last - self.first - WINDOW) * window // max(1, count - 1), WINDOW
