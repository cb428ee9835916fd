"""scripts/locate_clauses.py: creating locators, and checking texts against existing locators."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from repository import ROOT

from conformance.clauses import clauses

LOG = "onnx.defs ai.onnx Log-13"


def run_script(*arguments):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "locate_clauses.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_make_returns_the_locator_of_a_clause():
    status, line, _ = run_script("make", LOG, "summary", "Calculates", "element-wise.")
    made = tomllib.loads(f"passage = {line}")["passage"]
    assert status == 0
    assert made in [vars(passage) for passage in clauses()["monotone.log"].passages]


@pytest.mark.parametrize(
    ("first", "last", "lacking"),
    [("Computes", "element-wise.", "Computes"), ("Calculates", "row by row.", "row by row.")],
)
def test_make_missing_words_are_named(first, last, lacking):
    status, _, stderr = run_script("make", LOG, "summary", first, last)
    assert status == 1
    assert f'{LOG}, summary: "{lacking}"' in stderr


def test_installed_packages_have_every_passage():
    status, out, _ = run_script("installed")
    assert status == 0
    assert "passages found" in out


def test_check_text_without_passages_lists_the_clauses(tmp_path):
    page = tmp_path / "pass.cc"
    page.write_text("nothing")
    status, out, _ = run_script("check", "onnx/optimizer v0.4.2 onnxoptimizer/pass.cc", page)
    assert status == 1
    assert "monotone.one_per_run, monotone.subgraph" in out


def test_page_is_up_to_date():
    assert run_script("page", "--check")[0] == 0
