"""The measurement of how strong the corpus is, in a form that goes from one process to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpora import quiet

from conformance.deviations import catalogue
from conformance.strength.operators import Acquittal, Detection, Strength, measure
from conformance.strength.variants import VARIANTS

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus


def told(corpus: Corpus) -> Any:
    """Measure a corpus, and tell deviations and variants, which hold functions, by their ids."""
    strength = measure(corpus, quiet)
    return (
        {
            family: [(one.deviation.id, one.noticed, one.accused, one.upstream) for one in standings]
            for family, standings in strength.standings.items()
        },
        [(one.variant.id, one.accusers, one.cases) for one in strength.acquittals],
    )


def read(told: Any) -> Strength:
    """The measurement that was told."""
    deviations = {one.id: one for rows in catalogue().values() for one in rows}
    variants = {one.id: one for one in VARIANTS}
    standings, acquittals = told
    return Strength(
        {family: [Detection(deviations[id], *found) for id, *found in rows] for family, rows in standings.items()},
        [Acquittal(variants[id], accusers, cases) for id, accusers, cases in acquittals],
    )
