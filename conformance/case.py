"""A case: what a generator defines. The oracle adds what the outputs must be, the corpus keeps both on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import CaseError

if TYPE_CHECKING:
    from conformance.arrays import Array
    from conformance.verdicts import Level

IDENTIFIER = re.compile(r"test_[a-z0-9_]{1,120}")
INVALID = "invalid"
"""The kind of a case whose model must be rejected: it has inputs, and nothing that may come out."""
KINDS = ("node", "pass", INVALID)


@dataclass(frozen=True)
class Case:
    """A model, its inputs, and what it is there to show.

    Attributes:
        id: its directory's name: `test_` and lower-case words.
        title: a sentence that states the fact it shows.
        level: how strongly the specification stands behind it.
        clauses: ids of the clauses it tests, the chief one first.
        tags: words to select it by: operator, types, family.
        model: the serialised ModelProto; the oracle sees nothing else of how it was made. It is not asked about an
            invalid one.
        data_sets: per data set the graph's inputs in order; all are run on one prepared model.
        kind: the corpus's folder it belongs to: `node`, `pass` or `invalid`.
    """

    id: str
    title: str
    level: Level
    clauses: tuple[str, ...]
    tags: tuple[str, ...]
    model: bytes
    data_sets: tuple[tuple[Array, ...], ...]
    kind: str = "node"

    def __post_init__(self) -> None:
        """Refuse what could not be a directory of the corpus.

        Raises:
            CaseError: the id, kind, clauses or data sets are malformed.
        """
        if not IDENTIFIER.fullmatch(self.id):
            raise CaseError(f"{self.id!r} cannot be a case's id.", "Use test_ and lower-case letters, digits and _.")
        if self.kind not in KINDS:
            raise CaseError(f"Case {self.id} is of kind {self.kind!r}.", f"Use one of {', '.join(KINDS)}.")
        if not (self.title and self.clauses and self.data_sets):
            raise CaseError(f"Case {self.id} lacks a title, a clause or a data set.", "Give it all three.")

    @property
    def path(self) -> str:
        """Its directory, relative to the corpus."""
        return f"{self.kind}/{self.id}"

    @property
    def is_invalid(self) -> bool:
        """Whether its model must be rejected, so that no output is expected."""
        return self.kind == INVALID
