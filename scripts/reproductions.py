"""Writes the reproduction of each fault of docs/findings, and runs it.

python scripts/reproductions.py FOLDER [RUNTIME…]

RUNTIME is the name of a page, as `tract`; by default all are tried, and those that are not installed here are named.
Each fault gets a folder FOLDER/RUNTIME/FAULT, as `onnx-conformance repro` writes it, and what its script prints stands
in `printed.txt` there. Ends with 1 where a fault is not shown: by the suite, or by the script, which is to end with
another status than 0 or not at all.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.results.known_faults import known_faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.results.known_faults import KnownFault

SECONDS = 120
"""For a script; a fault may be that it does not end."""


def main(arguments: Sequence[str]) -> int:
    """Make those that are asked for, and say how many there are."""
    if not arguments:
        print(__doc__)
        return 2
    folder, runtimes = Path(arguments[0]), set(arguments[1:])
    if unknown := runtimes - {runtime_of(fault) for fault in known_faults()}:
        print(f"docs/findings has no page of {', '.join(sorted(unknown))}.")
        return 2
    asked = [fault for fault in known_faults() if not runtimes or runtime_of(fault) in runtimes]
    told = {fault.place: made(fault, folder / runtime_of(fault) / fault.anchor) for fault in asked}
    for place, problem in told.items():
        if problem:
            print(f"{place}: {problem}")
    shown = sum(not problem for problem in told.values())
    print(f"{shown} of {len(asked)} faults are shown by a reproduction in {folder}")
    return int(shown < len(asked))


def runtime_of(fault: KnownFault) -> str:
    """The name of a fault's page."""
    return Path(fault.page).stem


def made(fault: KnownFault, folder: Path) -> str:
    """Write a reproduction and run it; what is wrong with that, if anything is."""
    command = shlex.split(fault.reproduction)[1:-1]
    written = subprocess.run(
        [sys.executable, "-m", "conformance", *command, str(folder)], capture_output=True, text=True, check=False
    )
    if written.returncode:
        return " ".join(written.stderr.split())
    return shown_by(folder)


def shown_by(folder: Path) -> str:
    """Run a reproduction's script, and keep what it prints; what is wrong with that, if anything is."""
    script = [sys.executable, str(folder.resolve() / "reproduce.py")]
    try:
        ended = subprocess.run(script, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        (folder / "printed.txt").write_text(f"It does not end within {SECONDS} s.\n", encoding="utf-8")
        return ""
    status = "" if ended.returncode in {0, 1} else f"It ends with status {ended.returncode}.\n"
    (folder / "printed.txt").write_text(ended.stdout + ended.stderr + status, encoding="utf-8")
    return "" if ended.returncode else "the script shows nothing wrong"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
