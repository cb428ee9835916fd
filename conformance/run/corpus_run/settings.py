"""Settings of a run. They are computed from option values; workers receive them as they are."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.base.errors import UnknownName, UsageError
from conformance.base.files.atomic_write import check_results_target
from conformance.base.verdicts import Level
from conformance.run.corpus_run.run_options import RUN_OPTIONS, SELECTION_OPTIONS, flag_name
from conformance.run.corpus_run.selection import Selection, Shard
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits, parse_memory_size
from conformance.subjects.isolation.start_subjects import StartingSubjects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.subjects.isolation.protocol import SubjectInfo

_VERDICT_OPTIONS = (
    "data",
    "implements",
    "profile",
    "fail_level",
    "repeat",
    "python",
    "timeout",
    "memory",
    "no_isolation",
)
"""The options on which verdicts depend, without those that name subjects and select cases."""


@dataclass(frozen=True)
class Settings:
    """The subjects and cases of a run, and the criterion by which the run passes.

    Attributes:
        subjects: names of the subjects.
        data: directory of the corpus, or None for the corpus of this suite.
        selection: the cases to run.
        fail_level: weakest level of cases that can fail the run.
        expect: expectations files.
        results: results file to write, or None.
        implements: passes that are assumed for graph optimizers which do not declare their passes.
        diagnosis: whether to search for mutants that explain the failing cases.
        accuracy: whether to report the accuracy of outputs.
        record_outputs: whether the results contain what each subject returned.
        shard: the part of the cases to run, or None for all cases.
        min_cases: the smallest number of cases of all shards together; fewer are refused.
        repeat: how often each case is run.
        require: operators that every subject must support.
        baseline: results file of an earlier run, or None; with a baseline only regressions fail.
        relative_to: subject whose results in the baseline count for every subject, or None.
        profile: name or file of a requirement profile, or None.
        no_isolation: whether Python subjects run in this process instead of a process of their own.
        python: interpreter for Python subjects, or None for this interpreter.
        limits: limits of time and memory for the process of a subject.

    Raises:
        UsageError: two subjects have one name, options contradict each other, the results file cannot be written, or
            the interpreter is not an executable file.
    """

    subjects: tuple[SubjectName, ...]
    data: Path | None = None
    selection: Selection = field(default_factory=Selection)
    fail_level: Level = Level.MUST
    expect: tuple[Path, ...] = ()
    results: Path | None = None
    implements: tuple[str, ...] = ()
    diagnosis: bool = True
    accuracy: bool = False
    record_outputs: bool = False
    shard: Shard | None = None
    min_cases: int = 1
    repeat: int = 1
    require: tuple[str, ...] = ()
    baseline: Path | None = None
    relative_to: str | None = None
    profile: str | None = None
    no_isolation: bool = False
    python: Path | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Check that the settings are consistent."""
        names = [named.text for named in self.subjects]
        if duplicates := {name for name in names if names.count(name) > 1}:
            raise UsageError("subject-twice.subject", subject=min(duplicates))
        if self.implements:
            from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME

            if unknown := [name for name in self.implements if name != PASS_NAME]:
                raise UnknownName("no-such-pass", unknown=unknown[0], known=[PASS_NAME])
            if names and all(named.kind is not SubjectKind.OPTIMIZER for named in self.subjects):
                raise UsageError("optimizer-missing")
        if self.relative_to in names:
            raise UsageError("subject-twice.relative-to", relative_to=self.relative_to)
        if self.results is not None:
            check_results_target(self.results)
        if self.python is not None and self.no_isolation:
            raise UsageError("options-conflict.python")
        if self.python is not None and shutil.which(self.python) is None:
            raise UsageError("python-not-executable.option", python=self.python)

    def start_subjects(self, known_infos: Mapping[str, SubjectInfo] = {}) -> StartingSubjects:
        """Start the subjects; arguments and errors are those of `StartingSubjects`."""
        return StartingSubjects(
            self.subjects,
            self.limits,
            known_infos,
            in_process=self.no_isolation,
            implements=self.implements,
            python=self.python,
        )

    @property
    def subject_keys(self) -> list[list[str]]:
        """Kind and name of each subject, in order."""
        return [[str(named.kind), named.text] for named in self.subjects]

    @property
    def options_by_subject(self) -> dict[str, list[str]]:
        """The command-line options on which the verdicts of each subject depend, by the name of the subject."""
        return {named.text: self.options_of(named.kind) for named in self.subjects}

    def options_of(self, kind: SubjectKind) -> list[str]:
        """Return the command-line options on which the verdicts of a subject of this kind depend.

        The options that name the subject and select the cases are not included.
        """
        words: list[str] = []
        values = {name: getattr(self, name, None) for name in _VERDICT_OPTIONS}
        for name, value in (values | {"timeout": self.limits.timeout, "memory": self.limits.memory}).items():
            option = RUN_OPTIONS[name]
            if value == option.default or not value or (name == "implements" and kind is not SubjectKind.OPTIMIZER):
                continue
            for each in value if option.is_repeatable else [value]:
                words += [flag_name(name)] if each is True else [flag_name(name), _word(each)]
        return words


def settings_from_options(options: Mapping[str, Any]) -> Settings:
    """Return the settings that option values describe.

    Args:
        options: values by the names in `RUN_OPTIONS`. A missing key, None and an empty value all mean the default.

    Raises:
        ConformanceError: a value is malformed, or the settings are not consistent.
    """
    given = {name: value for name, value in options.items() if value not in (None, "", [], ())}
    names = [SubjectName.parse(text, kind) for kind in SubjectKind for text in given.pop(kind, ())]
    selection = {name: given.pop(name) for name in ("keyword", *SELECTION_OPTIONS.values()) if name in given}
    limits = Limits(given.pop("timeout", Limits().timeout), parse_memory_size(str(given.pop("memory", ""))))
    for name, value in given.items():
        option = RUN_OPTIONS[name]
        given[name] = tuple(map(option.type, value)) if option.is_repeatable else option.type(value)
    if "fail_level" in given:
        given["fail_level"] = Level(given["fail_level"])
    if "shard" in given:
        given["shard"] = Shard.parse(given["shard"])
    return Settings(tuple(names), selection=Selection.from_values(selection), limits=limits, **given)


def command_line() -> str:
    """Return the command that the user typed, quoted for a shell."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _word(value: Any) -> str:
    if isinstance(value, Path):
        return str(value.absolute())
    return f"{value:g}" if isinstance(value, float) else str(value)
