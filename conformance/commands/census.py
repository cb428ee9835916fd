"""`onnx-conformance census`: run monotone operators and ArgMax on every value of an element type."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.files.atomic_write import write_chunks_atomically, write_text_atomically
from conformance.base.serialization.printable_text import (
    one_line,
    print_line,
    print_notice,
    print_table,
    progress_counter,
)
from conformance.commands.command_options import add_options
from conformance.run.report.report_files import ReportFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.studies.census.census_job import CellChunkResult


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


_SHORT_TYPES = (Type.FLOAT16, Type.BFLOAT16)


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
    from conformance.base.jobs.job import JobState, run_job
    from conformance.base.jobs.process_pool import create_workers
    from conformance.studies.census.census_job import make_census_job
    from conformance.studies.census.census_page import render_page
    from conformance.studies.census.census_report import environment_facts, footnotes, json_lines
    from conformance.studies.census.census_report import markdown as markdown_of
    from conformance.studies.census.census_results import TABLE_COLUMNS, TEXT_COLUMN_COUNT, collect_cells, table_row

    reports = ReportFiles.of(results=results, html=html, markdown=markdown)
    reports.check()
    team = create_workers(workers, dask, print_notice)
    operators = operator or list(Operator)
    types = type or [*_SHORT_TYPES, Type.FLOAT]
    job = make_census_job(backend, operators, types, timeout, is_sampled=sample, no_isolation=no_isolation)
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
    rows = [[(cell, "") for cell in row] for row in (TABLE_COLUMNS, *map(table_row, found))]
    print_table(rows, TEXT_COLUMN_COUNT, err=reports.take_standard_output)
    for note in (note for each in found for note in footnotes(each)):
        print_line(one_line(note), err=reports.take_standard_output)
    raise typer.Exit(0 if any(each.number("pairs") for each in found) else 1)
