"""Run the reproductions and the patches of checks/upstream/ again.

python checks/measurements/upstream.py [--python RUNTIME=PROGRAM…] [NAME…]

NAME is a folder of checks/upstream/faults or checks/upstream/proposals; by default all are run. A reproduction runs in
this Python, or in the Python interpreter PROGRAM for a runtime. Prints a line for each fault: `confirmed`, `not
confirmed` or `not installed`. A fault is confirmed if its script prints the wrong output that
checks/upstream/faults.toml records. For a proposal, the patch is applied to a copy of the installed onnx, and the cases
run on the patched evaluator; prints
`applies and passes` or the problem. The exit status is 1 if a fault is not confirmed or a patch has a problem.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = ROOT / "checks" / "upstream"
TIMEOUT_SECONDS = 300
"""Time limit of a reproduction; some runtimes compile."""

IS_INSTALLED = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"

RUN_CASES = """
import sys
from importlib import import_module
import numpy as np
from onnx.backend.test.case import node
from onnx.reference import ReferenceEvaluator

modules, names = sys.argv[1].split(), set(sys.argv[2:])
for module in modules:
    import_module(module)
for case in node._NodeTestCases:
    if case.name in names:
        for inputs, outputs in case.data_sets:
            feeds = dict(zip((value.name for value in case.model.graph.input), inputs, strict=True))
            for actual, expected in zip(ReferenceEvaluator(case.model).run(None, feeds), outputs, strict=True):
                assert actual.dtype == expected.dtype, f"{case.name}: {actual.dtype} instead of {expected.dtype}"
                np.testing.assert_allclose(actual, expected, rtol=case.rtol, atol=case.atol, err_msg=case.name)
        names.remove(case.name)
assert not names, f"the patch does not add {names}"
"""
"""Program that runs cases of some of onnx's modules on its evaluator, as the test runner of onnx compares them."""

CASE_MODULES = "onnx/backend/test/case/node/"
"""Folder of the modules with onnx's cases; all of them together take seconds to import."""


def read_upstream() -> dict[str, list[dict[str, Any]]]:
    """Return the content of faults.toml: `faults` and `proposals`."""
    with (UPSTREAM / "faults.toml").open("rb") as stream:
        return tomllib.load(stream)


def fault_status(fault: dict[str, Any], python: str) -> str:
    """Run the reproduction of a fault; return `confirmed`, `not confirmed` or `not installed`."""
    if subprocess.run([python, "-c", IS_INSTALLED, fault["module"]], check=False).returncode:
        return "not installed"
    script = UPSTREAM / "faults" / fault["folder"] / "reproduce.py"
    settings = {**os.environ, **fault.get("environment", {}), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(script)]
        try:
            done = subprocess.run(
                command, cwd=folder, env=settings, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "not confirmed"
    return "confirmed" if done.returncode == 1 and fault["prints"] in done.stdout else "not confirmed"


def copy_onnx(folder: Path, changed: set[str]) -> None:
    """Copy the installed onnx into a folder: the files that a patch changes, and links to all others."""
    spec = find_spec("onnx")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("onnx is not installed")
    package = Path(spec.origin).parent

    def copy_or_link(source: str, target: str) -> None:
        is_changed = Path("onnx", Path(source).relative_to(package)).as_posix() in changed
        (shutil.copyfile if is_changed else os.symlink)(source, target)

    shutil.copytree(package, folder / "onnx", copy_function=copy_or_link)


def proposal_status(proposal: dict[str, Any]) -> str:
    """Apply the patch of a proposal and run its cases; return `applies and passes`, or the problem."""
    patch = UPSTREAM / "proposals" / proposal["folder"] / "cases.patch"
    changed = {line.removeprefix("+++ b/") for line in patch.read_text().splitlines() if line.startswith("+++ b/")}
    with tempfile.TemporaryDirectory() as folder:
        copy_onnx(Path(folder), changed)
        applied = subprocess.run(
            ["git", "apply", str(patch)],
            cwd=folder,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent)},
            capture_output=True,
            text=True,
            check=False,
        )
        if applied.returncode:
            return f"does not apply: {applied.stderr.strip()}"
        modules = [file.removesuffix(".py").replace("/", ".") for file in changed if file.startswith(CASE_MODULES)]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", RUN_CASES, " ".join(modules), *chain(*proposal["cases"].values())],
            env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return f"fails: {done.stderr.strip().splitlines()[-1]}"
    return "applies and passes"


def main() -> int:
    """Run what the arguments select; return 1 if something is not as recorded."""
    parser = argparse.ArgumentParser(description="Run the reproductions and the patches of checks/upstream/ again.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="Folder of a fault or a proposal.")
    parser.add_argument("--python", action="append", default=[], metavar="RUNTIME=PROGRAM")
    options = parser.parse_args()
    programs = dict(each.split("=", 1) for each in options.python)
    content, failed = read_upstream(), 0
    known = {each["folder"] for kind in content.values() for each in kind}
    if unknown := set(options.names) - known:
        print(f"checks/upstream/faults.toml has no {', '.join(sorted(unknown))}.")
        return 2
    chosen = set(options.names) or known
    for fault in content["faults"]:
        if fault["folder"] in chosen:
            status = fault_status(fault, programs.get(fault["runtime"], sys.executable))
            print(f"{status}: {fault['folder']}", flush=True)
            failed += status == "not confirmed"
    for proposal in content["proposals"]:
        if proposal["folder"] in chosen:
            status = proposal_status(proposal)
            print(f"{status}: {proposal['folder']}", flush=True)
            failed += status != "applies and passes"
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
