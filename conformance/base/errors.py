"""Errors that end a command, and the exit statuses of all commands.

Every `ConformanceError` has a stable code, a sentence that names the thing and what is wrong with it, and a hint that
states what to do; `errors.toml` has these texts. It ends a command with exit status 2. It is never a verdict: failures
of a subject are verdicts, see `conformance.base.verdicts`.
"""

from __future__ import annotations

import shlex
from enum import IntEnum
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ExitStatus(IntEnum):
    """Exit statuses of the commands; docs/reference/exit-statuses.md has the same table."""

    PASSES = 0
    FAILS = 1
    USAGE = 2
    FAULT = 3
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """The meaning of the status in one phrase."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitStatus.PASSES: "the run passes, or no difference was found",
    ExitStatus.FAILS: "the run fails, or a difference was found",
    ExitStatus.USAGE: "the command line, the corpus or a file is wrong",
    ExitStatus.FAULT: "internal error of the suite",
    ExitStatus.INTERRUPTED: "interrupted",
}


class SuiteFault(Exception):
    """Internal error of the suite; it ends a command with `ExitStatus.FAULT`.

    Attributes:
        code: stable identifier of the kind of fault.
    """

    code: ClassVar[str] = "fault.internal"


class OutputFault(SuiteFault):
    """An internal error after the verdicts: an explanation or a report is missing, and all results are written."""

    code = "fault.output"

    @classmethod
    def caused_by(cls, error: Exception, what: str) -> Self:
        """Return the fault for an exception, which stays its cause for the traceback; `what` is what was not done."""
        fault = cls(f"{what}: {type(error).__name__}: {error}")
        fault.__cause__ = error
        return fault


class ConformanceError(Exception):
    """Error that the user of a command can correct; it ends the command with `ExitStatus.USAGE`.

    Args:
        name: the part of the code after the area, in kebab case: `file-missing`. If the code has several texts, a dot
            and the name of one of them follow.
        problem: one sentence that names the thing and states what is wrong with it; by default, that of `errors.toml`.
        hint: one sentence that states what to do.
        values: the values of the placeholders in `errors.toml`, and the problem or the hint if the table lacks it.
            If the table names one of them as `near`, the hint is the most similar name of `known`, if there is one.

    Attributes:
        code: stable identifier of the kind of error, `AREA.NAME`: `corpus.file-missing`.
    """

    area: ClassVar[str] = "suite"

    def __init__(self, name: str, problem: str | None = None, hint: str = "", /, **values: Any) -> None:
        name, _, variant = name.partition(".")
        if problem is None:
            texts = _texts()[self.area][name]
            texts = texts[variant] if variant else texts
            formatted = _TextFormatter().format
            problem, hint = (formatted(texts.get(key, f"{{{key}}}"), **values) for key in ("problem", "hint"))
            if "near" in texts:
                hint = did_you_mean(str(values[texts["near"]]), values["known"], hint)
        problem = _limited(problem)
        hint = _limited(hint)
        super().__init__(name, problem, hint)
        self.code = f"{self.area}.{name}"
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem}\n{self.hint}"

    def as_json(self) -> dict[str, str]:
        """Return the code, the problem and the hint as JSON outputs contain them."""
        return {"code": self.code, "problem": self.problem, "hint": self.hint}


MAX_TEXT_LENGTH = 2000
"""Characters of a problem or a hint: files and subjects can have names and numbers of any length."""


def _limited(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"


class _TextFormatter(Formatter):
    """Formats a list as its values with commas between them; `!q` quotes a value for a shell, in a printed command."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion == "q":
            return shlex.quote(str(value))
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else format(value, format_spec)


@cache
def _texts() -> Mapping[str, Any]:
    """Return the texts of all errors, by area and name."""
    import tomllib  # most commands raise no error

    return tomllib.loads(Path(__file__).with_name("errors.toml").read_text("utf-8"))


class UsageError(ConformanceError):
    """Options or arguments of a command are wrong or contradict each other."""

    area = "usage"


class UnknownName(UsageError):
    """No case, backend, generator, clause or other thing has the given name."""

    area = "name"


class DependencyError(ConformanceError):
    """A package that the suite needs is missing, or has a version that the suite cannot use."""

    area = "dependency"


class CorpusError(ConformanceError):
    """The corpus is missing, incomplete or altered; no subject may be judged by it."""

    area = "corpus"


class CaseError(ConformanceError):
    """A generator defines a case that contradicts itself or that the oracle cannot compute."""

    area = "case"


class StorageError(ConformanceError):
    """A file or folder that the suite needs cannot be written, because of the file system."""

    area = "storage"


class ModelError(ConformanceError):
    """A model given by the user cannot be read or rewritten."""

    area = "model"


class SubjectError(ConformanceError):
    """A subject cannot be imported, started or used."""

    area = "subject"


class ResultsError(ConformanceError):
    """A results file is missing, truncated, of another format or inconsistent."""

    area = "results"


class HistoryError(ConformanceError):
    """The store of a history cannot be read or written, or the releases of a package cannot be found."""

    area = "history"


class CensusFileError(ConformanceError):
    """A census file cannot be read, or is not the complete result of a census."""

    area = "census"


class EvidenceError(ConformanceError):
    """Evidence cannot be written: its requirements or its measurements cannot be read, or contradict the results."""

    area = "evidence"


class JobError(ConformanceError):
    """A distributed job cannot start or continue: its workers, scheduler or state file are unusable."""

    area = "job"


class ExpectationsError(ConformanceError):
    """An expectations file cannot be read or has the wrong form."""

    area = "expectations"


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint for an unknown name: the nearest known name if it is similar enough, else `otherwise`."""
    close = nearest_name(name, known)
    return f"Did you mean {close}?" if close else otherwise


def nearest_name(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the most similar known name, or None if no name is similar enough.

    Args:
        likeness: least similarity, from 0 (any name) to 1 (equal names).
    """
    from difflib import get_close_matches

    names = sorted(known)
    same = [each for each in names if each.lower() == name.lower()]
    return next(iter(same or get_close_matches(name, names, n=1, cutoff=likeness)), None)
