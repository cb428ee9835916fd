"""Cases of ArgMax after other operators: each model has many of them, each before two ArgMax nodes.

A runtime that fuses an operator into ArgMax, or takes the operator away, may change ties, the order or the axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, parser

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.arrays import dtype_of, type_number
from conformance.exact.models.model_building import array_value_info, build_model, pseudo_random_array
from generators.declarations.argmax_dimensions import INTEGER_TYPES
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array


@dataclass(frozen=True)
class OperatorModel:
    """A model of operators, of which ArgMax reads some results.

    Attributes:
        does: the end of the title.
        nodes: the operators in ONNX's text form. ArgMax reads the values whose names begin with a capital letter.
        operands: the graph inputs of each run by name.
        constants: initializers by name.
        opset: version of the main domain.
        axes: the axes along which ArgMax nodes search, for each rank of a result. Default: the last one.
        clauses: tested clauses.
    """

    does: str
    nodes: Sequence[str]
    operands: Mapping[str, Sequence[Array]]
    constants: Mapping[str, Array] = field(default_factory=dict)
    opset: int = 13
    axes: Mapping[int, Sequence[int]] = field(default_factory=dict)
    clauses: Sequence[str] = ("argmax.index", "argmax.first_index", "argmax.select_last_index")


def _tied(name: str, shape: Sequence[int]) -> list[Array]:
    """Return the operands of two runs, in which many elements are equal."""
    return [
        np.rint(pseudo_random_array(f"after_operators/{name}/{run}", shape, np.float64, -2.5, 2.5)).astype(np.float32)
        for run in range(2)
    ]


def _rows(dtype: Any, *rows: Sequence[float]) -> list[Array]:
    """Return one operand whose rows are given and reversed."""
    X = np.array(rows, dtype=dtype)
    return [np.concatenate([X, X[:, ::-1]])]


def _limits(dtype: Any) -> list[Array]:
    """Return the operands of two runs. In the first, the ends of the type are the smallest and the largest elements."""
    least = int(np.iinfo(dtype).min)
    largest = int(np.iinfo(dtype).max)
    ends = [[largest - 1, largest, least], [largest, least, least + 1], [least + 1, largest, least]]
    return [np.array(rows, dtype=dtype) for rows in (ends, [[1, 0, 2], [0, 2, 0], [3, 2, 1]])]


def _integers(*numbers: int) -> Array:
    return np.array(numbers, dtype=np.int64)


MOVED = OperatorModel(
    "operators that move, repeat or choose elements",
    (
        "T120 = Transpose <perm = [1, 2, 0]> (X)",
        "T201 = Transpose <perm = [2, 0, 1]> (X)",
        "T021 = Transpose <perm = [0, 2, 1]> (X)",
        "T210 = Transpose (X)",
        "Wide = Reshape (X, shape_2_12)",
        "Swapped_sizes = Reshape (X, shape_4_3_2)",
        "Same_ends = Reshape (X, shape_0_4_minus_1)",
        "Vector = Reshape (X, shape_minus_1)",
        "Flat = Flatten <axis = 2> (X)",
        "Flat_of_0 = Flatten <axis = 0> (X)",
        "More = Unsqueeze (X, axes_1_4)",
        "Reversed = Slice (X, minus_1, least, axis_2, minus_1)",
        "Reversed_first = Slice (X, minus_1, least, axis_0, minus_1)",
        "Every_second = Slice (X, one, largest, axis_2, two)",
        "Inner = Slice (X, one, minus_1, axis_1)",
        "Joined = Concat <axis = 1> (X, Reversed)",
        "Joined_last = Concat <axis = -1> (Reversed, X)",
        "Twice = Concat <axis = 2> (X, X)",
        "Taken = Gather <axis = 2> (X, places)",
        "Taken_first = Gather <axis = 0> (X, places_below_2)",
        "Tiled = Tile (X, repeats)",
        "column = Slice (X, one, two, axis_2)",
        "Expanded = Expand (column, shape_2_3_4)",
        "Permuted = Gather <axis = 2> (X, permutation)",
        "cube_120 = Transpose <perm = [1, 2, 0]> (Cube)",
        "Cube_201 = Transpose <perm = [1, 2, 0]> (cube_120)",
        "Longer = Unsqueeze (Cube, axis_1)",
        "Left, Right = Split <axis = 2> (X, twos)",
        "turned = Transpose <perm = [2, 1, 0]> (Reversed)",
        "Turned_back = Transpose <perm = [2, 1, 0]> (turned)",
        "swapped = Transpose <perm = [1, 0, 2]> (X)",
        "Vector_of_swapped = Reshape (swapped, shape_minus_1)",
        "Flat_of_swapped = Flatten <axis = 1> (swapped)",
        "Vector_of_reversed = Reshape (Reversed, shape_minus_1)",
        "Vector_of_every_second = Reshape (Every_second, shape_minus_1)",
        "Vector_of_expanded = Reshape (Expanded, shape_minus_1)",
        "positive = Less (zero, X)",
        "Chosen = Where (positive, Reversed, X)",
        "Chosen_zero = Where (positive, zero, X)",
        "Smallest, smallest_at = TopK <axis = 2, largest = 0, sorted = 1> (X, three)",
        "Largest, largest_at = TopK <axis = 1, largest = 1, sorted = 1> (X, three)",
        "Maximum = ReduceMax <axes = [2], keepdims = 1> (X)",
        "Minimum = ReduceMin <axes = [0], keepdims = 1> (X)",
        "Inside = ReduceMax <axes = [1], keepdims = 0> (X)",
    ),
    {"X": _tied("moved", (2, 3, 4)), "Cube": _tied("cube", (3, 3, 3))},
    {
        "shape_2_12": _integers(2, 12),
        "shape_4_3_2": _integers(4, 3, 2),
        "shape_0_4_minus_1": _integers(0, 4, -1),
        "shape_minus_1": _integers(-1),
        "shape_2_3_4": _integers(2, 3, 4),
        "axes_1_4": _integers(1, 4),
        "axis_0": _integers(0),
        "axis_1": _integers(1),
        "axis_2": _integers(2),
        "minus_1": _integers(-1),
        "one": _integers(1),
        "two": _integers(2),
        "three": _integers(3),
        "least": _integers(np.iinfo(np.int64).min),
        "largest": _integers(np.iinfo(np.int64).max),
        "twos": _integers(2, 2),
        "permutation": _integers(2, 0, 3, 1),
        "places": _integers(2, 0, 1, 0, 3, 3),
        "places_below_2": _integers(1, 0, 1),
        "repeats": _integers(2, 1, 3),
        "zero": np.array(0, dtype=np.float32),
    },
    axes={rank: range(-rank, rank) for rank in range(1, 6)},
)
"""Operators that change the place of elements, with ArgMax along each axis."""

MOVED_BY_ATTRIBUTES = OperatorModel(
    "operators with attributes that are operands from opset 13 on",
    (
        *(
            f"{name}_{keep} = ReduceSum <axes = [{axes}], keepdims = {keep}> (squares)"
            for name, axes in (("First", "0"), ("Last", "-1"), ("Outer", "0, 2"), ("Inner", "1, -1"))
            for keep in (0, 1)
        ),
        "Every = ReduceSum <keepdims = 1> (squares)",
        "kept_default = ReduceSum <axes = [1]> (squares)",
        "Kept_default = Neg (kept_default)",
        "Without_one = Squeeze <axes = [1]> (Thin)",
        "Without_last = Squeeze <axes = [-1]> (Thin)",
        "Without_both = Squeeze <axes = [1, 3]> (Thin)",
        "Without_any = Squeeze (Thin)",
        "More = Unsqueeze <axes = [1, 3]> (X)",
        "More_at_ends = Unsqueeze <axes = [-1, 0]> (X)",
        "Left, Right = Split <axis = 2, split = [3, 1]> (X)",
        "Top, Bottom = Split <axis = -3> (X)",
    ),
    {
        "X": _tied("moved_by_attributes", (2, 3, 4)),
        "Thin": _tied("thin", (3, 1, 2, 1)),
        "squares": [
            permuted_quarters(f"after_operators/squares/{run}", (2, 3, 4), np.float32) ** 2 for run in range(2)
        ],
    },
    opset=12,
    axes={rank: range(-rank, rank) for rank in range(1, 6)},
)
"""Operators whose axes and sizes are attributes in opset 12, with ArgMax along each axis. No two sums are equal."""

ORDERED = OperatorModel(
    "operators that turn the order of elements or make some of them equal",
    (
        "Floored = Floor (X)",
        "Raised = Ceil (X)",
        "Rounded = Round (X)",
        "Signs = Sign (X)",
        "Sizes = Abs (X)",
        "Turned = Neg (X)",
        "Twice_turned = Neg (Turned)",
        "Below = Clip (X, , one)",
        "Above = Clip (X, one)",
        "Between = Clip (X, minus_half, one)",
        "Least_of_two = Min (X, one)",
        "Most_of_two = Max (one, X)",
        "Nonnegative = Relu (X)",
        "Nonpositive = Relu (Turned)",
        "Zeros = Mul (X, zero)",
        "Opposite = Mul (X, minus_half)",
        "Signs_by_place = Mul (alternating, X)",
        "From_one = Sub (one, X)",
        "Less_one = Sub (X, one)",
        "By_place = Add (X, steps)",
        "Halves = Div (X, minus_half)",
        "Inverse = Div (one, steps)",
        "Inverse_too = Reciprocal (steps)",
        "Squares = Mul (X, X)",
        "Steep = LeakyRelu <alpha = -0.5> (X)",
        "Thresholded = ThresholdedRelu <alpha = 1.0> (X)",
        "Shrunk = Shrink <lambd = 1.0, bias = 0.5> (X)",
        "Hard = HardSigmoid <alpha = 0.25, beta = 0.5> (X)",
        "Marked = Hardmax <axis = 1> (X)",
        "Marked_first = Hardmax <axis = 0> (X)",
        "whether = Less (X, one)",
        "Are_less = Cast <to = 1> (whether)",
        "not_whether = Not (whether)",
        "Are_more = Cast <to = 6> (not_whether)",
        "Whole = Cast <to = 6> (X)",
        "whole_of_8 = Cast <to = 3> (X)",
        "From_whole = Cast <to = 1> (whole_of_8)",
        "truth = Cast <to = 9> (X)",
        "From_truth = Cast <to = 7> (truth)",
        "Divided = Div (integer, divisor)",
        "Divided_turned = Div (integer, minus_divisor)",
        "Smallest_at = ArgMin <axis = 1, keepdims = 0> (matrix)",
        "Same = Identity (X)",
        "again = Identity (Same)",
        "Dropped = Dropout (again)",
        "Mean_of_rows = ReduceMean <axes = [1], keepdims = 0> (matrix)",
        "Total = Sum (X, Turned, steps)",
        "Product = MatMul (X, matrix_square)",
        "Powers = Exp (Large)",
    ),
    {
        "Large": _rows(np.float32, [88.7, np.inf, 88.5], [88.4, 88.6, 88.5], [np.inf, 1, np.inf]),
        "Bytes": _rows(np.uint8, [255, 3, 255], [127, 128, 255], [0, 255, 254]),
        "Signed": _rows(np.int8, [127, 5, 127], [-128, 127, -1], [-128, -127, -128]),
        "X": _rows(
            np.float32,
            [-2.5, 0.5, 1.5, 2.5, -0.5, 1.25],
            [0.25, 0.5, -0.25, -0.75, 0.75, -3],
            [-1, -0.25, -2, -0.25, -1, -2.25],
            [3, 4, 3, 6, 5, 4],
        ),
        "integer": _rows(np.int32, [16777216, 16777217, 16777215], [-9, -8, -10], [7, 9, 8]),
        "matrix": _rows(np.float32, [3, 1, 2, 1], [1, 5, 0, 0]),
        "matrix_square": [np.array([[1, -1], [0, 2], [0, 0], [-1, 0], [2, 1], [0, 3]], dtype=np.float32)],
    },
    {
        "zero": np.array(0, dtype=np.float32),
        "one": np.array(1, dtype=np.float32),
        "minus_half": np.array(-0.5, dtype=np.float32),
        "alternating": np.array([1, -1, 1, -1, 1, -1], dtype=np.float32),
        "steps": np.array([[4, 0.5, 1, -2, 0.25, -1]], dtype=np.float32),
        "divisor": np.array(2, dtype=np.int32),
        "minus_divisor": np.array(-4, dtype=np.int32),
    },
)
"""Operators that change the values of elements."""


SMALLEST = OperatorModel(
    "ArgMin of each integer type, at the ends of the type",
    tuple(
        f"At_{type}_{last} = ArgMin <axis = 1, keepdims = 0, select_last_index = {last}> ({type})"
        for type in INTEGER_TYPES
        for last in (0, 1)
    ),
    {type: _limits(dtype_of(type_number(type))) for type in INTEGER_TYPES},
    axes={1: (0,)},
)
"""ArgMin of each integer type, whose indices ArgMax compares between rows."""


def _normalizations(opset: int) -> OperatorModel:
    """Return a model of Softmax and LogSoftmax along each axis of tensors of rank 1 to 4, before ArgMax along each."""
    nodes = []
    operands = {}
    for rank, shape in ((1, (3,)), (2, (2, 3)), (3, (2, 3, 2)), (4, (2, 2, 3, 2))):
        operands[f"x{rank}"] = [pseudo_random_array(f"after_operators/{rank}/{opset}", shape, np.float32, -3.0, 3.0)]
        for op_type in ("Softmax", "LogSoftmax"):
            for axis in range(-rank, rank):
                result = f"{op_type}_{rank}_{axis}".replace("-", "minus_")
                nodes.append(f"{result} = {op_type} <axis = {axis}> (x{rank})")
            if rank > 1 or opset > 12:
                nodes.append(f"{op_type}_{rank}_default = {op_type} (x{rank})")
    nodes += [
        "Log_of_first = Log (Softmax_2_0)",
        "Exp_of_first = Exp (LogSoftmax_2_0)",
        "Root_of_first = Sqrt (Softmax_3_1)",
        "Exp_of_default_2 = Exp (LogSoftmax_2_default)",
        "Exp_of_default_3 = Exp (LogSoftmax_3_default)",
        "Exp_of_default_4 = Exp (LogSoftmax_4_default)",
        "Log_of_default_3 = Log (Softmax_3_default)",
        "Twice = Softmax <axis = 0> (Softmax_2_1)",
        "Thrice = Softmax <axis = 1> (Twice)",
        "Marked_default = Hardmax (x3)",
        "Marked = Hardmax <axis = 2> (x4)",
    ]
    coerces = opset < 13
    return OperatorModel(
        f"Softmax and LogSoftmax along each axis in opset {opset}",
        nodes,
        operands,
        opset=opset,
        axes={rank: range(rank) for rank in range(1, 5)},
        clauses=(
            *(["monotone.coercion"] if coerces else []),
            "monotone.softmax",
            "monotone.log_softmax",
            "argmax.axis",
        ),
    )


MODELS: Mapping[str, OperatorModel] = {
    "moved": MOVED,
    "moved_opset_12": MOVED_BY_ATTRIBUTES,
    "ordered": ORDERED,
    "smallest": SMALLEST,
    "normalized_opset_11": _normalizations(11),
    "normalized_opset_13": _normalizations(13),
}
"""Models by the last part of the id of the case."""


def cases() -> Iterator[Case]:
    """Yield a case for each of the models."""
    for name, operators in MODELS.items():
        id = f"test_argmax_after_operators_{name}"
        yield Case(
            id=id,
            title=f"ArgMax searches the results of {operators.does}",
            level=Level.MUST,
            clauses=tuple(operators.clauses),
            tags=("argmax", "float", f"opset_{operators.opset}", "after_operators"),
            model=_model(id, operators),
            data_sets=tuple(zip(*operators.operands.values(), strict=True)),
        )


def _model(id: str, operators: OperatorModel) -> bytes:
    """Return the serialised model, with two ArgMax nodes for each result and axis."""
    inputs = [array_value_info(name, arrays[0]) for name, arrays in operators.operands.items()]
    nodes = [parser.parse_node(text) for text in operators.nodes]
    made = (name for node in nodes for name in node.output)
    searched = [name for name in (*operators.operands, *made) if name[0].isupper()]
    opsets = {"": operators.opset}
    graph = _with_inferred_types(build_model(id, nodes, inputs, [], opsets, operators.constants)).graph
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in (*graph.input, *graph.value_info)}
    for name in searched:
        for axis in operators.axes.get(ranks[name], (-1,)):
            for last in (0, 1) if operators.opset > 11 else (0,):
                along = f"{name}_{axis}".replace("-", "minus_")
                attributes: dict[str, Any] = {"select_last_index": last} if operators.opset > 11 else {}
                nodes.append(
                    helper.make_node("ArgMax", [name], [f"index_{along}_{last}"], axis=axis, keepdims=0, **attributes)
                )
    indices = [onnx.ValueInfoProto(name=node.output[0]) for node in nodes if node.op_type == "ArgMax"]
    whole = _with_inferred_types(build_model(id, nodes, inputs, indices, opsets, operators.constants))
    return build_model(id, nodes, inputs, list(whole.graph.output), opsets, operators.constants)


def _with_inferred_types(content: bytes) -> onnx.ModelProto:
    return onnx.shape_inference.infer_shapes(onnx.load_model_from_string(content), data_prop=True)
