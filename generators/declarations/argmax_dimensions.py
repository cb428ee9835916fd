"""The case families `placed` and `close` of ArgMax: declarations of their factors, and builders of models and data.

The factors of `placed` are the enclosing scope, the operator before ArgMax, the attributes of ArgMax and the data.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

from conformance.corpus.factors.argmax_factors import argmax_fragment
from conformance.corpus.factors.connections import CONSUMERS, PERMITTED_SOURCES, SOURCES
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.scopes import SCOPES
from conformance.corpus.factors.wrapping import IMPORT_LEVELS, BuiltModel, Context, build_in_context
from conformance.exact.models.arrays import dtype_of, type_number
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.small_families import ADDED_SCOPES, SMALL_FAMILY_CONSUMERS, SMALL_FAMILY_SOURCES
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array


PRODUCERS: Mapping[str, tuple[str, str] | None] = {
    "none": None,
    "exp": ("Exp", ""),
    "log": ("Log", ""),
    "sqrt": ("Sqrt", ""),
    "softmax": ("Softmax", "same"),
    "softmax_default": ("Softmax", ""),
    "softmax_default_coerced": ("Softmax", ""),
    "log_softmax": ("LogSoftmax", "same"),
    "log_softmax_default": ("LogSoftmax", ""),
    "log_softmax_default_coerced": ("LogSoftmax", ""),
}
"""Operator before ArgMax by level, and `same` if it has ArgMax's axis as attribute.

The levels `*_coerced` use an opset below 13, in which Softmax and LogSoftmax coerce their input to a matrix.
"""

POSITIVE_DOMAIN = ("log", "sqrt")
"""Preceding operators that need positive numbers."""

ARGMAX_TYPES = (
    "float",
    "double",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
)
"""Element types of ArgMax's input."""

INTEGER_TYPES = tuple(name for name in ARGMAX_TYPES if "int" in name)

UNSIGNED_TYPES = tuple(name for name in INTEGER_TYPES if name.startswith("u"))

SOURCE_LEVELS: Mapping[str, tuple[str, str]] = {
    **{source: (source, "raw") for source in SOURCES if source not in (*SMALL_FAMILY_SOURCES, *PERMITTED_SOURCES)},
    "initializer_of_numbers": ("initializer", "typed"),
    "constant_of_numbers": ("constant", "typed"),
}
"""Levels of the factor `source_X`: a level of `SOURCES` and a level of `TENSOR_ENCODINGS`."""

SHAPES: Mapping[str, Sequence[int]] = {
    "2x3": (2, 3),
    "vector": (3,),
    "one": (1,),
    "cube": (2, 3, 2),
    "no_rows": (0, 3),
    "none_between": (2, 0, 3),
    "rank_6": (2, 1, 2, 1, 1, 2),
    "rank_9": (2, 1, 1, 2, 1, 1, 1, 1, 2),
}

ADDED_SHAPES = ("rank_9",)

AXIS_LEVELS = ("first", "default", "last", "minus_one", "minus_rank")

TIE_LEVELS: Mapping[str, int | None] = {"tied": None, "tied_first": 0, "tied_last": 1}
"""Values of `select_last_index` for data with equal maxima, by level. None: the attribute is omitted."""

VALUE_LEVELS = ("apart", *TIE_LEVELS)

COERCED_PRODUCERS = ("softmax_default_coerced", "log_softmax_default_coerced")

DEFAULT_AXIS_PRODUCERS = ("softmax_default", "log_softmax_default", *COERCED_PRODUCERS)
"""Producers with a default axis, which can differ from ArgMax's axis. They need at least three axes."""

GOLOMB_RULER = (0, 2, 6, 24, 29, 40, 43, 55, 68, 75, 76, 85)
"""Golomb ruler: all differences between two marks are distinct, so normalised rows have no ties."""

THREE_AXES_REASON = "With fewer axes, or with sizes of 1, a wrong default axis does not change the result."


def _limits(dtype: Any) -> Any:
    """Return the limits of a floating-point type, including bfloat16."""
    return finfo(dtype)  # type: ignore[no-untyped-call]


CLOSE_VALUES: Mapping[str, Callable[[Any], tuple[Any, Any]]] = {
    "0_and_1": lambda _: (0.0, 1.0),
    "1_and_2": lambda _: (1.0, 2.0),
    "minus_1_and_0": lambda _: (-1.0, 0.0),
    "half_and_1": lambda _: (0.5, 1.0),
    "integers": lambda _: (6.0, 7.0),
    "above_1": lambda dtype: (1.0, np.nextafter(dtype(1), dtype(2))),
    "below_2": lambda dtype: (np.nextafter(dtype(2), dtype(1)), 2.0),
    "below_minus_1": lambda dtype: (np.nextafter(dtype(-1), dtype(-2)), -1.0),
    "least_normal": lambda dtype: (
        np.nextafter(_limits(dtype).smallest_normal, dtype(0)),
        _limits(dtype).smallest_normal,
    ),
    "largest": lambda dtype: (np.nextafter(_limits(dtype).max, dtype(0)), _limits(dtype).max),
    "subnormals": lambda dtype: (_limits(dtype).smallest_subnormal, _limits(dtype).smallest_subnormal * dtype(2)),
    "large_subnormals": lambda dtype: (
        _limits(dtype).smallest_normal - dtype(2) * _limits(dtype).smallest_subnormal,
        _limits(dtype).smallest_normal - _limits(dtype).smallest_subnormal,
    ),
    "negative_subnormals": lambda dtype: (
        -_limits(dtype).smallest_subnormal * dtype(2),
        -_limits(dtype).smallest_subnormal,
    ),
}
"""Functions of an element type that return two close values, in ascending order, by level."""

SUBNORMAL_LEVELS = ("subnormals", "large_subnormals", "negative_subnormals")
"""Levels of `CLOSE_VALUES` whose values are equal if a runtime flushes subnormals to zero."""

CLOSE_LENGTHS = ("2", "3", "8", "13", "18", "33")


def argmax_close_declaration() -> FamilyDeclaration:
    """Return the factors of the family `close`: rows of two close values, of which the larger is rare.

    The larger value is the first, the last or an inner element, or both the first and the last.
    """
    return FamilyDeclaration(
        factors={
            "type": ("bfloat16", "float16", "float", "double"),
            "values": tuple(CLOSE_VALUES),
            "length": CLOSE_LENGTHS,
            "place": ("last", "first", "inner", "ends"),
            "select_last_index": ("0", "1"),
        },
        forbidden=(LevelCombination({"length": ("2",), "place": ("inner", "ends")}, "Two elements are two ends."),),
    )


def close_rows(row: Row) -> Array:
    """Return the input X for a row of `argmax_close_declaration`: a vector, and the vector in reverse order."""
    dtype = dtype_of(type_number(row["type"])).type
    length = int(row["length"])
    smaller, larger = CLOSE_VALUES[row["values"]](dtype)
    vector = np.full(length, smaller, dtype=dtype)
    places = {"first": [0], "last": [-1], "inner": [length // 2], "ends": [0, -1]}[row["place"]]
    vector[places] = larger
    return np.stack([vector, vector[::-1]])


def argmax_placed_declaration() -> FamilyDeclaration:
    """Return the factors of the family `placed`: enclosing scope, preceding operator, attributes and data of ArgMax."""
    empty_axis = "ArgMax along an empty axis has no result."
    return FamilyDeclaration(
        factors={
            "before": tuple(PRODUCERS),
            "scope": tuple(place for place in SCOPES if place not in {"loop", "scan"}),
            "source_X": tuple(SOURCE_LEVELS),
            "consumer_index": tuple(use for use in CONSUMERS if use not in ("unused", *SMALL_FAMILY_CONSUMERS)),
            "read_by_another": ("none", "X"),
            "type": ARGMAX_TYPES,
            "values": VALUE_LEVELS,
            "shape": tuple(SHAPES),
            "axis": AXIS_LEVELS,
            "opset": ("13", "11", "12"),
            "keepdims": ("default", "0"),
            "imports": tuple(
                spelling for spelling in IMPORT_LEVELS if spelling not in {"main_by_name", "training_first"}
            ),
            "training_info": ("absent", "present"),
        },
        forbidden=(
            LevelCombination(
                {"before": tuple(PRODUCERS)[1:], "type": INTEGER_TYPES}, "The operators do not accept integers."
            ),
            LevelCombination(
                {"before": tuple(PRODUCERS)[1:], "values": tuple(TIE_LEVELS)},
                "Rounding decides which element wins a tie.",
            ),
            LevelCombination({"type": ("bfloat16",), "opset": ("11", "12")}, "ArgMax accepts bfloat16 since opset 13."),
            LevelCombination(
                {"type": UNSIGNED_TYPES, "read_by_another": ("X",)}, "Neg does not accept unsigned integers."
            ),
            LevelCombination(
                {"opset": ("11",), "values": ("tied_first", "tied_last")}, "select_last_index came with opset 12."
            ),
            LevelCombination({"shape": ("no_rows",), "axis": ("first", "default", "minus_rank")}, empty_axis),
            LevelCombination({"before": COERCED_PRODUCERS, "opset": ("13",)}, "Coercion was removed in opset 13."),
            LevelCombination(
                {"before": DEFAULT_AXIS_PRODUCERS[:2], "opset": ("11", "12")}, "Below opset 13 the input is coerced."
            ),
            LevelCombination(
                {"before": DEFAULT_AXIS_PRODUCERS, "shape": tuple(name for name in SHAPES if name != "cube")},
                THREE_AXES_REASON,
            ),
            LevelCombination(
                {"before": DEFAULT_AXIS_PRODUCERS, "axis": ("last", "minus_one")},
                "Softmax keeps the order along its own axis.",
            ),
            LevelCombination(
                {"before": DEFAULT_AXIS_PRODUCERS, "type": ("float16",)}, "Rounding may change the order across axes."
            ),
            LevelCombination(
                {"before": tuple(PRODUCERS)[1:], "type": ("bfloat16",)},
                "Rounding may decide; cases of the pass test this.",
            ),
            LevelCombination({"shape": ("one",), "values": tuple(TIE_LEVELS)}, "A single element has no tie."),
            LevelCombination(
                {"shape": ("no_rows", "none_between"), "values": tuple(TIE_LEVELS)}, "An empty tensor has no tie."
            ),
        ),
        masking=(
            LevelCombination({"shape": ("one",)}, "The index is always 0."),
            LevelCombination({"shape": ("no_rows", "none_between")}, "The result is empty."),
        ),
        three_way={"before": ("before",), "opset": ("opset",), "source": ("source_X",)},
        omissions=(
            Omission(
                "a Loop that carries the result",
                "An index cannot replace X in the next iteration; cases of the pass test this.",
            ),
            Omission("a Scan", "`test_argmax_pass_subgraphs_scan_*` and `test_argmax_pass_contexts_*` test this."),
            Omission(
                "infinities, NaN and zeros of both signs",
                "`generators/argmax/argmax_values.py` tests them in every type.",
            ),
        ),
        added={
            "scope": ADDED_SCOPES,
            "shape": ADDED_SHAPES,
        },
    )


def build_argmax_placed(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `argmax_placed_declaration`."""
    shape = SHAPES[row["shape"]]
    opset = int(row["opset"])
    axis = {"first": 0, "last": len(shape) - 1, "minus_one": -1, "minus_rank": -len(shape)}.get(row["axis"])
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    if row["keepdims"] != "default":
        attributes["keepdims"] = int(row["keepdims"])
    if (last := TIE_LEVELS.get(row["values"])) is not None:
        attributes["select_last_index"] = last
    chain = PRODUCERS[row["before"]]
    own = {"axis": axis or 0} if chain and chain[1] else {}
    fragment = argmax_fragment(_data(name, row), [(chain[0], own)] if chain else [], attributes, opset)
    source, stored = SOURCE_LEVELS[row["source_X"]]
    context = Context(
        scope=row["scope"],
        sources={"X": source},
        consumers={"index": row["consumer_index"]},
        shared=("X",) if row["read_by_another"] == "X" else (),
        stored=stored,
        imports=row["imports"],
        trains=row["training_info"] == "present",
    )
    return build_in_context(name, fragment, context)


def _data(name: str, row: Row) -> Array:
    """Return the input X of a row: distinct elements, or equal elements if the row tests ties.

    Distinct elements remain distinct after every preceding operator in any type. The elements have both signs if the
    operator and the type allow it.
    """
    shape = SHAPES[row["shape"]]
    dtype = dtype_of(type_number(row["type"]))
    if row["values"] in TIE_LEVELS:
        return np.ones(shape, dtype=dtype)
    steps = permuted_quarters(f"{name}/X", (prod(shape),), np.float64) * 4
    if row["before"] in DEFAULT_AXIS_PRODUCERS:
        steps = np.array(GOLOMB_RULER)[steps.astype(np.int64) - 1] / 2
    elif row["before"] not in POSITIVE_DOMAIN and row["type"] not in UNSIGNED_TYPES:
        steps -= (steps.size + 1) // 2
    return (steps if row["type"] in INTEGER_TYPES else steps / 4).astype(dtype).reshape(tuple(shape))
