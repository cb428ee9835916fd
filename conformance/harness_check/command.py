"""The command that starts the harness of a subject: its own, or ours for what is named in Python."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from conformance.subjects import Kind

PREFIX = "exec:"


def argv_of(text: str, kind: Kind) -> list[str]:
    """The arguments of the process.

    Raises:
        UsageError: the command is empty, or its quotes do not match.
    """
    if not text.startswith(PREFIX):
        return [sys.executable, "-m", "conformance.isolation.harness", *_switch(kind), text]
    try:
        argv = shlex.split(text.removeprefix(PREFIX))
    except ValueError as error:
        raise UsageError(f"{text} is no command: {error}.", "Quote it as for a shell.") from None
    if not argv:
        raise UsageError(f"{text} names no command.", "Write exec:COMMAND.")
    return argv


def _switch(kind: Kind) -> list[str]:
    return ["--optimizer"] if kind == "optimizer" else []
