"""Reference implementation of the pass `eliminate_nop_monotone_argmax`.

A monotone operator before an ArgMax does not change the index of the maximum. The pass removes it if

- the ArgMax has an explicit `axis`,
- the operator is a Log, Exp or Sqrt of the same graph, or a Softmax or LogSoftmax whose explicit `axis` is the same
  integer, and
- the result of the operator has no other use.

ArgMax then takes the input of the operator. One run removes at most one operator per ArgMax; runs to a fixed point
remove chains. Nothing else changes.

The pass rewrites the main graph and the graphs inside its nodes, each on its own. It does not rewrite bodies of
functions: all calls share a body, so a body does not belong to the graph around one call. It does not rewrite graphs of
training information either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import AttributeProto

from conformance.exact.models.graphs import MAIN_DOMAINS, Scope, copy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import onnx

    _ScopedNode = tuple[Scope, onnx.NodeProto]

PASS_NAME = "eliminate_nop_monotone_argmax"  # noqa: S105
ELEMENTWISE = frozenset({"Log", "Exp", "Sqrt"})
ALONG_AXIS = frozenset({"Softmax", "LogSoftmax"})


@dataclass(frozen=True)
class Site:
    """An ArgMax and the operator that produces its input.

    Attributes:
        scope: the graph that contains both nodes.
    """

    scope: Scope
    argmax: onnx.NodeProto
    producer: onnx.NodeProto

    @property
    def before(self) -> str:
        """Name of the operator's input."""
        return str(self.producer.input[0])

    @property
    def between(self) -> str:
        """Name of the operator's output, which is the input of ArgMax."""
        return str(self.producer.output[0])


@dataclass(frozen=True)
class Removal:
    """An operator that the pass removed.

    Attributes:
        argmax: path of the output of the ArgMax that follows the operator.
        op_type: type of the operator.
        value: name of the operator's output.
        path: path of the operator's output.
    """

    argmax: str
    op_type: str
    value: str
    path: str


def explicit_axis(node: onnx.NodeProto) -> int | None:
    """Return the attribute `axis` of a node; None if it is absent or refers to an attribute of a function."""
    for attribute in node.attribute:
        if attribute.name == "axis" and attribute.type == AttributeProto.INT and not attribute.ref_attr_name:
            return int(attribute.i)
    return None


def is_monotone(site: Site) -> bool:
    """Return whether op_type and explicit axis show that the operator preserves the order along ArgMax's axis."""
    axis = explicit_axis(site.argmax)
    if axis is None:
        return False
    if site.producer.op_type in ELEMENTWISE:
        return True
    return site.producer.op_type in ALONG_AXIS and explicit_axis(site.producer) == axis


def is_standard(scope: Scope, node: onnx.NodeProto) -> bool:
    """Return whether a node calls an operator of ONNX, not of another domain and not a function of the model."""
    return node.domain in MAIN_DOMAINS and not node.overload and node.op_type not in scope.overridden_operators


def is_only_use(site: Site) -> bool:
    """Return whether ArgMax is the only use of the operator's result."""
    return site.scope.use_count(site.between) == 1


def is_in_sight(site: Site) -> bool:
    """Return whether the name of the operator's input denotes the same value at ArgMax.

    The name denotes another value if a node between the operator and ArgMax produces a value of that name.
    """
    return not site.scope.use_def.is_defined_between(site.before, site.producer, site.argmax)


def bypass_producer(site: Site) -> None:
    """Connect ArgMax to the operator's input, and remove the operator with the annotations of its result."""
    connections = site.scope.use_def
    gone = site.between
    connections.set_first_input(site.argmax, site.before)
    connections.remove(site.producer)
    connections.remove_annotations(gone)


def keep_result(_: onnx.ModelProto, __: onnx.ModelProto) -> None:
    """Do nothing; the default of `Elimination.finish`."""


@dataclass(frozen=True)
class Elimination:
    """The pass, divided into steps; a mutant of the pass replaces one step.

    Attributes:
        consumer: op_type of the nodes before which the pass removes operators: ArgMax.
        scopes: function that yields the graphs to rewrite, given the main graph.
        is_standard: function that returns whether a node calls ONNX's own operator.
        producer: function that returns the node of a graph that produces a value; None if there is no such node.
        is_monotone: function that returns whether the operator preserves the order.
        is_only_use: function that returns whether the operator's result has no other use.
        is_in_sight: function that returns whether the name of the operator's input denotes the same value at ArgMax.
        rewire: function that removes the operator.
        finish: function that is called last with the rewritten model and the original model.
        passes: names of the passes that this object implements.
    """

    consumer: str = "ArgMax"
    scopes: Callable[[Scope], Iterator[Scope]] = Scope.walk
    is_standard: Callable[[Scope, onnx.NodeProto], bool] = is_standard
    producer: Callable[[Scope, str], onnx.NodeProto | None] = Scope.producer
    is_monotone: Callable[[Site], bool] = is_monotone
    is_only_use: Callable[[Site], bool] = is_only_use
    is_in_sight: Callable[[Site], bool] = is_in_sight
    rewire: Callable[[Site], None] = bypass_producer
    finish: Callable[[onnx.ModelProto, onnx.ModelProto], None] = keep_result
    passes: tuple[str, ...] = (PASS_NAME,)

    def __call__(self, model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        """Return a copy of the model after one run of the pass, or after runs until nothing changes (`fixed_point`)."""
        return self.rewritten(model, fixed_point=fixed_point)[0]

    def rewritten(self, model: onnx.ModelProto, *, fixed_point: bool = False) -> tuple[onnx.ModelProto, list[str]]:
        """Return the rewritten copy of the model, and the paths of the removed operators' outputs, in order."""
        after, removals = self.traced(model, fixed_point=fixed_point)
        return after, [removal.path for removal in removals]

    def traced(self, model: onnx.ModelProto, *, fixed_point: bool = False) -> tuple[onnx.ModelProto, list[Removal]]:
        """Return the rewritten copy of the model, and the removed operators in order of removal."""
        copy = copy_of(model)
        every = [
            (scope, node)
            for scope in self.scopes(Scope(copy, copy.graph))
            for node in scope.graph.node
            if node.op_type == self.consumer
        ]
        removals: list[Removal] = []
        changed = self._run(every, removals)
        while fixed_point and changed:
            # Usually only changed nodes can change again. A last run over all nodes makes sure.
            changed = self._run(changed, removals) or self._run(every, removals)
        self.finish(copy, model)
        return copy, removals

    def _run(self, nodes: Iterable[_ScopedNode], removals: list[Removal]) -> list[_ScopedNode]:
        """Remove at most one operator before each of these nodes, and return the nodes that changed."""
        changed = []
        for scope, node in nodes:
            site = self._site(scope, node)
            if site is not None:
                removals.append(_removal(site))
                self.rewire(site)
                changed.append((scope, node))
        return changed

    def _site(self, scope: Scope, node: onnx.NodeProto) -> Site | None:
        """Return the node with the operator that the pass removes before it, or None if the pass does not apply."""
        if node.op_type != self.consumer or len(node.input) != 1 or not self.is_standard(scope, node):
            return None
        producer = self.producer(scope, node.input[0])
        if producer is None or not self.is_standard(scope, producer):
            return None
        if len(producer.input) != 1 or len(producer.output) != 1 or not producer.input[0]:
            return None
        site = Site(scope, node, producer)
        applies = self.is_monotone(site) and self.is_only_use(site) and self.is_in_sight(site)
        return site if applies else None


def _removal(site: Site) -> Removal:
    scope = site.scope
    producer = site.producer
    return Removal(scope.path_of(site.argmax), producer.op_type, site.between, scope.path_of(producer))


eliminate = Elimination()
"""The pass: `eliminate(model, fixed_point=False) → model`."""
