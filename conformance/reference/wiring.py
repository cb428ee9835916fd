"""Whether every value of a main graph is given once, and before it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnx


def miswired(model: onnx.ModelProto) -> str | None:
    """What is wrong with how the nodes of the main graph are joined, or None; captures are not looked at."""
    return next(_faults(model), None)


def _faults(model: onnx.ModelProto) -> Iterator[str]:
    graph = model.graph
    if not model.opset_import:
        yield "the model imports no opset"
    given = {"", *(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)}
    given |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        yield from (f"nothing before {node.op_type} gives its input {name}" for name in node.input if name not in given)
        for name in filter(None, node.output):
            if name in given:
                yield f"{node.op_type} gives {name}, which is given already"
            given.add(name)
    yield from (f"nothing gives the output {value.name}" for value in graph.output if value.name not in given)
