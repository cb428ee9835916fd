"""Basic cases with the five operators before ArgMax, which test the pass and also the index that a backend returns."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case, CaseKind, Rewrite
from conformance.exact.models.model_building import (
    argmax_shape,
    array_value_info,
    build_model,
    make_value_info,
    pseudo_random_array,
)
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    ALONG_AXIS,
    APPLIES,
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    applies_to,
    with_check,
)
from generators.generated_values import FLOAT_TYPE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.models.model_building import DimensionSize

FLOATS = (np.float32, np.float64)


def cases() -> Iterator[Case]:
    """Yield the cases: the five operators before ArgMax, Softmax below opset 13, and the model of the article."""
    for op_type, clause in PASS_OPERATORS.items():
        for dtype in FLOATS:
            for axis in (0, 1, -1):
                yield _base(op_type, clause, dtype, axis)
        yield _select_last_index(op_type, clause)
        yield _close_values(op_type, clause)
        yield _close_doubles(op_type, clause)
    for op_type in ALONG_AXIS:
        for axis in (0, 1):
            yield _coerced(op_type, axis)
        yield from _across_axes(op_type)
        yield _vector_below_opset_11(op_type)
        yield _exp_overflows(op_type)
    for dtype, least in ((np.float32, -105.0), (np.float64, -750.0)):
        yield _underflows_across_axes(dtype, least)
    yield _below_one()
    yield _all_negative()
    yield _article()


def _base(op_type: str, clause: str, dtype: Any, axis: int) -> Case:
    word = f"axis_{axis}" if axis >= 0 else "axis_minus_1"
    id = f"test_{clause}_argmax_{word}_{FLOAT_TYPE_NAMES[dtype]}"
    return _chain(
        id,
        f"ArgMax of {op_type} along axis {axis} in {FLOAT_TYPE_NAMES[dtype]} is an index of the largest {op_type}",
        clause,
        op_type,
        _positive(id, dtype),
        axis,
    )


def _select_last_index(op_type: str, clause: str) -> Case:
    """Define a case with equal maxima; because of rounding, the indices of all of them are acceptable."""
    X = np.array([[1.0, 8.0, 2.0, 8.0], [8.0, 8.0, 1.0, 3.0]], dtype=np.float32)
    return _chain(
        f"test_{clause}_argmax_tie_last",
        f"ArgMax of {op_type} with select_last_index gives the index of one of the equal maxima",
        clause,
        op_type,
        X,
        1,
        {"select_last_index": 1},
    )


def _close_values(op_type: str, clause: str) -> Case:
    """Define a case with close values, which remain distinct in all admissible evaluations of the operator.

    A coarse approximation of the operator makes them equal.
    """
    X = np.array([[1.0, 1.0001, 0.9999, 1.00005], [4.0002, 4.0, 4.0004, 3.9996]], dtype=np.float32)
    return _chain(
        f"test_{clause}_argmax_close_values",
        f"ArgMax of {op_type} distinguishes values that differ by one part in ten thousand",
        clause,
        op_type,
        X,
        1,
    )


def _close_doubles(op_type: str, clause: str) -> Case:
    """Define a case with double values that are equal as floats."""
    X = np.array([[1.0, 1.0 + 1e-9, 1.0 - 1e-9, 1.0 + 5e-10], [4.0, 4.0 - 4e-9, 4.0 + 2e-9, 4.0 + 4e-9]])
    return _chain(
        f"test_{clause}_argmax_close_values_double",
        f"ArgMax of {op_type} in double distinguishes values that are equal as floats",
        clause,
        op_type,
        X,
        1,
    )


def _across_axes(op_type: str) -> Iterator[Case]:
    """Yield cases in which the operator normalises along another axis than ArgMax's, which changes the index."""
    clause = ALONG_AXIS[op_type]
    families: Sequence[tuple[str, Mapping[str, Any], int, str]] = (
        ("default_axis", {}, 13, "normalises along the last axis by default since opset 13"),
        ("one_axis", {"axis": 0}, 13, "normalises along one axis only since opset 13"),
        ("opset_11_default_axis", {}, 11, "normalises all dimensions from the second on together below opset 13"),
    )
    for name, attributes, opset, title in families:
        id = f"test_{clause}_argmax_{name}"
        X = pseudo_random_array(id, (2, 3, 4), np.float32)
        nodes = [
            helper.make_node(op_type, ["X"], ["Y"], **attributes),
            helper.make_node("ArgMax", ["Y"], ["index"], axis=1, keepdims=0),
        ]
        clauses = (clause,) if opset >= 13 else ("coercion", clause)
        yield _case(id, f"{op_type} {title}", clauses, nodes, X, argmax_shape(X.shape, 1, 0), DOES_NOT_APPLY, opset)


def _vector_below_opset_11(op_type: str) -> Case:
    """Define a case of opset 9 with a vector as input, for which the default axis 1 does not exist."""
    clause = ALONG_AXIS[op_type]
    id = f"test_{clause}_opset_9_vector"
    X = np.array([1.0, 3.0, 2.0], dtype=np.float32)
    return Case(
        id=id,
        title=f"{op_type} below opset 11 treats a vector as a column or as a row",
        level=Level.SILENT,
        clauses=("monotone.coercion", f"monotone.{clause}"),
        tags=("float", "opset_9"),
        model=build_model(
            id,
            [helper.make_node(op_type, ["X"], ["Y"])],
            [array_value_info("X", X)],
            [array_value_info("Y", X)],
            {"": 9},
        ),
        data_sets=((X,),),
    )


def _underflows_across_axes(dtype: Any, least: float) -> Case:
    """Define a case in which Softmax underflows, but LogSoftmax does not if it is computed without Softmax."""
    name = FLOAT_TYPE_NAMES[dtype]
    id = f"test_log_softmax_argmax_underflow_across_axes_{name}"
    X = np.array([[0.0, 0.0, least - 10], [0.0, -1.0, least]], dtype=dtype)
    nodes = [
        helper.make_node("LogSoftmax", ["X"], ["Y"], axis=1),
        helper.make_node("ArgMax", ["Y"], ["index"], axis=0, keepdims=0),
    ]
    title = f"LogSoftmax distinguishes {name} elements whose Softmax underflows"
    case = _case(id, title, ("log_softmax",), nodes, X, argmax_shape(X.shape, 0, 0), DOES_NOT_APPLY)
    return dataclasses.replace(case, level=Level.SHOULD)


def _exp_overflows(op_type: str) -> Case:
    """Define a case in which exponentials overflow unless the maximum is subtracted first."""
    clause = ALONG_AXIS[op_type]
    X = np.array([[89.0, 95.0, 91.0, 90.0], [100.0, 99.0, 90.0, 101.0]], dtype=np.float32)
    case = _chain(
        f"test_{clause}_argmax_exp_overflows",
        f"ArgMax of {op_type} gives the index of the largest element although its exponential overflows",
        clause,
        op_type,
        X,
        1,
    )
    return dataclasses.replace(case, level=Level.SHOULD)


def _below_one() -> Case:
    X = np.array([[0.25, 0.5, 0.75, 0.125], [0.125, 0.03125, 0.0625, 0.25]], dtype=np.float32)
    return _chain(
        "test_log_argmax_below_one",
        "ArgMax of Log compares negative logarithms",
        "log",
        "Log",
        X,
        1,
    )


def _all_negative() -> Case:
    X = np.array([[-3.0, -1.0, -2.0], [-1.0, 2.0, 3.0]], dtype=np.float32)
    return _chain(
        "test_relu_argmax_all_negative",
        "ArgMax of Relu is the first index if all elements are negative",
        "relu",
        "Relu",
        X,
        1,
        rewrite=DOES_NOT_APPLY,
    )


def _coerced(op_type: str, axis: int) -> Case:
    """Define a case below opset 13, in which the operator normalises all dimensions from `axis` on together.

    Within each group of normalised elements, the order of the elements remains.
    """
    clause = ALONG_AXIS[op_type]
    id = f"test_{clause}_argmax_opset_11_axis_{axis}"
    X = pseudo_random_array(id, (2, 3, 4), np.float32)
    nodes = [
        helper.make_node(op_type, ["X"], ["Y"], axis=axis),
        helper.make_node("ArgMax", ["Y"], ["index"], axis=2, keepdims=0),
    ]
    shape = argmax_shape(X.shape, 2, 0)
    return _case(
        id,
        f"{op_type} below opset 13 normalises all dimensions from axis {axis} on together",
        ("coercion", clause),
        nodes,
        X,
        shape,
        DOES_NOT_APPLY,
        11,
    )


def _article() -> Case:
    """Define a case with the model of the article about the pass, without the invalid axis of Log."""
    id = "test_argmax_three_branches"
    branches: tuple[tuple[str, dict[str, Any]], ...] = (("Relu", {}), ("Softmax", {"axis": 0}), ("Log", {}))
    nodes = [
        node
        for number, (op_type, attributes) in enumerate(branches)
        for node in (
            helper.make_node(op_type, ["X"], [f"Y{number}"], **attributes),
            helper.make_node("ArgMax", [f"Y{number}"], [f"index{number}"], axis=0),
        )
    ]
    nodes.append(helper.make_node("Concat", ["index0", "index1", "index2"], ["index"], axis=0))
    X = _positive(id, np.float32, (10,))
    return _case(
        id,
        "Three ArgMax nodes give the indices of Relu, Softmax and Log of the same X",
        ("branches", "relu", "softmax", "log"),
        nodes,
        X,
        (3,),
        applies_to("Y1", "Y2"),
    )


def _chain(
    id: str,
    title: str,
    clause: str,
    op_type: str,
    X: Array,
    axis: int,
    attributes: dict[str, Any] | None = None,
    rewrite: Rewrite = APPLIES,
) -> Case:
    along: dict[str, Any] = {"axis": axis} if op_type in ALONG_AXIS else {}
    nodes = [
        helper.make_node(op_type, ["X"], ["Y"], **along),
        helper.make_node("ArgMax", ["Y"], ["index"], axis=axis, keepdims=0, **(attributes or {})),
    ]
    return _case(id, title, (clause,), nodes, X, argmax_shape(X.shape, axis, 0), rewrite)


def _case(
    id: str,
    title: str,
    clauses: Sequence[str],
    nodes: Sequence[onnx.NodeProto],
    X: Array,
    shape: Sequence[DimensionSize],
    rewrite: Rewrite,
    opset: int = 13,
) -> Case:
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"monotone.{clause}" for clause in clauses),
        tags=("argmax", CaseKind.PASS, "base", FLOAT_TYPE_NAMES[X.dtype.type], f"opset_{opset}"),
        model=build_model(
            id, nodes, [array_value_info("X", X)], [make_value_info("index", "int64", shape)], {"": opset}
        ),
        data_sets=((X,),),
        kind=CaseKind.PASS,
        rewrite=with_check(rewrite, "structure"),
    )


def _positive(id: str, dtype: Any, shape: Sequence[int] = (3, 5)) -> Array:
    """Return positive values, which all of the operators accept."""
    return pseudo_random_array(id, shape, dtype, 0.25, 4.25)
