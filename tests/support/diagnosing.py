"""How well faults are diagnosed: `python tests/support/diagnosing.py --seed 1` prints it for pairs and for mistakes.

Pairs are of two deviations of one operator, composed, each of which alone decides a case; they are drawn by the seed.
Mistakes are those of `mistakes`, which the catalogue does not have. Times are of the processor.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mistakes import MISTAKES

from conformance.corpus.corpus import open_corpus
from conformance.corpus.document import case_json
from conformance.deviations import FAMILIES, Alteration, AlteredBackend, catalogue, op_types
from conformance.deviations.composition import composed
from conformance.diagnosis.diagnosis import Diagnosis, Topics, diagnosis
from conformance.diagnosis.findings import Finding
from conformance.diagnosis.laboratory import do_compose
from conformance.diagnosis.observation import Observation, agree, fails, observe
from conformance.diagnosis.transcript import family_shown, written
from conformance.strength.operators import held_cases
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.corpus.corpus import Corpus
    from conformance.corpus.loading import CaseInMemory
    from conformance.deviations import Deviation

DATA = Path(__file__).parents[2] / "data"


@dataclass(frozen=True)
class Bench:
    """The corpus's cases by family, on which backends are diagnosed without a run.

    Attributes:
        cases: by family and id.
        topics: by id.
    """

    cases: Mapping[str, Mapping[str, CaseInMemory]]
    topics: Mapping[str, Topics]

    @classmethod
    def of(cls, corpus: Corpus, each: int = 1) -> Bench:
        """The judged cases of a corpus, or of each family's each so-manieth."""
        held = held_cases(corpus)
        about = {family: [case for case in held[family] if family_shown(case.model) == family] for family in FAMILIES}
        cases = {family: {case.id: case for case in own[::each]} for family, own in about.items()}
        documents = {id: case_json(corpus, corpus.cases[id]) for own in cases.values() for id in own}
        return cls(cases, {id: Topics(tuple(d["clauses"]), tuple(d["tags"])) for id, d in documents.items()})

    def findings(self, backend: Any, family: str) -> dict[str, Finding]:
        """What a run on a family's cases would find of a backend."""
        return {id: _finding(observe(backend, case), case) for id, case in self.cases[family].items()}

    def diagnosis(self, backend: Any, family: str) -> Diagnosis:
        """What a run on a family's cases would say of a backend, which fails at least one."""
        return diagnosis("subject", family, self.findings(backend, family), self.cases[family], self.topics.__getitem__)


def _finding(observation: Observation | None, case: CaseInMemory) -> Finding:
    if observation is None:
        return Finding(case.level, Verdict.UNSUPPORTED)
    if not fails(observation, case):
        return Finding(case.level, Verdict.PASS)
    return Finding(case.level, Verdict.ERROR if observation.ended else Verdict.FAIL, written(observation))


def family_of_deviation(deviation: Deviation) -> str:
    """The family in whose table a deviation is."""
    return next(family for family, rows in catalogue().items() if deviation in rows)


def named(found: Diagnosis) -> list[set[str]]:
    """For each deviation that is named its id and those of the deviations that no case tells apart from it."""
    return [{one.deviation.id, *(alike.id for alike in one.alike)} for one in found.explanations]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Pairs:
    """Pairs of deviations of one operator, drawn by a seed, each of which alone decides a case.

    Attributes:
        incompatible: pairs that were drawn but do not compose.
        undecided: how many were drawn of which one decides no case alone.
    """

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._random = random.Random(seed)
        self._failing: dict[Deviation, dict[str, Observation]] = {}
        self.incompatible: list[tuple[str, str]] = []
        self.undecided = 0

    def __iter__(self) -> Iterator[tuple[Deviation, Deviation]]:
        rows = [one for own in catalogue().values() for one in own]
        while True:
            operator = self._random.choice(FAMILIES)
            one, other = self._random.sample([row for row in rows if row.operator == operator], 2)
            if not do_compose((one, other)):
                self.incompatible.append((one.id, other.id))
            elif self._decides(one, other) and self._decides(other, one):
                yield one, other
            else:
                self.undecided += 1

    def _decides(self, one: Deviation, other: Deviation) -> bool:
        """Whether there is a case that a pair fails as one of it does, and which the other one passes."""
        cases, without = self._bench.cases[family_of_deviation(one)], self._observed(other)
        for id, alone in self._observed(one).items():
            if id not in without:
                both = observe(composed((one, other)), cases[id])
                if both is not None and fails(both, cases[id]) and agree(both, alone, cases[id]):
                    return True
        return False

    def _observed(self, deviation: Deviation) -> dict[str, Observation]:
        """What a deviation makes of the cases that it fails."""
        if deviation not in self._failing:
            cases = self._bench.cases[family_of_deviation(deviation)].values()
            made = {
                case.id: observe(deviation.backend, case)
                for case in cases
                if deviation.operator in op_types(case.model)
            }
            own = self._bench.cases[family_of_deviation(deviation)]
            self._failing[deviation] = {id: one for id, one in made.items() if one is not None and fails(one, own[id])}
        return self._failing[deviation]


def pair_is_named(bench: Bench, pair: tuple[Deviation, Deviation]) -> tuple[int, list[str]]:
    """How many of a pair are named where both are in one backend, and what is named that is none of them."""
    found = named(bench.diagnosis(composed(pair), family_of_deviation(pair[0])))
    wrong = [min(ids) for ids in found if not any(one.id in ids for one in pair)]
    return sum(any(one.id in ids for ids in found) for one in pair), wrong


def unexplained_failures() -> dict[str, AlteredBackend]:
    """By family a backend that fails all of its cases in a manner that the catalogue does not have."""

    def spoilt(kernel: Any) -> Any:
        return lambda node, inputs: [(array + 3).astype(array.dtype) for array in kernel(node, inputs)]

    return {family: AlteredBackend({family: Alteration(twists=(spoilt,))}) for family in FAMILIES}


def _measure_pairs(bench: Bench, count: int, seed: int) -> None:
    pairs, both, wrong, longest = Pairs(bench, seed), 0, 0, 0.0
    for number, pair in enumerate(pairs, start=1):
        begun = time.process_time()
        right, others = pair_is_named(bench, pair)
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
            for one in group.shared
        ]
        told += [f"NAMED {len(one.cases)} of {found.failing}: {one.deviation.id}" for one in found.explanations]
        whole = any(len(one.cases) == len(group.cases) for group in found.unexplained for one in group.shared)
        given += whole
        accused += bool(found.explanations)
        _say(f"  {mistake.operator} {mistake.text}: {'; '.join(told) or 'nothing'}")
    _say(f"mistakes: what all failing cases share is given in {given} of {len(MISTAKES)}")
    _say(f"mistakes: a deviation is named in {accused}")


def _measure_time(corpus: Corpus) -> None:
    """The time of a whole diagnosis where everything fails, reading the corpus included."""
    bench = Bench.of(corpus)
    findings = {family: bench.findings(backend, family) for family, backend in unexplained_failures().items()}
    begun = time.process_time()
    Bench.of(corpus)
    for family, own in findings.items():
        diagnosis("subject", family, own, bench.cases[family], bench.topics.__getitem__)
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
