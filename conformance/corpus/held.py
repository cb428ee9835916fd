"""A case kept in memory for many runs."""

from __future__ import annotations
