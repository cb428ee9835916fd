"""What a run is asked for."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.isolation.limits import Limits
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.isolation.host import Introduction
    from conformance.run.resuming import Begun
    from conformance.run.selection import Shard
    from conformance.subjects.naming import SubjectName


@dataclass(frozen=True)
class Settings:
    """What to run.

    Attributes:
        subjects: what to run, each by the text that names it.
        data: the corpus's directory, or None for the bundled one.
        cases: ids of the only cases to run; empty for all.
        level: up to which level the gate judges.
        expect: expectations files.
        results: where to write results.jsonl, or None.
        claims: passes that graph optimizers implement which do not say so themselves.
        diagnosis: whether to say of failing cases with which deviations they agree.
        recording: whether this session records what others report; a worker of xdist does not.
        shard: the only part of the cases to run, or None for all.
        repeat: how often each case is run.
        require: operators that every subject must support.
        baseline: the results file of an earlier run, since which nothing may have become worse, or None.
        in_process: whether subjects in Python run in this process, instead of one of their own.
        limits: what a subject's process may take.
        introductions: how subjects introduced themselves to the controller of xdist, in a worker.
        begun: a run to continue, or None.
        done: the subjects and cases whose results that run has.
    """

    subjects: tuple[SubjectName, ...]
    data: Path | None = None
    cases: tuple[str, ...] = ()
    level: Level = Level.MUST
    expect: tuple[Path, ...] = ()
    results: Path | None = None
    claims: tuple[str, ...] = ()
    diagnosis: bool = True
    recording: bool = True
    shard: Shard | None = None
    repeat: int = 1
    require: tuple[str, ...] = ()
    baseline: Path | None = None
    in_process: bool = False
    limits: Limits = field(default_factory=Limits)
    introductions: Mapping[str, Introduction] = field(default_factory=dict)
    begun: Begun | None = None
    done: frozenset[tuple[str, str]] = frozenset()


def command_line() -> str:
    """What was typed, for people."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def check_claims(claims: Sequence[str], kinds: Sequence[SubjectKind]) -> None:
    """Refuse claims that nothing can be held to.

    Args:
        kinds: those of the subjects named.

    Raises:
        UsageError: a pass is unknown, or no graph optimizer is named.
    """
    if not claims:
        return
    from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME

    if unknown := [name for name in claims if name != PASS_NAME]:
        raise UsageError(f"There is no pass {unknown[0]}.", f"Use {PASS_NAME}.")
    if SubjectKind.OPTIMIZER not in kinds:
        raise UsageError("A pass is claimed, but no graph optimizer is named.", "Name one with -o.")
