"""Records that are not kept: each is read again when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

K = TypeVar("K")
P = TypeVar("P")
V = TypeVar("V")


class Reread(Mapping[K, V], Generic[K, P, V]):
    """Records by key, as a mapping that holds none of them.

    Args:
        read: gives the record at a place.
        places: where each record is, by key.
    """

    def __init__(self, read: Callable[[P], V], places: Mapping[K, P]) -> None:
        self._read = read
        self._places = places

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: K) -> V:
        return self._read(self._places[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
