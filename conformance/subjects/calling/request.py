"""Calls of subjects: the description of a subject and the command for its harness, and the errors that a call raises.

`call_subject` tells failures of the subject from errors of the suite.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import sys
import sysconfig
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.base.errors import StorageError, SubjectError, SuiteFault, did_you_mean
from conformance.base.files.atomic_write import PACKAGE_FOLDER
from conformance.base.plugins import extra_for_adapter, packages_of_extra, registered_entry_points
from conformance.base.verdicts import Phase, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.subjects.calling.harness import Request
    from conformance.subjects.calling.subject_names import Interpreter, SubjectName


class SubjectFailure(Exception):
    """A subject failed to return outputs. The message is the subject's own; the name of this class is not printed.

    Attributes:
        verdict: verdict of the case in which the failure happens.
        phase: phase in which the failure happened, if it is not the current phase of the case.
        is_rejection: whether the failure counts as rejecting an invalid model.
    """

    verdict = Verdict.ERROR
    phase: Phase | None = None
    is_rejection = False


def format_exception(error: BaseException) -> str:
    """Return class and message of a subject's exception as text of limited length that can be encoded as UTF-8."""
    from conformance.subjects.calling.harness import error_text, message_of, shorten  # late: it imports NumPy

    return shorten(message_of(error)) if isinstance(error, SubjectFailure) else error_text(error)


@contextmanager
def suite_code() -> Iterator[None]:
    """Raise `SuiteFault` for an exception of the block, which runs code of the suite alone.

    `call_subject` takes any other exception for an answer of the subject. So the suite's part of a call is in this
    block: a failure of the suite is never a verdict.
    """
    try:
        yield
    except (SubjectFailure, CaseEnded, StorageError, SubjectError, SuiteFault):
        raise
    except Exception as error:
        raise SuiteFault(f"{type(error).__name__}: {error}") from error


class CaseEnded(Exception):
    """Exception that ends a case before its last data set is compared; it has verdict, phase and message."""

    def __init__(self, verdict: Verdict, phase: Phase, message: str) -> None:
        super().__init__(verdict, phase, message)
        self.verdict = verdict
        self.phase = phase
        self.message = message


def call_subject(phase: Phase, call: Callable[[], Any]) -> Any:
    """Call a subject and return its answer; every failure of the subject is an answer too.

    Args:
        phase: `load`, `run` or `optimize`, for the outcome.
        call: function that calls the subject.

    Raises:
        CaseEnded: the subject raised an error or its process failed; the exception has the verdict.
        StorageError: the suite cannot write its files for the subject.
        SubjectError: the subject cannot be used at all.
        SuiteFault: the suite has an internal error.
    """
    from conformance.subjects.calling.harness import is_unsupported  # late: the harness imports NumPy

    try:
        return call()
    except (KeyboardInterrupt, StorageError, SubjectError, SuiteFault):
        raise  # not other errors of the suite: a subject in this process can be part of the suite
    except SubjectFailure as error:
        raise CaseEnded(error.verdict, error.phase or phase, format_exception(error)) from error
    except BaseException as error:  # also SystemExit, and panics of runtimes written in Rust
        verdict = Verdict.UNSUPPORTED if is_unsupported(error) else Verdict.ERROR
        raise CaseEnded(verdict, phase, format_exception(error)) from error


def call_running_subject(name: str, phase: Phase, call: Callable[[], Any]) -> Any:
    """Call a subject like `call_subject`, for a command whose answer is about a model and not about the start.

    Args:
        name: name of the subject, for the error.
        phase: `load`, `run` or `optimize`, for the outcome.
        call: function that calls the subject.

    Raises:
        CaseEnded, StorageError, SuiteFault: as for `call_subject`.
        SubjectError: the subject cannot be used at all, or its process does not start again.
    """
    try:
        return call_subject(phase, call)
    except CaseEnded as ended:
        if ended.phase != "start":
            raise
        raise SubjectError("not-started.request", name=name, message=ended.message) from None


_HARNESS = Path(__file__).with_name("harness.py")
_ADAPTER_FOLDER = PACKAGE_FOLDER / "subjects" / "adapters"
_ADAPTERS = "conformance.subjects.adapters."
_NOT_ADAPTERS = {"reference", "optimizers.identity"}
"""Subjects of the suite itself in the folder of the adapters: they import the suite."""

_TELEMETRY_OFF = {"ORT_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
_INSTALLERS_OFF = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "UV_OFFLINE": "1"}
QUIET_VARIABLES = _TELEMETRY_OFF | _INSTALLERS_OFF
"""Environment variables of a subject's process: runtimes send no telemetry, and pip and uv download nothing, because
some releases call pip when they are imported."""

ADAPTER_DIGEST_LENGTH = 12
"""Hexadecimal digits of an adapter's digest."""


def adapter_module(named: SubjectName) -> str:
    """Return the module of a subject's adapter, or an empty text if no adapter of this suite runs the subject.

    An adapter runs without the suite.
    """
    point = None if named.is_command else registered_entry_points(named.kind.group).get(named.name)
    module = point.module.removeprefix(_ADAPTERS) if point is not None and point.module.startswith(_ADAPTERS) else ""
    return "" if module in _NOT_ADAPTERS else module


def adapter_digest(named: SubjectName) -> str | None:
    """Return a digest of the files that connect a subject to the suite; None if it has no adapter of this suite."""
    module = adapter_module(named)
    if not module:
        return None
    folder = _ADAPTER_FOLDER
    package = ["optimizers/__init__.py"] if module.startswith("optimizers.") else []
    digest = sha256()
    for file in (f"{module.replace('.', '/')}.py", *package, "server.py"):
        digest.update((folder / file).read_bytes())
    digest.update(_HARNESS.read_bytes())
    return digest.hexdigest()[:ADAPTER_DIGEST_LENGTH]


def in_process_request(named: SubjectName, directory: Path) -> Request:
    """Return the request for a subject that runs in this process.

    Args:
        named: the subject.
        directory: folder that is searched for the subject's module, unless the subject has a registered name.
    """
    point = registered_entry_points(named.kind.group).get(named.name)
    module, _, attribute = (named.name if point is None else point.value).partition(":")
    return {
        "kind": str(named.kind),
        "text": named.text,
        "name": named.name,
        "module": module,
        "attribute": attribute,
        "options": dict(named.options),
        "directory": str(directory) if point is None else "",
    }


def harness_command(named: SubjectName, interpreter: Interpreter | None = None) -> tuple[str, ...]:
    """Return the program that runs a subject written in Python as a harness, with its arguments.

    Args:
        named: the subject.
        interpreter: the Python for the subject; None for the Python of this process.
    """
    here = str(Path.cwd())
    request = in_process_request(named, Path(here))
    request["options"] = {
        name: absolute_if_file(value) if "/" in value else value for name, value in named.options.items()
    }
    request["text"] = named.with_options(request["options"])
    if adapter := adapter_module(named):
        request |= {"module": adapter, "adapters": str(_ADAPTER_FOLDER)}
    if adapter or request["directory"]:
        request["suite"] = str(PACKAGE_FOLDER)
    if interpreter is None:
        return (sys.executable, "-P", str(_HARNESS), _encode(request | {"path": _import_paths()}))
    if interpreter.is_adapter_only:
        return (str(interpreter.program), "-I", str(_HARNESS), _encode(request))
    if named.name not in registered_entry_points(named.kind.group):
        request["group"] = f"onnx_conformance.{named.kind.group}"
    path = [*filter(_is_package_path, _import_paths())]
    return (str(interpreter.program), "-P", str(_HARNESS), _encode(request | {"path": path, "is_path_appended": True}))


def hint_for_refusal(named: SubjectName, code: str, problem: str, hint: str) -> str:
    """Return the hint for an error of the harness at its start; the harness does not know the registered names."""
    group = named.kind.group
    if code == "name.unknown-subject" and not hint.startswith("Did you mean"):
        known = registered_entry_points(group)
        module, _, attribute = named.name.partition(":")
        if module.endswith(".py"):
            return _hint_for_file(Path(module), attribute)
        every = f"Use {', '.join(known)}, or a Python name: package.module or package.module:Attribute."
        return did_you_mean(named.name, known, every)
    is_missing = code == "subject.import-failed" and "ModuleNotFoundError" in problem
    if is_missing and not named.release and not named.python and (extra := extra_for_adapter(group, named.name)):
        return f"Install it: pip install {' '.join(packages_of_extra(extra))}."
    return hint


def _hint_for_file(file: Path, attribute: str) -> str:
    """Return the hint for a file in the place of a subject's name: its Python name, and the folder of other files."""
    parts = file.with_suffix("").parts
    is_here = not file.is_absolute() and all(part.isidentifier() for part in parts)
    attribute = attribute or _only_backend(file)
    name = ".".join(parts if is_here else parts[-1:]) + (f":{attribute}" if attribute else "")
    place = file.parent.resolve()
    if is_here or place == Path.cwd().resolve():
        return f"Use its Python name: {name}."
    folder = shlex.quote(str(place))
    return f"Use its Python name, {name}, and run the command in {folder}, or set PYTHONPATH={folder}."


def _only_backend(file: Path) -> str:
    """Return the class of a file that has the method `prepare`; empty if there are none or several, or no file."""
    try:
        statements = ast.parse(file.read_bytes()).body if file.is_file() else []
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = [
        each.name
        for each in statements
        if isinstance(each, ast.ClassDef)
        and any(isinstance(one, ast.FunctionDef) and one.name == "prepare" for one in each.body)
    ]
    return found[0] if len(found) == 1 else ""


def _encode(request: Request) -> str:
    return json.dumps(request)


def _import_paths() -> list[str]:
    """Return the import path of this process with absolute paths.

    It has the current directory only if PYTHONPATH names it. The harness appends it for a subject that is named by its
    module: its files cannot hide modules of Python or of a library, and a registered subject imports none of them.
    """
    return [str(Path(path).absolute()) for path in sys.path if path]


def _is_package_path(path: str) -> bool:
    """Return whether an import path is a folder of installed packages, and not of the standard library."""
    own = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return path not in own and Path(path).name != "lib-dynload" and not path.endswith(".zip")


def absolute_if_file(word: str) -> str:
    """Return a word of a command or an option, as an absolute path if it names an existing file."""
    is_file = word and not word.startswith("-") and Path(word).exists()
    return str(Path(word).absolute()) if is_file else word
