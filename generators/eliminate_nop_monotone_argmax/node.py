"""The base forms of the pass: a graph that it rewrites, with the answer that a backend gives for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.case import Case, CaseKind, Rewrite
from conformance.generation.models import TYPES, argmax_shape, declared, declared_as, model
from conformance.generation.values import scattered
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.scenario import ALONG_AXIS, FIRES, FIVE, STAYS, about, fires

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.generation.models import Size
    from conformance.models.arrays import Array

FLOATS = (np.float32, np.float64)


def cases() -> Iterator[Case]:
    """The five operators before ArgMax, 2-D coercion, and the model of the article on the pass."""
    for op_type, clause in FIVE.items():
        for dtype in FLOATS:
            for axis in (0, 1, -1):
                yield _base(op_type, clause, dtype, axis)
        yield _select_last_index(op_type, clause)
        yield _keeps_order_of_close_values(op_type, clause)
        yield _tells_doubles_apart(op_type, clause)
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
    id = f"test_{clause}_argmax_{word}_{TYPES[dtype]}"
    return _chain(
        id,
        f"ArgMax of {op_type} along axis {axis} in {TYPES[dtype]} is an index of the largest {op_type}",
        clause,
        op_type,
        _positive(id, dtype),
        axis,
    )


def _select_last_index(op_type: str, clause: str) -> Case:
    """A tie of equal elements far above the others: any of them is acceptable after a rounded operator, no other is."""
    X = np.array([[1.0, 8.0, 2.0, 8.0], [8.0, 8.0, 1.0, 3.0]], dtype=np.float32)
    return _chain(
        f"test_{clause}_argmax_tie_last",
        f"ArgMax of {op_type} with select_last_index names one of the equal maxima",
        clause,
        op_type,
        X,
        1,
        {"select_last_index": 1},
    )


def _keeps_order_of_close_values(op_type: str, clause: str) -> Case:
    """Values far enough apart for every admissible accuracy, close enough to catch a low-precision approximation."""
    X = np.array([[1.0, 1.0001, 0.9999, 1.00005], [4.0002, 4.0, 4.0004, 3.9996]], dtype=np.float32)
    return _chain(
        f"test_{clause}_argmax_close_values",
        f"ArgMax of {op_type} tells values apart that differ by one part in ten thousand",
        clause,
        op_type,
        X,
        1,
    )


def _tells_doubles_apart(op_type: str, clause: str) -> Case:
    """Values that are equal as floats."""
    X = np.array([[1.0, 1.0 + 1e-9, 1.0 - 1e-9, 1.0 + 5e-10], [4.0, 4.0 - 4e-9, 4.0 + 2e-9, 4.0 + 4e-9]])
    return _chain(
        f"test_{clause}_argmax_close_values_double",
        f"ArgMax of {op_type} in double tells values apart that are equal as floats",
        clause,
        op_type,
        X,
        1,
    )


def _across_axes(op_type: str) -> Iterator[Case]:
    """ArgMax along another axis than the one that is normalized: which one that is decides the index."""
    clause = ALONG_AXIS[op_type]
    families: Sequence[tuple[str, Mapping[str, Any], int, str]] = (
        ("default_axis", {}, 13, "normalizes along the last axis by default since opset 13"),
        ("one_axis", {"axis": 0}, 13, "normalizes along one axis only since opset 13"),
        ("opset_11_default_axis", {}, 11, "normalizes a matrix of all dimensions from the second on below opset 13"),
    )
    for name, attributes, opset, title in families:
        id = f"test_{clause}_argmax_{name}"
        X = scattered(id, (2, 3, 4), np.float32)
        nodes = [
            helper.make_node(op_type, ["X"], ["Y"], **attributes),
            helper.make_node("ArgMax", ["Y"], ["index"], axis=1, keepdims=0),
        ]
        clauses = (clause,) if opset >= 13 else ("coercion", clause)
        yield _case(id, f"{op_type} {title}", clauses, nodes, X, argmax_shape(X.shape, 1, 0), STAYS, opset)


def _vector_below_opset_11(op_type: str) -> Case:
    """By default along axis 1, which a vector has not: as a column its rows are of one element and all alike."""
    clause = ALONG_AXIS[op_type]
    id = f"test_{clause}_opset_9_vector"
    X = np.array([1.0, 3.0, 2.0], dtype=np.float32)
    return Case(
        id=id,
        title=f"{op_type} of a vector below opset 11 takes it for a column or for a row",
        level=Level.SILENT,
        clauses=("monotone.coercion", f"monotone.{clause}"),
        tags=("float", "opset_9"),
        model=model(id, [helper.make_node(op_type, ["X"], ["Y"])], [declared("X", X)], [declared("Y", X)], {"": 9}),
        data_sets=((X,),),
    )


def _underflows_across_axes(dtype: Any, least: float) -> Case:
    """The page has the logarithm of Softmax, which underflows here; what the logarithm is does not."""
    name = TYPES[dtype]
    id = f"test_log_softmax_argmax_underflow_across_axes_{name}"
    X = np.array([[0.0, 0.0, least - 10], [0.0, -1.0, least]], dtype=dtype)
    nodes = [
        helper.make_node("LogSoftmax", ["X"], ["Y"], axis=1),
        helper.make_node("ArgMax", ["Y"], ["index"], axis=0, keepdims=0),
    ]
    title = f"LogSoftmax tells {name} elements apart whose Softmax underflows, as ArgMax along another axis shows"
    case = _case(id, title, ("log_softmax",), nodes, X, argmax_shape(X.shape, 0, 0), STAYS)
    return dataclasses.replace(case, level=Level.SHOULD)


def _exp_overflows(op_type: str) -> Case:
    """Elements whose exponential is beyond a float: the usual subtraction of the maximum keeps their order."""
    clause = ALONG_AXIS[op_type]
    X = np.array([[89.0, 95.0, 91.0, 90.0], [100.0, 99.0, 90.0, 101.0]], dtype=np.float32)
    case = _chain(
        f"test_{clause}_argmax_exp_overflows",
        f"ArgMax of {op_type} names the largest element where its exponential overflows",
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
        "ArgMax of Relu is the first index where all elements are negative",
        "relu",
        "Relu",
        X,
        1,
        rewrite=STAYS,
    )


def _coerced(op_type: str, axis: int) -> Case:
    """Below opset 13 the rows of a coerced matrix are normalized, which leaves each row's order as it is."""
    clause = ALONG_AXIS[op_type]
    id = f"test_{clause}_argmax_opset_11_axis_{axis}"
    X = scattered(id, (2, 3, 4), np.float32)
    nodes = [
        helper.make_node(op_type, ["X"], ["Y"], axis=axis),
        helper.make_node("ArgMax", ["Y"], ["index"], axis=2, keepdims=0),
    ]
    shape = argmax_shape(X.shape, 2, 0)
    return _case(
        id,
        f"{op_type} below opset 13 normalizes a matrix of all dimensions from axis {axis} on",
        ("coercion", clause),
        nodes,
        X,
        shape,
        STAYS,
        11,
    )


def _article() -> Case:
    """Relu, Softmax and Log before an ArgMax each: the article's model without the axis that Log cannot have."""
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
        "Each of three ArgMax nodes answers for its own branch: Relu, Softmax and Log of one X",
        ("branches", "relu", "softmax", "log"),
        nodes,
        X,
        (3,),
        fires("Y1", "Y2"),
    )


def _chain(
    id: str,
    title: str,
    clause: str,
    op_type: str,
    X: Array,
    axis: int,
    attributes: dict[str, Any] | None = None,
    rewrite: Rewrite = FIRES,
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
    shape: Sequence[Size],
    rewrite: Rewrite,
    opset: int = 13,
) -> Case:
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"monotone.{clause}" for clause in clauses),
        tags=("argmax", CaseKind.PASS, "base", TYPES[X.dtype.type], f"opset_{opset}"),
        model=model(id, nodes, [declared("X", X)], [declared_as("index", "int64", shape)], {"": opset}),
        data_sets=((X,),),
        kind=CaseKind.PASS,
        rewrite=about(rewrite, "structure"),
    )


def _positive(id: str, dtype: Any, shape: Sequence[int] = (3, 5)) -> Array:
    """Values that every one of the operators has a number for."""
    return scattered(id, shape, dtype, 0.25, 4.25)
