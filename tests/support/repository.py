"""Paths of the repository and its corpus."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


DATA = ROOT / "data"


SUPPORT = ROOT / "tests" / "support"
