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

from kernel_mistakes import MISTAKES

from conformance.corpus.case_json import read_case_json
from conformance.corpus.corpus import open_corpus
from conformance.diagnosis.collected_results import CollectedResult
from conformance.diagnosis.diagnosis import CaseTopics, Diagnosis, can_compose, diagnose
from conformance.diagnosis.recorded_outputs import (
    Observation,
    are_equivalent,
    evidence_family,
    is_failure,
    observation_to_record,
    observe,
)
from conformance.mutants import FAMILIES, KernelPatch, MutantBackend, catalogue, op_types
from conformance.mutants.mutant import compose
from conformance.verdicts import Verdict
from mutation.operators import cases_by_family

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
            family: [case for case in held[family] if evidence_family(case.model) == family] for family in FAMILIES
        }
        cases = {family: {case.id: case for case in own[::each]} for family, own in about.items()}
        documents = {id: read_case_json(corpus, corpus.cases[id]) for own in cases.values() for id in own}
        return cls(cases, {id: CaseTopics(tuple(d["clauses"]), tuple(d["tags"])) for id, d in documents.items()})

    def findings(self, backend: Any, family: str) -> dict[str, CollectedResult]:
        """Return the results of a backend on a family's cases."""
        return {id: _finding(observe(backend, case), case) for id, case in self.cases[family].items()}

    def diagnosis(self, backend: Any, family: str) -> Diagnosis:
        """Diagnose a backend that fails at least one of a family's cases."""
        return diagnose("subject", family, self.findings(backend, family), self.cases[family], self.topics.__getitem__)


def _finding(observation: Observation | None, case: CaseInMemory) -> CollectedResult:
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
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    opened = open_corpus(options.data)
    _measure_time(opened)
    _measure_mistakes(Bench.of(opened))
    _measure_pairs(Bench.of(opened), options.pairs, options.seed)
