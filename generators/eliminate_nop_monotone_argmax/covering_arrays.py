"""Factors of the texts of cases that have a case for each row of a covering array."""

from __future__ import annotations

from generators.declarations.family import FamilyDeclaration


def two_axes_declaration() -> FamilyDeclaration:
    """Return the factors of the family `two_axes`: a normalization that two nodes read along different axes."""
    return FamilyDeclaration(
        {
            "operator": ("softmax", "log_softmax"),
            "second": ("argmax", "argmin", "argmax_in_branch"),
            "order": ("pair_first", "pair_last"),
        }
    )


ARRAYS = {"not_injective": {"two_axes": two_axes_declaration()}}
"""Declarations by the text and the name of the table in it."""
