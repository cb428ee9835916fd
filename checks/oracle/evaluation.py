"""Evaluation of a model in a mode: nodes, model-local functions and subgraphs, with as many bits as necessary."""

from __future__ import annotations

import math
from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from flint import fmpq
from onnx import AttributeProto, defs

from checks.oracle.calls import Call, Mode, round_tensor
from checks.oracle.operators import OPERATORS
from checks.oracle.reals import PrecisionTooLow, precision
from checks.oracle.tensors import Tensor, Value, dense_tensor, tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

    Scope: TypeAlias = "ChainMap[str, Value]"
    from checks.oracle.calls import Mode
    from checks.oracle.tensors import Value


@dataclass(frozen=True)
class Evaluation:
    """A model that is evaluated in one mode.

    Attributes:
        model: the model.
        folder: the folder of the model's external data.
        mode: the mode of computation.
        functions: the model-local functions, by domain, name and overload.
    """

    model: ModelProto
    folder: Path
    mode: Mode
    functions: dict[tuple[str, str, str], FunctionProto] = field(init=False)

    def __post_init__(self) -> None:
        named = {(_domain(f.domain), f.name, f.overload): f for f in self.model.functions}
        object.__setattr__(self, "functions", named)

    def run(self, inputs: Mapping[str, Tensor]) -> tuple[Value, ...]:
        """Return the outputs of the graph, in order."""
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
        scope.update({message.values.name: dense_tensor(message, self.folder) for message in graph.sparse_initializer})
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
        given |= {attribute.name: attribute for attribute in _resolve_references(node, references)}
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
        attributes = {
            a.name: self._read(a) for a in (*_defaults(node, version, domain), *_resolve_references(node, references))
        }
        results = operator(Call(node, version, attributes, self.mode, run), *operands)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(map(_round, results)) if self.mode.rounds else results

    def _read(self, attribute: AttributeProto) -> Any:
        """Return the value of an attribute. Numbers are exact."""
        if attribute.type == AttributeProto.FLOAT:
            return exact_number(attribute.f)
        if attribute.type == AttributeProto.FLOATS:
            return [exact_number(item) for item in attribute.floats]
        if attribute.type == AttributeProto.TENSOR:
            return tensor_of(attribute.t, self.folder)
        if attribute.type == AttributeProto.SPARSE_TENSOR:
            return dense_tensor(attribute.sparse_tensor, self.folder)
        fields = {
            AttributeProto.INT: "i",
            AttributeProto.INTS: "ints",
            AttributeProto.STRING: "s",
            AttributeProto.GRAPH: "g",
            AttributeProto.TYPE_PROTO: "tp",
        }
        if attribute.type not in fields:
            raise NotImplementedError(
                f"The second oracle does not support the type of the attribute {attribute.name!r}."
            )
        return getattr(attribute, fields[attribute.type])


def exact_number(value: float) -> Any:
    """Return a Python float as a real number."""
    return fmpq(*value.as_integer_ratio()) if math.isfinite(value) and value else value


def _imports(holder: ModelProto | FunctionProto) -> dict[str, int]:
    return {_domain(opset.domain): opset.version for opset in holder.opset_import}


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _defaults(node: NodeProto, version: int, domain: str) -> list[AttributeProto]:
    declared = defs.get_schema(node.op_type, version, domain).attributes.values()
    return [attribute.default_value for attribute in declared if attribute.default_value.type]


def _resolve_references(node: NodeProto, references: Mapping[str, AttributeProto]) -> list[AttributeProto]:
    """Return a node's attributes. A reference becomes the attribute of the call, or is left out if there is none."""
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


def _round(value: Value) -> Value:
    if isinstance(value, list):
        return [round_tensor(item) for item in value]
    return round_tensor(value) if value is not None else None


PRECISIONS_IN_BITS = (320, 1280, 5120, 20480)
"""The precisions of Arb's balls in bits. The next one is used if a precision is too low."""


@dataclass(frozen=True)
class ModelOutputs:
    """The outputs of a model for some inputs. Each mode is computed on first use.

    Attributes:
        model: the model.
        folder: the folder of the model's external data.
        inputs: the inputs by name.
    """

    model: ModelProto
    folder: Path
    inputs: Mapping[str, Tensor]
    _outputs: dict[Mode, tuple[Value, ...]] = field(default_factory=dict)

    def output(self, mode: Mode, number: int) -> Tensor:
        """Return one output.

        Raises:
            PrecisionTooLow: the highest precision is too low to round an element.
            NotImplementedError: the oracle does not support a part of the model, or the output is not a tensor.
        """
        if mode not in self._outputs:
            self._outputs[mode] = self._evaluate(mode)
        value = self._outputs[mode][number]
        if not isinstance(value, Tensor):
            raise NotImplementedError("The second oracle compares tensors only.")
        return value

    def _evaluate(self, mode: Mode) -> tuple[Value, ...]:
        evaluation = Evaluation(self.model, self.folder, mode)
        for bits in PRECISIONS_IN_BITS:
            try:
                with precision(bits):
                    return _require_roundable(evaluation.run(self.inputs), mode)
            except PrecisionTooLow:
                continue
        raise PrecisionTooLow(
            f"{PRECISIONS_IN_BITS[-1]} bits are not enough to round a value, which may be halfway between two numbers."
        )


def _require_roundable(outputs: tuple[Value, ...], mode: Mode) -> tuple[Value, ...]:
    """Return the outputs. Raise PrecisionTooLow if an element cannot be rounded."""
    for output in outputs:
        if isinstance(output, Tensor) and not mode.has_enclosures:
            round_tensor(output)
    return outputs
