"""checks/upstream/: texts for other projects are complete, short and free of local paths; upstream.py runs them."""

from __future__ import annotations

import re
import shutil
import sys

import onnx
import pytest
from repository import ROOT
from script_modules import run_script, script_module

from conformance.run.results.known_faults import known_faults

upstream = script_module("upstream")
CONTENT = upstream.read_upstream()
FAULTS = {fault["folder"]: fault for fault in CONTENT["faults"]}
PROPOSALS = {proposal["folder"]: proposal for proposal in CONTENT["proposals"]}
FOLDER = ROOT / "checks" / "upstream"
MAX_WORDS = 300
LOCAL = re.compile(r"/(?:tmp|home|root|work)/|--python")


def test_upstream_has_twenty_faults_and_two_proposals():
    assert len(FAULTS) == len(CONTENT["faults"]) == 20
    assert len(PROPOSALS) == len(CONTENT["proposals"]) == 2
    assert {path.name for path in (FOLDER / "faults").iterdir()} == FAULTS.keys()
    assert {path.name for path in (FOLDER / "proposals").iterdir()} == PROPOSALS.keys()
    assert list(FAULTS) == sorted(FAULTS)


@pytest.mark.parametrize("folder", FAULTS)
def test_fault_has_a_short_text_and_a_complete_reproduction(folder):
    path, fault = FOLDER / "faults" / folder, FAULTS[folder]
    text = (path / "ISSUE.md").read_text(encoding="utf-8")
    assert len(text.split()) < MAX_WORDS
    assert text.startswith("# ")
    assert f" {fault['version']}" in text.partition("## What was run")[2]
    assert fault["prints"] in text
    assert (path / "subject.py").is_file()
    compile((path / "reproduce.py").read_text(encoding="utf-8"), "reproduce.py", "exec")
    model = onnx.load(path / "model.onnx")
    data_sets = list(path.glob("test_data_set_*"))
    assert data_sets
    for data_set in data_sets:
        assert len(list(data_set.glob("output_*.pb"))) == len(model.graph.output)
    for file in path.rglob("*"):
        if file.suffix in {".md", ".py", ".json"}:
            assert not LOCAL.search(file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("folder", FAULTS)
def test_fault_is_a_finding_of_the_same_version(folder):
    fault = FAULTS[folder]
    page, _, anchor = fault["finding"].partition("#")
    (known,) = [each for each in known_faults() if each.page.endswith(f"/{page}") and each.anchor == anchor]
    assert known.runtime.endswith(f" {fault['version']}")


@pytest.mark.parametrize("folder", PROPOSALS)
def test_proposal_has_a_short_text_that_names_its_cases(folder):
    text = (FOLDER / "proposals" / folder / "PROPOSAL.md").read_text(encoding="utf-8")
    assert len(text.split()) < MAX_WORDS
    assert "## What was run" in text
    patch = (FOLDER / "proposals" / folder / "cases.patch").read_text(encoding="utf-8")
    assert patch.startswith("diff --git a/onnx/")
    assert not LOCAL.search(text + patch)


def test_fault_of_absent_runtime_is_not_installed():
    assert upstream.fault_status({"module": "a_runtime_that_does_not_exist", "folder": "01"}, sys.executable) == (
        "not installed"
    )


@pytest.mark.programs
def test_script_confirms_a_fault_only_by_the_recorded_output():
    fault = FAULTS["06-onnx-softmax"]
    assert upstream.fault_status(fault, sys.executable) == "confirmed"
    assert upstream.fault_status({**fault, "prints": "got 7"}, sys.executable) == "not confirmed"


@pytest.mark.programs
@pytest.mark.parametrize("folder", PROPOSALS)
def test_patch_applies_to_onnx_and_its_cases_pass(folder):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    if not onnx.__version__.startswith("1.23."):
        pytest.skip("the patches are for onnx 1.23")
    assert upstream.proposal_status(PROPOSALS[folder]) == "applies and passes"


@pytest.mark.programs
def test_script_refuses_an_unknown_name():
    assert run_script("upstream", "99-nothing")[0] == 2
