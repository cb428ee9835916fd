"""Rewrites a model for runtimes without training optimizers: Adam, Momentum and Adagrad become primitives.

The primitives are those of opset 13, which every later opset has alike. What they compute comes from the reference's
own pseudo-code, run on symbolic numbers. Everything else in the model stays as it is, but for functions that hold
optimizers: a function has no types of its own, so its calls are replaced by its body first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import shape_inference

from conformance.errors import ModelError
from conformance.lowering.inlining import inlined
from conformance.lowering.optimizers import has_training_optimizers, is_training_optimizer
from conformance.models.arrays import dtype_of
from conformance.models.functions import endless_calls
from conformance.models.graphs import graphs_of, inner_graphs, names_in, nodes_of
from conformance.models.signatures import MAIN_DOMAINS
from conformance.reference.nodes import attribute_values
from conformance.reference.numbers.symbolic import INT64, Emission, Term, Terms, traced
from conformance.reference.operators.training import DOMAINS, TRAINING_OPTIMIZERS
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

OPSET = 13
OLDEST_IR = 4
"""From here on a constant of a graph need not be an input of it."""

UNKNOWN = np.dtype(object)
TENSOR_TYPES = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}


def lower(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every Adam, Momentum and Adagrad replaced by primitive operators.

    Nodes in the bodies of If, Loop and Scan and in training information are replaced too. The model itself is
    left as it is; without optimizers, the result is its copy.

    Raises:
        ModelError: the default domain is below opset 13, a node is not as its schema says, the type of its tensors
            cannot be inferred, or functions call each other without end or far too often.
    """
    lowered = onnx.ModelProto()
    lowered.CopyFrom(model)
    if not has_training_optimizers(model):
        return lowered
    if (fault := endless_calls(lowered)) is not None:
        raise ModelError(fault, "Take the functions apart, or inline them first.")
    lowered = inlined(lowered)
    _require_primitives(lowered)
    fresh = _fresh_names(names_in(lowered))

    def emission(op_type: str) -> Emission:
        return Emission(lambda hint: fresh(f"{op_type}_{hint}"))

    graphs, typed_graphs = graphs_of(lowered), graphs_of(_with_types(lowered))
    main = _types(typed_graphs[0])
    for graph, typed in zip(graphs, typed_graphs, strict=True):
        _lower_graph(graph, typed, main, emission)
    _drop_training_import(lowered)
    return lowered


def _require_primitives(model: onnx.ModelProto) -> None:
    """Make sure of an IR version and an opset that have them."""
    if model.ir_version < OLDEST_IR:
        raise ModelError(
            f"The model is of IR version {model.ir_version}, which has no constants apart from its inputs.",
            f"Convert it to IR version {OLDEST_IR} or later first.",
        )
    imported = [entry for entry in model.opset_import if entry.domain in MAIN_DOMAINS]
    entry = imported[0] if imported else model.opset_import.add(domain="", version=OPSET)
    if entry.version < OPSET:
        raise ModelError(
            f"The model uses opset {entry.version} of the default domain; primitives are those of {OPSET} and later.",
            f"Convert it to opset {OPSET} first, for example with onnx.version_converter.",
        )


def _with_types(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, ValueError) as error:
        problem = " ".join(str(error).split()).rstrip(".")
        raise ModelError(
            f"The types of the model's tensors cannot be inferred: {problem}.", "Mend the model."
        ) from None


def _types(graph: onnx.GraphProto) -> dict[str, int]:
    """The element types of a graph's own values, as far as they are known."""
    declared = chain(graph.input, graph.value_info, graph.output)
    types = {value.name: value.type.tensor_type.elem_type for value in declared}
    return {**types, **{tensor.name: tensor.data_type for tensor in graph.initializer}}


def _lower_graph(
    graph: onnx.GraphProto,
    inferred: onnx.GraphProto,
    outer: Mapping[str, int],
    emission: Callable[[str], Emission],
) -> None:
    """Replace the optimizers of a graph and of the graphs within it.

    Args:
        inferred: the graph with the types of its values, as far as they can be inferred.
        outer: the element types of the values of the graphs around it.
        emission: makes an empty one for an optimizer of some type.
    """
    types = {**outer, **_types(inferred)}
    nodes: list[onnx.NodeProto] = []
    for node, typed in zip(graph.node, inferred.node, strict=True):
        for inner, inner_typed in zip(inner_graphs(node), inner_graphs(typed), strict=True):
            _lower_graph(inner, inner_typed, types, emission)
        if is_training_optimizer(node):
            emitted = emission(node.op_type)
            emitted.emit(_Place.of(node, types).results())
            nodes += emitted.nodes
            graph.initializer.extend(emitted.constants)
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


@dataclass(frozen=True)
class _Place:
    """An optimizer's node where it stands in a graph.

    Attributes:
        attributes: with the schema's defaults.
        count: how many tensors it optimizes.
        types: the element types of values by name.
    """

    node: onnx.NodeProto
    attributes: Mapping[str, Any]
    count: int
    types: Mapping[str, int]

    @classmethod
    def of(cls, node: onnx.NodeProto, types: Mapping[str, int]) -> _Place:
        """Read a node.

        Raises:
            ModelError: its attributes, inputs or outputs are not those of its schema.
        """
        signature = TRAINING_OPTIMIZERS[node.op_type]
        count, rest = divmod(len(node.input) - 2, len(signature.operands))
        if count < 1 or rest or not all(node.input):
            raise _unfit(node, f"has {len(node.input)} inputs, not R, T and {len(signature.operands)} for every tensor")
        if len(node.output) != count * len(signature.results):
            raise _unfit(node, f"has {len(node.output)} outputs, not {len(signature.results)} for every tensor")
        try:
            attributes = signature.attributes(attribute_values(node.attribute))
        except (Unsupported, ValueError) as error:
            raise _unfit(node, f"has other attributes than its schema: {error}") from None
        for name, value in attributes.items():
            if not isinstance(value, str if name in signature.choices else float):
                raise _unfit(node, f"has other attributes than its schema: {name} is {value!r}")
        return cls(node, attributes, count, types)

    def results(self) -> dict[str, Term]:
        """What each output is, in terms of the inputs."""
        terms = Terms()
        R = terms.named(self.node.input[0], self._type_of(self.node.input[:1]) or UNKNOWN)
        T = terms.named(self.node.input[1], INT64)
        by_tensor = [self._tensor(i, R, T) for i in range(self.count)]
        ordered = [result for results in zip(*by_tensor, strict=True) for result in results]
        return {name: term for name, term in zip(self.node.output, ordered, strict=True) if name}

    def _tensor(self, i: int, R: Term, T: Term) -> list[Term]:
        operands, outputs = self.node.input[2 + i :: self.count], self.node.output[i :: self.count]
        dtype = self._type_of([*operands, *outputs])
        if dtype is None:
            raise _unfit(
                self.node, f"computes on {operands[0]}, of which neither float nor double is known to be the type"
            )
        attributes = {
            name: R.terms.constant(value, dtype) if isinstance(value, float) else value
            for name, value in self.attributes.items()
        }
        tensors = [R.terms.named(name, dtype) for name in operands]
        try:
            return traced(TRAINING_OPTIMIZERS[self.node.op_type].formula, R, T, tensors, attributes)
        except ValueError as error:  # of an unknown mode
            raise _unfit(self.node, f"cannot be computed: {error}") from None

    def _type_of(self, names: Iterable[str]) -> np.dtype[Any] | None:
        """The first type that is known of values of one type."""
        known = (self.types[name] for name in names if self.types.get(name) in TENSOR_TYPES)
        return next((dtype_of(elem_type) for elem_type in known), None)


def _unfit(node: onnx.NodeProto, problem: str) -> ModelError:
    name = node.name or f"that computes {next(iter(node.output), 'nothing')}"
    sentence = " ".join(f"The {node.op_type} node {name} {problem}".split()).rstrip(" .")
    return ModelError(f"{sentence}.", "Mend the model; `onnx.checker` may say more.")


def _drop_training_import(model: onnx.ModelProto) -> None:
    """A domain without a node, and without a function that imports it, need not be imported."""
    nodes = chain.from_iterable(map(nodes_of, graphs_of(model)))
    imported = chain.from_iterable(function.opset_import for function in model.functions)
    left = DOMAINS - {thing.domain for thing in chain(nodes, imported, model.functions)}
    kept = [entry for entry in model.opset_import if entry.domain not in left]
    del model.opset_import[:]
    model.opset_import.extend(kept)


def _fresh_names(taken: set[str]) -> Callable[[str], str]:
    """Gives names that are not taken, each once."""

    def fresh(hint: str) -> str:
        number = len(taken)
        while (name := f"{hint}_{number}") in taken:
            number += 1
        taken.add(name)
        return name

    return fresh
