"""Expected models: the model of a case after the pass, built from the removals that the case lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.corpus.passes.eliminate_nop_monotone_argmax import Elimination, Site, bypass_producer
from conformance.exact.models.graphs import Scope, copy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import onnx


def remove_producers(model: onnx.ModelProto, removed: Iterable[str]) -> onnx.ModelProto:
    """Return a copy of the model without the producers of some values; consumers read the producers' inputs instead.

    Args:
        removed: paths of these values; each value must have one use.

    Raises:
        ValueError: the model does not have such a value, or no node uses it.
    """
    rewritten = copy_of(model)
    for path in removed:
        bypass_producer(_find_site(rewritten, path))
    return rewritten


def bypass_exhaustively(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model in which every ArgMax reads the value before all monotone operators.

    Unlike the pass, the function ignores other uses of the operators' results: a graph optimizer may have removed these
    uses in other passes before. The operators themselves remain.
    """
    return _bypass_all(model, fixed_point=True)


def iter_produced_values(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.NodeProto]]:
    """Yield the path of every value that a node produces, with the node."""
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            yield from ((f"{scope.path}{name}", node) for name in node.output if name)


def _bypass(site: Site) -> None:
    site.scope.use_def.set_first_input(site.argmax, site.before)


_bypass_all = Elimination(is_only_use=lambda _: True, rewire=_bypass)


def _find_site(model: onnx.ModelProto, path: str) -> Site:
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            if node.output and f"{scope.path}{node.output[0]}" == path:
                for user in scope.graph.node:
                    if user.input and user.input[0] == node.output[0]:
                        return Site(scope, user, node)
    raise ValueError(f"no node uses {path}")
