"""Evaluation of a model's graph in any number system.

`Graph.from_model` resolves functions, subgraphs and attributes once. The graph can then be evaluated for any inputs, in
any `NumberSystem`. The result depends only on the model and the inputs, not on the generator that made them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from conformance.models.graphs import (
    FunctionName,
    call_expansion_problem,
    called_name,
    count_free_uses,
    function_name,
)
from conformance.models.inputs import initializer_arrays, required_input_names
from conformance.models.types import MAIN_DOMAINS
from conformance.reference.nodes import (
    Evaluation,
    Node,
    attribute_values,
    call_attributes,
    check_operands,
    resolve_references,
)
from conformance.reference.numbers.number_system import ABSENT, NumberSystem, Value
from conformance.reference.operators import LATER_FORMS, OPERATORS
from conformance.reference.operators.control_flow import CONTROL_FLOW, Body, all_captures, control_flow_evaluation
from conformance.reference.operators.sequences import make_sequence
from conformance.reference.operators.training_optimizers import evaluate_optimizer, find_training_optimizer
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    import onnx

    from conformance.models.arrays import Array

    EvaluationHook: TypeAlias = "Callable[[Node, Evaluation, tuple[str, ...]], Evaluation]"


def _unchanged(_: Node, evaluation: Evaluation, __: tuple[str, ...]) -> Evaluation:
    return evaluation


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
    def from_model(cls, model: onnx.ModelProto, replace_evaluation: EvaluationHook = _unchanged) -> Graph:
        """Read a model.

        Args:
            model: the model.
            replace_evaluation: returns an evaluation for each node. It takes the node, its evaluation, and the scopes
                that enclose the node, from the main graph inwards: the op_type of each node whose subgraph contains it,
                and `function` for each call of a function.

        Raises:
            Unsupported: the model has other operators or external tensors, or its functions call each other endlessly
                or expand to too many nodes.
        """
        if (fault := call_expansion_problem(model)) is not None:
            raise Unsupported(fault)
        functions = {function_name(function): function for function in model.functions}
        return _Scope.from_imports(model.opset_import, functions, replace_evaluation).graph(model.graph)

    def run(self, inputs: Sequence[Array], system: NumberSystem) -> list[Value]:
        """Return the outputs for inputs given as arrays; a list stands for a sequence, None for an empty optional.

        Raises:
            Unsupported: the number of inputs is wrong, or a node cannot be evaluated.
        """
        return self.evaluate([_to_value(array, system) for array in inputs], system)

    def evaluate(self, inputs: Sequence[Value], system: NumberSystem) -> list[Value]:
        """Return the outputs for inputs that are already tensors of the number system.

        Raises:
            Unsupported: the number of inputs is wrong, or a node cannot be evaluated.
        """
        names = self.all_inputs if len(inputs) == len(self.all_inputs) else self.required_inputs
        if len(inputs) != len(names):
            raise Unsupported(f"the graph has {len(names)} inputs, not {len(inputs)}")
        values = {name: system.from_array(array) for name, array in self.initializers.items()}
        values.update(zip(names, inputs, strict=True))
        try:
            for node, evaluation in self.nodes:
                results = evaluation(node, [values[name] if name else ABSENT for name in node.inputs], system)
                values.update(zip(node.outputs, results, strict=False))
            return [values[name] for name in self.outputs]
        except KeyError as error:
            raise Unsupported(f"no node computes the value {error}") from error


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
        replace_evaluation: see `Graph.from_model`.
        attributes: the attributes of the function call, if the node is in the body of a function.
        enclosing: the enclosing scopes, from the main graph inwards.
    """

    opsets: Mapping[str, int]
    functions: Mapping[FunctionName, onnx.FunctionProto]
    replace_evaluation: EvaluationHook
    attributes: Mapping[str, onnx.AttributeProto] = field(default_factory=dict)
    enclosing: tuple[str, ...] = ()

    @classmethod
    def from_imports(
        cls,
        imports: Iterable[onnx.OperatorSetIdProto],
        functions: Mapping[FunctionName, onnx.FunctionProto],
        replace_evaluation: EvaluationHook,
        attributes: Mapping[str, onnx.AttributeProto] | None = None,
        enclosing: tuple[str, ...] = (),
    ) -> _Scope:
        opsets = {opset.domain: opset.version for opset in imports}
        return cls(opsets, functions, replace_evaluation, attributes or {}, enclosing)

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
        domain, op_type = proto.domain, proto.op_type
        attributes = list(resolve_references(proto.attribute, self.attributes))
        values = attribute_values(attributes)
        opset = self.opsets.get(domain, self.opsets.get("ai.onnx", self.opsets.get("", 0)))
        function = self.functions.get(called_name(proto)) if self.functions else None
        evaluation: Evaluation | None = None
        captured: tuple[str, ...] = ()
        if (optimizer := find_training_optimizer(domain, op_type)) is not None:
            evaluation, values = evaluate_optimizer, optimizer.complete_attributes(values)
        elif domain in MAIN_DOMAINS and op_type in CONTROL_FLOW:
            inner = replace(self, enclosing=(*self.enclosing, op_type))
            bodies = {attribute.name: inner.body(attribute.g) for attribute in attributes if attribute.HasField("g")}
            evaluation, captured = control_flow_evaluation(op_type, bodies), all_captures(bodies)
        elif domain in MAIN_DOMAINS and opset >= LATER_FORMS.get(op_type, 0):
            evaluation = OPERATORS.get(op_type)
        if function is not None:
            evaluation = _call_function(evaluation, self._function_body(function, attributes))
        if evaluation is None:
            raise Unsupported(f"the reference has no operator {domain or 'ai.onnx'}.{op_type}")
        inputs = (*proto.input, *captured)
        node = Node(op_type, inputs, tuple(proto.output), values, opset, domain)
        return node, self.replace_evaluation(node, evaluation, self.enclosing)

    def body(self, proto: onnx.GraphProto) -> Body:
        """Read a subgraph of the node that this scope belongs to."""
        captured = tuple(name for name in count_free_uses(proto) if name)
        return Body(self.graph(proto, captured), captured)

    def _function_body(self, function: onnx.FunctionProto, call: Iterable[onnx.AttributeProto]) -> Graph:
        """Read the body of a function, with the attributes of one call."""
        attributes, enclosing = call_attributes(function, call), (*self.enclosing, "function")
        imports = function.opset_import
        scope = _Scope.from_imports(imports, self.functions, self.replace_evaluation, attributes, enclosing)
        return Graph(tuple(function.input), tuple(function.output), scope.read(function.node))


def _call_function(operator: Evaluation | None, body: Graph) -> Evaluation:
    """Return the evaluation of a call of a model-local function with this body.

    `operator` is the evaluation of the operator with the function's name, or None. If there is one, a runtime may run
    the operator or the body (onnx.proto, ModelProto.functions). The result therefore encloses both results. No `must`
    case may depend on a model in which the two results contradict each other.
    """

    def evaluation(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        omitted = [ABSENT] * (len(body.required_inputs) - len(inputs))
        results = body.evaluate([*inputs, *omitted], system)
        if operator is None:
            return results
        return [
            system.enclose_alternatives(*pair) for pair in zip(results, operator(node, inputs, system), strict=True)
        ]

    return evaluation
