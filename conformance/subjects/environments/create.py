"""Creation of an environment: install the packages, start the subject once as a test, and write a description file.

The environment is created under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import sys
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from fcntl import LOCK_SH, flock
from subprocess import CompletedProcess, TimeoutExpired
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from msgspec import to_builtins

from conformance.base.errors import StorageError, SubjectError
from conformance.base.files.atomic_write import supervised_temp_dir
from conformance.base.processes.start import run_program
from conformance.base.serialization.decoding import MalformedError, decode_json
from conformance.subjects.calling.request import QUIET_VARIABLES, harness_command
from conformance.subjects.calling.subject_names import Interpreter, SubjectKind
from conformance.subjects.environments.registry import (
    DOCUMENT_NAME,
    TEMPORARY_MARK,
    UNFINISHED_PREFIX,
    EnvironmentDocument,
    find_environment,
    lock_environments,
    remove_environment,
)
from conformance.subjects.environments.requirements import smoke_test_subject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conformance.subjects.environments.registry import Environment
    from conformance.subjects.environments.requirements import Requirements


@dataclass(frozen=True)
class PackageSources:
    """The Python for an environment, and the places that packages are installed from.

    Attributes:
        python: interpreter that creates the environment.
        find_links: folders of wheels.
        no_index: whether packages are installed only from the folders in `find_links`.
    """

    python: str = sys.executable
    find_links: tuple[str, ...] = ()
    no_index: bool = False

    @property
    def options(self) -> list[str]:
        """The sources as options of pip and uv."""
        links = [part for link in self.find_links for part in ("--find-links", link)]
        return [*links, *(["--no-index"] if self.no_index else [])]


def create_environment(
    requirements: Requirements, sources: PackageSources, *, is_temporary: bool = False
) -> tuple[Environment, bool]:
    """Return the environment with these requirements, and whether this call created it.

    Args:
        is_temporary: whether the environment is removed after its use, if this call creates it. Without it, an
            environment that exists is no longer removed after its use.

    Raises:
        SubjectError: a package does not install, or the runtime does not start; nothing remains on disk then.
        OSError: the environment cannot be written.
    """
    with lock_environments() as folder:
        existing = find_environment(requirements)
        if existing is not None and existing.is_usable:
            if not is_temporary:
                (existing.folder / TEMPORARY_MARK).unlink(missing_ok=True)
            return existing, False
        if existing is not None:
            shutil.rmtree(existing.folder)
        with supervised_temp_dir(folder, UNFINISHED_PREFIX) as scratch:
            unfinished = scratch / "environment"
            _install(requirements, sources, unfinished, scratch)
            document = _describe(requirements, unfinished, scratch)
            text = json.dumps(to_builtins(document), indent=1)
            (unfinished / DOCUMENT_NAME).write_text(f"{text}\n", encoding="utf-8")
            if is_temporary:
                (unfinished / TEMPORARY_MARK).touch()
            unfinished.rename(folder / requirements.key)
            environment = find_environment(requirements)
    assert environment is not None
    return environment, True


@dataclass(frozen=True)
class BorrowedEnvironment:
    """An environment that `give_back` of another user does not remove.

    Attributes:
        environment: the environment.
        descriptor: the folder of the environment, with a shared lock.
    """

    environment: Environment
    descriptor: int

    def give_back(self) -> None:
        """End the use, and remove the environment if it is temporary and has no other user."""
        os.close(self.descriptor)
        if (self.environment.folder / TEMPORARY_MARK).exists():
            remove_environment(self.environment, only_unused=True)


def borrow_environment(requirements: Requirements, sources: PackageSources) -> BorrowedEnvironment:
    """Return the environment with these requirements for a temporary use; create it if it does not exist.

    Raises:
        SubjectError: a package does not install, or the runtime does not start; nothing remains on disk then.
        StorageError: the disk is full.
        OSError: the environment cannot be written.
    """
    while True:
        environment, _ = create_environment(requirements, sources, is_temporary=True)
        with suppress(FileNotFoundError):  # another user has just removed it
            descriptor = os.open(environment.folder, os.O_RDONLY | os.O_CLOEXEC)
            flock(descriptor, LOCK_SH)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), environment.folder.stat()):
                    return BorrowedEnvironment(environment, descriptor)
            os.close(descriptor)


def _install(requirements: Requirements, sources: PackageSources, folder: Path, scratch: Path) -> None:
    """Install the packages without the installer's cache, so that the environment's folder is all that they occupy."""
    python = str(folder / "bin" / "python")
    if uv := shutil.which("uv"):
        create = [uv, "venv", "--quiet", "--python", sources.python, str(folder)]
        install = [uv, "pip", "install", "--quiet", "--no-cache", "--python", python, *sources.options]
    else:
        create = [sources.python, "-m", "venv", str(folder)]
        options = ["--quiet", "--no-cache-dir", "--disable-pip-version-check", *sources.options]
        install = [python, "-m", "pip", "install", *options]
    _run_installer(requirements, create, scratch)
    _run_installer(requirements, [*install, *requirements.packages], scratch)
    if requirements.bare:
        _run_installer(requirements, [*install, "--no-deps", *requirements.bare], scratch)


def _run_installer(requirements: Requirements, command: Sequence[str], scratch: Path) -> None:
    """Run a command of uv or pip; its temporary files are in `scratch`, because it leaves them when it is killed."""
    if shutil.which(command[0]) is None:
        raise SubjectError("python-not-executable", program=command[0])
    done = run_program(command, env={**os.environ, "TMPDIR": str(scratch)})
    if done.returncode and os.strerror(errno.ENOSPC).encode() in done.stdout + done.stderr:
        raise StorageError("disk-full.environment", subject=requirements.subject)
    if done.returncode:
        reason = last_error_line(done.stderr or done.stdout)
        if missing := _NO_VERSION.search(reason):
            package, release = missing.groups()
            raise SubjectError("no-such-release", subject=requirements.subject, package=package, release=release)
        raise SubjectError("not-installable", subject=requirements.subject, reason=reason)


_NO_VERSION = re.compile(r"there is no version of ([\w.-]+)==([\w.+!]+)")
"""uv's answer if the index has the package without this release. pip does not distinguish it from other reasons."""

_LABEL_PATTERN = re.compile("^(?:cause:|error:|\N{MULTIPLICATION SIGN}|╰─▶|├─▶) ", re.IGNORECASE)
"""Beginning of an error in the output of pip and uv."""

_ADVICE_PREFIXES = ("hint:", "[notice]", "note:")


def last_error_line(output: bytes) -> str:
    """Return the last error message in the output of pip, uv or a harness, as one line and without hints."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines()]
    relevant = [line for line in lines if line and not line.lower().startswith(_ADVICE_PREFIXES)]
    labelled = [number for number, line in enumerate(relevant) if _LABEL_PATTERN.match(line)]
    last = " ".join(relevant[labelled[-1] if labelled else -1 :])
    return _LABEL_PATTERN.sub("", last) or "no reason given"


_LIST_PACKAGES = "import importlib.metadata as m, json, platform; print(json.dumps([platform.python_version(), "
_LIST_PACKAGES += "sorted({*map(lambda d: f'{d.metadata[\"Name\"]}=={d.version}', m.distributions())})]))"


def _describe(requirements: Requirements, folder: Path, scratch: Path) -> EnvironmentDocument:
    """Start the runtime in the environment, and return the description of the environment.

    Raises:
        SubjectError: the runtime does not start.
    """
    interpreter = folder / "bin" / "python"
    version = start_and_read_version(requirements, interpreter, scratch)
    content = run_program([str(interpreter), "-I", "-c", _LIST_PACKAGES]).stdout
    python, installed = _decode_answer(requirements, content)
    return EnvironmentDocument(requirements.subject, version, python, installed)


_START_TIMEOUT_SECONDS = 300.0
"""Time limit for importing a runtime and running one model."""

_MISFIT_PREFIXES = ("AttributeError:", "ImportError:", "ModuleNotFoundError:", "TypeError:")
"""Errors of an adapter that calls functions which the release does not have."""


def start_and_read_version(requirements: Requirements, python: Path, scratch: Path) -> str:
    """Start the subject as in a run, let it run or rewrite an ArgMax, and return the version that it reports.

    The outputs of the ArgMax are not checked; that is the purpose of a run.

    Args:
        requirements: the packages of the environment.
        python: the environment's interpreter.
        scratch: a folder for temporary files.

    Raises:
        SubjectError: the subject does not start, or its adapter does not support the release.
    """
    done = _run_harness(requirements, python, scratch)
    answers = done.stdout.splitlines()
    if not answers:
        why = signal.Signals(-done.returncode).name if done.returncode < 0 else last_error_line(done.stderr)
        raise SubjectError("does-not-start", subject=requirements.subject, reason=_first_line(why))
    started, *later = (_decode_answer(requirements, answer) for answer in answers)
    if "runtime_version" not in started:
        reason = _first_line(started.get("error") or "no reason given")
        raise SubjectError("does-not-start", subject=requirements.subject, reason=reason)
    misfits = [answer["error"] for answer in later if answer.get("error", "").startswith(_MISFIT_PREFIXES)]
    if misfits:
        raise SubjectError("adapter-does-not-fit", subject=requirements.subject, reason=_first_line(misfits[0]))
    return str(started["runtime_version"])


def _decode_answer(requirements: Requirements, content: bytes) -> Any:
    try:
        return decode_json(content)
    except MalformedError as error:
        reason = f"its answer is malformed: {error}"
        raise SubjectError("does-not-start", subject=requirements.subject, reason=reason) from None


def _run_harness(requirements: Requirements, python: Path, scratch: Path) -> CompletedProcess[bytes]:
    """Run the harness with the adapter in the environment.

    A backend receives the commands `start`, `load`, `run` and `stop`, a graph optimizer receives `optimize`.
    """
    named = smoke_test_subject(requirements)
    path = scratch / "argmax.onnx"
    path.write_bytes(_argmax_model())
    data = b64encode(np.ones((2, 3), np.float32).tobytes()).decode()
    uses: list[dict[str, Any]] = [
        {"cmd": "load", "model": str(path)},
        {"cmd": "run", "inputs": [{"name": "X", "dtype": "float", "shape": [2, 3], "data": data}]},
    ]
    if named.kind is SubjectKind.OPTIMIZER:
        uses = [{"cmd": "optimize", "model": str(path), "output": f"{path}.optimized", "fixed_point": False}]
    commands: list[dict[str, Any]] = [{"cmd": "start", "version": 1}, *uses, {"cmd": "stop"}]
    lines = "".join(json.dumps({"seq": number, **command}) + "\n" for number, command in enumerate(commands, 1))
    try:
        return run_program(
            harness_command(named, Interpreter(python, is_adapter_only=True)),
            input=lines.encode(),
            timeout=_START_TIMEOUT_SECONDS,
            env={**os.environ, "HOME": str(scratch), **QUIET_VARIABLES},
            cwd=scratch,
        )
    except TimeoutExpired:
        reason = f"no answer within {_START_TIMEOUT_SECONDS:g} s"
        raise SubjectError("does-not-start", subject=requirements.subject, reason=reason) from None


def _argmax_model() -> bytes:
    """Return a model with an ArgMax over the last axis of a float matrix, in an opset that every release supports."""
    header = '<ir_version: 6, opset_import: ["": 11]>'
    graph = "argmax (float[2, 3] X) => (int64[2] Y) { Y = ArgMax <axis = 1, keepdims = 0> (X) }"
    return bytes(onnx.parser.parse_model(header + graph).SerializeToString())


def _first_line(text: str) -> str:
    return text.splitlines()[0]
