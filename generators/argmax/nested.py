"""Cases of ArgMax in and around control flow and functions, written in ONNX's text form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from onnx import parser

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array


@dataclass(frozen=True)
class TextModel:
    """A model in ONNX's text form.

    Attributes:
        title: the fact that the case tests.
        text: the model.
        runs: the inputs of each run.
        clauses: tested clauses.
    """

    title: str
    text: str
    runs: Sequence[Sequence[Array]]
    clauses: Sequence[str]


CONTROL_FLOW = """
<ir_version: 8, opset_import: ["": 13]>
control_flow (float[5,3] x, float[3] v, float[3,3] m) => (
  int64[3] c_early, int64[early] at_early, int64[3] c_asked,
  int64[3] c_counted, int64 inner_sum, int64[2] outer_at,
  float[3] a_end, float[3] b_end, int64[3] a_at, int64[3] b_at, int64[3] v_at,
  int64[3] chosen, int64[3] other, int64[3] chosen_by_vector, int64[3] chosen_by_matrix,
  int64[3] of_rows, int64[5,3] of_columns, int64[2,3] of_slices
)
<bool yes = {1}, int64 ten = {10}, int64 three = {3}, int64 two = {2}, int64 one = {1}, int64 zero = {0},
 int64[1] five = {5}, int64[1] one_of_vector = {1}, int64[1,1] one_of_matrix = {1},
 int64[3] ones = {1, 1, 1}, int64[3] zeros = {0, 0, 0},
 int64[3] turned = {2, 0, 1}, float[3] step = {-2, 0.5, 1}>
{
  c_early, at_early = Loop (ten, yes, zeros) <body = early_body (int64 i, bool go, int64[3] c)
    => (bool again, int64[3] c_next, int64 at) {
    row = Gather (x, i)
    at = ArgMax <axis = 0, keepdims = 0> (row)
    again = Less (at, two)
    c_next = Add (c, at)
  }>
  of_v = ArgMax <axis = 0, keepdims = 0> (v)
  starts = Less (of_v, two)
  c_asked = Loop (ten, starts, zeros) <body = asked_body (int64 i, bool go, int64[3] c)
    => (bool again, int64[3] c_next) {
    row = Gather (x, i)
    at = ArgMax <axis = 0, keepdims = 0, select_last_index = 1> (row)
    again = Less (at, two)
    c_next = Add (c, ones)
  }>
  c_counted = Loop (of_v, , zeros) <body = counted_body (int64 i, bool go, int64[3] c)
    => (bool go_on, int64[3] c_next) {
    go_on = Identity (go)
    row = Gather (x, i)
    at = ArgMax <axis = 0, keepdims = 0> (row)
    c_next = Add (c, ones)
  }>
  inner_sum, outer_at = Loop (two, , zero) <body = outer_body (int64 i, bool go, int64 c)
    => (bool go_on, int64 c_next, int64 at) {
    go_on = Identity (go)
    c_next = Loop (three, , c) <body = inner_body (int64 j, bool inner_go, int64 d)
      => (bool inner_go_on, int64 d_next) {
      inner_go_on = Identity (inner_go)
      row = Gather (x, j)
      inner_at = ArgMax <axis = 0, keepdims = 0> (row)
      d_next = Add (d, inner_at)
    }>
    row = Gather (x, i)
    at = ArgMax <axis = 0, keepdims = 0> (row)
  }>
  a_end, b_end, a_at, b_at, v_at = Loop (three, , v, step) <body = swap_body (
    int64 i, bool go, float[3] a, float[3] b)
    => (bool go_on, float[3] a_next, float[3] b_next, int64 at_a, int64 at_b, int64 at_v) {
    go_on = Identity (go)
    a_next = Identity (b)
    b_next = Gather (a, turned)
    at_a = ArgMax <axis = 0, keepdims = 0> (a)
    at_b = ArgMax <axis = 0, keepdims = 0> (b_next)
    at_v = ArgMax <axis = 0, keepdims = 0> (v)
  }>
  is_first = Less (of_v, one)
  is_other = Not (is_first)
  chosen = If (is_first) <then_branch = first_branch () => (int64[3] y) {
    weights = Constant <value = float[3] {1, -1, 2}> ()
    z = Mul (m, weights)
    y = ArgMax <axis = 0, keepdims = 0> (z)
  }, else_branch = second_branch () => (int64[3] y) {
    weights = Constant <value = float[3] {-1, 2, 1}> ()
    z = Mul (m, weights)
    y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (z)
  }>
  other = If (is_other) <then_branch = first_branch () => (int64[3] y) {
    y = ArgMax <axis = 0, keepdims = 0, select_last_index = 1> (m)
  }, else_branch = second_branch () => (int64[3] y) {
    z = Neg (m)
    y = ArgMax <axis = 1, keepdims = 0> (z)
  }>
  at_of_vector = ArgMax <axis = 0, keepdims = 1> (v)
  is_first_of_vector = Less (at_of_vector, one_of_vector)
  chosen_by_vector = If (is_first_of_vector) <then_branch = vector_first () => (int64[3] y) {
    y = ArgMax <axis = 0, keepdims = 0> (m)
  }, else_branch = vector_second () => (int64[3] y) {
    y = ArgMax <axis = 1, keepdims = 0> (m)
  }>
  is_other_of_matrix = Less (at_of_vector, one_of_matrix)
  is_first_of_matrix = Not (is_other_of_matrix)
  chosen_by_matrix = If (is_first_of_matrix) <then_branch = matrix_first () => (int64[3] y) {
    y = ArgMax <axis = 0, keepdims = 0, select_last_index = 1> (m)
  }, else_branch = matrix_second () => (int64[3] y) {
    y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (m)
  }>
  negated = Neg (m)
  blocks = Unsqueeze (m, one_of_vector)
  blocks_of_negated = Unsqueeze (negated, one_of_vector)
  both_blocks = Concat <axis = 1> (blocks, blocks_of_negated)
  of_rows, of_columns = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
    scan_output_axes = [0, 1], scan_output_directions = [1, 0], body = scan_body (float[5] column)
    => (int64 at, int64[5] places) {
    at = ArgMax <axis = 0, keepdims = 0> (column)
    turned_column = Neg (column)
    least = ArgMax <axis = 0, keepdims = 1> (turned_column)
    places = Expand (least, five)
  }> (x)
  of_slices = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [-1],
    body = slice_body (float[3,2] s) => (int64[2] at) {
    at = ArgMax <axis = -2, keepdims = 0> (s)
  }> (both_blocks)
}
"""
"""ArgMax that ends, starts and counts Loops, and ArgMax in Loops, both branches of Ifs and a reversed Scan."""

FUNCTIONS = """
<ir_version: 8, opset_import: ["acme": 1, "": 13]>
functions (float[2,3] x, float[3] v) => (
  int64[a,b] rows, int64[c,d] columns, int64[e,f] last_axis, int64[g,h] kept, int64[i,j] swapped,
  int64[k,l] not_swapped,
  int64[2] below, int64[2] of_own, int64 weighed, int64 weighed_again,
  int64[2] plain
)
<float one = {1}>
{
  rows = acme.search (x)
  columns = acme.search <axis = 0> (x)
  last_axis = acme.search <axis = -1, last = 1> (x)
  kept = acme.search <axis = 0, last = 0> (x)
  swapped = acme.swap <a = 1, b = 0> (x)
  not_swapped = acme.swap <a = 0, b = 1> (x)
  t_below = acme.limited (x, , one)
  below = ArgMax <axis = 1, keepdims = 0> (t_below)
  t_own = Neg (x)
  of_own = acme.own (t_own)
  weighed = acme.weighed (v)
  turned = Neg (v)
  weighed_again = acme.weighed (turned)
  plain = ArgMax <axis = 1, keepdims = 0> (t_own)
}
<domain: "acme", opset_import: ["": 13]>
search <axis: int = 1, last: int = 0> (x) => (y) {
  y = ArgMax <axis: int = @axis, keepdims = 1, select_last_index: int = @last> (x)
}
<domain: "acme", opset_import: ["": 13]>
inner <a, b> (x) => (y) {
  y = ArgMax <axis: int = @a, keepdims = 1, select_last_index: int = @b> (x)
}
<domain: "acme", opset_import: ["acme": 1, "": 13]>
swap <a, b> (x) => (y) {
  y = acme.inner <a: int = @b, b: int = @a> (x)
}
<domain: "acme", opset_import: ["": 13]>
limited (x, low, high) => (y) {
  y = Clip (x, low, high)
}
<domain: "acme", opset_import: ["": 13]>
own (x) => (y) {
  t_own = Neg (x)
  y = ArgMax <axis = 1, keepdims = 0> (t_own)
}
<domain: "acme", opset_import: ["": 13]>
weighed (v) => (y) {
  weights = Constant <value = float[3] {1, -2, 0.5}> ()
  t = Mul (v, weights)
  y = ArgMax <axis = 0, keepdims = 0> (t)
}
"""
"""Functions with defaults, exchanged references to attributes, an omitted operand and own values."""

READERS: Mapping[str, str] = {
    "int64[2,1] last_removed": "Squeeze (AT, axis_2)",
    "int64[2,1] middle_removed": "Squeeze (AT, axis_1)",
    "int64[3,1] first_removed": "Squeeze (ROWS, axis_0)",
    "int64[1,3] last_of_rows_removed": "Squeeze (ROWS, axis_2)",
    "int64[2] both_removed": "Squeeze (AT, axes_1_2)",
    "int64[2,1,1,1] longer": "Unsqueeze (AT, end)",
    "int64[1,2] turned": "Transpose (REMOVED)",
    "int32[2,1,1] of_32": "Cast <to = 6> (AT)",
    "float[2,1,1] of_float": "Cast <to = 1> (AT)",
    "double[2,1,1] of_double": "Cast <to = 11> (AT)",
    "bool[2,1,1] truth": "Cast <to = 9> (AT)",
    "int64[2,1,1] more": "Add (AT, one)",
    "int64[2,1,1] less": "Sub (one, AT)",
    "int64[2,1,1] twice": "Mul (AT, two)",
    "int64[2,1,1] halves": "Div (AT, two)",
    "bool[2,1,1] is_first": "Equal (AT, zero)",
    "bool[2,3,1] is_largest": "Equal (AT, places)",
    "int64[2,2] joined": "Concat <axis = 1> (REMOVED, last)",
    "int64[1,1,1] at_of_at": "ArgMax <axis = 0, keepdims = 1, select_last_index = 1> (AT)",
    "int64[2,3,1] repeated": "Expand (AT, shape)",
    "float largest": "Gather (v, OF_V)",
}
"""Operators that change the axes or the type of the index, compute with it or take elements: result and expression."""

SEARCHES: Mapping[str, str] = {
    "AT": "ArgMax <axis = 1, keepdims = 1> (x)",
    "ROWS": "ArgMax <axis = 0, keepdims = 1> (x)",
    "REMOVED": "ArgMax <axis = 1, keepdims = 0> (x)",
    "OF_V": "ArgMax <axis = 0, keepdims = 0> (v)",
}
"""The ArgMax that an expression of `READERS` reads. Each reader has one of its own, and those of AT also share one."""


def _read_text() -> str:
    """Return a model in which each of `READERS` is the only reader of an ArgMax, and one of many readers of another."""
    outputs = []
    lines = ["shared = ArgMax <axis = 1, keepdims = 1> (x)"]
    for declared, expression in READERS.items():
        type, name = declared.split()
        search = next(word for word in SEARCHES if word in expression)
        lines += [f"index_{name} = {SEARCHES[search]}", f"{name} = {expression.replace(search, f'index_{name}')}"]
        outputs.append(declared)
        if search == "AT":
            lines.append(f"shared_{name} = {expression.replace(search, 'shared')}")
            outputs.append(f"{type} shared_{name}")
    body = "\n  ".join(lines)
    return f"""
<ir_version: 8, opset_import: ["": 13]>
read (float[2,3,1] x, float[3] v) => ({", ".join(outputs)})
<int64[1] axis_0 = {{0}}, int64[1] axis_1 = {{1}}, int64[1] axis_2 = {{2}}, int64[2] axes_1_2 = {{1, 2}},
 int64[1] end = {{3}}, int64 one = {{1}}, int64 two = {{2}}, int64 zero = {{0}}, int64[3] shape = {{2, 3, 1}},
 int64[3,1] places = {{0, 1, 2}}>
{{
  last = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (x)
  {body}
}}
"""


LOOPS = """
<ir_version: 8, opset_import: ["": 13]>
loops (float[2,3] x, float[3] first, float[3] second, int64[r] shape) => (
  float[3] first_end, float[3] second_end, int64[3] at_first, int64[3] at_second, float[3] first_kept,
  float[3] second_kept, int64[2,3] at_outer, int64[2,3] at_inner, int64[2,3] at_neither, int64 sum,
  int64[n] at_last_axis, int64[m] at_next_axis, float[3] first_scanned, float[3] second_scanned, int64[2] at_scanned
)
<bool yes = {1}, bool no = {0}, int64 three = {3}, int64 two = {2}, int64 zero = {0}, int64[1] minus_one = {-1},
 float[3] steps = {-1.5, 2, 0}>
{
  first_end, second_end, at_first, at_second = Loop (three, yes, first, second) <body = exchange_body (
    int64 i, bool go, float[3] a, float[3] b)
    => (bool go_on, float[3] b, float[3] a, int64 at_a, int64 at_b) {
    go_on = Identity (go)
    at_a = ArgMax <axis = 0, keepdims = 0> (a)
    at_b = ArgMax <axis = 0, keepdims = 0> (b)
  }>
  first_kept, second_kept = Loop (three, no, first, second) <body = never_body (
    int64 i, bool go, float[3] a, float[3] b)
    => (bool go_on, float[3] b, float[3] a) {
    go_on = Identity (go)
  }>
  sum, at_outer, at_inner, at_neither = Loop (two, , zero) <body = outer_body (int64 i, bool go, int64 c)
    => (bool go_on, int64 c_next, int64[3] of_outer, int64[3] of_inner, int64[3] of_neither) {
    go_on = Identity (go)
    row = Gather (x, i)
    c_next, of_outer, of_inner, of_neither = Loop (three, , c) <body = inner_body (
      int64 j, bool inner_go, int64 d)
      => (bool inner_go_on, int64 d_next, int64 by_outer, int64 by_inner, int64 by_neither) {
      inner_go_on = Identity (inner_go)
      by_outer = ArgMax <axis = 0, keepdims = 0> (row)
      step = Gather (steps, j)
      moved = Mul (first, step)
      by_inner = ArgMax <axis = 0, keepdims = 0> (moved)
      by_neither = ArgMax <axis = 0, keepdims = 0> (second)
      added = Add (by_outer, by_inner)
      d_next = Add (d, added)
    }>
  }>
  first_scanned, second_scanned, at_scanned = Scan <num_scan_inputs = 1, body = scan_body (
    float[3] s, float[3] t, float[3] row)
    => (float[3] s_next, float[3] t_next, int64 at) {
    added = Add (s, row)
    at = ArgMax <axis = 0, keepdims = 0> (added)
    s_next = Identity (t)
    t_next = Neg (s)
  }> (first, second, x)
  shaped = Reshape (x, shape)
  weighted = Softmax <axis = -1> (shaped)
  at_end = ArgMax <axis = -1, keepdims = 0> (weighted)
  at_last_axis = Reshape (at_end, minus_one)
  at_next = ArgMax <axis = -2, keepdims = 1> (shaped)
  at_next_axis = Reshape (at_next, minus_one)
}
"""
"""Loops and a Scan whose states exchange places, ArgMax of values of each of two Loops, and axes from the end."""

CONSTANTS = """
<ir_version: 8, opset_import: ["": 13]>
constants (float[2] x) => (
  int64[1] one_float, int64[1] one_integer, int64[2] joined, int64[2] halves, int64[2] high_halves, int64[1] signed_8,
  int64[1] doubles, int64[1] bytes
)
<int64[2,2] two_halves = {2147483647, 2147483648, 4294967296, 4294967295},
 int64[2,2] two_high_halves = {9007201402224639, 9007201402224640, -2147483648, -2147483649},
 int8[4] of_8 = {-128, -3, -2, -4}, double[3] of_double = {-1.5, -0.25, -1}, uint8[4] of_bytes = {127, 128, 255, 0}>
{
  f = Constant <value_floats = [5.0]> ()
  one_float = ArgMax <axis = 0, keepdims = 1> (f)
  i = Constant <value_ints = [5]> ()
  one_integer = ArgMax <axis = 0, keepdims = 1> (i)
  two = Constant <value_floats = [1.0, 2.0]> ()
  y = Mul (x, two)
  z = Concat <axis = 0> (f, y)
  first = ArgMax <axis = 0, keepdims = 1> (z)
  last = ArgMax <axis = 0, keepdims = 1, select_last_index = 1> (z)
  joined = Concat <axis = 0> (first, last)
  halves = ArgMax <axis = 1, keepdims = 0> (two_halves)
  high_halves = ArgMax <axis = 1, keepdims = 0> (two_high_halves)
  signed_8 = ArgMax <axis = 0> (of_8)
  doubles = ArgMax <axis = 0> (of_double)
  bytes = ArgMax <axis = 0> (of_bytes)
}
"""
"""Constants of one element, and constants whose elements are stored in fields of another or of their own type."""

FUNCTION_DOMAIN = """
<ir_version: 8, opset_import: ["acme": 13]>
function_domain (float[1,2,2] s) => (int64[1,2] index)
{
  index = acme.normalized (s)
}
<domain: "acme", opset_import: ["": 11]>
normalized (s) => (y) {
  t = Softmax (s)
  y = ArgMax <axis = 2, keepdims = 0> (t)
}
"""
"""A model that imports the domain of its function alone. The number of the version is that of another opset."""


def _float(numbers: Sequence[object]) -> Array:
    return np.array(numbers, dtype=np.float32)


X_RUNS: Sequence[Sequence[Sequence[float]]] = (
    [[3, 1, 3], [1, 2, 0], [0, -1, 0.5], [2, 2, 1], [9, 0, 0]],
    [[0, 3, 1], [5, 5, 4], [1, 0, 0], [0, 1, 7], [2, 0, 1]],
)
V_RUNS = ([1, 2, 2], [0, 1, 3], [4, 2, 4])
M_RUNS = ([[1, 2, 2], [3, 2, 0], [3, -1, 0]], [[0, 1, 1], [2, -2, 2], [1, 1, 1]])
SHAPE_RUNS = ([2, 3], [1, 3, 2], [1, 3, 1, 2])
NORMALIZED: Sequence[object] = [[[0, 1], [0, 5]]]

MODELS: Mapping[str, TextModel] = {
    "control_flow": TextModel(
        "ArgMax gives the index of each iteration, branch and scanned column, and decides on Loops and Ifs",
        CONTROL_FLOW,
        [
            (_float(X_RUNS[place % 2]), _float(numbers), _float(M_RUNS[place % 2]))
            for place, numbers in enumerate(V_RUNS)
        ],
        ("argmax.index", "argmax.first_index", "argmax.select_last_index", "argmax.axis"),
    ),
    "functions": TextModel(
        "ArgMax in functions uses the attributes, operands and constants of each call",
        FUNCTIONS,
        [(_float(matrix[:2]), _float(numbers)) for matrix, numbers in zip(X_RUNS, V_RUNS, strict=False)],
        ("argmax.axis", "argmax.select_last_index", "argmax.keepdims"),
    ),
    "loops": TextModel(
        "Loops exchange states, repeat ArgMax of changed values, and ArgMax counts a negative axis from the end",
        LOOPS,
        [
            (_float(matrix[:2]), _float(first), _float(second), np.array(shape, dtype=np.int64))
            for matrix, first, second, shape in zip(
                (*X_RUNS, X_RUNS[0]), V_RUNS, (*V_RUNS[1:], V_RUNS[0]), SHAPE_RUNS, strict=True
            )
        ],
        ("argmax.index", "argmax.first_index", "argmax.axis"),
    ),
    "read": TextModel(
        "Other operators read the index of ArgMax with the shape, the axes and the data type that they need",
        _read_text(),
        [(_float(matrix[:2])[:, :, None], _float(numbers)) for matrix, numbers in zip(X_RUNS, V_RUNS, strict=False)],
        ("argmax.index", "argmax.keepdims", "argmax.axis"),
    ),
    "constants": TextModel(
        (
            "ArgMax searches constants of each field of a tensor and of Constant, which are at the limits of narrower"
            " numbers"
        ),
        CONSTANTS,
        [(_float([5, 2.5]),), (_float([7, 3.5]),)],
        ("argmax.index", "argmax.data_type", "argmax.keepdims"),
    ),
    "function_domain": TextModel(
        "ArgMax and Softmax of a function have the opset that the function imports, and the model imports no other one",
        FUNCTION_DOMAIN,
        [(_float(NORMALIZED),)],
        ("monotone.coercion", "monotone.softmax", "argmax.index"),
    ),
}
"""Models by the last part of the id of the case."""


def cases() -> Iterator[Case]:
    """Yield a case for each of the models."""
    for name, model in MODELS.items():
        id = f"test_argmax_nested_{name}"
        parsed = parser.parse_model(model.text)
        parsed.graph.name = id
        yield Case(
            id=id,
            title=model.title,
            level=Level.MUST,
            clauses=tuple(model.clauses),
            tags=("argmax", "float", f"opset_{11 if name == 'function_domain' else 13}", "nested"),
            model=bytes(parsed.SerializeToString(deterministic=True)),
            data_sets=tuple(tuple(run) for run in model.runs),
        )
