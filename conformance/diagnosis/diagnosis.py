"""Explain a subject's failures by mutants: known wrong implementations that fail the same cases in the same way.

A mutant explains a failing case if it returns the same wrong outputs, apart from rounding. The report names the mutants
that together explain the most failing cases and that fail none of the cases that the subject passes. The remaining
failures are grouped by failure mode, with the properties that distinguish the failing cases from the passing ones.

The module has three parts: `MutantRunner` compares mutants with the subject on single cases, `select_explanations`
chooses the mutants, and `diagnose` puts the result together.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, cached_property, lru_cache
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING, TypeAlias

from conformance.diagnosis.properties import (
    CommonProperty,
    case_properties,
    common_properties,
    failure_mode,
    separating_condition,
)
from conformance.diagnosis.recorded_outputs import (
    Observation,
    are_equivalent,
    equivalent_outputs,
    explained_runs,
    is_failure,
    observation_from_record,
    observe,
    wrong_outputs,
    wrong_runs,
)
from conformance.mutants import catalogue, op_types
from conformance.mutants.mutant import IncompatibleMutantsError, compose
from conformance.results.records import DiagnosisRecord, SharedRecord, UnexplainedRecord
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.loading import CaseInMemory
    from conformance.diagnosis.collected_results import CollectedResult
    from conformance.diagnosis.properties import Properties
    from conformance.diagnosis.recorded_outputs import Observation
    from conformance.mutants import Mutant


MutantCombination: TypeAlias = "tuple[Mutant, ...]"
"""Mutants that one implementation has at the same time, in the order in which they are applied."""


class FailureComparison(Enum):
    """The result of running mutants on a case that the subject fails."""

    REPRODUCES = "fails in the same way as the subject"
    FAILS_DIFFERENTLY = "fails in another way"
    PASSES = "does not fail"


class MutantRunner:
    """Runs combinations of mutants on cases and caches the results.

    A combination is one implementation with several mutants at once.

    Args:
        cases: the cases by id.
        observations: the outputs and errors of the subject on the cases that it fails, by id.
    """

    def __init__(self, cases: Mapping[str, CaseInMemory], observations: Mapping[str, Observation]) -> None:
        self._cases = cases
        self._operators = {id: op_types(case.model) for id, case in cases.items()}
        self._observations = observations
        self._compare = cache(self._compare_relevant)
        self._reproduces = cache(self._reproduces_relevant)
        self._fails = cache(self._fails_relevant)
        self._explained_runs = cache(self._explained_runs_relevant)
        self._wrong_runs = cache(lambda case: wrong_runs(self._observations[case], self._cases[case]))

    def compare(self, mutants: MutantCombination, id: str) -> FailureComparison:
        """Compare the outputs of a combination of mutants with those of the subject on a failing case."""
        return self._compare(self._relevant_mutants(mutants, id), id)

    def explains(self, mutants: MutantCombination, id: str) -> bool:
        """Return whether a combination of mutants fails a case in the same way as the subject.

        A run of several mutants stops at the first difference. A run of a single mutant is completed, because its
        comparison is needed later.
        """
        relevant = self._relevant_mutants(mutants, id)
        if len(relevant) < 2:
            return self._compare(relevant, id) is FailureComparison.REPRODUCES
        return self._reproduces(relevant, id)

    def fails(self, mutants: MutantCombination, id: str) -> bool:
        """Return whether a combination of mutants fails a case."""
        return self._fails(self._relevant_mutants(mutants, id), id)

    def explains_runs(self, mutants: Iterable[Mutant], id: str) -> bool:
        """Return whether the subject has the outputs of one of the mutants in each wrong run of a failing case."""
        wrong = self._wrong_runs(id)
        explained = [self._explained_runs(self._relevant_mutants((mutant,), id), id) for mutant in mutants]
        return bool(wrong) and wrong == frozenset().union(*explained)

    def _explained_runs_relevant(self, mutants: MutantCombination, id: str) -> frozenset[int]:
        observation = self._observe_mutants(mutants, id)
        if observation is None:
            return frozenset()
        return explained_runs(observation, self._observations[id], self._cases[id])

    def _fails_relevant(self, mutants: MutantCombination, id: str) -> bool:
        observation = self._observe_mutants(mutants, id)
        return observation is not None and is_failure(observation, self._cases[id])

    def _compare_relevant(self, mutants: MutantCombination, id: str) -> FailureComparison:
        observation, case = self._observe_mutants(mutants, id), self._cases[id]
        if observation is None or not is_failure(observation, case):
            return FailureComparison.PASSES
        return (
            FailureComparison.REPRODUCES
            if are_equivalent(observation, self._observations[id], case)
            else FailureComparison.FAILS_DIFFERENTLY
        )

    def _reproduces_relevant(self, mutants: MutantCombination, id: str) -> bool:
        case, expected = self._cases[id], self._observations[id]
        observation = self._observe_mutants(mutants, id, expected)
        return observation is not None and are_equivalent(observation, expected, case) and is_failure(observation, case)

    def _observe_mutants(
        self, mutants: MutantCombination, id: str, like: Observation | None = None
    ) -> Observation | None:
        if not mutants or not can_compose(mutants):
            return None
        return observe(compose(mutants), self._cases[id], like)

    def _relevant_mutants(self, mutants: MutantCombination, id: str) -> MutantCombination:
        """Return the mutants whose operator is in the model of a case; other mutants have no effect on the case."""
        present = self._operators[id]
        return _canonical_order(tuple(mutant for mutant in mutants if mutant.operator in present))


@lru_cache(maxsize=2**16)
def _canonical_order(mutants: MutantCombination) -> MutantCombination:
    """Return the mutants in a canonical order, so that the cache has one entry for equivalent orders.

    Two mutants are reordered if their order has no effect, as for most pairs of mutants of a training optimizer.
    """
    if len(mutants) != 2 or not can_compose(mutants):
        return mutants
    other = mutants[::-1]
    is_same = mutants[0].id > mutants[1].id and compose(mutants) == compose(other)
    return other if is_same else mutants


def can_compose(mutants: MutantCombination) -> bool:
    """Return whether one implementation can have all of these mutants."""
    try:
        compose(mutants)
    except IncompatibleMutantsError:
        return False
    return True


MAX_CASES_TRIED = 32
"""Number of failing cases after which a mutant that explains none of them is discarded."""

MAX_OTHER_FAILURES = 12
"""Number of cases that a mutant may fail differently from the subject before it is discarded."""

PARTNER_SAMPLE_SIZE = 8
"""Number of unexplained cases on which all mutants are tried in combination with a selected one."""


@dataclass(frozen=True)
class Evidence:
    """A subject's results on the cases of one operator family.

    Attributes:
        catalogue: the mutants that are considered.
        cases: the cases that the subject passes or fails, by id.
        observations: the outputs and errors of the subject on the cases that it fails, by id.
        passed: the ids of the passed cases. A mutant that fails one of these cases is refuted.
        passed_at_lower_level: the ids of passed cases of a weaker level. A mutant that fails one of these cases is less
            likely.
        clauses: the ids of the clauses that a failing case tests, by case id.
    """

    catalogue: Sequence[Mutant]
    cases: Mapping[str, CaseInMemory]
    observations: Mapping[str, Observation]
    passed: Sequence[str]
    passed_at_lower_level: Sequence[str] = ()
    clauses: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def runner(self) -> MutantRunner:
        """The runner of mutants on these cases."""
        return MutantRunner(self.cases, self.observations)

    @cached_property
    def failing(self) -> frozenset[str]:
        """The ids of the cases to be explained."""
        return frozenset(self.observations)

    def explained_cases(self, mutants: MutantCombination, among: Iterable[str] | None = None) -> frozenset[str]:
        """Return the failing cases (all, or those in `among`) that the combination of mutants explains."""
        ids = self.failing if among is None else among
        return frozenset(id for id in ids if self.runner.explains(mutants, id))

    def explains_all(self, mutants: MutantCombination, ids: Iterable[str]) -> bool:
        """Return whether the combination of mutants explains all of these failing cases."""
        return all(self.runner.explains(mutants, id) for id in ids)

    def is_refuted(self, mutants: MutantCombination) -> bool:
        """Return whether the mutants cannot be combined, or fail a case that the subject passes."""
        return not can_compose(mutants) or any(self.runner.fails(mutants, id) for id in self.passed)

    def without_failures_below(self, alternatives: Sequence[MutantCombination]) -> list[MutantCombination]:
        """Return the combinations that fail none of the cases in `passed_at_lower_level`.

        If all combinations fail such a case, return all combinations.
        """
        fails = self.runner.fails
        holding = [each for each in alternatives if not any(fails(each, id) for id in self.passed_at_lower_level)]
        return holding or list(alternatives)

    @cached_property
    def candidates(self) -> Sequence[Mutant]:
        """The mutants that explain a failing case; each mutant is tried on a part of the failing cases."""
        return [mutant for mutant in self.catalogue if self._explains_any_case(mutant)]

    @cached_property
    def _alone(self) -> dict[Mutant, frozenset[str]]:
        return {}

    def explained_alone(self, mutant: Mutant) -> frozenset[str]:
        """Return the ids of all failing cases that a single mutant explains."""
        if mutant not in self._alone:
            self._alone[mutant] = self.explained_cases((mutant,))
        return self._alone[mutant]

    def possible_partners(self, mutants: MutantCombination, left: frozenset[str]) -> list[Mutant]:
        """Return the mutants that explain an unexplained case in combination with `mutants`.

        Args:
            left: the ids of the unexplained cases; a sample of them is tried.
        """
        sample = sorted((id for id in left if self.observations[id].error is None), key=_shuffle_key)[
            :PARTNER_SAMPLE_SIZE
        ]
        others = [one for one in self.catalogue if one not in mutants]
        orders = {one: ((*mutants, one), (one, *mutants)) for one in others}
        return [one for one in others if any(self.explained_cases(order, sample) for order in orders[one])]

    def contradicting_cases(self, mutant: Mutant, among: Iterable[str]) -> list[str]:
        """Return the cases for which the subject and the mutant return different wrong outputs."""
        answered = (id for id in among if self.observations[id].error is None)
        return [id for id in answered if self.runner.compare((mutant,), id) is FailureComparison.FAILS_DIFFERENTLY]

    def _explains_any_case(self, mutant: Mutant) -> bool:
        """Return whether a mutant explains a failing case. Cases that test the clause of the mutant are tried first."""
        others = 0
        for id in self._cases_in_order(mutant.clause)[:MAX_CASES_TRIED]:
            compare = self.runner.compare((mutant,), id)
            if compare is FailureComparison.REPRODUCES:
                return True
            others += compare is FailureComparison.FAILS_DIFFERENTLY
            if others >= MAX_OTHER_FAILURES:
                return False
        return False

    def _cases_in_order(self, clause: str) -> list[str]:
        return sorted(self.cases_to_try, key=lambda case: clause not in self.clauses.get(case, ()))

    @cached_property
    def cases_to_try(self) -> list[str]:
        """The failing cases in the order in which to try them.

        Cases that test few clauses come first. Of several cases with the same error, only two are tried.
        """
        ids = sorted(self.failing, key=lambda case: (len(self.clauses.get(case, ())), _shuffle_key(case)))
        seen: dict[str, int] = {}
        kept = []
        for id in ids:
            ended = self.observations[id].error
            if ended is not None:
                seen[ended] = seen.get(ended, 0) + 1
            if ended is None or seen[ended] <= 2:
                kept.append(id)
        return kept


def _shuffle_key(case: str) -> int:
    """Return a pseudo-random sort key for a case id; it is the same in every run."""
    return zlib.crc32(case.encode())


SelectedMutants: TypeAlias = "tuple[MutantCombination, ...]"
"""The selected mutants. Each item starts with a mutant, followed by those that no case distinguishes from it."""

MAX_EXPLANATIONS = 5
"""Maximum number of mutants reported for one subject and family."""

MIN_SUPPORT_RATIO = 9
"""Number of cases that a mutant must explain for each case that it fails differently from the subject."""

MIN_SUPPORT = 3
"""Number of cases that a mutant must explain if some cases stay unexplained. Fewer may be coincidence."""

MAX_PAIR_SEEDS = 3
"""Number of best-scoring mutants that are combined with every other one."""


@dataclass(frozen=True)
class Explanation:
    """A mutant that explains failures of a subject.

    Attributes:
        indistinguishable: other mutants that explain the same cases; the cases do not distinguish them from the mutant.
        cases: the ids of the cases that the mutant explains, alone or jointly with other selected mutants.
        jointly_explained: the part of `cases` that the mutant explains only together with other mutants.
        condition: the property of the cases in which the subject has the mistake, as a verb phrase in the plural; empty
            if the subject has it in all cases.
    """

    mutant: Mutant
    indistinguishable: tuple[Mutant, ...]
    cases: frozenset[str]
    jointly_explained: frozenset[str] = frozenset()
    condition: str = ""


def select_explanations(evidence: Evidence) -> list[Explanation]:
    """Select the mutants that explain the failures of a subject; the result is empty if too few cases are explained.

    A single mutant that explains all failures is preferred, then a pair of mutants that explains all failures, then
    several mutants that explain a part of the failures, then a pair that explains cases which neither explains alone.
    """
    return (
        _explain_with_one(evidence)
        or _explain_with_pair(evidence)
        or _explain_with_several(evidence)
        or _explain_with_hidden_pair(evidence)
    )


def _explain_with_one(evidence: Evidence) -> list[Explanation]:
    """Explain all failing cases by one mutant; return an empty list if that is not possible."""
    complete = [(one,) for one in evidence.candidates if evidence.explains_all((one,), evidence.failing)]
    whole = [alone for alone in complete if not evidence.is_refuted(alone)]
    if not whole:
        return []
    (first,), *others = evidence.without_failures_below(whole)
    return [Explanation(first, tuple(other for (other,) in others), evidence.failing)]


def _explain_with_pair(evidence: Evidence) -> list[Explanation]:
    """Explain all failing cases by two mutants of one implementation; return an empty list if that is not possible."""
    whole = _complete_pairs(evidence, combinations(evidence.candidates, 2))
    if not whole:
        chief = sorted(evidence.candidates, key=lambda one: -len(evidence.explained_alone(one)))[:MAX_PAIR_SEEDS]
        pairs = (
            (one, other)
            for one in chief
            for other in evidence.possible_partners((one,), _unexplained_cases(evidence, (one,)))
        )
        whole = _complete_pairs(evidence, pairs)
    if not whole:
        return []
    whole.sort(key=lambda pair: -len(evidence.explained_alone(pair[0]) | evidence.explained_alone(pair[1])))
    (one, other), *others = evidence.without_failures_below([*whole, *_alternative_pairs(evidence, whole[0], whole)])
    return [_pair_explanation(evidence, *halves, others, evidence.failing) for halves in ((one, other), (other, one))]


def _complete_pairs(evidence: Evidence, pairs: Iterable[MutantCombination]) -> list[MutantCombination]:
    """Return the ordered pairs that explain all failing cases.

    A pair is skipped if one mutant, alone, explains only cases that the other one explains too.
    """
    apart = (
        pair
        for pair in pairs
        if all(evidence.explained_alone(a) - evidence.explained_alone(b) for a, b in permutations(pair))
    )
    return [order for pair in apart for order in permutations(pair) if _is_complete_pair(evidence, order)]


def _is_complete_pair(evidence: Evidence, pair: MutantCombination) -> bool:
    """Return whether a pair of mutants explains all failing cases and is not refuted.

    Cases that neither mutant explains alone are tried first, because they often decide the question.
    """
    explained_alone = evidence.explained_alone(pair[0]) | evidence.explained_alone(pair[1])
    order = [*sorted(evidence.failing - explained_alone), *sorted(explained_alone)]
    return evidence.explains_all(pair, order) and not evidence.is_refuted(pair)


def _alternative_pairs(
    evidence: Evidence, pair: MutantCombination, known: Sequence[MutantCombination]
) -> list[MutantCombination]:
    """Return further pairs that explain all failing cases and share a mutant with `pair`.

    The other mutant of these pairs may explain almost no case alone, so `_complete_pairs` does not try it.

    Args:
        known: the pairs that were found before, which are not returned.
    """
    explained_alone = evidence.explained_alone(pair[0]) | evidence.explained_alone(pair[1])
    telling = [*sorted(evidence.failing - explained_alone), *sorted(explained_alone)]
    others = ((kept, one) for kept in pair for one in evidence.catalogue if one not in pair)
    orders = (order for two in others for order in permutations(two) if order not in known)
    return [order for order in orders if evidence.explains_all(order, telling) and not evidence.is_refuted(order)]


def _pair_explanation(
    evidence: Evidence,
    mutant: Mutant,
    beside: Mutant,
    others: Sequence[MutantCombination],
    explained: frozenset[str],
) -> Explanation:
    """Return the part of a pair's explanation that belongs to `mutant`.

    Args:
        beside: the other mutant of the pair.
        others: other pairs that explain the same cases. A mutant that can replace `mutant` in the pair is
            indistinguishable from it.
        explained: the ids of the cases that the pair explains.
    """
    indistinguishable = dict.fromkeys(
        one for pair in others if beside in pair for one in pair if one not in (mutant, beside)
    )
    explained_alone, without = evidence.explained_alone(mutant), evidence.explained_alone(beside)
    cases = explained - (without - explained_alone)
    return Explanation(mutant, tuple(indistinguishable), cases, explained - without - explained_alone)


def _explain_with_several(evidence: Evidence) -> list[Explanation]:
    """Explain as many failing cases as possible by several mutants; some cases may stay unexplained."""
    pool = [
        one for one in evidence.candidates if _has_enough_support(evidence, one) and not evidence.is_refuted((one,))
    ]
    selection = _extend_selection(evidence, pool)
    while (doubtful := _least_supported(evidence, selection)) is not None:
        pool.remove(doubtful)
        selection = _extend_selection(evidence, pool)
    if selection:
        chosen = _representatives(selection)
        possible_partners = evidence.possible_partners(chosen, _unexplained_cases(evidence, chosen))
        beside = [one for one in possible_partners if not evidence.is_refuted((one,))]
        more = _extend_selection(evidence, beside, selection)
        selection = selection if _least_supported(evidence, more) else more
    reasons = _explaining_combinations(evidence, _representatives(selection))
    return [_build_explanation(alternatives, reasons) for alternatives in selection]


HIDDEN_PAIR_SAMPLE_SIZE = 4
"""Number of failing cases that a pair must explain before it is tried on all cases."""

MAX_HIDDEN_PAIRS = 6000
"""Number of ordered pairs that are run on the first case of the sample."""


def _explain_with_hidden_pair(evidence: Evidence) -> list[Explanation]:
    """Explain failing cases by two mutants of one operator, of which no case shows one alone.

    A pair must explain a sample of the cases that test few clauses. For each case that it fails in another way than
    the subject, it must explain at least `MIN_SUPPORT_RATIO` cases.
    """
    first, *sample = [id for id in evidence.cases_to_try if evidence.observations[id].error is None] or [""]
    if len(sample) < HIDDEN_PAIR_SAMPLE_SIZE - 1:
        return []
    orders = [
        order
        for pair in islice(_pairs_by_outputs(evidence, first), MAX_HIDDEN_PAIRS // 2)
        for order in permutations(pair)
        if can_compose(order) and evidence.runner.explains(order, first)
    ]
    for id in sample[: HIDDEN_PAIR_SAMPLE_SIZE - 1]:
        orders = [order for order in orders if evidence.runner.explains(order, id)]
    found = {order: evidence.explained_cases(order) for order in orders if not evidence.is_refuted(order)}
    most = max(found.values(), key=len, default=frozenset())
    differing = [
        id
        for order in list(found)[:1]
        for id in evidence.failing - most
        if evidence.runner.compare(order, id) is FailureComparison.FAILS_DIFFERENTLY
    ]
    if len(most) < max(MIN_SUPPORT, MIN_SUPPORT_RATIO * len(differing)):
        return []
    (one, other), *others = evidence.without_failures_below([order for order in found if found[order] == most])
    return [_pair_explanation(evidence, *halves, others, most) for halves in ((one, other), (other, one))]


def _pairs_by_outputs(evidence: Evidence, id: str) -> Iterator[MutantCombination]:
    """Yield the pairs of mutants that can explain a case: an output that one mutant changes is that of the subject.

    An output that both mutants change is not compared. Every wrong output of the subject must be changed.
    """
    case, subject = evidence.cases[id], evidence.observations[id]
    observed = {one: observe(one.backend, case) for one in evidence.catalogue}
    made = {one: observation for one, observation in observed.items() if observation is not None}
    wrong = wrong_outputs(subject, case)
    changed = {one: wrong_outputs(observation, case) for one, observation in made.items() if not observation.error}
    changed = {one: outputs for one, outputs in changed.items() if outputs and outputs <= wrong}
    alike = {one: equivalent_outputs(made[one], subject, case) for one in changed}
    for one, other in combinations(changed, 2):
        only_one, only_other = changed[one] - changed[other], changed[other] - changed[one]
        is_covered = changed[one] | changed[other] == wrong
        if one.operator == other.operator and is_covered and only_one <= alike[one] and only_other <= alike[other]:
            yield one, other


CONDITIONAL_SUPPORT_RATIO = 3
"""Number of cases that a mutant under a condition must explain for each case that it fails differently."""

MIN_CONDITIONAL_SUPPORT = 5
"""Number of cases that a mutant under a condition must explain."""

CONDITIONAL_SAMPLE_SIZE = 8
"""Number of unexplained cases on which all mutants are tried before a condition is searched."""

MAX_CONDITIONAL_MUTANTS = 4
"""Number of mutants for which a condition is searched at a time: those that explain the most unexplained cases."""


def explain_under_conditions(
    evidence: Evidence, found: Sequence[Explanation], properties: Callable[[str], Properties]
) -> list[Explanation]:
    """Explain unexplained cases by mutants that the subject has only under a condition, such as a type or T ≤ 0.

    A mutant is named if one property, or two, separate the failing cases that the mutant explains from the passing
    cases that the mutant would fail.

    Args:
        found: the explanations without a condition.
        properties: returns the properties of a case by its id.
    """
    more: list[Explanation] = []
    passed = (*evidence.passed, *evidence.passed_at_lower_level)
    left = evidence.failing.difference(*(one.cases for one in found))
    while len(left) >= MIN_CONDITIONAL_SUPPORT and len(found) + len(more) < MAX_EXPLANATIONS:
        known = {mutant for one in (*found, *more) for mutant in (one.mutant, *one.indistinguishable)}
        sample = sorted(left, key=_shuffle_key)[:CONDITIONAL_SAMPLE_SIZE]
        runner = evidence.runner
        pool = [one for one in evidence.catalogue if one not in known]
        pool = [one for one in pool if any(runner.explains_runs((*known, one), id) for id in sample)]
        gains = {one: frozenset(id for id in left if runner.explains_runs((one,), id)) for one in pool}
        ranked = [one for one in pool if len(gains[one]) >= MIN_CONDITIONAL_SUPPORT]
        ranked = sorted(ranked, key=lambda one: -len(gains[one]))[:MAX_CONDITIONAL_MUTANTS]
        refuting = {one: frozenset(id for id in passed if runner.fails((one,), id)) for one in ranked}
        specific = [one for one in ranked if not any(_is_likelier(gains, refuting, other, one) for other in ranked)]
        options = {
            one: _condition(
                evidence, one, gains[one], refuting[one], left - _shared(runner, known, one, left), properties
            )
            for one in specific
        }
        conditions = {one: condition for one, condition in options.items() if condition is not None}
        if not conditions:
            break
        mutant = max(conditions, key=lambda one: len(gains[one]))
        equal = tuple(one for one in ranked if one is not mutant and gains[one] == gains[mutant])
        more.append(Explanation(mutant, equal, gains[mutant], condition=conditions[mutant]))
        left = frozenset(id for id in left if not runner.explains_runs((*known, mutant), id))
    more = [one for one in more if not _is_contradicted(evidence, one.mutant, len(one.cases), left)]
    return [_with_shared_cases(evidence, one, (*found, *more)) for one in more]


def with_explanations_under_conditions(
    evidence: Evidence, found: Sequence[Explanation], properties: Callable[[str], Properties]
) -> list[Explanation]:
    """Return the explanations without a condition and those under one.

    An explanation without a condition is left out if others, each of more cases, explain its cases under conditions.
    """
    more = explain_under_conditions(evidence, found, properties)
    kept = []
    for one in found:
        shares = _shares(evidence, one, more, properties)
        if shares is None:
            kept.append(one)
        else:
            more = [replace(other, cases=other.cases | share) for other, share in zip(more, shares, strict=True)]
    return [*kept, *more]


def _shares(
    evidence: Evidence, one: Explanation, more: Sequence[Explanation], properties: Callable[[str], Properties]
) -> list[frozenset[str]] | None:
    """Return which cases of an explanation each explanation under a condition explains; None if they leave a case."""
    larger = [other for other in more if len(other.cases) > len(one.cases)]
    shares = [
        frozenset(
            id for id in one.cases if other in larger and _explains_under_condition(evidence, other, id, properties)
        )
        for other in more
    ]
    return shares if one.cases and one.cases == frozenset().union(*shares) else None


def _explains_under_condition(
    evidence: Evidence, one: Explanation, id: str, properties: Callable[[str], Properties]
) -> bool:
    """Return whether a mutant explains one more case, and keeps its condition with it."""
    runner = evidence.runner
    if not runner.explains_runs((one.mutant,), id):
        return False
    passed = (*evidence.passed, *evidence.passed_at_lower_level)
    refuting = frozenset(other for other in passed if runner.fails((one.mutant,), other))
    gain = (one.cases - one.jointly_explained) | {id}
    return _condition(evidence, one.mutant, gain, refuting, gain, properties) == one.condition


def _with_shared_cases(evidence: Evidence, one: Explanation, every: Sequence[Explanation]) -> Explanation:
    """Return an explanation with the cases in which it explains some runs and other explanations all other runs."""
    mutants = [explanation.mutant for explanation in every]
    others = [mutant for mutant in mutants if mutant is not one.mutant]
    runner = evidence.runner
    shared = frozenset(
        id
        for id in evidence.failing.difference(*(explanation.cases for explanation in every))
        if runner.explains_runs(mutants, id) and not runner.explains_runs(others, id)
    )
    return replace(one, cases=one.cases | shared, jointly_explained=one.jointly_explained | shared)


def _shared(runner: MutantRunner, known: Collection[Mutant], one: Mutant, ids: Iterable[str]) -> frozenset[str]:
    """Return the cases in which each wrong run is explained by `one` or by a known mutant."""
    return frozenset(id for id in ids if runner.explains_runs((*known, one), id)) if known else frozenset()


def _is_likelier(
    gains: Mapping[Mutant, frozenset[str]], refuting: Mapping[Mutant, frozenset[str]], one: Mutant, other: Mutant
) -> bool:
    """Return whether a mutant explains more than another one, or explains the same and needs no condition."""
    return gains[one] > gains[other] or (gains[one] == gains[other] and not refuting[one] and bool(refuting[other]))


def _is_contradicted(evidence: Evidence, mutant: Mutant, support: int, left: Iterable[str]) -> bool:
    """Return whether a mutant under a condition fails too many of these cases differently from the subject."""
    return CONDITIONAL_SUPPORT_RATIO * len(evidence.contradicting_cases(mutant, left)) > support


def _condition(
    evidence: Evidence,
    mutant: Mutant,
    gain: frozenset[str],
    refuting: frozenset[str],
    left: frozenset[str],
    properties: Callable[[str], Properties],
) -> str | None:
    """Return the condition under which the subject has a mutant; empty if always, None if no condition is found.

    Args:
        gain: the ids of the unexplained cases that the mutant explains.
        refuting: the ids of the passing cases that the mutant fails.
        left: the ids of all unexplained cases.
    """
    contradicting = evidence.contradicting_cases(mutant, left - gain)
    if not refuting:
        return "" if MIN_SUPPORT_RATIO * len(contradicting) <= len(gain) else None
    described = ({id: properties(id) for id in ids} for ids in (gain, refuting, contradicting))
    condition = separating_condition(*described)
    if condition is None:
        return None
    return None if _is_contradicted(evidence, mutant, len(gain), condition.others & left) else condition.text


def _has_enough_support(evidence: Evidence, mutant: Mutant) -> bool:
    """Return whether a mutant alone explains at least as many cases as it fails in another way than the subject."""
    return len(evidence.explained_alone(mutant)) >= len(evidence.contradicting_cases(mutant, evidence.failing))


def _extend_selection(evidence: Evidence, pool: Sequence[Mutant], selection: SelectedMutants = ()) -> SelectedMutants:
    """Return the selection extended: each step adds the mutant of `pool` that explains most unexplained cases."""
    while len(selection) < MAX_EXPLANATIONS:
        left = _unexplained_cases(evidence, _representatives(selection))
        gains = {
            one: frozenset(_explaining_combinations(evidence, (*_representatives(selection), one), left))
            for one in pool
        }
        most = max(gains.values(), key=len, default=frozenset())
        if not most:
            break
        alternatives = evidence.without_failures_below([(one,) for one, gain in gains.items() if gain == most])
        selection = (*selection, tuple(one for (one,) in alternatives))
        pool = [one for one in pool if one not in selection[-1]]
    return selection


def _representatives(selection: SelectedMutants) -> MutantCombination:
    """Return the first mutant of each group of indistinguishable mutants."""
    return tuple(alternatives[0] for alternatives in selection)


def _explaining_combinations(
    evidence: Evidence, mutants: MutantCombination, among: Collection[str] | None = None
) -> dict[str, MutantCombination]:
    """Return, by case id, the smallest combination of the mutants that explains the case."""
    found: dict[str, MutantCombination] = {}
    for some in _combinations(mutants):
        ids = [id for id in (evidence.failing if among is None else among) if id not in found]
        explained_cases = evidence.explained_cases(some, ids)
        if explained_cases and (len(some) == 1 or not evidence.is_refuted(some)):
            found |= dict.fromkeys(explained_cases, some)
    return found


def _unexplained_cases(evidence: Evidence, mutants: MutantCombination) -> frozenset[str]:
    """Return the failing cases that no combination of the mutants explains."""
    return evidence.failing - _explaining_combinations(evidence, mutants).keys()


def _combinations(mutants: MutantCombination) -> Iterator[MutantCombination]:
    """Yield each mutant alone, every ordered pair, and all mutants in their order."""
    yield from permutations(mutants, 1)
    yield from permutations(mutants, 2)
    if len(mutants) > 2:
        yield mutants


def _least_supported(evidence: Evidence, selection: SelectedMutants) -> Mutant | None:
    """Return the selected mutant with the least support if its support is too low, otherwise None.

    The support is the number of cases that a mutant explains. `MIN_SUPPORT` and `MIN_SUPPORT_RATIO` define the least
    sufficient number. If every failing case is explained, the result is None.
    """
    reasons = _explaining_combinations(evidence, _representatives(selection))
    left = evidence.failing - reasons.keys()
    if not left:
        return None
    margins = {
        one: sum(one in some for some in reasons.values())
        - max(MIN_SUPPORT, MIN_SUPPORT_RATIO * len(evidence.contradicting_cases(one, left)))
        for one in _representatives(selection)
    }
    worst = min(margins, key=margins.__getitem__, default=None)
    return worst if worst is not None and margins[worst] < 0 else None


def _build_explanation(alternatives: MutantCombination, reasons: Mapping[str, MutantCombination]) -> Explanation:
    own = {id: some for id, some in reasons.items() if alternatives[0] in some}
    jointly_explained = frozenset(id for id, some in own.items() if len(some) > 1)
    return Explanation(alternatives[0], alternatives[1:], frozenset(own), jointly_explained)


SEARCH_TAG = "search"
"""Tag of a case that a search found. The ids of the mutants that the search named for it are tags too."""


@dataclass(frozen=True)
class UnexplainedGroup:
    """Failing cases that no mutant explains and that have the same failure mode.

    Attributes:
        failure_mode: "wrong values", another kind of wrong output, the error, or the verdict.
        cases: the ids of the cases.
        passing: the number of cases of the family that pass.
        common_properties: the properties that distinguish these cases from the passing ones.
    """

    failure_mode: str
    cases: frozenset[str]
    passing: int
    common_properties: tuple[CommonProperty, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The explanation of a subject's failures on the cases of one operator family.

    Attributes:
        family: the operator family. A model with several operators belongs to its main operator's family.
        failing: the number of failing cases.
    """

    subject: str
    family: str
    failing: int
    explanations: tuple[Explanation, ...]
    unexplained: tuple[UnexplainedGroup, ...]

    @property
    def diagnosis_records(self) -> list[DiagnosisRecord]:
        """The explaining mutants, in the format of the results file."""
        return [self._record(explanation) for explanation in self.explanations]

    def _record(self, explanation: Explanation) -> DiagnosisRecord:
        mutant = explanation.mutant
        return DiagnosisRecord(
            subject=self.subject,
            operator=mutant.operator,
            mutant=mutant.id,
            text=mutant.description,
            explained=len(explanation.cases),
            failing=self.failing,
            indistinguishable=[other.id for other in explanation.indistinguishable],
            cases=sorted(explanation.cases),
            jointly_explained=sorted(explanation.jointly_explained),
            partners=[
                other.mutant.description
                for other in self.explanations
                if other is not explanation and other.jointly_explained & explanation.jointly_explained
            ],
            condition=explanation.condition or "",
        )

    @property
    def unexplained_records(self) -> list[UnexplainedRecord]:
        """The unexplained groups, in the format of the results file."""
        return [
            UnexplainedRecord(
                subject=self.subject,
                operator=self.family,
                failure_mode=group.failure_mode,
                cases=sorted(group.cases),
                failing=self.failing,
                passing=group.passing,
                shared=[SharedRecord(one.text, len(one.cases), one.others) for one in group.common_properties],
            )
            for group in self.unexplained
        ]


@dataclass(frozen=True)
class CaseTopics:
    """The clauses and tags of a case, from its case.json."""

    clauses: tuple[str, ...]
    tags: tuple[str, ...]


def diagnose(
    subject: str,
    family: str,
    findings: Mapping[str, CollectedResult],
    cases: Mapping[str, CaseInMemory],
    topics: Callable[[str], CaseTopics],
    further: Mapping[str, CollectedResult] | None = None,
) -> Diagnosis:
    """Explain a subject's failures on the cases of one operator family.

    Args:
        findings: the subject's results on the cases of the family, by case id.
        cases: the cases by id.
        topics: returns the clauses and tags of a case by its id.
        further: failures on models of the family with further operators. They neither suggest nor refute a mutant; a
            named mutant explains such a case if it returns the same outputs.
    """
    failing = {id for id, finding in findings.items() if finding.verdict.is_defect}
    observations = dict(_reproduced_failures(findings, cases))
    level = Level.MUST if any(findings[id].level is Level.MUST for id in failing) else Level.SHOULD
    passed = [id for id, finding in findings.items() if finding.verdict is Verdict.PASS]
    evidence = Evidence(
        catalogue()[family],
        {id: cases[id] for id in findings},
        observations,
        [id for id in passed if findings[id].level.is_within(level)],
        [id for id in passed if not findings[id].level.is_within(level)],
        {id: topics(id).clauses for id in observations},
    )
    properties = cache(lambda case: case_properties(cases[case], topics(case).tags))
    explanations = tuple(select_explanations(evidence)) if observations else ()
    explanations = tuple(with_explanations_under_conditions(evidence, explanations, properties))
    explanations = tuple(one for one in explanations if _is_checked(one, topics))
    left = failing.difference(*(explanation.cases for explanation in explanations))
    manners = {id: failure_mode(findings[id], observations.get(id), cases[id]) for id in left}
    described = {id: properties(id) for id in (*left, *passed)} if left else {}
    groups = tuple(_group_by_failure_mode(family, manners, {id: described[id] for id in passed if left}, described))
    observed = dict(_reproduced_failures(further or {}, cases))
    reasons = _explaining_combinations(
        Evidence((), {id: cases[id] for id in observed}, observed, ()), tuple(one.mutant for one in explanations)
    )
    explanations = tuple(_with_reasons(one, reasons) for one in explanations)
    return Diagnosis(subject, family, len(failing) + len(reasons), explanations, groups)


def _with_reasons(explanation: Explanation, reasons: Mapping[str, MutantCombination]) -> Explanation:
    """Return an explanation with the further cases of which its mutant is a reason, by case id."""
    own = _build_explanation((explanation.mutant,), reasons)
    return replace(
        explanation,
        cases=explanation.cases | own.cases,
        jointly_explained=explanation.jointly_explained | own.jointly_explained,
    )


def _is_checked(explanation: Explanation, topics: Callable[[str], CaseTopics]) -> bool:
    """Return whether a mutant may be named: a case that it explains is of a corpus, or the search named it for a case.

    A search checks the mutants that fit a shrunk example on other examples, which a run of the shrunk ones cannot do.
    """
    tags = [topics(case).tags for case in explanation.cases]
    names = {one.id for one in (explanation.mutant, *explanation.indistinguishable)}
    return any(SEARCH_TAG not in own or not names.isdisjoint(own) for own in tags)


def _reproduced_failures(
    findings: Mapping[str, CollectedResult], cases: Mapping[str, CaseInMemory]
) -> Iterator[tuple[str, Observation]]:
    """Yield the recorded outputs of each failing case, if they are readable and are wrong for the case."""
    for id, finding in findings.items():
        if finding.recorded_outputs is None or not finding.verdict.is_defect:
            continue
        observation = observation_from_record(finding.recorded_outputs)
        if observation is not None and is_failure(observation, cases[id]):
            yield id, observation


def _group_by_failure_mode(
    family: str, manners: Mapping[str, str], passing: Mapping[str, Properties], described: Mapping[str, Properties]
) -> Iterator[UnexplainedGroup]:
    """Yield the unexplained cases grouped by failure mode, the largest group first."""
    groups: dict[str, set[str]] = defaultdict(set)
    for id, how in manners.items():
        groups[how].add(id)
    for how, ids in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        own = {id: described[id] for id in sorted(ids)}
        whole = CommonProperty(f"have the operator {family}", frozenset(ids), 0)
        common = common_properties(own, passing) if passing else [whole]
        yield UnexplainedGroup(how, frozenset(ids), len(passing), tuple(common))
