"""Files in place of a state that a command must refuse at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEN_GIGABYTES = 10 * 2**30


def _replace_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return replace


def _link_to_other_file(path: Path) -> None:
    outside = path.with_name(f"{path.name}.outside")
    path.replace(outside) if path.exists() else outside.touch()
    path.symlink_to(outside)


def _add_name(path: Path) -> None:
    path.touch()
    path.with_name(f"{path.name}.other").hardlink_to(path)


def _make_sparse(path: Path) -> None:
    """Make a file whose only line has 10 GB and takes no space."""
    path.touch()
    os.truncate(path, TEN_GIGABYTES)


def _make_large_line(path: Path) -> None:
    """Add a line that is too large to a file that is small enough."""
    path.touch()
    os.truncate(path, path.stat().st_size + 2**29)


HOSTILE_KINDS: dict[str, Callable[[Path], None]] = {
    "fifo": _replace_by(os.mkfifo),
    "symbolic link": _link_to_other_file,
    "dangling link": _replace_by(lambda path: path.symlink_to(path.with_name("absent"))),
    "link to a device": _replace_by(lambda path: path.symlink_to("/dev/zero")),
    "hard link": _add_name,
    "directory": _replace_by(lambda path: path.mkdir()),
    "10 GB line": _make_sparse,
    "512 MB line": _make_large_line,
}
"""By name, functions that change a file that may not exist yet into a hostile file."""
