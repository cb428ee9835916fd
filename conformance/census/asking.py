"""A subject as a census asks it: one operator of one type at a time, on arrays of any length."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

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


class Node(NamedTuple):
    """What a subject is asked for: an operator with its attribute and its input.

    Attributes:
        operator: its name; those that look along an axis are given rows.
        type: the input's.
        shape: the input's; None where a dimension is open.
        select_last_index: ArgMax's attribute.
    """

    operator: str
    type: str
    shape: tuple[int | None, ...]
    select_last_index: int = 0


@cache
def one_node(asked: Node) -> onnx.ModelProto:
    """A model of one node."""
    shape = ["N" if size is None else size for size in asked.shape]
    attributes: dict[str, Any] = {"axis": 1} if len(shape) > 1 else {}
    output = declared_as("Y", asked.type, shape)
    if asked.operator == "ArgMax":
        attributes |= {"keepdims": 0, "select_last_index": asked.select_last_index}
        output = declared_as("Y", "int64", shape[:1])
    node = helper.make_node(asked.operator, ["X"], ["Y"], **attributes)
    name = f"census_{asked.operator}_{asked.type}"
    content = model(name, [node], [declared_as("X", asked.type, shape)], [output], {"": OPSET})
    read: onnx.ModelProto = onnx.ModelProto.FromString(content)
    return read


@dataclass
class Asked:
    """A subject that is open.

    Attributes:
        subject: the subject, in a process of its own or in this one.
        prepared: the models that it has loaded: the one that was asked for first, and the last one.
        is_fixed: whether it is given models whose dimensions are all fixed, as it has no others, or each for one size.
    """

    subject: Subject
    prepared: dict[Node, Any] = field(default_factory=dict)
    is_fixed: bool = False

    def answer(self, operator: str, X: Array, type: str, select_last_index: int = 0) -> Array:
        """What the subject gives for an input.

        Raises:
            NoAnswer: it is no array of the right type and shape.
        """
        opened = Node(operator, type, (None, *X.shape[1:]), select_last_index)
        fixed = Node(operator, type, X.shape, select_last_index)
        if self.is_fixed:
            return self._answer(fixed, X)
        try:
            return self._answer(opened, X)
        except NoAnswer:
            Y = self._answer(fixed, X)
            self.is_fixed = True
            return Y

    def _answer(self, node: Node, X: Array) -> Array:
        """What the subject gives for an input of a node.

        Raises:
            NoAnswer: it is no array of the right type and shape.
        """
        dtype = np.dtype(np.int64) if node.operator == "ArgMax" else SCALES[node.type].dtype
        shape = X.shape[:1] if node.operator == "ArgMax" else X.shape
        host = host_of(self.subject)
        try:
            if host is not None:
                host.begin_case()  # each input has its own time
            outputs = self._prepared(node).run([X])
        except Exception as error:  # noqa: BLE001 - whatever a runtime raises
            self.prepared = {}
            raise NoAnswer(told(error), is_refusal=is_unsupported(error)) from None
        if not isinstance(outputs, list | tuple) or len(outputs) != 1 or not hasattr(outputs[0], "dtype"):
            raise NoAnswer("gives no single tensor")
        Y: Array = outputs[0]
        if (Y.dtype, Y.shape) != (dtype, shape):
            raise NoAnswer(f"gives {Y.dtype} of shape {list(Y.shape)} for {dtype} of shape {list(shape)}")
        return Y

    def _prepared(self, node: Node) -> Any:
        """The model of a node, loaded; two that differ in sizes alone are loaded at a time."""
        if node not in self.prepared:
            first = next(iter(self.prepared), None)
            target = self.subject.target
            if first is None or first._replace(shape=node.shape) != node:
                self.prepared = {}
                self.prepared = {node: target.prepare(one_node(node), "CPU")}
            else:
                beside = getattr(target, "prepare_beside", target.prepare)
                self.prepared = {first: self.prepared[first]}
                self.prepared[node] = beside(one_node(node), "CPU")
        return self.prepared[node]


def has_files(subject: Subject) -> bool:
    """Whether a subject is given arrays as they are: it is in this process, or its harness reads and writes files."""
    host = host_of(subject)
    return host is None or host.introduced().files


@contextmanager
def asking(name: str, timeout: float, version: str | None = None, *, in_process: bool = False) -> Iterator[Asked]:
    """A backend that is ready to be asked, as long as it is.

    Args:
        name: what names it.
        timeout: seconds for each input.
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
