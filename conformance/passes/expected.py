"""A case's model as the pass leaves it, made from what the case says is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.scopes import Scope
from conformance.passes.eliminate_nop_monotone_argmax import Elimination, Site, rewire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import onnx


def without(model: onnx.ModelProto, gone: Iterable[str]) -> onnx.ModelProto:
    """A copy of the model in which what used these values takes their producers' inputs instead.

    Args:
        gone: values by path, each with one use.

    Raises:
        ValueError: the model has no such value, or nothing uses it.
    """
    copy = type(model)()
    copy.CopyFrom(model)
    for path in gone:
        rewire(_site(copy, path))
    return copy


def past_all(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of the model in which every ArgMax looks past all operators of the pass, whatever else they are used for.

    This is what a graph optimizer comes to that removes other uses first, with passes of its own.
    """
    return _PAST_ALL(model, fixed_point=True)


def produced(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.NodeProto]]:
    """Every value that a node makes, by path, with the node."""
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            yield from ((f"{scope.path}{name}", node) for name in node.output if name)


def _look_past(site: Site) -> None:
    site.scope.connections.feed(site.argmax, site.before)


_PAST_ALL = Elimination(is_only_use=lambda _: True, rewire=_look_past)


def _site(model: onnx.ModelProto, path: str) -> Site:
    for scope in Scope(model, model.graph).walk():
        for node in scope.graph.node:
            if node.output and f"{scope.path}{node.output[0]}" == path:
                for user in scope.graph.node:
                    if user.input and user.input[0] == node.output[0]:
                        return Site(scope, user, node)
    raise ValueError(f"no node uses {path}")
