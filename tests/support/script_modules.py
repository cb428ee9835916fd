"""Import of the modules in scripts/, which import each other by their bare names, and runs of these scripts."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from repository import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def script_module(name: str) -> ModuleType:
    """Return the module `scripts/NAME.py`."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(ROOT / "scripts"))


def run_script(name: str, *arguments: Any) -> tuple[int, str, str]:
    """Run `scripts/NAME.py`; return its exit status, its output and its error output."""
    command = [sys.executable, ROOT / "scripts" / f"{name}.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr
