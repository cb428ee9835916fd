"""Pages that leave elements open: each defensible reading is admissible, and everything else is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from enclosed_nodes import enclosed, is_admissible, is_judged
from script_modules import script_module

passages = script_module("passages")
F = np.float32
TEN = np.arange(10, dtype=F).reshape(1, 1, 10)
THREE = TEN[..., 1:4]
ONES = np.ones((1, 1, 2), F)
BLOCK = np.arange(8, dtype=F).reshape(1, 2, 2, 2)
WIDE = {"strides": [5], "auto_pad": "SAME_UPPER"}
"""Windows that leave out elements: ten elements, steps of five, and a kernel of two, so that the sum of pads is -3."""


# operator, opset, operands, attributes, the name of the silence, its readings computed by hand, and a wrong result
READINGS: list[tuple[str, int, list[Any], dict[str, Any], str, list[Any], Any]] = [
    (
        "MaxPool",
        12,
        [TEN],
        {"kernel_shape": [2], **WIDE},
        "negative padding",
        [[[[1, 6]]], [[[3, 8]]], [[[2, 7]]]],
        [[[4, 9]]],
    ),
    (
        "AveragePool",
        19,
        [TEN],
        {"kernel_shape": [2], "count_include_pad": 1, **WIDE},
        "negative padding",
        [[[[0.5, 5.5]]], [[[2.5, 7.5]]], [[[1.5, 6.5]]]],
        [[[3.5, 8.5]]],
    ),
    ("LpPool", 18, [TEN], {"kernel_shape": [2], "p": 1, **WIDE}, "negative padding", [[[[1, 11]]], [[[5, 15]]]], None),
    ("Conv", 11, [TEN, ONES], WIDE, "negative padding", [[[[1, 11]]], [[[5, 15]]], [[[3, 13]]]], [[[7, 17]]]),
    (
        "Resize",
        10,
        [TEN[0, 0], np.array([0.3], F)],
        {"mode": "nearest"},
        "rounding of nearest",
        [[0, 3, 6], [0, 4, 7]],
        [0, 5, 8],
    ),
    (
        "Resize",
        11,
        [THREE[0, 0], None, np.array([0.5], F)],
        {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
        "fraction of a length",
        [[1.0], [1.5]],
        [2.0],
    ),
    (
        "ConvTranspose",
        10,
        [THREE, ONES],
        {"auto_pad": "SAME_UPPER"},
        "side of the odd padding",
        [[[[1, 3, 5]]], [[[3, 5, 3]]]],
        [[[9, 9, 9]]],
    ),
    (
        "Shrink",
        9,
        [np.array([2**31, 5])],
        {"bias": 0.5},
        "arithmetic of integers",
        [[2**31 - 1, 4], [2**31, 5]],
        [0, 4],
    ),
    ("ArgMax", 11, [np.array([1, 3, 3, 2], F)], {"axis": 0}, "index of equal elements", [[1], [2]], [3]),
    (
        "DepthToSpace",
        7,
        [np.arange(8, dtype=F).reshape(1, 8, 1, 1)],
        {"blocksize": 2},
        "order of blocks",
        [[[[[0, 2], [4, 6]], [[1, 3], [5, 7]]]], [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]],
        [[[[0, 2], [4, 6]], [[1, 3], [5, 8]]]],
    ),
    (
        "SpaceToDepth",
        7,
        [BLOCK],
        {"blocksize": 2},
        "order of blocks",
        [np.reshape([0, 4, 1, 5, 2, 6, 3, 7], (1, 8, 1, 1)), np.arange(8).reshape(1, 8, 1, 1)],
        np.reshape([0, 4, 1, 5, 2, 6, 3, 8], (1, 8, 1, 1)),
    ),
    ("ReduceMax", 12, [np.zeros((1, 0), F)], {"axes": [1]}, "extreme of nothing", [[[-np.inf]], [[0]]], None),
    ("Cast", 9, [np.array([0, 1, 36])], {"to": 9}, "truth of a number", [[0, 1, 1], [0, 1, 0]], [1, 1, 1]),
    ("Cast", 6, [np.array([0.0, 0.5], F)], {"to": 9}, "truth of a number", [[0, 1], [0, 0]], [1, 1]),
    (
        "Cast",
        9,
        [np.array([200, 5], np.int16)],
        {"to": 3},
        "integer beyond the type",
        [[-56, 5], [127, 5]],
        [-56, 6],
    ),
    (
        "Upsample",
        9,
        [np.arange(3, dtype=F), np.array([2], F)],
        {"mode": "linear"},
        "coordinates of linear",
        [[0, 0.5, 1, 1.5, 2, 2], [0, 0.25, 0.75, 1.25, 1.75, 2], [0, 0.4, 0.8, 1.2, 1.6, 2]],
        [0, 0.25, 0.75, 1.25, 1.75, 3],
    ),
]


@pytest.mark.parametrize(("op_type", "opset", "arrays", "attributes", "silence", "readings", "wrong"), READINGS)
def test_every_reading_of_a_silent_page_is_admissible(
    op_type: str,
    opset: int,
    arrays: list[Any],
    attributes: dict[str, Any],
    silence: str,
    readings: list[Any],
    wrong: Any,
) -> None:
    result = enclosed(op_type, opset, arrays, **attributes)
    assert result.silences == (silence,)
    assert all(is_admissible(reading, result).all() for reading in readings)
    assert result.unspecified is not None
    if wrong is not None:
        assert not is_admissible(wrong, result).all()


# nodes of which the page states one result
STATED: list[tuple[str, int, list[Any], dict[str, Any], Any]] = [
    ("MaxPool", 12, [TEN], {"kernel_shape": [5], **WIDE}, [[[4, 9]]]),
    ("Resize", 10, [THREE[0, 0], np.array([2.0], F)], {"mode": "nearest"}, [1, 1, 2, 2, 3, 3]),
    ("ConvTranspose", 11, [THREE, ONES], {"auto_pad": "SAME_UPPER"}, [[[1, 3, 5]]]),
    ("Shrink", 9, [np.array([3, -3, 1], np.int8)], {"bias": 1.0, "lambd": 1.0}, [2, -2, 0]),
    ("ArgMax", 11, [np.array([1, 3, 2], F)], {"axis": 0}, [1]),
    ("ArgMin", 12, [np.array([1, 1, 2], F)], {"axis": 0}, [0]),
    ("Cast", 9, [np.array([3, -4])], {"to": 3}, [3, -4]),
    ("Cast", 13, [np.array([200], np.int16)], {"to": 3}, [-56]),
    (
        "SpaceToDepth",
        11,
        [BLOCK],
        {"blocksize": 2},
        np.reshape([0, 4, 1, 5, 2, 6, 3, 7], (1, 8, 1, 1)),
    ),
]


@pytest.mark.parametrize(("op_type", "opset", "arrays", "attributes", "expected"), STATED)
def test_a_page_that_states_the_result_leaves_nothing_open(
    op_type: str, opset: int, arrays: list[Any], attributes: dict[str, Any], expected: Any
) -> None:
    result = enclosed(op_type, opset, arrays, **attributes)
    assert result.silences == ()
    assert is_admissible(expected, result).all()
    assert not is_admissible(np.asarray(expected) + 1, result).any()


@pytest.mark.parametrize(("opset", "attributes"), [(10, {"strides": [2]}), (22, {"output_padding": [1]})])
def test_a_size_with_two_readings_is_not_judged(opset: int, attributes: dict[str, Any]) -> None:
    assert not is_judged("ConvTranspose", opset, [THREE, ONES], auto_pad="SAME_UPPER", **attributes)


def test_every_version_of_a_page_has_the_words_or_a_reading() -> None:
    statements = passages.read_statements()
    assert list(passages.problems_of(statements)) == []
    rows = {(row.name, row.about): row for each in statements for row in passages.rows_of(each)}
    newer, older = (rows[f"ArgMax-{version}", "the index of equal elements"] for version in (12, 11))
    assert (bool(newer.passage), newer.reading) == (True, "")
    assert (older.passage, bool(older.reading)) == ("", True)


@pytest.mark.parametrize(
    "statement",
    [
        {"about": "ties", "operators": ["ArgMax"], "words": "index of the first occurrence"},
        {"about": "ties", "operators": ["ArgMax"], "words": "a sentence of no page", "one": "none"},
        {"about": "ties", "operators": ["ArgMax"], "silence": "a row that is not there"},
        {"about": "ties", "operators": ["ArgMax"], "needs": "storage_order", "one": "none"},
    ],
)
def test_statement_without_words_or_reading_is_a_problem(statement: dict[str, Any]) -> None:
    assert list(passages.problems_of([passages.Statement(**statement)]))


@pytest.mark.parametrize(("activation", "is_open"), [("Relu", True), ("HardSigmoid", True), ("Tanh", False)])
def test_fused_activation_leaves_nan_open_as_its_own_page_does(activation: str, is_open: bool) -> None:
    given = [np.array([[np.nan], [2]], F), np.ones((1, 1), F)]
    result = enclosed("FusedGemm", 1, given, domain="com.microsoft", activation=activation)
    assert result.silences == (("NaN",) if is_open else ())
    assert bool(is_admissible([[1], [1]], result)[0, 0]) == is_open
    assert not is_admissible([[1], [7]], result)[1, 0]


@pytest.mark.parametrize("activation", ["Tanh", "Softplus"])
def test_exponential_that_overflows_leaves_an_activation_of_a_cell_open(activation: str) -> None:
    far = -1000 if activation == "Tanh" else 1000
    given = [np.array([[[far], [0.5]]], F), *[np.ones((1, 1, 1), F)] * 2]
    result = enclosed("RNN", 22, given, hidden_size=1, activations=[activation])
    assert result.silences == ("overflow of an exponential",)
    assert result.unspecified.reshape(-1).tolist() == [True, False]
    near = enclosed("RNN", 22, [given[0] / 1000, *given[1:]], hidden_size=1, activations=[activation])
    assert near.unspecified is None


@pytest.mark.parametrize(
    ("operator", "opset", "given", "is_open"),
    [
        ("Softplus", 22, np.array([88, 90, np.inf, -np.inf], F), [False, True, False, False]),
        ("Softplus", 22, np.array([700, 720, -720, np.nan]), [False, True, False, False]),
        (
            "ReduceLogSumExp",
            13,
            np.array([[600, 1], [800, 1], [-800, -800], [np.inf, 800]], F),
            [False, True, True, False],
        ),
    ],
)
def test_exponential_that_overflows_leaves_a_logarithm_open(
    operator: str, opset: int, given: np.ndarray[Any, Any], is_open: list[bool]
) -> None:
    given_axes = {"axes": [1], "keepdims": 0} if operator == "ReduceLogSumExp" else {}
    result = enclosed(operator, opset, [given], **given_axes)
    assert result.silences == ("overflow of an exponential",)
    assert result.unspecified.tolist() == is_open
    assert np.isfinite(result.should.error).all()
