"""The declaration for ArgMax: what surrounds one, what stands before it, and what it is given."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.dimensions.contexts import IMPORTS, Built, Context, in_context
from conformance.dimensions.factors import Declaration, LeftOut, Meeting
from conformance.dimensions.fragments import Fragment
from conformance.dimensions.origins import ORIGINS
from conformance.dimensions.places import PLACES
from conformance.dimensions.uses import USES
from conformance.generation.values import ranked
from conformance.models.arrays import dtype_of, type_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array

CHAINS: Mapping[str, tuple[str, str] | None] = {
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
"""What stands before ArgMax: an operator, and whether it is told ArgMax's axis; what is coerced is below opset 13."""

POSITIVE = ("log", "sqrt")
"""What takes positive numbers alone."""

ORDERED = (
    *("float", "double", "float16", "bfloat16"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
)
"""The types that ArgMax takes."""

INTEGERS = tuple(name for name in ORDERED if "int" in name)
UNSIGNED = tuple(name for name in INTEGERS if name.startswith("u"))

SUPPLIES: Mapping[str, tuple[str, str]] = {
    **{origin: (origin, "raw") for origin in ORIGINS},
    "initializer_of_numbers": ("initializer", "typed"),
    "constant_of_numbers": ("constant", "typed"),
}
"""Where X comes from: an origin, and how a constant holds its elements."""

SHAPES: Mapping[str, Sequence[int]] = {
    "2x3": (2, 3),
    "vector": (3,),
    "one": (1,),
    "cube": (2, 3, 2),
    "no_rows": (0, 3),
    "none_between": (2, 0, 3),
    "rank_6": (2, 1, 2, 1, 1, 2),
}

AXES = ("first", "default", "last", "minus_one", "minus_rank")

TIED: Mapping[str, int | None] = {"tied": None, "tied_first": 0, "tied_last": 1}
"""Of values that are equal, which index `select_last_index` asks for."""

VALUES = ("apart", *TIED)

COERCED = ("softmax_default_coerced", "log_softmax_default_coerced")
BY_DEFAULT = ("softmax_default", "log_softmax_default", *COERCED)
"""What normalizes along an axis that need not be ArgMax's: of three, so that first, second and last differ."""

RULER = (0, 2, 6, 24, 29, 40, 43, 55, 68, 75, 76, 85)
"""A Golomb ruler: no two marks are as far apart as two others, so that rows which are normalized do not tie."""

THREE_AXES = "Of two axes or one, or of sizes of 1, one default is as good as another."


def argmax_placed() -> Declaration:
    """What surrounds an ArgMax and the operator before it; how that reads its axis goes by opset and by origin."""
    along_none = "ArgMax along an axis without elements has no answer."
    return Declaration(
        factors={
            "before": tuple(CHAINS),
            "place": tuple(place for place in PLACES if place not in {"loop", "scan"}),
            "origin_X": tuple(SUPPLIES),
            "use_index": tuple(use for use in USES if use != "unused"),
            "read_by_another": ("none", "X"),
            "type": ORDERED,
            "values": VALUES,
            "shape": tuple(SHAPES),
            "axis": AXES,
            "opset": ("13", "11", "12"),
            "keepdims": ("default", "0"),
            "imports": tuple(spelling for spelling in IMPORTS if spelling not in {"main_by_name", "training_first"}),
            "training_info": ("absent", "present"),
        },
        excluded=(
            Meeting({"before": tuple(CHAINS)[1:], "type": INTEGERS}, "The operators take no integers."),
            Meeting({"before": tuple(CHAINS)[1:], "values": tuple(TIED)}, "Rounding decides what comes of a tie."),
            Meeting({"type": ("bfloat16",), "opset": ("11", "12")}, "ArgMax has it since opset 13."),
            Meeting({"type": UNSIGNED, "read_by_another": ("X",)}, "Neg takes no unsigned integers."),
            Meeting({"opset": ("11",), "values": ("tied_first", "tied_last")}, "select_last_index came with opset 12."),
            Meeting({"shape": ("no_rows",), "axis": ("first", "default", "minus_rank")}, along_none),
            Meeting({"before": COERCED, "opset": ("13",)}, "Nothing is coerced since opset 13."),
            Meeting({"before": BY_DEFAULT[:2], "opset": ("11", "12")}, "Below opset 13 it is coerced."),
            Meeting({"before": BY_DEFAULT, "shape": tuple(name for name in SHAPES if name != "cube")}, THREE_AXES),
            Meeting({"before": BY_DEFAULT, "axis": ("last", "minus_one")}, "The order along its own axis stays."),
            Meeting({"before": BY_DEFAULT, "type": ("float16",)}, "Rounding may decide across axes."),
            Meeting({"before": tuple(CHAINS)[1:], "type": ("bfloat16",)}, "Rounding may decide; the pass has such."),
            Meeting({"shape": ("one",), "values": tuple(TIED)}, "One element is equal to no other."),
            Meeting({"shape": ("no_rows", "none_between"), "values": tuple(TIED)}, "No elements are equal."),
        ),
        hiding=(
            Meeting({"shape": ("one",)}, "Its index is 0 whatever is done."),
            Meeting({"shape": ("no_rows", "none_between")}, "There is no index."),
        ),
        structural={"before": ("before",), "opset": ("opset",), "origin": ("origin_X",)},
        left_out=(
            LeftOut("a Loop that carries the result", "An index cannot take the place of X; the pass has such cases."),
            LeftOut("a Scan", "`test_argmax_pass_subgraphs_scan_*` and `test_argmax_pass_contexts_*` have it."),
            LeftOut("infinities, NaN and zeros of both signs", "`generators/argmax/values.py` has them in every type."),
        ),
    )


def argmax_fragment(
    X: Array, before: Sequence[tuple[str, Mapping[str, Any]]], attributes: Mapping[str, Any], opset: int
) -> Fragment:
    """An ArgMax of X and the operators before it, each with its attributes, the first one first."""
    nodes, taken = [], "X"
    for place, (op_type, own) in enumerate(before):
        nodes.append(helper.make_node(op_type, [taken], [f"Y{place}"], **own))
        taken = f"Y{place}"
    last = [_argmax(taken, each) for each in (attributes, _otherwise(attributes))]
    axis, shape = attributes.get("axis", 0), [*X.shape]
    shape[axis] = 1
    index = np.zeros(shape, dtype=np.int64)
    if not attributes.get("keepdims", 1):
        index = index.reshape([size for place, size in enumerate(shape) if place != axis % X.ndim])
    again = (*nodes, last[1])
    return Fragment((*nodes, last[0]), {"X": X}, {"index": index}, {"": opset}, {}, again)


def _argmax(taken: str, attributes: Mapping[str, Any]) -> onnx.NodeProto:
    """The node, its attributes in the order given, which `make_node` would sort."""
    node = helper.make_node("ArgMax", [taken], ["index"])
    node.attribute.extend(helper.make_attribute(*attribute) for attribute in attributes.items())
    return node


def _otherwise(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a second call, which takes the other of equal maxima where it can."""
    return {name: 1 - value if name == "select_last_index" else value for name, value in attributes.items()}


def built_placed(name: str, row: Row) -> Built:
    """The model and data of a row of `argmax_placed`."""
    shape, opset = SHAPES[row["shape"]], int(row["opset"])
    axis = {"first": 0, "last": len(shape) - 1, "minus_one": -1, "minus_rank": -len(shape)}.get(row["axis"])
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    if row["keepdims"] != "default":
        attributes["keepdims"] = int(row["keepdims"])
    if (last := TIED.get(row["values"])) is not None:
        attributes["select_last_index"] = last
    chain = CHAINS[row["before"]]
    own = {"axis": axis or 0} if chain and chain[1] else {}
    fragment = argmax_fragment(_data(name, row), [(chain[0], own)] if chain else [], attributes, opset)
    origin, stored = SUPPLIES[row["origin_X"]]
    context = Context(
        place=row["place"],
        origins={"X": origin},
        uses={"index": row["use_index"]},
        shared=("X",) if row["read_by_another"] == "X" else (),
        stored=stored,
        imports=row["imports"],
        trains=row["training_info"] == "present",
    )
    return in_context(name, fragment, context)


def _data(name: str, row: Row) -> Array:
    """Elements that every operator tells apart in any type, of both signs where they may be; or all of them equal."""
    shape, dtype = SHAPES[row["shape"]], dtype_of(type_number(row["type"]))
    if row["values"] in TIED:
        return np.ones(shape, dtype=dtype)
    steps = ranked(f"{name}/X", (prod(shape),), np.float64) * 4
    if row["before"] in BY_DEFAULT:
        steps = np.array(RULER)[steps.astype(np.int64) - 1] / 2
    elif row["before"] not in POSITIVE and row["type"] not in UNSIGNED:
        steps -= (steps.size + 1) // 2
    return (steps if row["type"] in INTEGERS else steps / 4).astype(dtype).reshape(tuple(shape))
