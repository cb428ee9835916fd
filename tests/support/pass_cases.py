"""Helpers for the cases of the pass: rewritten models, and outputs in declared types."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx

from conformance.corpus.generation.generators import define_cases
from conformance.exact.models.input_files import fed_input_names
from conformance.exact.reference.oracle import evaluate
from conformance.run.judging.optimizer_run import OptimizerDataSet, OptimizerDataSets, OptimizerTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array


@cache
def defined_pass_cases() -> tuple[Case, ...]:
    """Return the cases of the pass and of its hazards, as the generator defines them."""
    return tuple(case for _, case in define_cases(["eliminate_nop_monotone_argmax"]))


def optimizer_task(case: Case) -> OptimizerTask:
    """Return the task that a graph optimizer is judged on for a case of the pass."""
    model = onnx.load_model_from_string(case.model)
    hazards = case.hazards or (None,) * len(case.data_sets)
    examples = (
        OptimizerDataSet(
            number, dict(zip(fed_input_names(model.graph, len(given)), given, strict=True)), hazards[number]
        )
        for number, given in enumerate(case.data_sets)
    )
    return OptimizerTask(model, case.rewrite, OptimizerDataSets(tuple(examples)), case.is_invalid)


def produced_values(graph: onnx.GraphProto) -> Iterator[str]:
    """Return the values that nodes produce; values of subgraphs have their path as a prefix."""
    return (path + name for _, name, path in _places(graph))


def remove_values(content: bytes, values: Iterable[str]) -> bytes:
    """Return a serialised model in which these values are replaced by the inputs of their producers."""
    model = onnx.load_model_from_string(content)
    for path in values:
        _remove(*next(found for found in _places(model.graph) if found[2] + found[1] == path)[:2])
    return bytes(model.SerializeToString(deterministic=True))


def _places(graph: onnx.GraphProto, path: str = "") -> Iterator[tuple[onnx.GraphProto, str, str]]:
    """Yield every graph with each value that its nodes produce, and the path of the value."""
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
    """Return the outputs of a model with every result rounded to its declared type."""
    outputs = evaluate(onnx.load_model_from_string(content), inputs, declared=True)
    return [output.tobytes() for output in outputs]
