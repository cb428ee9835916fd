"""A census as a campaign's job: cells of subject, operator and type, each cut into pieces."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from conformance.boundary.decoding import Count
from conformance.census import argmax, elementwise, rows
from conformance.census.asking import Asked, NoAnswer, asking
from conformance.census.effect import all_pairs
from conformance.census.plan import Plan
from conformance.census.scale import SCALES
from conformance.census.tally import Row, count, empty, merged, note
from conformance.census.truth import FUNCTIONS
from conformance.errors import SubjectError
from conformance.results.environment import cpu_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.census.scale import Scale
    from conformance.models.arrays import Array

OPERATORS = (*FUNCTIONS, *rows.OPERATORS, "ArgMax")
TYPES = tuple(SCALES)

SAMPLE = 2**24
"""Values of a type of more than 16 bits that a subject is asked for whose harness has no files."""

SAMPLE_OF_DOUBLE = 2**30

BEHIND = 256
"""So many values at least stand behind those that are counted, and tensors are multiples of it."""

ALONE = 61
"""The last values of a piece, which are asked for once more in a tensor of their own."""


class PieceResult(TypedDict):
    """What came of a piece.

    Attributes:
        cell: which cell it is of.
        failure: why there is no answer, of the subject's own; empty if there is.
        refused: whether the subject says that it has no such operator or type.
        symmetric: whether rows [a, b] are ordered as [0, b - a]; of the first piece of Softmax and LogSoftmax.
        rows: what was counted.
    """

    cell: Count
    failure: str
    refused: bool
    symmetric: bool
    rows: list[Row]


@dataclass(frozen=True)
class Cell:
    """One operator of one type on one subject.

    Attributes:
        sampled: whether not all values are tried.
    """

    subject: str
    operator: str
    type: str
    sampled: bool = False

    @property
    def scale(self) -> Scale:
        """The type's values."""
        return SCALES[self.type]

    @property
    def plan(self) -> Plan:
        """The places of its arguments."""
        is_elementwise = self.operator in FUNCTIONS
        first, last = elementwise.domain(self.operator, self.scale) if is_elementwise else _whole(self.scale)
        sample = SAMPLE_OF_DOUBLE if self.type == "double" and not self.sampled else SAMPLE
        return Plan(first, last, sample if self.sampled or self.type == "double" else 0)

    @property
    def pieces(self) -> int:
        """How many pieces it has."""
        return argmax.PIECES if self.operator == "ArgMax" else self.plan.pieces


@dataclass(frozen=True)
class Census:
    """All cells of a command.

    Args:
        cells: the cells, those of one subject together.
        versions: of the subjects, by name.
        timeout: seconds that a subject may take for a piece.
        in_process: whether subjects in Python run in the process that does the pieces.
        cpu: the processor's instructions, which a worker's must be too.
    """

    cells: tuple[Cell, ...]
    versions: Mapping[str, str]
    timeout: float = 60.0
    in_process: bool = False
    cpu: str = field(default_factory=lambda: cpu_features().get("cpu features", ""))

    @property
    def identity(self) -> Mapping[str, Any]:
        """See `conformance.campaigns.job.Job`."""
        cells = [[cell.subject, cell.operator, cell.type, cell.sampled] for cell in self.cells]
        return {"cells": cells, "versions": dict(self.versions), "cpu features": self.cpu}

    @property
    def result(self) -> Any:
        """See `conformance.campaigns.job.Job`."""
        return PieceResult

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(cell.pieces for cell in self.cells))

    def pieces(self) -> Iterable[int]:
        """See `conformance.campaigns.job.Job`."""
        return range(self._ends[-1] if self._ends else 0)

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], PieceResult]]:
        """See `conformance.campaigns.job.Job`."""
        cpu = cpu_features().get("cpu features", "")
        if cpu != self.cpu:
            raise SubjectError(
                f"This processor has other instructions ({cpu}) than the one where the census was begun ({self.cpu}).",
                "Figures depend on them: take workers of one kind.",
            )
        with ExitStack() as stack:
            yield _Opened(self, stack).piece

    def place_of(self, number: int) -> tuple[int, int]:
        """The cell of a piece, and which of its pieces it is."""
        cell = int(np.searchsorted(self._ends, number, side="right"))
        return cell, number - (self._ends[cell - 1] if cell else 0)


class _Opened:
    """Does pieces, with one subject at a time."""

    def __init__(self, census: Census, stack: ExitStack) -> None:
        self._census, self._stack = census, stack
        self._name = ""
        self._asked: Asked | None = None
        self._without: dict[int, NoAnswer] = {}

    def piece(self, number: int) -> PieceResult:
        index, piece = self._census.place_of(number)
        cell = self._census.cells[index]
        result: PieceResult = {"cell": index, "failure": "", "refused": False, "symmetric": True, "rows": []}
        try:
            if index in self._without:
                raise self._without[index]
            asked = self._subject(cell.subject)
            result["rows"] = counted(asked, cell, piece)
            if cell.operator in rows.OPERATORS and piece == 0:
                result["symmetric"] = is_symmetric(asked, cell)
        except NoAnswer as error:
            self._without[index] = error
            result |= {"failure": str(error), "refused": error.is_refusal}
        return result

    def _subject(self, name: str) -> Asked:
        if self._asked is None or name != self._name:
            self._stack.close()
            census = self._census
            opening = asking(name, census.timeout, census.versions[name], in_process=census.in_process)
            self._name, self._asked = name, self._stack.enter_context(opening)
        return self._asked


def counted(asked: Asked, cell: Cell, piece: int) -> list[Row]:
    """What a piece of a cell comes to.

    Raises:
        NoAnswer: the subject does not answer as it should.
    """
    scale = cell.scale
    if cell.operator == "ArgMax":
        X, select = argmax.pairs(scale, piece)
        return argmax.counted(scale, piece, asked.answer("ArgMax", X, cell.type, select))
    runs = list(cell.plan.windows(piece))
    if cell.operator in rows.OPERATORS:
        ends = [(first, pairs + (first + pairs == scale.infinity)) for first, pairs in runs]
        X = rows.rows_of(_values(scale, ends))
        Y = amid(asked, cell, X)
        return _by_run(lambda first, part: rows.counted(scale, first, part), ends, Y)
    ends = [(first, pairs + 1) for first, pairs in runs]
    X = _values(scale, ends)
    Y = amid(asked, cell, X)
    found = _by_run(lambda first, part: elementwise.counted(cell.operator, scale, first, part), ends, Y)
    row = empty(0)
    if scale.dtype.itemsize == 2:
        count(row, **all_pairs(scale, Y, 2 * scale.infinity + 1 - len(Y)))
    last = X[-ALONE:]
    others = asked.answer(cell.operator, last, cell.type).view(scale.signed) != Y[-ALONE:].view(scale.signed)
    count(row, asked_alone=len(last), other_alone=int((others & ~np.isnan(Y[-ALONE:])).sum()))
    note(row, "other_alone", scale.places(last[others]))
    return [*found, row]


def amid(asked: Asked, cell: Cell, X: Array) -> Array:
    """What the subject gives for values that have others behind them.

    At the end of a tensor a runtime may compute by other instructions, and neighbours that are computed in two ways may
    come out in the wrong order: that is about places in a tensor, and not about values.
    """
    behind = BEHIND + -(len(X) + BEHIND) % BEHIND
    padded = np.concatenate([X, np.repeat(X[-1:], behind, axis=0)])
    return asked.answer(cell.operator, padded, cell.type)[: len(X)]


def is_symmetric(asked: Asked, cell: Cell) -> bool:
    """Whether rows [a, b] are ordered as [0, b - a].

    Raises:
        NoAnswer: the subject does not answer as it should.
    """
    pairs, differences = rows.drawn_pairs(cell.scale)
    Y, Z = (asked.answer(cell.operator, X, cell.type) for X in (pairs, differences))
    return bool((rows.order(Y) == rows.order(Z)).all())


def _whole(scale: Scale) -> tuple[int, int]:
    return -scale.infinity, scale.infinity


def _values(scale: Scale, runs: list[tuple[int, int]]) -> Array:
    parts = [scale.values(first, number) for first, number in runs]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _by_run(counted: Callable[[int, Array], list[Row]], runs: list[tuple[int, int]], Y: Array) -> list[Row]:
    found, start = [], 0
    for first, number in runs:
        found += counted(first, Y[start : start + number])
        start += number
    return list(merged(found).values())
