"""What a run writes down of compilers and libraries that its subjects use."""

from __future__ import annotations

import json
import sys
from importlib import metadata

import pytest
from corpora import ADAM

from conformance.run import dependencies as module
from conformance.run.dependencies import dependencies

KNOWN = {"compiled": {"compilers": {"no-such-compiler": "A_COMPILER"}}, "built": {"libraries": ["numpy", "no-such"]}}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.delenv("A_COMPILER", raising=False)
    monkeypatch.setattr(module, "_known", lambda: KNOWN)


def test_libraries_have_their_versions():
    assert dependencies(["built"]) == {"numpy": metadata.version("numpy"), "no-such": "not installed"}


def test_a_compiler_that_is_not_there_is_told_so():
    assert dependencies(["compiled[option=1]"]) == {"no-such-compiler": "not found"}


def test_the_variable_names_another_compiler(monkeypatch):
    monkeypatch.setenv("A_COMPILER", sys.executable)
    assert dependencies(["compiled"])["no-such-compiler"].startswith("Python 3")


def test_of_other_subjects_nothing_is_known():
    assert dependencies(["mypackage.backend"]) == {}


def test_of_a_subject_in_another_python_this_one_s_libraries_say_nothing():
    assert dependencies(["built[python=/opt/old/bin/python]"]) == {}


def test_a_run_writes_them_into_its_header(command, small_corpus, here, monkeypatch):
    monkeypatch.setattr(module, "_known", lambda: {"reference": KNOWN["built"]})
    command("run", "-b", "reference", "--data", small_corpus, "--case", ADAM, "--in-process", "--results", "r.jsonl")
    header = json.loads((here / "r.jsonl").read_text().splitlines()[0])
    assert header["environment"]["no-such"] == "not installed"
    assert int(header["environment"]["cpus"]) >= 1
