"""Files that are written whole or not at all, and targets that are refused before any work is done for them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from conformance.errors import UsageError


def check_target(target: Path) -> None:
    """Make sure that a file can be written there, and make its folder.

    Raises:
        UsageError: it cannot.
    """
    if target.is_dir():
        raise UsageError(f"{target} is a directory.", "Name a file to write.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.", "Name another file.") from None
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{target} cannot be written: its folder is read-only.", "Name another file.")


def write_whole(target: Path, text: str) -> None:
    """Write a text file in one step: it is there whole or not at all."""
    write_whole_bytes(target, text.encode())


def write_whole_bytes(target: Path, content: bytes) -> None:
    """Write a file in one step: it is there whole or not at all.

    Raises:
        UsageError: it cannot be written there.
    """
    check_target(target)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
