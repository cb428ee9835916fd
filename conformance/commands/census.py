"""`onnx-conformance census`: run monotone operators and ArgMax on every value of an element type."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.commands.options import add_options
from conformance.report.report_files import ReportFiles
from conformance.serialization.terminal import print_line, print_notice, progress_counter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.census.job import CellChunkResult, CensusJob


class Operator(StrEnum):
    """The operators that a census can test."""

    EXP = "Exp"
    LOG = "Log"
    SQRT = "Sqrt"
    SOFTMAX = "Softmax"
    LOG_SOFTMAX = "LogSoftmax"
    ARGMAX = "ArgMax"


class Type(StrEnum):
    """The element types whose values a census can test."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT = "float"
    DOUBLE = "double"


@add_options
def census(
    backend: list[str],
    operator: list[Operator] | None = None,
    type: list[Type] | None = None,
    results: Path | None = None,
    html: Path | None = None,
    markdown: Path | None = None,
    workers: int | None = None,
    dask: str | None = None,
    resume: Path | None = None,
    sample: bool = False,
    timeout: float = 60.0,
    no_isolation: bool = False,
) -> None:
    """Count the values for which Exp, Log, Sqrt, Softmax, LogSoftmax or ArgMax gives a wrong order or a wrong rounding.

    All values of float16, bfloat16 and float are tested, and a sample of the values of double. A subject receives up to
    2^20 values at a time.

    Exit status: 0 if at least one subject computes outputs, whatever the counts are; 1 if none does.
    """
    from conformance.census.page import render_page
    from conformance.census.report import environment_facts, json_lines, terminal_lines
    from conformance.census.report import markdown as markdown_of
    from conformance.census.results import collect_cells
    from conformance.files.atomic_write import (
        write_chunks_atomically,
        write_text_atomically,
    )
    from conformance.jobs.job import JobState, run_job
    from conformance.jobs.process_pool import create_workers

    reports = ReportFiles.of(results=results, html=html, markdown=markdown)
    reports.check(*([resume] if resume else []))
    team = create_workers(workers, dask, print_notice)
    job = _job(backend, operator, type, timeout, is_sampled=sample, no_isolation=no_isolation)
    with ExitStack() as stack:
        state = stack.enter_context(JobState(resume, job)) if resume else None
        advance = stack.enter_context(progress_counter("counting", len(list(job.chunk_numbers()))))

        def chunk_results() -> Iterator[CellChunkResult]:
            for chunk in run_job(job, team, state):
                yield chunk.result
                advance("")

        found = collect_cells(job, chunk_results())
    if results is not None:
        write_chunks_atomically(results, json_lines(found, environment_facts()))
    if html is not None:
        write_text_atomically(html, render_page(found, environment_facts()))
    if markdown is not None:
        write_text_atomically(markdown, markdown_of(found, environment_facts()))
    for line in terminal_lines(found):
        print_line(line, err=reports.take_standard_output)
    raise typer.Exit(0 if any(each.number("pairs") for each in found) else 1)


def _job(
    backends: list[str],
    operators: list[Operator] | None,
    types: list[Type] | None,
    timeout: float,
    *,
    is_sampled: bool,
    no_isolation: bool,
) -> CensusJob:
    """Return the census job of some backends; each backend is started once to read its version and capabilities.

    Raises:
        ConformanceError: a backend cannot be started, or the operators and types exclude each other.
    """
    from conformance.census.chunks import Cell
    from conformance.census.job import CensusJob
    from conformance.census.query import open_client, transfers_files
    from conformance.errors import UsageError

    if len(set(backends)) < len(backends):
        raise UsageError("subject-twice", "A backend is named twice.", "Name each backend once.")
    versions, cells = {}, []
    for name in backends:
        with open_client(name, timeout, in_process=no_isolation) as asked:
            versions[name], is_whole = asked.subject.version, transfers_files(asked.subject) and not is_sampled
        pairs = [
            (o, t)
            for o in operators or Operator
            for t in types or (Type.FLOAT16, Type.BFLOAT16, Type.FLOAT)
            if _can_be_tested(o, t)
        ]
        cells += [Cell(name, str(o), str(t), _has_many_inputs(o, t) and not is_whole) for o, t in pairs]
    if not cells:
        raise UsageError(
            "type-unsupported",
            "ArgMax can only be tested in float16 and bfloat16.",
            "Leave --type out, or name float16 or bfloat16.",
        )
    return CensusJob(tuple(cells), versions, timeout, no_isolation)


def _can_be_tested(operator: Operator, type: Type) -> bool:
    """Return whether a census can test an operator with an element type.

    ArgMax is tested on pairs of values, and types with more than 16 bits have too many pairs.
    """
    return operator is not Operator.ARGMAX or not _is_wide(type)


def _has_many_inputs(operator: Operator, type: Type) -> bool:
    """Return whether the operator has too many inputs for a subject that cannot exchange tensors in files.

    Such a subject is tested on a sample of the inputs.
    """
    return operator is Operator.ARGMAX or _is_wide(type)


def _is_wide(type: Type) -> bool:
    return type in {Type.FLOAT, Type.DOUBLE}
