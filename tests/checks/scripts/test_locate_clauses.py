"""checks/measurements/locate_clauses.py: creating locators, and checking texts against existing locators."""

from __future__ import annotations

import tomllib

import pytest
from script_modules import run_script

from conformance.exact.clauses import clauses

LOG = "onnx.defs ai.onnx Log-13"


def test_make_returns_the_locator_of_a_clause():
    status, line, _ = run_script("locate_clauses", "make", LOG, "summary", "Calculates", "element-wise.")
    made = tomllib.loads(f"passage = {line}")["passage"]
    assert status == 0
    assert made in [vars(passage) for passage in clauses()["monotone.log"].passages]


@pytest.mark.parametrize(
    ("first", "last", "lacking"),
    [("Computes", "element-wise.", "Computes"), ("Calculates", "row by row.", "row by row.")],
)
def test_make_missing_words_are_named(first, last, lacking):
    status, _, stderr = run_script("locate_clauses", "make", LOG, "summary", first, last)
    assert status == 1
    assert f'{LOG}, summary: "{lacking}"' in stderr


def test_installed_packages_have_every_passage():
    status, out, _ = run_script("locate_clauses", "installed")
    assert status == 0
    assert "passages found" in out


def test_check_text_without_passages_lists_the_clauses(tmp_path):
    page = tmp_path / "pass.cc"
    page.write_text("nothing")
    status, out, _ = run_script("locate_clauses", "check", "onnx/optimizer v0.4.2 onnxoptimizer/pass.cc", page)
    assert status == 1
    assert "monotone.one_per_run, monotone.subgraph" in out


def test_page_is_up_to_date():
    assert run_script("locate_clauses", "page", "--check")[0] == 0
