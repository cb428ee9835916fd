"""Where the repository is, and its corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


ROOT = Path(__file__).parents[2]


DATA = ROOT / "data"
