"""`onnx-conformance history update|show`: the results of all releases of runtimes and graph optimizers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.completion import backend_names
from conformance.commands.options import Data, PythonForEnvironment, Verb, Verbs, Workers, add_options, echo

if TYPE_CHECKING:
    from conformance.history.store import Target

app = typer.Typer(cls=Verbs, no_args_is_help=True)

Store = Annotated[
    Path,
    typer.Option("--store", metavar="DIR", help="Folder of the history."),
]

DEFAULT_STORE = Path("reports/history")


@app.callback()
def history() -> None:
    """Collect the results of many releases, and show since which release a case fails."""


@app.command("update", cls=Verb)
@add_options
def update(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME[@RANGE]…",
            show_default=False,
            help="Runtimes and graph optimizers, with or without releases: tract, onnxsim@0.5.., onnxsim@0.4..0.5.",
            autocompletion=backend_names,
        ),
    ],
    optimizer: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--optimizer",
            metavar="NAME[@RANGE]",
            help="A graph optimizer that has the name of a runtime: onnxruntime\\[level=all].",
        ),
    ] = None,
    store: Store = DEFAULT_STORE,
    only_new: Annotated[
        bool, typer.Option("--new", help="Find only releases that are newer than the newest release in the history.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try the releases again that are recorded as unavailable.")
    ] = False,
    workers: Workers = None,
    data: Data = None,
    python: PythonForEnvironment = "",
) -> None:
    """Run the corpus on all releases that the history lacks, each in a new virtual environment.

    Only this command and `env create` use the network. An interrupted update is continued by the same command.

    Exit status: 0 if all releases have results or are recorded as unavailable, 1 if a run failed.
    """
    import sys

    from conformance.corpus.corpus import bundled_corpus_path, open_corpus
    from conformance.environments.create import PackageSources
    from conformance.history.store import HistoryStore
    from conformance.history.update import ReleaseTask, RunSettings, missing_releases, order_by_gaps, update_store

    settings = RunSettings(data, workers, PackageSources(python or sys.executable))
    found = HistoryStore(store)
    corpus = open_corpus(data or bundled_corpus_path())
    parsed = [_parse_name(name, is_optimizer=False) for name in names]
    parsed += [_parse_name(name, is_optimizer=True) for name in optimizer or ()]
    with found.lock():
        tasks: list[ReleaseTask] = []
        for target, text in parsed:
            releases = _find_releases(found, target, text, settings.sources.python, only_new=only_new)
            missing = missing_releases(found, target, releases, corpus, retry=retry)
            echo(f"{target.text}: {len(releases)} releases, {len(missing)} to run")
            tasks += [ReleaseTask(target, release) for release in order_by_gaps(missing)]
        counts = update_store(found, corpus, tasks, settings, echo)
    echo(f"{counts.done} releases run, {counts.unavailable} unavailable, {counts.failed} failed")
    raise typer.Exit(1 if counts.failed else 0)


def _parse_name(text: str, *, is_optimizer: bool) -> tuple[Target, str]:
    """Return the subject without its release, and its range of releases as text."""
    from conformance.errors import UnknownName, did_you_mean
    from conformance.history.store import Target
    from conformance.plugins import registered_entry_points
    from conformance.subjects.naming import SubjectKind, SubjectName

    kinds = [SubjectKind.OPTIMIZER] if is_optimizer else [SubjectKind.BACKEND, SubjectKind.OPTIMIZER]
    for kind in kinds:
        named = SubjectName.parse(text, kind)
        if named.name in registered_entry_points(kind.group):
            return Target.parse(text, kind), named.release
    known = [name for kind in kinds for name in registered_entry_points(kind.group)]
    raise UnknownName(
        "unknown-subject",
        f"There is no runtime or graph optimizer {SubjectName.parse(text, kinds[0]).name}.",
        did_you_mean(text, known, f"Use {', '.join(known)}."),
    )


_ANY_RELEASE = "0"
"""Stands for a release; the package of a subject is the package that is installed in this release."""


def _find_releases(store: object, target: Target, text: str, python: str, *, only_new: bool) -> list[str]:
    """Return the releases of a subject in a range, the oldest first."""
    from packaging.requirements import Requirement
    from packaging.version import Version

    from conformance.environments.requirements import find_requirements
    from conformance.errors import HistoryError
    from conformance.history.releases import ReleaseRange, find_releases
    from conformance.history.store import HistoryStore

    assert isinstance(store, HistoryStore)
    range = ReleaseRange.parse(text)
    requirements = find_requirements(target.subject(_ANY_RELEASE))
    pinned = map(Requirement, (*requirements.packages, *requirements.bare))
    package = next(each.name for each in pinned if str(each.specifier) == f"=={_ANY_RELEASE}")
    stored = [each.version for each in store.releases(target)]
    if not only_new or not stored:
        return find_releases(package, range, python)
    try:
        newest = find_releases(package, ReleaseRange(max(stored)), python)
    except HistoryError as error:
        if error.code != "history.no-release":
            raise
        return []
    return [release for release in newest if range.has(Version(release))]
