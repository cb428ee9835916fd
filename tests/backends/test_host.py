"""An adapter and the host beside it run where nothing else of this suite is installed."""

from __future__ import annotations

import ast
import sys

import pytest
from outputs import results_of
from repository import ROOT

from conformance.backends import host
from conformance.backends.host import SAYS_UNSUPPORTED
from conformance.backends.onnxruntime import OnnxRuntimeBackend
from conformance.harness_check.check import check_harness
from conformance.harness_check.fact import State
from conformance.subjects.failures import _SAYS_UNSUPPORTED

BACKENDS = ROOT / "conformance" / "backends"
HOST = BACKENDS / "host.py"
ADAPTERS = sorted({path.stem for path in BACKENDS.glob("*.py")} - {"__init__", "host", "reference"})

ALONE = f"""\
import runpy, sys
sys.modules["conformance"] = None  # as where it is not installed
sys.argv[0] = {str(HOST)!r}
runpy.run_path({str(HOST)!r}, run_name="__main__")
"""


class Takes(host.Adapter):
    """An adapter without options of its own."""

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        return None


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


@pytest.mark.whole
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


def test_it_knows_by_the_same_names_as_the_suite_what_says_that_it_cannot():
    assert SAYS_UNSUPPORTED == _SAYS_UNSUPPORTED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tract[threads=2]", "Backend tract has no option threads"),
        ("onnxruntime[device=TPU]", "does not support the device TPU"),
        ("onnxruntime[optimization=most]", "no optimization level most"),
    ],
)
def test_it_refuses_options_that_the_adapter_has_not(monkeypatch, text, problem):
    monkeypatch.setattr(host, "load_adapter", lambda _: Takes if text.startswith("tract") else OnnxRuntimeBackend)
    answer = host.AdapterHost(text).answer({"cmd": "start", "seq": 1, "version": 1})
    assert (problem in answer["error"], bool(answer["mend"])) == (True, True)


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
