"""How an environment is made: under another name until it is whole, by uv where that is there, else by venv and pip."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.environments.store import DOCUMENT, MAKING, alone, environment_of
from conformance.environments.trial import last_line, started_version
from conformance.errors import SubjectError
from conformance.files.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conformance.environments.requirements import Requirements
    from conformance.environments.store import Environment

_TELLS = "import importlib.metadata as m, json, platform; print(json.dumps([platform.python_version(), sorted({*map("
_TELLS += "lambda d: f'{d.metadata[\"Name\"]}=={d.version}', m.distributions())})]))"


@dataclass(frozen=True)
class Sources:
    """Where packages come from, and for which Python.

    Attributes:
        python: the interpreter that the environment is made with.
        find_links: folders of wheels.
        no_index: whether these are all there is.
    """

    python: str = sys.executable
    find_links: tuple[str, ...] = ()
    no_index: bool = False

    @property
    def options(self) -> list[str]:
        """The same in the words of uv and pip."""
        links = [part for link in self.find_links for part in ("--find-links", link)]
        return [*links, *(["--no-index"] if self.no_index else [])]


def make(requirements: Requirements, sources: Sources) -> tuple[Environment, bool]:
    """The environment that has these, and whether it was made now.

    Raises:
        SubjectError: something of it does not install, or the runtime does not start in it; nothing is left of it then.
        OSError: it cannot be written.
    """
    with alone() as folder:
        there = environment_of(requirements)
        if there is not None and there.is_usable:
            return there, False
        if there is not None:
            shutil.rmtree(there.folder)
        with scratch_folder(folder, MAKING) as scratch:
            made = scratch / "environment"
            _install(requirements, sources, made)
            document = {"subject": requirements.subject, **_told(requirements, made, scratch)}
            (made / DOCUMENT).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            made.rename(folder / requirements.key)
    environment = environment_of(requirements)
    assert environment is not None
    return environment, True


def _install(requirements: Requirements, sources: Sources, made: Path) -> None:
    python = str(made / "bin" / "python")
    if uv := shutil.which("uv"):
        create = [uv, "venv", "--quiet", "--python", sources.python, str(made)]
        install = [uv, "pip", "install", "--quiet", "--python", python, *sources.options]
    else:
        create = [sources.python, "-m", "venv", str(made)]
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *sources.options]
    _run(requirements, create)
    _run(requirements, [*install, *requirements.packages])
    if requirements.bare:
        _run(requirements, [*install, "--no-deps", *requirements.bare])


def _run(requirements: Requirements, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise SubjectError(f"{command[0]}: {error.strerror}.", "Name a Python by --python.") from None
    if done.returncode:
        raise SubjectError(
            f"{requirements.subject} does not install: {last_line(done.stderr or done.stdout)}",
            "Name a release that this Python has, or another Python by --python.",
        )


def _told(requirements: Requirements, made: Path, scratch: Path) -> dict[str, Any]:
    """What the environment says of itself, once the runtime has been started in it.

    Raises:
        SubjectError: the runtime does not start.
    """
    version = started_version(requirements, made / "bin" / "python", scratch)
    said = subprocess.run([made / "bin" / "python", "-I", "-c", _TELLS], capture_output=True, check=True).stdout
    python, installed = json.loads(said)
    return {"version": version, "python": python, "installed": installed}
