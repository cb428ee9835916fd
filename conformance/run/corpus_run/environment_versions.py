"""Versions of the compilers and libraries on which the outputs of a runtime depend, and a hash of its files.

The table `adapters/runtimes.toml` names the compilers and libraries of each known runtime.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import shlex
import shutil
import sys
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import open_input
from conformance.base.plugins import (
    DISTRIBUTION,
    check_dependencies,
    extra_for_adapter,
    installed_name,
    registered_entry_points,
)
from conformance.base.processes.start import run_program
from conformance.base.serialization.decoding import read_own_toml
from conformance.run.results.recorded_environment import cpu_name, describe_environment
from conformance.subjects.calling.subject_names import EXEC_PREFIX, SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.subjects.calling.subject_names import Subject


_VERSION_TIMEOUT = 10.0
"""Seconds that a compiler may take to print its version."""


def run_environment(subjects: Iterable[Subject]) -> dict[str, str]:
    """Return the environment of a run for the header of its results: processor, libraries, compilers, variables.

    Raises:
        DependencyError: a package has a version that the suite cannot use.
    """
    check_dependencies()
    return cpu_name() | describe_environment() | dependency_versions(subject.id for subject in subjects)


def dependency_versions(subjects: Iterable[str]) -> dict[str, str]:
    """Return the versions of the libraries and compilers that `subjects` depend on, by name of the dependency.

    Example: `{"clang": "clang version 19.1.7"}`. For a subject with a release, such as `onnxruntime@1.20.1`, the key is
    the subject's name and the value lists all packages of its environment.
    """
    known = read_own_toml("conformance.subjects.adapters", "runtimes.toml")["dependencies"]
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
    from conformance.subjects.environments.registry import find_environment
    from conformance.subjects.environments.requirements import find_requirements  # the import takes time

    requirements = find_requirements(named)
    environment = find_environment(requirements)
    if environment is None or environment.document is None:
        return {}
    document = environment.document
    return {requirements.subject: ", ".join((f"Python {document.python}", *document.installed))}


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
        ended = run_program([os.environ.get(variable) or program, "--version"], timeout=_VERSION_TIMEOUT)
    except (OSError, TimeoutExpired):
        return "not found"
    return next(iter(ended.stdout.decode(errors="replace").splitlines()), "").strip() or "prints no version"


_REQUIREMENT_NAME = re.compile(r"[A-Za-z0-9._-]+")
_UNRECORDED_SUFFIXES = (".pyc", "/RECORD", "/INSTALLER", "/REQUESTED", "/direct_url.json")
"""Ends of the names of installed files that depend on the installation and not on the package."""

_UNRECORDED_FOLDERS = ("../", "/", "conformance/data/")
"""Starts of the names of installed scripts, and of the files of the corpus, which has a digest of its own."""

_SOURCE_SUFFIXES = (".py", ".toml", ".json", ".so")


def subject_files_digest(id: str, kind: SubjectKind) -> str | None:
    """Return the SHA-256 of the files of a subject; None if they are unknown.

    - For a command, it is the hash of the hashes of the files that the command names.
    - For an installed package, it is the hash of the hashes that its wheel records for its files.
    - For other Python modules, it is the hash of the hashes of their source files.

    Subjects of another Python have no digest here.
    """
    named = SubjectName.parse(id, kind)
    if named.is_command:
        return _digest(_command_hashes(named.name.removeprefix(EXEC_PREFIX)))
    if named.release or named.python:
        return None
    return _digest(line for package in _packages(named) for line in _package_hashes(package))


def _digest(lines: Iterable[str]) -> str | None:
    found = sorted(lines)
    return hashlib.sha256("".join(f"{line}\n" for line in found).encode()).hexdigest() if found else None


def _command_hashes(command: str) -> Iterator[str]:
    """Yield the name and the hash of each file that a command names."""
    try:
        words = shlex.split(command)
    except ValueError:
        return
    for place, word in enumerate(words):
        path = Path(word if place else shutil.which(word) or word)
        if path.is_file():
            yield f"{place},{_file_hash(path)}"


def _file_hash(path: Path) -> str:
    try:
        with open_input(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def _packages(named: SubjectName) -> list[str]:
    """Return the distributions of a subject, or the name of its module."""
    module = named.name.partition(":")[0]
    if (point := registered_entry_points(named.kind.group).get(named.name)) is not None:
        if extra := extra_for_adapter(named.kind.group, named.name):
            required = metadata.requires(DISTRIBUTION) or ()
            of_extra = [text for text in required if re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", text)]
            return [match[0] for text in of_extra if (match := _REQUIREMENT_NAME.match(text))]
        module = point.module
    top = module.partition(".")[0]
    if top == "conformance":
        return [DISTRIBUTION] if named.name != "onnx-reference" else ["onnx"]
    return [top]


def _package_hashes(package: str) -> Iterator[str]:
    """Yield the name and the recorded hash of each file of a distribution, or the hashes of a module's source files."""
    try:
        record = metadata.distribution(installed_name(package)).read_text("RECORD") or ""
    except (metadata.PackageNotFoundError, OSError, UnicodeDecodeError):
        record = ""
    recorded = [
        f"{name},{digest}"
        for name, digest, *_ in csv.reader(record.splitlines())
        if digest and not name.startswith(_UNRECORDED_FOLDERS) and not name.endswith(_UNRECORDED_SUFFIXES)
    ]
    if any(line.partition(",")[0].endswith((".py", ".so")) for line in recorded):
        yield from recorded
        return
    spec = PathFinder.find_spec("conformance" if package == DISTRIBUTION else package, sys.path)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        for root, _, names in os.walk(folder):
            below = root[len(folder) :].replace(os.sep, "/").lstrip("/")
            paths = (Path(root, name) for name in names if name.endswith(_SOURCE_SUFFIXES))
            yield from (f"{below}{below and '/'}{path.name},{_file_hash(path)}" for path in paths if path.is_file())
    if spec and spec.origin and not folders and Path(spec.origin).is_file():
        yield f"{Path(spec.origin).name},{_file_hash(Path(spec.origin))}"
