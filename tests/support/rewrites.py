"""The pass's cases as tests look at them: models as the pass leaves them, and what they answer in declared types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from conformance.judging.examples import Example, Examples
from conformance.judging.optimizer import Task
from conformance.models.feeds import fed_names
from conformance.reference.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.corpus.case import Case
    from conformance.models.arrays import Array


def task_of(case: Case) -> Task:
    """A case of the pass as a graph optimizer is judged on it, before anything of it is written."""
    model = onnx.load_model_from_string(case.model)
    names, hazards = fed_names(model.graph), case.hazards or (None,) * len(case.data_sets)
    examples = (
        Example(number, dict(zip(names, given, strict=True)), hazards[number])
        for number, given in enumerate(case.data_sets)
    )
    return Task(model, case.rewrite, Examples(tuple(examples)), case.is_invalid)


def produced(graph: onnx.GraphProto) -> Iterator[str]:
    """The values that nodes give, those of subgraphs by the path to them."""
    return (path + name for _, name, path in _places(graph))


def without(content: bytes, values: Iterable[str]) -> bytes:
    """A serialised model in which what used these values takes their producers' inputs instead."""
    model = onnx.load_model_from_string(content)
    for path in values:
        _remove(*next(found for found in _places(model.graph) if found[2] + found[1] == path)[:2])
    return bytes(model.SerializeToString(deterministic=True))


def _places(graph: onnx.GraphProto, path: str = "") -> Iterator[tuple[onnx.GraphProto, str, str]]:
    """Every graph with each value that its nodes give, and the path to it."""
    for node in graph.node:
        yield from ((graph, name, path) for name in node.output if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _places(attribute.g, f"{path}{node.output[0]}/{attribute.name}/")


def _remove(graph: onnx.GraphProto, name: str) -> None:
    (producer,) = [node for node in graph.node if list(node.output) == [name]]
    (user,) = [node for node in graph.node if name in node.input]
    user.input[:] = [producer.input[0] if given == name else given for given in user.input]
    graph.node.remove(producer)
    for said in [said for said in graph.value_info if said.name == name]:
        graph.value_info.remove(said)


def declared_answers(content: bytes, inputs: Sequence[Array]) -> list[bytes]:
    """A model's outputs, every result rounded to its declared type."""
    outputs = evaluate(onnx.load_model_from_string(content), inputs, declared=True)
    return [output.tobytes() for output in outputs]
