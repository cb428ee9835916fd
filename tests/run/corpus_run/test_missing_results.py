"""Runs that lose results: to another pytest plugin, to a worker that dies, or to a fault in a report or a diagnosis."""

from __future__ import annotations

import json
from functools import partial

import pytest
from command_outputs import comparable_records
from corpora import SMALL

from conformance.run.results.results_file import read_results

RIGHT, WRONG = "fake_subject:always_right", "fake_subject:always_wrong"

HOOKS = {
    "drops at the end": """
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(items):
            items[:] = items[:1]
        """,
    "drops before all": """
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection_modifyitems(items):
            items[:] = items[:1]
        """,
    "drops in a wrapper": """
        @pytest.hookimpl(wrapper=True)
        def pytest_collection_modifyitems(items):
            yield
            items[:] = items[:1]
        """,
    "announces what it drops": """
        def pytest_collection_modifyitems(config, items):
            config.hook.pytest_deselected(items=items[1:])
            items[:] = items[:1]
        """,
    "drops all": """
        def pytest_collection_modifyitems(items):
            items[:] = [item for item in items if "always_right" not in item.nodeid]
        """,
    "ignores the corpus": """
        def pytest_ignore_collect(collection_path):
            return True if collection_path.name == "manifest.json" else None
        """,
    "does not run": """
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item):
            return True if "adam" in item.name else None
        """,
    "runs twice": """
        def pytest_collection_modifyitems(items):
            items[:] = [*items, *items]
        """,
}
"""Hooks of a conftest.py or of a plugin that change which cases are judged."""


def module(name: str) -> str:
    """Return the source of a plugin with one of the hooks."""
    lines = HOOKS[name].splitlines()
    return "import pytest\n" + "\n".join(line.removeprefix(" " * 8) for line in lines) + "\n"


@pytest.fixture
def run_pytest(run_pytest, small_corpus):
    """Return a function that runs pytest in the directory of the suite on a backend and the small corpus."""
    told = (f"--onnx-backend={RIGHT}", f"--onnx-data={small_corpus}", "--onnx-no-isolation")
    return partial(run_pytest, *told, "--onnx-results=out.jsonl", "test_own.py")


WITHOUT_EFFECT = {"ignores the corpus", "does not run"}
"""The hooks after which all cases are judged all the same."""


WITH_A_WORKER = ("drops at the end", "does not run", "runs twice")
"""Hooks that also act in a worker of xdist; one without an effect is among them."""


@pytest.mark.variants(4)
@pytest.mark.parametrize(
    ("name", "workers"), [*((name, ()) for name in HOOKS), *((name, ("-n", "1")) for name in WITH_A_WORKER)]
)
def test_conftest_that_changes_the_judged_cases_fails_the_run(run_pytest, suite, name, workers):
    (suite / "conftest.py").write_text(module(name))
    ended = run_pytest(*workers)
    footer = read_results(suite / "out.jsonl").footer
    assert (ended.status, footer.outcome) == ((0, "pass") if name in WITHOUT_EFFECT else (1, "fail"))
    assert footer.results == len(SMALL) or name not in WITHOUT_EFFECT
    assert footer.interrupted == (footer.results < len(SMALL))


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [(("-p", "dropper"), {}), ((), {"PYTEST_PLUGINS": "dropper"}), ((), {"PYTEST_ADDOPTS": "-p dropper"})],
    ids=["-p", "PYTEST_PLUGINS", "PYTEST_ADDOPTS"],
)
def test_plugin_that_drops_cases_fails_the_run(run_pytest, suite, arguments, variables):
    (suite / "dropper.py").write_text(module("drops at the end"))
    assert run_pytest(*arguments, **variables).status == 1
    assert read_results(suite / "out.jsonl").footer.results < len(SMALL)


@pytest.mark.parametrize("options", [("-m", "nothing"), ("--deselect", "onnx-conformance"), ("-k", "own")])
def test_selection_of_pytest_itself_does_not_fail_the_run(run_pytest, options):
    assert run_pytest(*options).status == (5 if options[1] == "nothing" else 0)


def test_collect_only_does_not_fail(run_pytest):
    assert run_pytest("--collect-only").status == 0


@pytest.mark.variants(1)
@pytest.mark.parametrize(
    ("variable", "workers"),
    [("PYTEST_PLUGINS", ()), ("PYTEST_ADDOPTS", ()), ("PYTEST_PLUGINS", ("-n", "2"))],
)
def test_command_ignores_plugins_of_the_environment(process, here, small_corpus, variable, workers):
    (here / "dropper.py").write_text(module("drops at the end"))
    value = "dropper" if variable == "PYTEST_PLUGINS" else "-p dropper"
    told = ("run", "-b", RIGHT, "--no-isolation", "--data", small_corpus, "--results", "out.jsonl", *workers)
    ended = process("fork", *told, **{variable: value, "PYTHONPATH": str(here)})
    assert (ended.status, read_results(here / "out.jsonl").footer.results) == (0, len(SMALL))


DIES = """
import os
from multiprocessing import parent_process
from pathlib import Path
from fake_subject import always_right

class Prepared:
    def __init__(self, model):
        self.model = model

class Dies(always_right):
    @classmethod
    def prepare(cls, model, device="CPU"):
        if parent_process() and Path("deadly").exists() and {when}:
            os._exit(0)
        return super().prepare(model, device)
"""


@pytest.fixture
def run_dying(process, here, small_corpus):
    """Return a function that runs a backend which ends the workers in the cases for which `when` is true."""

    def run(when, *arguments):
        (here / "dying.py").write_text(DIES.format(when=when))
        told = ("run", "-b", "dying:Dies", "--no-isolation", "--data", small_corpus, *arguments)
        return process("fork", *told)

    return run


@pytest.mark.parametrize(
    "when",
    ['"momentum" in model.graph.name', pytest.param("True", marks=pytest.mark.long)],
    ids=["one case", "all cases"],
)
def test_run_whose_workers_die_fails_and_can_be_resumed(run_dying, here, when):
    (here / "deadly").touch()
    ended = run_dying(when, "-n", "2", "--results", "out.jsonl")
    footer = read_results(here / "out.jsonl").footer
    assert (ended.status, footer.interrupted) == (1, True), ended.err
    assert footer.results < len(SMALL)
    assert any(case in ended.err for case in SMALL)
    assert any(f"{len(SMALL) - footer.results} of {len(SMALL)}" in reason for reason in footer.reasons)
    assert "--resume out.jsonl" in ended.err
    (here / "deadly").unlink()
    assert run_dying(when, "--resume", "out.jsonl").status == 0
    assert run_dying(when, "--results", "whole.jsonl").status == 0
    assert comparable_records(here / "out.jsonl") == comparable_records(here / "whole.jsonl")


def fail(*_, **__):
    raise ZeroDivisionError("a fault that a test has put there")


@pytest.fixture
def run(command, small_corpus):
    """Return a function that runs a wrong backend on the small corpus and writes several reports."""
    reports = ("--junit", "out.xml", "--html", "out.html", "--json", "out.json")
    arguments = ("run", "-b", WRONG, "--data", small_corpus, "--results", "out.jsonl", *reports)
    return lambda *more, diagnose=False: command(*arguments, *more, diagnose=diagnose)


@pytest.mark.parametrize(
    ("function", "missing"),
    [
        ("conformance.run.diagnosis.diagnosis_run.diagnose_run", set()),
        ("conformance.run.corpus_run.terminal_report.print_outcome", set()),
        ("conformance.run.report.formats.html.render", {"out.html"}),
        ("conformance.run.report.formats.junit.render", {"out.xml"}),
    ],
)
def test_fault_after_the_verdicts_loses_no_results(run, here, monkeypatch, function, missing):
    monkeypatch.setattr(function, fail)
    ended = run("-v", diagnose="diagnosis" in function)
    assert (ended.status, ended.code) == (3, "fault.output")
    assert "Traceback" not in ended.err
    assert read_results(here / "out.jsonl").footer.results == len(SMALL)
    written = {path.name for path in here.iterdir()} & {"out.xml", "out.html", "out.json"}
    assert written == {"out.xml", "out.html", "out.json"} - missing
    assert json.loads((here / "out.json").read_text())


def test_full_disk_during_the_diagnosis_ends_with_status_2_and_loses_no_results(run, here, monkeypatch):
    def fill(*_):
        raise OSError(28, "No space left on device", "/tmp/onnx-conformance-x")

    monkeypatch.setattr("conformance.run.diagnosis.diagnosis_run.diagnose_run", fill)
    ended = run("-v", diagnose=True)
    assert (ended.status, ended.code) == (2, "storage.disk-full")
    assert "/tmp/onnx-conformance-x" in ended.err
    assert read_results(here / "out.jsonl").footer.results == len(SMALL)
    assert json.loads((here / "out.json").read_text())


def test_report_that_cannot_be_written_does_not_stop_the_others(run, here, monkeypatch):
    monkeypatch.setattr("conformance.run.report.formats.junit.render", lambda _: iter(fail_to_write, None))
    ended = run()
    assert (ended.status, ended.code) == (2, "usage.target-not-writable")
    assert (here / "out.html").exists()


def fail_to_write():
    raise OSError(28, "No space left on device")
