"""Values that a subject returned for a case: encode them for a results file, and return them in place of the subject.

A results file with these values can be judged again without the subject, for example with other bounds. An output that
equals its expected value, and a model that a graph optimizer returned unchanged, are stored as the flag `EQUAL`.
"""

from __future__ import annotations

import binascii
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec.structs import asdict

from conformance.exact.models.arrays import have_same_bits
from conformance.exact.models.graphs import copy_of
from conformance.run.results.records import EQUAL, RecordedTensor, ReturnedValues
from conformance.subjects.calling.harness import value_message
from conformance.subjects.isolation.proxies import decode_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case_loading import DataSet, LoadedCase
    from conformance.exact.models.arrays import Array

MAX_RETURNED_BYTES = 2**22
"""Bytes of all outputs of a case up to which they are recorded; a larger case must run again to be judged again."""


class UnusableValues(Exception):
    """Exception for recorded values that do not belong to the case, or that are malformed."""


class OutputRecorder:
    """The outputs of a backend on the data sets of one case, encoded for a results file."""

    def __init__(self) -> None:
        self._outputs: list[list[RecordedTensor | str]] | None = []
        self._size = 0

    def add(self, data_set: DataSet, outputs: Sequence[Any]) -> None:
        """Record the outputs of one data set, before a later run can overwrite them."""
        encoded = [
            EQUAL
            if isinstance(came, np.ndarray | np.generic) and have_same_bits(wanted.expected, np.asarray(came))
            else encode_output(came)
            for wanted, came in zip(data_set.outputs, outputs, strict=True)
        ]
        self._size += sum(_size_of(each) for each in encoded if isinstance(each, RecordedTensor))
        if self._outputs is None or None in encoded or self._size > MAX_RETURNED_BYTES:
            self._outputs = None
        else:
            self._outputs.append([each for each in encoded if each is not None])

    def values(self) -> ReturnedValues | str | None:
        """Return the record: `EQUAL` if every output is as expected; None if an output cannot be recorded."""
        if self._outputs is None:
            return None
        is_equal = all(output == EQUAL for outputs in self._outputs for output in outputs)
        return EQUAL if is_equal else ReturnedValues(outputs=self._outputs)


def encode_output(output: Any) -> RecordedTensor | None:
    """Return an output as a record, or None if it is not a tensor of an ONNX element type."""
    message = value_message(output) if isinstance(output, np.ndarray | np.generic) else None
    if message is None:
        return None
    return RecordedTensor(message["dtype"], list(message["shape"]), message.get("data", ""), message.get("texts"))


def _size_of(record: RecordedTensor) -> int:
    return len(record.data) + sum(len(text) + 3 for text in record.texts or ())


def decode_output(record: RecordedTensor) -> Array:
    """Return a recorded tensor.

    Raises:
        ValueError: the record is malformed; the text is a predicate: "has data that is not base64".
        KeyError: ONNX has no such element type.
    """
    array: Array = decode_value({name: each for name, each in asdict(record).items() if each is not None})
    return array


def encode_models(before: onnx.ModelProto, returned: Sequence[onnx.ModelProto]) -> ReturnedValues | str | None:
    """Return the models that a graph optimizer returned as a record; None if they are too large.

    Args:
        before: the model of the case.
        returned: the model that each run of the optimizer returned, in order.
    """
    unchanged = before.SerializeToString(deterministic=True)
    contents = [model.SerializeToString(deterministic=True) for model in returned]
    if sum(map(len, contents)) > MAX_RETURNED_BYTES:
        return None
    models: list[str] = []
    for content in contents:
        text = EQUAL if content == unchanged else b64encode(content).decode()
        models.append(SAME_AS_BEFORE if models and content == contents[0] and text != EQUAL else text)
    return EQUAL if all(text == EQUAL for text in models) else ReturnedValues(models=models)


SAME_AS_BEFORE = "<"
"""Stands for a model that equals the model of the first run."""


class ReplayedBackend:
    """A backend that returns recorded outputs; it has ONNX's backend interface.

    Args:
        case: the case.
        values: what the subject returned for the case.

    Raises:
        UnusableValues: the values are not the outputs of this case.
    """

    def __init__(self, case: LoadedCase, values: ReturnedValues | str) -> None:
        self._outputs = list(_decode_outputs(case, values))

    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> ReplayedBackend:  # noqa: ARG002
        """Return this object; its next runs return the outputs of the data sets in order."""
        self._next = iter(self._outputs)
        return self

    def prepare_companion(self, model: onnx.ModelProto, device: str = "CPU") -> None:
        """Return None: no companion runs."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:  # noqa: ARG002
        """Return the outputs of the next data set."""
        return next(self._next)


def _decode_outputs(case: LoadedCase, values: ReturnedValues | str) -> Iterator[list[Array]]:
    """Yield the outputs of each data set.

    Raises:
        UnusableValues: the values are not the outputs of this case.
    """
    data_sets = list(case.data_sets())
    recorded = [[EQUAL] * len(each.outputs) for each in data_sets] if values == EQUAL else _outputs_of(values)
    if [len(outputs) for outputs in recorded] != [len(each.outputs) for each in data_sets]:
        raise UnusableValues("The number of outputs is another one.")
    for data_set, outputs in zip(data_sets, recorded, strict=True):
        yield [
            wanted.expected.copy() if isinstance(output, str) else _decode_output(output)
            for wanted, output in zip(data_set.outputs, outputs, strict=True)
        ]


def _outputs_of(values: ReturnedValues | str) -> Sequence[Sequence[RecordedTensor | str]]:
    if isinstance(values, str) or values.outputs is None:
        raise UnusableValues("The record has no outputs.")
    return values.outputs


def _decode_output(record: RecordedTensor) -> Array:
    try:
        return decode_output(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UnusableValues(f"An output {error}.") from None


def replayed_optimizer(before: onnx.ModelProto, values: ReturnedValues | str, runs: int) -> Any:
    """Return a graph optimizer that returns recorded models; it has the parameter `fixed_point` for two runs.

    Args:
        before: the model of the case.
        values: what the subject returned for the case.
        runs: the number of runs.

    Raises:
        UnusableValues: the values are not models.
    """
    texts = [EQUAL] * runs if isinstance(values, str) else values.models or []
    if len(texts) != runs:
        raise UnusableValues("The number of models is another one.")
    models = iter([_decode_model(before, texts[0] if text == SAME_AS_BEFORE else text) for text in texts])

    def optimize(model: onnx.ModelProto) -> onnx.ModelProto:  # noqa: ARG001
        return next(models)

    def optimize_to(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
        return next(models)

    return optimize if runs == 1 else optimize_to


def _decode_model(before: onnx.ModelProto, text: str) -> onnx.ModelProto:
    if text == EQUAL:
        return copy_of(before)
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(binascii.a2b_base64(text, strict_mode=True))
    except (binascii.Error, DecodeError, ValueError) as error:
        raise UnusableValues(f"A model cannot be read: {error}.") from None
    return model
