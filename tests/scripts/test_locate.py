"""scripts/locate.py: locators made from words, and texts held against the locators that there are."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from repository import ROOT

from conformance.clauses import clauses

LOG = "onnx.defs ai.onnx Log-13"


def located(*arguments):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "locate.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_what_it_makes_is_what_a_clause_has():
    status, line, _ = located("make", LOG, "summary", "Calculates", "element-wise.")
    made = tomllib.loads(f"passage = {line}")["passage"]
    assert status == 0
    assert made in [vars(passage) for passage in clauses()["monotone.log"].passages]


@pytest.mark.parametrize(
    ("first", "last", "lacking"),
    [("Computes", "element-wise.", "Computes"), ("Calculates", "row by row.", "row by row.")],
)
def test_words_that_are_not_there_are_named(first, last, lacking):
    status, _, said = located("make", LOG, "summary", first, last)
    assert status == 1
    assert f'{LOG}, summary: "{lacking}" is not there' in said


def test_the_installed_packages_have_every_passage():
    status, told, _ = located("installed")
    assert status == 0
    assert "passages found" in told


def test_a_text_that_lacks_a_passage_is_told_with_its_clauses(tmp_path):
    page = tmp_path / "pass.cc"
    page.write_text("nothing")
    status, told, _ = located("check", "onnx/optimizer v0.4.2 onnxoptimizer/pass.cc", page)
    assert status == 1
    assert "monotone.one_per_run, monotone.subgraph" in told
