"""What became of one case on one subject."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.results.records import HazardChange, OutputEvidence, Placement, RewriteCheck, Within
    from conformance.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case.

    Attributes:
        phase: where it ended early: `start`, `load`, `run` or `compare`; None where nothing ended it.
        message: why it did not pass, in one line or the subject's own words; of an invalid model, how it was rejected.
        seconds: the time the subject took, without reading and comparing.
        outputs: the evidence, per data set and output.
        checks: what a graph optimizer was held to.
        hazards: the data sets on which a rewrite changed the answer as it is documented to.
        placement: how many nodes of which operators ran on which provider or device; None where nobody said.
        quality: by the name of a quality how many elements have it, of how many; empty where that was not asked for.
    """

    verdict: Verdict
    phase: str | None
    message: str
    seconds: float
    outputs: tuple[OutputEvidence, ...] = ()
    checks: tuple[RewriteCheck, ...] = ()
    hazards: tuple[HazardChange, ...] = ()
    placement: Placement | None = None
    quality: Mapping[str, Within] = field(default_factory=dict)
