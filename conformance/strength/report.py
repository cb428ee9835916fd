"""What `strength` found, as lines for people and as one JSON object for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.strength.operators import UPSTREAM
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.strength.operators import Detection, Notice, Strength
    from conformance.strength.rewrites import RewriteStanding, RewriteStrength, Sighting
    from conformance.strength.sweep import Swept

WEAKEST = 3
"""How many deviations with the least margin are shown of each operator."""


def lines(strength: Strength, swept: Sequence[Swept], *, verbose: bool) -> Iterator[str]:
    """The finding for people: a table, the weakest margins, and everything that is not as it must be."""
    yield from _table(strength)
    for family, standings in strength.standings.items():
        if verbose:
            yield from ("", f"{family}: each deviation and the case that notices it first")
            yield from (_line(standing) for standing in standings)
        elif weakest := _weakest(standings):
            yield from ("", f"{family}: the deviations noticed with the least margin")
            yield from (_line(standing) for standing in weakest)
    yield from ("", *_acquittals(strength))
    yield from _sweep(swept)
    yield from _complaints(strength)


def document(corpus: Corpus, strength: Strength, swept: Sequence[Swept]) -> dict[str, Any]:
    """The finding for machines."""
    return {
        "corpus": {"version": corpus.version, "digest": corpus.digest, "cases": len(corpus.cases)},
        "holds": strength.holds and all(one.holds for one in swept),
        "operators": {
            family: {**_counts(standings), "deviations": [_entry(standing) for standing in standings]}
            for family, standings in strength.standings.items()
        },
        "variants": [
            {"id": one.variant.id, "text": one.variant.text, "cases": one.cases, "accused_by": list(one.accusers)}
            for one in strength.acquittals
        ],
        "sweep": [vars(one) for one in swept],
    }


def _table(strength: Strength) -> Iterator[str]:
    heading = f"{'operator':<10}{'must deviations':>16}{'noticed':>9}{'onnx notices':>14}"
    yield f"{heading}{'should deviations':>19}{'noticed':>9}"
    rows = {family: _counts(standings) for family, standings in strength.standings.items()}
    optimizers = [row for row in rows.values() if row["upstream"] is not None]
    for family, row in {**rows, "optimizers": _sum(optimizers), "all": _sum(list(rows.values()))}.items():
        upstream = "-" if row["upstream"] is None else row["upstream"]
        yield (
            f"{family:<10}{row['must']:>16}{row['noticed']:>9}{upstream:>14}"
            f"{row['should']:>19}{row['should_noticed']:>9}"
        )
    ours, theirs = _sum(optimizers)["noticed"], _sum(optimizers)["upstream"]
    total = _sum(optimizers)["must"]
    if total:
        yield (
            f"Of {total} must deviations of the optimizers this corpus notices {ours} ({100 * ours // total} %), "
            f"onnx's own {len(UPSTREAM)} cases with its tolerance {theirs} ({100 * theirs // total} %)."
        )


def _counts(standings: Sequence[Detection]) -> dict[str, Any]:
    must = [one for one in standings if one.deviation.level is Level.MUST]
    below = [one for one in standings if one.deviation.level is not Level.MUST]
    judged = [one for one in must if one.upstream is not None]
    return {
        "must": len(must),
        "noticed": sum(one.noticed is not None for one in must),
        "upstream": sum(bool(one.upstream) for one in judged) if judged else None,
        "should": len(below),
        "should_noticed": sum(one.noticed is not None for one in below),
    }


def _sum(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = ("must", "noticed", "should", "should_noticed")
    upstream = [row["upstream"] for row in rows]
    known = None if None in upstream else sum(upstream)
    return {**{name: sum(row[name] for row in rows) for name in names}, "upstream": known}


def _line(standing: Detection) -> str:
    deviation = standing.deviation
    level = "" if deviation.level is Level.MUST else f" [{deviation.level}]"
    return f"  {deviation.id}{level}: {deviation.sentence}: {standing.noticed or 'NOT NOTICED'}"


def _weakest(standings: Sequence[Detection]) -> list[Detection]:
    """Those with the least error beyond the bound at the case that notices them first."""
    margins = [(one.noticed.margin, one) for one in standings if one.noticed and one.noticed.margin is not None]
    return [one for _, one in sorted(margins, key=lambda pair: pair[0])[:WEAKEST]]


def _acquittals(strength: Strength) -> Iterator[str]:
    accused = [one for one in strength.acquittals if one.accusers]
    runs = sum(one.cases for one in strength.acquittals)
    yield f"{len(strength.acquittals)} correct variants on {runs} must cases in all: {len(accused)} accused."
    for one in accused:
        yield f"  {one.variant.id} ({one.variant.text}) is accused by {', '.join(one.accusers)}"


def _sweep(swept: Sequence[Swept]) -> Iterator[str]:
    if not swept:
        return
    yield ""
    yield (
        "Sweep of random inputs, attributes and T. All elements of all variants are held against a running bound; the "
        "nearest to it and one at random of every thousand against the oracle's own."
    )
    heading = f"{'operator':<10}{'type':<8}{'elements':>10}{'largest/running':>17}{'checked':>9}{'unsettled':>11}"
    yield f"{heading}{'largest/bound':>15}{'median width':>14}  variant"
    for one in swept:
        yield (
            f"{one.operator:<10}{one.type:<8}{one.elements:>10}{one.screened:>17.3f}{one.checked:>9}"
            f"{one.unsettled:>11}{one.largest:>15.3f}{one.width:>14.2g}  {one.variant}"
        )


def _complaints(strength: Strength) -> Iterator[str]:
    if strength.survivors:
        yield f"{len(strength.survivors)} must deviations survive:"
        yield from (_line(one) for one in strength.survivors)
    if strength.accused:
        yield f"{len(strength.accused)} deviations are accused by a must case though they are admissible there:"
        yield from (f"  {one.deviation.id}: {one.deviation.sentence}: {one.accused}" for one in strength.accused)


def _entry(standing: Detection) -> dict[str, Any]:
    deviation = standing.deviation
    return {
        "id": deviation.id,
        "text": deviation.text,
        "clause": deviation.clause,
        "level": str(deviation.level),
        "convention": deviation.convention,
        "noticed": _notice(standing.noticed),
        "accused": _notice(standing.accused),
        "upstream": standing.upstream,
    }


def _notice(notice: Notice | None) -> dict[str, Any] | None:
    return None if notice is None else {"case": notice.case, "how": notice.how, "margin": notice.margin}


def rewrite_lines(strength: RewriteStrength, *, verbose: bool) -> Iterator[str]:
    """A table, and everything that is not as it must be."""
    yield ""
    yield f"{'faulty rewrites':<18}{'there are':>10}{'noticed':>9}"
    for theme, standings in strength.standings.items():
        yield f"{theme:<18}{len(standings):>10}{_noticed(standings):>9}"
    every = [one for standings in strength.standings.values() for one in standings]
    yield f"{'all':<18}{len(every):>10}{_noticed(every):>9}"
    if verbose:
        yield from ("", "each faulty rewrite and the case that notices it first")
        yield from (f"  {one.fault.id}: {one.fault.text}: {one.noticed or 'NOT NOTICED'}" for one in every)
    accused = [one for one in strength.acquittals if one.accusers]
    cases = max((one.cases for one in strength.acquittals), default=0)
    yield f"{len(strength.acquittals)} right rewrites on {cases} cases each: {len(accused)} accused."
    for acquittal in accused:
        yield f"  {acquittal.rewrite.id} ({acquittal.rewrite.text}) is accused by {len(acquittal.accusers)} cases:"
        yield from (f"    {sighting}" for sighting in acquittal.accusers)
    if strength.survivors:
        yield f"{len(strength.survivors)} faulty rewrites survive:"
        yield from (f"  {one.fault.id}: {one.fault.text}" for one in strength.survivors)


def rewrite_document(strength: RewriteStrength) -> dict[str, Any]:
    """The same, whole."""
    return {
        "faults": [
            {"theme": theme, "id": one.fault.id, "text": one.fault.text, "noticed": _sighting(one.noticed)}
            for theme, standings in strength.standings.items()
            for one in standings
        ],
        "right": [
            {
                "id": one.rewrite.id,
                "text": one.rewrite.text,
                "cases": one.cases,
                "accused_by": [_sighting(sighting) for sighting in one.accusers],
            }
            for one in strength.acquittals
        ],
    }


def _noticed(standings: Sequence[RewriteStanding]) -> int:
    return sum(one.noticed is not None for one in standings)


def _sighting(sighting: Sighting | None) -> dict[str, str] | None:
    return None if sighting is None else {"case": sighting.case, "complaint": sighting.complaint}
