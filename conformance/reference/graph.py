"""Walks a graph made of the suite's operators in any number system, from the serialised model alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from conformance.models.constants import initializers_of
from conformance.models.feeds import fed_names
from conformance.models.functions import FunctionName, called_name, endless_calls, name_of_function
from conformance.models.signatures import MAIN_DOMAINS
from conformance.reference.nodes import (
    Evaluation,
    Node,
    attribute_values,
    captured_names,
    given_attributes,
    resolved,
)
from conformance.reference.numbers.values import ABSENT, NumberSystem, Value
from conformance.reference.operators.control_flow import CONTROL_FLOW, Body, captures, evaluation_of
from conformance.reference.operators.sequences import sequence
from conformance.reference.operators.table import OPERATORS
from conformance.reference.operators.training import evaluate_optimizer, training_optimizer_of
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    import onnx

    from conformance.models.arrays import Array

    Altering: TypeAlias = "Callable[[Node, Evaluation, tuple[str, ...]], Evaluation]"


def _as_it_is(_: Node, evaluation: Evaluation, __: tuple[str, ...]) -> Evaluation:
    return evaluation


@dataclass(frozen=True)
class Graph:
    """A graph, or a function's body, ready to be walked.

    Attributes:
        inputs: names of the inputs that a run must feed.
        outputs: names of the outputs, in order.
        nodes: in the model's order, which ONNX requires to be topological.
        initializers: constants by name.
        optional: names of all inputs, those included that have an initializer and need not be fed.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[tuple[Node, Evaluation], ...]
    initializers: Mapping[str, Array] = field(default_factory=dict)
    optional: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: onnx.ModelProto, altering: Altering = _as_it_is) -> Graph:
        """Read a model.

        Args:
            altering: gives each node's evaluation another for it, and is told what the node stands in, from the main
                graph inwards: the op_types of the nodes that hold its graph, and `function` for each call.

        Raises:
            Unsupported: it is made of other operators, or of tensors stored outside of it, or its functions call each
                other without end or far too often.
        """
        if (fault := endless_calls(model)) is not None:
            raise Unsupported(fault)
        functions = {name_of_function(function): function for function in model.functions}
        return _Scope.of(model.opset_import, functions, altering).graph(model.graph)

    def run(self, inputs: Sequence[Array], system: NumberSystem) -> list[Value]:
        """The outputs for these inputs, of which a list is a sequence and None an empty optional.

        Raises:
            Unsupported: the inputs are not those of the graph.
        """
        return self.walk([_entered(array, system) for array in inputs], system)

    def walk(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """The outputs for inputs that are numbers of the system.

        Raises:
            Unsupported: the inputs are not those of the graph, or something has no value.
        """
        names = self.optional if len(inputs) == len(self.optional) else self.inputs
        if len(inputs) != len(names):
            raise Unsupported(f"the graph has {len(names)} inputs, not {len(inputs)}")
        values = {name: system.entering(array) for name, array in self.initializers.items()}
        values.update(zip(names, inputs, strict=True))
        try:
            for node, evaluation in self.nodes:
                results = evaluation(node, [values[name] if name else ABSENT for name in node.inputs], system)
                values.update(zip(node.outputs, results, strict=False))
            return [values[name] for name in self.outputs]
        except KeyError as error:
            raise Unsupported(f"nothing gives the value {error}") from error


def _entered(given: Any, system: NumberSystem) -> Value:
    if given is None:
        return ABSENT
    return sequence(_entered(item, system) for item in given) if isinstance(given, list) else system.entering(given)


@dataclass(frozen=True)
class _Scope:
    """Where nodes stand: the opsets and the functions that their operators are of, and the attributes of the call.

    Attributes:
        within: what holds the graph, from the main graph inwards.
    """

    opsets: Mapping[str, int]
    functions: Mapping[FunctionName, onnx.FunctionProto]
    altering: Altering
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)
    within: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        imports: Iterable[onnx.OperatorSetIdProto],
        functions: Mapping[FunctionName, onnx.FunctionProto],
        altering: Altering,
        attributes: Mapping[str, onnx.AttributeProto] | None = None,
        within: tuple[str, ...] = (),
    ) -> _Scope:
        opsets = {opset.domain: opset.version for opset in imports}
        return cls(opsets, functions, altering, attributes or {}, within)

    def graph(self, proto: onnx.GraphProto, captured: Iterable[str] = ()) -> Graph:
        """A graph that stands here; what it captures from around it are its last inputs."""
        return Graph(
            inputs=(*fed_names(proto), *captured),
            outputs=tuple(value.name for value in proto.output),
            nodes=self.read(proto.node),
            initializers=initializers_of(proto),
            optional=(*(value.name for value in proto.input), *captured),
        )

    def read(self, nodes: Iterable[onnx.NodeProto]) -> tuple[tuple[Node, Evaluation], ...]:
        return tuple(self._read(node) for node in nodes)

    def _read(self, proto: onnx.NodeProto) -> tuple[Node, Evaluation]:
        domain, op_type = proto.domain, proto.op_type
        attributes = list(resolved(proto.attribute, self.attributes))
        values = attribute_values(attributes)
        opset = self.opsets.get(domain, self.opsets.get("ai.onnx", self.opsets.get("", 0)))
        function = self.functions.get(called_name(proto)) if self.functions else None
        evaluation: Evaluation | None = None
        captured: tuple[str, ...] = ()
        if (optimizer := training_optimizer_of(domain, op_type)) is not None:
            evaluation, values = evaluate_optimizer, optimizer.attributes(values)
        elif domain in MAIN_DOMAINS and op_type in CONTROL_FLOW:
            inner = replace(self, within=(*self.within, op_type))
            bodies = {attribute.name: inner.body(attribute.g) for attribute in attributes if attribute.HasField("g")}
            evaluation, captured = evaluation_of(op_type, bodies), captures(bodies)
        elif domain in MAIN_DOMAINS:
            evaluation = OPERATORS.get(op_type)
        if function is not None:
            evaluation = _overridden(evaluation, self._called(function, attributes))
        if evaluation is None:
            raise Unsupported(f"there is no operator {domain or 'ai.onnx'}.{op_type} in this reference")
        inputs = (*proto.input, *captured)
        node = Node(op_type, inputs, tuple(proto.output), values, opset, domain)
        return node, self.altering(node, evaluation, self.within)

    def body(self, proto: onnx.GraphProto) -> Body:
        """A graph in a node that stands around this scope."""
        captured = captured_names(proto)
        return Body(self.graph(proto, captured), captured, len(proto.output))

    def _called(self, function: onnx.FunctionProto, call: Iterable[onnx.AttributeProto]) -> Graph:
        """A function's body for one call."""
        attributes, within = given_attributes(function, call), (*self.within, "function")
        inside = _Scope.of(function.opset_import, self.functions, self.altering, attributes, within)
        return Graph(tuple(function.input), tuple(function.output), inside.read(function.node))


def _overridden(operator: Evaluation | None, body: Graph) -> Evaluation:
    """A model-local function; where it bears an operator's name, its body or the operator.

    Which of the two has priority is left to each runtime (onnx.proto, ModelProto.functions): one that has the operator
    may run it, one that has not runs the body. Both are right if they agree, so both are evaluated, the answer
    encloses both, and no `must` case may rest on a model in which they contradict each other.
    """

    def evaluation(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        left_out = [ABSENT] * (len(body.inputs) - len(inputs))
        results = body.walk([*inputs, *left_out], system)
        if operator is None:
            return results
        return [system.either(*pair) for pair in zip(results, operator(node, inputs, system), strict=True)]

    return evaluation
