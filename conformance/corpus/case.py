"""A case: what a generator defines. The oracle adds what the outputs must be, the corpus keeps both on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.errors import CaseError

if TYPE_CHECKING:
    from conformance.models.arrays import Array
    from conformance.verdicts import Level

IDENTIFIER = re.compile(r"test_[a-z0-9_]{1,120}")


class CaseKind(StrEnum):
    """What a case is about, and the corpus's folder that it is in."""

    NODE = "node"
    """What a backend answers."""
    PASS = "pass"  # noqa: S105
    """What a graph-optimizer pass does with the model, and what a backend answers before and after."""
    INVALID = "invalid"
    """A model that must be rejected: it has inputs, and nothing that may come out."""


class Firing(StrEnum):
    """What a graph-optimizer pass does with a model."""

    FIRES = "fires"
    STAYS = "stays"
    MAY = "may"


@dataclass(frozen=True)
class Rewrite:
    """What the pass must do with a case's model.

    Attributes:
        answer: fire, stay away, or either.
        once: the values whose producers are gone after one run; one in a subgraph is named by the path to it, the
            subgraph's node by its first output, as in `taken/then_branch/Y`.
        fixed_point: the same after runs until nothing changes.
        check: the check of graph optimizers that the case is about, by its name; None where it is about no single one.
    """

    answer: Firing
    once: tuple[str, ...] = ()
    fixed_point: tuple[str, ...] = ()
    check: str | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            CaseError: the pass fires without taking anything away, stays and takes something away, or takes away in
                one run what it leaves in several.
        """
        takes_away = bool(self.once), bool(self.fixed_point)
        if self.answer is not Firing.MAY and takes_away != (self.answer is Firing.FIRES,) * 2:
            raise CaseError(
                f"A pass that {self.answer} names the wrong values.", "Name values if and only if it fires."
            )
        if not {*self.once} <= {*self.fixed_point}:
            raise CaseError("A rewrite takes away in one run what it leaves in several.", "Name it in both.")


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
        data_sets: per data set the graph's inputs in order, but for those that have an initializer; all are run on one
            prepared model. Only a case of the pass may have none: of a graph whose inputs or outputs are no tensors
            its structure alone is judged.
        kind: a CaseKind, the corpus's folder that it belongs to.
        rewrite: of a case of the pass, what the pass must do with the model.
        hazards: per data set the class of hazard that it exposes, None where the rewrite keeps the answer; empty where
            all are such.
        beside: the id of a case whose model is prepared after this one's, and run in turns with it; the case's own id
            where its model is prepared twice. What comes of that other model is judged where it is a case itself.
    """

    id: str
    title: str
    level: Level
    clauses: tuple[str, ...]
    tags: tuple[str, ...]
    model: bytes
    data_sets: tuple[tuple[Array, ...], ...]
    kind: str = CaseKind.NODE
    rewrite: Rewrite | None = None
    hazards: tuple[str | None, ...] = ()
    beside: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be a directory of the corpus.

        Raises:
            CaseError: the id, kind, clauses, data sets or rewrite are malformed.
        """
        if not IDENTIFIER.fullmatch(self.id):
            raise CaseError(f"{self.id!r} cannot be a case's id.", "Use test_ and lower-case letters, digits and _.")
        if self.kind not in set(CaseKind):
            raise CaseError(f"Case {self.id} is of kind {self.kind!r}.", f"Use one of {', '.join(CaseKind)}.")
        if not (self.title and self.clauses and (self.data_sets or self.kind == CaseKind.PASS)):
            raise CaseError(f"Case {self.id} lacks a title, a clause or a data set.", "Give it all three.")
        if len(self.hazards) not in (0, len(self.data_sets)):
            raise CaseError(f"Case {self.id} does not say of each data set its hazard.", "Give one or None to each.")
        if self.kind == CaseKind.PASS and self.rewrite is None:
            raise CaseError(f"Case {self.id} does not say what the pass does with its model.", "Give it a rewrite.")

    @property
    def path(self) -> str:
        """Its directory, relative to the corpus."""
        return f"{self.kind}/{self.id}"

    @property
    def is_invalid(self) -> bool:
        """Whether its model must be rejected, so that no output is expected."""
        return self.kind == CaseKind.INVALID
