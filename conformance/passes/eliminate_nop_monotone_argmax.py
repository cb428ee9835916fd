"""The pass `eliminate_nop_monotone_argmax`, from what it promises: correct first, and short enough to be read.

An ArgMax with an explicit `axis` whose one input is the result of a Log, Exp or Sqrt of the same graph, or of a
Softmax or LogSoftmax with an explicit `axis` equal to its own as an integer, takes that operator's input instead, and
the operator is removed, if its result has no other use. One run removes one operator at each ArgMax; a fixed point
removes chains.

Nothing else changes. The main graph and the graphs inside of its nodes are rewritten, each by itself. The bodies of
functions are not: the pass speaks of nodes of a graph, and a body is none, it is shared by all calls and cannot be
held against the graph around one of them. Neither are the graphs of training information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import AttributeProto

from conformance.models.scopes import Scope
from conformance.models.signatures import MAIN_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import onnx

    _Place = tuple[Scope, onnx.NodeProto]

PASS_NAME = "eliminate_nop_monotone_argmax"  # noqa: S105
ELEMENTWISE = frozenset({"Log", "Exp", "Sqrt"})
ALONG_AXIS = frozenset({"Softmax", "LogSoftmax"})


@dataclass(frozen=True)
class Site:
    """An ArgMax and the operator before it.

    Attributes:
        scope: the graph that both are in.
    """

    scope: Scope
    argmax: onnx.NodeProto
    producer: onnx.NodeProto

    @property
    def before(self) -> str:
        """The value that goes into the operator."""
        return str(self.producer.input[0])

    @property
    def between(self) -> str:
        """The value that goes from the operator to ArgMax."""
        return str(self.producer.output[0])


@dataclass(frozen=True)
class Removal:
    """An operator that is taken away.

    Attributes:
        argmax: before which ArgMax, by the path of its output.
        op_type: which one.
        value: the value that goes with it.
        path: the value by path.
    """

    argmax: str
    op_type: str
    value: str
    path: str


def explicit_axis(node: onnx.NodeProto) -> int | None:
    """A node's own `axis`, an integer; None where it is left to the default, or to a call of a function."""
    for attribute in node.attribute:
        if attribute.name == "axis" and attribute.type == AttributeProto.INT and not attribute.ref_attr_name:
            return int(attribute.i)
    return None


def is_monotone(site: Site) -> bool:
    """Whether the operator keeps the order along ArgMax's axis, as far as the pass looks."""
    axis = explicit_axis(site.argmax)
    if axis is None:
        return False
    if site.producer.op_type in ELEMENTWISE:
        return True
    return site.producer.op_type in ALONG_AXIS and explicit_axis(site.producer) == axis


def is_standard(scope: Scope, node: onnx.NodeProto) -> bool:
    """Whether a node is of ONNX's own operator, with no function of the model in its place."""
    return node.domain in MAIN_DOMAINS and not node.overload and node.op_type not in scope.overridden


def is_only_use(site: Site) -> bool:
    """Whether nothing but ArgMax uses the operator's result."""
    return site.scope.uses(site.between) == 1


def is_in_sight(site: Site) -> bool:
    """Whether the operator's input means the same at ArgMax: no value between them takes its name."""
    return not site.scope.connections.is_made_between(site.before, site.producer, site.argmax)


def rewire(site: Site) -> None:
    """Feed ArgMax from the operator's input, and remove the operator and what is said of its result alone."""
    connections, gone = site.scope.connections, site.between
    connections.feed(site.argmax, site.before)
    connections.remove(site.producer)
    connections.forget(gone)


def nothing(_: onnx.ModelProto, __: onnx.ModelProto) -> None:
    """Leave a rewritten model as it is."""


@dataclass(frozen=True)
class Elimination:
    """The pass in steps, each of which can be replaced to see what a mistake in it does.

    Attributes:
        consumer: the op_type that it looks for.
        scopes: the graphs to rewrite, from the main one.
        is_standard: whether a node of a scope is of ONNX's own operator.
        producer: the node that a value of a scope comes from, if it can be removed at all.
        is_monotone: whether an operator may be removed before an ArgMax.
        is_only_use: whether its result has no other use.
        is_in_sight: whether its input can be named where ArgMax is.
        rewire: removes it.
        finish: is given the rewritten model and the one that it was made from, when all is done.
        passes: the pass that it is.
    """

    consumer: str = "ArgMax"
    scopes: Callable[[Scope], Iterator[Scope]] = Scope.walk
    is_standard: Callable[[Scope, onnx.NodeProto], bool] = is_standard
    producer: Callable[[Scope, str], onnx.NodeProto | None] = Scope.producer
    is_monotone: Callable[[Site], bool] = is_monotone
    is_only_use: Callable[[Site], bool] = is_only_use
    is_in_sight: Callable[[Site], bool] = is_in_sight
    rewire: Callable[[Site], None] = rewire
    finish: Callable[[onnx.ModelProto, onnx.ModelProto], None] = nothing
    passes: tuple[str, ...] = (PASS_NAME,)

    def __call__(self, model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        """The model after one run, or after runs until nothing changes; the given one is left as it is."""
        return self.rewritten(model, fixed_point=fixed_point)[0]

    def rewritten(self, model: onnx.ModelProto, *, fixed_point: bool = False) -> tuple[onnx.ModelProto, list[str]]:
        """The same, with the values whose producers are gone, by path and in the order of their removal."""
        after, removals = self.traced(model, fixed_point=fixed_point)
        return after, [removal.path for removal in removals]

    def traced(self, model: onnx.ModelProto, *, fixed_point: bool = False) -> tuple[onnx.ModelProto, list[Removal]]:
        """The same, with all that was removed, in order."""
        copy = type(model)()
        copy.CopyFrom(model)
        every = [
            (scope, node)
            for scope in self.scopes(Scope(copy, copy.graph))
            for node in scope.graph.node
            if node.op_type == self.consumer
        ]
        removals: list[Removal] = []
        fired = self._run(every, removals)
        while fixed_point and fired:
            # A run changes what is before the nodes that it fires at; that nothing else is left, a last one makes sure.
            fired = self._run(fired, removals) or self._run(every, removals)
        self.finish(copy, model)
        return copy, removals

    def _run(self, places: Iterable[_Place], removals: list[Removal]) -> list[_Place]:
        """Remove one operator at each of these nodes, and tell at which that was."""
        fired = []
        for scope, node in places:
            site = self._site(scope, node)
            if site is not None:
                removals.append(_removal(site))
                self.rewire(site)
                fired.append((scope, node))
        return fired

    def _site(self, scope: Scope, node: onnx.NodeProto) -> Site | None:
        """Where the pass fires at a node, or None."""
        if node.op_type != self.consumer or len(node.input) != 1 or not self.is_standard(scope, node):
            return None
        producer = self.producer(scope, node.input[0])
        if producer is None or not self.is_standard(scope, producer):
            return None
        if len(producer.input) != 1 or len(producer.output) != 1 or not producer.input[0]:
            return None
        site = Site(scope, node, producer)
        fires = self.is_monotone(site) and self.is_only_use(site) and self.is_in_sight(site)
        return site if fires else None


def _removal(site: Site) -> Removal:
    scope, producer = site.scope, site.producer
    return Removal(scope.path_of(site.argmax), producer.op_type, site.between, scope.path_of(producer))


eliminate = Elimination()
"""The pass: `eliminate(model, fixed_point=False) → model`."""
