"""Versions of the compilers and libraries that subjects use."""

from __future__ import annotations

import json
import sys
from importlib import metadata

import pytest
from corpora import ADAM
from repository import exec_subject

from conformance.run.corpus_run import environment_versions as module
from conformance.run.corpus_run.environment_versions import dependency_versions, subject_files_digest
from conformance.subjects.calling.subject_names import SubjectKind

KNOWN = {"compiled": {"compilers": {"no-such-compiler": "A_COMPILER"}}, "built": {"libraries": ["numpy", "no-such"]}}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.delenv("A_COMPILER", raising=False)
    monkeypatch.setattr(module, "read_own_toml", lambda *_: {"dependencies": KNOWN})


def test_libraries_have_their_versions():
    assert dependency_versions(["built"]) == {"numpy": metadata.version("numpy"), "no-such": "not installed"}


def test_missing_compiler_is_reported():
    assert dependency_versions(["compiled[option=1]"]) == {"no-such-compiler": "not found"}


def test_environment_variable_names_the_compiler(monkeypatch):
    monkeypatch.setenv("A_COMPILER", sys.executable)
    assert dependency_versions(["compiled"])["no-such-compiler"].startswith("Python 3")


def test_unknown_subject_has_no_dependencies():
    assert dependency_versions(["mypackage.backend"]) == {}


def test_different_python_has_no_known_libraries():
    assert dependency_versions(["built[python=/opt/old/bin/python]"]) == {}


def test_header_has_the_versions(command, small_corpus, here, monkeypatch):
    monkeypatch.setattr(module, "read_own_toml", lambda *_: {"dependencies": {"reference": KNOWN["built"]}})
    command("run", "-b", "reference", "--data", small_corpus, "--case", ADAM, "--no-isolation", "--results", "r.jsonl")
    header = json.loads((here / "r.jsonl").read_text().splitlines()[0])
    assert header["environment"]["no-such"] == "not installed"
    assert int(header["environment"]["cpus"]) >= 1


def test_subject_files_digest_of_command_depends_on_its_files(tmp_path):
    program = tmp_path / "harness.py"
    digests = []
    for text in ("one", "two"):
        program.write_text(text)
        digests.append(subject_files_digest(exec_subject("python3", program), SubjectKind.BACKEND))
    assert all(digests)
    assert digests[0] != digests[1]


@pytest.mark.parametrize("subject", ["onnx-reference", "reference"])
def test_subject_files_digest_of_installed_package_is_a_hash(subject):
    assert len(subject_files_digest(subject, SubjectKind.BACKEND)) == 64


@pytest.mark.parametrize("subject", ["no_such_package.module:Backend", "onnxruntime@1.20.1"])
def test_subject_files_digest_of_unknown_files_is_none(subject):
    assert subject_files_digest(subject, SubjectKind.BACKEND) is None
