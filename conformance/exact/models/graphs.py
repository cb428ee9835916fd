"""Structure of ONNX graphs: producers and uses of values, subgraphs, scopes, and calls of model-local functions.

The first part has facts about operators that several packages need, such as domains and default attributes. The next
part counts uses of values, also by subgraphs that capture a value of an enclosing graph. `UseDefIndex` keeps producers
and use counts while nodes are removed. `Scope` is a graph together with its position in the model. The last part
follows calls of model-local functions.
"""

from __future__ import annotations

import re
from bisect import bisect, insort
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from google.protobuf.message import Message  # type: ignore[import-untyped]
from onnx import AttributeProto, TensorProto, defs, shape_inference

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableSequence, Sequence

    import onnx


M = TypeVar("M", bound=Message)


MAIN_DOMAINS = {"", "ai.onnx"}
"""The two names of the standard operator domain."""


def normal_domain(domain: str) -> str:
    """Return a domain, and the empty name for the standard operator domain."""
    return "" if domain in MAIN_DOMAINS else domain


TRAINING_DOMAIN = "ai.onnx.preview.training"
"""Domain of the operators Adam, Momentum and Adagrad."""

ARGMAX_DEFAULTS: Mapping[str, Any] = {"axis": 0, "keepdims": 1, "select_last_index": 0}
"""Default attribute values of ArgMax."""


def softmax_default_axis(opset: int) -> int:
    """Return the default axis of Softmax and LogSoftmax: -1 since opset 13, otherwise 1."""
    return -1 if opset >= 13 else 1


def copy_of(message: M) -> M:
    """Return a copy of a message, such as a model, a node or a graph."""
    copy: M = type(message)()
    copy.CopyFrom(message)
    return copy


def is_operator(node: onnx.NodeProto, *op_types: str) -> bool:
    """Return whether a node is one of these operators of the main domain, by either name of the domain."""
    return node.op_type in op_types and node.domain in MAIN_DOMAINS


def onnx_op_type(node: onnx.NodeProto) -> str:
    """Return the op_type of a node if ONNX defines it in the domain of the node; otherwise an empty text.

    An `Adam` of another domain is not the operator of ONNX.
    """
    return node.op_type if defs.has(node.op_type, normal_domain(node.domain)) else ""


def operator_text(op_type: str, domain: str) -> str:
    """Return the name of an operator, with its domain unless that is the main domain."""
    return f"{domain}.{op_type}" if normal_domain(domain) else op_type


def main_opset(model: onnx.ModelProto) -> int:
    """Return the version of the main domain that a model imports; 1 if it imports none."""
    return next((entry.version for entry in model.opset_import if entry.domain in MAIN_DOMAINS), 1)


def count_local_uses(graph: onnx.GraphProto) -> Counter[str]:
    """Return how often each value is an input of the graph's own nodes or an output of the graph, by name."""
    taken = Counter(name for node in graph.node for name in node.input)
    taken.update(value.name for value in graph.output)
    return taken


def count_captures(graph: onnx.GraphProto) -> Counter[str]:
    """Return how often subgraphs, at any depth, use each value of the graph, by name."""
    counts: Counter[str] = Counter()
    for node in graph.node:
        for _, inner in attribute_graphs(node):
            counts.update(count_free_uses(inner))
    return counts


def constant_names(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the initializers of a graph, dense and sparse."""
    return {tensor.name for tensor in graph.initializer} | {each.values.name for each in graph.sparse_initializer}


def count_free_uses(graph: onnx.GraphProto) -> Counter[str]:
    """Return how often a subgraph uses each value of the enclosing graphs, by name.

    A value that the subgraph defines itself takes precedence over an enclosing value of the same name.
    """
    own = {value.name for value in graph.input} | constant_names(graph)
    counts: Counter[str] = Counter()
    for node in graph.node:
        counts.update(name for name in node.input if name not in own)
        for _, inner in attribute_graphs(node):
            counts.update({name: count for name, count in count_free_uses(inner).items() if name not in own})
        own.update(node.output)
    counts.update(value.name for value in graph.output if value.name not in own)
    return counts


class UseDefIndex:
    """Producers and use counts of the values of one graph.

    The index stays correct if the graph is changed only by the methods of this class. Construction takes time linear in
    the number of nodes and edges. Removing a node takes time that does not depend on the size of the graph.
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.nodes: Sequence[onnx.NodeProto] = list(graph.node)
        self._places = {id(node): place for place, node in enumerate(self.nodes)}
        self._makers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in self.nodes:
            for name in dict.fromkeys(node.output):
                self._makers[name].append(node)
        self._uses = count_local_uses(graph) + count_captures(graph)
        self._node_field = _RemovableEntries(graph.node, id)
        self._annotations = (
            _RemovableEntries(graph.value_info, lambda value: value.name),
            _RemovableEntries(graph.quantization_annotation, lambda note: note.tensor_name),
        )

    def producer(self, name: str) -> onnx.NodeProto | None:
        """Return the first node that has this value as an output, or None."""
        makers = self._makers.get(name) if name else None
        return makers[0] if makers else None

    def use_count(self, name: str) -> int:
        """Return how often a value is used: as node input, as graph output and in subgraphs."""
        return self._uses[name]

    def is_defined_between(self, name: str, first: onnx.NodeProto, last: onnx.NodeProto) -> bool:
        """Return whether a node between `first` and `last`, both excluded, has an output of this name."""
        start = self._places[id(first)]
        end = self._places[id(last)]
        return any(start < self._places[id(maker)] < end for maker in self._makers.get(name, ()))

    def set_first_input(self, node: onnx.NodeProto, name: str) -> None:
        """Replace the first input of a node."""
        self._uses[node.input[0]] -= 1
        self._uses[name] += 1
        node.input[0] = name

    def remove(self, node: onnx.NodeProto) -> None:
        """Remove a node from the graph. The node must not have subgraphs."""
        self._uses.subtract(node.input)
        for name in dict.fromkeys(node.output):
            self._makers[name] = [maker for maker in self._makers[name] if maker is not node]
        self._node_field.remove(id(node))

    def remove_annotations(self, name: str) -> None:
        """Remove a value's entries from `value_info` and `quantization_annotation`."""
        for entries in self._annotations:
            entries.remove(name)


class _RemovableEntries:
    """Repeated protobuf field from which entries are removed by key, without searching the field."""

    def __init__(self, entries: MutableSequence[Any], key: Callable[[Any], Hashable]) -> None:
        self._entries = entries
        self._places: dict[Hashable, list[int]] = defaultdict(list)
        for place, entry in enumerate(entries):
            self._places[key(entry)].append(place)
        self._gone: list[int] = []

    def remove(self, key: Hashable) -> None:
        for place in self._places.pop(key, ()):
            del self._entries[place - bisect(self._gone, place)]
            insort(self._gone, place)


def top_level_graphs(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    """Return the graphs that are not subgraphs: the main graph, then the graphs of the training information."""
    return [model.graph, *(graph for info in model.training_info for graph in (info.initialization, info.algorithm))]


def iter_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Yield all nodes of a graph or function, including those of subgraphs."""
    for node in graph.node:
        yield node
        for inner in subgraphs_of(node):
            yield from iter_nodes(inner)


def attribute_graphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """Yield each subgraph of a node with the name of its attribute, followed by an index for type GRAPHS."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
            yield attribute.name, attribute.g
        for number, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{number}]", graph


def names_taken_by(node: onnx.NodeProto) -> list[str]:
    """Return the names of the values that a node takes, and of those that its subgraphs capture, each once."""
    names = dict.fromkeys(node.input)
    if node.attribute:
        names |= dict.fromkeys(chain.from_iterable(count_free_uses(inner) for inner in subgraphs_of(node)))
    names.pop("", None)
    return [*names]


def find_producers(graph: onnx.GraphProto) -> dict[str, int]:
    """Return the number of the node that makes each value of a graph."""
    return {name: number for number, node in enumerate(graph.node) for name in node.output if name}


def graph_edges(graph: onnx.GraphProto) -> list[tuple[int, int]]:
    """Return the pairs of positions of nodes of which the second takes, or captures, a result of the first."""
    producers = find_producers(graph)
    edges = dict[tuple[int, int], None]()
    for number, node in enumerate(graph.node):
        edges.update(dict.fromkeys((producers[name], number) for name in names_taken_by(node) if name in producers))
    return list(edges)


def topological_order(uses: Sequence[Iterable[int]], keys: Sequence[Any]) -> list[int]:
    """Return the numbers of nodes in the topological order in which the node with the smallest key always comes first.

    Nodes of a cycle, and the nodes that use them, are left out.

    Args:
        uses: for each node, the numbers of the nodes whose results it takes.
        keys: the key of each node.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter(dict(enumerate(uses)))
    with suppress(CycleError):
        sorter.prepare()
    ready: list[tuple[Any, int]] = []
    order: list[int] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heappush(ready, (keys[number], number))
        order.append(heappop(ready)[1])
        sorter.done(order[-1])
    return order


def subgraphs_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Return the subgraphs of a node: the bodies of If, Loop and Scan."""
    return [graph for _, graph in attribute_graphs(node)] if node.attribute else []


def all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield all nodes of a model, including those of subgraphs, functions and training information."""
    return chain(*map(iter_nodes, top_level_graphs(model)), *map(iter_nodes, model.functions))


def all_graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Yield the main graph and all subgraphs of it."""
    pending = [model.graph]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [inner for node in graph.node for inner in subgraphs_of(node)]


def all_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the tensors of all initializers and attributes, also of subgraphs, functions and training information.

    A sparse tensor is yielded as its values and its indices.
    """
    nodes = list(all_nodes(model))
    for graph in chain(top_level_graphs(model), *map(subgraphs_of, nodes)):
        yield from graph.initializer
        yield from _parts_of(graph.sparse_initializer)
    attributes = chain(*(node.attribute for node in nodes), *(each.attribute_proto for each in model.functions))
    for attribute in attributes:
        yield from [attribute.t] if attribute.HasField("t") else attribute.tensors
        yield from _parts_of(
            [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else attribute.sparse_tensors
        )


def _parts_of(tensors: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    return (part for sparse in tensors for part in (sparse.values, sparse.indices))


def has_external_data(model: onnx.ModelProto) -> bool:
    """Return whether a tensor of the model is in external data. The external file is not read."""
    return any(tensor.data_location == TensorProto.EXTERNAL for tensor in all_tensors(model))


def names_in_model(model: onnx.ModelProto) -> set[str]:
    """Return the names of all values and nodes in a model's graphs."""
    names: set[str] = set()
    for graph in top_level_graphs(model):
        names |= _names_of(graph)
    return names


def _names_of(graph: onnx.GraphProto) -> set[str]:
    values = chain(graph.input, graph.output, graph.value_info, graph.node)
    names = constant_names(graph).union(value.name for value in values)
    for node in graph.node:
        names.update(node.input, node.output, *map(_names_of, subgraphs_of(node)))
    return names


@dataclass(frozen=True)
class Scope:
    """A graph and its position in a model.

    Attributes:
        model: the model that contains the graph.
        graph: the main graph or a subgraph.
        path: prefix of the names of its values. It is empty for the main graph and ends in a slash for a subgraph.
        parent: the scope of the enclosing graph. It is None for the main graph.
    """

    model: onnx.ModelProto
    graph: onnx.GraphProto
    path: str = ""
    parent: Scope | None = field(default=None, repr=False)

    def children(self) -> Iterator[Scope]:
        """Yield the scopes of the subgraphs of this graph's own nodes."""
        for node in self.graph.node:
            for attribute, graph in attribute_graphs(node):
                yield Scope(self.model, graph, f"{self.path_of(node)}/{attribute}/", self)

    def walk(self) -> Iterator[Scope]:
        """Yield this scope and all nested scopes, parents first."""
        yield self
        for scope in self.children():
            yield from scope.walk()

    def path_of(self, node: onnx.NodeProto) -> str:
        """Return the name of a node's first output, prefixed by the scope's path."""
        return f"{self.path}{node.output[0] if node.output else ''}"

    @cached_property
    def use_def(self) -> UseDefIndex:
        """The index of producers and uses; the graph must not be changed without it."""
        return UseDefIndex(self.graph)

    @cached_property
    def overridden_operators(self) -> frozenset[str]:
        """Names of standard operators that a model-local function of the main domain replaces."""
        if self.parent is not None:
            return self.parent.overridden_operators
        return frozenset(function.name for function in self.model.functions if function.domain in MAIN_DOMAINS)

    def producer(self, name: str) -> onnx.NodeProto | None:
        """Return the node of this graph that has this value as an output, or None."""
        return self.use_def.producer(name)

    def use_count(self, name: str) -> int:
        """Return how often a value is used by nodes, as output, in subgraphs and by training information."""
        return self.use_def.use_count(name) + self.training_use_count(name)

    def training_use_count(self, name: str) -> int:
        """Return how often training information uses a value, including bindings.

        Only values of the main graph can be used there, because training graphs extend the main graph.
        """
        return 0 if self.path else self._used_in_training[name]

    @cached_property
    def _used_in_training(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for info in self.model.training_info:
            counts += count_free_uses(info.initialization) + count_free_uses(info.algorithm)
            for binding in (*info.initialization_binding, *info.update_binding):
                counts.update({binding.key, binding.value})
        return counts


FunctionName: TypeAlias = tuple[str, str, str]
"""Domain, name and overload (since IR version 10), by which a node calls a model-local function."""

MAX_EXPANDED_NODES = 200_000
"""Maximum number of nodes of a model after all function calls are expanded."""

MAX_CALL_DEPTH = 100
"""Maximum nesting depth of function calls."""

MAX_EXPANDED_BYTES = 2**28
"""Maximum size of the bodies of all calls of a model, if some of them are called several times."""

_TOO_MANY_CALLS = (
    f"The model's calls of functions come to more than {MAX_EXPANDED_NODES:,} nodes or {MAX_EXPANDED_BYTES >> 20} MiB, "
    f"or are more than {MAX_CALL_DEPTH} levels deep, or take subgraphs with references to attributes."
    " This suite does not compute such models."
)


def function_name(function: onnx.FunctionProto) -> FunctionName:
    """Return the name by which nodes call a function."""
    return normal_domain(function.domain), function.name, getattr(function, "overload", "")


def called_name(node: onnx.NodeProto) -> FunctionName:
    """Return the name of the operator or function that a node calls."""
    return normal_domain(node.domain), node.op_type, getattr(node, "overload", "")


def has_nodes_inside(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Return whether a node has subgraphs, or calls a function of a model."""
    return bool(subgraphs_of(node)) or called_name(node) in map(function_name, model.functions)


def recursion_problem(model: onnx.ModelProto) -> str | None:
    """Return a sentence that names a function with direct or indirect recursion, or None."""
    calls = {function_name(each): set(map(called_name, iter_nodes(each))) for each in model.functions}
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        domain, name, _ = min(error.args[1])
    else:
        return None
    function = f"{domain or 'ai.onnx'}.{name}"
    return f"The function {function} calls itself directly or through other functions. ONNX forbids recursion."


def infer_shapes(model: onnx.ModelProto, **options: bool) -> onnx.ModelProto:
    """Return a copy of a model with the types and shapes that onnx infers.

    Args:
        model: the model.
        options: options of onnx's shape inference. `data_prop` has no effect for a model with a long vector.

    Raises:
        onnx.shape_inference.InferenceError: types or shapes contradict, or the inference would not end.
    """
    if (fault := inference_problem(model)) is not None:
        raise shape_inference.InferenceError(fault)
    if options.get("data_prop"):
        inferred = shape_inference.infer_shapes(model)
        values = (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output)
        options["data_prop"] = not any(map(_is_long_vector, values))
    return shape_inference.infer_shapes(model, **options)


MAX_VECTOR = 2**12
"""Size of a vector up to which onnx may propagate its elements; each takes a hundred bytes, also if it is not known."""


def _is_long_vector(value: onnx.ValueInfoProto) -> bool:
    sizes = value.type.tensor_type.shape.dim
    return len(sizes) == 1 and sizes[0].dim_value > MAX_VECTOR


def with_inferred_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model with the types of values that can be inferred; some subjects need them for added outputs."""
    try:
        return infer_shapes(model, data_prop=False)
    except Exception:  # noqa: BLE001 - types are a help for the subject only
        return model


def inference_problem(model: onnx.ModelProto) -> str | None:
    """Return a sentence that explains why onnx's shape inference must not run, or None.

    It follows each call of a function, and does not end for some equations of Einsum with wrong characters. A Split
    with more outputs than its attribute states ends the process. For each subgraph it copies the types of all values
    of the enclosing graphs.
    """
    if _copied_types(model) > MAX_COPIED_TYPES:
        return "The model has too many subgraphs with too many values around them."
    equations = [each for _, each in _attributes_of(model, "Einsum", "equation") if not _EQUATION.fullmatch(each.s)]
    if equations:
        return f"The equation {equations[0].s[:80]!r} of an Einsum is malformed."
    for node, each in _attributes_of(model, "Split", "num_outputs"):
        if each.type == AttributeProto.INT and each.i < len(node.output):
            return f"A Split has {len(node.output)} outputs, and the attribute num_outputs is {each.i}."
    return call_expansion_problem(model)


MAX_COPIED_TYPES = 2**26
"""Number of types of values that onnx's shape inference may copy; a hundred million take 20 seconds."""


def _copied_types(model: onnx.ModelProto) -> int:
    """Return the sum, over all subgraphs of a model, of the number of values of the enclosing graphs."""
    pending = [(holder, 0) for holder in (*top_level_graphs(model), *model.functions)]
    copied = 0
    while pending:
        holder, outer = pending.pop()
        inner = [graph for node in holder.node for graph in subgraphs_of(node)]
        if inner:
            around = outer + len(holder.input) + sum(len(node.output) for node in holder.node)
            copied += around * len(inner)
            pending += [(graph, around) for graph in inner]
    return copied


_TERM = rb"[A-Za-z ]*(\.\.\.[A-Za-z ]*)?"  # it matches a text in one way only, so that a long one takes linear time
_EQUATION = re.compile(rb"%b(,%b)*(->%b)?" % (_TERM, _TERM, _TERM))


def _attributes_of(
    model: onnx.ModelProto, operator: str, name: str
) -> Iterator[tuple[onnx.NodeProto, onnx.AttributeProto]]:
    """Yield each node of an operator with each value that its attribute can have, also by calls of functions."""
    referring: list[tuple[onnx.NodeProto, str]] = []
    for node in all_nodes(model):
        for each in node.attribute if node.op_type == operator else ():
            if each.name == name and each.ref_attr_name:
                referring.append((node, each.ref_attr_name))
            elif each.name == name:
                yield node, each
    if not referring:
        return
    passed: dict[str, set[str]] = defaultdict(set)
    values: dict[str, list[onnx.AttributeProto]] = defaultdict(list)
    for holder in chain([each.attribute_proto for each in model.functions], (n.attribute for n in all_nodes(model))):
        for each in holder:
            if each.ref_attr_name:
                passed[each.name].add(each.ref_attr_name)
            else:
                values[each.name].append(each)
    reached = {first for _, first in referring}
    pending = list(reached)
    while pending:
        more = passed[pending.pop()] - reached
        reached |= more
        pending += more
    for node in {id(node): node for node, _ in referring}.values():
        yield from ((node, each) for given in reached for each in values[given])


def call_expansion_problem(model: onnx.ModelProto) -> str | None:
    """Return a sentence that explains why the function calls cannot be expanded, or None if they can."""
    if not model.functions:
        return None
    if (fault := recursion_problem(model)) is not None:
        return fault
    if _least_expanded_nodes(model) > MAX_EXPANDED_NODES:
        return _TOO_MANY_CALLS
    functions = {function_name(function): function for function in model.functions}
    nodes = MAX_EXPANDED_NODES
    size = max(MAX_EXPANDED_BYTES, sum(each.ByteSize() for each in model.functions))
    pending: list[tuple[Any, Mapping[str, onnx.AttributeProto] | None, int]] = [
        (graph, {}, 0) for graph in top_level_graphs(model)
    ]
    while pending:
        holder, given, level = pending.pop()
        for node in holder.node:
            function = functions.get(called_name(node))
            attributes = {} if function is None else {each.name: each for each in function.attribute_proto}
            for attribute in node.attribute:
                reference = attribute.ref_attr_name
                if reference and given is None:
                    return _TOO_MANY_CALLS  # a subgraph that a call gives could contain itself
                used = given.get(reference, attribute) if reference and given else attribute
                size -= used.ByteSize() if reference else 0
                attributes[attribute.name] = used
                scope = None if reference or function is not None else given
                pending += [(graph, scope, level) for graph in (used.g, *used.graphs) if graph.node]
            nodes -= 1
            if function is not None:
                size -= function.ByteSize()
                pending.append((function, attributes, level + 1))
            if nodes < 0 or size < 0 or level > MAX_CALL_DEPTH:
                return _TOO_MANY_CALLS
    return None


def _least_expanded_nodes(model: onnx.ModelProto) -> int:
    """Return the number of nodes after the expansion of calls without recursion, apart from subgraphs that calls give.

    Each function is counted once, so that a model with very many calls is refused without their expansion.
    """
    calls = {function_name(each): list(map(called_name, iter_nodes(each))) for each in model.functions}
    counts: dict[FunctionName, int] = {}
    for name in TopologicalSorter(calls).static_order():
        counts[name] = sum(1 + counts[called] for called in calls.get(name, ()))
    nodes = chain.from_iterable(map(iter_nodes, top_level_graphs(model)))
    return sum(1 + counts.get(called_name(node), 0) for node in nodes)


def has_double_output(model: onnx.ModelProto) -> bool:
    """Return whether a model has a double output."""
    double = TensorProto.DOUBLE
    return any(value.type.tensor_type.elem_type == double for value in model.graph.output)
