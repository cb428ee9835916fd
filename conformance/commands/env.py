"""`onnx-conformance env make|list|remove`: releases of runtimes, each in an environment of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from conformance.commands.completion import backend_names
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from conformance.environments.requirements import Requirements

app = typer.Typer(no_args_is_help=True, help="Keep releases of runtimes, each in an environment of its own.")

Releases = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME[@RELEASE]…",
        show_default=False,
        help="As in onnxruntime@1.20.1.",
        autocompletion=backend_names,
    ),
]


@app.callback()
def _env() -> None:
    """Keep releases of runtimes, each in an environment of its own."""


@app.command("make")
def make(
    releases: Releases,
    python: Annotated[str, typer.Option(metavar="PROGRAM", help="The Python to make it with, if not this one.")] = "",
    find_links: Annotated[
        list[str] | None, typer.Option("--find-links", metavar="DIR", help="Where wheels lie, as for pip.")
    ] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Ask no index; take what lies there.")] = False,
) -> None:
    """Install releases of runtimes, each with NumPy in an environment of its own; then `run -b NAME@RELEASE` has it.

    It is the only command that installs anything, by uv where that is there and else by venv and pip. Without a release
    it is the one that this suite has pinned. Exit status: 2 where one does not install or does not start.
    """
    import sys

    from conformance.environments.making import Sources
    from conformance.environments.making import make as made_of

    sources = Sources(python or sys.executable, tuple(find_links or ()), no_index)
    for requirements in [_requirements(release) for release in releases]:
        environment, is_new = made_of(requirements, sources)
        say(f"{requirements.subject}: {'made' if is_new else 'is there'}, {environment.folder}")


@app.command("list")
def list_() -> None:
    """List the environments that are there, with the Python of each."""
    from conformance.environments.store import environments

    for environment in environments():
        told = f"Python {environment.document['python']}" if environment.document else "unreadable"
        say(f"{environment.subject}  {told if environment.is_usable else 'no longer usable'}  {environment.folder}")


@app.command("remove")
def remove(releases: Releases) -> None:
    """Remove environments; a name without a release means all of its releases that are there."""
    from conformance.environments.store import environments
    from conformance.environments.store import remove as taken_away
    from conformance.errors import UnknownName

    for release in releases:
        found = [one for one in environments() if release in one.names]
        if not found:
            raise UnknownName(f"There is no environment of {release}.", "See onnx-conformance env list.")
        for environment in found:
            taken_away(environment)
            say(f"{environment.subject}: removed")


def _requirements(release: str) -> Requirements:
    from conformance.environments.requirements import requirements_of
    from conformance.subjects.naming import SubjectKind, SubjectName

    return requirements_of(SubjectName.of(release, SubjectKind.BACKEND))
