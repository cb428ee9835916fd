"""What a subject in a process of its own may take: time, memory, and length of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.errors import UsageError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Limits:
    """The limits of one subject's process.

    Attributes:
        timeout: seconds for starting, and for each case.
        memory: the largest address space in bytes, or 0 for any.
        line: the longest answer in bytes.
        file: the largest tensor that is read of a file, in bytes.
    """

    timeout: float = 60.0
    memory: int = 0
    line: int = 2**28
    file: int = 2**30

    def __post_init__(self) -> None:
        """Refuse a limit that no subject keeps.

        Raises:
            UsageError: the time is not a positive number of seconds.
        """
        if not 0 < self.timeout < 10**6:
            raise UsageError(f"A time limit of {self.timeout:g} s is none.", "Give a positive number of seconds.")


def bytes_of(text: str) -> int:
    """An amount of memory: `4G` is 4 · 2³⁰ bytes; an empty text is no limit, 0.

    Raises:
        UsageError: it is not a number with K, M, G or T.
    """
    if not text:
        return 0
    match = re.fullmatch(r"([1-9][0-9]{0,14})([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(f"{text} is not an amount of memory.", "Write bytes, or a number with K, M, G or T: 4G.")
    return int(match[1]) * _UNITS[match[2].upper()]
