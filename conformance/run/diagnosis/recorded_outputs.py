"""Record the behaviour of a backend on a case, and compare two records.

An `Observation` is such a record: outputs, changed inputs and errors. `observe` runs a case and returns its
observation. `are_equivalent` compares two observations apart from rounding. `observation_to_record` converts an
observation for the results file, so that a run can be diagnosed later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.exact.models import arrays
from conformance.exact.models.arrays import copy_of_value, value_byte_count, value_bytes
from conformance.run.judging.compare import is_acceptable, overwritten_inputs
from conformance.run.judging.returned import decode_output, encode_output
from conformance.run.mutants import family_of_operators, model_family, op_types
from conformance.run.results.records import RecordedOutputs
from conformance.subjects.calling.request import CaseEnded, call_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import onnx

    from conformance.corpus.cases.case_loading import CaseInMemory, DataSet, ExpectedTensor
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.subjects.calling.subject_names import Subject


Output: TypeAlias = "tuple[int, int]"
"""The number of a run of a case, and the number of an output of the run."""

Part: TypeAlias = "int | Output"
"""The number of a run of a case, or an output of a run."""

EXTRA_ROUNDINGS = 16
"""Units of roundoff, in addition to the bound, by which two evaluations of one wrong formula may differ."""


@dataclass(frozen=True)
class Observation:
    """The behaviour of a backend on a case.

    Attributes:
        outputs: the outputs of each data set's run, up to the first error.
        changed_inputs: for each data set, the indices of the input arrays that the run modified.
        error: the phase and the text of the error that ended the runs, or None. Two errors are equivalent only if
            equal.
    """

    outputs: tuple[tuple[Any, ...], ...]
    changed_inputs: tuple[tuple[int, ...], ...]
    error: str | None = None


def observe(backend: Any, case: CaseInMemory, like: Observation | None = None) -> Observation | None:
    """Run a case on a backend and return the observation, or None if the backend does not support the case.

    Args:
        like: another observation of the case, or None. If it is given, the function stops and returns None at the first
            data set with outputs that are not equivalent to it.
    """
    outputs: list[tuple[Any, ...]] = []
    changed: list[tuple[int, ...]] = []
    model = case.fresh_model()
    try:
        prepared = call_subject("load", lambda: backend.prepare(model, "CPU"))
        for number, data_set in enumerate(case.data_sets()):
            before = list(map(value_bytes, data_set.inputs))
            came = call_subject("run", partial(_run, prepared, data_set))
            outputs.append(tuple(map(copy_of_value, came)))
            changed.append(tuple(overwritten_inputs(data_set.inputs, before)))
            if like is not None and not _is_alike(like, number, data_set, outputs[-1]):
                return None
    except CaseEnded as ended:
        is_unsupported = ended.verdict is Verdict.UNSUPPORTED
        error = f"{ended.phase}: {ended.message}"
        return None if is_unsupported else Observation(tuple(outputs), tuple(changed), error)
    return Observation(tuple(outputs), tuple(changed))


def _run(prepared: Any, data_set: DataSet) -> tuple[Any, ...]:
    return tuple(prepared.run(list(data_set.inputs)))


def are_equivalent(one: Observation, other: Observation, case: CaseInMemory) -> bool:
    """Return whether two observations of a case differ by rounding at most."""
    if (one.error, one.changed_inputs, len(one.outputs)) != (other.error, other.changed_inputs, len(other.outputs)):
        return False
    return not any(True for _ in differing_outputs(one, other, case))


def wrong_outputs(observation: Observation, case: CaseInMemory) -> Iterator[Output]:
    """Yield the outputs that are wrong; all outputs of a run if their number is wrong."""
    return _outputs_without(is_acceptable, case, observation)


def differing_outputs(one: Observation, other: Observation, case: CaseInMemory) -> Iterator[Output]:
    """Yield the outputs that differ by more than rounding; all outputs of a run if their number is wrong."""
    return _outputs_without(_is_output_equivalent, case, one, other)


def _outputs_without(holds: Callable[..., bool], case: CaseInMemory, *observations: Observation) -> Iterator[Output]:
    """Yield the outputs for which a relation between the expected and the observed values does not hold."""
    runs = zip(case.held, *(one.outputs for one in observations), strict=False)
    for run, (data_set, *values) in enumerate(runs):
        for output in _numbers_without(holds, data_set, *values):
            yield run, output


def _numbers_without(holds: Callable[..., bool], data_set: DataSet, *values: Sequence[Any]) -> Iterator[int]:
    """Yield the numbers of the outputs of one run for which a relation does not hold."""
    is_complete = all(len(outputs) == len(data_set.outputs) for outputs in values)
    for number, expected in enumerate(data_set.outputs):
        if not is_complete or not holds(expected, *(outputs[number] for outputs in values)):
            yield number


def wrong_parts(subject: Observation, case: CaseInMemory) -> frozenset[Part]:
    """Return the parts of a case that a subject which fails it has wrong.

    If an error, a changed input or a missing run is part of the failure, all parts count as wrong.
    """
    is_whole = _fails_as_a_whole(subject, case)
    return _parts(case, _all_outputs(case) if is_whole else wrong_outputs(subject, case))


def differing_parts(mutant: Observation, subject: Observation, case: CaseInMemory) -> frozenset[Part]:
    """Return the parts of a case in which a mutant and a subject differ by more than rounding.

    If an error, a changed input or a missing run is part of a failure, the result is all or none of the parts.
    """
    if _fails_as_a_whole(mutant, case) or _fails_as_a_whole(subject, case):
        return frozenset() if are_equivalent(mutant, subject, case) else _parts(case, _all_outputs(case))
    return _parts(case, differing_outputs(mutant, subject, case))


def _parts(case: CaseInMemory, outputs: Iterable[Output]) -> frozenset[Part]:
    """Return the parts of a case that contain the outputs.

    A part is a run. If the main graph has several nodes of one operator, a part is an output of a run, because the
    subject may have a mistake in some of the nodes. Nodes in a function do not count: they compute its operator.
    """
    is_repeated = max(Counter(node.op_type for node in case.model.graph.node).values(), default=0) > 1
    return frozenset(outputs) if is_repeated else frozenset(run for run, _ in outputs)


def _all_outputs(case: CaseInMemory) -> Iterator[Output]:
    return ((run, output) for run, data_set in enumerate(case.held) for output in range(len(data_set.outputs)))


def _is_alike(observation: Observation, number: int, data_set: DataSet, outputs: Sequence[Any]) -> bool:
    """Return whether the outputs of one data set differ from those of an observation by rounding at most."""
    if number >= len(observation.outputs):
        return False
    differing = _numbers_without(_is_output_equivalent, data_set, outputs, observation.outputs[number])
    return not any(True for _ in differing)


def is_failure(observation: Observation, case: CaseInMemory) -> bool:
    """Return whether a backend with this behaviour fails the case."""
    return _fails_as_a_whole(observation, case) or any(True for _ in wrong_outputs(observation, case))


def _fails_as_a_whole(observation: Observation, case: CaseInMemory) -> bool:
    """Return whether an error, a changed input or a missing run is part of a failure."""
    return bool(observation.error) or any(observation.changed_inputs) or len(observation.outputs) != len(case.held)


def _is_output_equivalent(expected: ExpectedTensor, one: Any, other: Any) -> bool:
    """Return whether two outputs, which may both be wrong, can be evaluations of the same formula.

    They may differ by the bound and several roundings.
    """
    if not (isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic)):
        return False
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    a = np.asarray(one)
    b = np.asarray(other)
    is_equal = a == b
    if expected.bound is None and a.dtype.kind in "fV":
        is_equal &= np.signbit(a) == np.signbit(b)
    differs = ~(is_equal | ((a != a) & (b != b)))  # noqa: PLR0124
    if expected.bound is None or not differs.any():
        return not differs.any()
    a, b = a[differs].astype(np.float64), b[differs].astype(np.float64)
    format = arrays.FLOAT_FORMATS["float" if expected.expected.dtype == np.float32 else "double"]
    with np.errstate(all="ignore"):
        distance = np.abs(a - b)
        room = EXTRA_ROUNDINGS * float(format.unit_roundoff) * np.maximum(np.abs(a), np.abs(b))
    if expected.bound.shape == differs.shape and np.isfinite(expected.bound).all():
        room += expected.bound[differs]
    return bool((np.isfinite(distance) & (distance <= room)).all())


MAX_RECORDED_BYTES = 256 * 1024
"""Bytes of all outputs of a case up to which they are recorded. Larger cases are not diagnosed."""

OPERATORS_NEXT_TO_FAMILY = {"ArgMax": ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax", "Relu", "Concat")}
"""By family: the other operators that a model of the family may contain."""


def evidence_family(model: onnx.ModelProto) -> str | None:
    """Return the operator family to which a failure of the model is attributed, or None.

    It is None if the model contains other operators that could be at fault.
    """
    present = op_types(model)
    family = family_of_operators(present)
    return family if family is not None and present <= {*OPERATORS_NEXT_TO_FAMILY.get(family, ()), family} else None


def record_outputs(subject: Subject, corpus: Corpus, entry: CorpusCase) -> RecordedOutputs | None:
    """Run a failing case again and return the recorded outputs of the subject.

    Return None if mutants cannot explain the case, because its operator has none.

    Raises:
        CorpusError: a file of the case was changed.
    """
    if entry.is_invalid or entry.level is Level.SILENT:
        return None
    case = load_case_in_memory(corpus, entry)
    if model_family(case.model) is None:
        return None
    observation = observe(subject.target, case)
    return None if observation is None else observation_to_record(observation)


def observation_to_record(observation: Observation) -> RecordedOutputs | None:
    """Return an observation as a record of the results file, or None if it is too large."""
    if sum(value_byte_count(value) for outputs in observation.outputs for value in outputs) > MAX_RECORDED_BYTES:
        return None
    return RecordedOutputs(
        [[encode_output(array) for array in outputs] for outputs in observation.outputs],
        [list(places) for places in observation.changed_inputs],
        observation.error,
    )


def observation_from_record(record: RecordedOutputs) -> Observation | None:
    """Read an observation from a record, or return None if a tensor in it is malformed."""
    try:
        outputs = tuple(
            tuple(None if tensor is None else decode_output(tensor) for tensor in tensors) for tensors in record.outputs
        )
    except (KeyError, TypeError, ValueError):
        return None
    return Observation(outputs, tuple(tuple(places) for places in record.changed), record.ended)
