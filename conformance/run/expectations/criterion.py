"""The pass criterion of a run: which results are unexpected, and all reasons for which the run fails.

A result is unexpected if its verdict differs from the expectation, or, with a baseline, if it is a regression. Results
that are missing are a reason too: `Completeness` has what the caller knows about them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from conformance.base.errors import nearest_name
from conformance.base.serialization.printable_text import name_list
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import FUNCTION_TAG, CaseKind
from conformance.exact.clauses import backend_family_titles
from conformance.run.expectations.criterion_settings import Standing, failure_words
from conformance.run.expectations.support import SupportCounter
from conformance.run.results.failure_groups import ELEMENT_TYPES, location_file
from conformance.run.results.outcome_counts import is_known_failure
from conformance.run.results.results_file import UnexpectedKind, unexpected_kind, unnamed_checks
from conformance.run.results.wrong_elements import is_wrong_otherwise, wrong_words
from conformance.subjects.calling.subject_names import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.run.expectations.criterion_settings import CriterionSettings
    from conformance.run.expectations.expectations_file import Expectation, Expectations
    from conformance.run.expectations.support import Support
    from conformance.run.results.records import CaseRecord, Expected, Judged, OpenElements, Result, ResultRow


@dataclass(frozen=True)
class CaseFacts:
    """The properties of a case that the pass criterion needs.

    Attributes:
        family: name of the operator or pass that the case tests, from its first clause.
        operators: operators in the main graph of a valid model; empty for an invalid model.
        rejection: whether the subject must reject the model. Even a subject that supports no operator passes such a
            case.
        supports: names of the supports that the case shows, by the kind of the subject.
        tags: tags of the case, of which one can be an element type.
    """

    family: str
    operators: frozenset[str]
    rejection: bool = False
    supports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()


def support_names(case: CaseRecord, subject_kind: str) -> frozenset[str]:
    """Return the names of the supports that a case shows: an element type of its only operator, and its operators.

    For a graph optimizer, a case of the pass shows the element type alone.
    """
    if case.level == Level.SILENT or case.kind == CaseKind.INVALID:
        return frozenset()
    is_backend = subject_kind == SubjectKind.BACKEND
    types = ELEMENT_TYPES.intersection(case.tags)
    family = case.family
    operators = {node.op_type for node in case.model.nodes if f"{node.domain}.".startswith((".", "ai.onnx."))}
    is_of_one = operators == {family} if is_backend else case.kind == CaseKind.PASS
    names = operators if is_backend else set()
    return frozenset(names | ({f"{family}[{min(types)}]"} if is_of_one and len(types) == 1 else set()))


def case_facts(case: CaseRecord) -> CaseFacts:
    """Return the facts of a case, from its record in a results file."""
    rejection = case.kind == CaseKind.INVALID
    operators = frozenset(node.op_type for node in case.model.nodes)
    present = frozenset() if rejection else operators
    supports = {str(kind): support_names(case, kind) for kind in SubjectKind}
    return CaseFacts(case.family, present, rejection, supports, frozenset(case.tags))


@dataclass(frozen=True)
class _RequiredChain:
    """An unsupported case with a required operator and others, which fails the run if the others are supported.

    Attributes:
        others: the operators of the case that are not required, each with its element type.
    """

    subject: str
    case: str
    family: str
    others: frozenset[tuple[str, str]]


def _typed_operators(facts: CaseFacts) -> set[tuple[str, str]]:
    """Return the operators of a case, each with the element types of the case."""
    types = " ".join(sorted(ELEMENT_TYPES & facts.tags))
    return {(operator, types) for operator in facts.operators}


MAX_REASONS = 50
"""Largest number of reasons that are listed one by one."""


@dataclass(frozen=True, order=True)
class UnexpectedGroup:
    """The common properties of several unexpected results, from which one reason for a failed run is made.

    Attributes:
        kind: the way in which the results are unexpected.
        subject: the subject.
        family: the operator or pass that the cases test.
        verdict: the verdict of the results.
        location: location of the entry in an expectations file that the results contradict; the file alone for
            `PASSES` and `OTHER_CAUSE`; empty if there is none.
        expected: the verdict in the entry or in the baseline, the violated checks that the entry does not list, or the
            mutant of the entry, whose outputs the failure does not have.
    """

    kind: UnexpectedKind
    subject: str
    family: str
    verdict: Verdict
    location: str = ""
    expected: str = ""


def reason_sentences(
    groups: Mapping[UnexpectedGroup, Sequence[str]], examples: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """Return a sentence for each group of unexpected results, in the order of the examples.

    Args:
        groups: for each group, the ids of its cases.
        examples: a subject and a case of each cause, the cause that a report lists first at first. A sentence on
            several cases names the first example among them.
    """
    sentences = list(_merged_sentences(groups, {example: place for place, example in enumerate(examples)}))
    more = len(sentences) - MAX_REASONS
    return [*sentences[:MAX_REASONS], f"and {more} more reasons"] if more > 0 else sentences


MAX_FAMILIES_WITH_ERRORS = 3
"""Number of operators whose errors have a reason each; the errors of more operators often have one cause."""


def _merged_sentences(
    groups: Mapping[UnexpectedGroup, Sequence[str]], places: Mapping[tuple[str, str], int]
) -> Iterator[str]:
    """Yield the sentences of all groups; unexpected errors of many operators on a subject have one sentence."""
    of_errors: dict[UnexpectedGroup, list[UnexpectedGroup]] = defaultdict(list)
    for group in sorted(groups):
        is_error = group.kind is UnexpectedKind.UNEXPECTED and group.verdict is Verdict.ERROR
        family = "" if is_error else group.family
        merged = UnexpectedGroup(group.kind, group.subject, family, group.verdict, group.location, group.expected)
        of_errors[merged].append(group)
    found: list[tuple[UnexpectedGroup, Sequence[str]]] = []
    for own in of_errors.values():
        if len(own) > MAX_FAMILIES_WITH_ERRORS:
            families = name_list([group.family for group in own])
            merged = UnexpectedGroup(own[0].kind, own[0].subject, families, own[0].verdict)
            found.append((merged, [case for group in own for case in groups[group]]))
        else:
            found += [(group, groups[group]) for group in own]
    ranked = [(group.kind, *_first_case(group.subject, cases, places), group, cases) for group, cases in found]
    for *_, example, group, cases in sorted(ranked, key=lambda each: each[:2]):
        yield _sentence(group, len(cases), example)


def _first_case(subject: str, cases: Iterable[str], places: Mapping[tuple[str, str], int]) -> tuple[int, str]:
    """Return the place of the first example among the cases of a subject, and the case; else the end of the places."""
    return min((places.get((subject, case), len(places)), case) for case in cases)


_ENTRY_PREDICATES = {
    UnexpectedKind.PASSES: "{verb} {on}, {expected} expected: remove {them} from the file",
    UnexpectedKind.DIFFERS: "{verb} {on}, {expected} expected: change the verdict",
    UnexpectedKind.VIOLATES: "{verb} {on} by {expected} too: write an entry with the reason",
    UnexpectedKind.OTHER_CAUSE: "{verb} {on} otherwise than listed{expected}: write another entry",
}
"""The predicate of a reason, if results contradict an entry of an expectations file."""

_REFUSAL_PREDICATE = "{verb} {on}, {expected} expected: support {them} again, or change the verdict"
"""The predicate of cases that were judged before: less support is no reason to change the file alone."""

_PREDICATES = _ENTRY_PREDICATES | {
    UnexpectedKind.VARIES: "{vary} from run to run {on}",
    UnexpectedKind.REQUIRED: "{verb} {on} although {family} is required",
    UnexpectedKind.REGRESSED: "{verb} {on}, but in the baseline: {expected}",
    UnexpectedKind.UNEXPECTED: "{verb} {on}",
}


def _sentence(group: UnexpectedGroup, count: int, example: str) -> str:
    """Return the reason: the location of the entry, the id of a single case or the number of cases, the predicate."""
    is_one = count == 1
    is_refusal = group.kind is UnexpectedKind.DIFFERS and group.verdict is Verdict.UNSUPPORTED
    predicate = (_REFUSAL_PREDICATE if is_refusal else _PREDICATES[group.kind]).format(
        family=group.family,
        verb=group.verdict.verb(count),
        vary="varies" if is_one else "vary",
        them="it" if is_one else "them",
        on=f"on {group.subject}",
        expected=group.expected,
    )
    location = f"{group.location}: " if group.kind in _ENTRY_PREDICATES else ""
    which = example if is_one else f"{count} cases of {group.family}"
    return f"{location}{which} {predicate}{'' if is_one else f' (first {example})'}"


class MissingCause(Enum):
    """Why results of a run are missing; the value is the clause of the reason."""

    INTERRUPTED = "the run was interrupted"
    STOPPED = "the run was stopped early"
    WORKERS_DIED = "{} died (the last: {})"
    REMOVED_BY_PYTEST = "a pytest plugin or a conftest.py removed the cases"
    ENDED_EARLY = "a run was stopped early, or died"


@dataclass(frozen=True)
class Completeness:
    """Which of the results that a run must have are there.

    Attributes:
        recorded: number of results of the run.
        expected: number of results of a complete run.
        is_selection: whether the run has only some cases of its corpus. Patterns that match no case are then no reason.
        cause: why results are missing, if any are. An interrupted run fails also if it has all results.
        deaths: how each worker that died ended, for `MissingCause.WORKERS_DIED`.
        repeated: number of results that were ignored, because another pytest plugin ran their cases again.
        is_shard: whether another run may support a required operator.
        operators: the operators that selected the cases; empty if none did.
        missing_shards: the shards without results, by subject.
    """

    recorded: int = 0
    expected: int = 0
    is_selection: bool = False
    cause: MissingCause = MissingCause.STOPPED
    deaths: Sequence[str] = ()
    repeated: int = 0
    is_shard: bool = False
    operators: Sequence[str] = ()
    missing_shards: Mapping[str, Sequence[object]] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        """Number of results that are missing."""
        return self.expected - self.recorded

    @property
    def reasons(self) -> list[str]:
        """The reasons for which the run fails because it is not complete, one sentence each."""
        found = []
        if self.missing or self.cause is MissingCause.INTERRUPTED:
            workers = f"{len(self.deaths)} worker process{'es' * (len(self.deaths) > 1)}"
            cause = self.cause.value.format(workers, *self.deaths[-1:])
            found.append(f"{self.missing} of {self.expected} results are missing: {cause}")
        if self.repeated:
            text = f"{self.repeated} cases were run again by another pytest plugin: their first results count"
            found.append(text)
        return found


_MIN_SIMILARITY = 0.9
"""Minimum similarity to an id above which a pattern without matches counts as a misspelt id."""


class PassCriterion:
    """The pass criterion of one run. It judges results one by one, in any order.

    It stores counts and ids, but not the results, because a run can have many results.

    Args:
        subjects: the kinds of the subjects, by id.

    Attributes:
        settings: the settings of the criterion.
        verdicts: the number of each verdict by subject and level.
        known_failures: the number of failures at judged levels that are as expected, by subject.
        loose_failures: the number of those whose entry accepts any wrong outputs.
        shrunk_failures: the number of those with fewer wrong elements than their entry lists.
        open_elements: the elements without a judgement of each result that has them, at judged levels.
    """

    def __init__(self, settings: CriterionSettings, subjects: Mapping[str, str]) -> None:
        self.settings = settings
        self._kinds = subjects
        self._matched_patterns: set[tuple[str, str]] = set()
        self._cases: set[str] = set()
        self._without_pass = set(subjects)
        self._without_node = set(subjects)  # they passed no case but rejections and functions of the model
        self._passed_functions: dict[str, set[str]] = defaultdict(set)
        self._with_listed_failure: set[str] = set()
        self._supported_operators: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._chains: list[_RequiredChain] = []
        self._supports: dict[str, SupportCounter] = {
            subject: SupportCounter() for subject, file in settings.expectations.items() if file.supports is not None
        }
        self._unexpected: dict[UnexpectedGroup, list[str]] = defaultdict(list)
        self._operators: dict[UnexpectedGroup, set[str]] = defaultdict(set)
        self.verdicts: dict[str, dict[Level, Counter[Verdict]]] = {name: defaultdict(Counter) for name in subjects}
        self.known_failures: Counter[str] = Counter()
        self.loose_failures: Counter[str] = Counter()
        self.shrunk_failures: Counter[str] = Counter()
        self.open_elements: list[OpenElements] = []

    def find_expectation(self, result: Judged | Result, load: Callable[[], CaseInMemory]) -> Expected | None:
        """Return the expectation that applies to a result, for its record, or None.

        Args:
            load: function that returns the case. It is called for a listed failure whose entry has mutants.
        """
        file = self.settings.expectations.get(result.subject)
        entry = file.entry_for(result.case) if file else None
        if file is None or entry is None:
            return None
        is_compared = result.verdict is entry.verdict and not result.varies
        is_other = is_compared and (
            is_wrong_otherwise(wrong_words(result), entry.wrong)
            or (bool(entry.mutants) and _has_other_cause(entry, file, result, load))
        )
        has_shrunk = is_compared and not is_other and entry.smaller_wrong(wrong_words(result)) is not None
        return entry.expected(result.case, has_other_cause=is_other, has_shrunk=has_shrunk)

    def find_standing(self, result: Judged | Result) -> Standing:
        """Return what the baseline has for a result, for its record; `wrong` is empty unless more is wrong now."""
        standings = self.settings.baseline.standings if self.settings.baseline else {}
        standing = standings.get((result.subject, result.case)) or Standing()
        is_compared = result.verdict is standing.verdict and not result.varies
        if is_compared and is_wrong_otherwise(failure_words(result, self.settings.level), standing.wrong):
            return standing
        return standing._replace(wrong=())

    def assess(self, result: ResultRow, facts: Callable[[], CaseFacts]) -> bool:
        """Count a result, and return whether the run may pass with it.

        Args:
            result: a result record with its level, and with its expectation and its baseline verdict if they exist.
            facts: function that returns the facts of the case; it is called only if they affect the judgement.
        """
        subject = result.subject
        case = result.case
        level = result.level
        verdict = result.verdict
        self._cases.add(case)
        self.verdicts[subject][level][verdict] += 1
        passes = verdict is Verdict.PASS or result.passes_checked_levels(self.settings.level)
        if passes and subject in self._without_node and not facts().rejection:
            self._without_pass.discard(subject)
            if FUNCTION_TAG in facts().tags:
                self._passed_functions[subject].add(facts().family)
            else:
                self._without_node.discard(subject)
        self._record_match(subject, case, result.expected)
        if subject in self._supports:
            names = facts().supports.get(self._kinds.get(subject, ""), ())
            self._supports[subject].add(names, case, verdict)
        if not level.is_within(self.settings.level):
            return True
        if result.open_elements is not None:
            self.open_elements.append(result.open_elements)
        if self.settings.require and verdict not in {Verdict.UNSUPPORTED, Verdict.SKIPPED}:
            self._supported_operators[subject].update(_typed_operators(facts()))
        kind = self._kind(result, verdict, facts)
        if kind is None:
            is_known = is_known_failure(replace(result, unexpected=False))
            self.known_failures[subject] += is_known
            if is_known and verdict is Verdict.FAIL:
                self._with_listed_failure.add(subject)
            self.loose_failures[subject] += is_known and result.expected is not None and result.expected.is_loose
            self.shrunk_failures[subject] += is_known and result.expected is not None and result.expected.has_shrunk
            return True
        expected = result.expected if kind in _ENTRY_PREDICATES else None
        location, meant = (expected.location, str(expected.verdict)) if expected else ("", "")
        match kind:
            case UnexpectedKind.PASSES:
                location = location_file(location)  # one reason for all fixed cases of a file
            case UnexpectedKind.REGRESSED:
                meant = result.baseline_text
            case UnexpectedKind.VIOLATES:
                meant = ", ".join(unnamed_checks(result, self.settings.level, expected.checks if expected else ()))
            case UnexpectedKind.OTHER_CAUSE if expected:
                location = location_file(location)  # one reason for all cases of a cause
                meant = f", not as {expected.mutants[0]}" if expected.mutants else ""
        family = facts().family
        if self._kinds.get(subject) == SubjectKind.BACKEND:
            family = backend_family_titles().get(family, family)
        group = UnexpectedGroup(kind, subject, family, verdict, location, meant)
        self._unexpected[group].append(case)
        if family in backend_family_titles().values():
            self._operators[group] |= facts().operators
        return False

    def reasons(
        self, completeness: Completeness = Completeness(), examples: Sequence[tuple[str, str]] = ()
    ) -> list[str]:
        """Return all reasons for which the run fails, one sentence each; empty if it passes.

        Args:
            completeness: which results the run has.
            examples: see `reason_sentences`.
        """
        is_partial = completeness.is_selection or completeness.missing > 0
        accepted = self._with_listed_failure if completeness.is_selection else set()  # such as one known failure alone
        found = [*self._without_judgement(accepted, completeness.operators)]
        found += [sentence for subject in sorted(self._supports) for sentence in self._lost_supports(subject)]
        found += reason_sentences(self._unexpected_groups(), examples)
        if not is_partial and not self.settings.baseline:
            found += self._unmatched_supports() + self._unmatched_patterns()
        if completeness.missing_shards:
            found += [
                f"shards of {subject} are missing: {', '.join(map(str, shards))}"
                for subject, shards in completeness.missing_shards.items()
            ]
        elif not completeness.is_shard:
            found += self._missing_required_operators()
        return found + completeness.reasons

    def _without_judgement(self, accepted: Collection[str], operators: Sequence[str]) -> Iterator[str]:
        """Yield a sentence for each subject that passed nothing, or no node of the operators that selected the cases.

        A model-local function with the name of an operator needs no kernel of the operator.

        Args:
            accepted: the subjects that may pass nothing.
            operators: the operators that selected the cases.
        """
        for subject in sorted(self._without_node.difference(accepted)):
            if subject in self._without_pass:
                yield f"{subject} passed nothing"
            elif operators and self._passed_functions[subject] <= {*operators}:
                names = name_list(operators)
                yield f"{subject} passed no node of {names}: only functions of this name, or invalid models"

    def _unexpected_groups(self) -> dict[UnexpectedGroup, list[str]]:
        """Return the ids of the unexpected cases by group, with those cases that `require` decides at the end."""
        found = defaultdict(list, {self._named(group): list(cases) for group, cases in self._unexpected.items()})
        for chain in self._chains:
            if chain.others <= self._supported_operators[chain.subject]:
                group = UnexpectedGroup(UnexpectedKind.REQUIRED, chain.subject, chain.family, Verdict.UNSUPPORTED)
                found[group].append(chain.case)
        return found

    def _named(self, group: UnexpectedGroup) -> UnexpectedGroup:
        """Return a group; one of the operators before ArgMax gets their names, of which a user knows the own ones."""
        operators = self._operators.get(group, set()) - {"ArgMax"}
        if not operators:
            return group
        family = f"{name_list(operators)} before ArgMax"
        return UnexpectedGroup(group.kind, group.subject, family, group.verdict, group.location, group.expected)

    def _missing_required_operators(self) -> list[str]:
        """Return a sentence for each subject and required operator of which the subject supports no case of the run.

        If backends are tested too, graph optimizers are not checked, because only cases of the pass apply to them.
        """
        bound = [id for id, kind in self._kinds.items() if kind == SubjectKind.BACKEND] or list(self._kinds)
        supported = {subject: {operator for operator, _ in self._supported_operators[subject]} for subject in bound}
        refused = {(group.subject, group.family) for group in self._unexpected if group.kind is UnexpectedKind.REQUIRED}
        return [
            f"{operator} is required, and no case of it was run on {subject}"
            for operator in self.settings.require
            for subject in bound
            if operator not in supported[subject] and (subject, operator) not in refused
        ]

    def _lost_supports(self, subject: str) -> Iterator[str]:
        """Yield a sentence for each operator of which the file lists fewer unsupported cases than there are."""
        file = self.settings.expectations[subject]
        by_operator: dict[str, list[tuple[Support, list[str]]]] = defaultdict(list)
        for support, cases in self._supports[subject].lost(file.supports or ()):
            by_operator[support.operator].append((support, cases))
        for lost in by_operator.values():
            unsupported = sum(support.unsupported for support, _ in lost)
            expected = f", {unsupported} expected" if unsupported else ""
            count = len({case for _, cases in lost for case in cases})
            number = f"{count} case{'s are' if count > 1 else ' is'} unsupported{expected}"
            names = name_list([support.name for support, _ in lost])
            yield f"{file.name}: support of {names} is lost on {subject}: {number} (first {lost[0][1][0]})"

    def _unmatched_supports(self) -> list[str]:
        return [
            f"{file.name}: no case tests whether {subject} supports {name}: remove it"
            for subject, file in self.settings.expectations.items()
            if subject in self._supports
            for name in self._supports[subject].without_case(file.supports or ())
        ]

    def _kind(self, result: ResultRow, verdict: Verdict, facts: Callable[[], CaseFacts]) -> UnexpectedKind | None:
        """Return the way in which a result is unexpected, or None if it is expected."""
        is_required = not result.varies and self.settings.require and self._is_required(result, verdict, facts)
        return UnexpectedKind.REQUIRED if is_required else unexpected_kind(result, self.settings.level)

    def _is_required(self, result: ResultRow, verdict: Verdict, facts: Callable[[], CaseFacts]) -> bool:
        """Return whether a result is unsupported although the subject must support the case.

        A case with other operators too is decided at the end, when it is known which of them the subject supports. An
        expectations file that lists unsupported cases, or what the subject supports, decides instead of `require`.
        """
        subject = result.subject
        required = set(self.settings.require)
        expected = result.expected
        is_listed = expected is not None and expected.verdict is Verdict.UNSUPPORTED
        is_known = subject in self._supports or is_listed
        if verdict is not Verdict.UNSUPPORTED or is_known or not facts().operators & required:
            return False
        others = frozenset(one for one in _typed_operators(facts()) if one[0] not in required)
        if others:
            self._chains.append(_RequiredChain(subject, result.case, facts().family, others))
        return not others

    def _record_match(self, subject: str, case: str, expected: Expected | None) -> None:
        """Record which patterns of an expectations entry match a case, to report unmatched patterns later."""
        if expected is None or subject not in self.settings.expectations:
            return
        for entry in self.settings.expectations[subject].entries:
            if entry.matches(case) and entry.location_of(case) == expected.location:
                self._matched_patterns |= {(entry.location, entry.cases[number]) for number in entry.matching(case)}
                return

    def _unmatched_patterns(self) -> list[str]:
        """Return a sentence for each pattern without cases; a case counts only for the first entry that matches it."""
        return [sentence for file in self.settings.expectations.values() for sentence in self._unmatched_of(file)]

    def _unmatched_of(self, file: Expectations) -> list[str]:
        """Return the sentences for a file; one sentence if none of several entries resembles a case."""
        matching = {location for location, _ in self._matched_patterns}
        if len(file.entries) > 1 and matching.isdisjoint(entry.location for entry in file.entries):
            patterns = [pattern for entry in file.entries for pattern in entry.cases]
            if not any(nearest_name(each, self._cases, _MIN_SIMILARITY) for each in patterns[:MAX_REASONS]):
                count = len(file.entries)
                return [f"{file.name}: none of its {count} entries matches a case: is the file about another corpus?"]
        return [sentence for entry in file.entries for sentence in self._unmatched(entry)]

    def _unmatched(self, entry: Expectation) -> list[str]:
        unmatched = [
            number
            for number, pattern in enumerate(entry.cases)
            if (entry.location, pattern) not in self._matched_patterns
        ]
        if len(unmatched) == len(entry.cases):
            return [
                f"{entry.location}: the entry ({', '.join(entry.cases)}) matches no case: {self._advice(entry.cases)}"
            ]
        patterns = [(entry.location_of_pattern(number), entry.cases[number]) for number in unmatched]
        return [f"{location}: {pattern} matches no case: {self._advice([pattern])}" for location, pattern in patterns]

    def _advice(self, patterns: Sequence[str]) -> str:
        """Return the hint for patterns that match no case: remove them, or correct a misspelt id."""
        unknown = [pattern for pattern in patterns if pattern not in self._cases]  # an earlier entry matches known ids
        meant = [near for pattern in unknown if (near := nearest_name(pattern, self._cases, _MIN_SIMILARITY))]
        return f"remove it, or did you mean {', '.join(meant)}?" if meant else "remove it"


def _has_other_cause(
    entry: Expectation, file: Expectations, result: Judged | Result, load: Callable[[], CaseInMemory]
) -> bool:
    """Return whether a listed failure has other outputs than the first mutant of its entry, with or without others.

    The others are the further mutants of the entry, and those of all other entries of the file.
    """
    from conformance.run.diagnosis.explanations import is_cause
    from conformance.run.mutants import mutants_by_id

    if result.recorded_outputs is None:
        return False
    known = mutants_by_id()
    first, *others = dict.fromkeys((*entry.mutants, *(id for one in file.entries for id in one.mutants)))
    return not is_cause(known[first], [known[id] for id in others], load(), result.recorded_outputs)
