"""The folder of a reproduction: written whole or not at all, and never over anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.files.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def check_empty(folder: Path) -> None:
    """Make sure that a folder can be made there.

    Raises:
        UsageError: something is there that is no empty folder.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "not empty" if folder.is_dir() else "no directory"
        raise UsageError(f"{folder} is {what}.", "Name a directory that is new or empty.")


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder, by a folder beside it that then takes its name.

    Args:
        files: by their paths in it.

    Raises:
        UsageError: something is there by now.
        OSError: it cannot be written.
    """
    check_empty(folder)
    target = folder.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(target.parent, ".onnx-conformance-") as scratch:
        made = scratch / "made"
        for name, content in files.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        check_empty(folder)
        made.rename(target)
