"""In which Python a subject runs: this one, one that it names, or that of the environment of its release."""

from __future__ import annotations

from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.subjects.naming import Interpreter, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.subjects.naming import SubjectName


def interpreters_of(subjects: Iterable[SubjectName], python: Path | None = None) -> dict[str, Interpreter]:
    """The Pythons of the subjects that do not run in this one, by the subjects' texts.

    Args:
        python: that of all subjects in Python that name none.

    Raises:
        UsageError: an environment is not made, an interpreter is none, or the subject can have neither.
    """
    found = {named.text: interpreter_of(named, python) for named in subjects if not named.is_command}
    return {text: interpreter for text, interpreter in found.items() if interpreter is not None}


def interpreter_of(named: SubjectName, python: Path | None = None) -> Interpreter | None:
    """The Python of one subject; None for this one."""
    if not named.release and not named.python:
        return Interpreter(python) if python is not None else None
    from conformance.environments.requirements import has_adapter, requirements_of  # what reads versions takes its time
    from conformance.environments.store import environment_of

    if named.kind is not SubjectKind.BACKEND:
        raise UsageError(f"{named.text} is a graph optimizer, which has no environment of its own.", "Use --python.")
    if named.release and named.python:
        raise UsageError(f"{named.text} names a release and a Python.", "Leave one of them out.")
    if named.python:
        return Interpreter(_program(named), is_alone=has_adapter(named.name))
    requirements = requirements_of(named)
    environment = environment_of(requirements)
    if environment is None or not environment.is_usable:
        made = "is not there" if environment is None else "is no longer usable"
        raise UsageError(
            f"The environment of {requirements.subject} {made}.",
            f"Make it: onnx-conformance env make {requirements.subject}",
        )
    return Interpreter(environment.python, is_alone=True)


def _program(named: SubjectName) -> Path:
    found = which(named.python)
    if found is None:
        raise UsageError(
            f"{named.text} names no Python that can be executed.", "Write NAME[python=PROGRAM], as /usr/bin/python3."
        )
    return Path(found).absolute()
