"""`onnx-conformance env create|list|remove`: releases of subjects, each in its own virtual environment."""

from __future__ import annotations

import typer

from conformance.base.serialization.printable_text import print_line
from conformance.commands.command_options import Verb, Verbs, add_options

app = typer.Typer(cls=Verbs, no_args_is_help=True)


@app.callback()
def env() -> None:
    """Manage virtual environments, each with one release of a runtime or graph optimizer."""


@app.command("create", cls=Verb)
@add_options
def create(releases: list[str], python: str = "", find_links: list[str] | None = None, no_index: bool = False) -> None:
    """Install releases for `run -b NAME@RELEASE` or `run -o NAME@RELEASE`, each in its own virtual environment.

    Only this command, `history update` and `blame --install` install packages. uv is used if it is available,
    otherwise venv and pip. For a name without a release, the release that this suite pins is installed.

    Exit status: 2 if a release cannot be installed or does not start.
    """
    import sys

    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
    from conformance.subjects.environments.create import PackageSources, create_environment
    from conformance.subjects.environments.requirements import find_requirements

    sources = PackageSources(python or sys.executable, tuple(find_links or ()), no_index)
    for requirements in [find_requirements(SubjectName.parse(text, SubjectKind.BACKEND)) for text in releases]:
        environment, is_new = create_environment(requirements, sources)
        print_line(f"{requirements.subject}: {'created' if is_new else 'exists'}, {environment.folder}")


@app.command("list", cls=Verb)
@add_options
def list_() -> None:
    """List the environments with their Python versions."""
    from conformance.subjects.environments.registry import list_environments

    for environment in list_environments():
        python = f"Python {environment.document.python}" if environment.document else "unreadable"
        print_line(
            f"{environment.subject}  {python if environment.is_usable else 'no longer usable'}  {environment.folder}"
        )


@app.command("remove", cls=Verb)
@add_options
def remove(releases: list[str]) -> None:
    """Remove environments; a name without a release removes all its releases."""
    from conformance.subjects.environments.registry import remove_release

    for release in releases:
        for environment in remove_release(release):
            print_line(f"{environment.subject}: removed")
