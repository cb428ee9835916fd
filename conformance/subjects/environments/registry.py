"""Registry of the environments: folders in the cache of the user, each with a Python and a description file.

The module also finds the interpreter of each subject that does not run in the Python of this process.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from typing import TYPE_CHECKING

from conformance.base.errors import UnknownName, UsageError
from conformance.base.files.atomic_write import PACKAGE_FOLDER, deferred_signals, read_regular
from conformance.base.serialization.decoding import JsonReader, MalformedError, NonEmpty, StoredRecord
from conformance.subjects.calling.subject_names import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.subjects.calling.subject_names import SubjectName
    from conformance.subjects.environments.requirements import Requirements


DOCUMENT_NAME = "environment.json"
DOCUMENT_LIMIT_BYTES = 2**20
TEMPORARY_MARK = "temporary"
"""Name of a file in an environment that is removed after its use."""

UNFINISHED_PREFIX = ".making-"
"""Prefix of the name of a folder that is being created or removed."""


class EnvironmentDocument(StoredRecord):
    """Description of an environment, in its file `environment.json`.

    Attributes:
        subject: name of the subject on the command line.
        version: version that the started runtime reported.
        python: version of Python.
        installed: all installed packages, as `NAME==VERSION`.
    """

    subject: NonEmpty
    version: NonEmpty
    python: NonEmpty
    installed: list[NonEmpty]


_decode_document = JsonReader(EnvironmentDocument)


@dataclass(frozen=True)
class Environment:
    """A complete environment.

    Attributes:
        folder: the folder of the environment; its name is `Requirements.key`.
        document: the description of the environment; None if the file cannot be read.
    """

    folder: Path
    document: EnvironmentDocument | None

    @property
    def subject(self) -> str:
        """The name of the subject on the command line; the name of the folder if the description cannot be read."""
        return self.document.subject if self.document else self.folder.name

    @property
    def names(self) -> set[str]:
        """The names of the environment on a command line: with release, without release, and the name of its folder."""
        return {self.subject, self.subject.partition("@")[0], self.folder.name}

    @property
    def python(self) -> Path:
        """Path of the Python interpreter in the environment."""
        return self.folder / "bin" / "python"

    @property
    def is_usable(self) -> bool:
        """Whether the environment is intact. It is not if the Python with which it was created was removed."""
        return self.document is not None and os.access(self.python, os.X_OK)


def _known_releases(name: str) -> list[str]:
    """Return the releases of a subject in the history of a checkout and in environments, the newest first.

    An installation has no history.
    """
    from packaging.version import InvalidVersion, Version  # late: importing `packaging` is slow

    folder = re.sub(r"[^\w.-]", "_", name)
    stored = (PACKAGE_FOLDER.parent / "reports" / "history").glob(f"*/{glob.escape(folder)}/*.jsonl.gz")
    texts = {path.name.removesuffix(".jsonl.gz").rpartition("-")[0] for path in stored}
    named = (environment.subject.partition("@") for environment in list_environments())
    texts |= {release.partition("[")[0] for own, _, release in named if own == name}
    found: dict[Version, str] = {}
    for text in texts:
        with suppress(InvalidVersion):
            found[Version(text)] = text
    return [found[version] for version in sorted(found, reverse=True)]


def environments_folder() -> Path:
    """Return the folder of all environments."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # the user has no home folder
        caches = Path(gettempdir())
    return caches.absolute() / "onnx-conformance" / "environments"


def find_environment(requirements: Requirements) -> Environment | None:
    """Return the environment with exactly these requirements; None if it does not exist."""
    folder = environments_folder() / requirements.key
    return _read_environment(folder) if folder.is_dir() else None


def list_environments() -> list[Environment]:
    """Return all environments, in the order of their folders' names."""
    home = environments_folder()
    folders = sorted(home.iterdir()) if home.is_dir() else []
    return [_read_environment(folder) for folder in folders if folder.is_dir() and not folder.name.startswith(".")]


def remove_release(text: str) -> list[Environment]:
    """Remove the environments of a release, or of all releases of a name, and return them.

    Raises:
        UnknownName: there is no such environment.
    """
    found = [environment for environment in list_environments() if text in environment.names]
    if not found:
        raise UnknownName("no-such-environment", release=text)
    for environment in found:
        remove_environment(environment)
    return found


def remove_environment(environment: Environment, *, only_unused: bool = False) -> None:
    """Remove an environment; it is renamed first, so that an interruption leaves no incomplete environment.

    Args:
        only_unused: whether an environment remains that another process has borrowed.
    """
    with lock_environments(), deferred_signals(), suppress(FileNotFoundError):  # another process may have removed it
        descriptor = os.open(environment.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if only_unused:
                flock(descriptor, LOCK_EX | LOCK_NB)
            renamed = environment.folder.with_name(f"{UNFINISHED_PREFIX}removed-{environment.folder.name}")
            environment.folder.rename(renamed)
        except BlockingIOError:
            return
        finally:
            os.close(descriptor)
        shutil.rmtree(renamed, ignore_errors=True)


@contextmanager
def lock_environments() -> Iterator[Path]:
    """Wait for the lock of the folder of all environments, remove unfinished environments, and yield the folder."""
    folder = environments_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        for unfinished in folder.glob(f"{UNFINISHED_PREFIX}*"):  # left by a process that was killed
            shutil.rmtree(unfinished, ignore_errors=True)
        yield folder
    finally:
        os.close(descriptor)


def _read_environment(folder: Path) -> Environment:
    try:
        return Environment(folder, _decode_document(read_regular(folder / DOCUMENT_NAME, DOCUMENT_LIMIT_BYTES)))
    except (OSError, MalformedError):
        return Environment(folder, None)


def find_interpreter(named: SubjectName, python: Path | None = None) -> Interpreter | None:
    """Return the interpreter of a subject; None for the Python of this process.

    Args:
        named: the subject, which is no external command.
        python: interpreter for a subject that names no release and no interpreter.

    Raises:
        UsageError: an environment does not exist, an interpreter cannot be executed, or the subject can have neither.
    """
    if named.packages and not named.release:
        raise UsageError("packages-without-release", subject=named.text)
    if not named.release and not named.python:
        return Interpreter(python) if python is not None else None
    from conformance.subjects.environments.requirements import (  # importing `packaging` is slow
        find_requirements,
        has_adapter,
    )

    if named.release and named.python:
        raise UsageError("release-and-python", subject=named.text)
    if named.python:
        program = which(named.python)
        if program is None:
            raise UsageError("python-not-executable.of-subject", subject=named.text, python=named.python)
        return Interpreter(Path(program).absolute(), is_adapter_only=has_adapter(named))
    requirements = find_requirements(named)
    environment = find_environment(requirements)
    if environment is None:
        known = _known_releases(named.name)
        if known and named.release not in known:
            raise UsageError("environment-missing.unknown-release", subject=requirements.subject, known=known)
        raise UsageError("environment-missing.known-release", subject=requirements.subject)
    if not environment.is_usable:
        raise UsageError("environment-unusable", subject=requirements.subject)
    return Interpreter(environment.python, is_adapter_only=True)
