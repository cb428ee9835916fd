"""`onnx-conformance census`: run monotone operators and ArgMax on every value of an element type."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from conformance.base.serialization.printable_text import one_line, print_line, print_notice, print_table
from conformance.commands.command_options import add_options
from conformance.run.report.report_files import ReportFiles


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
    from conformance.base.jobs.process_pool import create_workers
    from conformance.studies.census.census_job import DEFAULT_TYPES, make_census_job
    from conformance.studies.census.census_page import write_census
    from conformance.studies.census.census_report import footnotes
    from conformance.studies.census.census_results import TABLE_COLUMNS, TEXT_COLUMN_COUNT, run_census, table_row

    reports = ReportFiles.of(results=results, html=html, markdown=markdown)
    team = create_workers(workers, dask, print_notice)
    job = make_census_job(
        backend,
        operator or list(Operator),
        type or DEFAULT_TYPES,
        timeout,
        is_sampled=sample,
        no_isolation=no_isolation,
    )
    found = run_census(job, team, resume)
    write_census(found, reports)
    rows = [[(cell, "") for cell in row] for row in (TABLE_COLUMNS, *map(table_row, found))]
    print_table(rows, TEXT_COLUMN_COUNT, err=reports.take_standard_output)
    for note in (note for each in found for note in footnotes(each)):
        print_line(one_line(note), err=reports.take_standard_output)
    raise typer.Exit(0 if any(each.number("pairs") for each in found) else 1)
