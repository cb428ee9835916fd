"""What a run is asked for: written down once, and handed to the workers of xdist as JSON."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, did_you_mean
from conformance.files.regular import check_results_target
from conformance.isolation.limits import Limits
from conformance.run.selection import Selection, Shard
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class Settings:
    """What to run.

    Attributes:
        subjects: what to run, each by the text that names it.
        data: the corpus's directory, or None for the bundled one.
        selection: which cases to run.
        level: up to which level the gate judges.
        expect: expectations files.
        results: where to write results.jsonl, or None.
        claims: passes that graph optimizers implement which do not say so themselves.
        diagnosis: whether to say what explains failing cases.
        quality: whether to tell of every answer how accurate it is.
        shard: the only part of the cases to run, or None for all.
        repeat: how often each case is run.
        require: operators that every subject must support.
        baseline: the results file of an earlier run, since which nothing may have become worse, or None.
        profile: what is asked beyond the specification: a bundled profile's name or a file, or None.
        in_process: whether subjects in Python run in this process, instead of one of their own.
        python: the interpreter that subjects in Python run in, or None for this one.
        limits: what a subject's process may take.

    Raises:
        UsageError: a subject is named twice, a claim is of nothing, the results cannot be written, or the interpreter
            is none.
    """

    subjects: tuple[SubjectName, ...]
    data: Path | None = None
    selection: Selection = field(default_factory=Selection)
    level: Level = Level.MUST
    expect: tuple[Path, ...] = ()
    results: Path | None = None
    claims: tuple[str, ...] = ()
    diagnosis: bool = True
    quality: bool = False
    shard: Shard | None = None
    repeat: int = 1
    require: tuple[str, ...] = ()
    baseline: Path | None = None
    profile: str | None = None
    in_process: bool = False
    python: Path | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        names = [named.text for named in self.subjects]
        if twice := {name for name in names if names.count(name) > 1}:
            raise UsageError(
                f"{min(twice)} is named twice.",
                "Name each once; tell a graph optimizer from a backend by an option, as in onnxruntime[level=all].",
            )
        if self.claims:
            self._check_claims()
        if self.results is not None:
            check_results_target(self.results)
        if self.python is not None:
            self._check_python(self.python)

    def as_json(self) -> dict[str, Any]:
        """The settings as a worker of xdist is told them; paths are absolute."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Settings:
        """The settings that a worker was told."""
        read: dict[str, Any] = {name: value if value is None else _READ[name](value) for name, value in told.items()}
        return cls(**read)

    def options_of(self, kind: SubjectKind) -> list[str]:
        """The words of a command line on which verdicts depend, besides those that name subjects and cases."""
        usual, limits = Limits(), self.limits
        claims = self.claims if kind is SubjectKind.OPTIMIZER else ()
        given: list[tuple[str, object]] = [
            ("--data", self.data),
            *(("--claims", name) for name in claims),
            ("--profile", self.profile),
            ("--level", self.level if self.level is not Level.MUST else None),
            ("--repeat", self.repeat if self.repeat > 1 else None),
            ("--python", self.python),
            ("--timeout", f"{limits.timeout:g}" if limits.timeout != usual.timeout else None),
            ("--memory", limits.memory),
        ]
        words = [str(word) for option in given if option[1] for word in option]
        return [*words, "--in-process"] if self.in_process else words

    def _check_python(self, python: Path) -> None:
        """Refuse an interpreter that no subject would run in."""
        if self.in_process:
            raise UsageError("--python is for subjects in processes of their own.", "Leave --in-process out.")
        if shutil.which(python) is None:
            raise UsageError(f"{python} is no program that can be executed.", "Name a Python, as /usr/bin/python3.")

    def _check_claims(self) -> None:
        """Refuse claims that nothing can be held to."""
        from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME

        if unknown := [name for name in self.claims if name != PASS_NAME]:
            raise UsageError(
                f"There is no pass {unknown[0]}.", did_you_mean(unknown[0], [PASS_NAME], f"Use {PASS_NAME}.")
            )
        if all(named.kind is not SubjectKind.OPTIMIZER for named in self.subjects):
            raise UsageError("A pass is claimed, but no graph optimizer is named.", "Name one with -o.")


def command_line() -> str:
    """What was typed, for people."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    match value:
        case tuple():
            return [_plain(each) for each in value]
        case SubjectName():
            return [str(value.kind), value.text]
        case Limits() | Selection():
            return asdict(value)
        case Path():
            return str(value.absolute())
        case Shard() | Level():
            return str(value)
        case _:
            return value


_READ: Mapping[str, Callable[[Any], Any]] = {
    "subjects": lambda named: tuple(SubjectName.of(text, SubjectKind(kind)) for kind, text in named),
    "data": Path,
    "selection": lambda told: Selection(told["keyword"], *(tuple(told[each.name]) for each in fields(Selection)[1:])),
    "level": Level,
    "expect": lambda paths: tuple(map(Path, paths)),
    "results": Path,
    "claims": tuple,
    "diagnosis": bool,
    "quality": bool,
    "shard": Shard.read,
    "repeat": int,
    "require": tuple,
    "baseline": Path,
    "profile": str,
    "in_process": bool,
    "python": Path,
    "limits": lambda told: Limits(**told),
}
"""How each setting is read from JSON, but for None; a test holds the names against those of Settings."""
