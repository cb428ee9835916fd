"""Run mutants on cases, and compare their outputs with those of the subject."""

from __future__ import annotations

from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from conformance.run.diagnosis.recorded_outputs import are_equivalent, differing_parts, is_failure, observe, wrong_parts
from conformance.run.mutants import op_types
from conformance.run.mutants.mutant import IncompatibleMutantsError, compose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
