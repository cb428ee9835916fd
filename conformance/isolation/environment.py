"""What a subject's process finds around it: scratch directories, an environment without telemetry, and its command."""

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
from conformance.subjects.naming import EXEC, Interpreter, SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Mapping

_SILENCE = {"ORT_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
"""What turns a runtime's telemetry off."""

_MAIN = "from conformance.isolation.harness import main; sys.exit(main(sys.argv[1:]))"
_BOOT = f"import json, sys; sys.path[:] = json.loads(sys.argv.pop(1))\n{_MAIN}"
"""Starts the Python harness with the modules that this process finds, whatever its directory is."""

_BOOT_ELSEWHERE = f"import json, sys; sys.path += json.loads(sys.argv.pop(1))\n{_MAIN}"
"""Starts it in another Python, with the modules that are found there, and this process's for those that are not."""

_HOST = str(Path(__file__).parent.with_name("backends") / "host.py")
"""Hosts an adapter where nothing else of this suite is installed."""


@dataclass(frozen=True)
class Scratch:
    """Directories of one process, removed with it.

    Attributes:
        root: holds the others.
        models: where models are put for the subject to read.
    """

    root: str

    @classmethod
    def make(cls) -> Scratch:
        """Make them, empty, where temporary files go."""
        scratch = cls(tempfile.mkdtemp(prefix="onnx-conformance-"))
        for name in ("home", "work", "tmp", "models"):
            os.mkdir(f"{scratch.root}/{name}", 0o700)  # noqa: PTH102
        return scratch

    @property
    def work(self) -> str:
        """The process's working directory."""
        return f"{self.root}/work"

    @property
    def models(self) -> str:
        return f"{self.root}/models"

    def environment(self) -> Mapping[str, str]:
        """The process's environment: this one's, but for directories and telemetry."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTEST_"))}
        own = {"HOME": f"{self.root}/home", "TMPDIR": f"{self.root}/tmp", "PWD": self.work}  # noqa: S108
        return {"PYTHONUSERBASE": site.getuserbase(), **kept, **own, **_SILENCE}


def command_of(named: SubjectName, interpreter: Interpreter | None = None) -> tuple[str, ...]:
    """The program that hosts a subject, with its arguments.

    Args:
        interpreter: the Python of a subject in Python, where it is not this one.

    Raises:
        UnknownName: there is no such program.
    """
    if not named.is_command:
        asked = named.written({option: _wherever(value, "/") for option, value in named.options.items()})
        if interpreter is not None and interpreter.is_alone:
            return (str(interpreter.program), "-I", _HOST, asked)
        here = str(Path.cwd())
        kind = ["--optimizer"] if named.kind is SubjectKind.OPTIMIZER else []
        paths = _importable(here)
        boot = (sys.executable, "-P", "-c", _BOOT, json.dumps(paths))
        if interpreter is not None:
            boot = (str(interpreter.program), "-P", "-c", _BOOT_ELSEWHERE, json.dumps([*filter(_is_installed, paths)]))
        return (*boot, "--directory", here, *kind, asked)
    try:
        words = shlex.split(named.name.removeprefix(EXEC))
    except ValueError as error:
        raise UnknownName(f"{named.text} is not a command: {error}.", "Quote it as for a shell.") from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UnknownName(
            f"{named.text} names no program that can be executed.", "Write exec:PROGRAM ARGUMENT…, as in a shell."
        )
    return (str(Path(program).absolute()), *(_wherever(word) for word in words[1:]))


def _importable(here: str) -> list[str]:
    """Where this process finds modules, in the same order, without names that mean another place there.

    The user's directory comes last, unless it has a place of its own (by PYTHONPATH), so that nothing in it takes the
    place of a module of Python, of a library or of this suite; the module that is named is looked for there first all
    the same (see `subjects.loading`).
    """
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    return paths if here in paths else [*paths, here]


def _is_installed(path: str) -> bool:
    """Whether a place of modules is not Python's own, which another Python has too."""
    own = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return path not in own and Path(path).name != "lib-dynload" and not path.endswith(".zip")


def _wherever(word: str, part: str = "") -> str:
    """A word that names a file from here, by a text with that part, so that it does from another directory too."""
    is_file = word and part in word and not word.startswith("-") and Path(word).exists()
    return str(Path(word).absolute()) if is_file else word
