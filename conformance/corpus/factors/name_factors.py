"""Names of the values of a model: kinds of names that a runtime may cut, compare or understand wrongly."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import onnx

from conformance.corpus.factors.wrapping import BuiltModel
from conformance.exact.models.renaming import Renamer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PLAIN_NAMES = "plain"
"""The kind of names that the builders of models choose, such as X1_new."""

LONG_PREFIX = "value_of_a_graph_with_long_names_" * 16
"""Common beginning of long names; names of values differ only after it."""

LETTERS = "abcdefghijklmnop"

TERMS = (
    "alpha",
    "axis",
    "beta",
    "keepdims",
    "epsilon",
    "select_last_index",
    "norm_coefficient",
    "decay_factor",
    "mode",
    "norm_coefficient_post",
    "Adam",
    "Momentum",
    "Adagrad",
    "ArgMax",
    "Constant",
    "Identity",
    "If",
)
"""Names of attributes and operators."""

SWAPPED_LETTERS: Mapping[str, str] = {"R": "T", "T": "R", "X": "G", "G": "X", "V": "H", "H": "V"}
"""First letters of the operands of training optimizers, each with the letter of another operand."""


def _cased(number: int) -> str:
    """Return the letters, of which those at the bits of a number are capital letters."""
    return "".join(letter.upper() if number >> place & 1 else letter for place, letter in enumerate(LETTERS))


NAME_KINDS: Mapping[str, Callable[[int, str], str]] = {
    "colon": lambda _, name: f"value:{name}",
    "case": lambda number, _: _cased(number),
    "long": lambda _, name: f"{LONG_PREFIX}{name}",
    "slash": lambda _, name: f"value/{name}",
    "dot": lambda _, name: f"value.{name}",
    "space": lambda _, name: f"value {name}",
    "prefixes": lambda number, _: "v" * (number + 1),
    "terms": lambda number, _: TERMS[number] if number < len(TERMS) else f"term_{number}",
    "swapped": lambda _, name: SWAPPED_LETTERS.get(name[0], name[0]) + name[1:],
}
"""Functions from the number and the plain name of a value to another name, by kind of names.

If a runtime cuts names at a character, ignores case, compares only the beginning of names, or finds operands by their
names, it confuses values.
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
