"""Mutants that misread the graph: the uses of a value, subgraphs, captured values, and model-local functions.

A captured value is a value of an enclosing graph that a subgraph uses. The pass removes an operator only if ArgMax is
the only use of its result; many mutants of this module count the uses in a wrong way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto

from checks.mutation.pass_mutants.pass_mutant import PassMutant, damage_result, invalidate, replace_steps
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    bypass_producer,
    eliminate,
    is_monotone,
    is_only_use,
    is_standard,
)
from conformance.exact.models.graphs import (
    Scope,
    all_nodes,
    attribute_graphs,
    called_name,
    copy_of,
    count_captures,
    count_free_uses,
    count_local_uses,
    function_name,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from conformance.corpus.passes.eliminate_nop_monotone_argmax import Site

    _Seen = Callable[[onnx.NodeProto, str], bool]


def _consumers(site: Site) -> list[onnx.NodeProto]:
    return [node for node in site.scope.graph.node for name in node.input if name == site.between]


def _outputs(site: Site) -> int:
    return [value.name for value in site.scope.graph.output].count(site.between)


def _others(site: Site) -> int:
    """Return the number of uses of the operator's result in subgraphs and in training information."""
    return count_captures(site.scope.graph)[site.between] + site.scope.training_use_count(site.between)


def _counting(count: Callable[[Site], int]) -> Callable[[Site], bool]:
    return lambda site: count(site) == 1


def _direct_captures(site: Site) -> int:
    """Return the number of uses of the operator's result in direct subgraphs; deeper subgraphs are ignored."""
    inner = [graph for node in site.scope.graph.node for _, graph in attribute_graphs(node)]
    return sum(_shallow_uses(graph)[site.between] for graph in inner)


def _shallow_uses(graph: onnx.GraphProto) -> Counter[str]:
    """Return how often the own nodes of a subgraph use each value of the enclosing graphs, by name."""
    shallow = copy_of(graph)
    for node in shallow.node:
        del node.attribute[:]
    return count_free_uses(shallow)


def _any_of_that_name(site: Site) -> int:
    """Return the number of uses of the result's name, also in subgraphs where the name denotes another value."""

    def named(graph: onnx.GraphProto) -> int:
        inner = (held for node in graph.node for _, held in attribute_graphs(node))
        return count_local_uses(graph)[site.between] + sum(map(named, inner))

    return named(site.scope.graph) + site.scope.training_use_count(site.between)


def _after(site: Site) -> int:
    """Return the number of uses of the operator's result; nodes before ArgMax are ignored."""
    nodes = list(site.scope.graph.node)
    place = next(number for number, node in enumerate(nodes) if node is site.argmax)
    return sum(list(node.input).count(site.between) for node in nodes[place:]) + _outputs(site) + _others(site)


def _up_to(site: Site) -> int:
    """Return the number of uses of the operator's result; nodes after ArgMax are ignored."""
    nodes = list(site.scope.graph.node)
    place = next(number for number, node in enumerate(nodes) if node is site.argmax)
    return sum(list(node.input).count(site.between) for node in nodes[: place + 1]) + _outputs(site) + _others(site)


def _living(site: Site) -> int:
    """Return the number of uses of the operator's result; nodes whose own results are unused are ignored."""
    living = [node for node in _consumers(site) if any(site.scope.use_count(name) for name in node.output)]
    return len(living) + _outputs(site) + _others(site)


def _all_argmax(site: Site) -> bool:
    """Return whether all uses of the operator's result are ArgMax nodes of the same graph."""
    consumers = _consumers(site)
    return site.scope.use_count(site.between) == len(consumers) and all(node.op_type == "ArgMax" for node in consumers)


def _rewire_all(site: Site) -> None:
    for node in _consumers(site):
        site.scope.use_def.set_first_input(node, site.before)
    bypass_producer(site)


def _rewire_and_keep(site: Site) -> None:
    site.scope.use_def.set_first_input(site.argmax, site.before)


def _look_past_and_keep(site: Site) -> None:
    if is_only_use(site):
        bypass_producer(site)
    else:
        _rewire_and_keep(site)


USES = (
    replace_steps(
        "ignores_consumers",
        "does not see other consumers in the graph",
        is_only_use=_counting(lambda site: 1 + _outputs(site) + _others(site)),
    ),
    replace_steps("ignores_consumers_before", "does not see consumers before ArgMax", is_only_use=_counting(_after)),
    replace_steps("ignores_consumers_after", "does not see consumers after ArgMax", is_only_use=_counting(_up_to)),
    replace_steps("ignores_dead_consumers", "does not count consumers without a use", is_only_use=_counting(_living)),
    replace_steps(
        "ignores_outputs",
        "removes the operator whose result is a graph output",
        is_only_use=_counting(lambda site: len(_consumers(site)) + _others(site)),
    ),
    replace_steps(
        "ignores_captures",
        "does not see uses in inner graphs",
        is_only_use=_counting(lambda site: count_local_uses(site.scope.graph)[site.between]),
    ),
    replace_steps(
        "ignores_deep_captures",
        "does not see uses two graphs further in",
        is_only_use=_counting(lambda site: count_local_uses(site.scope.graph)[site.between] + _direct_captures(site)),
    ),
    replace_steps(
        "same_name_inside", "takes another value of the same name for a use", is_only_use=_counting(_any_of_that_name)
    ),
    replace_steps(
        "all_argmax",
        "removes an operator whose uses are all ArgMax",
        is_only_use=_all_argmax,
        rewire=_rewire_all,
    ),
    replace_steps("keeps_producer", "feeds ArgMax anew and leaves the operator without a use", rewire=_rewire_and_keep),
    replace_steps(
        "looks_past_used",
        "feeds ArgMax anew where the operator has other uses",
        is_only_use=lambda site: site.argmax.input[0] == site.between,
        rewire=_look_past_and_keep,
    ),
)


def _main_only(scope: Scope) -> Iterator[Scope]:
    yield scope


def _one_level(scope: Scope) -> Iterator[Scope]:
    yield scope
    yield from scope.children()


def _but(op_type: str) -> Callable[[Scope], Iterator[Scope]]:
    """Return a step `scopes` that yields all graphs except the subgraphs of nodes of type `op_type`."""

    def scopes(scope: Scope) -> Iterator[Scope]:
        yield scope
        for node in scope.graph.node:
            if node.op_type != op_type:
                held = Scope(scope.model, onnx.GraphProto(node=[node]), scope.path)
                for inner in held.children():
                    yield from scopes(_real(scope, inner))

    return scopes


def _real(scope: Scope, wanted: Scope) -> Scope:
    """Return the direct subgraph of `scope` with the path of `wanted`, which is a copy of that subgraph."""
    return next(inner for inner in scope.children() if inner.path == wanted.path)


def _inside_only(scope: Scope) -> Iterator[Scope]:
    for inner in scope.children():
        yield from inner.walk()


def _across(scope: Scope, name: str) -> onnx.NodeProto | None:
    """Return the producer of the value `name` in its graph or in the main graph.

    A producer in the main graph is copied into the subgraph, so that the pass removes the copy.
    """
    if (own := scope.producer(name)) is not None:
        return own
    around = [node for node in scope.model.graph.node if name in node.output]
    if not scope.path or not around or name in {value.name for value in scope.graph.input}:
        return None
    copy = onnx.NodeProto()
    copy.CopyFrom(around[0])
    scope.graph.node.insert(0, copy)
    invalidate(scope)
    return scope.producer(name)


SCOPES = (
    replace_steps("main_graph_only", "does not look inside of nodes", scopes=_main_only),
    replace_steps("one_level_only", "looks inside of nodes, and not inside of nodes in there", scopes=_one_level),
    replace_steps("inside_only", "applies in inner graphs alone", scopes=_inside_only),
    *(
        replace_steps(f"not_inside_{op_type.lower()}", f"does not look inside of {op_type}", scopes=_but(op_type))
        for op_type in ("If", "Loop", "Scan")
    ),
    replace_steps("across_scopes", "bypasses an operator outside of the graph that ArgMax is in", producer=_across),
)


def _seeing(id: str, text: str, is_seen: _Seen) -> PassMutant:
    """Return a mutant that ignores uses of a value in some subgraphs.

    Args:
        is_seen: function that returns whether uses in a subgraph are counted. Its arguments are the node and the name
            of the attribute that holds the subgraph.
    """

    def uses(site: Site) -> bool:
        graph = site.scope.graph
        inner = [held for node in graph.node for name, held in attribute_graphs(node) if is_seen(node, name)]
        captured = sum(count_free_uses(held)[site.between] for held in inner)
        return count_local_uses(graph)[site.between] + captured + site.scope.training_use_count(site.between) == 1

    return replace_steps(id, text, is_only_use=uses)


def _captured_to(levels: int) -> Callable[[Site], bool]:
    """Return a step `is_only_use` that ignores uses in subgraphs nested more deeply than `levels`."""

    def within(graph: onnx.GraphProto, name: str, left: int) -> int:
        inner = [held for node in graph.node for _, held in attribute_graphs(node)] if left else []
        return sum(_shallow_uses(held)[name] + within(held, name, left - 1) for held in inner)

    def uses(site: Site) -> bool:
        graph, name = site.scope.graph, site.between
        return count_local_uses(graph)[name] + within(graph, name, levels) + site.scope.training_use_count(name) == 1

    return uses


def _in_main_only(site: Site) -> bool:
    """Return whether the operator's result has one use; uses in subgraphs count only for values of the main graph."""
    captured = 0 if site.scope.path else count_captures(site.scope.graph)[site.between]
    return (
        count_local_uses(site.scope.graph)[site.between] + captured + site.scope.training_use_count(site.between) == 1
    )


def _copies_are_none(site: Site) -> bool:
    """Return whether the operator's result has one use; uses by Identity nodes in subgraphs are ignored."""

    def copies(graph: onnx.GraphProto) -> int:
        own: int = sum(node.op_type == "Identity" and node.input[0] == site.between for node in graph.node)
        return own + sum(copies(held) for node in graph.node for _, held in attribute_graphs(node))

    inner = sum(copies(held) for node in site.scope.graph.node for _, held in attribute_graphs(node))
    return site.scope.use_count(site.between) - inner == 1


def _inputs_of_containers_are_none(site: Site) -> bool:
    nodes = [node for node in site.scope.graph.node if any(True for _ in attribute_graphs(node))]
    taken = sum(list(node.input).count(site.between) for node in nodes)
    return site.scope.use_count(site.between) - taken == 1


def _without_training(site: Site) -> bool:
    return site.scope.use_def.use_count(site.between) == 1


def _of_that_name_anywhere(site: Site) -> bool:
    """Return whether the name of the operator's result has exactly one use in all graphs of the model together."""
    whole = Scope(site.scope.model, site.scope.model.graph)
    return sum(count_local_uses(scope.graph)[site.between] for scope in whole.walk()) == 1


def _to_depth(levels: int) -> Callable[[Scope], Iterator[Scope]]:
    def scopes(scope: Scope) -> Iterator[Scope]:
        return (inner for inner in scope.walk() if inner.path.count("/") <= 2 * levels)

    return scopes


def _not_else(scope: Scope) -> Iterator[Scope]:
    return (inner for inner in scope.walk() if "/else_branch/" not in inner.path)


def _of_new_names(scope: Scope) -> Iterator[Scope]:
    """Yield the graphs of the model; of several graphs with the same name, only the first."""
    seen: set[str] = set()
    for inner in scope.walk():
        if inner.graph.name not in seen:
            seen.add(inner.graph.name)
            yield inner


def _first_that_fits(scope: Scope) -> Iterator[Scope]:
    """Yield only the first graph that contains an ArgMax."""
    yield from [inner for inner in scope.walk() if any(node.op_type == "ArgMax" for node in inner.graph.node)][:1]


def _remove_by_name(site: Site) -> None:
    """Connect ArgMax to the operator's input, and remove the wrong node.

    The removed node is the node whose name equals the name of the operator's result; if there is no such node, the
    operator is removed as it should be.
    """
    named = [node for node in site.scope.graph.node if node.name == site.between]
    if not named or named[0] is site.producer:
        bypass_producer(site)
        return
    site.scope.use_def.set_first_input(site.argmax, site.before)
    site.scope.graph.node.remove(named[0])
    invalidate(site.scope)


CAPTURES = (
    *(
        _seeing(
            f"captures_not_in_{op_type.lower()}",
            f"does not see uses inside of {op_type}",
            lambda node, _, op_type=op_type: node.op_type != op_type,  # type: ignore[misc]
        )
        for op_type in ("If", "Loop", "Scan")
    ),
    _seeing("captures_in_if_only", "sees uses inside of If alone", lambda node, _: node.op_type == "If"),
    _seeing("captures_not_in_else", "does not see uses in else branches", lambda _, name: name != "else_branch"),
    replace_steps("captures_two_deep", "does not see uses three graphs further in", is_only_use=_captured_to(2)),
    replace_steps(
        "captures_of_main_only", "sees uses further in of the main graph's values alone", is_only_use=_in_main_only
    ),
    replace_steps(
        "copies_are_no_captures", "does not count an Identity further in as a use", is_only_use=_copies_are_none
    ),
    replace_steps(
        "inputs_of_containers",
        "does not count what Loop and Scan take as inputs",
        is_only_use=_inputs_of_containers_are_none,
    ),
    replace_steps(
        "ignores_training_uses",
        "does not see uses by training information",
        level=Level.SHOULD,
        is_only_use=_without_training,
    ),
    replace_steps("names_global", "counts the uses of a name in every graph", is_only_use=_of_that_name_anywhere),
    replace_steps("two_levels_only", "looks two graphs in, and not further", scopes=_to_depth(2)),
    replace_steps("not_inside_else", "does not look inside of else branches", scopes=_not_else),
    replace_steps("first_graph_of_a_name", "looks at the first of several graphs of one name", scopes=_of_new_names),
    replace_steps(
        "first_graph_with_argmax", "looks at the first graph that has an ArgMax alone", scopes=_first_that_fits
    ),
    replace_steps(
        "removes_by_name",
        "removes the node that bears the name of the operator's result",
        rewire=_remove_by_name,
    ),
)


def in_bodies(
    model: onnx.ModelProto, fixed_point: bool, is_monotone: Callable[[Site], bool], *, counts_outputs: bool = True
) -> onnx.ModelProto:
    """Apply the pass to the graphs of a model and, with this step `is_monotone`, to the bodies of its functions.

    Args:
        counts_outputs: whether an output of a function is a use.
    """
    after = eliminate(model, fixed_point)
    within = replace(eliminate, is_monotone=is_monotone)
    for function in after.functions:
        outputs = [onnx.ValueInfoProto(name=name) for name in function.output if counts_outputs]
        graph = onnx.GraphProto(node=function.node, output=outputs)
        body = within(onnx.ModelProto(graph=graph, opset_import=function.opset_import), fixed_point)
        del function.node[:]
        function.node.extend(body.graph.node)
    return after


def _references_are_zero(site: Site) -> bool:
    """Return whether the operator is monotone; an axis that refers to an attribute of the function is read as 0."""
    axes = [
        next((int(held.i) for held in node.attribute if held.name == "axis" and held.type == AttributeProto.INT), None)
        for node in (site.producer, site.argmax)
    ]
    return site.producer.op_type in ELEMENTWISE or (site.producer.op_type in ALONG_AXIS and axes[0] == axes[1])


def _axes_of_calls_as_zero(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    return in_bodies(model, fixed_point, _references_are_zero)


def _with_function_outputs(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    return in_bodies(model, fixed_point, is_monotone, counts_outputs=False)


def _with_functions(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """Apply the pass to the graphs of a model and to the bodies of its functions."""
    return in_bodies(model, fixed_point, is_monotone)


def _by_its_body(scope: Scope, name: str) -> onnx.NodeProto | None:
    """Return the producer of the value `name`.

    If the producer calls a function whose body is a single monotone operator, replace the call by that operator.
    """
    node = scope.producer(name)
    for function in scope.model.functions if node is not None and node.domain else ():
        if node is not None and called_name(node) == function_name(function) and len(function.node) == 1:
            inner = function.node[0]
            if inner.op_type in ELEMENTWISE:
                node.op_type, node.domain = inner.op_type, inner.domain
    return node


def _merged(alike: Callable[[onnx.FunctionProto], object]) -> Callable[[onnx.ModelProto], None]:
    """Return a function that merges alike model-local functions: all calls then use the first of them.

    Args:
        alike: function that returns a key; functions with equal keys are alike.
    """

    def spoil(model: onnx.ModelProto) -> None:
        kept: dict[object, onnx.FunctionProto] = {}
        for function in list(model.functions):
            first = kept.setdefault(alike(function), function)
            if first is function:
                continue
            for node in all_nodes(model):
                if called_name(node) == function_name(function):
                    node.op_type, node.overload = first.name, first.overload
            model.functions.remove(function)

    return spoil


def _overloads_forgotten(model: onnx.ModelProto) -> None:
    """Remove all overloads of each function except the first, and make all calls use the first."""
    _merged(lambda function: (function.domain, function.name))(model)


def _unused(model: onnx.ModelProto) -> None:
    """Remove the functions that nodes of the main graph do not call, even if subgraphs or functions call them."""
    called = set(map(called_name, model.graph.node))
    for function in [function for function in model.functions if function_name(function) not in called]:
        model.functions.remove(function)


def _of_main_calls(scope: Scope, node: onnx.NodeProto) -> bool:
    """Return whether a node is a standard operator and the model does not import the domain `acme`."""
    return is_standard(scope, node) and not any(entry.domain == "acme" for entry in scope.model.opset_import)


def _body_text(function: onnx.FunctionProto) -> object:
    return tuple(node.SerializeToString(deterministic=True) for node in function.node)


FUNCTIONS = (
    PassMutant("function_bodies", "applies in the bodies of functions", _with_functions, Level.SHOULD),
    PassMutant("outputs_of_functions", "does not count the outputs of functions", _with_function_outputs),
    PassMutant("axes_of_calls", "takes an axis that the call of a function gives for 0", _axes_of_calls_as_zero),
    replace_steps(
        "looks_into_functions", "removes a call of a function that is Exp by its body", producer=_by_its_body
    ),
    damage_result("merges_functions", "leaves one of several functions with equal bodies", _merged(_body_text)),
    damage_result("merges_overloads", "leaves one of several overloads of a function", _overloads_forgotten),
    damage_result("drops_inner_functions", "drops functions that only functions or inner graphs call", _unused),
    replace_steps(
        "no_functions_beside", "does not apply where the model has a domain of its own", is_standard=_of_main_calls
    ),
)
