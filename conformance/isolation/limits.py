"""Limits of a subject's process: time, memory, and the sizes of its answers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.errors import UsageError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Limits:
    """Limits of the process of one subject.

    Attributes:
        timeout: seconds for the start, and for each case.
        memory: maximum address space, in bytes; 0 for no limit.
        line: maximum length of an answer, in bytes.
        file: maximum size of a tensor that is read from a file, in bytes.
    """

    timeout: float = 60.0
    memory: int = 0
    line: int = 2**28
    file: int = 2**30

    def __post_init__(self) -> None:
        """Check the time limit.

        Raises:
            UsageError: the time limit is not a positive number of seconds below 10⁶.
        """
        if not 0 < self.timeout < 10**6:
            raise UsageError(
                "invalid-timeout",
                f"--timeout must be a positive number of seconds below 1000000 (got {self.timeout:g}).",
                "Give seconds, such as --timeout 60.",
            )


def parse_memory_size(text: str) -> int:
    """Return an amount of memory in bytes: `4G` is 4 · 2³⁰. An empty text is 0, for no limit.

    Raises:
        UsageError: the text is not a positive number with an optional unit K, M, G or T.
    """
    if not text:
        return 0
    match = re.fullmatch(r"([1-9][0-9]{0,14})([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(
            "invalid-memory-size",
            f"--memory: {text} is not an amount of memory.",
            "Give bytes, or a number with K, M, G or T, such as 4G.",
        )
    return int(match[1]) * _UNITS[match[2].upper()]
