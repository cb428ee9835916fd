"""Versions of the compilers and libraries on which the outputs of a runtime depend.

The table `adapters/runtimes.toml` names the compilers and libraries of each known runtime.
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


_VERSION_TIMEOUT = 10.0
"""Seconds that a compiler may take to print its version."""


def dependency_versions(subjects: Iterable[str]) -> dict[str, str]:
    """Return the versions of the libraries and compilers that `subjects` depend on, by name of the dependency.

    Example: `{"clang": "clang version 19.1.7"}`. For a subject with a release, such as `onnxruntime@1.20.1`, the key is
    the subject's name and the value lists all packages of its environment.
    """
    known = _dependencies_by_runtime()
    found: dict[str, str] = {}
    for subject in subjects:
        named = SubjectName.parse(subject, SubjectKind.BACKEND)
        if named.release:
            found |= _installed_packages(named)
        runtime = {} if named.release or named.python else known.get(named.name, {})
        found |= {name: _library_version(name) for name in runtime.get("libraries", ())}
        found |= {
            program: _compiler_version(program, variable) for program, variable in runtime.get("compilers", {}).items()
        }
    return found


def _installed_packages(named: SubjectName) -> dict[str, str]:
    """Return the packages installed in the environment of a release, as one text under the subject's name.

    The result is empty if the environment does not exist or cannot be read.
    """
    from conformance.environments.registry import find_environment
    from conformance.environments.requirements import find_requirements  # the import takes time

    requirements = find_requirements(named)
    environment = find_environment(requirements)
    if environment is None or environment.document is None:
        return {}
    document = environment.document
    return {requirements.subject: ", ".join((f"Python {document['python']}", *document["installed"]))}


@cache
def _dependencies_by_runtime() -> Mapping[str, Mapping[str, Any]]:
    """Return the table `dependencies` of `adapters/runtimes.toml`; its keys are the entry-point names of runtimes."""
    text = resources.files("conformance.adapters").joinpath("runtimes.toml").read_text(encoding="utf-8")
    known: Mapping[str, Mapping[str, Any]] = tomllib.loads(text)["dependencies"]
    return known


def _library_version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def _compiler_version(program: str, variable: str) -> str:
    """Return the first line that a compiler prints for `--version`.

    Args:
        program: name of the compiler's program.
        variable: name of an environment variable, such as `CC`; if it is set, its value is the program.
    """
    try:
        ended = subprocess.run(
            [os.environ.get(variable) or program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "not found"
    return next(iter(ended.stdout.splitlines()), "").strip() or "prints no version"
