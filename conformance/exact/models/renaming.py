"""Renaming of values and splicing of subgraphs, with the scopes of ONNX.

A subgraph takes values of the enclosing graphs by name, and its own value of the same name takes precedence from its
definition on. `Renamer` renames uses and definitions along these scopes. If a new name is also the name of a value in
an inner scope, the inner value gets another name, so that no use is captured.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from conformance.exact.models.graphs import copy_of, names_in_model, subgraphs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    import onnx


class FreshNames:
    """Names that a model does not use yet.

    Args:
        taken: the names that are in use.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    @classmethod
    def of(cls, model: onnx.ModelProto) -> FreshNames:
        """Return the names that no value and no node of a model has."""
        functions = (
            name
            for function in model.functions
            for node in function.node
            for name in (*function.input, *function.output, *node.input, *node.output, node.name)
        )
        return cls({*names_in_model(model), *functions})

    def take(self, wanted: str) -> str:
        """Return `wanted`, or `wanted` with a number if the name is in use, and reserve the name."""
        if wanted in self._taken:
            return self.take_numbered(wanted)
        self._taken.add(wanted)
        return wanted

    def take_numbered(self, hint: str) -> str:
        """Return a name that consists of a hint and a number, and reserve the name."""
        number = len(self._taken)
        while f"{hint}_{number}" in self._taken:
            number += 1
        return self.take(f"{hint}_{number}")


class Renamer:
    """Renames values of graphs in place.

    Args:
        define_inner: returns the new name of a value that a subgraph defines. `FreshNames` renames such a value only if
            its name clashes with a new name.
    """

    def __init__(self, define_inner: FreshNames | Callable[[str], str]) -> None:
        self._define_inner = define_inner

    def rename_uses(self, node: onnx.NodeProto, names: Mapping[str, str]) -> None:
        """Rename the values that a node takes, also those that its subgraphs capture.

        Args:
            node: the node.
            names: the new name of each renamed value.
        """
        node.input[:] = [names.get(name, name) for name in node.input]
        for graph in subgraphs_of(node):
            self.rename_graph(graph, names, partial(self._avoid, frozenset(names.values())))

    def _avoid(self, clashing: Container[str], name: str) -> str:
        """Return the name of a value of a subgraph: a new one if it clashes with the new name of an outer value."""
        if isinstance(self._define_inner, FreshNames):
            return self._define_inner.take(name) if name in clashing else name
        return self._define_inner(name)

    def rename_graph(
        self, graph: onnx.GraphProto, outer: Mapping[str, str], define: Callable[[str], str]
    ) -> dict[str, str]:
        """Rename the values of a graph, and return the new names of all renamed values.

        Args:
            graph: the graph.
            outer: the new names of values of the enclosing graphs.
            define: returns the new name of a value that the graph defines.
        """
        names = dict(outer)
        defined: set[str] = set()

        def defining(name: str) -> str:
            if name and name not in defined:
                defined.add(name)
                names[name] = define(name)
            return names.get(name, name)

        for value in graph.input:
            value.name = defining(value.name)
        for tensor in graph.initializer:
            tensor.name = defining(tensor.name)
        for sparse in graph.sparse_initializer:
            sparse.values.name = defining(sparse.values.name)
        self.rename_nodes(graph.node, names, defining)
        for value in (*graph.output, *graph.value_info):
            value.name = names.get(value.name, value.name)
        for annotation in graph.quantization_annotation:
            annotation.tensor_name = names.get(annotation.tensor_name, annotation.tensor_name)
            for entry in annotation.quant_parameter_tensor_names:
                entry.value = names.get(entry.value, entry.value)
        return names

    def rename_nodes(
        self, nodes: Iterable[onnx.NodeProto], names: Mapping[str, str], define: Callable[[str], str]
    ) -> None:
        """Rename the values that nodes take and define, in their order; `define` may extend `names`."""
        for node in nodes:
            self.rename_uses(node, names)
            node.output[:] = [define(name) for name in node.output]
            for configuration in node.device_configurations:
                for spec in configuration.sharding_spec:
                    spec.tensor_name = names.get(spec.tensor_name, spec.tensor_name)


def renamed_copy(model: onnx.ModelProto, names: Mapping[str, str], avoided: Iterable[str] = ()) -> onnx.ModelProto:
    """Return a copy of a model with new names; a value of another name that is new or avoided gets a fresh name."""
    copy = copy_of(model)
    if all(name == new for name, new in names.items()) and not avoided:
        return copy
    clashing = {*names.values(), *avoided}
    fresh = FreshNames({*names_in_model(model), *clashing})

    def define(name: str) -> str:
        return names.get(name) or (fresh.take_numbered(name) if name in clashing else name)

    Renamer(fresh).rename_graph(copy.graph, {}, define)
    return copy


def append_body(
    graph: onnx.GraphProto,
    body: onnx.GraphProto,
    given: Sequence[str],
    prefix: str,
    fresh: FreshNames,
    captured: Mapping[str, str] | None = None,
) -> list[str]:
    """Append the nodes, constants and declarations of a subgraph to a graph; return the names of its outputs.

    Args:
        graph: the graph, which has the values that the subgraph captures.
        body: the subgraph, which is not changed.
        given: the names of the values for the inputs of the subgraph.
        prefix: the prefix of the new names of the subgraph's values and nodes.
        fresh: the source of new names.
        captured: the new names of values that the subgraph captures.
    """
    copy = copy_of(body)
    names = dict(captured or {}) | {value.name: name for value, name in zip(body.input, given, strict=False)}
    del copy.input[:]
    Renamer(fresh).rename_graph(copy, names, lambda name: fresh.take(prefix + name))
    for node in copy.node:
        node.name = prefix + node.name if node.name else ""
    for value in copy.value_info:
        for size in value.type.tensor_type.shape.dim:
            size.ClearField("dim_param")  # the sizes of two copies may differ
    for field in ("node", "initializer", "sparse_initializer", "value_info", "quantization_annotation"):
        getattr(graph, field).extend(getattr(copy, field))
    return [value.name for value in copy.output]
