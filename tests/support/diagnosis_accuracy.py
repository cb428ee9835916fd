"""Diagnoses of backends without a run: of pairs of mutants, of mutants under conditions, and of unexplainable ones."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import CaseInMemory, LoadedCase, read_case_json
from conformance.exact.reference.graph import Graph, PreparedReferenceGraph
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.run.diagnosis.collected_results import CollectedResult
from conformance.run.diagnosis.diagnosis_run import CaseTopics, Diagnosis, diagnose
from conformance.run.diagnosis.failure_evidence import (
    Observation,
    are_equivalent,
    can_compose,
    evidence_family,
    is_failure,
    observation_to_record,
    observe,
)
from conformance.run.mutants import FAMILIES, KernelPatch, MutantBackend, catalogue, op_types
from conformance.run.mutants.mutant import _patched_evaluation, compose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.mutants import Mutant


in_memory = cache(LoadedCase.in_memory)


@dataclass(frozen=True)
class Bench:
    """Cases by family, for diagnosing backends without a run.

    Attributes:
        cases: by family and id.
        topics: by id.
    """

    cases: Mapping[str, Mapping[str, CaseInMemory]]
    topics: Mapping[str, CaseTopics]

    @classmethod
    def of(cls, corpus: Corpus, loaded: Mapping[str, Sequence[LoadedCase]], each: int = 1) -> Bench:
        """Return the loaded cases of a corpus, or every `each`-th of them in each family."""
        about = {
            family: [case for case in loaded.get(family, ()) if evidence_family(case.model) == family]
            for family in FAMILIES
        }
        cases = {family: {case.id: in_memory(case) for case in own[::each]} for family, own in about.items()}
        documents = {id: read_case_json(corpus, corpus.cases[id]) for own in cases.values() for id in own}
        return cls(cases, {id: CaseTopics(tuple(d.clauses), tuple(d.tags)) for id, d in documents.items()})

    def findings(self, backend: Any, family: str) -> dict[str, CollectedResult]:
        """Return the results of a backend on a family's cases."""
        return {id: observed_finding(backend, case) for id, case in self.cases[family].items()}

    def diagnosis(self, backend: Any, family: str) -> Diagnosis:
        """Diagnose a backend that fails at least one of a family's cases."""
        return diagnose("subject", family, self.findings(backend, family), self.cases[family], self.topics.__getitem__)


def observed_finding(backend: Any, case: CaseInMemory) -> CollectedResult:
    """Return the result of a backend on a case."""
    observation = observe(backend, case)
    if observation is None:
        return CollectedResult(case.level, Verdict.UNSUPPORTED)
    if not is_failure(observation, case):
        return CollectedResult(case.level, Verdict.PASS)
    return CollectedResult(
        case.level, Verdict.ERROR if observation.error else Verdict.FAIL, observation_to_record(observation)
    )


def family_of_mutant(mutant: Mutant) -> str:
    """Return the family of a mutant."""
    return next(family for family, rows in catalogue().items() if mutant in rows)


def mutant_groups(found: Diagnosis) -> list[set[str]]:
    """Return, for each explanation, the ids of its mutant and of the indistinguishable ones."""
    return [
        {one.mutant.id, *(indistinguishable.id for indistinguishable in one.indistinguishable)}
        for one in found.explanations
    ]


class MutantPairs:
    """Random pairs of mutants of one operator, each of which alone decides the outcome of a case."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._random = random.Random(seed)
        self._failing: dict[Mutant, dict[str, Observation]] = {}

    def __iter__(self) -> Iterator[tuple[Mutant, Mutant]]:
        rows = [one for own in catalogue().values() for one in own]
        while True:
            operator = self._random.choice(FAMILIES)
            one, other = self._random.sample([row for row in rows if row.operator == operator], 2)
            if can_compose((one, other)) and self._decides(one, other) and self._decides(other, one):
                yield one, other

    def _decides(self, one: Mutant, other: Mutant) -> bool:
        """Return whether the pair fails a case exactly as `one` does, while `other` passes the case."""
        cases, without = self._bench.cases[family_of_mutant(one)], self._observed(other)
        for id, alone in self._observed(one).items():
            if id not in without:
                both = observe(compose((one, other)), cases[id])
                if both is not None and is_failure(both, cases[id]) and are_equivalent(both, alone, cases[id]):
                    return True
        return False

    def _observed(self, mutant: Mutant) -> dict[str, Observation]:
        """Return the behaviour of a mutant on the cases that it fails, by case id."""
        if mutant not in self._failing:
            cases = self._bench.cases[family_of_mutant(mutant)].values()
            made = {case.id: observe(mutant.backend, case) for case in cases if mutant.operator in op_types(case.model)}
            own = self._bench.cases[family_of_mutant(mutant)]
            self._failing[mutant] = {
                id: one for id, one in made.items() if one is not None and is_failure(one, own[id])
            }
        return self._failing[mutant]


def count_named(bench: Bench, pair: tuple[Mutant, Mutant]) -> tuple[int, list[str]]:
    """Diagnose a backend with both mutants. Return how many of them are named, and the wrong names."""
    found = mutant_groups(bench.diagnosis(compose(pair), family_of_mutant(pair[0])))
    wrong = [min(ids) for ids in found if not any(one.id in ids for one in pair)]
    return sum(any(one.id in ids for ids in found) for one in pair), wrong


@dataclass(frozen=True)
class Conditional:
    """A mutant of the catalogue that an implementation has only for some nodes: a mistake outside of the catalogue."""

    mutant: Mutant
    name: str
    applies: Callable[[Any, list[Any]], bool]


def _scalar_t(inputs: list[Any]) -> int:
    return int(np.asarray(inputs[1]).reshape(-1)[0])


CONDITIONS: Mapping[str, Mapping[str, Callable[[Any, list[Any]], bool]]] = {
    "optimizer": {
        "double": lambda _, inputs: inputs[2].dtype == np.float64,
        "float": lambda _, inputs: inputs[2].dtype == np.float32,
        "T above 0": lambda _, inputs: _scalar_t(inputs) > 0,
        "T of 0": lambda _, inputs: _scalar_t(inputs) == 0,
        "T below 0": lambda _, inputs: _scalar_t(inputs) < 0,
        "several tensors": lambda node, inputs: len(inputs) > 2 + len(TRAINING_OPTIMIZERS[node.op_type].operands),
        "one tensor": lambda node, inputs: len(inputs) == 2 + len(TRAINING_OPTIMIZERS[node.op_type].operands),
        "0-d": lambda _, inputs: max(array.ndim for array in inputs[2:]) == 0,
        "rank 2 or more": lambda _, inputs: max(array.ndim for array in inputs[2:]) >= 2,
        "norm_coefficient": lambda node, _: node.attributes.get("norm_coefficient", 0) != 0,
        "R of another type": lambda _, inputs: inputs[0].dtype != inputs[2].dtype,
    },
    "other": {
        "integers": lambda _, inputs: inputs[0].dtype.kind in "iu",
        "floating point": lambda _, inputs: inputs[0].dtype.kind not in "iu",
        "double": lambda _, inputs: inputs[0].dtype == np.float64,
        "float16": lambda _, inputs: inputs[0].dtype == np.float16,
        "negative axis": lambda node, _: node.attributes.get("axis", 0) < 0,
        "keepdims of 0": lambda node, _: node.attributes.get("keepdims", 1) == 0,
        "rank 3 or more": lambda _, inputs: inputs[0].ndim >= 3,
    },
}
"""Conditions of mistakes, for nodes of training optimizers and for other nodes."""


class ConditionalBackend(MutantBackend):
    """The reference backend with mistakes under conditions; the first one that applies to a node counts."""

    def __init__(self, mistakes: Sequence[Conditional]) -> None:
        super().__init__({op_type: patch for one in mistakes for op_type, patch in one.mutant.backend.patches.items()})
        object.__setattr__(self, "_mistakes", mistakes)

    def prepare(self, model: Any, device: str = "CPU", **_: Any) -> Any:
        """Prepare a model."""

        def patching(node: Any, evaluation: Any, within: tuple[str, ...]) -> Any:
            own = [one for one in self._mistakes if one.mutant.operator == node.op_type]
            patched = {one: _patched_evaluation(one.mutant.backend.patches[node.op_type], evaluation) for one in own}
            if not own:
                return evaluation

            def run(node: Any, inputs: Any, system: Any) -> Any:
                arrays = [value.elements for value in inputs]
                chosen = next((patched[one] for one in own if one.applies(node, arrays)), evaluation)
                return chosen(node, inputs, system)

            return run

        return PreparedReferenceGraph(Graph.from_model(self._own_kernels(model)).with_evaluations(patching))


def unexplainable_backends() -> dict[str, MutantBackend]:
    """Return, by family, a backend that fails all of its cases in a way that no mutant does."""

    def spoilt(kernel: Any) -> Any:
        return lambda node, inputs: [(array + 3).astype(array.dtype) for array in kernel(node, inputs)]

    return {family: MutantBackend({family: KernelPatch(wrappers=(spoilt,))}) for family in FAMILIES}
