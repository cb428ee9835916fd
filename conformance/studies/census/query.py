"""Queries of a census: a query runs a model with a single node on an array of any length."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import SubjectError
from conformance.exact.models.model_building import build_model, make_value_info
from conformance.own.graphs.intermediate_values import SubjectRefused
from conformance.studies.census.float_ordinals import FLOAT_TYPES
from conformance.subjects.calling.request import CaseEnded, call_running_subject, suite_code
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import client_of, started_subjects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exact.models.arrays import Array
    from conformance.subjects.calling.subject_names import Subject


CENSUS_OPSET = 13


class NodeQuery(NamedTuple):
    """The node and the input of a query.

    Attributes:
        operator: ONNX op type. ArgMax, Softmax and LogSoftmax receive rows.
        type: element type of the input.
        shape: shape of the input; None for a dimension of any size.
        select_last_index: attribute of ArgMax.
    """

    operator: str
    type: str
    shape: tuple[int | None, ...]
    select_last_index: int = 0


@cache
def one_node_model(query: NodeQuery) -> onnx.ModelProto:
    """Return a model with the node of a query."""
    shape = ["N" if size is None else size for size in query.shape]
    attributes: dict[str, Any] = {"axis": 1} if len(shape) > 1 else {}
    output = make_value_info("Y", query.type, shape)
    if query.operator == "ArgMax":
        attributes |= {"keepdims": 0, "select_last_index": query.select_last_index}
        output = make_value_info("Y", "int64", shape[:1])
    node = helper.make_node(query.operator, ["X"], ["Y"], **attributes)
    name = f"census_{query.operator}_{query.type}"
    content = build_model(name, [node], [make_value_info("X", query.type, shape)], [output], {"": CENSUS_OPSET})
    read: onnx.ModelProto = onnx.ModelProto.FromString(content)
    return read


@dataclass
class QueryClient:
    """Sends queries to a subject.

    Attributes:
        subject: the subject, in its own process or in this one.
        prepared: the loaded models. At most two are kept: the first model of the current operator, and the latest one.
        is_fixed: whether models must have only fixed dimensions, because the subject failed with a dynamic dimension.
    """

    subject: Subject
    prepared: dict[NodeQuery, Any] = field(default_factory=dict)
    is_fixed: bool = False

    def query(self, operator: str, X: Array, type: str, select_last_index: int = 0) -> Array:
        """Return the subject's output for an input.

        Raises:
            SubjectRefused: the subject fails, or the output has the wrong type or shape.
        """
        opened = NodeQuery(operator, type, (None, *X.shape[1:]), select_last_index)
        fixed = NodeQuery(operator, type, X.shape, select_last_index)
        if self.is_fixed:
            return self._query(fixed, X)
        try:
            return self._query(opened, X)
        except SubjectRefused:
            Y = self._query(fixed, X)
            self.is_fixed = True
            return Y

    def _query(self, node: NodeQuery, X: Array) -> Array:
        """Return the subject's output for an input of a node.

        Raises:
            SubjectRefused: the subject fails, or the output has the wrong type or shape.
            StorageError, SubjectError, SuiteFault: the subject did not answer; see `call_running_subject`.
        """
        dtype = np.dtype(np.int64) if node.operator == "ArgMax" else FLOAT_TYPES[node.type].dtype
        shape = X.shape[:1] if node.operator == "ArgMax" else X.shape
        try:
            outputs = call_running_subject(self.subject.id, "run", lambda: self._run(node, X))
        except CaseEnded as ended:
            self.prepared = {}
            raise SubjectRefused(ended.message, ended.verdict) from None
        if not isinstance(outputs, list | tuple) or len(outputs) != 1 or not hasattr(outputs[0], "dtype"):
            raise SubjectRefused("returns something other than one tensor")
        Y: Array = outputs[0]
        if (Y.dtype, Y.shape) != (dtype, shape):
            raise SubjectRefused(
                f"returns {Y.dtype} of shape {list(Y.shape)} instead of {dtype} of shape {list(shape)}"
            )
        return Y

    def _run(self, node: NodeQuery, X: Array) -> Any:
        client = client_of(self.subject)
        if client is not None:
            with suite_code():
                client.begin_case()  # the time limit is that of one query
        return self._prepared(node).run([X])

    def _prepared(self, node: NodeQuery) -> Any:
        """Return the loaded model for a node; it is loaded if it is not among the kept models."""
        if node not in self.prepared:
            with suite_code():
                model = one_node_model(node)
            first = next(iter(self.prepared), None)
            target = self.subject.target
            if first is None or first._replace(shape=node.shape) != node:
                self.prepared = {}
                self.prepared = {node: target.prepare(model, "CPU")}
            else:
                prepare = getattr(target, "prepare_companion", target.prepare)
                self.prepared = {first: self.prepared[first]}
                self.prepared[node] = prepare(model, "CPU")
        return self.prepared[node]


def transfers_files(subject: Subject) -> bool:
    """Return whether a subject receives arrays directly or in files; otherwise messages contain them in base64."""
    client = client_of(subject)
    return client is None or client.info().files


@contextmanager
def open_client(
    name: str, timeout: float, version: str | None = None, *, in_process: bool = False
) -> Iterator[QueryClient]:
    """Start a backend, yield a query client for it, and stop it on exit.

    Args:
        name: name of the backend.
        timeout: time limit of a query, in seconds.
        version: version that the backend must have; None for any version.
        in_process: whether a subject written in Python runs in this process.

    Raises:
        ConformanceError: the backend does not exist, does not start, or has another version.
    """
    named = SubjectName.parse(name, SubjectKind.BACKEND)
    with started_subjects([named], Limits(timeout), no_isolation=in_process) as (subject,):
        client = client_of(subject)
        if client is not None and client.info().failure:
            raise SubjectError("not-started.census", name=name, reason=client.info().failure)
        if version is not None and subject.version != version:
            raise SubjectError("other-subject-version", name=name, version=subject.version, expected=version)
        yield QueryClient(subject)
