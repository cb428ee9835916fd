"""What a subject says of itself when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Introduction:
    """What a subject says of itself when it starts.

    Attributes:
        version: its own version.
        language: what it is written in.
        passes: of a graph optimizer, the passes that it claims; None if it does not say.
        fixed_point: of a graph optimizer, whether it knows a single run and a fixed point apart.
        models: of a backend, how many models it keeps loaded at a time.
        files: of a backend, whether its harness takes and gives tensors in files.
        then: of a backend, whether its harness takes a command with the one that comes before it.
        provider: of a backend, what it says that every node is to run on; None where it need not be one.
        failure: why it did not start; empty if it did.
    """

    version: str = "unknown"
    language: str = "unknown"
    passes: tuple[str, ...] | None = None
    fixed_point: bool = False
    models: int = 1
    files: bool = False
    then: bool = False
    provider: str | None = None
    failure: str = ""

    @classmethod
    def of(cls, started: Mapping[str, Any]) -> Introduction:
        """What a good answer to `start` says."""
        return cls(
            started["runtime_version"],
            started["language"],
            tuple(started["passes"]) if "passes" in started else None,
            started.get("fixed_point", False),
            started.get("models", 1),
            started.get("files", False),
            started.get("then", False),
            started.get("provider"),
        )
