"""Evaluation of a model's graph in any number system.

`Graph.from_model` resolves functions, subgraphs and attributes once. The graph can then be evaluated for any inputs, in
any `NumberSystem`. The result depends only on the model and the inputs, not on the generator that made them.
"""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx.backend.base import BackendRep

from conformance.base.verdicts import Unsupported
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    FunctionName,
    call_expansion_problem,
    called_name,
    count_free_uses,
    function_name,
)
from conformance.exact.models.input_files import initializer_arrays, required_input_names
from conformance.exact.reference.nodes import (
    Evaluation,
    Node,
    attribute_values,
    call_attributes,
    check_operands,
    resolve_references,
)
from conformance.exact.reference.numbers.number_system import ABSENT, NumberSystem, Value
from conformance.exact.reference.operators import LATER_FORMS, OPERATORS
from conformance.exact.reference.operators.control_flow import CONTROL_FLOW, Body, ControlFlow, all_captures
from conformance.exact.reference.operators.sequences import make_sequence
from conformance.exact.reference.operators.training_optimizers import evaluate_optimizer, find_training_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    import onnx

    from conformance.exact.models.arrays import Array

    EvaluationChoice: TypeAlias = "Callable[[Node, Evaluation, tuple[str, ...]], Evaluation]"


@dataclass(frozen=True)
class Graph:
    """A graph, or the body of a function, that can be evaluated.

    Attributes:
        required_inputs: the names of the inputs without an initializer.
        outputs: the names of the outputs.
        nodes: the nodes, each with its evaluation, in the model's order, which ONNX requires to be topological.
        initializers: the initializers by name.
        all_inputs: the names of all inputs, including those with an initializer.
    """

    required_inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[tuple[Node, Evaluation], ...]
    initializers: Mapping[str, Array] = field(default_factory=dict)
    all_inputs: tuple[str, ...] = ()

    @classmethod
    def from_model(cls, model: onnx.ModelProto) -> Graph:
        """Read a model.

        Raises:
            Unsupported: the model has other operators or external tensors, or its functions call each other endlessly
                or expand to too many nodes.
        """
        if (fault := call_expansion_problem(model)) is not None:
            raise Unsupported(fault)
        functions = {function_name(function): function for function in model.functions}
        return _Scope.from_imports(model.opset_import, functions).graph(model.graph)

    def with_evaluations(self, choose: EvaluationChoice, enclosing: tuple[str, ...] = ()) -> Graph:
        """Return the graph with other evaluations of its nodes, and with copies of its constants.

        Args:
            choose: returns the evaluation of each node. It takes the node, its evaluation, and the scopes that enclose
                the node, from the main graph inwards: the op_type of each node whose subgraph contains it, and
                `function` for each call of a function.
            enclosing: the scopes that enclose this graph.
        """
        nodes = []
        for node, evaluation in self.nodes:
            inner = _with_evaluations_inside(node, evaluation, choose, enclosing)
            own = replace(node, attributes=_with_copies(node.attributes)) if node.op_type == "Constant" else node
            nodes.append((own, choose(own, inner, enclosing)))
        return replace(self, nodes=tuple(nodes), initializers=_with_copies(self.initializers))

    def run(self, inputs: Sequence[Array], system: NumberSystem) -> list[Value]:
        """Return the outputs for inputs given as arrays; a list stands for a sequence, None for an empty optional.

        Raises:
            Unsupported: the number of inputs is wrong, or a node cannot be evaluated.
        """
        token = _evaluated.set([0])
        try:
            return self.evaluate([_to_value(array, system) for array in inputs], system)
        finally:
            _evaluated.reset(token)

    def evaluate(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """Return the outputs for inputs that are already tensors of the number system.

        Raises:
            Unsupported: the number of inputs is wrong, or a node cannot be evaluated.
        """
        names = self.all_inputs if len(inputs) == len(self.all_inputs) else self.required_inputs
        if len(inputs) != len(names):
            raise Unsupported(f"the graph has {len(names)} inputs, not {len(inputs)}")
        count = _evaluated.get([0])
        count[0] += len(self.nodes)
        if count[0] > MAX_EVALUATED_NODES:
            raise Unsupported(f"its subgraphs evaluate more than {MAX_EVALUATED_NODES:,} nodes")
        values = {name: system.from_array(array) for name, array in self.initializers.items()}
        values.update(zip(names, inputs, strict=True))
        try:
            for node, evaluation in self.nodes:
                operands = [values[name] if name else ABSENT for name in node.inputs]
                if type(system) is not NumberSystem:  # whose elements are no objects
                    _check_output_size(node, operands)
                results = evaluation(node, operands, system)
                values.update(zip(node.outputs, results, strict=False))
            return [values[name] for name in self.outputs]
        except KeyError as error:
            raise Unsupported(f"no node computes the value {error}") from error


MAX_EVALUATED_NODES = 2**16
"""Maximum number of nodes that a run evaluates, those of subgraphs as often as they run. A step of a Loop costs little,
so that nested Loops would run for years."""

_evaluated: ContextVar[list[int]] = ContextVar("_evaluated")
"""The number of nodes that the current run has evaluated."""

MAX_EXACT_ELEMENTS = 2**23
"""Maximum number of elements of an output that is computed exactly; each is an object that takes 100 bytes."""


def _check_output_size(node: Node, operands: Sequence[Value]) -> None:
    """Check the size of the output of a node whose output can be far larger than its operands.

    Raises:
        Unsupported: it is too large.
    """
    given = [value for value in operands if not value.is_absent]
    shapes = [value.elements.shape for value in given]
    largest = max(map(prod, shapes), default=0)
    size = 0
    if node.op_type == "Concat":
        size = sum(map(prod, shapes))
    elif node.op_type == "Tile" and len(given) == 2:
        size = prod(shapes[0]) * prod(map(int, given[1].elements.flat))
    elif node.op_type == "Gather" and len(given) == 2 and shapes[0]:
        axis = node.attributes.get("axis", 0) % len(shapes[0])
        size = prod(shapes[0]) // max(1, shapes[0][axis]) * prod(shapes[1])
    elif node.op_type in {"MatMul", "Gemm"} and all(shapes):
        size = prod(shapes[0]) // max(1, shapes[0][-1]) * prod(shapes[1]) // max(1, min(shapes[1][-2:]))
    else:
        if node.op_type == "Expand" and len(given) == 2:
            shapes[1] = tuple(map(int, given[1].elements.flat))
        with suppress(ValueError):
            size = prod(np.broadcast_shapes(*shapes))
    if size > max(largest, MAX_EXACT_ELEMENTS):
        raise Unsupported(f"{node.op_type} has an output of {size:,} elements, more than {MAX_EXACT_ELEMENTS:,}")


class PreparedReferenceGraph(BackendRep):
    """A graph with ONNX's interface of a prepared model: it computes with NumPy in the types of the tensors."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def run(self, inputs: Sequence[Array], **_: Any) -> tuple[Array, ...]:
        """Run the graph on inputs in its order, and return the outputs."""
        return tuple(value.elements for value in self._graph.run(inputs, NumberSystem()))


def _to_value(given: Any, system: NumberSystem) -> Value:
    if given is None:
        return ABSENT
    if isinstance(given, list):
        return make_sequence(_to_value(item, system) for item in given)
    return system.from_array(given)


@dataclass(frozen=True)
class _Scope:
    """The scope of a node: the parts of the model outside the node that its evaluation depends on.

    Attributes:
        opsets: the version of each imported domain.
        functions: the functions of the model.
        attributes: the attributes of the function call, if the node is in the body of a function.
    """

    opsets: Mapping[str, int]
    functions: Mapping[FunctionName, onnx.FunctionProto]
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)

    @classmethod
    def from_imports(
        cls,
        imports: Iterable[onnx.OperatorSetIdProto],
        functions: Mapping[FunctionName, onnx.FunctionProto],
        attributes: Mapping[str, onnx.AttributeProto] | None = None,
    ) -> _Scope:
        return cls({opset.domain: opset.version for opset in imports}, functions, attributes or {})

    def graph(self, proto: onnx.GraphProto, captured: Iterable[str] = ()) -> Graph:
        """Read a graph in this scope. The values that the graph captures become its last inputs."""
        return Graph(
            required_inputs=(*required_input_names(proto), *captured),
            outputs=tuple(value.name for value in proto.output),
            nodes=self.read(proto.node),
            initializers=initializer_arrays(proto),
            all_inputs=(*(value.name for value in proto.input), *captured),
        )

    def read(self, nodes: Iterable[onnx.NodeProto]) -> tuple[tuple[Node, Evaluation], ...]:
        return tuple(self._read(node) for node in nodes)

    def _read(self, proto: onnx.NodeProto) -> tuple[Node, Evaluation]:
        check_operands(proto)
        domain = proto.domain
        op_type = proto.op_type
        attributes = list(resolve_references(proto.attribute, self.attributes))
        values = attribute_values(attributes)
        opset = self.opsets.get(domain, self.opsets.get("ai.onnx", self.opsets.get("", 0)))
        function = self.functions.get(called_name(proto)) if self.functions else None
        evaluation: Evaluation | None = None
        captured: tuple[str, ...] = ()
        if (optimizer := find_training_optimizer(domain, op_type)) is not None:
            evaluation, values = evaluate_optimizer, optimizer.complete_attributes(values)
        elif domain in MAIN_DOMAINS and op_type in CONTROL_FLOW:
            bodies = {attribute.name: self.body(attribute.g) for attribute in attributes if attribute.HasField("g")}
            evaluation = ControlFlow(op_type, bodies)
            captured = all_captures(bodies)
        elif domain in MAIN_DOMAINS and opset >= LATER_FORMS.get(op_type, 0):
            evaluation = OPERATORS.get(op_type)
        if function is not None:
            evaluation = _FunctionCall(evaluation, self._function_body(function, attributes))
        if evaluation is None:
            raise Unsupported(f"the reference has no operator {domain or 'ai.onnx'}.{op_type}")
        inputs = (*proto.input, *captured)
        return Node(op_type, inputs, tuple(proto.output), values, opset, domain), evaluation

    def body(self, proto: onnx.GraphProto) -> Body:
        """Read a subgraph of the node that this scope belongs to."""
        captured = tuple(name for name in count_free_uses(proto) if name)
        return Body(self.graph(proto, captured), captured)

    def _function_body(self, function: onnx.FunctionProto, call: Iterable[onnx.AttributeProto]) -> Graph:
        """Read the body of a function, with the attributes of one call."""
        scope = _Scope.from_imports(function.opset_import, self.functions, call_attributes(function, call))
        return Graph(tuple(function.input), tuple(function.output), scope.read(function.node))


@dataclass(frozen=True)
class _FunctionCall:
    """The evaluation of a call of a model-local function.

    If an operator has the function's name, a runtime may run the operator or the body (onnx.proto,
    ModelProto.functions). The result therefore encloses both results. No `must` case may depend on a model in which the
    two results contradict each other.

    Attributes:
        operator: the evaluation of the operator with the function's name, or None.
        body: the body of the function, with the attributes of the call.
    """

    operator: Evaluation | None
    body: Graph

    def __call__(self, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        omitted = [ABSENT] * (len(self.body.required_inputs) - len(inputs))
        results = self.body.evaluate([*inputs, *omitted], system)
        if self.operator is None:
            return results
        own = self.operator(node, inputs, system)
        return [system.enclose_alternatives(*pair) for pair in zip(results, own, strict=True)]


def _with_evaluations_inside(
    node: Node, evaluation: Evaluation, choose: EvaluationChoice, enclosing: tuple[str, ...]
) -> Evaluation:
    """Return an evaluation with other evaluations of the nodes in its subgraphs and functions."""
    if isinstance(evaluation, _FunctionCall):
        operator = evaluation.operator and _with_evaluations_inside(node, evaluation.operator, choose, enclosing)
        return _FunctionCall(operator, evaluation.body.with_evaluations(choose, (*enclosing, "function")))
    if isinstance(evaluation, ControlFlow):
        inner = (*enclosing, node.op_type)
        bodies = evaluation.bodies.items()
        return ControlFlow(
            evaluation.op_type,
            {name: Body(body.graph.with_evaluations(choose, inner), body.captured) for name, body in bodies},
        )
    return evaluation


def _with_copies(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with copies of their arrays."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}
