"""A census as a campaign's job: cells of subject, operator and type, each cut into pieces."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from conformance.boundary.decoding import Count
from conformance.census import rows
from conformance.census.asking import Asked, NoAnswer, asking
from conformance.census.cell import Cell
from conformance.census.pieces import counted, is_symmetric
from conformance.census.tally import Row
from conformance.errors import SubjectError
from conformance.results.environment import cpu_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


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
class Census:
    """All cells of a command.

    Args:
        cells: the cells, those of one subject together.
        versions: of the subjects, by name.
        timeout: seconds that a subject may take for one input.
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
            said = str(error).partition("\n")[0]  # what follows is a trace of calls, with paths of this machine
            result |= {"failure": said, "refused": error.is_refusal}
        return result

    def _subject(self, name: str) -> Asked:
        if self._asked is None or name != self._name:
            self._stack.close()
            census = self._census
            opening = asking(name, census.timeout, census.versions[name], in_process=census.in_process)
            self._name, self._asked = name, self._stack.enter_context(opening)
        return self._asked
