"""What may be missing in a model though onnx's checker takes it: functions, their outputs, elements of tensors."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from conformance.models.arrays import array_of
from conformance.models.functions import called_name, name_of_function
from conformance.models.graphs import all_nodes, graphs_of, inner_graphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import onnx

    from conformance.models.functions import FunctionName


def loose_ends(model: onnx.ModelProto) -> Iterator[str]:
    """`nothing gives the output B of the function acme.Largest`, `the tensor W has not the elements of its shape`."""
    for function in model.functions:
        given = {*function.input, *(name for node in function.node for name in node.output)}
        yield from (
            f"nothing gives the output {name} of the function {_written(name_of_function(function))}"
            for name in function.output
            if name not in given
        )
    functions = {name_of_function(function): function for function in model.functions}
    for node in all_nodes(model):
        function = functions.get(called_name(node))
        if function is not None and len(node.output) > len(function.output):
            yield f"a call of the function {_written(called_name(node))} takes more outputs than it has"
    for tensor in _tensors(model):
        try:
            array_of(tensor)
        except (KeyError, TypeError, NotImplementedError):
            continue  # an element type that the installed onnx does not know
        except ValueError:
            yield f"the tensor {tensor.name or 'of an attribute'} has not the elements of its shape"


def lost_functions(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    """`the function acme.Largest is called, and is gone`: what a model called and had, and another one only calls."""
    gone = {*map(name_of_function, before.functions)} - {*map(name_of_function, after.functions)}
    called = {called_name(node) for node in all_nodes(after)} if gone else set()
    yield from (f"the function {_written(name)} is called, and is gone" for name in sorted(gone & called) if name[0])


def _written(name: FunctionName) -> str:
    domain, op_type, overload = name
    return f"{domain or 'ai.onnx'}.{op_type}{overload and f':{overload}'}"


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors that are stored in a model's graphs and attributes."""
    nodes = list(all_nodes(model))
    for graph in chain(graphs_of(model), *map(inner_graphs, nodes)):
        yield from _inside(graph.initializer)
    for attribute in chain.from_iterable(node.attribute for node in nodes):
        yield from _inside([attribute.t] if attribute.HasField("t") else attribute.tensors)


def _inside(tensors: Iterable[onnx.TensorProto]) -> Iterator[onnx.TensorProto]:
    return (tensor for tensor in tensors if tensor.data_location != tensor.EXTERNAL)
