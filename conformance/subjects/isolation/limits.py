"""Limits of a subject's process: time, memory, and the sizes of its answers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.base.errors import UsageError

BASE_OUTPUT_BYTES = 2**23
"""Size of all outputs that an answer to any command may have."""

MAX_ANSWER_VALUES = 2**20
"""Maximum number of commas and opening brackets in an answer: Python needs up to 200 bytes for an empty object."""

BYTES_PER_VALUE = 16
"""Bytes of the maximum length of a line for which one more comma or opening bracket is allowed."""

MAX_TEXT_VALUES = 2**22
"""Maximum number of commas and opening brackets in an answer to a command with large inputs."""

MAX_MODEL_FIELDS = 2**17
"""Maximum number of encoded fields of a rewritten model, plus one per byte of the given model."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Limits:
    """Limits of the process of one subject.

    The limits of an answer grow with the command: outputs are in proportion to the model and its inputs, and an answer
    that is far larger must not fill the memory of the suite.

    Attributes:
        timeout: seconds for the start, and for each case.
        memory: maximum address space, in bytes; 0 for no limit.
        line: maximum length of an answer to any command, in bytes.
        file: maximum size of all outputs of an answer to any command, in bytes.
        base_output: size that all outputs of an answer may have whatever the model and the inputs are, in bytes.
    """

    timeout: float = 60.0
    memory: int = 0
    line: int = 2**28
    file: int = 2**30
    base_output: int = BASE_OUTPUT_BYTES

    def __post_init__(self) -> None:
        """Check the time limit.

        Raises:
            UsageError: the time limit is not a positive number of seconds below 10⁶.
        """
        if not 0 < self.timeout < 10**6:
            raise UsageError("invalid-timeout", timeout=self.timeout)


def parse_memory_size(text: str) -> int:
    """Return an amount of memory in bytes: `4G` is 4 · 2³⁰. An empty text is 0, for no limit.

    Raises:
        UsageError: the text is not a positive number with an optional unit K, M, G or T.
    """
    if not text:
        return 0
    match = re.fullmatch(r"([1-9][0-9]{0,14})([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError("invalid-memory-size", text=text)
    return int(match[1]) * _UNITS[match[2].upper()]
