"""The one refusal of the reference."""

from __future__ import annotations


class Unsupported(Exception):
    """The model has an operator, attribute, shape or comparison that is outside of this reference."""
