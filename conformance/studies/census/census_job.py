"""A census as a distributed job: cells of subject, operator and element type, each divided into chunks."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from conformance.base.errors import SubjectError, UsageError
from conformance.base.jobs.job import require_number
from conformance.base.serialization.decoding import Count, MalformedError
from conformance.own.graphs.intermediate_values import SubjectRefused
from conformance.run.results.recorded_environment import cpu_features
from conformance.studies.census import softmax_census
from conformance.studies.census.chunks import Cell, count_chunk, is_shift_symmetric
from conformance.studies.census.counters import BinadeCounters, check_ordinals
from conformance.studies.census.query import QueryClient, open_client, transfers_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.base.jobs.job import ChunkResult


ARGMAX = "ArgMax"
"""The operator that is tested on pairs of values."""

SHORT_TYPES = ("float16", "bfloat16")
"""The element types of which all pairs of values are tested."""

DEFAULT_TYPES = (*SHORT_TYPES, "float")
"""The element types that are tested unless the user names others."""


class CellChunkResult(msgspec.Struct, forbid_unknown_fields=True):
    """Result of one chunk.

    Attributes:
        cell: index of the cell.
        failure: the subject's failure; empty if the chunk has counters.
        refused: whether the subject reports that it does not support the operator or type.
        symmetric: whether results for rows [a, b] have the same order as for [0, b - a]; tested in the first chunk of
            Softmax and LogSoftmax.
        rows: counters by binade.
    """

    cell: Count
    failure: str = ""
    refused: bool = False
    symmetric: bool = True
    rows: list[BinadeCounters] = []


@dataclass(frozen=True)
class CensusJob:
    """The job of a census.

    Args:
        cells: the cells; those of one subject are adjacent.
        versions: versions of the subjects, by name.
        timeout: time limit of a subject for one query, in seconds.
        in_process: whether subjects written in Python run in the worker's process.
        cpu: instruction sets of the processor; the processors of all workers must have the same ones.
    """

    result_type: ClassVar[Any] = CellChunkResult

    cells: tuple[Cell, ...]
    versions: Mapping[str, str]
    timeout: float = 60.0
    in_process: bool = False
    cpu: str = field(default_factory=lambda: cpu_features().get("cpu features", ""))

    @property
    def identity(self) -> Mapping[str, Any]:
        """See `conformance.base.jobs.job.SavedJob`."""
        cells = [[cell.subject, cell.operator, cell.type, cell.sampled] for cell in self.cells]
        return {"cells": cells, "versions": dict(self.versions), "cpu features": self.cpu}

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(cell.chunk_count for cell in self.cells))

    def chunk_numbers(self) -> range:
        """See `conformance.base.jobs.job.Job`."""
        return range(self._ends[-1] if self._ends else 0)

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`."""
        require_number(chunk.number, len(self.chunk_numbers()))
        if chunk.result.cell != self.locate_chunk(chunk.number)[0]:
            raise MalformedError(f"cell {chunk.result.cell} does not have chunk {chunk.number}")
        possible = self.cells[chunk.result.cell].ordinals
        for row in chunk.result.rows:
            check_ordinals(row, possible)

    @contextmanager
    def open(self) -> Iterator[Callable[[int], CellChunkResult]]:
        """See `conformance.base.jobs.job.Job`."""
        cpu = cpu_features().get("cpu features", "")
        if cpu != self.cpu:
            raise SubjectError("other-processor", cpu=cpu, own_cpu=self.cpu)
        with ExitStack() as stack:
            yield _CensusWorker(self, stack).run_chunk

    def locate_chunk(self, number: int) -> tuple[int, int]:
        """Return the index of the cell to which a chunk belongs, and the number of the chunk within the cell."""
        cell = int(np.searchsorted(self._ends, number, side="right"))
        return cell, number - (self._ends[cell - 1] if cell else 0)


class _CensusWorker:
    """Executes chunks in a worker process; one subject is running at a time."""

    def __init__(self, census: CensusJob, stack: ExitStack) -> None:
        self._census = census
        self._stack = stack
        self._name = ""
        self._client: QueryClient | None = None
        self._failed: dict[int, SubjectRefused] = {}

    def run_chunk(self, number: int) -> CellChunkResult:
        index, chunk = self._census.locate_chunk(number)
        cell = self._census.cells[index]
        result = CellChunkResult(index)
        try:
            if index in self._failed:
                raise self._failed[index]
            client = self._subject(cell.subject)
            result.rows = count_chunk(client, cell, chunk)
            if cell.operator in softmax_census.SOFTMAX_OPERATORS and chunk == 0:
                result.symmetric = is_shift_symmetric(client, cell)
        except SubjectRefused as error:
            self._failed[index] = error
            result.failure = str(error).partition("\n")[0]  # further lines are a traceback with paths of this machine
            result.refused = error.is_unsupported
        return result

    def _subject(self, name: str) -> QueryClient:
        if self._client is None or name != self._name:
            self._stack.close()
            census = self._census
            opening = open_client(name, census.timeout, census.versions[name], in_process=census.in_process)
            self._name = name
            self._client = self._stack.enter_context(opening)
        return self._client


def make_census_job(
    backends: Sequence[str],
    operators: Sequence[str],
    types: Sequence[str],
    timeout: float,
    *,
    is_sampled: bool,
    no_isolation: bool,
) -> CensusJob:
    """Return the census job of some backends; each backend is started once to read its version and capabilities.

    ArgMax and the wide types have many inputs. A subject that cannot exchange tensors in files is tested on a sample.

    Raises:
        ConformanceError: a backend cannot be started, or the operators and types exclude each other.
    """
    if len(set(backends)) < len(backends):
        raise UsageError("subject-twice.backend")
    versions = {}
    cells = []
    for name in backends:
        with open_client(name, timeout, in_process=no_isolation) as asked:
            versions[name] = asked.subject.version
            is_whole = transfers_files(asked.subject) and not is_sampled
        for operator, type in product(operators, types):
            is_wide = type not in SHORT_TYPES
            has_pairs = operator == ARGMAX
            if not (is_wide and has_pairs):  # a type with more than 16 bits has too many pairs of values
                cells.append(Cell(name, str(operator), str(type), (is_wide or has_pairs) and not is_whole))
    if not cells:
        raise UsageError("type-unsupported")
    return CensusJob(tuple(cells), versions, timeout, no_isolation)
