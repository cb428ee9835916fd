"""An adapter and the host beside it run where nothing else of this suite is installed."""

from __future__ import annotations

import ast
import sys

import pytest
from outputs import results_of
from repository import ROOT

from conformance.harness_check.check import check_harness
from conformance.harness_check.fact import State

BACKENDS = ROOT / "conformance" / "backends"
HOST = BACKENDS / "host.py"
ADAPTERS = sorted({path.stem for path in BACKENDS.glob("*.py")} - {"__init__", "host", "reference"})

ALONE = f"""\
import runpy, sys
sys.modules["conformance"] = None  # as where it is not installed
sys.argv[0] = {str(HOST)!r}
runpy.run_path({str(HOST)!r}, run_name="__main__")
"""


@pytest.fixture
def alone(tmp_path):
    """The command that hosts an adapter where the suite cannot be imported."""
    program = tmp_path / "alone.py"
    program.write_text(ALONE)
    return lambda name: f"exec:{sys.executable} {program} {name}"


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_imports_nothing_of_this_suite_but_the_host(name):
    tree = ast.parse((BACKENDS / f"{name}.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {("." * node.level) + (node.module or "") for node in imports if node.level or "conformance" in node.module}
    assert own == {".host"}


def test_it_tells_what_the_adapter_tells_in_the_suite(alone, command, small_corpus, here):
    hosted = alone("onnxruntime")
    ended = command("run", "-b", hosted, "-b", "onnxruntime", "--data", small_corpus, "--results", "r.jsonl")
    assert ended.status in {0, 1}
    results = results_of(here / "r.jsonl")
    told = {
        subject: {case: (one["verdict"], one["outputs"]) for (by, case), one in results.items() if by == subject}
        for subject in (hosted, "onnxruntime")
    }
    assert told[hosted] == told["onnxruntime"]
    assert len(told[hosted]) > 5


def test_options_reach_the_adapter(alone, command, small_corpus):
    ended = command("run", "-b", alone("onnxruntime[provider=Nobody]"), "--data", small_corpus)
    assert (ended.status, "has no execution provider Nobody" in ended.err) == (2, True)


def test_an_adapter_that_lacks_prepare_is_refused_and_not_called_unsupported(command, here, small_corpus):
    (here / "lacking.py").write_text("from conformance.backends.host import Adapter\n\n\nclass Lacking(Adapter): ...\n")
    ended = command("run", "-b", "lacking:Lacking", "--data", small_corpus)
    assert (ended.status, "has no `prepare`" in ended.err) == (2, True)


def test_it_keeps_to_the_protocol(alone):
    argv = alone("onnxruntime").removeprefix("exec:").split(" ")
    failing = [outcome for outcome in check_harness(argv, 60) if outcome.state is State.FAILS]
    assert failing == []
