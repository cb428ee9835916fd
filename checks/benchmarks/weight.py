"""Compare two installations of the suite: size on disk, number of files, and the start and speed of commands.

Usage: python weight.py PYTHON OTHER_PYTHON [--pairs N]

The arguments are the Python programs of two environments in which a wheel of the suite is installed. Each command runs
in both environments in turn. The printed times are medians of the processor time of the command and its children.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "--help": ["--help"],
    "one case": ["run", "-b", "reference", "--case", "test_adam", "--no-diagnosis"],
    "corpus": ["run", "-b", "reference", "--no-diagnosis", "-n", "1"],
}

LIST_FILES = """
import importlib.metadata, json
found = importlib.metadata.files("onnx-conformance")
print(json.dumps([str(file.locate()) for file in found if "__pycache__" not in str(file)]))
"""


def installed_size(python: str) -> tuple[int, int]:
    """Return the number of the suite's installed files, and the bytes that they take on disk."""
    listed = subprocess.run([python, "-I", "-c", LIST_FILES], capture_output=True, check=True)
    files = [path for path in map(Path, json.loads(listed.stdout)) if path.is_file()]
    return len(files), sum(path.stat().st_blocks * 512 for path in files)


def processor_seconds(python: str, arguments: list[str], folder: str) -> float:
    """Run a command of the suite in a folder; return its processor time and that of its children.

    Raises:
        SystemExit: the command fails.
    """
    command = [str(Path(python).with_name("onnx-conformance")), *arguments]
    with Path(os.devnull).open("wb") as output, subprocess.Popen(command, cwd=folder, stdout=output) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print a row for each measure, with the values of both installations and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs=2)
    parser.add_argument("--pairs", type=int, default=9, help="runs of --help and of one case; the corpus runs once")
    given = parser.parse_args()
    sizes = [installed_size(python) for python in given.python]
    rows = [(name, [size[column] / unit for size in sizes]) for name, column, unit in (("files", 0, 1), ("MB", 1, 1e6))]
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in COMMANDS.items():
            pairs = 1 if name == "corpus" else given.pairs
            for python in given.python:
                processor_seconds(python, COMMANDS["--help"], folder)  # compiles the modules
            times = [[processor_seconds(python, arguments, folder) for python in given.python] for _ in range(pairs)]
            rows.append((f"{name}, s", [statistics.median(pair[place] for pair in times) for place in (0, 1)]))
    for name, (one, other) in rows:
        print(f"{name:12} {one:10.2f} {other:10.2f}  x {other / one:.2f}")


if __name__ == "__main__":
    main()
