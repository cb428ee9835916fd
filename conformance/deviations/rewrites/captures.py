"""Faults in which uses within If, Loop and Scan are seen, and in which value of a name is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import altered
from conformance.models.connections import captures, free_uses, uses_here
from conformance.models.graphs import held_graphs
from conformance.models.scopes import Scope
from conformance.passes.eliminate_nop_monotone_argmax import rewire
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import onnx

    from conformance.deviations.rewrites.fault import FaultyRewrite
    from conformance.passes.eliminate_nop_monotone_argmax import Site

    _Seen = Callable[[onnx.NodeProto, str], bool]


def _seeing(id: str, text: str, is_seen: _Seen) -> FaultyRewrite:
    """The pass with captures that only some graphs inside of nodes are searched for.

    Args:
        is_seen: whether the graph in an attribute of a node is.
    """

    def uses(site: Site) -> bool:
        graph = site.scope.graph
        inner = [held for node in graph.node for name, held in held_graphs(node) if is_seen(node, name)]
        captured = sum(free_uses(held)[site.between] for held in inner)
        return uses_here(graph)[site.between] + captured + site.scope.training_uses(site.between) == 1

    return altered(id, text, is_only_use=uses)


def _captured_to(levels: int) -> Callable[[Site], bool]:
    """Counts uses in graphs at most so many levels inside."""

    def within(graph: onnx.GraphProto, name: str, left: int) -> int:
        inner = [held for node in graph.node for _, held in held_graphs(node)] if left else []
        return sum(free_uses(held, deep=False)[name] + within(held, name, left - 1) for held in inner)

    def uses(site: Site) -> bool:
        graph, name = site.scope.graph, site.between
        return uses_here(graph)[name] + within(graph, name, levels) + site.scope.training_uses(name) == 1

    return uses


def _in_main_only(site: Site) -> bool:
    """Looks for captures of the main graph's values alone."""
    captured = 0 if site.scope.path else captures(site.scope.graph)[site.between]
    return uses_here(site.scope.graph)[site.between] + captured + site.scope.training_uses(site.between) == 1


def _copies_are_none(site: Site) -> bool:
    """Does not count an Identity in a graph inside: it is taken for one that goes away."""

    def copies(graph: onnx.GraphProto) -> int:
        own: int = sum(node.op_type == "Identity" and node.input[0] == site.between for node in graph.node)
        return own + sum(copies(held) for node in graph.node for _, held in held_graphs(node))

    inner = sum(copies(held) for node in site.scope.graph.node for _, held in held_graphs(node))
    return site.scope.uses(site.between) - inner == 1


def _inputs_of_containers_are_none(site: Site) -> bool:
    nodes = [node for node in site.scope.graph.node if any(True for _ in held_graphs(node))]
    taken = sum(list(node.input).count(site.between) for node in nodes)
    return site.scope.uses(site.between) - taken == 1


def _without_training(site: Site) -> bool:
    return site.scope.connections.uses(site.between) == 1


def _of_that_name_anywhere(site: Site) -> bool:
    """Counts the uses of a name in all graphs of the model."""
    whole = Scope(site.scope.model, site.scope.model.graph)
    return sum(uses_here(scope.graph)[site.between] for scope in whole.walk()) == 1


def _to_depth(levels: int) -> Callable[[Scope], Iterator[Scope]]:
    def scopes(scope: Scope) -> Iterator[Scope]:
        return (inner for inner in scope.walk() if inner.path.count("/") <= 2 * levels)

    return scopes


def _not_else(scope: Scope) -> Iterator[Scope]:
    return (inner for inner in scope.walk() if "/else_branch/" not in inner.path)


def _of_new_names(scope: Scope) -> Iterator[Scope]:
    """Of several graphs of one name the first alone."""
    seen: set[str] = set()
    for inner in scope.walk():
        if inner.graph.name not in seen:
            seen.add(inner.graph.name)
            yield inner


def _first_that_fits(scope: Scope) -> Iterator[Scope]:
    """The first graph that has an ArgMax, and no other."""
    yield from [inner for inner in scope.walk() if any(node.op_type == "ArgMax" for node in inner.graph.node)][:1]


def _remove_by_name(site: Site) -> None:
    """Rewires, but removes the node that bears the name of the value, if there is one."""
    named = [node for node in site.scope.graph.node if node.name == site.between]
    if not named or named[0] is site.producer:
        rewire(site)
        return
    site.scope.connections.feed(site.argmax, site.before)
    site.scope.graph.node.remove(named[0])
    site.scope.changed()


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
    altered("captures_two_deep", "does not see uses three graphs further in", is_only_use=_captured_to(2)),
    altered(
        "captures_of_main_only", "sees uses further in of the main graph's values alone", is_only_use=_in_main_only
    ),
    altered("copies_are_no_captures", "does not count an Identity further in as a use", is_only_use=_copies_are_none),
    altered(
        "inputs_of_containers",
        "does not count what Loop and Scan take as inputs",
        is_only_use=_inputs_of_containers_are_none,
    ),
    altered(
        "ignores_training_uses",
        "does not see uses by training information",
        level=Level.SHOULD,
        is_only_use=_without_training,
    ),
    altered("names_global", "counts the uses of a name in every graph", is_only_use=_of_that_name_anywhere),
    altered("two_levels_only", "looks two graphs in, and not further", scopes=_to_depth(2)),
    altered("not_inside_else", "does not look inside of else branches", scopes=_not_else),
    altered("first_graph_of_a_name", "looks at the first of several graphs of one name", scopes=_of_new_names),
    altered("first_graph_with_argmax", "looks at the first graph that has an ArgMax alone", scopes=_first_that_fits),
    altered("removes_by_name", "removes the node that bears the name of the operator's result", rewire=_remove_by_name),
)
