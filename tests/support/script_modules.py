"""Import of the modules in scripts/ and checks/measurements/, which import each other by their bare names, and runs."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

FOLDERS = (ROOT / "scripts", ROOT / "checks" / "measurements")


def script_path(name: str) -> Path:
    """Return the path of the script NAME, in scripts/ or in checks/measurements/."""
    (path,) = (path for folder in FOLDERS if (path := folder / f"{name}.py").is_file())
    return path


def script_module(name: str) -> ModuleType:
    """Return the module of the script NAME."""
    folder = str(script_path(name).parent)
    sys.path.insert(0, folder)
    try:
        return import_module(name)
    finally:
        sys.path.remove(folder)


def run_script(name: str, *arguments: Any) -> tuple[int, str, str]:
    """Run the script NAME; return its exit status, its output and its error output."""
    command = [sys.executable, script_path(name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr
