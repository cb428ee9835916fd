"""Surroundings of a graph that no pass may confuse with it: names, texts and initializers.

A pass that keeps the values of its pattern can still lose or confuse what is around the pattern. A surrounding changes
a model and its inputs in place, and returns the answers of the outputs that it adds. `SURROUNDINGS` has them in the
order of turns.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import onnx
from onnx import helper

from conformance.corpus.generation.expected_outputs import enclosed_answers
from conformance.exact.models.arrays import array_of
from conformance.exact.models.graphs import copy_of
from conformance.exact.models.model_validity import is_fully_valid
from conformance.exact.models.renaming import Renamer
from generators.patterns.situations import defaults, in_branch, named_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.oracle import Answer

    Inputs = dict[str, Array]
    Surrounding = Callable[[onnx.ModelProto, Inputs], Sequence[Answer]]

CONSTANTS = """<ir_version: 9, opset_import: ["": 17]> constants ()
=> (string[3] all_words, float[2] kept, float[2] sums, float[2] infinities, float[1] largest, float[1] other_largest)
<string[1] word = {"a"}, string[1] other_word = {"b"}, string[1] same_word = {"a"}, float[2] kept = {1, 2},
 float[2] unused = {3, 4}, float[2] equal = {1, 2}, float[2] zeros = {-0.0, 0.0}, float[2] other_zeros = {0.0, 0.0},
 float[1100] long = {ZEROS}, float[1100] other_long = {MIDDLE}>
{
  all_words = Concat <axis = 0> (word, other_word, same_word)
  sums = Add (kept, equal)
  inverses = Reciprocal (zeros)
  infinities = Div (inverses, other_zeros)
  differences = Sub (other_long, long)
  largest = ReduceMax (differences)
  constant = Constant <value = float[1100] {ZEROS}> ()
  other_constant = Constant <value = float[1100] {MIDDLE}> ()
  other_differences = Sub (other_constant, constant)
  other_largest = ReduceMax (other_differences)
}""".replace("ZEROS", ", ".join(["0"] * 1100)).replace("MIDDLE", ", ".join([*["0"] * 550, "1", *["0"] * 549]))
"""Constants that are equal, nearly equal, different in the middle of a long text, unused, or an output of the graph."""


def add_constants(model: onnx.ModelProto, _: Inputs) -> Sequence[Answer]:
    """Add the nodes and initializers of `CONSTANTS`."""
    other = onnx.parser.parse_model(CONSTANTS)
    for name in ("node", "initializer", "output"):
        getattr(model.graph, name).extend(getattr(other.graph, name))
    return enclosed_answers(other, [])


def describe(model: onnx.ModelProto, _: Inputs) -> Sequence[Answer]:
    """Add texts and metadata to the model, to the graph and to its nodes."""
    model.doc_string = "a model"
    model.model_version = 3
    model.producer_name = "a producer"
    model.graph.doc_string = "a graph"
    for number, place in enumerate((model, model.graph, *model.graph.node)):
        place.metadata_props.add(key="place", value=str(number))
    return ()


def give_usual_names(model: onnx.ModelProto, _: Inputs) -> Sequence[Answer]:
    """Give the values names that programs choose for results: v0, v1 and so on, first of all to the inputs."""
    _rename_values(model, "v{}".format)
    return ()


def _rename_values(model: onnx.ModelProto, name_of: Callable[[int], str]) -> None:
    """Give each value the name of the next number."""
    numbers = count()

    def next_name(_: str) -> str:
        return name_of(next(numbers))

    Renamer(next_name).rename_graph(model.graph, {}, next_name)


def give_names_with_marks(model: onnx.ModelProto, _: Inputs) -> Sequence[Answer]:
    """Give the values names that differ in marks only, and give each node the name of its first result."""
    _rename_values(model, lambda number: f"v{'/._:'[number % 4]}{number // 4}")
    for node in model.graph.node:
        node.name = node.output[0]
    return ()


def give_numbers_as_names(model: onnx.ModelProto, _: Inputs) -> Sequence[Answer]:
    """Give the values numbers as names, and all nodes one name."""
    _rename_values(model, str)
    for node in model.graph.node:
        node.name = "node"
    return ()


PLAIN_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.INT32, onnx.TensorProto.DOUBLE)


def store_in_fields(model: onnx.ModelProto, _: Inputs) -> Sequence[Answer]:
    """Store initializers in the fields of their types, instead of as bytes."""
    for tensor in model.graph.initializer:
        if tensor.data_type in PLAIN_TYPES:
            elements = array_of(tensor).ravel().tolist()
            tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, elements))
    return ()


def situated(change: Callable[[onnx.ModelProto, Inputs], object]) -> Surrounding:
    """Return the surrounding of a situation of `situations` that keeps the outputs; none if the model gets invalid."""

    def surround(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Answer]:
        before = copy_of(model)
        given = dict(inputs)
        change(model, inputs)
        content = model.SerializeToString(deterministic=True)
        if not is_fully_valid(content):  # an operator cannot be in the situation
            model.CopyFrom(before)
            inputs.clear()
            inputs.update(given)
        return ()

    return surround


SURROUNDINGS: Sequence[Surrounding] = (
    lambda *_: (),
    add_constants,
    situated(named_sizes),
    describe,
    give_usual_names,
    situated(defaults),
    give_names_with_marks,
    give_numbers_as_names,
    lambda *_: (),
    add_constants,
    situated(in_branch),
    describe,
    give_usual_names,
    store_in_fields,
    give_names_with_marks,
    give_numbers_as_names,
)
"""The surroundings of models in turn; in some turns there is none."""
