"""The outcome of one case on one subject.

An outcome and a `Result` are two types, because `search`, `history`, `repro` and the diagnosis judge models and values
that are in no run: an outcome has no id, level or expectation. `Outcome.result` adds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from conformance.results.levels import effective_level
from conformance.results.records import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.results.records import (
        HazardChange,
        OutputEvidence,
        Placement,
        ReturnedValues,
        RewriteCheck,
        Within,
    )
    from conformance.verdicts import Level, Phase, Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict and evidence of one case on one subject.

    Attributes:
        phase: phase that ended the case early: `start`, `load`, `run`, `optimize` or `compare`; None if it did not end
            early.
        message: why the case did not pass, in one line or as the subject's error text. For an invalid model that the
            subject rejected, the error text.
        seconds: time that the subject took, without the time for reading files and comparing outputs.
        outputs: comparison of each output of each data set.
        checks: results of the checks other than the comparison of outputs.
        hazards: data sets on which a graph optimizer changed the answer in a documented way.
        placement: number of nodes by provider or device, then by operator; None if the subject does not report it.
        accuracy: number of elements by accuracy grade; empty if it is not requested.
        returned: what the subject returned, if only these values decide the verdict and the caller requested them.
    """

    verdict: Verdict
    phase: Phase | None
    message: str
    seconds: float
    outputs: tuple[OutputEvidence, ...] = ()
    checks: tuple[RewriteCheck, ...] = ()
    hazards: tuple[HazardChange, ...] = ()
    placement: Placement | None = None
    accuracy: Mapping[str, Within] = field(default_factory=dict)
    returned: ReturnedValues | str | None = None

    def result(self, subject: str, case: str, level: Level, *, stderr: str = "") -> Result:
        """Return the result of a case on a subject, with its effective level; no expectation applies to it yet.

        Args:
            subject: id of the subject.
            case: id of the case.
            level: the level of the case.
            stderr: the text that the subject wrote to standard error.
        """
        result = Result(
            subject=subject,
            case=case,
            level=level,
            verdict=self.verdict,
            phase=self.phase,
            message=self.message,
            seconds=round(self.seconds, 6),
            expected=None,
            unexpected=False,
            outputs=list(self.outputs),
            stderr=stderr,
            checks=list(self.checks),
            hazards=list(self.hazards),
            placement=self.placement or None,
            accuracy=dict(self.accuracy),
            returned=self.returned,
        )
        return replace(result, level=effective_level(result, level))
