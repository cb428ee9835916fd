"""Temporary directories that are removed even if the process that created them is killed."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from conformance.processes.start import end_sweeper, start_sweeper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def supervised_temp_dir(parent: Path, prefix: str, target: Path | None = None) -> Iterator[Path]:
    """Create a temporary directory, yield it, and remove it at the end, even if this process is killed.

    Args:
        parent: directory in which it is created.
        prefix: prefix of its name.
        target: path that the caller replaces by content of the directory, or None. If the replacement is interrupted,
            the old version is restored, see `processes.helper.REPLACED_NAME`.

    Raises:
        OSError: the directory cannot be created.
    """
    folder = parent / f"{prefix}{secrets.token_hex(4)}"
    sweeper = start_sweeper(str(folder), str(target) if target else None)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        end_sweeper(sweeper)
