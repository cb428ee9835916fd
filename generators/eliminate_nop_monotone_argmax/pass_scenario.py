"""Builders of the cases of the pass: nodes, graphs, and the expected effect of the pass."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case, CaseKind, PassEffect, Rewrite
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_building import (
    IR_VERSION,
    argmax_shape,
    array_value_info,
    build_model,
    make_value_info,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array


ELEMENTWISE = {"Log": "log", "Exp": "exp", "Sqrt": "sqrt"}
ALONG_AXIS = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}
PASS_OPERATORS = {**ELEMENTWISE, **ALONG_AXIS}
"""Operators that the pass removes, with the name of each in ids and clauses."""

APPLIES = Rewrite(PassEffect.APPLIES, ("Y",), ("Y",))
"""The pass must remove the producer of Y."""
OPTIONAL = Rewrite(PassEffect.OPTIONAL, ("Y",), ("Y",))
"""The pass may remove the producer of Y."""

SHAPE = (2, 3)
"""Default shape of the input X."""


def applies_to(*once: str, then: Sequence[str] = ()) -> Rewrite:
    """Return the expected effect of the pass: it applies, and removes the producers of the given values.

    Args:
        once: values whose producers are removed in one run.
        then: values whose producers are removed in further runs, up to a fixed point.
    """
    return Rewrite(PassEffect.APPLIES, once, (*once, *then))


@dataclass(frozen=True)
class ScenarioGraph:
    """The parts of a case's model and its data. By default, input X is float[2,3], and output `index` is along axis 1.

    Attributes:
        nodes: nodes of the graph.
        feeds: input data for which the rewrite does not change the result. Default: pseudo-random X.
        inputs: declarations of the inputs. Default: the types and shapes of `feeds`.
        outputs: declarations of the outputs. Default: `index`.
        opsets: opset version by domain.
        initializers: constants by name.
        functions: model-local functions.
        value_info: declarations of intermediate values.
        ir_version: IR version of the model.
    """

    nodes: Sequence[onnx.NodeProto]
    feeds: Sequence[Array] = ()
    inputs: Sequence[onnx.ValueInfoProto] = ()
    outputs: Sequence[onnx.ValueInfoProto] = ()
    opsets: Mapping[str, int] = field(default_factory=lambda: {"": 13})
    initializers: Mapping[str, Array] = field(default_factory=dict)
    functions: Sequence[onnx.FunctionProto] = ()
    value_info: Sequence[onnx.ValueInfoProto] = ()
    ir_version: int = IR_VERSION


def scenario(
    family: str,
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    graph: ScenarioGraph,
    *,
    modify: Callable[[onnx.ModelProto], None] | None = None,
    hazards: Sequence[tuple[str, Sequence[Array]]] = (),
    level: Level = Level.MUST,
    check: str = "structure",
    prefix: str | None = None,
) -> Case:
    """Define a case of the pass.

    Args:
        family: name of the family, which is part of the id and a tag.
        name: the last part of the id.
        title: the fact that the case tests.
        clauses: tested clauses without the prefix `monotone.`, the main one first.
        rewrite: expected effect of the pass.
        graph: parts of the model.
        modify: function that changes the model before it is serialised.
        hazards: data sets for which the rewrite changes the result, each with its hazard class.
        level: level of the case.
        check: the check of graph optimizers that the case tests, unless the effect is optional.
        prefix: beginning of the id. Default: `test_argmax_pass` and the family.
    """
    id = f"{prefix or f'test_argmax_pass_{family}'}_{name}"
    feeds = graph.feeds or (permuted_quarters(id, SHAPE, np.float32),)
    inputs = graph.inputs or [array_value_info(*pair) for pair in zip(("X", "X2", "X3"), feeds, strict=False)]
    content = build_model(
        id,
        graph.nodes,
        inputs,
        graph.outputs or [index_info(SHAPE)],
        graph.opsets,
        graph.initializers,
        graph.functions,
        graph.ir_version,
        graph.value_info,
    )
    return Case(
        id=id,
        title=title,
        level=level,
        clauses=tuple(clause if "." in clause else f"monotone.{clause}" for clause in clauses),
        tags=("argmax", CaseKind.PASS, family, type_name(feeds[0].dtype), f"opset_{graph.opsets.get('', 13)}"),
        model=content if modify is None else modify_model(content, modify),
        data_sets=(tuple(feeds), *(tuple(arrays) for _, arrays in hazards)),
        kind=CaseKind.PASS,
        rewrite=with_check(rewrite, check),
        hazards=(None, *(hazard for hazard, _ in hazards)) if hazards else (),
    )


def with_check(rewrite: Rewrite, check: str) -> Rewrite:
    """Return a copy of the expected effect with the name of the check that a case tests.

    An optional effect has no check.
    """
    return rewrite if rewrite.effect is PassEffect.OPTIONAL else replace(rewrite, check=check)


def modify_model(content: bytes, modify: Callable[[onnx.ModelProto], None]) -> bytes:
    """Return a serialised model after applying a change."""
    proto = onnx.load_model_from_string(content)
    modify(proto)
    return bytes(proto.SerializeToString(deterministic=True))


def producer(op_type: str, source: str = "X", result: str = "Y", axis: int = 1, **rest: Any) -> onnx.NodeProto:
    """Return a node of one of the pass's operators. Softmax and LogSoftmax get the axis."""
    along: dict[str, Any] = {"axis": axis} if op_type in ALONG_AXIS else {}
    return helper.make_node(op_type, [source], [result], **along, **rest)


def argmax(
    source: str = "Y", result: str = "index", axis: int = 1, keepdims: int = 0, op_type: str = "ArgMax", **rest: Any
) -> onnx.NodeProto:
    """Return an ArgMax node. By default it reduces and removes the second axis."""
    return helper.make_node(op_type, [source], [result], axis=axis, keepdims=keepdims, **rest)


def pair(op_type: str = "Exp", axis: int = 1, **rest: Any) -> list[onnx.NodeProto]:
    """Return one of the pass's operators followed by ArgMax: X → Y → index."""
    return [producer(op_type, axis=axis), argmax(axis=axis, **rest)]


def index_info(shape: Sequence[int], axis: int = 1, keepdims: int = 0, name: str = "index") -> onnx.ValueInfoProto:
    """Declare ArgMax's output for an input of this shape."""
    return make_value_info(name, "int64", argmax_shape(shape, axis, keepdims))
