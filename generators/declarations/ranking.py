"""Families of ArgMax cases: close integers, zeros, close and special values, names, attributes and sizes.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.argmax_factors import argmax_fragment, index_like
from conformance.corpus.factors.connections import Fragment, GraphPart, join_parts
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.name_factors import rename_values_of
from conformance.corpus.factors.wrapping import OPSET, BuiltModel, Context, build_in_context
from conformance.exact.models.arrays import dtype_of, type_number
from conformance.exact.models.input_files import tensor_elements
from conformance.exact.models.model_building import array_value_info, build_model, pseudo_random_array
from generators.declarations.argmax_dimensions import INTEGER_TYPES, PRODUCERS
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.operand_dimensions import NAME_LEVELS, TRAILING_OMISSION, name_kind, names_context
from generators.declarations.size_dimensions import BLOCKS, PERIOD, summarize_long, tile_to_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array


def _sign_border(dtype: Any) -> int:
    """Return the integer above which the sign bit changes: -1, or the largest positive integer of the signed type."""
    return -1 if np.iinfo(dtype).min else int(np.iinfo(dtype).max) // 2


CLOSE_INTEGERS: Mapping[str, Callable[[Any], int]] = {
    "least": lambda dtype: int(np.iinfo(dtype).min),
    "above_least": lambda dtype: int(np.iinfo(dtype).min) + 1,
    "sign": _sign_border,
    "largest": lambda dtype: int(np.iinfo(dtype).max) - 1,
}
"""Functions of an integer type that return the smaller of two consecutive integers, by level."""

PLACES: Mapping[str, Callable[[int], Sequence[int]]] = {
    "last": lambda length: (length - 1,),
    "first": lambda _: (0,),
    "inner": lambda length: (length // 2,),
    "ends": lambda length: (0, length - 1),
}
"""Functions of the length of a row that return the indices of the larger value, by level."""

LENGTHS = ("3", "18", "33")
"""Numbers of elements of a row, which exceed a vector of 16 and of 32 elements."""

SELECT_LAST_INDEX = ("0", "1")

ZEROS: Mapping[str, Sequence[float]] = {
    "alternating": (-0.0, 0.0),
    "plus_first": (0.0, -0.0, -0.0),
    "minus_first": (-0.0, 0.0, 0.0),
    "beside_negative": (-1.0, -0.0, -2.0, 0.0, -1.0),
}
"""Elements of a row by level, used cyclically. Zeros of both signs are the largest."""

ZERO_PRODUCERS: Mapping[str, Sequence[str]] = {"none": (), "neg": ("Neg",), "sqrt": ("Sqrt",)}
"""Operators before ArgMax by level. All of them return zeros for zeros."""

NARROWER: Mapping[str, float] = {"double": 2.0**-36, "float": 2.0**-13}
"""Largest relative difference of the elements by type. They are equal in float, or in float16 and bfloat16."""

INNER_SIZES = range(1, 18)
"""Sizes of the axis after the reduced axis: below, at and above the lengths of vectors."""

REDUCED_SIZES = (3, 18, 5, 33)
"""Sizes of the reduced axis, used cyclically."""

TIED_SHAPES: Mapping[str, Sequence[int]] = {
    "5": (5,),
    "3x5": (3, 5),
    "5x3": (5, 3),
    "2x3x5": (2, 3, 5),
    "5x4x3": (5, 4, 3),
    "3x2x5x4": (3, 2, 5, 4),
}
"""Shapes of X in which all axes have different sizes, by level."""

SPECIAL_PRODUCERS: Mapping[str, str] = {
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "relu": "Relu",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softsign": "Softsign",
    "softplus": "Softplus",
    "erf": "Erf",
    "atan": "Atan",
}
"""Operators before ArgMax in the family `special_values`, by level."""


def _powers(last: int) -> list[float]:
    """Return powers of 2 from 2**-6 on, and their opposites, in increasing order."""
    positive = [2.0**power for power in range(-6, last + 1)]
    return [-power for power in reversed(positive)] + positive


FLATTENING: Mapping[str, Mapping[str, Sequence[float]]] = {
    "sigmoid": {"float": range(-12, 11), "double": range(-30, 29), "float16": range(-7, 4)},
    "softplus": {"float": range(-12, 21), "double": range(-30, 101), "float16": range(-6, 10)},
    "tanh": {
        "float": [k / 2 for k in range(-12, 13)],
        "double": [k / 2 for k in range(-28, 29)],
        "float16": [k / 2 for k in range(-4, 5)],
    },
    "erf": {
        "float": [k / 4 for k in range(-12, 13)],
        "double": [k / 4 for k in range(-20, 21)],
        "float16": [k / 4 for k in range(-5, 6)],
    },
    "softsign": {"float": _powers(12), "double": _powers(40), "float16": _powers(3)},
    "atan": {"float": _powers(12), "double": _powers(40), "float16": _powers(3)},
}
"""Increasing operands by level of the operator and of the type: the results differ, up to where they become one number.

The results of neighbours differ by at least 16 times the distance of numbers of the type, so that no evaluation makes
them equal or turns their order.
"""

AXES_OF_RANKS: Mapping[str, Sequence[int]] = {"X5": (2, 3, 4, 5, 6), "X6": (2, 3, 1, 4, 5, 6)}
"""Shapes of more than four axes by operand."""

PERMUTATIONS: Mapping[str, Sequence[int]] = {"X_120": (1, 2, 0), "X_201": (2, 0, 1), "X_1230": (1, 2, 3, 0)}
"""Permutations of axes that are not their own inverse, by operand."""

BLOCKS_OF_INFINITY = (8, 16, 32, 64, 128, 256, 512, 1024)
"""Numbers of elements at the start or at the end of a row that are -infinity."""

SCANNED_SHAPE = (3, 4, 5, 2)
"""Shape of X, over whose rows a Scan iterates."""

COLUMNS = 65541
"""Number of columns of a matrix: more than a grid of blocks of threads and a 16-bit counter have."""

CLOSE_TYPES = ("int64", "uint64", "int32", "uint32", "double")
"""Types of which a wider one than the type that a kernel may compute in has close elements."""

LONG_LENGTH = 1037
"""Number of elements of a row that is longer than a block of threads."""

LONG_LENGTHS = ("65", "130")
"""Numbers of elements of a row, which exceed 64 and 128 elements."""


def integers_declaration() -> FamilyDeclaration:
    """Return the factors of the family `integers`: rows of two consecutive integers, of which the larger is rare."""
    return FamilyDeclaration(
        {
            "type": INTEGER_TYPES,
            "values": tuple(CLOSE_INTEGERS),
            "length": LENGTHS,
            "place": tuple(PLACES),
            "select_last_index": SELECT_LAST_INDEX,
        }
    )


def zeros_declaration() -> FamilyDeclaration:
    """Return the factors of the family `zeros`: rows in which zeros of both signs are the largest elements."""
    return FamilyDeclaration(
        {
            "type": ("float", "double", "float16", "bfloat16"),
            "zeros": tuple(ZEROS),
            "before": tuple(ZERO_PRODUCERS),
            "length": LENGTHS,
            "select_last_index": SELECT_LAST_INDEX,
        },
        forbidden=(
            LevelCombination({"before": ("sqrt",), "zeros": ("beside_negative",)}, "Sqrt of a negative number is NaN."),
            LevelCombination(
                {"before": ("neg",), "zeros": ("beside_negative",)}, "The negative numbers become largest."
            ),
        ),
    )


def narrow_ties_declaration() -> FamilyDeclaration:
    """Return the factors of the family `narrow_ties`: long rows of elements that are equal in a narrower type."""
    return FamilyDeclaration(
        {
            "type": tuple(NARROWER),
            "before": tuple(name for name in PRODUCERS if "default" not in name),
            "length": LONG_LENGTHS,
            "place": ("inner", "last", "first"),
            "select_last_index": SELECT_LAST_INDEX,
        },
    )


def argmax_names_declaration() -> FamilyDeclaration:
    """Return the factors of the family `names` of ArgMax: names of values that a runtime may cut or confuse."""
    return FamilyDeclaration(
        {"names": NAME_LEVELS, "before": ("none", "exp"), "scope": ("main", "if_then"), "type": ("float", "double")},
        omissions=(TRAILING_OMISSION,),
    )


def attributes_declaration() -> FamilyDeclaration:
    """Return the factors of the family `attributes`: nodes of one model that differ in their attributes."""
    return FamilyDeclaration(
        {"shape": tuple(TIED_SHAPES), "order": ("listed", "reversed"), "type": ("float", "int64")},
        omissions=(Omission("other scopes", "`placed` tests them."),),
    )


def long_close_declaration() -> FamilyDeclaration:
    """Return the factors of the family `long_close`: long rows of close elements, of several types."""
    return FamilyDeclaration({"type": ("int64",), "others": ("+".join(CLOSE_TYPES[1:]),)})


def special_values_declaration() -> FamilyDeclaration:
    """Return the factors of the family `special_values`: rows over the whole range of an operator before ArgMax."""
    return FamilyDeclaration(
        {
            "before": tuple(SPECIAL_PRODUCERS),
            "type": ("float", "double", "float16"),
            "select_last_index": SELECT_LAST_INDEX,
        },
        omissions=(
            Omission("NaN, and operands for which the result is NaN", "The index is not defined."),
            Omission("subnormal numbers", "A runtime may flush them to zero. `close` tests them at level should."),
        ),
        added={"before": tuple(FLATTENING)},
    )


def build_integers(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `integers_declaration`."""
    dtype = _dtype(row)
    length = int(row["length"])
    smaller = CLOSE_INTEGERS[row["values"]](dtype)
    X = np.full(length, smaller, dtype=dtype)
    X[list(PLACES[row["place"]](length))] = smaller + 1
    return _build(name, np.stack([X, X[::-1]]), [], row)


def build_zeros(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `zeros_declaration`."""
    X = np.resize(np.array(ZEROS[row["zeros"]], dtype=_dtype(row)), int(row["length"]))
    return _build(name, np.stack([X, X[::-1]]), ZERO_PRODUCERS[row["before"]], row)


def build_narrow_ties(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `narrow_ties_declaration`."""
    length = int(row["length"])
    steps = pseudo_random_array(f"{name}/X", (length,), np.float64, 0.0, 0.5)
    steps[list(PLACES[row["place"]](length))] = 1.0
    X = (1.5 * (1 + steps * NARROWER[row["type"]])).astype(_dtype(row))
    chain = PRODUCERS[row["before"]]
    return _build(name, np.stack([X, X[::-1]]), chain[:1] if chain else (), row)


def build_special_values(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `special_values_declaration`.

    Each row of X is a probe: the larger of two values is between two copies of the smaller one.
    """
    dtype = _dtype(row)
    before = SPECIAL_PRODUCERS[row["before"]]
    steps = FLATTENING.get(row["before"], {}).get(row["type"], ())
    pairs = list(pairwise(steps)) or _special_pairs(before, dtype)
    X = np.array([[low, high, low] for low, high in pairs] + _special_ties(before), dtype=dtype)
    return _build(name, X, (before,), row)


def _special_pairs(before: str, dtype: Any) -> list[tuple[float, float]]:
    """Return pairs of a smaller and a larger operand for which the results of an operator differ in every form."""
    limits = np.finfo(dtype)
    largest = float(limits.max)
    least = float(limits.smallest_normal)
    powers = range(int(limits.minexp), int(limits.maxexp), max(1, limits.maxexp // 64))
    if before in {"Log", "Sqrt"}:
        steps = [(2.0**power, 2.0 ** (power + 1)) for power in powers if power + 1 < limits.maxexp]
        return [*steps, (0.0, least), (-0.0, least), (0.0, 1.0), (0.0, largest), (largest, np.inf), (1.0, np.inf)]
    if before == "Relu":
        steps = [(2.0**power, 2.0 ** (power + 1)) for power in powers if power + 1 < limits.maxexp]
        below = [(-largest, least), (-1.0, least), (-np.inf, 1.0), (-np.inf, least), (0.0, least), (-np.inf, np.inf)]
        return [*steps, *below, (largest, np.inf), (-largest, np.inf)]
    if before == "Exp":
        first, last = (int(edge) + 1 for edge in np.log([least, largest / 4]))
        steps = [(float(k), float(k + 1)) for k in range(first, last, max(1, (last - first) // 128))]
        return [*steps, (-np.inf, float(first)), (-np.inf, np.inf), (float(last), np.inf), (0.0, np.inf)]
    end = int(np.log(float(largest))) - 2
    steps = [(float(k), float(k + 1)) for k in range(-end, end, max(1, end // 64))]
    return [*steps, (-np.inf, 0.0), (-np.inf, float(-end)), (float(-end), float(end))]


def _special_ties(before: str) -> list[list[float]]:
    """Return rows of operands with equal results: the larger ones are tied."""
    if before == "Relu":
        return [[-np.inf, -1.0, 0.0], [-1.0, -np.inf, -2.0], [-np.inf] * 3, [np.inf, 1.0, np.inf]]
    if before in {"Log", "Sqrt"}:
        return [[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0], [np.inf, 1.0, np.inf], [0.0, 0.0, 0.0]]
    return [[-np.inf] * 3, [np.inf, 0.0, np.inf]] if before == "Exp" else []  # the ties of a quotient are open


def build_argmax_names(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `argmax_names_declaration`: two equal chains."""
    nodes = []
    operands = {}
    for number in ("1", "2"):
        operands[f"X{number}"] = pseudo_random_array(f"{name}/X{number}", (2, 5), _dtype(row))
        taken = f"X{number}"
        if row["before"] != "none":
            nodes.append(helper.make_node("Exp", [taken], [f"Y{number}"]))
            taken = f"Y{number}"
        nodes.append(helper.make_node("ArgMax", [taken], [f"index{number}"], axis=1, keepdims=0))
    results = {f"index{number}": np.zeros(2, dtype=np.int64) for number in ("1", "2")}
    fragment = Fragment(tuple(nodes), operands, results, {"": OPSET})
    return rename_values_of(build_in_context(name, fragment, names_context(row, list(operands))), name_kind(row))


def build_attributes(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `attributes_declaration`.

    There is a node for each combination of axis, keepdims and select_last_index, and nodes that omit attributes. The
    data have ties along each axis.
    """
    shape = TIED_SHAPES[row["shape"]]
    rank = len(shape)
    every = _every_attributes(rank)
    every += [{}, {"axis": rank - 1}, {"axis": -rank}, {"keepdims": 0}, {"select_last_index": 1}]
    given = every[::-1] if row["order"] == "reversed" else every
    nodes = [
        (helper.make_node("ArgMax", ["X"], [f"index{number}"], **attributes), attributes)
        for number, attributes in enumerate(given)
    ]
    return build_tied(name, {"X": shape}, nodes, row)


def _every_attributes(rank: int) -> list[dict[str, Any]]:
    """Return each combination of axis, keepdims and select_last_index for tensors of a rank."""
    return [
        {"axis": axis, "keepdims": keepdims, "select_last_index": last}
        for axis in range(-rank, rank)
        for keepdims in (0, 1)
        for last in (0, 1)
    ]


def build_many_axes(name: str, row: Row) -> BuiltModel:
    """Build a model of `many_axes`: ties along each axis of tensors of rank 5 and 6."""
    nodes = [
        (helper.make_node("ArgMax", [operand], [f"index_{operand}_{number}"], **attributes), attributes)
        for operand, shape in AXES_OF_RANKS.items()
        for number, attributes in enumerate(_every_attributes(len(shape)))
    ]
    return build_tied(name, AXES_OF_RANKS, nodes, row)


def build_transposed(name: str, row: Row) -> BuiltModel:
    """Build a model of `transposed`: ArgMax after Transposes that are not their own inverse."""
    nodes = []
    results = {}
    operands = {}
    again = {}
    for operand, permutation in PERMUTATIONS.items():
        shape = (2, 3, 4, 5)[: len(permutation)]
        operands[operand], again[operand] = (
            np.rint(pseudo_random_array(f"{name}/{operand}/{run}", shape, np.float64, -0.5, 2.5)).astype(_dtype(row))
            for run in range(2)
        )
        taken = f"{operand}_transposed"
        nodes.append(helper.make_node("Transpose", [operand], [taken], perm=permutation))
        for number, attributes in enumerate(_every_attributes(len(shape))):
            result = f"index{operand[1:]}_{number}"
            nodes.append(helper.make_node("ArgMax", [taken], [result], **attributes))
            results[result] = index_like([shape[axis] for axis in permutation], attributes)
    fragment = Fragment(tuple(nodes), operands, results, {"": OPSET})
    return build_in_context(name, fragment, Context(), [again])


def build_infinite_blocks(name: str, row: Row) -> BuiltModel:
    """Build a model of `infinite_blocks`: normalized rows with whole blocks of -infinity.

    The largest element of each row is in the middle of the finite elements.
    """
    X = np.full((2 * len(BLOCKS_OF_INFINITY), LONG_LENGTH), -np.inf, dtype=_dtype(row))
    for place, size in enumerate(BLOCKS_OF_INFINITY):
        rest = LONG_LENGTH - size
        X[2 * place, size:] = X[2 * place + 1, :rest] = np.resize(np.array([0.25, -1.0, 0.5], dtype=X.dtype), rest)
        X[2 * place, size + rest // 2] = X[2 * place + 1, rest // 2] = 3
    nodes = []
    results = {}
    for op_type in ("Softmax", "LogSoftmax"):
        nodes += [
            helper.make_node(op_type, ["X"], [f"Y_{op_type}"], axis=1),
            helper.make_node("ArgMax", [f"Y_{op_type}"], [f"index_{op_type}"], axis=1, keepdims=0),
        ]
        results[f"index_{op_type}"] = np.zeros(len(X), np.int64)
    return build_in_context(name, Fragment(tuple(nodes), {"X": X}, results, {"": OPSET}), Context())


def build_scanned(name: str, row: Row) -> BuiltModel:
    """Build a model of `scanned`: ties along each axis of the rows of a Scan."""
    nodes = [
        (helper.make_node("ArgMax", ["X"], [f"index{number}"], **attributes), attributes)
        for number, attributes in enumerate(_every_attributes(len(SCANNED_SHAPE) - 1))
    ]
    return build_tied(name, {"X": SCANNED_SHAPE}, nodes, row, "scan")


def build_many_columns(name: str, row: Row) -> BuiltModel:
    """Build a model of `many_columns`: ties along the rows of a matrix with many columns.

    The matrix repeats a vector, and the results of its columns repeat with the same period.
    """
    period = np.rint(pseudo_random_array(name, (PERIOD,), np.float64, -0.5, 2.5)).astype(_dtype(row))
    nodes = [
        helper.make_node("ArgMax", ["X"], [f"index{last}"], axis=0, keepdims=0, select_last_index=last)
        for last in (0, 1)
    ]
    like = np.zeros(1, dtype=np.int64)
    summaries = [summarize_long(node.output[0], like, COLUMNS, BLOCKS[-1]) for node in nodes]
    whole = join_parts([tile_to_shape("period", PERIOD, "X", [3, COLUMNS]), GraphPart(nodes), *summaries])
    model = build_model(
        name,
        whole.nodes,
        [array_value_info("period", period)],
        [array_value_info(*named) for named in whole.given.items()],
        {"": OPSET},
        {tensor.name: tensor_elements(tensor) for tensor in whole.initializers},
    )
    return BuiltModel(model, ((period,),))


def build_long_close(name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `long_close_declaration`: a node for each type.

    The last element of each row is the largest one, by the least difference. The first row of integers is near 0, the
    last row near the largest integer.
    """
    operands: dict[str, Array] = {}
    for type in (row["type"], *row["others"].split("+")):
        dtype = dtype_of(type_number(type)).type
        bases = [1 + 2.0**-40] if type == "double" else [edge(dtype) for edge in CLOSE_INTEGERS.values()]
        operands[f"X_{type}"] = np.array([[base] * LONG_LENGTH for base in bases], dtype=dtype)
        operands[f"X_{type}"][:, -1] += dtype(2.0**-40 if type == "double" else 1)
    nodes = [helper.make_node("ArgMax", [operand], [f"index{operand[1:]}"], axis=1, keepdims=0) for operand in operands]
    results = {f"index{operand[1:]}": np.zeros(len(array), np.int64) for operand, array in operands.items()}
    return build_in_context(name, Fragment(tuple(nodes), operands, results, {"": OPSET}), Context())


def build_inner_sizes(name: str, row: Row) -> BuiltModel:
    """Build a model of `inner_sizes`: ties along a middle axis before an axis of each size.

    There are two nodes for each size of the last axis: for the first and for the last index. Every second axis is
    negative.
    """
    shapes = {f"X{size}": (2, REDUCED_SIZES[size % len(REDUCED_SIZES)], size) for size in INNER_SIZES}
    nodes = []
    for place, operand in enumerate(shapes):
        for last in (0, 1):
            attributes: dict[str, Any] = {
                "axis": (1, -2)[place % 2],
                "keepdims": int(row["keepdims"]),
                "select_last_index": last,
            }
            result = f"{'last' if last else 'first'}{operand[1:]}"
            nodes.append((helper.make_node("ArgMax", [operand], [result], **attributes), attributes))
    return build_tied(name, shapes, nodes, row)


def build_tied(
    name: str,
    shapes: Mapping[str, Sequence[int]],
    nodes: Sequence[tuple[onnx.NodeProto, Mapping[str, int]]],
    row: Row,
    scope: str = "main",
) -> BuiltModel:
    """Build a model of ArgMax nodes with their attributes, and two data sets: equal elements, and frequent ties.

    Args:
        name: name of the graph.
        shapes: shape of each operand.
        nodes: the nodes, each with its attributes. In a Scan, they are those of a row.
        row: the levels of all factors.
        scope: the enclosing scope.
    """
    operands = {operand: np.ones(shape, dtype=_dtype(row)) for operand, shape in shapes.items()}
    tied = {
        operand: np.rint(pseudo_random_array(f"{name}/{operand}", shape, np.float64, -0.5, 2.5)).astype(_dtype(row))
        for operand, shape in shapes.items()
    }
    if row["type"].startswith("u"):
        tied = {operand: np.maximum(array, 0).astype(array.dtype) for operand, array in tied.items()}
    if scope == "scan":
        results = {
            node.output[0]: np.stack([index_like(shapes[node.input[0]][1:], given)] * shapes[node.input[0]][0])
            for node, given in nodes
        }
    else:
        results = {node.output[0]: index_like(shapes[node.input[0]], given) for node, given in nodes}
    fragment = Fragment(tuple(node for node, _ in nodes), operands, results, {"": OPSET})
    return build_in_context(name, fragment, Context(scope=scope), [tied])


def _dtype(row: Row) -> Any:
    return dtype_of(type_number(row["type"])).type


def _build(name: str, X: Array, before: Sequence[str], row: Row) -> BuiltModel:
    """Build a model with operators before ArgMax along the last axis."""
    along = {"Softmax": {"axis": 1}, "LogSoftmax": {"axis": 1}}
    chain = [(op_type, along.get(op_type, {})) for op_type in before]
    attributes = {"axis": 1, "keepdims": 0, "select_last_index": int(row["select_last_index"])}
    return build_in_context(name, argmax_fragment(X, chain, attributes, OPSET), Context())
