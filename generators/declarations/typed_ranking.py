"""Families of ArgMax cases: each element type with each attribute, conversions, normalized axes, and nested iterations.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
from onnx import helper

from conformance.corpus.factors.argmax_factors import index_like
from conformance.corpus.factors.connections import Fragment
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.wrapping import OPSET, BuiltModel, Context, build_in_context
from conformance.exact.models.arrays import dtype_of, type_number
from conformance.exact.models.model_building import pseudo_random_array
from generators.declarations.argmax_dimensions import ARGMAX_TYPES
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.ranking import LENGTHS, SELECT_LAST_INDEX, SPECIAL_PRODUCERS, build_tied

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

TYPED_AXES: Mapping[str, Callable[[int], int | None]] = {
    "default": lambda _: None,
    "first": lambda _: 0,
    "inner": lambda _: 1,
    "last": lambda rank: rank - 1,
    "minus_one": lambda _: -1,
    "minus_inner": lambda rank: 1 - rank,
    "minus_rank": lambda rank: -rank,
}
"""Functions of the rank that return the axis, by level. None: the attribute is omitted."""

TYPED_SHAPES: Mapping[str, Sequence[int]] = {
    "cube": (2, 3, 4),
    "vector": (5,),
    "matrix": (3, 18),
    "rank_5": (2, 3, 1, 4, 2),
}
"""Shapes of X by level."""

TYPED_VALUES = ("default", "0", "1")
"""Levels of an attribute that takes 0 and 1."""

ABOVE_3 = (3.0, 2.0**-6)
NEAR_1 = (1.0, 2.0**-18)
LOW_BITS = (2**40, 1 - 2**32)
"""The first element of a row and the distance of the next one, for several types."""

MERGING: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "double": {
        **dict.fromkeys(("float", "float16", "bfloat16"), (1.0, 2.0**-36)),
        **dict.fromkeys(("int64", "int32", "uint8"), ABOVE_3),
    },
    "float": {
        **dict.fromkeys(("float16", "bfloat16"), NEAR_1),
        **dict.fromkeys(("int64", "int32", "int8", "uint8", "uint16"), ABOVE_3),
    },
    "float16": dict.fromkeys(("int32", "int8", "uint8", "int16"), ABOVE_3),
    "bfloat16": dict.fromkeys(("int64", "uint8"), ABOVE_3),
    "int64": {
        "double": (2**62, 1),
        "float": (2**40, 1),
        "bfloat16": (2**20, 1),
        **dict.fromkeys(("int32", "uint32", "int16", "uint8"), LOW_BITS),
        "uint64": (-2, 1),
    },
    "int32": {
        "float": (2**30, 1),
        **dict.fromkeys(("int16", "uint16", "int8"), (2**30, 1 - 2**16)),
        "uint32": (-2, 1),
    },
    "uint64": {"double": (2**62, 1), "float": (2**40, 1), "int64": (2**63 - 2, 1), "int32": LOW_BITS},
    "uint32": {"float": (2**31, 1), "int32": (2**31 - 2, 1)},
    "int16": {"int8": (2**13, -255), "uint16": (-2, 1), "bfloat16": (2**14, 1)},
    "uint16": {"int16": (2**15 - 2, 1), "uint8": (2**15, -255)},
    "int8": {"uint8": (-2, 1)},
    "uint8": {"int8": (2**7 - 2, 1)},
}
"""The first element of a row and the distance of the next one, by type and by the type to which Cast converts them.

The conversion makes all elements equal, or turns their order, because it rounds them or keeps the low bits.
"""

RANKS = ("3", "5", "6", "9")
"""Numbers of axes. Axes that differ can be equal modulo a smaller number of axes."""

INNER_LENGTH = 5
"""Number of elements that ArgMax searches in an iteration."""

OUTER_SCOPES: Mapping[str, str] = {
    "loop": """index = Loop (trips, yes) <body = outer (int64 i, bool go) => (bool again, int64{sizes} at) {{
    again = Identity (go)
    row = Gather (X, i)
    flag = Gather (flags, i)
    {inner}
  }}>""",
    "scan": """index = Scan <num_scan_inputs = 2, body = outer (float[5] row, bool flag) => (int64{sizes} at) {{
    {inner}
  }}> (X, flags)""",
}
"""The node of the enclosing scope by level, around the nodes of an iteration."""

INNER_SCOPES: Mapping[str, str] = {
    "alone": "at = ArgMax <axis = 0, keepdims = 0> (row)",
    "if": """at = If (flag) <then_branch = plain () => (int64 y) {
      y = ArgMax <axis = 0, keepdims = 0> (row)
    }, else_branch = turned () => (int64 y) {
      t = Neg (row)
      y = ArgMax <axis = 0, keepdims = 0, select_last_index = 1> (t)
    }>""",
    "loop": """at = Loop (inner_trips, yes) <body = inner (int64 j, bool inner_go) => (bool inner_again, int64 y) {
      inner_again = Identity (inner_go)
      step = Gather (steps, j)
      t = Add (row, step)
      y = ArgMax <axis = 0, keepdims = 0> (t)
    }>""",
    "scan": """at = Scan <num_scan_inputs = 1, body = inner (float[5] step) => (int64 y) {
      t = Add (row, step)
      y = ArgMax <axis = 0, keepdims = 0> (t)
    }> (steps)""",
}
"""The nodes of an iteration by level. All of them read the row of the enclosing iteration."""


def typed_declaration() -> FamilyDeclaration:
    """Return the factors of the family `typed`: each element type with each value of an attribute."""
    return FamilyDeclaration(
        {
            "type": ARGMAX_TYPES,
            "axis": tuple(TYPED_AXES),
            "keepdims": TYPED_VALUES,
            "select_last_index": TYPED_VALUES,
            "shape": tuple(TYPED_SHAPES),
        },
        forbidden=(
            LevelCombination({"shape": ("vector",), "axis": ("inner", "minus_inner")}, "A vector has one axis."),
        ),
    )


def build_typed(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `typed_declaration`."""
    shape = TYPED_SHAPES[row["shape"]]
    axis = TYPED_AXES[row["axis"]](len(shape))
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    attributes |= {name: int(row[name]) for name in ("keepdims", "select_last_index") if row[name] != "default"}
    node = helper.make_node("ArgMax", ["X"], ["index"], **attributes)
    return build_tied(name, {"X": shape}, [(node, attributes)], row)


def converted_declaration() -> FamilyDeclaration:
    """Return the factors of the family `converted`: ArgMax after a Cast that makes elements equal or turns them."""
    targets = tuple(dict.fromkeys(target for each in MERGING.values() for target in each))
    return FamilyDeclaration(
        {"type": tuple(MERGING), "to": targets, "length": LENGTHS, "select_last_index": SELECT_LAST_INDEX},
        forbidden=tuple(
            LevelCombination(
                {"type": (source,), "to": tuple(target for target in targets if target not in merged)},
                "The conversion keeps the order of the elements, or a pair of similar types tests it.",
            )
            for source, merged in MERGING.items()
        ),
        omissions=(Omission("numbers outside of the range of an integer type", "Cast of them is not defined."),),
    )


def build_converted(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `converted_declaration`."""
    dtype = dtype_of(type_number(row["type"]))
    first, distance = MERGING[row["type"]][row["to"]]
    elements: list[Any] = [first + place * distance for place in range(int(row["length"]))]
    X = np.array([elements, elements[::-1]]).astype(dtype)
    attributes: dict[str, Any] = {"axis": 1, "keepdims": 0, "select_last_index": int(row["select_last_index"])}
    nodes = (
        helper.make_node("Cast", ["X"], ["Y"], to=type_number(row["to"])),
        helper.make_node("ArgMax", ["Y"], ["index"], **attributes),
    )
    fragment = Fragment(nodes, {"X": X}, {"index": index_like(X.shape, attributes)}, {"": OPSET})
    return build_in_context(name, fragment, Context())


def normalized_declaration() -> FamilyDeclaration:
    """Return the factors of the family `normalized`: Softmax along each axis, before ArgMax along each other axis."""
    return FamilyDeclaration({"rank": RANKS, "before": ("softmax", "log_softmax"), "type": ("float",)})


def build_normalized(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `normalized_declaration`."""
    rank = int(row["rank"])
    X = pseudo_random_array(f"{name}/X", (2, 3, *[2] * (rank - 2)), np.float32, -3.0, 3.0)
    nodes: list[onnx.NodeProto] = []
    results: dict[str, Array] = {}
    for own in range(-rank, rank):
        normalized = f"Y_{own}".replace("-", "minus_")
        nodes.append(helper.make_node(SPECIAL_PRODUCERS[row["before"]], ["X"], [normalized], axis=own))
        for axis in range(-rank, rank):
            if (axis - own) % rank:
                attributes: dict[str, Any] = {"axis": axis, "keepdims": 0}
                index = f"index_{own}_{axis}".replace("-", "minus_")
                nodes.append(helper.make_node("ArgMax", [normalized], [index], **attributes))
                results[index] = index_like(X.shape, attributes)
    return build_in_context(name, Fragment(tuple(nodes), {"X": X}, results, {"": OPSET}), Context())


def iterated_declaration() -> FamilyDeclaration:
    """Return the factors of the family `iterated`: ArgMax in scopes in each other, of values of the outer iteration."""
    return FamilyDeclaration(
        {
            "scope": tuple(OUTER_SCOPES),
            "inner": tuple(INNER_SCOPES),
            "trips": ("3", "17", "40", "70", "130"),
            "inner_trips": ("2", "20"),
            "type": ("float",),
        },
        forbidden=(
            LevelCombination({"inner": ("alone", "if"), "inner_trips": ("20",)}, "There is no inner iteration."),
            LevelCombination({"trips": ("70", "130"), "inner_trips": ("20",)}, "The case would be large."),
        ),
    )


def build_iterated(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `iterated_declaration`."""
    trips = int(row["trips"])
    inner_trips = int(row["inner_trips"])
    is_nested = row["inner"] in OUTER_SCOPES
    sizes = f"[{inner_trips}]" if is_nested else ""
    index = f"int64[{trips},{inner_trips}] index" if is_nested else f"int64[{trips}] index"
    text = f"""
<ir_version: 8, opset_import: ["": {OPSET}]>
{name} (float[{trips},{INNER_LENGTH}] X, bool[{trips}] flags, float[{inner_trips},{INNER_LENGTH}] steps) => ({index})
<int64 trips = {{{trips}}}, int64 inner_trips = {{{inner_trips}}}, bool yes = {{1}}>
{{
  {OUTER_SCOPES[row["scope"]].format(sizes=sizes, inner=INNER_SCOPES[row["inner"]])}
}}
"""
    model = onnx.parser.parse_model(text)
    used = {name for node in model.graph.node for name in _read_names(node)}
    for values in (model.graph.input, model.graph.initializer):
        kept = [value for value in values if value.name in used]
        del values[:]
        values.extend(kept)
    given = {
        "X": [_rounded(f"{name}/X/{run}", (trips, INNER_LENGTH)) for run in range(2)],
        "flags": [pseudo_random_array(f"{name}/flags/{run}", (trips,), np.float32, -1.0, 1.0) > 0 for run in range(2)],
        "steps": [_rounded(f"{name}/steps/{run}", (inner_trips, INNER_LENGTH)) for run in range(2)],
    }
    taken = [given[value.name] for value in model.graph.input]
    return BuiltModel(model.SerializeToString(deterministic=True), tuple(zip(*taken, strict=True)))


def _read_names(node: onnx.NodeProto) -> set[str]:
    """Return the names of the values that a node and the nodes of its subgraphs read."""
    inner = [each for attribute in node.attribute if attribute.HasField("g") for each in attribute.g.node]
    return {*node.input}.union(*map(_read_names, inner))


def _rounded(name: str, shape: Sequence[int]) -> Array:
    """Return small integers, of which several are often equal."""
    return np.rint(pseudo_random_array(name, shape, np.float64, -2.5, 2.5)).astype(np.float32)
