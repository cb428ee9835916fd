"""Environment of a subject's process: folders, environment variables, and the command."""

from __future__ import annotations

import os
import shlex
import shutil
import site
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import UnknownName
from conformance.base.files.atomic_write import storage_errors
from conformance.subjects.calling.request import QUIET_VARIABLES, harness_command
from conformance.subjects.calling.subject_names import EXEC_PREFIX, Interpreter, SubjectName

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ScratchFolders:
    """Temporary folders of one subject process; they are removed when the process ends.

    Attributes:
        root: folder that contains the other folders.
        work: working directory of the process; it writes its outputs here.
        models: folder for models and inputs; the suite writes it and the subject reads it.
    """

    root: str
    work: str
    models: str

    @classmethod
    def create(cls, parent: Path | None = None) -> ScratchFolders:
        """Create the folders, empty.

        Args:
            parent: the folder in which they are created; None for the folder for temporary files.

        Raises:
            StorageError: the file system cannot hold the folders.
            OSError: the folders cannot be created for another reason.
        """
        with storage_errors(parent or tempfile.gettempdir()):
            root = tempfile.mkdtemp(prefix="onnx-conformance-", dir=parent)
            for name in ("home", "work", "tmp", "models"):
                os.mkdir(f"{root}/{name}", 0o700)  # noqa: PTH102
        return cls(root, f"{root}/work", f"{root}/models")

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables for the subject.

        They are those of this process, with the temporary folders as HOME, TMPDIR and so on. Telemetry and the
        downloads of installers are disabled.
        """
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTEST_"))}
        own = {"HOME": f"{self.root}/home", "TMPDIR": f"{self.root}/tmp", "PWD": self.work}  # noqa: S108
        return {"PYTHONUSERBASE": site.getuserbase(), **inherited, **own, **QUIET_VARIABLES}


def subject_command(named: SubjectName, interpreter: Interpreter | None = None) -> tuple[str, ...]:
    """Return the program that runs a subject as a harness, with its arguments.

    Args:
        named: the subject.
        interpreter: the Python for a subject written in Python; None for the Python of this process.

    Raises:
        UnknownName: an `exec:` command does not name an executable program.
    """
    if not named.is_command:
        return harness_command(named, interpreter)
    try:
        words = shlex.split(named.name.removeprefix(EXEC_PREFIX))
    except ValueError as error:
        raise UnknownName("malformed-command", subject=named.text, error=error) from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UnknownName("program-not-found", subject=named.text, program=words[0] if words else "the command")
    return (str(Path(program).absolute()), *(_absolute_if_file(word) for word in words[1:]))


def _absolute_if_file(word: str) -> str:
    """Return `word`, as an absolute path if it names an existing file."""
    is_file = word and not word.startswith("-") and Path(word).exists()
    return str(Path(word).absolute()) if is_file else word
