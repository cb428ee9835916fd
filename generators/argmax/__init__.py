"""Cases of plain ArgMax: by its attributes and shapes, and by what it compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators.argmax import attributes, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case


def cases() -> Iterator[Case]:
    """All cases of ArgMax."""
    yield from attributes.cases()
    yield from values.cases()
