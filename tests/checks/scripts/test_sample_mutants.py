"""The sampled mutants of the package are valid programs with one change each."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from batches import for_each
from repository import ROOT
from script_modules import script_module

sample_mutants = script_module("sample_mutants")

SOURCE = b"""
def f(a: int = 1) -> "str | None":
    if a < 2 and not g(a):
        raise ValueError(a)
    g(a)
    return a + 1
"""


def test_mutants_of_a_source_change_one_place_each():
    found = sample_mutants.MutantFinder("f.py", SOURCE).mutants
    assert sorted((mutant.line, mutant.old, mutant.new) for mutant in found) == [
        (2, "1", "(1 + 1)"),
        (3, "2", "(2 + 1)"),
        (3, "<", "<="),
        (3, "a < 2 and not g(a)", "(not (a < 2 and not g(a)))"),
        (3, "and", "or"),
        (4, "raise ValueError(a)", "pass"),
        (5, "g(a)", "pass"),
        (6, "+", "-"),
        (6, "1", "(1 + 1)"),
        (6, "return a + 1", "return None"),
    ]


def test_sample_is_reproducible_and_each_mutant_is_a_program():
    mutants = sample_mutants.sample(0, 40, "base/serialization/*.py")
    assert mutants == sample_mutants.sample(0, 40, "base/serialization/*.py")
    assert len(mutants) == 40
    for mutant in mutants:
        original = Path(sample_mutants.ROOT, mutant.path).read_bytes()
        assert original[mutant.start : mutant.end].decode() == mutant.old
        assert ast.dump(ast.parse(mutant.source(original))) != ast.dump(ast.parse(original))


def test_batch_fails_with_every_value_that_fails():
    @for_each("number", [1, 2, 3], lambda number: f"number {number}")
    def check(number, limit):
        assert number < limit

    check(limit=4)
    with pytest.raises(AssertionError, match=r"(?s)^2 of 3 values fail\nnumber 2: .*number 3: "):
        check(limit=2)


PROGRAM = "LIMIT = 1\n\n\ndef double(number):\n    return number * 2\n"
TESTS = "import program\n\ndef test_double_of_two_is_four():\n    assert program.double(2) == 4\n"


def test_forked_mutants_tell_the_test_that_fails_and_leave_the_source(tmp_path):
    mutants = {"* 2": "+ 3", "number * 2": "2 * number", "LIMIT = 1": "LIMIT = 2"}
    told = {"path": "program.py", "original": PROGRAM, "tests": ["test_program.py"], "seconds": 60}
    lines = [json.dumps(told | {"mutated": PROGRAM.replace(old, new)}) for old, new in mutants.items()]
    for name, text in {"program.py": PROGRAM, "test_program.py": TESTS, "mutants": "\n".join(lines)}.items():
        (tmp_path / name).write_text(text)
    variables = {"MUTANTS": "mutants", "OUTCOMES": "outcomes", "PYTHONPATH": str(ROOT / "checks" / "measurements")}
    command = [sys.executable, "-m", "pytest", "-p", "forked_mutants", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | variables, check=False, capture_output=True)
    found = [json.loads(line)["by"] for line in (tmp_path / "outcomes").read_text().splitlines()]
    assert found == ["test_program.py::test_double_of_two_is_four", None, "import"]
    assert (tmp_path / "program.py").read_text() == PROGRAM
