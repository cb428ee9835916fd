"""Conformance suite for ONNX's training optimizers, ArgMax, and the graph optimizer pass around ArgMax.

Authors of cases and adapters import the public names from this package: `from conformance import Case`. The page
`docs/contributing/package-layout.md` lists the subpackages and the layers that they form.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.base.verdicts import Level, Unsupported, Verdict
    from conformance.corpus.cases.case import Case, CaseKind, PassEffect, Rewrite

__all__ = ["Case", "CaseKind", "Level", "PassEffect", "Rewrite", "Unsupported", "Verdict", "__version__"]

__version__ = "0.3.0"

PROJECT_URL = ""
"""Address of the project; empty until it is known. `python scripts/set_project_url.py URL` sets it in every file."""

_MODULE_OF_NAME = {
    **dict.fromkeys(("Case", "CaseKind", "PassEffect", "Rewrite"), "conformance.corpus.cases.case"),
    **dict.fromkeys(("Level", "Unsupported", "Verdict"), "conformance.base.verdicts"),
}


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it; none of these modules imports onnx or NumPy."""
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_NAME[name]), name)
