"""Subjects, and their names on a command line or in an expectations file: `NAME@RELEASE[option=value,…]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from conformance.base.errors import UnknownName, UsageError
from conformance.base.plugins import registered_entry_points

if TYPE_CHECKING:
    from collections.abc import Mapping


_SUBJECT_PATTERN = re.compile(r"(?P<name>[^\[\]@]*)(?:@(?P<release>[^\[\]@]+))?(?:\[(?P<options>[^\[\]]*)\])?")

_OPTION_PATTERN = re.compile(r"[A-Za-z_]\w*=.*")

EXEC_PREFIX = "exec:"
"""Prefix of a subject that is an external harness command, in any language: `exec:COMMAND`."""

PYTHON_OPTION = "python"
"""Option of every subject written in Python: the interpreter that runs it. No adapter receives it."""

WITH_OPTION = "with"
"""Option of every release: further packages of its environment, with `+` between them. No adapter receives it."""


@dataclass(frozen=True)
class Interpreter:
    """The Python interpreter for a subject that does not run in the Python of this process.

    Attributes:
        program: path of the interpreter.
        is_adapter_only: whether the interpreter runs an adapter of this suite with nothing but its own packages; other
            subjects may also import packages of the Python of this process.
    """

    program: Path
    is_adapter_only: bool = False


class SubjectKind(StrEnum):
    """Kind of a subject: a backend runs models, a graph optimizer rewrites them."""

    BACKEND = "backend"
    OPTIMIZER = "optimizer"

    @property
    def group(self) -> str:
        """The entry-point group in which adapters of this kind are registered."""
        return f"{self}s"

    @property
    def flag(self) -> str:
        """The option that names a subject of this kind."""
        return "-b" if self is SubjectKind.BACKEND else "-o"

    @property
    def prose(self) -> str:
        """The kind in words, for messages."""
        return "backend" if self is SubjectKind.BACKEND else "graph optimizer"


@dataclass(frozen=True)
class SubjectName:
    """The parts of a subject's name: `onnxruntime[provider=CUDAExecutionProvider,device=CUDA]`.

    Attributes:
        text: the whole name; it is the subject's id.
        kind: kind of the subject.
        name: a registered name, `package.module`, `package.module:Attribute`, or `exec:` and a command.
        options: options for the adapter.
        release: requested release of the runtime, as in `onnxruntime@1.20.1`; empty for the installed release.
        python: interpreter for the subject, as in `onnxruntime[python=/opt/old/bin/python]`; empty for this one.
        packages: further packages of the release's environment, as in `onnx-reference@1.14.1[with=numpy>=2]`.
    """

    text: str
    kind: SubjectKind
    name: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    release: str = ""
    python: str = ""
    packages: tuple[str, ...] = ()

    @property
    def is_command(self) -> bool:
        """Whether the subject is an external harness command."""
        return self.text.startswith(EXEC_PREFIX)

    @classmethod
    def parse(cls, text: str, kind: SubjectKind) -> SubjectName:
        """Split a subject's name into its parts.

        Raises:
            UnknownName: the options do not have the form `[name=value,…]`.
        """
        if text.startswith(EXEC_PREFIX):
            return cls(text, kind, text)
        match = _SUBJECT_PATTERN.fullmatch(text.strip())
        parts = [part.strip() for part in (match["options"] or "").split(",") if part.strip()] if match else []
        if match is None or not all(_OPTION_PATTERN.fullmatch(part) for part in parts):
            raise UnknownName("malformed-subject", text=text, prose=kind.prose)
        options = dict(part.split("=", 1) for part in parts)
        python = options.pop(PYTHON_OPTION, "")
        packages = tuple(filter(None, options.pop(WITH_OPTION, "").split("+")))
        return cls(text, kind, match["name"].strip(), options, (match["release"] or "").strip(), python, packages)

    def check_from_file(self, path: Path) -> None:
        """Check that this name may start a subject although only a file contains it: a file must not choose a program.

        A registered name may have options and a release. A command, a module, an interpreter and the path of a file are
        refused.

        Args:
            path: the file that contains the name.

        Raises:
            UsageError: the name would start a program or load a file that `path` chooses.
        """
        has_path = any("/" in value or Path(value).exists() for value in self.options.values())
        if self.is_command or self.python or has_path or self.name not in registered_entry_points(self.kind.group):
            raise UsageError("subject-from-file", path=path, text=self.text, flag=self.kind.flag)

    @property
    def options_text(self) -> str:
        """All options as they are written, without brackets; empty for an external harness command."""
        return "" if self.is_command else self.text.partition("[")[2].rstrip().removesuffix("]").strip()

    def at_release(self, release: str) -> SubjectName:
        """Return the name at a release, with all its options."""
        return SubjectName.parse(format_subject(self.name, release, self.options_text), self.kind)

    @property
    def without_release(self) -> SubjectName:
        """The name without its release."""
        return self.at_release("")

    def with_option(self, option: str, value: str) -> SubjectName:
        """Return the name with another value of an option, or without the option if the value is empty."""
        parts = (part.strip() for part in self.options_text.split(","))
        options = dict(part.split("=", 1) for part in parts if part) | {option: value}
        listed = ",".join(f"{name}={each}" for name, each in options.items() if each or name != option)
        return SubjectName.parse(format_subject(self.name, self.release, listed), self.kind)

    def with_options(self, options: Mapping[str, str]) -> str:
        """Return the name with the options `options`, and without the release and the interpreter."""
        return format_subject(self.name, options=",".join(f"{name}={value}" for name, value in options.items()))


def format_subject(name: str, release: str = "", options: str = "") -> str:
    """Return the name of a subject with a release and options, as on a command line."""
    return name + (f"@{release}" if release else "") + (f"[{options}]" if options else "")


@dataclass(frozen=True)
class Subject:
    """A backend or a graph optimizer under test.

    Attributes:
        id: the text that names it on the command line.
        version: its own version, or the version of its package.
        target: an object with `prepare` for a backend, a function from model to model for a graph optimizer.
        kind: backend or graph optimizer.
        passes: passes that a graph optimizer implements.
        language: language of its harness.
        provider: execution provider or device on which a backend must run every node; None for no requirement.
        python: version of the Python that runs it; empty for a harness in another language.
        packages: packages that it can use, as `name==version`.
    """

    id: str
    version: str
    target: Any
    kind: SubjectKind = SubjectKind.BACKEND
    passes: tuple[str, ...] = ()
    language: str = "Python"
    provider: str | None = None
    python: str = ""
    packages: tuple[str, ...] = ()

    @property
    def placement(self) -> Literal["reported", "not reported"] | None:
        """Whether a backend reports which provider or device ran each node: `reported` or `not reported`.

        It is None if the user did not request a provider or device.
        """
        options = SubjectName.parse(self.id, self.kind).options
        if self.provider is not None or options.get("fallback") == "allow":
            return "reported"
        return "not reported" if "provider" in options or options.get("device", "CPU") != "CPU" else None
