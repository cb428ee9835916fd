"""A folder that goes with whoever made it, however that ends: a small process waits for it, and clears up.

Usage: python scratch.py FOLDER [TARGET]

FOLDER is removed at the end of standard input, which comes with its maker's death too. If TARGET is not there then, and
FOLDER has what stood in its place, under the name `old`, that goes back first.

It is run as a file by an interpreter without packages, so that it starts in no time; it may import nothing of ours.
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

OLD = "old"
"""The name in the folder under which a target waits that is being replaced."""


@contextmanager
def scratch_folder(parent: Path, prefix: str, target: Path | None = None) -> Iterator[Path]:
    """A new folder, gone afterwards whatever happens.

    Args:
        parent: where it is made.
        prefix: what its name begins with.
        target: what is to be replaced by what is made there, and is put back where that was begun and not done.

    Raises:
        OSError: it cannot be made.
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
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        sweeper.stdin.close()
        sweeper.wait()


def main(arguments: Sequence[str]) -> None:
    """Wait, then put back what is missing, and clear up."""
    folder = arguments[0]
    while os.read(0, 4096):
        pass
    for target in arguments[1:]:
        old = os.path.join(folder, OLD)  # noqa: PTH118
        if os.path.lexists(old) and not os.path.lexists(target):
            os.rename(old, target)  # noqa: PTH104
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
