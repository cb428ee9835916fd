"""Paths of the repository and its corpus."""

from __future__ import annotations

import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]


DATA = ROOT / "data"


SUPPORT = ROOT / "tests" / "support"


def exec_subject(*words: str | Path) -> str:
    """Return the name of a harness, quoted: the path of a checkout or of Python can have spaces."""
    return f"exec:{shlex.join(map(str, words))}"
