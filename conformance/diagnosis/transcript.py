"""What a subject made of a failing case, as the result's record has it, so that a diagnosis needs no subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.loading import case_in_memory
from conformance.deviations import family_among, op_types
from conformance.diagnosis.observation import Observation, observe
from conformance.isolation.protocol import decoded, encoded
from conformance.verdicts import Level

if TYPE_CHECKING:
    import onnx

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.results.diagnosis_records import ObservedRecord, ObservedTensor
    from conformance.subjects.loading import Subject

LARGEST = 256 * 1024
"""Bytes of all outputs that are written down; a case with more explains nothing."""

_BESIDE = {"ArgMax": ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Concat")}
"""What may stand in a model beside the operator that its family is called by."""


def family_shown(model: onnx.ModelProto) -> str | None:
    """The family that a model is evidence on: it has none but its operators, so that nothing else can be at fault."""
    present = op_types(model)
    family = family_among(present)
    return family if family is not None and present <= {*_BESIDE.get(family, ()), family} else None


def transcript(subject: Subject, corpus: Corpus, entry: CorpusCase) -> ObservedRecord | None:
    """What a subject makes of a case that it fails; it is run once more to see. None where no deviation can explain it.

    Raises:
        CorpusError: the case is altered.
    """
    if entry.is_invalid or entry.level is Level.SILENT:
        return None
    case = case_in_memory(corpus, entry)
    if family_shown(case.model) is None:
        return None
    observation = observe(subject.target, case)
    return None if observation is None else written(observation)


def written(observation: Observation) -> ObservedRecord | None:
    """An observation as a record; None where it is too large."""
    arrays = [array for outputs in observation.outputs for array in outputs if isinstance(array, np.ndarray)]
    if sum(array.nbytes for array in arrays) > LARGEST:
        return None
    record: ObservedRecord = {
        "outputs": [[_tensor(array) for array in outputs] for outputs in observation.outputs],
        "changed": [list(places) for places in observation.spoiled],
    }
    if observation.ended is not None:
        record["ended"] = observation.ended
    return record


def read(record: ObservedRecord) -> Observation | None:
    """The observation of a record; None where the record's tensors are none."""
    try:
        outputs = tuple(
            tuple(None if tensor is None else decoded(tensor) for tensor in tensors) for tensors in record["outputs"]
        )
    except (KeyError, TypeError, ValueError):
        return None
    return Observation(outputs, tuple(tuple(places) for places in record["changed"]), record.get("ended"))


def _tensor(array: Any) -> ObservedTensor | None:
    """A tensor's record; None of what is none, and of what ONNX has no element type for."""
    if not isinstance(array, np.ndarray | np.generic):
        return None
    try:
        message = encoded("", np.asarray(array))
    except (KeyError, TypeError, ValueError):
        return None
    return {"dtype": message["dtype"], "shape": list(message["shape"]), "data": message["data"]}
