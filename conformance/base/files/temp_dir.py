"""Folders that are never left half-written, even if the process is killed.

A temporary folder is removed at the end. A new folder is filled under a temporary name. It is renamed when it is
complete.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import TEMPORARY_PREFIX, named_errors
from conformance.base.processes.start import end_sweeper, start_sweeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def supervised_temp_dir(
    parent: Path | None = None, prefix: str = "onnx-conformance-", target: Path | None = None
) -> Iterator[Path]:
    """Create a temporary directory, yield it, and remove it at the end, even if this process is killed.

    Args:
        parent: directory in which it is created; None for the directory for temporary files.
        prefix: prefix of its name.
        target: path that the caller replaces by content of the directory, or None. If the replacement is interrupted,
            the old version is restored, see `processes.helper.REPLACED_NAME`.

    Raises:
        OSError: the directory cannot be created.
    """
    folder = (parent or Path(gettempdir())) / f"{prefix}{secrets.token_hex(4)}"
    sweeper = start_sweeper(str(folder), str(target) if target else None)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        end_sweeper(sweeper)


def check_empty(folder: Path) -> None:
    """Check that a folder can be created at this path.

    Raises:
        UsageError: the path exists and is not an empty directory, or its folder is read-only.
    """
    check_writable_parent(folder)
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "a directory that is not empty" if folder.is_dir() else "not a directory"
        raise UsageError("directory-not-empty", folder=folder, what=what)


def check_writable_parent(folder: Path) -> None:
    """Check that the folder in which a folder is created, or the nearest one that exists, can be written.

    Raises:
        UsageError: it is read-only.
    """
    parent = next(each for each in folder.absolute().parents if each.exists())
    if not os.access(parent, os.W_OK):
        raise UsageError("target-not-writable", target=folder, reason="its folder is read-only")


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder: fill a temporary folder and rename it.

    Args:
        files: the contents by path relative to the folder.

    Raises:
        UsageError: the path is not a new or empty directory any more.
        OSError: the folder cannot be written.
    """
    check_empty(folder)
    target = folder.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with supervised_temp_dir(target.parent, TEMPORARY_PREFIX) as scratch:
        made = scratch / "made"
        with named_errors(target):
            for name, content in files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        check_empty(folder)
        made.rename(target)
