"""Faults about graphs inside of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from conformance.deviations.rewrites.fault import altered
from conformance.models.scopes import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _main_only(scope: Scope) -> Iterator[Scope]:
    yield scope


def _one_level(scope: Scope) -> Iterator[Scope]:
    yield scope
    yield from scope.inner()


def _but(op_type: str) -> Callable[[Scope], Iterator[Scope]]:
    """All scopes but those inside of an operator."""

    def scopes(scope: Scope) -> Iterator[Scope]:
        yield scope
        for node in scope.graph.node:
            if node.op_type != op_type:
                held = Scope(scope.model, onnx.GraphProto(node=[node]), scope.path)
                for inner in held.inner():
                    yield from scopes(_real(scope, inner))

    return scopes


def _real(scope: Scope, wanted: Scope) -> Scope:
    """The scope inside of another with the same path as a copy of it."""
    return next(inner for inner in scope.inner() if inner.path == wanted.path)


def _inside_only(scope: Scope) -> Iterator[Scope]:
    for inner in scope.inner():
        yield from inner.walk()


def _across(scope: Scope, name: str) -> onnx.NodeProto | None:
    """The producer in any graph around, by which an operator outside is looked past."""
    if (own := scope.producer(name)) is not None:
        return own
    around = [node for node in scope.model.graph.node if name in node.output]
    if not scope.path or not around or name in {value.name for value in scope.graph.input}:
        return None
    copy = onnx.NodeProto()
    copy.CopyFrom(around[0])
    scope.graph.node.insert(0, copy)
    scope.changed()
    return scope.producer(name)


SCOPES = (
    altered("main_graph_only", "does not look inside of nodes", scopes=_main_only),
    altered("one_level_only", "looks inside of nodes, and not inside of nodes in there", scopes=_one_level),
    altered("inside_only", "fires in inner graphs alone", scopes=_inside_only),
    *(
        altered(f"not_inside_{op_type.lower()}", f"does not look inside of {op_type}", scopes=_but(op_type))
        for op_type in ("If", "Loop", "Scan")
    ),
    altered("across_scopes", "looks past an operator outside of the graph that ArgMax is in", producer=_across),
)
