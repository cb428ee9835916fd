"""scripts/double_bounds.py: the `must` cases in double with wide bounds."""

from __future__ import annotations

import subprocess
import sys

from corpora import write_corpus
from repository import ROOT


def test_script_counts_double_cases(tmp_path, case_named):
    wide, narrow = case_named("test_adam_function_attributes_double"), case_named("test_adam_nan_in_x_double")
    write_corpus(tmp_path / "corpus", [wide, narrow, case_named("test_adam_nan_in_x_float")])
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "double_bounds.py", tmp_path / "corpus"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    first, _, last = done.stdout.splitlines()
    assert first.split()[0] == "2"
    assert "1 with a bound above 64 ULP (50.0%)" in first
    assert last.startswith("2 need more than float")
    assert last.endswith("passes 0")
