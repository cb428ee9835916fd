"""Import of the modules in scripts/, which import each other by their bare names."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

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
