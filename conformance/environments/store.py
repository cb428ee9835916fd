"""Where environments are, and what each is: a folder with a Python, and a file that says what it has."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, TypedDict

from conformance.boundary.decoding import JsonDecoder, MalformedError, NonEmpty
from conformance.files.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.environments.requirements import Requirements

DOCUMENT = "environment.json"
LARGEST_DOCUMENT = 2**20
MAKING = ".making-"
"""What the name of a folder begins with in which one is being made."""


class EnvironmentDocument(TypedDict):
    """What an environment says of itself: its subject, its Python, the version that the runtime tells, what it has."""

    subject: NonEmpty
    version: NonEmpty
    python: NonEmpty
    installed: list[NonEmpty]


_READ = JsonDecoder(EnvironmentDocument)


@dataclass(frozen=True)
class Environment:
    """An environment that is whole.

    Attributes:
        folder: where it is; its name is the key of its requirements.
        document: what it says of itself; None where that cannot be read.
    """

    folder: Path
    document: EnvironmentDocument | None

    @property
    def subject(self) -> str:
        """How a command line names it, as far as it says so."""
        return self.document["subject"] if self.document else self.folder.name

    @property
    def names(self) -> set[str]:
        """What may mean it: with its release, without, or its folder's name."""
        return {self.subject, self.subject.partition("@")[0], self.folder.name}

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def is_usable(self) -> bool:
        """Whether it has still all that it had: the Python that it was made with may be gone."""
        return self.document is not None and os.access(self.python, os.X_OK)


def home() -> Path:
    """The folder of all environments."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home is known
        caches = Path(gettempdir())
    return caches.absolute() / "onnx-conformance" / "environments"


def environment_of(requirements: Requirements) -> Environment | None:
    """The environment that has exactly these; None where it is not made."""
    folder = home() / requirements.key
    return _environment(folder) if folder.is_dir() else None


def environments() -> list[Environment]:
    """All that are there, in the order of their names."""
    folders = sorted(home().iterdir()) if home().is_dir() else []
    return [_environment(folder) for folder in folders if folder.is_dir() and not folder.name.startswith(".")]


def remove(environment: Environment) -> None:
    """Take one away; from the first moment on it is not half there."""
    with alone():
        gone = environment.folder.with_name(f"{MAKING}removed-{environment.folder.name}")
        environment.folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


@contextmanager
def alone() -> Iterator[Path]:
    """The folder of all environments, in which nobody else makes or removes one meanwhile; waits for who does."""
    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        for left in folder.glob(f"{MAKING}*"):  # by one that was killed
            shutil.rmtree(left, ignore_errors=True)
        yield folder
    finally:
        os.close(descriptor)


def _environment(folder: Path) -> Environment:
    try:
        return Environment(folder, _READ(read_regular(folder / DOCUMENT, LARGEST_DOCUMENT)))
    except (OSError, MalformedError):
        return Environment(folder, None)
