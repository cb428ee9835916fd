"""A run in several parts: `3/8` is the third of eight, and every case is in exactly one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")


@dataclass(frozen=True, order=True)
class Shard:
    """One of several parts; numbers begin with 1."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that a text such as `3/8` names.

        Raises:
            UsageError: it names none.
        """
        match = _TEXT.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError(f"{text} is not a shard.", "Write 3/8 for the third of eight.")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_cases(self, cases: Mapping[str, str]) -> dict[str, str]:
        """The cases of this part: every so many, so that operators spread over all shards."""
        return {id: cases[id] for id in sorted(cases)[self.number - 1 :: self.of]}
