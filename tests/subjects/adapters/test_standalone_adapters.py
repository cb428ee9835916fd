"""Adapters and the harness in a Python where this suite is not installed."""

from __future__ import annotations

import ast
import shlex
import sys

import pytest
from command_outputs import results_by_key
from repository import ROOT, exec_subject

from conformance.subjects.harness_check.check import check_harness
from conformance.subjects.harness_check.harness_session import RuleState

ADAPTERS = ROOT / "conformance" / "subjects" / "adapters"
HARNESS = ROOT / "conformance" / "subjects" / "calling" / "harness.py"
NAMES = sorted({path.stem for path in ADAPTERS.glob("*.py")} - {"__init__", "server", "reference"})
OPTIMIZERS = sorted({path.stem for path in (ADAPTERS / "optimizers").glob("*.py")} - {"__init__", "identity"})

PROGRAM = f"""\
import runpy, sys
sys.modules["conformance"] = None  # the suite cannot be imported
sys.argv[0] = {str(HARNESS)!r}
runpy.run_path({str(HARNESS)!r}, run_name="__main__")
"""
ONNXRUNTIME = "onnxruntime.py:OnnxRuntimeBackend"


@pytest.fixture
def isolated_adapter(tmp_path):
    """Return a function from an adapter's file, class and options to a subject that runs where there is no suite."""
    program = tmp_path / "isolated_adapter.py"
    program.write_text(PROGRAM)
    return lambda name: exec_subject(sys.executable, program, ADAPTERS / name)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [*((name, {".server"}) for name in NAMES), *((f"optimizers/{name}", {".", "..server"}) for name in OPTIMIZERS)],
)
def test_adapter_imports_only_server_and_package_of_this_suite(path, allowed):
    tree = ast.parse((ADAPTERS / f"{path}.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {("." * node.level) + (node.module or "") for node in imports if node.level or "conformance" in node.module}
    assert own <= allowed
    assert own or path.startswith("optimizers/")


@pytest.mark.whole
def test_harness_gives_same_outcomes_as_adapter(isolated_adapter, command, small_corpus, here):
    hosted = isolated_adapter(ONNXRUNTIME)
    ended = command("run", "-b", hosted, "-b", "onnxruntime", "--data", small_corpus, "--results", "r.jsonl")
    assert ended.status in {0, 1}
    results = results_by_key(here / "r.jsonl")
    outcomes = {
        subject: {case: (each["verdict"], each["outputs"]) for (by, case), each in results.items() if by == subject}
        for subject in (hosted, "onnxruntime")
    }
    assert outcomes[hosted] == outcomes["onnxruntime"]
    assert len(outcomes[hosted]) > 5


def test_harness_passes_options_to_adapter(isolated_adapter, command, small_corpus):
    ended = command("run", "-b", isolated_adapter(f"{ONNXRUNTIME}[provider=Nobody]"), "--data", small_corpus)
    assert (ended.status, "Nobody" in ended.err) == (2, True)


def test_adapter_without_prepare_is_refused(command, here, small_corpus):
    (here / "lacking.py").write_text(
        "from conformance.subjects.adapters.server import Adapter\n\n\nclass Lacking(Adapter): ...\n"
    )
    ended = command("run", "-b", "lacking:Lacking", "--data", small_corpus)
    assert (ended.status, "lacking:Lacking" in ended.err) == (2, True)


def test_isolated_harness_violates_no_harness_rule(isolated_adapter):
    argv = shlex.split(isolated_adapter(ONNXRUNTIME).removeprefix("exec:"))
    failing = [outcome for outcome in check_harness(argv, 60) if outcome.state is RuleState.FAILS]
    assert failing == []
