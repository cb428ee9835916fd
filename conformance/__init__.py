"""Conformance suite for ONNX's training optimizers and the ArgMax pass around them.

What a backend's author installs. Authors of cases and adapters find their words here: `from conformance import Case`.
The rooms are listed in `docs/rooms.md`, with what may import what.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.corpus.case import Case, CaseKind, Firing, Rewrite
    from conformance.verdicts import Level, Unsupported, Verdict

__all__ = ["Case", "CaseKind", "Firing", "Level", "Rewrite", "Unsupported", "Verdict", "__version__"]

__version__ = "0.3.0"

HOME = ""
"""Where the project lives; empty until that is known. `python scripts/home.py URL` fills it in, here and elsewhere."""

_HOMES = {
    **dict.fromkeys(("Case", "CaseKind", "Firing", "Rewrite"), "conformance.corpus.case"),
    **dict.fromkeys(("Level", "Unsupported", "Verdict"), "conformance.verdicts"),
}


def __getattr__(name: str) -> Any:
    """A public name, from the module that it lives in; none of these imports onnx or NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
