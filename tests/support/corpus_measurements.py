"""Mutation scores in a form that processes can exchange, measured in parts."""

from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from corpora import no_progress
from repository import ROOT

from checks.mutation.dimensions import all_mutants
from checks.mutation.operators import (
    ONNX_CASES,
    MutantResult,
    MutationScore,
    VariantResult,
    measure_mutation_score,
)
from checks.mutation.pass_mutants import pass_mutants
from checks.mutation.pass_mutants.correct_variants import CORRECT_OTHER_OPTIMIZERS, CORRECT_PASSES
from checks.mutation.passes import CorrectPassResult, PassMutantResult, PassMutationScore, measure_pass_mutation_score
from checks.mutation.variants import VARIANTS
from conformance.corpus.cases.case_loading import find_companion
from conformance.run.mutants import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus


CORRECT_PER_CASE = 1


def families() -> Sequence[str]:
    """Return the families in an order that starts differently in each process."""
    first = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % len(FAMILIES)
    return (*FAMILIES[first:], *FAMILIES[:first])


def detecting_cases() -> dict[str, str]:
    """Return the case that detects each mutant in the committed report, by the id of the mutant."""
    report = json.loads((ROOT / "reports" / "mutation.json").read_bytes())
    rows = [row for family in report["operators"].values() for row in family["mutants"]] + report["pass"]["mutants"]
    return {row["id"]: row["detection"]["case"] for row in rows if row["detection"]}


def _sample(corpus: Corpus) -> Corpus:
    """Return the corpus with the cases that detect a mutant in the committed report, and a part of the others.

    Cases with stored states and equal names are kept too: one of them shows what another one left behind.
    """
    kept = {*detecting_cases().values(), *ONNX_CASES}
    kept |= {
        id for id in corpus.cases if zlib.crc32(id.encode()) % 24 == 0 or re.search("_stored_state_|_one_name_", id)
    }
    kept |= {other.id for id in kept if (other := find_companion(corpus, corpus.cases[id]))}
    return replace(corpus, cases={id: case for id, case in corpus.cases.items() if id in kept})


def measure_family(corpus: Corpus, family: str) -> Any:
    """Measure the mutation score of one family; mutants, which contain functions, are replaced by their ids.

    To save time, a mutant first runs on the case that detected it in the committed report, each case is run by some
    of the correct implementations, and the corpus is a sample. `nox -s mutation` runs each of them on each case.
    """
    score = measure_mutation_score(
        *(_sample(corpus), no_progress),
        only=(family,),
        correct_per_case=CORRECT_PER_CASE,
        first_cases=detecting_cases(),
    )
    return (
        [(one.mutant.id, one.detection, one.false_positive, one.detected_by_onnx) for one in score.results[family]],
        [(one.false_positives, one.cases) for one in score.variants],
    )


def read_measurement(measured: Mapping[str, Any]) -> MutationScore:
    """Return the mutation score from the measurements by family."""
    mutants = {one.id: one for rows in all_mutants().values() for one in rows}
    results = {family: [MutantResult(mutants[id], *found) for id, *found in measured[family][0]] for family in FAMILIES}
    found = zip(*(measured[family][1] for family in FAMILIES), strict=True)
    variants = [
        VariantResult(variant, tuple(id for ids, _ in own for id in ids), sum(cases for _, cases in own))
        for variant, own in zip(VARIANTS, found, strict=True)
    ]
    return MutationScore(results, variants)


def measure_pass_cases(corpus: Corpus) -> Any:
    """Measure the mutation score of the pass; mutants, which contain functions, are left out."""
    score = measure_pass_mutation_score(
        *(_sample(corpus), no_progress), correct_per_case=CORRECT_PER_CASE, first_cases=detecting_cases()
    )
    return (
        {theme: [one.detection for one in results] for theme, results in score.results.items()},
        [(one.false_positives, one.cases) for one in score.correct],
    )


def read_pass_measurement(measured: Any) -> PassMutationScore:
    """Return the mutation score of the pass from a measurement."""
    detections, correct = measured
    return PassMutationScore(
        {
            theme: [PassMutantResult(*found) for found in zip(mutants, detections[theme], strict=True)]
            for theme, mutants in pass_mutants().items()
        },
        [
            CorrectPassResult(optimizer, *found)
            for optimizer, found in zip((*CORRECT_PASSES, *CORRECT_OTHER_OPTIMIZERS), correct, strict=True)
        ],
    )
