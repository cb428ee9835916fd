"""The accuracy of diagnosis: `python tests/support/diagnosis_accuracy.py --seed 1` prints it for pairs and mistakes.

Pairs are two composed mutants of one operator, each of which alone decides a case; the seed selects them. Mistakes are
faults that the catalogue does not have (`kernel_mistakes`). Times are processor times.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from kernel_mistakes import MISTAKES

from conformance.adapters.reference import PreparedReferenceGraph
from conformance.corpus.case_json import read_case_json
from conformance.corpus.corpus import open_corpus
from conformance.diagnosis.collected_results import CollectedResult
from conformance.diagnosis.conditional_explanations import MIN_CONDITIONAL_SUPPORT
from conformance.diagnosis.diagnosis import CaseTopics, Diagnosis, diagnose
from conformance.diagnosis.mutant_runner import can_compose
from conformance.diagnosis.recorded_outputs import (
    Observation,
    are_equivalent,
    evidence_family,
    is_failure,
    observation_to_record,
    observe,
)
from conformance.mutants import FAMILIES, KernelPatch, MutantBackend, catalogue, op_types
from conformance.mutants.mutant import _patched_evaluation, compose
from conformance.reference.graph import Graph
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.verdicts import Level, Verdict
from mutation.operators import cases_by_family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.corpus.loading import CaseInMemory
    from conformance.mutants import Mutant

DATA = Path(__file__).parents[2] / "data"


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
    def of(cls, corpus: Corpus, each: int = 1) -> Bench:
        """Return the valid cases of a corpus, or every `each`-th of them in each family."""
        held = cases_by_family(corpus)
        about = {
            family: [case for case in held.get(family, ()) if evidence_family(case.model) == family]
            for family in FAMILIES
        }
        cases = {family: {case.id: case for case in own[::each]} for family, own in about.items()}
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


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class MutantPairs:
    """Random pairs of mutants of one operator, each of which alone decides the outcome of a case.

    Attributes:
        incompatible: the pairs that do not compose.
        undecided: the number of pairs in which one mutant decides no case alone.
    """

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._random = random.Random(seed)
        self._failing: dict[Mutant, dict[str, Observation]] = {}
        self.incompatible: list[tuple[str, str]] = []
        self.undecided = 0

    def __iter__(self) -> Iterator[tuple[Mutant, Mutant]]:
        rows = [one for own in catalogue().values() for one in own]
        while True:
            operator = self._random.choice(FAMILIES)
            one, other = self._random.sample([row for row in rows if row.operator == operator], 2)
            if not can_compose((one, other)):
                self.incompatible.append((one.id, other.id))
            elif self._decides(one, other) and self._decides(other, one):
                yield one, other
            else:
                self.undecided += 1

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

        return PreparedReferenceGraph(Graph.from_model(self._own_kernels(model), patching))


def conditional_pairs(seed: int) -> Iterator[tuple[Conditional, Conditional]]:
    """Yield random pairs of mistakes of one family, each under a condition."""
    random_ = random.Random(seed)
    while True:
        family = random_.choice(FAMILIES)
        plain = [
            one
            for one in catalogue()[family]
            if one.level is Level.MUST
            and not (one.defaults or one.within or one.by_position or one.last_reader_of or one.rewrite)
            and not one.backend.patches[one.operator].only_before_argmax
        ]
        yield tuple(  # type: ignore[misc]
            Conditional(one, *random_.choice(list(CONDITIONS["optimizer" if family != "ArgMax" else "other"].items())))
            for one in random_.sample(plain, 2)
        )


def _measure_conditional(bench: Bench, count: int, seed: int) -> None:
    """Measure how often diagnosis names both mistakes of a pair, each of which has a condition.

    A pair counts if each mistake alone decides the failure of enough cases. In other pairs one mistake hides the other.
    """
    both = either = wrong = decided = hidden = 0
    for pair in conditional_pairs(seed):
        family = family_of_mutant(pair[0].mutant)
        alone = _decided_cases(bench, pair, family)
        if min(map(len, alone)) < MIN_CONDITIONAL_SUPPORT:
            hidden += 1
            continue
        decided += 1
        found = bench.diagnosis(ConditionalBackend(pair), family)
        groups = mutant_groups(found)
        named = sum(any(one.mutant.id in ids for ids in groups) for one in pair)
        others = [min(ids) for ids in groups if not any(one.mutant.id in ids for one in pair)]
        both += named == 2
        either += named > 0
        wrong += bool(others)
        texts = [f"{one.mutant.id} {one.condition or 'always'}" for one in found.explanations]
        names = (f"{one.mutant.id} if {one.name} ({len(own)})" for one, own in zip(pair, alone, strict=True))
        _say(f"  {' and '.join(names)}: {named} named: {'; '.join(texts)}{f'; WRONG {others}' if others else ''}")
        if decided == count:
            break
    _say(f"pairs under conditions: both named in {both} of {count}, at least one in {either}, a wrong one in {wrong}")
    _say(f"  drawn besides: {hidden} of which one decides fewer than {MIN_CONDITIONAL_SUPPORT} cases alone")


def _decided_cases(bench: Bench, pair: tuple[Conditional, Conditional], family: str) -> list[set[str]]:
    """Return, for each mistake of a pair, the cases that the pair fails as it does alone and that the other passes."""
    cases = bench.cases[family]
    backends = [ConditionalBackend(pair), *(ConditionalBackend([one]) for one in pair)]
    decided: list[set[str]] = [set(), set()]
    for id, case in cases.items():
        both, *alone = (observe(backend, case) for backend in backends)
        if both is None or None in alone or not is_failure(both, case):
            continue
        for own, one, other in zip(decided, alone, reversed(alone), strict=True):
            if not is_failure(other, case) and are_equivalent(both, one, case):
                own.add(id)
    return decided


def unexplainable_backends() -> dict[str, MutantBackend]:
    """Return, by family, a backend that fails all of its cases in a way that no mutant does."""

    def spoilt(kernel: Any) -> Any:
        return lambda node, inputs: [(array + 3).astype(array.dtype) for array in kernel(node, inputs)]

    return {family: MutantBackend({family: KernelPatch(wrappers=(spoilt,))}) for family in FAMILIES}


def _measure_pairs(bench: Bench, count: int, seed: int) -> None:
    pairs, both, wrong, longest = MutantPairs(bench, seed), 0, 0, 0.0
    for number, pair in enumerate(pairs, start=1):
        begun = time.process_time()
        right, others = count_named(bench, pair)
        longest = max(longest, time.process_time() - begun)
        both += right == 2
        wrong += bool(others)
        if right < 2 or others:
            _say(f"  {pair[0].id} and {pair[1].id}: {right} named{f', wrongly {others}' if others else ''}")
        if number == count:
            break
    _say(f"pairs: both named in {both} of {count}, a wrong one in {wrong}; at most {longest:.1f} s each")
    _say(f"  drawn besides: {pairs.undecided} of which one decides no case alone, and {len(pairs.incompatible)}")
    _say("  that do not compose:")
    for one, other in pairs.incompatible:
        _say(f"    {one} and {other}")


def _measure_mistakes(bench: Bench) -> None:
    given = accused = 0
    for mistake in MISTAKES:
        found = bench.diagnosis(mistake.backend, mistake.operator)
        told = [
            f"{len(one.cases)} of {len(group.cases)} {one.text} (and {one.others} of {group.passing} passing)"
            for group in found.unexplained
            for one in group.common_properties
        ]
        told += [f"NAMED {len(one.cases)} of {found.failing}: {one.mutant.id}" for one in found.explanations]
        whole = any(
            len(one.cases) == len(group.cases) for group in found.unexplained for one in group.common_properties
        )
        given += whole
        accused += bool(found.explanations)
        _say(f"  {mistake.operator} {mistake.text}: {'; '.join(told) or 'nothing'}")
    _say(f"mistakes: what all failing cases share is given in {given} of {len(MISTAKES)}")
    _say(f"mistakes: a mutant is named in {accused}")


def _measure_time(corpus: Corpus) -> None:
    """Measure the time of a diagnosis where all cases fail, including reading the corpus."""
    bench = Bench.of(corpus)
    findings = {family: bench.findings(backend, family) for family, backend in unexplainable_backends().items()}
    begun = time.process_time()
    Bench.of(corpus)
    for family, own in findings.items():
        diagnose("subject", family, own, bench.cases[family], bench.topics.__getitem__)
    failing = sum(finding.verdict.is_defect for own in findings.values() for finding in own.values())
    total = sum(map(len, findings.values()))
    _say(f"time: {time.process_time() - begun:.1f} s where {failing} of {total} cases fail and nothing explains it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--conditional", type=int, default=0, help="measure only so many pairs under conditions")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    opened = open_corpus(options.data)
    if options.conditional:
        _measure_conditional(Bench.of(opened), options.conditional, options.seed)
        sys.exit()
    _measure_time(opened)
    _measure_mistakes(Bench.of(opened))
    _measure_pairs(Bench.of(opened), options.pairs, options.seed)
