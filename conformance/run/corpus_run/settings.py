"""Settings of a run, and the selection of its cases: by id, tag, clause, level, operator, expression, and by shard.

The settings are computed from option values; workers receive them as they are.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from conformance.base.errors import UnknownName, UsageError
from conformance.base.files.atomic_write import check_results_target
from conformance.base.verdicts import Level
from conformance.corpus.cases.corpus import find_case
from conformance.run.corpus_run.run_options import RUN_OPTIONS, SELECTION_OPTIONS, flag_name
from conformance.run.results.missing_operators import is_onnx_operator
from conformance.run.results.records import Selection, Shard
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits, parse_memory_size
from conformance.subjects.isolation.start_subjects import StartingSubjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.subjects.isolation.protocol import SubjectInfo


_SHARD_PATTERN = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")

MAX_KEYWORD_TOKENS = 250
"""Largest number of words and parentheses of `-k`.

pytest parses the expression by recursion, with three calls for a parenthesis, and Python allows 1000 calls.
"""


CONTROL_FLOW = frozenset({"If", "Loop", "Scan"})
"""Operators with subgraphs, in which there can be other operators."""


def parse_shard(text: str) -> Shard:
    """Return the shard that a text such as "3/8" names.

    Raises:
        UsageError: the text does not have this form, or there are fewer shards.
    """
    match = _SHARD_PATTERN.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError("malformed-shard", text=text)
    return Shard(int(match[1]), int(match[2]))


def check_keyword(keyword: str) -> None:
    """Check that pytest can parse the expression of `-k`; pytest itself would fail later, in a worker process.

    Raises:
        UsageError: the expression is too long or malformed.
    """
    if not keyword.strip():
        return
    from _pytest.mark.expression import Expression  # pytest exports no public name for the parser

    if (tokens := len(re.findall(r"[()]|[^\s()]+", keyword))) > MAX_KEYWORD_TOKENS:
        raise UsageError("keyword-too-long", tokens=tokens, most=MAX_KEYWORD_TOKENS)
    try:
        Expression.compile(keyword)
    except Exception as error:  # noqa: BLE001 - the class of the error depends on the version of pytest
        raise UsageError("malformed-keyword", keyword=keyword, error=error) from None


def selection_from_values(values: Mapping[str, Any]) -> Selection:
    """Return the selection for option values; the keys are parameter names, such as `select_level`.

    Raises:
        UsageError: the expression of `-k` is too long or malformed.
    """
    conditions: dict[str, Any] = {name: tuple(map(str, values.get(name) or ())) for name in SELECTION_OPTIONS}
    keyword = values.get("keyword") or ""
    check_keyword(keyword)
    return Selection(keyword, **conditions)


def select_cases(corpus: Corpus, selection: Selection) -> dict[str, CorpusCase]:
    """Return the cases of a corpus that satisfy the conditions, by id; those of all shards.

    If `selection.case` is given, the result is sorted by id.

    Raises:
        UnknownName: the corpus has no such case, tag, clause or operator.
        CorpusError: the description of a case cannot be read.
    """
    named = {id: find_case(corpus, id) for id in sorted(set(selection.case))} if selection.case else corpus.cases
    matches = keyword_matcher(selection.keyword)
    levels = selection.select_level
    found = {id: case for id, case in named.items() if (not levels or case.level in levels) and matches(id)}
    wanted = {"tag": selection.tag, "clause": selection.clause, "operator": selection.operator}
    if not any(wanted.values()):
        return found
    traits = {id: case_traits(corpus, case) for id, case in corpus.cases.items()}
    for kind, names in wanted.items():
        _check_known(kind, names, {known for of_case in traits.values() for known in of_case[kind]})
    return {
        id: case
        for id, case in found.items()
        if all(not names or traits[id][kind] & set(names) for kind, names in wanted.items())
    }


def select_shard(cases: dict[str, CorpusCase], shard: Shard | None) -> dict[str, CorpusCase]:
    """Return the cases of a shard: every `of`-th case in the order of the ids; without a shard, all cases.

    Each shard thus has cases of each operator.
    """
    return cases if shard is None else {id: cases[id] for id in sorted(cases)[shard.number - 1 :: shard.of]}


def keyword_matcher(keyword: str) -> Callable[[str], bool]:
    """Return a function that returns whether the id of a case satisfies the expression of `-k`.

    Upper and lower case are equivalent. Unlike in pytest, words are compared with the id alone, and not with the
    subject, the path or marks.

    Raises:
        UsageError: the expression is too long or malformed; that of a results file was not checked before.
    """
    check_keyword(keyword)
    if not keyword.strip():
        return lambda _: True
    from _pytest.mark.expression import Expression

    expression = Expression.compile(keyword)
    return lambda case: expression.evaluate(lambda word, /, **_: word.lower() in case.lower())


def case_traits(corpus: Corpus, case: CorpusCase) -> dict[str, frozenset[str]]:
    """Return the tags, clauses and operators of a case, by the name of the selection option."""
    from conformance.corpus.cases.case_loading import load_case, read_case_json  # late: it imports onnx
    from conformance.exact.models.graphs import MAIN_DOMAINS, TRAINING_DOMAIN, all_nodes

    document = read_case_json(corpus, case)
    nodes = document.model.nodes
    standard = {*MAIN_DOMAINS, TRAINING_DOMAIN}
    operators = {node.op_type for node in nodes}
    if operators & CONTROL_FLOW or any(node.domain not in standard for node in nodes):
        # case.json has only the nodes of the main graph, not those of subgraphs and functions
        operators.update(node.op_type for node in all_nodes(load_case(corpus, case).model))
    return {
        "tag": frozenset(document.tags),
        "clause": frozenset(document.clauses),
        "operator": frozenset(operators),
    }


def _check_known(kind: str, names: Iterable[str], known: set[str]) -> None:
    """Check that each selected name exists in the corpus.

    Args:
        kind: what the names are, for the message: tag, clause or operator.
        names: the selected names.
        known: the names that cases of the corpus have.

    Raises:
        UnknownName: no case has one of the names.
    """
    for name in names:
        if name not in known:
            if kind == "operator" and is_onnx_operator(name):
                raise UnknownName("not-in-corpus.of-onnx", name=name)
            raise UnknownName("not-in-corpus.unknown", kind=kind, name=name, known=sorted(known))


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
    conditions = {name: given.pop(name) for name in ("keyword", *SELECTION_OPTIONS) if name in given}
    limits = Limits(given.pop("timeout", Limits().timeout), parse_memory_size(str(given.pop("memory", ""))))
    for name, value in given.items():
        option = RUN_OPTIONS[name]
        given[name] = tuple(map(option.type, value)) if option.is_repeatable else option.type(value)
    if "fail_level" in given:
        given["fail_level"] = Level(given["fail_level"])
    if "python" in given and (found := shutil.which(given["python"])) is not None:
        given["python"] = Path(found).absolute()
    selection = selection_from_values(conditions)
    if "shard" in given:
        selection = structs.replace(selection, shard=parse_shard(given.pop("shard")))
    return Settings(tuple(names), selection=selection, limits=limits, **given)


def command_line() -> str:
    """Return the command that the user typed, quoted for a shell."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _word(value: Any) -> str:
    if isinstance(value, Path):
        return str(value.absolute())
    return f"{value:g}" if isinstance(value, float) else str(value)
