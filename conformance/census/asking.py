"""A subject as a census asks it: one operator of one type at a time, on arrays of any length."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.census.scale import SCALES
from conformance.errors import SubjectError
from conformance.generation.models import declared_as, model
from conformance.isolation.limits import Limits
from conformance.isolation.starting import StartingSubjects, host_of
from conformance.subjects.failures import is_unsupported, told
from conformance.subjects.naming import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.models.arrays import Array
    from conformance.subjects.loading import Subject

OPSET = 13


class NoAnswer(Exception):
    """A subject gave no array of the right type and shape.

    Attributes:
        is_refusal: whether it says that it has no such operator or type.
    """

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal


@cache
def one_node(operator: str, type: str, length: int = 0, select_last_index: int = 0) -> onnx.ModelProto:
    """A model of one operator: of a vector, or of rows of a length for those that look along an axis."""
    row = length > 0
    attributes: dict[str, Any] = {"axis": 1} if row else {}
    if operator == "ArgMax":
        attributes |= {"keepdims": 0, "select_last_index": select_last_index}
    node = helper.make_node(operator, ["X"], ["Y"], **attributes)
    shape: list[Any] = ["N", length] if row else ["N"]
    output = declared_as("Y", "int64", ["N"]) if operator == "ArgMax" else declared_as("Y", type, shape)
    content = model(f"census_{operator}_{type}", [node], [declared_as("X", type, shape)], [output], {"": OPSET})
    read: onnx.ModelProto = onnx.ModelProto.FromString(content)
    return read


@dataclass
class Asked:
    """A subject that is open.

    Attributes:
        subject: the subject, in a process of its own or in this one.
        prepared: the model that it has loaded, by operator, type, length of rows and `select_last_index`.
    """

    subject: Subject
    prepared: tuple[tuple[str, str, int, int], Any] | None = None

    def answer(self, operator: str, X: Array, type: str, select_last_index: int = 0) -> Array:
        """What the subject gives for an input.

        Raises:
            NoAnswer: it is no array of the right type and shape.
        """
        asked = (operator, type, X.shape[1] if X.ndim > 1 else 0, select_last_index)
        dtype = np.dtype(np.int64) if operator == "ArgMax" else SCALES[type].dtype
        shape = X.shape[:1] if operator == "ArgMax" else X.shape
        host = host_of(self.subject)
        try:
            if host is not None:
                host.begin_case()  # each piece has its own time
            if self.prepared is None or self.prepared[0] != asked:
                self.prepared = None
                self.prepared = asked, self.subject.target.prepare(one_node(*asked), "CPU")
            outputs = self.prepared[1].run([X])
        except Exception as error:  # noqa: BLE001 - whatever a runtime raises
            self.prepared = None
            raise NoAnswer(told(error), is_refusal=is_unsupported(error)) from None
        if not isinstance(outputs, list | tuple) or len(outputs) != 1 or not hasattr(outputs[0], "dtype"):
            raise NoAnswer("gives no single tensor")
        Y: Array = outputs[0]
        if (Y.dtype, Y.shape) != (dtype, shape):
            raise NoAnswer(f"gives {Y.dtype} of shape {list(Y.shape)} for {dtype} of shape {list(shape)}")
        return Y


def has_files(subject: Subject) -> bool:
    """Whether a subject is given arrays as they are: it is in this process, or its harness reads and writes files."""
    host = host_of(subject)
    return host is None or host.introduced().files


@contextmanager
def asking(name: str, timeout: float, version: str | None = None, *, in_process: bool = False) -> Iterator[Asked]:
    """A backend that is ready to be asked, as long as it is.

    Args:
        name: what names it.
        timeout: seconds for each piece.
        version: which one it has to be.
        in_process: whether a subject in Python runs in this process.

    Raises:
        ConformanceError: it is not here, or another one.
    """
    named = SubjectName.of(name, SubjectKind.BACKEND)
    (subject,) = StartingSubjects([named], Limits(timeout=timeout), {}, in_process=in_process).subjects()
    host = host_of(subject)
    try:
        if host is not None and host.introduced().failure:
            raise SubjectError(f"{name} did not start: {host.introduced().failure}.", "Start it by hand.")
        if version is not None and subject.version != version:
            raise SubjectError(
                f"{name} is of version {subject.version} here, and {version} where the census was begun.",
                "Install the same.",
            )
        yield Asked(subject)
    finally:
        if host is not None:
            host.stop()
