"""The hashes of a case's files, in as little memory as many thousands of cases need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BYTES = 32
"""Of a SHA-256."""


class FileHashes(Mapping[str, str]):
    """The SHA-256 of each of a case's files, in hexadecimal, by the file's path in the case's directory.

    Args:
        names: the paths, which many cases have in common.
        hashes: of each, in the same order.
    """

    __slots__ = ("_hashes", "_names")

    def __init__(self, names: tuple[str, ...], hashes: Iterable[str]) -> None:
        self._names = names
        self._hashes = bytes.fromhex("".join(hashes))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(name)
        start = _BYTES * self._names.index(name)
        return self._hashes[start : start + _BYTES].hex()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
