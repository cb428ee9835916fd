"""Nothing else is lost: what a model says about itself, how it is quantized and trained, its functions.

Of a graph optimizer that claims the pass everything is to stay that is not about the operators removed. Without the
claim functions may be inlined, initializers dropped, nodes and values renamed and the producer be another; what a model
says about itself and how it is trained may not be lost even so.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from conformance.models.canonical import tensor_key
from conformance.models.differences import first_difference
from conformance.models.scopes import Scope
from conformance.models.storage import as_raw
from conformance.models.types import described, undenoted
from conformance.passes.expected import produced
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import onnx

    from conformance.judging.rewriting import Rewriting

LEVEL = Level.SHOULD
CLAUSES = ("monotone.preservation",)
"""The passages say what these fields are for; none says that a graph optimizer has to keep one of them."""

_OF_A_MODEL = ("doc_string", "domain", "model_version")
_OF_THE_PASS = ("ir_version", "producer_name", "producer_version")
_OF_A_NODE = ("name", "doc_string")


def complaint(rewriting: Rewriting) -> str | None:
    """`metadata author of the model is gone`."""
    before, after = rewriting.before, rewriting.after
    found = _of_any(before, after)
    return next(chain(found, _of_the_pass(before, after)) if rewriting.claims else found, None)


def _of_any(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    """What no graph optimizer may lose."""
    yield from _fields("the model", before, after, _OF_A_MODEL)
    yield from _metadata("the model", before, after)
    yield from _fields("the graph", before.graph, after.graph, ("doc_string",))
    yield from _metadata("the graph", before.graph, after.graph)
    yield from _annotations(before.graph, after.graph)
    for number, info in enumerate(before.training_info):
        if number >= len(after.training_info):
            yield f"training_info[{number}] is gone"
        elif difference := first_difference(info, after.training_info[number]):
            yield f"training_info[{number}] is changed: {difference}"


def _of_the_pass(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    """What the pass leaves as well."""
    yield from _fields("the model", before, after, _OF_THE_PASS)
    yield from _fields("the graph", before.graph, after.graph, ("name",))
    yield from _kept("function", before.functions, after.functions, _function, _content_differs)
    configurations = before.configuration, after.configuration
    yield from _kept("configuration", *configurations, lambda entry: str(entry.name), first_difference)
    scopes = {scope.path: scope.graph for scope in Scope(after, after.graph).walk()}
    for scope in Scope(before, before.graph).walk():
        if scope.path in scopes:
            yield from _of_graphs(scope.path, scope.graph, scopes[scope.path])
    yield from _nodes(before, after)


def _of_graphs(path: str, before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[str]:
    if path:
        yield from _of_subgraphs(path, before, after)
    yield from _values(path, before, after)
    named = (lambda tensor: f"{path}{tensor.name}"), _tensors_differ
    defaults = set() if path else {value.name for value in before.input}  # these are the interface's
    constants = [tensor for tensor in before.initializer if tensor.name not in defaults]
    yield from _kept("initializer", constants, after.initializer, *named)
    sparse = (lambda tensor: f"{path}{tensor.values.name}"), _content_differs
    yield from _kept("sparse initializer", before.sparse_initializer, after.sparse_initializer, *sparse)
    made = {name for node in after.node for name in node.output}
    still = [value for value in before.value_info if value.name in made]
    yield from _kept("value_info", still, after.value_info, lambda value: f"{path}{value.name}", _infos_differ)


def _of_subgraphs(path: str, before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[str]:
    """What a graph in a node says of itself, and of what goes in and out: the interface is the main graph's."""
    yield from _fields(f"the graph {path[:-1]}", before, after, ("name", "doc_string"))
    yield from _metadata(f"the graph {path[:-1]}", before, after)
    yield from _annotations(before, after, path)
    for old, new in ((before.input, after.input), (before.output, after.output)):
        for value, left in zip(old, new, strict=False):
            if undenoted(value.type) != undenoted(left.type):
                yield f"type of {path}{value.name} changed from {described(value.type)} to {described(left.type)}"


def _kept(
    what: str,
    before: Iterable[Any],
    after: Iterable[Any],
    name: Callable[[Any], str],
    difference: Callable[[Any, Any], str | None],
) -> Iterator[str]:
    """What is gone or changed of things that have names."""
    left = {name(thing): thing for thing in after}
    for thing in before:
        if name(thing) not in left:
            yield f"{what} {name(thing)} is gone"
        elif changed := difference(thing, left[name(thing)]):
            yield f"{what} {name(thing)} is changed: {changed}"


def _tensors_differ(before: onnx.TensorProto, after: onnx.TensorProto) -> str | None:
    if tensor_key(before) != tensor_key(after):
        return "it has another type, shape or content"
    return next(chain(_fields("it", before, after, ("doc_string",)), _metadata("it", before, after)), None)


def _content_differs(before: Any, after: Any) -> str | None:
    """In what messages differ, however their tensors are stored."""
    difference = first_difference(before, after)
    return difference and first_difference(as_raw(before), as_raw(after)) and difference


def _infos_differ(before: onnx.ValueInfoProto, after: onnx.ValueInfoProto) -> str | None:
    old, new = described(before.type), described(after.type)
    return first_difference(before, after) if old == new else f"it was {old} and is {new}"


def _function(function: onnx.FunctionProto) -> str:
    return f"{function.domain}.{function.name}{f':{function.overload}' if function.overload else ''}"


def _fields(what: str, before: Any, after: Any, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"{name} of {what} is gone" if not new else f"{name} of {what} changed from {old!r} to {new!r}"


def _metadata(what: str, before: Any, after: Any) -> Iterator[str]:
    old, new = _properties(before), _properties(after)
    for key, value in old.items():
        if key not in new:
            yield f"metadata {key} of {what} is gone"
        elif new[key] != value:
            yield f"metadata {key} of {what} changed from {value!r} to {new[key]!r}"


def _properties(message: Any) -> Mapping[str, str]:
    return {entry.key: entry.value for entry in message.metadata_props}


def _annotations(before: onnx.GraphProto, after: onnx.GraphProto, path: str = "") -> Iterator[str]:
    """Quantization annotations of tensors that are still there."""
    there = {value.name for value in (*after.input, *after.initializer)}
    there.update(name for node in after.node for name in node.output)
    still = [note for note in before.quantization_annotation if note.tensor_name in there]
    name = "quantization annotation of", still, after.quantization_annotation
    yield from _kept(*name, lambda note: f"{path}{note.tensor_name}", first_difference)


def _nodes(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    """What nodes say about themselves, where they make the same value as before."""
    left = dict(produced(after))
    for path, node in produced(before):
        if path in left and left[path].op_type == node.op_type:
            yield from _fields(f"the {node.op_type} that makes {path}", node, left[path], _OF_A_NODE)
            yield from _metadata(f"the {node.op_type} that makes {path}", node, left[path])
            devices = node.device_configurations, left[path].device_configurations
            yield from _kept(
                f"what {path} runs on by", *devices, lambda entry: entry.configuration_id, first_difference
            )
            yield from _attributes(f"the {node.op_type} that makes {path}", node, left[path])


def _attributes(what: str, before: onnx.NodeProto, after: onnx.NodeProto) -> Iterator[str]:
    """What attributes say about themselves; what they hold is the structure's."""
    left = {attribute.name: attribute for attribute in after.attribute}
    for attribute in before.attribute:
        if attribute.name in left:
            yield from _fields(f"{attribute.name} of {what}", attribute, left[attribute.name], ("doc_string",))


def _values(path: str, before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[str]:
    """What inputs and outputs say about themselves; their types are the interface's, but for what they denote."""
    for what, old, new in (("input", before.input, after.input), ("output", before.output, after.output)):
        left = {value.name: value for value in new}
        for value in old:
            if value.name in left:
                name = f"{what} {path}{value.name}"
                yield from _fields(name, value, left[value.name], ("doc_string",))
                yield from _metadata(name, value, left[value.name])
                if changed := _denotations_differ(value.type, left[value.name].type):
                    yield f"denotation of {name} is changed: {changed}"


def _denotations_differ(before: onnx.TypeProto, after: onnx.TypeProto) -> str | None:
    """In what the denotations differ of types that do not differ otherwise."""
    return first_difference(before, after) if undenoted(before) == undenoted(after) else None
