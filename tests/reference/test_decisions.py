"""Decisions on numbers with bounds: known where all admissible values decide alike, otherwise undetermined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.reference.enclosures import enclose_node
from conformance.reference.nodes import Node
from conformance.reference.numbers.enclosure import Enclosure
from conformance.verdicts import Unsupported

F = np.dtype(np.float32)


def bounded(value: Any, error: Any) -> Enclosure:
    value = np.asarray(value, np.float64)
    return Enclosure(value, np.broadcast_to(np.asarray(error, np.float64), value.shape), F)


def decide(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    names = tuple("ABC"[: len(inputs)])
    (result,) = enclose_node(Node(op_type, names, ("Y",), attributes, 17), inputs)
    return result


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("op_type", "value", "expected"),
    [
        ("Less", [9.0, 11.0, -INF], [True, False, True]),
        ("LessOrEqual", [9.0, 11.0, NAN], [True, False, False]),
        ("Greater", [9.0, 11.0, INF], [False, True, True]),
        ("GreaterOrEqual", [9.0, 11.0, NAN], [False, True, False]),
        ("Equal", [9.0, 11.0, INF], [False, False, False]),
    ],
)
def test_comparison_far_from_the_limit_is_known(op_type: str, value: list[float], expected: list[bool]) -> None:
    X = bounded(value, [0.5, 0.5, 0.0])
    assert decide(op_type, X, np.array([10.0], np.float32)).tolist() == expected


@pytest.mark.parametrize("op_type", ["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
@pytest.mark.parametrize(("value", "error"), [(10.0, 1e-6), (9.9, 0.2), (3.0, INF), (NAN, INF)])
def test_comparison_that_rounding_decides_is_undetermined(op_type: str, value: float, error: float) -> None:
    result = decide(op_type, bounded([value, 1.0], [error, 0.1]), np.array([10.0], np.float32))
    assert result.error.tolist() == [INF, 0.0]
    with pytest.raises(Unsupported):
        decide(op_type, bounded([value], [error]), np.array([10.0], np.float32))


def test_sign_is_known_if_zero_is_not_admissible() -> None:
    result = decide("Sign", bounded([3.0, -2.0, 0.1, 0.0], [1.0, 1.0, 0.2, 0.0]))
    assert result.value[[0, 1, 3]].tolist() == [1.0, -1.0, 0.0]
    assert result.error.tolist() == [0.0, 0.0, INF, 0.0]


@pytest.mark.parametrize(("op_type", "sign", "keepdims"), [("ArgMax", 1, 0), ("ArgMin", -1, 1)])
def test_index_of_a_clear_extreme_is_known(op_type: str, sign: int, keepdims: int) -> None:
    value = sign * np.array([[1.0, 3.0, 2.0], [1.0, 3.0, 2.95]])
    result = decide(op_type, bounded(value, 0.1), axis=1, keepdims=keepdims)
    assert result.value.shape == ((2, 1) if keepdims else (2,))
    assert result.value.reshape(-1)[0] == 1
    assert result.error.reshape(-1).tolist() == [0.0, INF]


def test_hardmax_of_a_clear_maximum_is_known() -> None:
    assert decide("Hardmax", bounded([[1.0, 3.0, 2.0]], 0.1), axis=1).tolist() == [[0.0, 1.0, 0.0]]


def test_selection_by_a_condition_that_rounding_decides_is_not_supported() -> None:
    condition = decide("Less", bounded([10.0, 1.0], 0.1), np.array([10.0], np.float32))
    with pytest.raises(Unsupported):
        decide("Where", condition, np.ones(2, np.float32), np.zeros(2, np.float32))


@pytest.mark.parametrize("op_type", ["Not", "And"])
def test_condition_that_rounding_decides_has_no_known_negation(op_type: str) -> None:
    condition = decide("Less", bounded([10.0, 1.0], 0.1), np.array([10.0], np.float32))
    with pytest.raises(Unsupported):
        decide(op_type, *[condition] * (1 if op_type == "Not" else 2))
