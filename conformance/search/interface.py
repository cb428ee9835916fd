"""The names and the declared sizes of the values of a random model."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import onnx

from conformance.dimensions.wrapping import BuiltModel
from conformance.graphs.renaming import Renamer
from conformance.models.inputs import required_input_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PLAIN_NAMES = "plain"
"""The kind of names that the builders of models choose, such as X1_new."""

LONG_PREFIX = "value_of_a_graph_with_long_names_" * 16
"""Common beginning of long names; names of values differ only after it."""

LETTERS = "abcdefghijklmnop"


def _cased(number: int) -> str:
    """Return the letters, of which those at the bits of a number are capital letters."""
    return "".join(letter.upper() if number >> place & 1 else letter for place, letter in enumerate(LETTERS))


NAME_KINDS: Mapping[str, Callable[[int, str], str]] = {
    "colon": lambda _, name: f"value:{name}",
    "case": lambda number, _: _cased(number),
    "long": lambda _, name: f"{LONG_PREFIX}{name}",
}
"""Functions from the number and the plain name of a value to another name, by kind of names.

If a runtime cuts names at a colon, ignores case, or compares only the beginning of names, it confuses all values.
"""


def rename_values_of(built: BuiltModel, kind: str) -> BuiltModel:
    """Return a model whose values, also those of subgraphs, have names of a kind: `PLAIN_NAMES` or of `NAME_KINDS`."""
    if kind == PLAIN_NAMES:
        return built
    numbers = count()

    def rename(name: str) -> str:
        return NAME_KINDS[kind](next(numbers), name)

    model = onnx.load_model_from_string(built.model)
    Renamer(rename).rename_graph(model.graph, {}, rename)
    return BuiltModel(model.SerializeToString(deterministic=True), built.data_sets)


def open_declared_sizes(built: BuiltModel) -> BuiltModel:
    """Return a model that declares a symbol for each size in which the inputs of two data sets differ.

    The sizes of all outputs are not declared.
    """
    model = onnx.load_model_from_string(built.model)
    declared = {value.name: value for value in model.graph.input}
    for name, *arrays in zip(required_input_names(model.graph), *built.data_sets, strict=False):
        dimensions = declared[name].type.tensor_type.shape.dim
        for axis, sizes in enumerate(zip(*(array.shape for array in arrays), strict=True)):
            if len({*sizes}) > 1:
                dimensions[axis].dim_param = f"size_{axis}_of_{name}"
    for value in model.graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.Clear()
    return BuiltModel(model.SerializeToString(deterministic=True), built.data_sets)
