"""Cases of plain ArgMax: by its attributes and shapes, by what it compares, how it is prepared, and by sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.argmax import attributes, preparing, sizes, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case


def cases() -> Iterator[Case]:
    """All cases of ArgMax."""
    yield from attributes.cases()
    yield from values.cases()
    yield from preparing.cases()
    yield from sizes.cases()
