"""checks/measurements/double_bounds.py: the `must` cases in double with wide bounds."""

from __future__ import annotations

from corpora import write_corpus
from script_modules import run_script


def test_script_counts_double_cases(tmp_path, case_named):
    wide, narrow = case_named("test_adam_function_attributes_double"), case_named("test_adam_nan_in_x_double")
    write_corpus(tmp_path / "corpus", [wide, narrow, case_named("test_adam_nan_in_x_float")])
    status, out, _ = run_script("double_bounds", tmp_path / "corpus")
    assert status == 0
    first, _, last = out.splitlines()
    assert first.split()[0] == "2"
    assert "1 with a bound above 64 ULP (50.0%)" in first
    assert last.startswith("2 need more than float")
    assert last.endswith("passes 0")
