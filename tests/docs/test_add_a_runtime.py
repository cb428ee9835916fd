"""docs/contributing/add-a-runtime.md: followed in a copy of the repository, it makes a runtime that the suite runs."""

from __future__ import annotations

import tomllib

import pytest
from command_outputs import results_by_key
from corpora import write_part
from documentation import (
    DOCS,
    apply_page,
    changed_paths,
    copy_repository,
    files_with_word,
    read_page,
    run_command,
    table_paths,
)

PATH = DOCS / "contributing" / "add-a-runtime.md"
PAGE = read_page(PATH)
OWN_PACKAGE = "acme/adapter.py"
COPIED = (
    "conformance",
    "pyproject.toml",
    "tests/subjects/adapters/test_adapters.py",
    "tests/support/distributions.py",
    "docs/how-to/test-a-provider.md",
)

RUNTIME = '''"""A runtime for tests: onnx's ReferenceEvaluator without kernels for the training domain."""

import onnx
from onnx.reference import ReferenceEvaluator

__version__ = "2.1"


class NoKernel(Exception):
    """The model has an operator without a kernel."""


class Engine:
    def __init__(self, evaluator):
        self.evaluator = evaluator

    def run(self, feeds):
        return self.evaluator.run(None, feeds)


def load(model):
    proto = onnx.load_model_from_string(model)
    if any(node.domain for node in proto.graph.node):
        raise NoKernel("no kernel")
    return Engine(ReferenceEvaluator(proto))
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the page's files and changes for this repository, and with the runtime."""
    copy = copy_repository(tmp_path_factory.mktemp("copy"), *COPIED)
    del PAGE.files[OWN_PACKAGE]
    apply_page(PAGE, copy)
    (copy / "acme.py").write_text(RUNTIME)
    return copy


def test_table_lists_the_files_of_the_page():
    assert {*PAGE.files, *changed_paths(PAGE)} - {OWN_PACKAGE} <= table_paths(PATH)


def test_table_lists_every_file_that_names_an_existing_runtime():
    checks = ("checks/mutation", "checks/oracle")
    folders = ("conformance", "docs", "expectations", "reports", "scripts", "tests", "generators", *checks)
    files = files_with_word("nxrt", *folders, "pyproject.toml", "noxfile.py", "README.md", "CHANGELOG.md", "action.yml")
    named = {path.replace("nxrt", "acme") for path in files} - {"docs/contributing/add-a-runtime.md"}
    listed = table_paths(PATH)
    known = {"reports/findings/not-monotone.md", "tests/docs/test_add_a_runtime.py"}  # a census; this test
    assert {path for path in named - listed - known if not path.startswith(tuple(listed))} == set()


def test_project_declares_the_runtime(copy):
    project = tomllib.loads((copy / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["optional-dependencies"]["acme"]
    module = project["entry-points"]["onnx_conformance.backends"]["acme"].partition(":")[0]
    assert (copy / f"{module.replace('.', '/')}.py").exists()
    pinned = tomllib.loads((copy / "conformance/subjects/adapters/runtimes.toml").read_text(encoding="utf-8"))
    assert pinned["runtimes"]["acme"]["subject"] == "acme"


@pytest.mark.programs
def test_adapter_of_the_page_runs_cases(copy, tmp_path):
    part = write_part(tmp_path / "part", lambda _, name: name.startswith("test_adagrad_chained_steps"))
    run = "onnx-conformance run -b conformance.subjects.adapters.acme:AcmeBackend --results results.jsonl"
    done = run_command(f"{run} --data {part}", copy)
    verdicts = {result["verdict"] for result in results_by_key(copy / "results.jsonl").values()}
    assert verdicts == {"pass", "unsupported"}, done.stdout + done.stderr
