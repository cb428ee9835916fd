"""Inlining and unrolling: calls of functions, branches of If, and steps of Loop become nodes of the enclosing graph."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import ModelError
from conformance.exact.models.arrays import Array, dtype_of, is_floating, tensor_of
from conformance.exact.models.graphs import (
    call_expansion_problem,
    called_name,
    copy_of,
    count_free_uses,
    function_name,
    is_operator,
    iter_nodes,
    main_opset,
    normal_domain,
    subgraphs_of,
    top_level_graphs,
    with_inferred_types,
)
from conformance.exact.models.renaming import FreshNames, Renamer, append_body
from conformance.exact.reference.nodes import resolve_references

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.graphs import FunctionName

MAX_UNROLLED_STEPS = 8
"""Maximum number of steps of a Loop that is replaced by the nodes of its steps."""


def inline_functions(
    model: onnx.ModelProto, is_wanted: Callable[[FunctionName], bool] = lambda _: True
) -> onnx.ModelProto:
    """Return a copy of a model in which the nodes of model-local functions replace the calls.

    A call stays if the opset imports of the function contradict those around the call: its nodes have another meaning
    there. A function that is not called any more is removed.

    Args:
        model: the model.
        is_wanted: whether calls of a function are replaced.

    Raises:
        ModelError: the calls are recursive or too many.
    """
    if (fault := call_expansion_problem(model)) is not None:
        raise ModelError("too-many-calls", problem=fault)
    inlined = copy_of(model)
    wanted = {function_name(each): each for each in model.functions if is_wanted(function_name(each))}
    if not wanted:
        return inlined
    inliner = _FunctionInliner(wanted, FreshNames.of(model))
    inliner.inline_in(inlined, top_level_graphs(inlined))
    for function in inlined.functions:
        inliner.inline_in(function, [function])
    kept = [each for each in inlined.functions if function_name(each) not in wanted]
    called = set(_calls(top_level_graphs(inlined))) | set(_calls(kept))
    for function in [each for each in inlined.functions if function_name(each) in wanted]:
        if function_name(function) not in called:
            inlined.functions.remove(function)
    return inlined


MAX_INLINED_TRIALS = 32
"""Maximum number of sets of functions that are tried; the calls of the others stay."""


def inline_neutral_functions(model: onnx.ModelProto, keeps: Callable[[onnx.ModelProto], bool]) -> onnx.ModelProto:
    """Return a copy of a model without the calls whose replacement by nodes changes nothing.

    Args:
        model: the model.
        keeps: returns whether a model, in which some calls are replaced, gives the same as before.
    """
    inlined: set[FunctionName] = set()
    pending = [[function_name(each) for each in model.functions]]
    for _ in range(MAX_INLINED_TRIALS):
        if not pending:
            break
        group = pending.pop(0)
        tried = inlined.union(group)
        if keeps(inline_functions(model, tried.__contains__)):
            inlined = tried
        elif len(group) > 1:
            middle = len(group) // 2
            pending += [group[:middle], group[middle:]]
    return inline_functions(model, inlined.__contains__)


def _calls(graphs: Iterable[onnx.GraphProto | onnx.FunctionProto]) -> Iterator[FunctionName]:
    return map(called_name, chain.from_iterable(map(iter_nodes, graphs)))


class _FunctionInliner:
    """Replaces calls of functions.

    Args:
        functions: the functions by name.
        fresh: the source of names for the values of their bodies.
    """

    def __init__(self, functions: Mapping[FunctionName, onnx.FunctionProto], fresh: FreshNames) -> None:
        self._functions = functions
        self._fresh = fresh
        self._calls = 0

    def inline_in(
        self, holder: onnx.ModelProto | onnx.FunctionProto, graphs: Iterable[onnx.GraphProto | onnx.FunctionProto]
    ) -> None:
        """Replace the calls in graphs that have the opset imports of `holder`, and add the imports that it lacks."""
        imported = _versions(holder.opset_import)
        inlinable = {}
        for name, function in self._functions.items():
            versions = _versions(function.opset_import)
            if all(imported.get(domain, version) == version for domain, version in versions.items()):
                inlinable[name] = function
        for graph in graphs:
            for function in self._inline(graph, inlinable):
                holder.opset_import.extend(
                    entry for entry in function.opset_import if normal_domain(entry.domain) not in imported
                )
                imported |= _versions(function.opset_import)

    def _inline(
        self, graph: onnx.GraphProto | onnx.FunctionProto, functions: Mapping[FunctionName, onnx.FunctionProto]
    ) -> list[onnx.FunctionProto]:
        """Replace the calls of functions in a graph and its subgraphs, and return the functions."""
        nodes: list[onnx.NodeProto] = []
        used: list[onnx.FunctionProto] = []
        for node in graph.node:
            for inner in subgraphs_of(node):
                used += self._inline(inner, functions)
            function = functions.get(called_name(node))
            if function is None:
                nodes.append(node)
                continue
            body = self._body(node, function)
            used += [function, *self._inline(body, functions)]
            nodes += body.node
            graph.value_info.extend(body.value_info)
        if used:
            del graph.node[:]
            graph.node.extend(nodes)
        return used

    def _body(self, call: onnx.NodeProto, function: onnx.FunctionProto) -> onnx.GraphProto:
        """Return the nodes of a function with the names and attributes of a call."""
        self._calls += 1
        body = onnx.GraphProto(node=function.node)
        given = {attribute.name: attribute for attribute in (*function.attribute_proto, *call.attribute)}
        for node in iter_nodes(body):
            attributes = [*resolve_references(node.attribute, given)]
            if len(attributes) < len(node.attribute) or any(each.ref_attr_name for each in node.attribute):
                del node.attribute[:]
                node.attribute.extend(attributes)
        own = {*function.input, *function.output}
        body.value_info.extend(value for value in function.value_info if value.name not in own)
        results: dict[str, str] = {}
        repeated: list[tuple[str, str]] = []
        for inner, outer in zip(function.output, call.output, strict=False):
            if outer and (inner in results or inner in function.input):
                repeated.append((inner, outer))
            elif outer:
                results[inner] = outer
        taken = [*call.input, *[""] * len(function.input)]
        names = dict(zip(function.input, taken, strict=False))
        suffix = f"__{self._calls}"

        def define(name: str) -> str:
            return self._fresh.take(name + suffix)

        found = Renamer(define).rename_graph(
            body, names, lambda name: results[name] if name in results else define(name)
        )
        body.node.extend(helper.make_node("Identity", [found[inner]], [outer]) for inner, outer in repeated)
        for node in body.node:
            node.name = node.name and node.name + suffix
        return body


def _versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {normal_domain(entry.domain): entry.version for entry in imports}


def inline_taken_branches(
    model: onnx.ModelProto, values: Mapping[str, Array], *, keeps_borders: bool = False
) -> onnx.ModelProto | None:
    """Return a model in which each If of the main graph is replaced by the nodes of the branch that it takes.

    The nodes of the branch can then be exposed and judged alone. Values of the branch get new names. An If whose
    branches only pass values stays.

    Args:
        model: the model, with inferred types.
        values: known values by name. An If whose condition is not among them stays.
        keeps_borders: whether a floating-point value that enters or leaves the branch passes an If without arithmetic.
            A runtime rounds it there, as it does at the border of a subgraph.

    Returns:
        The new model; None if no If could be replaced.
    """
    conditions = {
        number: bool(values[node.input[0]].item())
        for number, node in enumerate(model.graph.node)
        if is_operator(node, "If")
        and node.input[0] in values
        and values[node.input[0]].size == 1
        and not all(is_operator(inner, "Identity") for graph in subgraphs_of(node) for inner in graph.node)
    }
    if not conditions:
        return None
    inlined = copy_of(model)
    fresh = FreshNames.of(model)
    typed = {value.name: value for value in (*model.graph.value_info, *model.graph.output)} if keeps_borders else {}

    def link(node: onnx.NodeProto, source: str, target: str, name: str) -> None:
        """Add a node that passes a value."""
        kind = typed[target if target in typed else source].type.tensor_type.elem_type if typed else 0
        if not kind or not is_floating(dtype_of(kind)):
            inlined.graph.node.append(helper.make_node("Identity", [source], [target], name=name))
            return
        passed = helper.make_tensor_value_info(fresh.take_numbered(target), kind, None)
        body = helper.make_graph([helper.make_node("Identity", [source], [passed.name])], name, [], [passed])
        branches = dict.fromkeys(("then_branch", "else_branch"), body)
        inlined.graph.node.append(helper.make_node("If", [node.input[0]], [target], name=name, **branches))

    del inlined.graph.node[:]
    produced = {name for node in model.graph.node for name in node.output}
    for number, node in enumerate(model.graph.node):
        if number not in conditions:
            inlined.graph.node.append(node)
            continue
        prefix = f"if{number}/"
        branch = subgraph(node, "then_branch" if conditions[number] else "else_branch")
        entries = {
            name: fresh.take(f"{prefix}operand/{name}")
            for name in (count_free_uses(branch) if keeps_borders else ())
            if name in produced and name in typed
        }
        for name, entry in entries.items():
            link(node, name, entry, entry)
        results = append_body(inlined.graph, branch, [], prefix, fresh, entries)
        for result, output in zip(results, node.output, strict=False):
            if output:
                link(node, result, output, f"{prefix}result/{output}")
    return with_inferred_types(inlined)


def subgraph(node: onnx.NodeProto, attribute: str) -> onnx.GraphProto:
    """Return the subgraph of a node in the attribute of this name."""
    found: onnx.GraphProto = next(each.g for each in node.attribute if each.name == attribute)
    return found


def unrolled_models(model: onnx.ModelProto, number: int, values: Mapping[str, Array]) -> Iterator[onnx.ModelProto]:
    """Yield models in which a Loop is replaced by the nodes of its first steps, the fewest steps first."""
    node = model.graph.node[number]
    trips = values.get(node.input[0]) if node.input and node.input[0] else None
    most = MAX_UNROLLED_STEPS if trips is None or trips.size != 1 else min(int(trips.item()), MAX_UNROLLED_STEPS)
    for steps in range(1, most + 1):
        yield unroll(model, number, steps)


def unroll(model: onnx.ModelProto, number: int, steps: int) -> onnx.ModelProto:
    """Return a model in which a Loop of the main graph is replaced by the nodes of its first steps.

    Args:
        model: the model.
        number: the position of the Loop.
        steps: the number of steps, at least 1.
    """
    loop = model.graph.node[number]
    unrolled = copy_of(model)
    graph = unrolled.graph
    del graph.node[number:]
    values = _append_steps(graph, loop, steps, FreshNames.of(model), main_opset(model))
    for name, (sources, is_scanned) in zip(loop.output, values, strict=False):
        if name:
            attributes: dict[str, Any] = {"axis": 0} if is_scanned else {}
            graph.node.append(helper.make_node("Concat" if is_scanned else "Identity", sources, [name], **attributes))
    graph.node.extend(model.graph.node[number + 1 :])
    return with_inferred_types(unrolled)


def _append_steps(
    graph: onnx.GraphProto, loop: onnx.NodeProto, steps: int, fresh: FreshNames, opset: int
) -> list[tuple[Sequence[str], bool]]:
    """Append the nodes of the steps of a Loop to a graph.

    Returns:
        for each output of the Loop, the values of which it consists, and whether it is a scan output.
    """
    body = subgraph(loop, "body")
    prefix = f"{next(filter(None, loop.output), 'loop')}/"

    def constant(value: Any, name: str) -> str:
        graph.initializer.append(tensor_of(np.asarray(value), fresh.take(prefix + name)))
        return str(graph.initializer[-1].name)

    carried = list(loop.input[2:])
    rows: list[list[str]] = [[] for _ in body.output[1 + len(carried) :]]
    condition = constant(True, "true")
    axes = [constant(np.asarray([0], np.int64), "axes")] if rows and opset >= 13 else []
    attributes: dict[str, Any] = {} if axes else {"axes": [0]}
    for step in range(steps):
        given = [constant(np.int64(step), f"{step}/step"), condition, *carried]
        _, *results = append_body(graph, body, given, f"{prefix}{step}/", fresh)
        carried = results[: len(carried)]
        for place, part in enumerate(results[len(carried) :]):
            rows[place].append(fresh.take(f"{prefix}{step}/row{place}"))
            graph.node.append(helper.make_node("Unsqueeze", [part, *axes], rows[place][-1:], **attributes))
    return [*(([name], False) for name in carried), *((row, True) for row in rows)]
