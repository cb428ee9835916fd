"""Cases of ArgMax, in one module for each topic: attributes, values, sizes, loaded models, scopes, and families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.argmax import after_operators, attributes, families, nested, placed, preparation, sizes, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case


def cases() -> Iterator[Case]:
    """Yield all cases of ArgMax."""
    yield from attributes.cases()
    yield from values.cases()
    yield from preparation.cases()
    yield from sizes.cases()
    yield from placed.cases()
    yield from families.cases()
    yield from after_operators.cases()
    yield from nested.cases()
