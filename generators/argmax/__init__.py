"""Cases of ArgMax: by its attributes and shapes, what it compares, how it is prepared, sizes, and what surrounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.argmax import attributes, placed, preparing, sizes, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case


def cases() -> Iterator[Case]:
    """All cases of ArgMax."""
    yield from attributes.cases()
    yield from values.cases()
    yield from preparing.cases()
    yield from sizes.cases()
    yield from placed.cases()
