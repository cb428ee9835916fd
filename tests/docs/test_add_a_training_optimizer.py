"""docs/contributing/add-a-training-optimizer.md, followed in a copy of the package, makes a supported optimizer."""

from __future__ import annotations

import json
import re

import pytest
from command_outputs import results_by_key
from documentation import (
    DOCS,
    apply_page,
    changed_paths,
    copy_repository,
    files_with_word,
    read_page,
    run_command,
    run_page,
    table_paths,
)
from repository import ROOT

PATH = DOCS / "contributing" / "add-a-training-optimizer.md"
PAGE = read_page(PATH)
OPTIONAL = {
    "conformance/corpus/factors/name_factors.py",
    "conformance/run/mutants/names.toml",
    "generators/declarations/attribute_dimensions.py",
    "generators/declarations/program_dimensions.py",
    "generators/declarations/training_dimensions.py",
}
"""Files whose lists may name a new optimizer: odd names, mutants that mistake them, T, exchanged attributes."""

COPIED = ("conformance", "generators", "data/manifest.json")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package and the generators with the page's files and changes."""
    copy = copy_repository(tmp_path_factory.mktemp("copy"), *COPIED)
    apply_page(PAGE, copy)
    return copy


@pytest.fixture(scope="module")
def followed(copy):
    """The copy after the page's commands; `dimensions` yields the cases of the page's optimizer only, to save time."""
    module = copy / "generators" / "optimizer_covering_arrays.py"
    source = module.read_text(encoding="utf-8")
    assert source.count("in OPERATORS:") == 1
    module.write_text(source.replace("in OPERATORS:", "in OPERATORS[-1:]:"), encoding="utf-8")
    commands = [
        (command.replace("--html", "--results results.jsonl --html"), status) for command, status in PAGE.commands
    ]
    run_page(type(PAGE)(commands=commands), copy)
    return copy


def test_table_lists_the_files_of_the_page():
    shown = {*PAGE.files, *changed_paths(PAGE)}
    listed = {path for path in table_paths(PATH) if path.startswith(("conformance/", "generators/"))}
    assert shown == listed


def test_table_lists_every_file_with_a_row_per_optimizer():
    folders = ("conformance", "generators", "scripts", "tests/support")
    rows = {
        path
        for path in files_with_word("Adagrad", *folders)
        if re.search(r'"(Adagrad|adagrad)":|"Adagrad", "A|ADAGRAD = "A', (ROOT / path).read_text(encoding="utf-8"))
    }
    assert rows - table_paths(PATH) - OPTIONAL == set()


@pytest.mark.long
@pytest.mark.programs
def test_reference_backend_passes_every_case(followed):
    results = results_by_key(followed / "results.jsonl").values()
    assert {result["verdict"] for result in results} == {"pass"}
    assert len(results) > 200


@pytest.mark.long
@pytest.mark.programs
def test_corpus_has_every_family(followed):
    documents = [json.loads(path.read_bytes()) for path in (followed / "corpus").glob("node/test_descent*/case.json")]
    tags = {tag for document in documents for tag in document["tags"]}
    assert {"pairwise", "placed", "numbers", "extreme", "constants", "readers", "lengths", "many_tensors"} <= tags
    assert {node["domain"] for document in documents for node in document["model"]["nodes"]} >= {"acme.training"}


@pytest.mark.long
@pytest.mark.programs
def test_html_report_has_a_case_of_the_operator(followed):
    assert "Descent with a G that broadcasts against X" in (followed / "report.html").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.programs
def test_diagnosis_names_a_mutant_of_the_operator(followed):
    (followed / "stale.py").write_text(
        "from conformance.run.mutants import catalogue\n"
        "backend = next(mutant for mutant in catalogue()['Descent'] if mutant.id == 'descent.decay_ignored').backend\n"
        "prepare = backend.prepare\n"
    )
    done = run_command("onnx-conformance run -b stale --no-isolation --data corpus -k descent", followed)
    assert (done.returncode, "ignores decay_factor" in done.stdout) == (1, True), done.stdout + done.stderr
