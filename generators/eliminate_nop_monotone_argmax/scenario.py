"""What the scenarios of the pass share: a graph around ArgMax, and what the pass must do with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.corpus.case import Case, CaseKind, Firing, Rewrite
from conformance.generation.models import IR_VERSION, argmax_shape, declared, declared_as, model
from conformance.generation.values import ranked
from conformance.models.arrays import type_name
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array

ELEMENTWISE = {"Log": "log", "Exp": "exp", "Sqrt": "sqrt"}
ALONG_AXIS = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}
FIVE = {**ELEMENTWISE, **ALONG_AXIS}
"""The operators that the pass takes away, with the word for each in ids and clauses."""

STAYS = Rewrite(Firing.STAYS)
FIRES = Rewrite(Firing.FIRES, ("Y",), ("Y",))
"""The pass takes away what gives Y."""
MAY = Rewrite(Firing.MAY, ("Y",), ("Y",))
"""It may take away what gives Y."""

SHAPE = (2, 3)


def fires(*once: str, then: Sequence[str] = ()) -> Rewrite:
    """The pass takes away what gives these values, and after several runs also what gives others."""
    return Rewrite(Firing.FIRES, once, (*once, *then))


@dataclass(frozen=True)
class ScenarioGraph:
    """The parts of a scenario's model; by default X of shape [2, 3] and float goes in and index comes out of axis 1.

    Attributes:
        inputs: declared as the arrays of `feeds` are, where not given.
        feeds: the safe data set.
    """

    nodes: Sequence[onnx.NodeProto]
    feeds: Sequence[Array] = ()
    inputs: Sequence[onnx.ValueInfoProto] = ()
    outputs: Sequence[onnx.ValueInfoProto] = ()
    opsets: Mapping[str, int] = field(default_factory=lambda: {"": 13})
    initializers: Mapping[str, Array] = field(default_factory=dict)
    functions: Sequence[onnx.FunctionProto] = ()
    value_info: Sequence[onnx.ValueInfoProto] = ()
    sparse: Sequence[onnx.SparseTensorProto] = ()
    ir_version: int = IR_VERSION


def scenario(
    family: str,
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    graph: ScenarioGraph,
    *,
    touch: Callable[[onnx.ModelProto], None] | None = None,
    hazards: Sequence[tuple[str, Sequence[Array]]] = (),
    level: Level = Level.MUST,
    check: str = "structure",
) -> Case:
    """A case of the pass.

    Args:
        family: the family of scenarios that it is of, a word of its id and its tag.
        clauses: without their prefix, the chief one first.
        touch: changes the model before it is serialised.
        hazards: data sets on which the rewrite changes the answer, each with its class.
        check: the check of graph optimizers that it is about, where the pass has no choice.
    """
    id = f"test_argmax_pass_{family}_{name}"
    feeds = graph.feeds or (ranked(id, SHAPE, np.float32),)
    inputs = graph.inputs or [declared(*pair) for pair in zip(("X", "X2", "X3"), feeds, strict=False)]
    content = model(
        id,
        graph.nodes,
        inputs,
        graph.outputs or [index_of(SHAPE)],
        graph.opsets,
        graph.initializers,
        graph.functions,
        graph.ir_version,
        graph.value_info,
        graph.sparse,
    )
    return Case(
        id=id,
        title=title,
        level=level,
        clauses=tuple(clause if "." in clause else f"monotone.{clause}" for clause in clauses),
        tags=("argmax", CaseKind.PASS, family, type_name(feeds[0].dtype), f"opset_{graph.opsets.get('', 13)}"),
        model=content if touch is None else touched(content, touch),
        data_sets=(tuple(feeds), *(tuple(arrays) for _, arrays in hazards)),
        kind=CaseKind.PASS,
        rewrite=about(rewrite, check),
        hazards=(None, *(hazard for hazard, _ in hazards)) if hazards else (),
    )


def about(rewrite: Rewrite, check: str) -> Rewrite:
    """What the pass must do, with the check that a case of it is about; a pass that may do either has none."""
    return rewrite if rewrite.answer is Firing.MAY else replace(rewrite, check=check)


def touched(content: bytes, touch: Callable[[onnx.ModelProto], None]) -> bytes:
    """A serialised model after a change."""
    proto = onnx.load_model_from_string(content)
    touch(proto)
    return bytes(proto.SerializeToString(deterministic=True))


def producer(op_type: str, source: str = "X", result: str = "Y", axis: int = 1, **rest: Any) -> onnx.NodeProto:
    """One of the operators, along an axis if it has one."""
    along: dict[str, Any] = {"axis": axis} if op_type in ALONG_AXIS else {}
    return helper.make_node(op_type, [source], [result], **along, **rest)


def argmax(
    source: str = "Y", result: str = "index", axis: int = 1, keepdims: int = 0, op_type: str = "ArgMax", **rest: Any
) -> onnx.NodeProto:
    """ArgMax along the second axis, which is removed."""
    return helper.make_node(op_type, [source], [result], axis=axis, keepdims=keepdims, **rest)


def pair(op_type: str = "Exp", axis: int = 1, **rest: Any) -> list[onnx.NodeProto]:
    """One of the operators and ArgMax after it: X → Y → index."""
    return [producer(op_type, axis=axis), argmax(axis=axis, **rest)]


def index_of(shape: Sequence[int], axis: int = 1, keepdims: int = 0, name: str = "index") -> onnx.ValueInfoProto:
    """ArgMax's output for data of this shape."""
    return declared_as(name, "int64", argmax_shape(shape, axis, keepdims))
