"""reports/findings/not-monotone.md: the program runs and prints the output of the page.

The results of Exp depend on the processor. On other processors, only the answer after the pass is compared.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest
from repository import ROOT

from conformance.run.results.recorded_environment import cpu_features

pytestmark = pytest.mark.programs

PAGE = (ROOT / "reports" / "findings" / "not-monotone.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"^```python pair\.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
SECTION = re.compile(r"^## [^\n]* (\S+)\n.*?^\$ python pair\.py ([^\n]+)\n([^\n]+)$", re.MULTILINE | re.DOTALL)
FINDINGS = SECTION.findall(PAGE)
"""The runtime's version, the program's arguments, and what it prints."""

PACKAGES = {"onnx-reference": "numpy"}
"""Packages whose version is that of the runtime, if the names differ."""


@pytest.mark.long
@pytest.mark.parametrize(("release", "arguments", "printed"), FINDINGS)
def test_program_prints_the_output_of_the_page(tmp_path, release, arguments, printed):
    parts = shlex.split(arguments)
    runtime = parts[0] if installed(parts[0]) is not None else "reference"
    (tmp_path / "pair.py").write_text(PROGRAM)
    command = [sys.executable, "pair.py", runtime, *parts[1:]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    is_of_this_machine = installed(parts[0]) == release and "avx512f" in cpu_features().get("cpu features", "")
    assert done.stdout.strip().endswith("and after the pass 0")
    assert done.stdout.strip() == printed or not is_of_this_machine


def test_sections_of_page_all_have_a_command():
    assert len(FINDINGS) == PAGE.count("\n## ")


def installed(runtime):
    try:
        return version(PACKAGES.get(runtime, runtime))
    except PackageNotFoundError:
        return None
