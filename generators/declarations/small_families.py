"""Levels that the families `placed` do not combine with all others."""

from __future__ import annotations

SMALL_FAMILY_SOURCES = ("alias", "aliased", "sparse_constant")
"""Sources that only small families and random examples combine with others, so that the corpus stays small."""

SMALL_FAMILY_CONSUMERS = ("reshaped",)
"""Consumers that only small families and random examples combine with others, so that the corpus stays small."""

ADDED_SCOPES = ("loop_invariant", "if_both")
"""Levels of `SCOPES` for `FamilyDeclaration.added`."""
