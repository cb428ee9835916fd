"""In what manner a case fails, in words that cases which fail for one reason have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.results.failure_kinds import normalized

if TYPE_CHECKING:
    from conformance.corpus.loading import CaseInMemory
    from conformance.diagnosis.findings import Finding
    from conformance.diagnosis.observation import Observation


def manner(finding: Finding, observation: Observation | None, case: CaseInMemory) -> str:
    """In what manner a case fails: the error that came, what is wrong with the outputs, or else what was said."""
    if observation is None:
        return f"{finding.verdict}: {finding.said}" if finding.said else str(finding.verdict)
    if observation.ended is not None:
        return normalized(observation.ended)
    if any(observation.spoiled):
        return "changed inputs"
    pairs = [
        (output.expected, came)
        for data_set, outputs in zip(case.held, observation.outputs, strict=False)
        for output, came in zip(data_set.outputs, outputs, strict=False)
    ]
    if any(len(data_set.outputs) != len(came) for data_set, came in zip(case.held, observation.outputs, strict=False)):
        return "another number of outputs"
    if any(not isinstance(came, np.ndarray) or came.dtype != expected.dtype for expected, came in pairs):
        return "wrong types"
    return "wrong shapes" if any(came.shape != expected.shape for expected, came in pairs) else "wrong values"
