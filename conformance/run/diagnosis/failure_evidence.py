"""The results of a subject on the cases of one operator family, and the mutants that fit single cases.

`MutantRunner` runs mutants on cases, and compares their outputs with those of the subject.
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from conformance.run.diagnosis.properties import Properties
from conformance.run.diagnosis.recorded_outputs import are_equivalent, differing_parts, is_failure, observe, wrong_parts
from conformance.run.mutants import op_types
from conformance.run.mutants.mutant import IncompatibleMutantsError, compose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.run.diagnosis.recorded_outputs import Observation, Part
    from conformance.run.mutants import Mutant


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
        self._differing_parts = cache(self._differing_parts_relevant)
        self._wrong_parts = cache(lambda case: wrong_parts(self._observations[case], self._cases[case]))

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

    def explains_parts(self, mutants: Iterable[Mutant], id: str) -> bool:
        """Return whether the subject has the outputs of one of the mutants in each wrong part of a failing case."""
        wrong = self._wrong_parts(id)
        differing = [self._differing_parts(self._relevant_mutants((mutant,), id), id) for mutant in mutants]
        return bool(wrong) and not wrong.intersection(*differing)

    def _differing_parts_relevant(self, mutants: MutantCombination, id: str) -> frozenset[Part]:
        observation, _ = _observe_mutants(mutants, self._cases[id])
        if observation is None:
            return self._wrong_parts(id)  # a mutant that does not run a case explains no part of it
        return differing_parts(observation, self._observations[id], self._cases[id])

    def _fails_relevant(self, mutants: MutantCombination, id: str) -> bool:
        return _observe_mutants(mutants, self._cases[id])[1]

    def _compare_relevant(self, mutants: MutantCombination, id: str) -> FailureComparison:
        observation, is_failed = _observe_mutants(mutants, self._cases[id])
        if observation is None or not is_failed:
            return FailureComparison.PASSES
        return (
            FailureComparison.REPRODUCES
            if are_equivalent(observation, self._observations[id], self._cases[id])
            else FailureComparison.FAILS_DIFFERENTLY
        )

    def _reproduces_relevant(self, mutants: MutantCombination, id: str) -> bool:
        if not can_compose(mutants):
            return False
        case = self._cases[id]
        expected = self._observations[id]
        observation = observe(compose(mutants), case, expected)
        return observation is not None and are_equivalent(observation, expected, case) and is_failure(observation, case)

    def _relevant_mutants(self, mutants: MutantCombination, id: str) -> MutantCombination:
        """Return the mutants whose operator is in the model of a case; other mutants have no effect on the case."""
        present = self._operators[id]
        return _canonical_order(tuple(mutant for mutant in mutants if mutant.operator in present))


@lru_cache(maxsize=2**15)
def _observe_mutants(mutants: MutantCombination, case: CaseInMemory) -> tuple[Observation | None, bool]:
    """Return the outputs of a combination of mutants, and whether it fails the case.

    The result is cached for the diagnoses of further subjects. It is None if the combination does not run the case.
    """
    observation = observe(compose(mutants), case) if mutants and can_compose(mutants) else None
    return observation, observation is not None and is_failure(observation, case)


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
        properties: returns the properties of a case by its id.
    """

    catalogue: Sequence[Mutant]
    cases: Mapping[str, CaseInMemory]
    observations: Mapping[str, Observation]
    passed: Sequence[str]
    passed_at_lower_level: Sequence[str] = ()
    clauses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    properties: Callable[[str], Properties] = lambda _: Properties((), {})

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

    def explains_all(self, mutants: MutantCombination, first: frozenset[str] = frozenset()) -> bool:
        """Return whether the combination of mutants explains all failing cases; those in `first` are tried first."""
        ids = sorted(self._failing_by_size, key=lambda case: case not in first)
        return all(self.runner.explains(mutants, id) for id in ids)

    def is_refuted(self, mutants: MutantCombination) -> bool:
        """Return whether the mutants cannot be combined, or fail a case that the subject passes."""
        return not can_compose(mutants) or any(self.runner.fails(mutants, id) for id in self._passed_by_size)

    def refuting_cases(self, mutant: Mutant) -> frozenset[str]:
        """Return the passed cases of any level that a mutant fails."""
        passed = (*self.passed, *self.passed_at_lower_level)
        return frozenset(id for id in passed if self.runner.fails((mutant,), id))

    def without_failures_below(self, alternatives: Sequence[MutantCombination]) -> list[MutantCombination]:
        """Return the combinations that fail none of the cases in `passed_at_lower_level`.

        If all combinations fail such a case, return all combinations.
        """
        fails = self.runner.fails
        holding = [each for each in alternatives if not any(fails(each, id) for id in self.passed_at_lower_level)]
        return holding or list(alternatives)

    @cached_property
    def _failing_by_size(self) -> list[str]:
        return self._by_size(self.failing)

    @cached_property
    def _passed_by_size(self) -> list[str]:
        return self._by_size(self.passed)

    def _by_size(self, ids: Iterable[str]) -> list[str]:
        """Return cases by size: a small case shows after little work that mutants do not explain it."""

        def size(id: str) -> tuple[int, str]:
            case = self.cases[id]
            return case.model.ByteSize() + sum(array.nbytes for data in case.held for array in data.inputs), id

        return sorted(ids, key=size)

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
        answered = (id for id in left if self.observations[id].error is None)
        sample = sorted(answered, key=shuffle_key)[:PARTNER_SAMPLE_SIZE]
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
        ordered = sorted(self.cases_to_try, key=lambda case: mutant.clause not in self.clauses.get(case, ()))
        for id in ordered[:MAX_CASES_TRIED]:
            compare = self.runner.compare((mutant,), id)
            if compare is FailureComparison.REPRODUCES:
                return True
            others += compare is FailureComparison.FAILS_DIFFERENTLY
            if others >= MAX_OTHER_FAILURES:
                return False
        return False

    @cached_property
    def cases_to_try(self) -> list[str]:
        """The failing cases in the order in which to try them.

        Cases that test few clauses come first. Of several cases with the same error, only two are tried.
        """
        ids = sorted(self.failing, key=lambda case: (len(self.clauses.get(case, ())), shuffle_key(case)))
        seen: Counter[str | None] = Counter()
        kept = []
        for id in ids:
            ended = self.observations[id].error
            seen[ended] += 1
            if ended is None or seen[ended] <= 2:
                kept.append(id)
        return kept


def shuffle_key(case: str) -> int:
    """Return a pseudo-random sort key for a case id; it is the same in every run."""
    return zlib.crc32(case.encode())
