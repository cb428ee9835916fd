"""Environment of a subject's process: folders, environment variables, and the command."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import site
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UnknownName
from conformance.files.atomic_write import storage_errors
from conformance.plugins import server_arguments
from conformance.subjects.naming import EXEC_PREFIX, Interpreter, SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Mapping

_TELEMETRY_OFF = {"ORT_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
"""Environment variables that turn off the telemetry of runtimes."""

_INSTALLERS_OFF = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "UV_OFFLINE": "1"}
"""Environment variables with which pip and uv download nothing: some releases call pip when they are imported."""

_MAIN = "from conformance.isolation.harness import main; sys.exit(main(sys.argv[1:]))"
_BOOT = f"import json, sys; sys.path[:] = json.loads(sys.argv.pop(1))\n{_MAIN}"
"""Python code that starts the harness with the import path of this process, independent of the working directory."""

_BOOT_OTHER_PYTHON = f"import json, sys; sys.path += json.loads(sys.argv.pop(1))\n{_MAIN}"
"""Python code that starts the harness in another Python: its own modules first, then those of this process."""

_ADAPTER_SERVER = str(Path(__file__).parent.with_name("adapters") / "server.py")
"""Program that serves one adapter in a Python where the rest of this suite is not installed."""


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
        return {"PYTHONUSERBASE": site.getuserbase(), **inherited, **own, **_TELEMETRY_OFF, **_INSTALLERS_OFF}


def subject_command(named: SubjectName, interpreter: Interpreter | None = None) -> tuple[str, ...]:
    """Return the program that runs a subject as a harness, with its arguments.

    Args:
        named: the subject.
        interpreter: the Python for a subject written in Python; None for the Python of this process.

    Raises:
        UnknownName: an `exec:` command does not name an executable program.
    """
    if not named.is_command:
        text = named.with_options({option: _absolute_if_file(value, "/") for option, value in named.options.items()})
        if interpreter is not None and interpreter.is_adapter_only:
            return (
                str(interpreter.program),
                "-I",
                _ADAPTER_SERVER,
                *server_arguments(named.kind.group, named.name),
                text,
            )
        here = str(Path.cwd())
        kind = ["--optimizer"] if named.kind is SubjectKind.OPTIMIZER else []
        paths = _import_paths(here)
        boot = (sys.executable, "-P", "-c", _BOOT, json.dumps(paths))
        if interpreter is not None:
            installed = json.dumps([*filter(_is_package_path, paths)])
            boot = (str(interpreter.program), "-P", "-c", _BOOT_OTHER_PYTHON, installed)
        return (*boot, "--directory", here, *kind, text)
    try:
        words = shlex.split(named.name.removeprefix(EXEC_PREFIX))
    except ValueError as error:
        raise UnknownName(
            "malformed-command", f"{named.text} is not a shell command: {error}.", "Quote the command as in a shell."
        ) from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UnknownName(
            "program-not-found",
            f"{named.text}: {words[0] if words else 'the command'} is not an executable program.",
            "Write exec:PROGRAM ARGUMENT…, as in a shell.",
        )
    return (str(Path(program).absolute()), *(_absolute_if_file(word) for word in words[1:]))


def _import_paths(here: str) -> list[str]:
    """Return the import path of this process with absolute paths, and the current directory last.

    Because the current directory is last, its files cannot hide modules of Python, of a library or of this suite. If
    PYTHONPATH names the directory, its position is kept. Only the module of the subject is searched in the current
    directory first, see `subjects.loading`.
    """
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    return paths if here in paths else [*paths, here]


def _is_package_path(path: str) -> bool:
    """Return whether an import path is a folder of installed packages, and not of the standard library."""
    own = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return path not in own and Path(path).name != "lib-dynload" and not path.endswith(".zip")


def _absolute_if_file(word: str, part: str = "") -> str:
    """Return `word`, as an absolute path if it contains `part` and names an existing file."""
    is_file = word and part in word and not word.startswith("-") and Path(word).exists()
    return str(Path(word).absolute()) if is_file else word
