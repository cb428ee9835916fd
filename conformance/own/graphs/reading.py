"""Reading of a user's model: its external data, the order of its nodes, and the declarations of its outputs.

Converters write models whose nodes are not sorted or whose outputs have no declared shape. Such a model is completed
when it is read. A model that cannot be completed is refused.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import msgspec
import onnx
from onnx.helper import make_tensor_value_info

from conformance.base.errors import ModelError
from conformance.base.files.atomic_write import real_path
from conformance.base.serialization.decoding import Count  # noqa: TC001 - msgspec reads the annotations
from conformance.exact.models.external_data import external_bytes, external_tensors, is_packed
from conformance.exact.models.graphs import (
    all_graphs,
    constant_names,
    copy_of,
    names_taken_by,
    subgraphs_of,
    topological_order,
    with_inferred_types,
)
from conformance.exact.models.input_files import MAX_DENSE_ELEMENTS
from conformance.exact.models.model_validity import MAX_MODEL_BYTES, invalid_model, model_violation, read_model
from conformance.own.graphs.inlining import inline_functions

if TYPE_CHECKING:
    from pathlib import Path

MAX_LOADED_BYTES = 2**28
"""Size of the tensors in external data up to which they are loaded; larger ones are mapped into memory."""


class ModelRecord(msgspec.Struct, forbid_unknown_fields=True):
    """The model of a document: the name of its file, its SHA-256, and its number of nodes."""

    file: str
    sha256: str
    nodes: Count


@dataclass(frozen=True)
class LoadedModel:
    """A model of a user.

    Attributes:
        path: its file.
        digest: SHA-256 of the file.
        original: the model as in the file, completed, with external data loaded.
        prepared: the model without calls of model-local functions, and with inferred types.
        data_folder: the folder of external data that is not loaded; None if all tensors are loaded.
    """

    path: Path
    digest: str
    original: onnx.ModelProto
    prepared: onnx.ModelProto
    data_folder: Path | None = None

    @classmethod
    def read(cls, path: Path, *, loads_all: bool = False) -> LoadedModel:
        """Read a model and the tensors that it has in other files of its folder.

        Args:
            path: the file of the model.
            loads_all: whether all external data is loaded, because a subject or a graph optimizer will not find the
                folder: in this process it looks into the current folder, where another file may have the same name.

        Raises:
            ModelError: the model cannot be read, is invalid or larger than 2 GiB, names a file outside its folder, or
                has too many calls of functions.
        """
        with suppress(OSError):
            if path.stat().st_size > MAX_MODEL_BYTES:
                raise ModelError("too-large.file", path=path)
        content, model = read_model(path)
        data_folder = _load_external_data(model, path, MAX_MODEL_BYTES // 2 if loads_all else MAX_LOADED_BYTES)
        if loads_all and data_folder is not None:
            raise ModelError("too-large.to-load", path=path)
        complete(model, str(path))
        violation = model_violation(_without_external_data(model) if data_folder else model)
        if violation is not None:
            raise invalid_model(path, model, violation)
        prepared = with_inferred_types(inline_functions(model))
        sparse = (prod(each.dims) for graph in all_graphs(prepared) for each in graph.sparse_initializer)
        if sum(sparse) > MAX_DENSE_ELEMENTS:
            raise ModelError("too-large.inputs", path=path, most=MAX_DENSE_ELEMENTS)
        return cls(path, hashlib.sha256(content).hexdigest(), model, prepared, data_folder)


def _load_external_data(model: onnx.ModelProto, path: Path, most: int) -> Path | None:
    """Load the tensors in external data; return the folder if the initializers are too large and stay there.

    Args:
        model: the model.
        path: its file.
        most: the number of bytes up to which the initializers are loaded.

    Raises:
        ModelError: a tensor cannot be read, or those that must be loaded are too large.
    """
    folder = real_path(path.parent)
    tensors = list(external_tensors(model))
    sizes = {id(tensor): external_bytes(tensor, folder).nbytes for tensor in tensors}
    kept: set[int] = set()
    if sum(sizes.values()) > most:
        kept = {id(tensor) for tensor in model.graph.initializer if not is_packed(tensor)}
    loaded = [tensor for tensor in tensors if id(tensor) not in kept]
    if sum(sizes[id(tensor)] for tensor in loaded) > MAX_MODEL_BYTES // 2:
        raise ModelError("too-large.subgraphs", path=path)
    for tensor in loaded:
        tensor.raw_data = external_bytes(tensor, folder).tobytes()
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]
    return folder if kept else None


def _without_external_data(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model in which the initializers in external data are inputs, as onnx's checker needs it."""
    copy = copy_of(model)
    declared = {value.name for value in model.graph.input}
    for place in range(len(copy.graph.initializer) - 1, -1, -1):
        tensor = copy.graph.initializer[place]
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            if tensor.name not in declared:
                copy.graph.input.append(make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
            del copy.graph.initializer[place]
    return copy


def complete(model: onnx.ModelProto, name: str) -> None:
    """Sort the nodes of a model, and declare the types and shapes of its outputs, in place.

    Args:
        model: the model.
        name: the name of the model for an error.

    Raises:
        ModelError: the nodes have a cycle, or the shape of an output cannot be inferred.
    """
    for holder in (model.graph, *model.functions):
        _sort_nodes(holder, frozenset(), name)
    lacking = [value for value in model.graph.output if not _is_declared(value)]
    inferred = (
        {value.name: value for value in with_inferred_types(inline_functions(model)).graph.output} if lacking else {}
    )
    for value in lacking:
        if not _is_declared(inferred[value.name]):
            raise ModelError("output-without-shape", name=name, output=value.name)
        value.CopyFrom(inferred[value.name])


def _own_constants(graph: onnx.GraphProto | onnx.FunctionProto) -> set[str]:
    """Return the names of the inputs and initializers of a graph, or of the inputs of a function."""
    if isinstance(graph, onnx.FunctionProto):
        return set(graph.input)
    return {value.name for value in graph.input} | constant_names(graph)


def _is_declared(value: onnx.ValueInfoProto) -> bool:
    kind = value.type.WhichOneof("value")
    tensor = value.type.tensor_type
    return kind is not None and (kind != "tensor_type" or bool(tensor.elem_type and tensor.HasField("shape")))


def _sort_nodes(graph: onnx.GraphProto | onnx.FunctionProto, outer: frozenset[str], name: str) -> None:
    """Sort the nodes of a graph and of its subgraphs topologically, in place, with as few moves as possible.

    Args:
        graph: the graph.
        outer: the values of the enclosing graphs; a node before a definition of the same name takes such a value.
        name: the name of the model for an error.

    Raises:
        ModelError: the nodes have a cycle.
    """
    makers = {
        output: number
        for number, node in enumerate(graph.node)
        for output in node.output
        if output and output not in outer
    }
    visible = outer.union(makers, _own_constants(graph))
    for node in graph.node:
        for inner in subgraphs_of(node):
            _sort_nodes(inner, visible, name)
    uses = [[makers[taken] for taken in names_taken_by(node) if taken in makers] for node in graph.node]
    order = topological_order(uses, range(len(uses)))
    if len(order) < len(uses):
        waiting = graph.node[min({*range(len(uses))}.difference(order))]
        label = waiting.name or next(iter(waiting.output), waiting.op_type)
        raise ModelError("cyclic-graph", name=name, label=label)
    if order != sorted(order):
        nodes = list(type(graph)(node=(graph.node[number] for number in order)).node)
        del graph.node[:]
        graph.node.extend(nodes)
