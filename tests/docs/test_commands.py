"""Every command of the documentation is run, in order, in a directory with the files of its page.

Commands that a page runs on the whole corpus are run on a part of it here.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from corpora import write_part
from documentation import DOCS, Page, read_page, run_command
from repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.programs

OWN_TESTS = {"contributing/add-an-operator.md", "contributing/add-a-training-optimizer.md", "tutorial.md"}
"""Pages that are followed by tests of their own, which check the exit statuses too."""

PAGES = sorted({str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - OWN_TESTS)

SHARED_FILES = ("how-to/test-a-backend.md", "how-to/test-a-graph-optimizer.md")
"""Pages whose files (the package `acme`) other pages need."""

SELECTED = re.compile(r"test_(adagrad_chained_steps_\w+_expanded|argmax_ties_default|momentum_pairwise_00\d_)")
"""Cases that pages select by a part of their ids."""

_READS_CORPUS = re.compile(r"^onnx-conformance (run|list|explain|verify|export(?= corpus --operator Adam))\b")

NOT_RUN = {
    "python3 -m pip install nox && python3 -m nox -s conformance": "continuous integration runs this session",
    "python3 -m pip install nox && python3 -m nox -s tests": "continuous integration runs this session",
    **dict.fromkeys(
        ("onnx-conformance export corpus", "make -C harnesses/cpp runner", "harnesses/cpp/runner corpus"),
        "tests/commands exports a corpus, and tests/harnesses builds and runs the runner",
    ),
    **dict.fromkeys(
        ("onnx-conformance report results.jsonl --evidence evidence", "python3 -I -S evidence/verify.py"),
        "the included map names cases that the part lacks; tests/studies/evidence writes and checks evidence",
    ),
    **dict.fromkeys(
        (
            (
                "onnx-conformance generate --model detector.onnx --model classifier.onnx --shape batch=1 "
                "--output model-cases"
            ),
            "onnx-conformance run --data model-cases -b onnxruntime --html report.html",
        ),
        "the models are the reader's; the tutorial generates and runs cases of a model",
    ),
    "pip install .": "every nox session installs the checkout",
    "python -m webbrowser report.html": "a test opens no browser",
    "pip install --no-deps .": "the test writes what an installation writes, so that it needs no network",
}
"""Commands that cannot run in a test, and the reason."""


START_MODULE = """
from importlib import import_module
from pkgutil import iter_modules
from onnx.backend.test import loader

def import_some(package):
    for _, name, _ in list(iter_modules(package.__path__))[14::16]:
        import_module(f"{package.__name__}.{name}")

loader.import_recursive = import_some
"""
"""Source of a module that Python imports at its start: it leaves the cases of a sixteenth of onnx's modules."""


FAKE_TORCH = """
from types import SimpleNamespace

import numpy as np
import onnx
from onnx import TensorProto, helper

from conformance import evaluate


def zeros(*shape):
    return np.zeros(shape, np.float32)


def from_numpy(array):
    return array


class ExactGelu:
    def __call__(self, x):
        return np.asarray(evaluate("Gelu", [x])[0].value)


def export(module, inputs, file, dynamo):
    value, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, inputs[0].shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Gelu", ["x"], ["y"])], "gelu", [value], [result])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), file)


save = onnx.save
nn = SimpleNamespace(GELU=ExactGelu)
onnx = SimpleNamespace(export=export)
"""
"""Source of a module with the few names of PyTorch that a page uses; PyTorch is too large for such a test."""


@pytest.fixture(scope="session")
def part(tmp_path_factory):
    """A part of the corpus: the cases that the pages name or select, and some of the others."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *DOCS.rglob("*.md")))
    named = set(re.findall(r"\btest_[a-z0-9_]+", text))
    return write_part(
        tmp_path_factory.mktemp("part"), lambda place, name: place % 96 == 0 or name in named or SELECTED.match(name)
    )


LONG = {
    "how-to/judge-an-output.md",
    "how-to/read-a-report.md",
    "how-to/reproduce-a-failure.md",
    "how-to/test-a-backend.md",
    "how-to/test-a-kernel.md",
    "how-to/test-all-of-onnx.md",
    "how-to/use-it-where-you-are.md",
    "how-to/use-pytest.md",
}
"""Pages whose commands compute for three seconds and more."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in [*PAGES, "../README.md"]]
)
def test_commands_of_a_page_end_with_their_exit_statuses(name, tmp_path, part):
    page = read_page(DOCS / name)
    write_files(tmp_path, *(read_page(DOCS / shared) for shared in SHARED_FILES), page)
    install_project(tmp_path)
    if any("--onnx" in command for command, _ in page.commands):
        (tmp_path / "sitecustomize.py").write_text(START_MODULE)
    if any("import torch" in text for text in page.files.values()):
        (tmp_path / "torch.py").write_text(FAKE_TORCH)
    for command, status in page.commands:
        if command not in NOT_RUN:
            done = run_command(with_corpus(command, part), tmp_path)
            assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"


def test_commands_that_are_not_run_are_in_a_page():
    shown = {command for name in [*PAGES, "../README.md"] for command, _ in read_page(DOCS / name).commands}
    assert set(NOT_RUN) <= shown


def write_files(directory: Path, *pages: Page) -> None:
    """Write the files of the pages, except those of this repository."""
    for page in pages:
        for path, text in page.files.items():
            if not (ROOT / path).parent.exists() or "/" not in path:
                (directory / path).parent.mkdir(parents=True, exist_ok=True)
                (directory / path).write_text(text, encoding="utf-8")


def with_corpus(command: str, corpus: Path) -> str:
    """Return the command with another corpus than the suite's, if it reads the suite's."""
    return command if "--data" in command else _READS_CORPUS.sub(rf"\g<0> --data {corpus}", command)


def install_project(directory: Path) -> None:
    """Write the metadata that pip would write for the page's project: its name and its entry points."""
    file = directory / "pyproject.toml"
    if not file.exists():
        return
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in points.items()))
    ]
    installed = directory / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (installed / "entry_points.txt").write_text("\n".join(lines) + "\n")
