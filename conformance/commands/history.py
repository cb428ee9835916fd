"""`onnx-conformance history update|show`: the results of all releases of runtimes and graph optimizers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import HistoryError, UnknownName
from conformance.base.files.atomic_write import write_json_atomically, write_text_atomically
from conformance.base.serialization.printable_text import print_line, print_notice
from conformance.commands.command_options import Verb, Verbs, add_options
from conformance.run.report.report_files import ReportFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.run.results.known_faults import KnownFault
    from conformance.studies.history.store import HistoryStore
    from conformance.subjects.calling.subject_names import SubjectName

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
    from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
    from conformance.studies.history.history_update import missing_releases, order_by_gaps, update_store
    from conformance.studies.history.release_ranges import ReleaseRange
    from conformance.studies.history.release_run import ReleaseTask, RunSettings
    from conformance.studies.history.store import HistoryStore
    from conformance.subjects.environments.create import PackageSources

    settings = RunSettings(data, workers, offline, PackageSources(python or sys.executable))
    found = HistoryStore(store)
    corpus = open_corpus(data or bundled_corpus_path())
    parsed = [_parse_name(name, is_optimizer=False) for name in names]
    parsed += [_parse_name(name, is_optimizer=True) for name in optimizer or ()]
    with found.lock():
        if any(each.digest == corpus.digest for each in found.releases()):
            found.add_cases(corpus)  # a removed file with the cases of this corpus is written again
        tasks: list[ReleaseTask] = []
        for target, text in parsed:
            if offline:
                range = ReleaseRange.parse(text)
                stored = [each for each in found.releases(target) if range.has(each.version)]
                releases = list(dict.fromkeys(each.release for each in stored))
                if not releases:
                    raise HistoryError("no-result.range", subject=target.text)
            else:
                releases = _find_releases(found, target, text, settings.sources.python, only_new=only_new)
            missing = missing_releases(found, target, releases, corpus, retry=retry)
            print_line(f"{target.text}: {len(releases)} release{'s' * (len(releases) != 1)}, {len(missing)} to run")
            tasks += [ReleaseTask(target, release, known=tuple(releases)) for release in order_by_gaps(missing)]
        team = create_workers(workers, dask, print_notice) if dask is not None else None
        counts = update_store(found, corpus, tasks, settings, print_line, team)
    print_line(f"Releases: {counts.done} run, {counts.unavailable} unavailable, {counts.failed} failed")
    raise typer.Exit(1 if counts.failed else 0)


def _parse_name(text: str, *, is_optimizer: bool) -> tuple[SubjectName, str]:
    """Return the subject without its release, and its range of releases as text."""
    from conformance.base.plugins import registered_entry_points
    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

    kinds = [SubjectKind.OPTIMIZER] if is_optimizer else [SubjectKind.BACKEND, SubjectKind.OPTIMIZER]
    for kind in kinds:
        named = SubjectName.parse(text, kind)
        if named.name in registered_entry_points(kind.group):
            return named.without_release, named.release
    known = [name for kind in kinds for name in registered_entry_points(kind.group)]
    raise UnknownName("unknown-subject", name=SubjectName.parse(text, kinds[0]).name, text=text, known=known)


def _find_releases(store: HistoryStore, target: SubjectName, text: str, python: str, *, only_new: bool) -> list[str]:
    """Return the releases of a subject in a range, the oldest first."""
    from packaging.version import Version

    from conformance.studies.history.release_ranges import ReleaseRange, find_releases
    from conformance.subjects.environments.requirements import released_package

    range = ReleaseRange.parse(text)
    package = released_package(target)
    stored = [each.version for each in store.releases(target)]
    if not only_new or not stored:
        found = find_releases(package, range, python)
        for end in range.missing_ends(found):
            print_line(f"warning: {package} {end} has no wheel for this Python", err=True)
        return found
    try:
        newest = find_releases(package, ReleaseRange(max(stored)), python)
    except HistoryError as error:
        if error.code != "history.no-release":
            raise
        return []
    return [release for release in newest if range.has(Version(release))]


@app.command("show", cls=Verb)
@add_options
def show(thing: str = "", store: Path = DEFAULT_STORE, json: Path | None = None, html: Path | None = None) -> None:
    """Show the verdicts of all releases in the history: one column per release, one row per group of cases.

    The cases of a row have the same verdict in each release, and the same cause. Regressions come first.
    """
    from conformance.studies.history.index import open_index
    from conformance.studies.history.store import HistoryStore
    from conformance.studies.history.timeline import LEGEND, document, text_table, timelines

    reports = ReportFiles.of(json=json, html=html)
    reports.check()
    found_store = HistoryStore(store)
    if not found_store.releases():
        variant = "results" if store.is_dir() else "folder"
        raise HistoryError(f"empty.{variant}", store=store)
    has_target, has_case = _selection(found_store, thing)
    with open_index(found_store) as index:
        found = timelines(found_store, index, has_target, has_case)
    found = [timeline for timeline in found if timeline.rows]
    if not found:
        raise HistoryError("no-result.thing", thing=thing)
    write_json_atomically(json, document(found))
    if html is not None:
        from conformance.studies.history.history_page import render_page

        write_text_atomically(html, render_page(found))
    show_line = partial(print_line, err=reports.take_standard_output)
    is_subject = not thing or thing in {name for each in found for name in (each.target.text, each.target.name)}
    for timeline in found:
        for line in text_table(timeline, with_cases=not is_subject):
            show_line(line)
        show_line("")
    show_line(LEGEND)


def _is_subject_of(fault: KnownFault, target: SubjectName) -> bool:
    """Return whether a known fault is a fault of a subject; its release and its options are ignored."""
    from conformance.subjects.calling.subject_names import SubjectName

    return target.kind == fault.kind and target.name == SubjectName.parse(fault.subject, target.kind).name


def _selection(store: HistoryStore, thing: str) -> tuple[Callable[[SubjectName], bool], Callable[[str], bool]]:
    """Return functions that select subjects and cases.

    Raises:
        UnknownName: the history has no such case, fault or subject.
    """
    from conformance.run.results.known_faults import known_faults
    from conformance.studies.history.store import history_cases

    if not thing:
        return (lambda _: True), (lambda _: True)
    stored = store.releases()
    subjects = {name for each in stored for name in (each.target.text, each.target.name)}
    if thing in subjects:
        return (lambda target: thing in {target.text, target.name}), (lambda _: True)
    for fault in known_faults():
        if thing in {fault.title, fault.anchor, fault.location, fault.location.rpartition("/")[2]}:
            return partial(_is_subject_of, fault), fault.cases.__contains__
    cases = {record.case for record in history_cases(stored[0].path, stored[0].digest)}
    if thing in cases:
        return (lambda _: True), (lambda case: case == thing)
    raise UnknownName("no-such-history", thing=thing, known={*subjects, *cases}, subjects=sorted(subjects))
