"""Evaluation of a model: nodes in order, functions of its own, and graphs within nodes."""

from __future__ import annotations

import math
from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from flint import fmpq
from onnx import AttributeProto, defs

from oracle.calls import Call, Mode, rounded
from oracle.operators import OPERATORS
from oracle.tensors import Tensor, Value, dense, tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

    Scope: TypeAlias = "ChainMap[str, Value]"


@dataclass(frozen=True)
class Evaluation:
    """A model in one mode.

    Attributes:
        folder: where the model's external data are.
        functions: the model's own, by domain, name and overload.
    """

    model: ModelProto
    folder: Path
    mode: Mode
    functions: dict[tuple[str, str, str], FunctionProto] = field(init=False)

    def __post_init__(self) -> None:
        named = {(_domain(f.domain), f.name, f.overload): f for f in self.model.functions}
        object.__setattr__(self, "functions", named)

    def run(self, inputs: Mapping[str, Tensor]) -> tuple[Value, ...]:
        """The graph's outputs, in order."""
        imports = _imports(self.model)
        return self._graph(self.model.graph, ChainMap({}), dict(inputs), imports, {})

    def _graph(
        self,
        graph: GraphProto,
        outer: Scope,
        inputs: Mapping[str, Value],
        imports: Mapping[str, int],
        references: Mapping[str, AttributeProto],
    ) -> tuple[Value, ...]:
        scope = outer.new_child({message.name: tensor_of(message, self.folder) for message in graph.initializer})
        scope.update({message.values.name: dense(message, self.folder) for message in graph.sparse_initializer})
        scope.update(inputs)
        self._nodes(graph.node, scope, imports, references)
        return tuple(scope[output.name] for output in graph.output)

    def _nodes(
        self,
        nodes: Sequence[NodeProto],
        scope: Scope,
        imports: Mapping[str, int],
        references: Mapping[str, AttributeProto],
    ) -> None:
        for node in nodes:
            operands = [scope[name] if name else None for name in node.input]
            function = self.functions.get((_domain(node.domain), node.op_type, node.overload))
            if function is not None:
                results = self._function(function, node, operands, references)
            else:
                results = self._operator(node, operands, scope, imports, references)
            scope.update({name: result for name, result in zip(node.output, results, strict=False) if name})

    def _function(
        self,
        function: FunctionProto,
        node: NodeProto,
        operands: Sequence[Value],
        references: Mapping[str, AttributeProto],
    ) -> tuple[Value, ...]:
        given = {attribute.name: attribute for attribute in function.attribute_proto}
        given |= {attribute.name: attribute for attribute in _resolved(node, references)}
        missing = [None] * (len(function.input) - len(operands))
        scope: Scope = ChainMap(dict(zip(function.input, [*operands, *missing], strict=True)))
        self._nodes(function.node, scope, _imports(function), given)
        return tuple(scope[name] for name in function.output)

    def _operator(
        self,
        node: NodeProto,
        operands: Sequence[Value],
        scope: Scope,
        imports: Mapping[str, int],
        references: Mapping[str, AttributeProto],
    ) -> tuple[Value, ...]:
        domain = _domain(node.domain)
        operator = OPERATORS.get((domain, node.op_type))
        if operator is None:
            raise NotImplementedError(f"The second oracle has no operator {domain or 'ai.onnx'}.{node.op_type}.")

        def run(graph: GraphProto, inputs: Sequence[Value]) -> tuple[Value, ...]:
            named = dict(zip((declared.name for declared in graph.input), inputs, strict=True))
            return self._graph(graph, scope, named, imports, references)

        version = imports[domain]
        attributes = {a.name: self._read(a) for a in (*_defaults(node, version, domain), *_resolved(node, references))}
        results = operator(Call(node, version, attributes, self.mode, run), *operands)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(map(_rounded, results)) if self.mode.rounds else results

    def _read(self, attribute: AttributeProto) -> Any:
        """The attribute's value, numbers exactly as serialised."""
        if attribute.type == AttributeProto.FLOAT:
            return number(attribute.f)
        if attribute.type == AttributeProto.FLOATS:
            return [number(item) for item in attribute.floats]
        if attribute.type == AttributeProto.TENSOR:
            return tensor_of(attribute.t, self.folder)
        if attribute.type == AttributeProto.SPARSE_TENSOR:
            return dense(attribute.sparse_tensor, self.folder)
        fields = {
            AttributeProto.INT: "i",
            AttributeProto.INTS: "ints",
            AttributeProto.STRING: "s",
            AttributeProto.GRAPH: "g",
            AttributeProto.TYPE_PROTO: "tp",
        }
        if attribute.type not in fields:
            raise NotImplementedError(f"The second oracle does not know the type of the attribute {attribute.name!r}.")
        return getattr(attribute, fields[attribute.type])


def number(value: float) -> Any:
    """A Python float as a real number."""
    return fmpq(*value.as_integer_ratio()) if math.isfinite(value) and value else value


def _imports(holder: ModelProto | FunctionProto) -> dict[str, int]:
    return {_domain(opset.domain): opset.version for opset in holder.opset_import}


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _defaults(node: NodeProto, version: int, domain: str) -> list[AttributeProto]:
    declared = defs.get_schema(node.op_type, version, domain).attributes.values()
    return [attribute.default_value for attribute in declared if attribute.default_value.type]


def _resolved(node: NodeProto, references: Mapping[str, AttributeProto]) -> list[AttributeProto]:
    """The node's attributes; a reference becomes the function's attribute, or nothing where that is not given."""
    resolved = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            resolved.append(attribute)
        elif attribute.ref_attr_name in references:
            copy = AttributeProto()
            copy.CopyFrom(references[attribute.ref_attr_name])
            copy.name = attribute.name
            resolved.append(copy)
    return resolved


def _rounded(value: Value) -> Value:
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return rounded(value) if value is not None else None
