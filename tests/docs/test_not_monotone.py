"""docs/findings/not-monotone.md: its program runs, and prints what the page says where the figures are of this machine.

What a runtime's Exp gives depends on the processor: elsewhere, only what the pass leaves is looked at.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest
from repository import ROOT

from conformance.results.environment import cpu_features

PAGE = (ROOT / "docs" / "findings" / "not-monotone.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"^```python pair\.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
SECTION = re.compile(r"^## [^\n]* (\S+)\n.*?^\$ python pair\.py ([^\n]+)\n([^\n]+)$", re.MULTILINE | re.DOTALL)
FINDINGS = SECTION.findall(PAGE)
"""The runtime's version, the program's arguments, and what it prints."""

PACKAGES = {"onnx-reference": "numpy"}
"""Whose version counts, where the runtime is not of its package's name."""


@pytest.mark.parametrize(("of", "arguments", "printed"), FINDINGS)
def test_a_witness_comes_out_as_it_is_told(tmp_path, of, arguments, printed):
    words = shlex.split(arguments)
    runtime = words[0] if installed(words[0]) is not None else "reference"
    (tmp_path / "pair.py").write_text(PROGRAM)
    command = [sys.executable, "pair.py", runtime, *words[1:]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    is_of_this_machine = installed(words[0]) == of and "avx512f" in cpu_features().get("cpu features", "")
    assert done.stdout.strip().endswith("and after the pass 0")
    assert done.stdout.strip() == printed or not is_of_this_machine


def test_every_section_has_its_command():
    assert len(FINDINGS) == PAGE.count("\n## ")


def installed(runtime):
    try:
        return version(PACKAGES.get(runtime, runtime))
    except PackageNotFoundError:
        return None
