"""`onnx-conformance history update|show`: the results of all releases of runtimes and graph optimizers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from conformance.base.serialization.printable_text import print_line, print_notice
from conformance.commands.command_options import Verb, Verbs, add_options
from conformance.run.report.report_files import ReportFiles

app = typer.Typer(cls=Verbs, no_args_is_help=True)

DEFAULT_STORE = Path("reports/history")


@app.callback()
def history() -> None:
    """Collect the results of many releases, and show since which release a case fails."""


@app.command("update", cls=Verb)
@add_options
def update(
    names: list[str],
    optimizer: list[str] | None = None,
    store: Path = DEFAULT_STORE,
    only_new: bool = False,
    retry: bool = False,
    offline: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    data: Path | None = None,
    python: str = "",
) -> None:
    """Run the corpus on all releases that the history lacks, each in a new virtual environment.

    Only this command, `env create` and `blame --install` use the network. An interrupted update is continued by the
    same command.

    Exit status: 0 if all releases have results or are recorded as unavailable, 1 if a run failed.
    """
    import sys

    from conformance.base.jobs.process_pool import create_workers
    from conformance.studies.history.history_update import parse_range, update_history
    from conformance.studies.history.release_run import RunSettings
    from conformance.studies.history.store import HistoryStore
    from conformance.subjects.environments.create import PackageSources

    settings = RunSettings(data, workers, offline, PackageSources(python or sys.executable))
    named = [parse_range(name, is_optimizer=False) for name in names]
    named += [parse_range(name, is_optimizer=True) for name in optimizer or ()]
    try:
        counts = update_history(
            HistoryStore(store),
            named,
            settings,
            only_new=only_new,
            retry=retry,
            team=create_workers(workers, dask, print_notice) if dask is not None else None,
            show=print_line,
            warn=partial(print_line, err=True),
        )
    except KeyboardInterrupt as interruption:
        interruption.add_note(f"Interrupted: {store} keeps the releases that are complete. The same command continues.")
        raise
    print_line(f"Releases: {counts.done} run, {counts.unavailable} unavailable, {counts.failed} failed")
    raise typer.Exit(1 if counts.failed else 0)


@app.command("show", cls=Verb)
@add_options
def show(thing: str = "", store: Path = DEFAULT_STORE, json: Path | None = None, html: Path | None = None) -> None:
    """Show the verdicts of all releases in the history: one column per release, one row per group of cases.

    The cases of a row have the same verdict in each release, and the same cause. Regressions come first.
    """
    from conformance.studies.history.history_page import write_timelines
    from conformance.studies.history.timeline import LEGEND, is_subject_name, selected_timelines, text_table

    reports = ReportFiles.of(json=json, html=html)
    found = selected_timelines(store, thing)
    write_timelines(found, reports)
    show_line = partial(print_line, err=reports.take_standard_output)
    is_subject = not thing or is_subject_name(thing, found)
    for timeline in found:
        for line in text_table(timeline, with_cases=not is_subject):
            show_line(line)
        show_line("")
    show_line(LEGEND)
