"""The measurements of how strong the corpus is, in a form that goes from one process to another, and made in parts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from corpora import quiet

from conformance.deviations import FAMILIES, catalogue
from conformance.deviations.rewrites import faulty_rewrites
from conformance.deviations.rewrites.admissible import ADMISSIBLE, WITHOUT_CLAIM
from conformance.strength.operators import Acquittal, Detection, Strength, measure
from conformance.strength.rewrites import RewriteAcquittal, RewriteStanding, RewriteStrength, measure_rewrites
from conformance.strength.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.corpus.corpus import Corpus


def parts() -> Sequence[str]:
    """The families that are measured each by itself; every process begins with another one."""
    first = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % len(FAMILIES)
    return (*FAMILIES[first:], *FAMILIES[:first])


def told(corpus: Corpus, family: str) -> Any:
    """Measure a corpus by one family, and tell deviations and variants, which hold functions, by their ids."""
    strength = measure(corpus, quiet, only=(family,))
    return (
        [(one.deviation.id, one.noticed, one.accused, one.upstream) for one in strength.standings[family]],
        [(one.accusers, one.cases) for one in strength.acquittals],
    )


def read(told: Mapping[str, Any]) -> Strength:
    """The measurement that was told, by family."""
    deviations = {one.id: one for rows in catalogue().values() for one in rows}
    standings = {family: [Detection(deviations[id], *found) for id, *found in told[family][0]] for family in FAMILIES}
    found = zip(*(told[family][1] for family in FAMILIES), strict=True)
    acquittals = [
        Acquittal(variant, tuple(id for accusers, _ in own for id in accusers), sum(cases for _, cases in own))
        for variant, own in zip(VARIANTS, found, strict=True)
    ]
    return Strength(standings, acquittals)


def rewrites_told(corpus: Corpus) -> Any:
    """Measure the cases of the pass, and tell rewrites, which hold functions, by their place."""
    strength = measure_rewrites(corpus, quiet)
    return (
        {theme: [one.noticed for one in standings] for theme, standings in strength.standings.items()},
        [(one.accusers, one.cases) for one in strength.acquittals],
    )


def rewrites_read(told: Any) -> RewriteStrength:
    """The measurement that was told."""
    noticed, acquittals = told
    return RewriteStrength(
        {
            theme: [RewriteStanding(*found) for found in zip(faults, noticed[theme], strict=True)]
            for theme, faults in faulty_rewrites().items()
        },
        [
            RewriteAcquittal(rewrite, *found)
            for rewrite, found in zip((*ADMISSIBLE, *WITHOUT_CLAIM), acquittals, strict=True)
        ],
    )
