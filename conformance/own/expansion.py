"""Expansion of training optimizers: replace Adam, Momentum and Adagrad nodes by primitive ONNX operators.

`expand` first inlines the model-local functions that contain an optimizer. Then it replaces each optimizer node by the
nodes that the operator's formula emits (see `conformance.exact.reference.numbers.symbolic`). The result needs only
operators of opset 13.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import shape_inference

from conformance.base.errors import ModelError, UsageError
from conformance.base.files.atomic_write import real_path, write_bytes_atomically
from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    all_nodes,
    called_name,
    copy_of,
    function_name,
    has_external_data,
    infer_shapes,
    iter_nodes,
    names_in_model,
    subgraphs_of,
    top_level_graphs,
)
from conformance.exact.models.model_validity import read_model, report_invalid_model
from conformance.exact.models.renaming import FreshNames
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.numbers.symbolic import INT64, Term, TermEmitter, TermFactory, trace
from conformance.exact.reference.operators.training_optimizers import (
    TRAINING_DOMAINS,
    TRAINING_OPTIMIZERS,
    find_training_optimizer,
)
from conformance.own.graphs.inlining import inline_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from conformance.exact.models.graphs import FunctionName


def is_training_optimizer(node: onnx.NodeProto) -> bool:
    """Return whether a node is Adam, Momentum or Adagrad."""
    return find_training_optimizer(node.domain, node.op_type) is not None


def has_training_optimizers(model: onnx.ModelProto) -> bool:
    """Return whether a model or one of its functions has a training optimizer."""
    return any(is_training_optimizer(node) for node in all_nodes(model))


def inline_optimizer_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with inlined functions that contain a training optimizer or have the name of one.

    Raises:
        ModelError: the calls are recursive or too many, the model also has training information, or the opset imports
            of a function differ from those of the model.
    """
    names = _functions_to_inline(model)
    if names and model.training_info:
        raise ModelError("functions-and-training-info")
    inlined = inline_functions(model, names.__contains__)
    if left := names.intersection(map(function_name, inlined.functions)):
        domain, name, _ = min(left)
        raise ModelError("inlining-failed", domain=domain, name=name)
    return inlined


def _functions_to_inline(model: onnx.ModelProto) -> set[FunctionName]:
    """Return the names of the functions that `inline_optimizer_functions` inlines.

    They contain a training optimizer, call a function that contains one, or have the name of a training optimizer.
    """
    calls = {function_name(function): set(map(called_name, iter_nodes(function))) for function in model.functions}
    optimizers = {(optimizer.domain, name) for name, optimizer in TRAINING_OPTIMIZERS.items()}
    found = {name for name, called in calls.items() if optimizers & {each[:2] for each in (name, *called)}}
    while more := {name for name, called in calls.items() if called & found} - found:
        found |= more
    return found


OPSET = 13
"""Smallest version of the default domain that the emitted operators need."""
MIN_IR_VERSION = 4
"""Smallest IR version in which an initializer need not be a graph input."""

UNKNOWN = np.dtype(object)
TENSOR_TYPES = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}


def expand(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model in which primitive operators replace Adam, Momentum and Adagrad.

    Nodes in subgraphs (If, Loop, Scan) and in training information are replaced too.

    Raises:
        ModelError: the opset or IR version is too old, a node does not match its schema, a tensor type cannot be
            inferred, or function calls are recursive or too many.
    """
    if not has_training_optimizers(model):
        return copy_of(model)
    expanded = inline_optimizer_functions(model)
    _require_primitives(expanded)
    fresh = FreshNames(names_in_model(expanded))

    def new_emitter(op_type: str) -> TermEmitter:
        return TermEmitter(lambda hint: fresh.take_numbered(f"{op_type}_{hint}"))

    graphs = top_level_graphs(expanded)
    typed_graphs = top_level_graphs(_infer_types(expanded))
    main = ChainMap(_types(typed_graphs[0]))
    for graph, typed in zip(graphs, typed_graphs, strict=True):
        _expand_graph(graph, typed, main, new_emitter)
    _drop_training_import(expanded)
    return expanded


def expand_file(model: Path, output: Path) -> bool:
    """Write the expansion of a model's file, or a copy of the file; return whether it has a training optimizer.

    Raises:
        ConformanceError: the model cannot be read or expanded, the output cannot be written, or the model has external
            data and the output would be in another folder.
    """
    content, proto = read_model(model)
    if has_external_data(proto) and real_path(output).parent != real_path(model).parent:
        raise UsageError("external-data", model=model)
    is_expanded = has_training_optimizers(proto)
    with report_invalid_model(model, proto):
        new = expand(proto).SerializeToString(deterministic=True) if is_expanded else content
    try:
        write_bytes_atomically(output, new)
    except OSError as error:
        raise UsageError("cannot-write.output", output=output, reason=error.strerror) from None
    return is_expanded


def _require_primitives(model: onnx.ModelProto) -> None:
    """Raise ModelError if the IR version or the opset is too old for the operators that `expand` emits."""
    if model.ir_version < MIN_IR_VERSION:
        raise ModelError("ir-version-too-old", ir_version=model.ir_version, least=MIN_IR_VERSION)
    imported = [entry for entry in model.opset_import if entry.domain in MAIN_DOMAINS]
    entry = imported[0] if imported else model.opset_import.add(domain="", version=OPSET)
    if entry.version < OPSET:
        raise ModelError("opset-too-old", version=entry.version, least=OPSET)


def _infer_types(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return infer_shapes(model)
    except (shape_inference.InferenceError, ValueError) as error:
        problem = " ".join(str(error).split()).rstrip(".")
        raise ModelError("type-inference-failed", problem=problem) from None


def _types(graph: onnx.GraphProto) -> dict[str, int]:
    """Return the known element types of the graph's own values by name."""
    declared = chain(graph.input, graph.value_info, graph.output)
    types = {value.name: value.type.tensor_type.elem_type for value in declared}
    return {**types, **{tensor.name: tensor.data_type for tensor in graph.initializer}}


def _expand_graph(
    graph: onnx.GraphProto,
    inferred: onnx.GraphProto,
    outer: ChainMap[str, int],
    new_emitter: Callable[[str], TermEmitter],
) -> None:
    """Replace the optimizers of a graph and of its subgraphs, in place.

    Args:
        graph: the graph to change.
        inferred: the same graph with inferred types.
        outer: element types of the values of the enclosing graphs, by name.
        new_emitter: creates an empty emitter for an optimizer of the given type.
    """
    types = ChainMap(_types(inferred), *outer.maps)
    nodes: list[onnx.NodeProto] = []
    for node, typed in zip(graph.node, inferred.node, strict=True):
        for inner, inner_typed in zip(subgraphs_of(node), subgraphs_of(typed), strict=True):
            _expand_graph(inner, inner_typed, types, new_emitter)
        if is_training_optimizer(node):
            emitted = new_emitter(node.op_type)
            emitted.emit(_ExpansionContext.of(node, types).results())
            nodes += emitted.nodes
            graph.initializer.extend(emitted.constants)
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


@dataclass(frozen=True)
class _ExpansionContext:
    """An optimizer node with the types that are visible at its position.

    Attributes:
        attributes: attribute values, including defaults of the schema.
        count: number of tensors that the node optimizes.
        types: element types of the visible values by name.
    """

    node: onnx.NodeProto
    attributes: Mapping[str, Any]
    count: int
    types: Mapping[str, int]

    @classmethod
    def of(cls, node: onnx.NodeProto, types: Mapping[str, int]) -> _ExpansionContext:
        """Return the context of a training optimizer's node.

        Raises:
            ModelError: the attributes, inputs or outputs do not match the operator's schema.
        """
        signature = TRAINING_OPTIMIZERS[node.op_type]
        count, rest = divmod(len(node.input) - 2, len(signature.operands))
        if count < 1 or rest or not all(node.input):
            raise _invalid_node(
                node, f"has {len(node.input)} inputs instead of R, T and {len(signature.operands)} per tensor"
            )
        if len(node.output) != count * len(signature.results):
            raise _invalid_node(node, f"has {len(node.output)} outputs instead of {len(signature.results)} per tensor")
        try:
            attributes = signature.complete_attributes(attribute_values(node.attribute))
        except (Unsupported, ValueError) as error:
            raise _invalid_node(node, f"has attributes that do not match its schema: {error}") from None
        for name, value in attributes.items():
            if not isinstance(value, str if name in signature.allowed_values else float):
                raise _invalid_node(node, f"has attributes that do not match its schema: {name} is {value!r}")
        return cls(node, attributes, count, types)

    def results(self) -> dict[str, Term]:
        """Return the symbolic expression of each output of the node, by name."""
        terms = TermFactory()
        R = terms.named_value(self.node.input[0], self._type_of(self.node.input[:1]) or UNKNOWN)
        T = terms.named_value(self.node.input[1], INT64)
        by_tensor = [self._tensor(i, R, T) for i in range(self.count)]
        ordered = [result for results in zip(*by_tensor, strict=True) for result in results]
        return {name: term for name, term in zip(self.node.output, ordered, strict=True) if name}

    def _tensor(self, i: int, R: Term, T: Term) -> list[Term]:
        operands = self.node.input[2 + i :: self.count]
        outputs = self.node.output[i :: self.count]
        dtype = self._type_of([*operands, *outputs])
        if dtype is None:
            raise _invalid_node(self.node, f"computes on {operands[0]}, whose type is not known to be float or double")
        attributes = {
            name: R.factory.constant(value, dtype) if isinstance(value, float) else value
            for name, value in self.attributes.items()
        }
        tensors = [R.factory.named_value(name, dtype) for name in operands]
        try:
            return trace(TRAINING_OPTIMIZERS[self.node.op_type].formula, R, T, tensors, attributes)
        except ValueError as error:  # of an unknown mode
            raise _invalid_node(self.node, f"cannot be computed: {error}") from None

    def _type_of(self, names: Iterable[str]) -> np.dtype[Any] | None:
        """Return the type of the values `names`, which all have the same type; None if it is unknown."""
        known = (self.types[name] for name in names if self.types.get(name) in TENSOR_TYPES)
        return next((dtype_of(elem_type) for elem_type in known), None)


def _invalid_node(node: onnx.NodeProto, problem: str) -> ModelError:
    name = node.name or f"that computes {next(iter(node.output), 'nothing')}"
    sentence = " ".join(f"The {node.op_type} node {name} {problem}".split()).rstrip(" .")
    return ModelError("invalid-node", sentence=sentence)


def _drop_training_import(model: onnx.ModelProto) -> None:
    """Remove the import of the training domain unless a node or a function still uses it."""
    nodes = chain.from_iterable(map(iter_nodes, top_level_graphs(model)))
    imported = chain.from_iterable(function.opset_import for function in model.functions)
    left = TRAINING_DOMAINS - {thing.domain for thing in chain(nodes, imported, model.functions)}
    kept = [entry for entry in model.opset_import if entry.domain not in left]
    del model.opset_import[:]
    model.opset_import.extend(kept)
