"""Nothing is said of tensors that are gone: what was declared of them, or annotated, goes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.models.scopes import Scope
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx

    from conformance.judging.rewriting import Rewriting

LEVEL = Level.SHOULD
CLAUSES = ("monotone.leftovers",)
"""The passages say on what values there is information; none forbids it on others, and the checker lets it be."""


def complaint(rewriting: Rewriting) -> str | None:
    """`value_info of Y is left, which is gone`."""
    return next(_complaints(rewriting.before, rewriting.after), None)


def _complaints(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[str]:
    graphs = {scope.path: scope.graph for scope in Scope(before, before.graph).walk()}
    for scope in Scope(after, after.graph).walk():
        gone = _given(graphs[scope.path]) - _given(scope.graph) if scope.path in graphs else set()
        said = [("value_info", value.name) for value in scope.graph.value_info]
        said += [("quantization annotation", note.tensor_name) for note in scope.graph.quantization_annotation]
        yield from (f"{what} of {scope.path}{name} is left, which is gone" for what, name in said if name in gone)


def _given(graph: onnx.GraphProto) -> set[str]:
    """The values of a graph by name: its inputs, its initializers and what its nodes make."""
    names = {value.name for value in (*graph.input, *graph.initializer)}
    names |= {tensor.values.name for tensor in graph.sparse_initializer}
    return names.union(name for node in graph.node for name in node.output)
