"""Count the files of `conformance/` whose functions a reader meets who follows a case or an audit, in all processes.

python checks/measurements/count_entered_files.py [passing|failing|audit ...] [--files]

Three ways are measured, or the named ones:

- `passing`: one passing case of a warmed run, from the loop over the cases to the results file. The corpus is run
  twice, and a case is measured after the first cases of the second run, so that caches do not count.
- `failing`: a whole `run` of one failing case with an HTML report, from the command line to the page.
- `audit`: a whole `audit` of a model of six nodes.

A profiler, which a `sitecustomize` module of this script installs in every process, records the file of each function
that is entered. Functions that run while a module is imported do not count. The script prints the numbers, and with
`--files` the files. It ends with status 1 if a way has more files than its entry in `MOST_FILES`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import onnx

MOST_FILES = {"passing": 28, "failing": 70, "audit": 60}
"""Largest allowed number of files by way. Lower a number when the way gets shorter."""

PASSING_BACKEND = "onnxruntime"
PASSING_CASES = tuple(
    f"test_argmax_nan_{which}_{end}" for which in ("first", "middle", "several") for end in ("first", "last")
)
"""Cases that pass on `PASSING_BACKEND`."""

FAILING = ("onnx-reference", "test_adam_numbers_001_first_float")
"""A backend, and a case that fails on it and for which the diagnosis tries mutants."""

SIX_NODES = """<ir_version: 8, opset_import: ["" : 17]>
six_nodes (float[2,3] x, float[2,3] y) => (float[2,3] z) {
  sum = Add(x, y)
  product = Mul(sum, x)
  power = Exp(product)
  share = Softmax(power)
  positive = Relu(share)
  z = Sub(positive, y)
}"""
"""The model of the audit, in the text syntax of ONNX."""

FOLDER = "ENTERED_FILES"
"""Environment variable with the folder for the records; without it the profiler is not installed."""

PROFILER = r"""
import atexit, os, sys, threading, time

folder = os.environ.get("ENTERED_FILES")
if folder:
    package = os.sep + "conformance" + os.sep
    entered = []

    def is_import(frame):
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
                return True
            frame = frame.f_back
        return False

    def profile(frame, event, argument):
        code = frame.f_code
        place = code.co_filename
        if event == "call" and package in place and place.endswith(".py") and code.co_flags & 1:
            if not is_import(frame):
                entered.append((time.perf_counter(), place[place.rindex(package) + 1 :], code.co_name))

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
    threading.setprofile(profile)
    sys.setprofile(profile)
"""

Call = tuple[float, str, str]
"""Moment, file and name of a function that is entered."""


def record(folder: Path, *arguments: str, status: int = 0) -> list[Call]:
    """Run a command of the suite, and return the calls in all its processes, in the order of time.

    Args:
        folder: an empty folder for the records.
        arguments: the command line.
        status: the exit status that the command must have.
    """
    (folder / "sitecustomize.py").write_text(PROFILER, encoding="utf-8")
    environment = os.environ | {FOLDER: str(folder), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "conformance", *arguments]
    ended = subprocess.run(command, env=environment, check=False, capture_output=True)
    if ended.returncode != status:
        raise SystemExit(f"{' '.join(arguments)} ended with status {ended.returncode}: {ended.stderr.decode()}")
    calls = []
    for path in folder.glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            moment, place, name = line.split("\t")
            calls.append((float(moment), place, name))
    return sorted(calls)


def files_of_passing_case(folder: Path) -> set[str]:
    """Return the files that a passing case of a warmed run enters: those of a case with the most common number.

    A case begins with the call of `execute`.
    """
    options = [word for case in PASSING_CASES for word in ("--case", case)]
    arguments = ("run", "-b", PASSING_BACKEND, *options)
    subprocess.run([sys.executable, "-m", "conformance", *arguments], check=True, stdout=subprocess.DEVNULL)
    calls = record(folder, *arguments)
    starts = [moment for moment, place, name in calls if (Path(place).name, name) == ("execute.py", "execute")]
    cases = [{place for moment, place, _ in calls if start <= moment < end} for start, end in pairwise(starts)][1:]
    common = Counter(map(len, cases)).most_common(1)[0][0]
    return next(files for files in cases if len(files) == common)


def files_of_failing_case(folder: Path) -> set[str]:
    """Return the files that a run of one failing case with an HTML report enters."""
    backend, case = FAILING
    page = str(folder / "report.html")
    return {place for _, place, _ in record(folder, "run", "-b", backend, "--case", case, "--html", page, status=1)}


def files_of_audit(folder: Path) -> set[str]:
    """Return the files that an audit of the model of six nodes enters."""
    model = folder / "six_nodes.onnx"
    onnx.save(onnx.parser.parse_model(SIX_NODES), model)
    return {place for _, place, _ in record(folder, "audit", str(model), "-b", FAILING[0])}


WAYS = {"passing": files_of_passing_case, "failing": files_of_failing_case, "audit": files_of_audit}


def main() -> int:
    """Print the number of files of each way, and check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], metavar="WAY", help="passing, failing or audit")
    parser.add_argument("--files", action="store_true", help="print the files too")
    given = parser.parse_args()
    status = 0
    for way in given.ways or WAYS:
        with tempfile.TemporaryDirectory() as folder:
            files = sorted(WAYS[way](Path(folder)))
        if given.files:
            print("\n".join(files))
        most = MOST_FILES[way]
        print(f"{'ok  ' if len(files) <= most else 'FAIL'} files entered by way {way}: {len(files)} (at most {most})")
        status |= len(files) > most
    return status


if __name__ == "__main__":
    sys.exit(main())
