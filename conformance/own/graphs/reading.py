"""Reading of a user's model: its external data, the order of its nodes, and the declarations of its outputs.

Converters write models whose nodes are not sorted or whose outputs have no declared shape. Such a model is completed
when it is read. A model that cannot be completed is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import onnx

from conformance.base.errors import ModelError
from conformance.base.files.atomic_write import real_path, supervised_temp_dir
from conformance.base.plugins import registered_entry_points
from conformance.base.serialization.decoding import Count  # noqa: TC001 - msgspec reads the annotations
from conformance.exact.models.external_data import (
    external_bytes,
    external_tensors,
    load_tensor,
    move_to_file,
    needed_bytes,
    without_external_data,
)
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
from conformance.exact.models.model_validity import (
    MAX_MODEL_BYTES,
    invalid_model,
    model_violation,
    open_outputs,
    read_model,
    with_known_ranks,
)
from conformance.own.graphs.inlining import inline_functions
from conformance.subjects.calling.harness import MAX_LOADED_BYTES as MAX_MERGED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.subjects.calling.subject_names import SubjectName

MAX_LOADED_BYTES = 2**28
"""Size of the initializers up to which the model has all of them; large ones of a larger model stay in files."""

MIN_MAPPED_BYTES = 2**16
"""Size of an initializer from which it stays in a file; smaller ones may be sizes, which shape inference reads."""


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
        data_folder: the folder of external data that is not loaded; None if the model has all tensors.
    """

    path: Path
    digest: str
    original: onnx.ModelProto
    prepared: onnx.ModelProto
    data_folder: Path | None = None

    @classmethod
    def read(cls, path: Path, *, scratch: Path | None = None) -> LoadedModel:
        """Read a model and the tensors that it has in other files of its folder.

        Args:
            path: the file of the model.
            scratch: a folder to which large initializers in the model's file are moved, so that the many copies and
                parts of the model share them; None to leave them in the model.

        Raises:
            ModelError: the model cannot be read, is invalid or larger than 2 GiB, names a file outside its folder, or
                has too many calls of functions.
        """
        with suppress(OSError):
            if path.stat().st_size > MAX_MODEL_BYTES:
                raise ModelError("too-large.file", path=path)
        content, model = read_model(path)
        data_folder = _load_external_data(model, path)
        if data_folder is None and scratch is not None:
            data_folder = _move_initializers(model, scratch)
        complete(model, str(path))
        ((most, times),) = Counter(value.name for value in model.graph.output).most_common(1) or [("", 0)]
        if times > 1:  # onnx's checker accepts it
            raise invalid_model(path, model, f"the graph lists the output {most} twice")
        violation = model_violation(with_known_ranks(without_external_data(model), open_outputs(model)))
        if violation is not None:
            raise invalid_model(path, model, violation)
        prepared = with_inferred_types(inline_functions(model))
        sparse = (prod(each.dims) for graph in all_graphs(prepared) for each in graph.sparse_initializer)
        if sum(sparse) > MAX_DENSE_ELEMENTS:
            raise ModelError("too-large.inputs", path=path, most=MAX_DENSE_ELEMENTS)
        return cls(path, hashlib.sha256(content).hexdigest(), model, prepared, data_folder)


@contextmanager
def shared_weights(paths: Sequence[Path], subjects: Sequence[SubjectName]) -> Iterator[Path | None]:
    """Yield a folder to which `LoadedModel.read` moves the initializers of a large model file; None if they must stay.

    They stay if a subject may not read external data, or if no subject runs the model here.

    Args:
        paths: the files of the models.
        subjects: the subjects that run the models.
    """
    largest = max((path.stat().st_size for path in paths if path.is_file()), default=0)
    if largest > MAX_LOADED_BYTES and subjects and all(_takes_external_data(each, largest) for each in subjects):
        with supervised_temp_dir() as folder:
            yield folder
    else:
        yield None


def _takes_external_data(subject: SubjectName, size: int) -> bool:
    """Return whether a subject runs models with external data; a module of the user gets them with all tensors."""
    if subject.is_command or subject.name in READERS_OF_FILES:
        return not subject.is_command
    return size <= MAX_MERGED_BYTES and subject.name not in registered_entry_points(subject.kind.group)


READERS_OF_FILES = ("onnxruntime", "onnx-reference")
"""The subjects whose adapters read external data, in each of their releases."""


def in_common_folder(first: LoadedModel, second: LoadedModel) -> tuple[LoadedModel, LoadedModel]:
    """Return two models whose external data is relative to one folder."""
    folders = [each.data_folder for each in (first, second) if each.data_folder is not None]
    common = Path(os.path.commonpath(folders)) if folders else None
    return _relative_to(common, first), _relative_to(common, second)


def _relative_to(folder: Path | None, model: LoadedModel) -> LoadedModel:
    """Return a model whose external data is relative to a folder above its own folder of external data."""
    if folder is None or model.data_folder is None or model.data_folder == folder:
        return replace(model, data_folder=folder)
    changed = {name: copy_of(getattr(model, name)) for name in ("original", "prepared")}
    for tensor in chain.from_iterable(map(external_tensors, changed.values())):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = str((model.data_folder / entry.value).relative_to(folder))
    return replace(model, **changed, data_folder=folder)


def _load_external_data(model: onnx.ModelProto, path: Path) -> Path | None:
    """Load the tensors in external data; return the folder if the initializers are too large and stay there.

    Raises:
        ModelError: a tensor cannot be read, or those that must be loaded are too large.
    """
    folder = real_path(path.parent)
    tensors = list(external_tensors(model))
    sizes = {id(tensor): external_bytes(tensor, folder).nbytes for tensor in tensors}
    kept: set[int] = set()
    if sum(sizes.values()) > MAX_LOADED_BYTES:
        kept = {id(tensor) for tensor in model.graph.initializer if sizes.get(id(tensor), 0) >= MIN_MAPPED_BYTES}
    loaded = [tensor for tensor in tensors if id(tensor) not in kept]
    if sum(sizes[id(tensor)] for tensor in loaded) > MAX_MODEL_BYTES // 2:
        raise ModelError("too-large.subgraphs", path=path)
    for tensor in loaded:
        load_tensor(tensor, external_bytes(tensor, folder))
    return folder if kept else None


def _move_initializers(model: onnx.ModelProto, scratch: Path) -> Path | None:
    """Move the large initializers of a large model to a file; return its folder, or None if the model is not large.

    A tensor whose bytes do not fit its type and shape stays, for onnx's checker.
    """
    large = [tensor for tensor in model.graph.initializer if len(tensor.raw_data) >= MIN_MAPPED_BYTES]
    moved = [tensor for tensor in large if _has_needed_bytes(tensor)]
    if sum(len(tensor.raw_data) for tensor in moved) <= MAX_LOADED_BYTES:
        return None
    folder = real_path(scratch)
    move_to_file(moved, folder / f"{len(list(folder.iterdir()))}.bin")
    return folder


def _has_needed_bytes(tensor: onnx.TensorProto) -> bool:
    try:
        return len(tensor.raw_data) == needed_bytes(tensor)
    except ValueError:
        return False


def complete(model: onnx.ModelProto, name: str) -> None:
    """Sort the nodes of a model, and declare the types and shapes of its outputs, in place.

    An output of a known element type stays without shape if its rank cannot be inferred; a run then has it.

    Args:
        model: the model.
        name: the name of the model for an error.

    Raises:
        ModelError: the nodes have a cycle, or the type of an output cannot be inferred.
    """
    for holder in (model.graph, *model.functions):
        _sort_nodes(holder, set(), name)
    for value in model.graph.output:
        if value.type.tensor_type.elem_type not in onnx.TensorProto.DataType.values():
            raise ModelError("output-without-shape.type", name=name, output=value.name)
    lacking = [value for value in model.graph.output if not _is_declared(value)]
    inferred = (
        {value.name: value for value in with_inferred_types(inline_functions(model)).graph.output} if lacking else {}
    )
    for value in lacking:
        if _is_declared(inferred[value.name]) or not value.type.tensor_type.elem_type:
            value.CopyFrom(inferred[value.name])
        if not value.type.WhichOneof("value") or (not _is_declared(value) and not value.type.tensor_type.elem_type):
            raise ModelError("output-without-shape.type", name=name, output=value.name)


def _own_constants(graph: onnx.GraphProto | onnx.FunctionProto) -> set[str]:
    """Return the names of the inputs and initializers of a graph, or of the inputs of a function."""
    if isinstance(graph, onnx.FunctionProto):
        return set(graph.input)
    return {value.name for value in graph.input} | constant_names(graph)


def _is_declared(value: onnx.ValueInfoProto) -> bool:
    kind = value.type.WhichOneof("value")
    tensor = value.type.tensor_type
    return kind is not None and (kind != "tensor_type" or bool(tensor.elem_type and tensor.HasField("shape")))


def _sort_nodes(graph: onnx.GraphProto | onnx.FunctionProto, outer: set[str], name: str) -> None:
    """Sort the nodes of a graph and of its subgraphs topologically, in place, with as few moves as possible.

    Args:
        graph: the graph.
        outer: the values of the enclosing graphs; a node before a definition of the same name takes such a value.
            The set is changed while subgraphs are sorted: a new one for each would take quadratic time.
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
    own = {*makers, *_own_constants(graph)} - outer
    outer |= own
    for node in graph.node:
        for inner in subgraphs_of(node):
            _sort_nodes(inner, outer, name)
    outer -= own
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
