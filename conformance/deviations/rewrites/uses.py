"""Faults in what counts as another use of the operator's result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import altered
from conformance.models.connections import captures, free_uses, uses_here
from conformance.models.graphs import held_graphs
from conformance.passes.eliminate_nop_monotone_argmax import is_only_use, rewire

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _consumers(site: Site) -> list[onnx.NodeProto]:
    return [node for node in site.scope.graph.node for name in node.input if name == site.between]


def _outputs(site: Site) -> int:
    return [value.name for value in site.scope.graph.output].count(site.between)


def _others(site: Site) -> int:
    """Uses beyond the graph's own nodes and outputs."""
    return captures(site.scope.graph)[site.between] + site.scope.training_uses(site.between)


def _counting(count: Callable[[Site], int]) -> Callable[[Site], bool]:
    return lambda site: count(site) == 1


def _direct_captures(site: Site) -> int:
    """Uses in the graphs directly inside, and none further down."""
    inner = [graph for node in site.scope.graph.node for _, graph in held_graphs(node)]
    return sum(free_uses(graph, deep=False)[site.between] for graph in inner)


def _any_of_that_name(site: Site) -> int:
    """Uses of the name in all graphs inside, whether or not it is another value there."""

    def named(graph: onnx.GraphProto) -> int:
        inner = (held for node in graph.node for _, held in held_graphs(node))
        return uses_here(graph)[site.between] + sum(map(named, inner))

    return named(site.scope.graph) + site.scope.training_uses(site.between)


def _after(site: Site) -> int:
    """Uses from ArgMax on: consumers before it are not seen."""
    nodes = list(site.scope.graph.node)
    place = next(number for number, node in enumerate(nodes) if node is site.argmax)
    return sum(list(node.input).count(site.between) for node in nodes[place:]) + _outputs(site) + _others(site)


def _up_to(site: Site) -> int:
    """Uses up to ArgMax: consumers after it are not seen."""
    nodes = list(site.scope.graph.node)
    place = next(number for number, node in enumerate(nodes) if node is site.argmax)
    return sum(list(node.input).count(site.between) for node in nodes[: place + 1]) + _outputs(site) + _others(site)


def _living(site: Site) -> int:
    """Uses but those by nodes whose results nothing needs."""
    living = [node for node in _consumers(site) if any(site.scope.uses(name) for name in node.output)]
    return len(living) + _outputs(site) + _others(site)


def _all_argmax(site: Site) -> bool:
    """Whether all uses are by ArgMax nodes with an axis."""
    consumers = _consumers(site)
    return site.scope.uses(site.between) == len(consumers) and all(node.op_type == "ArgMax" for node in consumers)


def _rewire_all(site: Site) -> None:
    for node in _consumers(site):
        site.scope.connections.feed(node, site.before)
    rewire(site)


def _rewire_and_keep(site: Site) -> None:
    site.scope.connections.feed(site.argmax, site.before)


def _look_past_and_keep(site: Site) -> None:
    if is_only_use(site):
        rewire(site)
    else:
        _rewire_and_keep(site)


USES = (
    altered(
        "ignores_consumers",
        "does not see other consumers in the graph",
        is_only_use=_counting(lambda site: 1 + _outputs(site) + _others(site)),
    ),
    altered("ignores_consumers_before", "does not see consumers before ArgMax", is_only_use=_counting(_after)),
    altered("ignores_consumers_after", "does not see consumers after ArgMax", is_only_use=_counting(_up_to)),
    altered("ignores_dead_consumers", "does not count consumers without a use", is_only_use=_counting(_living)),
    altered(
        "ignores_outputs",
        "removes the operator whose result is a graph output",
        is_only_use=_counting(lambda site: len(_consumers(site)) + _others(site)),
    ),
    altered(
        "ignores_captures",
        "does not see uses in inner graphs",
        is_only_use=_counting(lambda site: uses_here(site.scope.graph)[site.between]),
    ),
    altered(
        "ignores_deep_captures",
        "does not see uses two graphs further in",
        is_only_use=_counting(lambda site: uses_here(site.scope.graph)[site.between] + _direct_captures(site)),
    ),
    altered(
        "same_name_inside", "takes another value of the same name for a use", is_only_use=_counting(_any_of_that_name)
    ),
    altered("all_argmax", "removes an operator whose uses are all ArgMax", is_only_use=_all_argmax, rewire=_rewire_all),
    altered("keeps_producer", "feeds ArgMax anew and leaves the operator without a use", rewire=_rewire_and_keep),
    altered(
        "looks_past_used",
        "feeds ArgMax anew where the operator has other uses",
        is_only_use=lambda site: site.argmax.input[0] == site.between,
        rewire=_look_past_and_keep,
    ),
)
