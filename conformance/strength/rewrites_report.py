"""What the cases of the pass notice of faulty rewrites, as lines for people and as an object for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.strength.rewrites import RewriteStanding, RewriteStrength, Sighting


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
