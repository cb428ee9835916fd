"""Cases of ArgMax, in one module for each topic: attributes, values, sizes, loaded models, scopes, and families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.argmax import (
    after_operators,
    argmax_attributes,
    argmax_families,
    argmax_preparation,
    argmax_sizes,
    argmax_values,
    nested,
    placed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case


def cases() -> Iterator[Case]:
    """Yield all cases of ArgMax."""
    yield from argmax_attributes.cases()
    yield from argmax_values.cases()
    yield from argmax_preparation.cases()
    yield from argmax_sizes.cases()
    yield from placed.cases()
    yield from argmax_families.cases()
    yield from after_operators.cases()
    yield from nested.cases()
