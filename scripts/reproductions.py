"""Write a reproduction of each fault of reports/findings, and run it.

python scripts/reproductions.py FOLDER [RUNTIME…]

RUNTIME is the name of a page, such as `tract`; by default all pages are used. Faults of runtimes that are not installed
are listed. Each fault gets a folder FOLDER/RUNTIME/FAULT, written by `onnx-conformance repro`; the output of its script
is in `printed.txt`. The exit status is 1 if a fault is not reproduced, that is, if the suite refuses it or the script
ends with status 0.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.run.results.known_faults import known_faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.run.results.known_faults import KnownFault

TIMEOUT_SECONDS = 120
"""Time limit of a script; some faults are endless loops."""


def main(arguments: Sequence[str]) -> int:
    """Write and run the reproductions; return 1 if a fault is not reproduced."""
    if not arguments:
        print(__doc__)
        return 2
    folder, runtimes = Path(arguments[0]), set(arguments[1:])
    if unknown := runtimes - {runtime_of(fault) for fault in known_faults()}:
        print(f"reports/findings has no page for {', '.join(sorted(unknown))}.")
        return 2
    chosen = [fault for fault in known_faults() if not runtimes or runtime_of(fault) in runtimes]
    problems = {fault.location: reproduce(fault, folder / runtime_of(fault) / fault.anchor) for fault in chosen}
    for place, problem in problems.items():
        if problem:
            print(f"{place}: {problem}")
    shown = sum(not problem for problem in problems.values())
    print(f"{shown} of {len(chosen)} faults are shown by a reproduction in {folder}")
    return int(shown < len(chosen))


def runtime_of(fault: KnownFault) -> str:
    """Return the name of the page of a fault."""
    return Path(fault.page).stem


def reproduce(fault: KnownFault, folder: Path) -> str:
    """Write a reproduction and run it; return the problem, or "" if the fault is reproduced."""
    command = shlex.split(fault.reproduction)[1:-1]
    written = subprocess.run(
        [sys.executable, "-m", "conformance", *command, str(folder)], capture_output=True, text=True, check=False
    )
    if written.returncode:
        return " ".join(written.stderr.split())
    return run_script(folder)


def run_script(folder: Path) -> str:
    """Run the script of a reproduction, and save its output; return the problem, or "" if it shows the fault."""
    script = [sys.executable, str(folder.resolve() / "reproduce.py")]
    try:
        ended = subprocess.run(script, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        (folder / "printed.txt").write_text(f"The script does not end within {TIMEOUT_SECONDS} s.\n", encoding="utf-8")
        return ""
    status = "" if ended.returncode in {0, 1} else f"The script ends with status {ended.returncode}.\n"
    (folder / "printed.txt").write_text(ended.stdout + ended.stderr + status, encoding="utf-8")
    return "" if ended.returncode else "the script does not show the fault"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
