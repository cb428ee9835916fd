"""docs/add-an-operator.md: in a copy of the package, what it shows makes an optimizer that everything else knows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig

import pytest
from outputs import results_of
from repository import ROOT

pytestmark = pytest.mark.programs

FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCES = FENCE.findall((ROOT / "docs" / "add-an-operator.md").read_text(encoding="utf-8"))
NEW = {path: text for _, path, text in FENCES if path}
CHANGES = [text for language, _, text in FENCES if language == "diff"]
COMMANDS = [line for language, _, text in FENCES if language == "sh" for line in text.splitlines()]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of package and generators with what the page adds and changes, and with the corpus's manifest."""
    copy = tmp_path_factory.mktemp("copy")
    for folder in ("conformance", "generators"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "data").mkdir()
    shutil.copy(ROOT / "data" / "manifest.json", copy / "data")
    for path, text in NEW.items():
        (copy / path).write_text(text, encoding="utf-8")
    for change in CHANGES:
        apply = ("git", "apply", "--recount", "--unidiff-zero", "-")
        subprocess.run(apply, input=change, text=True, cwd=copy, check=True, capture_output=True)
    return copy


@pytest.fixture(scope="module")
def ran(copy):
    """The copy after the page's commands, each of which ended well."""
    for command in COMMANDS:
        done = run(command.replace("--html", "--results results.jsonl --html"), copy)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return copy


def run(command, directory):
    """Run a command as a reader would type it, with the copy before all else."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PATH"] = os.pathsep.join((sysconfig.get_path("scripts"), environment["PATH"]))
    return subprocess.run(
        shlex.split(command),
        cwd=directory,
        env={**environment, "PYTHONPATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_touches_a_file_of_each_kind_and_two_lists_besides_the_row():
    changed = [re.search(r"^\+\+\+ b/(\S+)$", change, re.MULTILINE)[1] for change in CHANGES]
    assert sorted(NEW) == [
        "conformance/clauses/descent.toml",
        "conformance/deviations/descent.py",
        "conformance/reference/operators/descent.py",
        "generators/descent.py",
    ]
    assert sorted(changed) == [
        "conformance/deviations/__init__.py",
        "conformance/reference/operators/training.py",
        "generators/training_optimizers/table.py",
    ]


def test_the_reference_passes_every_case_in_a_process_of_its_own(ran):
    results = results_of(ran / "results.jsonl").values()
    assert {result["verdict"] for result in results} == {"pass"}
    assert len(results) > 40


def test_models_import_the_domain_of_its_own(ran):
    documents = [json.loads(path.read_bytes()) for path in (ran / "corpus").glob("node/*/case.json")]
    assert {node["domain"] for one in documents for node in one["model"]["nodes"]} == {"acme.training"}


def test_the_page_of_the_run_speaks_of_it(ran):
    assert "Descent with a G that broadcasts against X" in (ran / "report.html").read_text(encoding="utf-8")


def test_a_backend_that_ignores_the_decay_is_told_so(ran):
    (ran / "stale.py").write_text(
        "from conformance.deviations import catalogue\n"
        "backend = next(one for one in catalogue()['Descent'] if one.id == 'descent.decay_ignored').backend\n"
        "prepare = backend.prepare\n"
    )
    done = run("onnx-conformance run -b stale --data corpus", ran)
    assert (done.returncode, "ignores decay_factor" in done.stdout) == (1, True), done.stdout + done.stderr
