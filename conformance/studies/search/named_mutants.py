"""Name the mutants that a subject behaves like on a failing example, after a check on other examples.

A shrunk example can fit several mutants: where shrinking has made a gradient zero, a backend that ignores the gradient
gives the same outputs as one that updates too few tensors. So each mutant that fits the shrunk example is compared with
the subject on the example before shrinking and on fresh examples of the same operator.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from conformance.base.serialization.decoding import Count, StoredRecord
from conformance.run.diagnosis.failure_evidence import Observation, are_equivalent, is_failure, observe
from conformance.run.mutants import Mutant, family_mutants, family_of_operators
from conformance.studies.search.evaluation import EvaluatedExample
from conformance.studies.search.search_cases import NoExpectedOutputsError
from conformance.studies.search.search_sampling import sample_examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.base.verdicts import Level
    from conformance.studies.search.program_example import SampledExample
    from conformance.subjects.calling.subject_names import Subject


FRESH_EXAMPLES = 12
"""The number of fresh examples on which a mutant is compared with the subject."""

FIRST_FRESH_CHUNK = 10_000_000
"""The number of the first chunk of fresh examples. The chunks of a search have smaller numbers."""

MAX_NAMED_MUTANTS = 2
"""The most mutants that are named for one failing example. More say little about the subject."""


class NamedMutant(StoredRecord):
    """A mutant that a subject behaves like.

    Attributes:
        id: the id of the mutant.
        text: the faulty behaviour as a verb phrase.
        same: the number of examples that the subject fails and on which the mutant has the same outputs, without the
            shrunk example.
        fresh: the number of fresh examples on which the two were compared.
    """

    id: str
    text: str
    same: Count
    fresh: Count


def name_mutants(
    subject: Subject, original: SampledExample, shrunk: SampledExample, level: Level, seed: int, number: int
) -> list[NamedMutant]:
    """Return the mutants that behave like a backend on a failing example and that no other example contradicts.

    A mutant is named if it has the backend's outputs, apart from rounding, on the shrunk example, on the example before
    shrinking, and on each fresh example that both fail, and if it passes each fresh example that the backend passes.
    The result is empty if more than `MAX_NAMED_MUTANTS` mutants are left.

    Args:
        seed: the random seed of the search.
        number: the number of the chunk, which selects the fresh examples.
    """
    family = family_of_operators({shrunk.operator})
    if family is None:
        return []
    comparison = _Comparison.of(subject, EvaluatedExample(shrunk, level))
    if comparison is None or not comparison.fails:
        return []
    left = {mutant: 0 for mutant in family_mutants(family) if comparison.is_alike(mutant)}
    fresh = 0
    others = (EvaluatedExample(original, level), *_fresh_examples(original.operator, level, seed, number))
    for place, example in enumerate(others):
        if not left:
            break
        if (comparison := _Comparison.of(subject, example)) is None:
            continue
        fresh += place > 0
        if comparison.fails:
            same = {mutant: comparison.is_alike(mutant) for mutant in left}
            left = {
                mutant: count + same[mutant]
                for mutant, count in left.items()
                if same[mutant] or (place and not comparison.is_failed_by(mutant))
            }
        else:
            left = {mutant: count for mutant, count in left.items() if not comparison.is_failed_by(mutant)}
    if len(left) > MAX_NAMED_MUTANTS:
        return []
    return [NamedMutant(mutant.id, mutant.text, same=count, fresh=fresh) for mutant, count in left.items() if count]


@lru_cache(maxsize=4)
def _fresh_examples(operator: str, level: Level, seed: int, number: int) -> tuple[EvaluatedExample, ...]:
    """Return the fresh examples of an operator for a chunk; their expected outputs are computed once."""
    examples = sample_examples((operator,), seed, FIRST_FRESH_CHUNK + number, FRESH_EXAMPLES)
    return tuple(EvaluatedExample(example, level) for example in examples)


class _Comparison:
    """A subject's behaviour on an example, with which mutants are compared.

    As in the search, the oracle is used only where outputs differ from those of the reference backend.
    """

    def __init__(self, example: EvaluatedExample, observation: Observation) -> None:
        self._example = example
        self._observation = observation
        self.fails = self._is_failure(observation)

    @classmethod
    def of(cls, subject: Subject, example: EvaluatedExample) -> _Comparison | None:
        """Run a subject on an example; return None if it does not support it or no outputs are expected."""
        try:
            observation = observe(subject.target, example.native)
            return None if observation is None else cls(example, observation)
        except (NoExpectedOutputsError, ValueError, IndexError, KeyError):
            return None

    def is_alike(self, mutant: Mutant) -> bool:
        """Return whether a mutant fails the example with the subject's outputs, apart from rounding."""
        observation = observe(mutant.backend, self._example.native)
        return (
            observation is not None
            and self._is_failure(observation)
            and are_equivalent(observation, self._observation, self._example.case)
        )

    def is_failed_by(self, mutant: Mutant) -> bool:
        """Return whether a mutant fails the example."""
        observation = observe(mutant.backend, self._example.native)
        return observation is not None and self._is_failure(observation)

    def _is_failure(self, observation: Observation) -> bool:
        return is_failure(observation, self._example.native) and is_failure(observation, self._example.case)


def mutants_sentence(named: Sequence[NamedMutant]) -> str:
    """Return the named mutants as a sentence without a full stop, or "" if there are none."""
    if not named:
        return ""
    texts = " or ".join(f"{one.text} ({one.id})" for one in named)
    same = min(one.same for one in named)
    fresh = named[0].fresh
    examples = "example that fails" if same == 1 else "examples that fail"
    return f"probably {texts}: the same outputs on {same} larger {examples}, and no contradiction on {fresh} fresh ones"
