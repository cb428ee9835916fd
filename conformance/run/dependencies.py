"""What a released runtime's answers depend on besides its version: the compiler that it calls, other libraries.

What these are is told in `backends/runtimes.toml`, for the subjects that it knows.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from functools import cache
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PATIENCE = 10.0
"""Seconds that a compiler may take to say its version."""


def dependencies(subjects: Iterable[str]) -> dict[str, str]:
    """The versions of what these subjects depend on, by name, as in `{"clang": "clang version 19.1.7"}`.

    Of a subject in an environment of its own it is all that is installed there, by the subject's name.
    """
    known = _known()
    found: dict[str, str] = {}
    for subject in subjects:
        named = SubjectName.of(subject, SubjectKind.BACKEND)
        if named.release:
            found |= _installed(named)
        runtime = {} if named.release or named.python else known.get(named.name, {})
        found |= {name: _version_of(name) for name in runtime.get("libraries", ())}
        found |= {program: _first_line(program, variable) for program, variable in runtime.get("compilers", {}).items()}
    return found


def _installed(named: SubjectName) -> dict[str, str]:
    """What the environment of a subject's release has."""
    from conformance.environments.requirements import requirements_of  # what reads versions takes its time
    from conformance.environments.store import environment_of

    requirements = requirements_of(named)
    environment = environment_of(requirements)
    if environment is None or environment.document is None:
        return {}
    document = environment.document
    return {requirements.subject: ", ".join((f"Python {document['python']}", *document["installed"]))}


@cache
def _known() -> Mapping[str, Mapping[str, Any]]:
    """What is told of each runtime, by its entry point."""
    text = resources.files("conformance.backends").joinpath("runtimes.toml").read_text(encoding="utf-8")
    known: Mapping[str, Mapping[str, Any]] = tomllib.loads(text)["dependencies"]
    return known


def _version_of(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def _first_line(program: str, variable: str) -> str:
    """What a compiler says first of its version; the variable of the environment names another in its place."""
    try:
        said = subprocess.run(
            [os.environ.get(variable) or program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "not found"
    return next(iter(said.stdout.splitlines()), "").strip() or "says no version"
