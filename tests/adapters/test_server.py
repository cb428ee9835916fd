"""Adapters and `server.py` in a Python where the rest of this suite is not installed."""

from __future__ import annotations

import ast
import importlib
import sys

import pytest
from command_outputs import results_by_key
from repository import ROOT

from conformance.adapters import server
from conformance.adapters.onnxruntime import OnnxRuntimeBackend
from conformance.adapters.server import UNSUPPORTED_CLASSES
from conformance.harness_check.check import check_harness
from conformance.harness_check.session import RuleState
from conformance.subjects import failures

ADAPTERS = ROOT / "conformance" / "adapters"
SERVER = ADAPTERS / "server.py"
NAMES = sorted({path.stem for path in ADAPTERS.glob("*.py")} - {"__init__", "server", "reference"})
OPTIMIZERS = sorted({path.stem for path in (ADAPTERS / "optimizers").glob("*.py")} - {"__init__", "identity"})

PROGRAM = f"""\
import runpy, sys
sys.modules["conformance"] = None  # the suite cannot be imported
sys.argv[0] = {str(SERVER)!r}
runpy.run_path({str(SERVER)!r}, run_name="__main__")
"""


class WithoutOptions(server.Adapter):
    """An adapter without options."""

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        return None


@pytest.fixture
def isolated_adapter(tmp_path):
    """Return a function from an adapter's name to a subject that runs it where the suite cannot be imported."""
    program = tmp_path / "isolated_adapter.py"
    program.write_text(PROGRAM)
    return lambda name: f"exec:{sys.executable} {program} {name}"


@pytest.mark.parametrize("name", NAMES)
def test_adapter_imports_only_server_of_this_suite(name):
    tree = ast.parse((ADAPTERS / f"{name}.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {("." * node.level) + (node.module or "") for node in imports if node.level or "conformance" in node.module}
    assert own == {".server"}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_adapter_imports_only_server_and_package_of_this_suite(name):
    tree = ast.parse((ADAPTERS / "optimizers" / f"{name}.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {("." * node.level) + (node.module or "") for node in imports if node.level or "conformance" in node.module}
    assert own <= {".", "..server"}


@pytest.mark.whole
def test_server_gives_same_outcomes_as_adapter(isolated_adapter, command, small_corpus, here):
    hosted = isolated_adapter("onnxruntime")
    ended = command("run", "-b", hosted, "-b", "onnxruntime", "--data", small_corpus, "--results", "r.jsonl")
    assert ended.status in {0, 1}
    results = results_by_key(here / "r.jsonl")
    outcomes = {
        subject: {case: (each["verdict"], each["outputs"]) for (by, case), each in results.items() if by == subject}
        for subject in (hosted, "onnxruntime")
    }
    assert outcomes[hosted] == outcomes["onnxruntime"]
    assert len(outcomes[hosted]) > 5


def test_server_unsupported_classes_equal_those_of_suite():
    assert UNSUPPORTED_CLASSES == failures.UNSUPPORTED_CLASSES


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("tract[threads=2]", "threads"),
        ("onnxruntime[device=TPU]", "TPU"),
        ("onnxruntime[optimization=most]", "most"),
    ],
)
def test_server_unknown_option_is_refused(monkeypatch, text, value):
    monkeypatch.setattr(
        server, "load_adapter", lambda _: WithoutOptions if text.startswith("tract") else OnnxRuntimeBackend
    )
    answer = server.BackendServer(text).answer({"cmd": "start", "seq": 1, "version": 1})
    assert (value in answer["error"], bool(answer["hint"])) == (True, True)
    assert answer["code"] == "subject.unusable-option"


@pytest.mark.parametrize(
    ("text", "value"), [("onnxruntime[passes=none]", "passes"), ("onnxruntime[fixed_point=1]", "fixed_point")]
)
def test_optimizer_server_unknown_option_is_refused(monkeypatch, text, value):
    monkeypatch.setattr(server, "_import_adapter", lambda name: importlib.import_module(f"conformance.adapters.{name}"))
    answer = server.OptimizerServer(text, "onnxruntime:optimize").answer({"cmd": "start", "seq": 1, "version": 1})
    assert (value in answer["error"], answer["code"]) == (True, "subject.unusable-option")


def test_server_passes_options_to_adapter(isolated_adapter, command, small_corpus):
    ended = command("run", "-b", isolated_adapter("onnxruntime[provider=Nobody]"), "--data", small_corpus)
    assert (ended.status, "Nobody" in ended.err) == (2, True)


def test_adapter_without_prepare_is_refused(command, here, small_corpus):
    (here / "lacking.py").write_text(
        "from conformance.adapters.server import Adapter\n\n\nclass Lacking(Adapter): ...\n"
    )
    ended = command("run", "-b", "lacking:Lacking", "--data", small_corpus)
    assert (ended.status, "lacking:Lacking" in ended.err) == (2, True)


def test_isolated_server_violates_no_harness_rule(isolated_adapter):
    argv = isolated_adapter("onnxruntime").removeprefix("exec:").split(" ")
    failing = [outcome for outcome in check_harness(argv, 60) if outcome.state is RuleState.FAILS]
    assert failing == []
