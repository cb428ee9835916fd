"""Count the files of `conformance/` that one passing case of a warmed run enters, in all processes together.

python checks/measurements/count_entered_files.py [-b BACKEND]

The script runs the corpus on a backend twice. In the second run a profiler, which a `sitecustomize` module of this
script installs in every process, records for each case the files in which a function is entered. A case is measured
after the first cases of the run, so that imports and caches do not count. The script prints the files of a case with
the most common number, and ends with status 1 if there are more than `MAX_FILES`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

MAX_FILES = 28
"""Largest allowed number of files, with those of the loop over the cases and of the results file."""

CASES = tuple(f"test_argmax_nan_{which}_{end}" for which in ("first", "middle", "several") for end in ("first", "last"))
"""Cases of the measured runs; all of them pass."""

FOLDER = "ENTERED_FILES"
"""Environment variable with the folder for the records; without it the profiler is not installed."""

PROFILER = r"""
import atexit, os, sys, time

folder = os.environ.get("ENTERED_FILES")
if folder:
    package = os.sep + "conformance" + os.sep
    entered = []
    seen = {}

    def note(code, offset):
        place = code.co_filename
        if package not in place:
            return sys.monitoring.DISABLE if hasattr(sys, "monitoring") else None
        entered.append((time.perf_counter(), place[place.rindex(package) + 1 :], code.co_name))

    def profile(frame, event, argument):
        if event == "call":
            note(frame.f_code, 0)

    def write():
        with open(os.path.join(folder, f"{os.getpid()}.txt"), "a") as file:
            for moment, place, name in entered:
                file.write(f"{moment!r}\t{place}\t{name}\n")
        entered.clear()

    leave = os._exit
    def leave_recorded(status):
        sys.setprofile(None)
        write()
        leave(status)

    os._exit = leave_recorded
    atexit.register(write)
    if hasattr(sys, "monitoring"):
        sys.monitoring.use_tool_id(5, "entered files")
        sys.monitoring.register_callback(5, sys.monitoring.events.PY_START, note)
        sys.monitoring.set_events(5, sys.monitoring.events.PY_START)
    else:
        import threading
        threading.setprofile(profile)
        sys.setprofile(profile)
"""


def record(backend: str, folder: Path) -> list[tuple[float, str, str]]:
    """Return the moment, file and function of every call in a run, in all processes, in the order of time."""
    (folder / "sitecustomize.py").write_text(PROFILER, encoding="utf-8")
    options = [word for case in CASES for word in ("--case", case)]
    environment = os.environ | {FOLDER: str(folder), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "conformance", "run", "-b", backend, *options]
    subprocess.run(command, env=os.environ | {FOLDER: ""}, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    calls = []
    for path in folder.glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            moment, place, name = line.split("\t")
            calls.append((float(moment), place, name))
    return sorted(calls)


def files_of_cases(calls: list[tuple[float, str, str]]) -> list[set[str]]:
    """Return the files that each case enters; a case begins with the call of `execute`."""
    starts = [moment for moment, place, name in calls if (Path(place).name, name) == ("execute.py", "execute")]
    return [{place for moment, place, _ in calls if start <= moment < end} for start, end in pairwise(starts)]


def main() -> int:
    """Print the files that one case enters, and check their number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-b", "--backend", default="onnxruntime")
    parser.add_argument("--json", action="store_true", help="print the files as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = files_of_cases(record(given.backend, Path(folder)))
    measured = cases[1:]
    common = Counter(map(len, measured)).most_common(1)[0][0]
    files = sorted(next(files for files in measured if len(files) == common))
    print(json.dumps(files) if given.json else "\n".join(files))
    print(f"{len(files)} files entered in one case (at most {MAX_FILES})")
    return 0 if len(files) <= MAX_FILES else 1


if __name__ == "__main__":
    sys.exit(main())
