"""Temporary directories that are removed even if the process that created them is killed.

A small helper process waits until the creator closes a pipe or dies, and then removes the directory. This module is
also the program of the helper:

    python temp_dir.py FOLDER [TARGET]

The helper removes FOLDER when standard input ends. If TARGET is missing at that time, and FOLDER contains the replaced
target under the name `old`, the helper first moves it back. An interpreter without packages runs the helper, so that it
starts fast; therefore this module must not import other modules of the suite.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


REPLACED_NAME = "old"
"""Name inside the temporary directory for the old version of a target that is being replaced."""


helpers: set[int] = set()
"""Process ids of the running helpers of this process."""


@contextmanager
def supervised_temp_dir(parent: Path, prefix: str, target: Path | None = None) -> Iterator[Path]:
    """Create a temporary directory, yield it, and remove it at the end, even if this process is killed.

    Args:
        parent: directory in which it is created.
        prefix: prefix of its name.
        target: path that the caller replaces by content of the directory, or None. If the replacement is interrupted,
            the old version is restored, see `REPLACED_NAME`.

    Raises:
        OSError: the directory cannot be created.
    """
    folder = parent / f"{prefix}{secrets.token_hex(4)}"
    sweeper = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(folder), *([str(target)] if target else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    assert sweeper.stdin is not None
    helpers.add(sweeper.pid)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        sweeper.stdin.close()
        sweeper.wait()
        helpers.discard(sweeper.pid)


def main(arguments: Sequence[str]) -> None:
    """Run the helper process: wait until standard input ends, restore a missing target, and remove the directory."""
    folder = arguments[0]
    while os.read(0, 4096):
        pass
    for target in arguments[1:]:
        old = os.path.join(folder, REPLACED_NAME)  # noqa: PTH118
        if os.path.lexists(old) and not os.path.lexists(target):
            os.rename(old, target)  # noqa: PTH104
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
