"""How subjects are named: the text that a command line or an expectations file has for one, read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_TEXT = re.compile(r"(?P<name>[^\[\]@]*)(?:@(?P<release>[^\[\]@]+))?(?:\[(?P<options>[^\[\]]*)\])?")


EXEC = "exec:"
"""What the text of a subject begins with that is a program of its own, in any language."""


_OPTION = re.compile(r"[A-Za-z_]\w*=.*")


PYTHON = "python"
"""The option that is no adapter's: the interpreter that a subject runs in."""


@dataclass(frozen=True)
class Interpreter:
    """The Python that a subject runs in, where it is not this one.

    Attributes:
        program: its path.
        is_alone: whether an adapter's file and the host beside it are all of this suite that runs there.
    """

    program: Path
    is_alone: bool = False


class SubjectKind(StrEnum):
    """What a subject does with a model."""

    BACKEND = "backend"
    OPTIMIZER = "optimizer"

    @property
    def group(self) -> str:
        """The entry-point group in which adapters of this kind are registered."""
        return f"{self}s"

    @property
    def prose(self) -> str:
        """The word for people."""
        return "backend" if self is SubjectKind.BACKEND else "graph optimizer"


@dataclass(frozen=True)
class SubjectName:
    """What the text that names a subject says: `onnxruntime[provider=CUDAExecutionProvider,device=CUDA]`.

    Attributes:
        text: the whole of it, the subject's id.
        kind: what it is asked to do.
        name: a registered name, or `package.module`, or `package.module:Attribute`, or `exec:` and a command.
        options: what the adapter is given besides the model.
        release: the release of the runtime that is asked for, as in `onnxruntime@1.20.1`; empty for what is installed.
        python: the interpreter that it is to run in, as in `onnxruntime[python=/opt/old/bin/python]`; or empty.
    """

    text: str
    kind: SubjectKind
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    release: str = ""
    python: str = ""

    @property
    def is_command(self) -> bool:
        """Whether it names a program that speaks the harness protocol."""
        return self.text.startswith(EXEC)

    @classmethod
    def of(cls, text: str, kind: SubjectKind) -> SubjectName:
        """Read a subject's text.

        Raises:
            UnknownName: its options are not `[name=value,…]`.
        """
        if text.startswith(EXEC):
            return cls(text, kind, text)
        match = _TEXT.fullmatch(text.strip())
        parts = [part.strip() for part in (match["options"] or "").split(",") if part.strip()] if match else []
        if match is None or not all(_OPTION.fullmatch(part) for part in parts):
            raise UnknownName(
                f"{text} does not name a {kind.prose}.", "Write NAME, or NAME[option=value,option=value]."
            )
        options = dict(part.split("=", 1) for part in parts)
        python = options.pop(PYTHON, "")
        return cls(text, kind, match["name"].strip(), options, (match["release"] or "").strip(), python)

    def written(self, options: Mapping[str, str]) -> str:
        """The text by which the adapter alone is named, with options."""
        return self.name + (f"[{','.join(f'{name}={value}' for name, value in options.items())}]" if options else "")
