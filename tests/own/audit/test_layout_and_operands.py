"""The layout of a model's graph, and the operands that a report of an audit shows."""

from __future__ import annotations

import random
import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from onnx import helper

from conformance.exact.judgement.node_comparison import JudgedElement, operand_texts
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.own.audit.audit_report import should_text, wrong_text
from conformance.own.audit.node_verdicts import JudgedNode, NodeVerdict
from conformance.own.graphs import layout as layouts
from conformance.own.graphs.layout import BEND_WIDTH, NODE_WIDTH, layered_layout
from conformance.subjects.calling.request import SubjectFailure, format_exception

# The layout of a model's graph: rows follow the edges, nodes do not overlap, and large graphs stay fast.


def random_graph(nodes: int, seed: int = 0) -> list[tuple[int, int]]:
    source = random.Random(seed)
    return [(source.randrange(max(0, b - 30), b), b) for b in range(1, nodes) for _ in range(source.choice([1, 1, 2]))]


def test_every_node_is_below_the_nodes_before_it() -> None:
    edges = random_graph(200)
    layout = layered_layout(range(200), edges)
    assert set(layout.places) == set(range(200))
    assert all(layout.places[a][1] < layout.places[b][1] for a, b in edges)
    for (a, b), points in layout.courses.items():
        assert (points[0], points[-1]) == (layout.places[a], layout.places[b])
        assert [y for _, y in points] == sorted({y for _, y in points})


def test_nodes_of_a_row_do_not_overlap_and_are_inside_of_the_drawing() -> None:
    layout = layered_layout(range(300), random_graph(300, 1))
    rows: dict[float, list[float]] = {}
    for x, y in layout.places.values():
        rows.setdefault(y, []).append(x)
        assert NODE_WIDTH / 2 <= x <= layout.width - NODE_WIDTH / 2
        assert 0 < y < layout.height
    assert all(abs(a - b) >= NODE_WIDTH - 0.2 for row in rows.values() for a, b in combinations(row, 2))


def test_chain_is_straight_beside_an_edge_that_skips_it() -> None:
    layout = layered_layout(range(10), [*((n, n + 1) for n in range(9)), (0, 9)])
    assert len({x for number, (x, _) in layout.places.items() if 1 < number < 8}) == 1
    bend = layout.courses[0, 9][4][0]
    assert abs(bend - layout.places[4][0]) >= (NODE_WIDTH + BEND_WIDTH) / 2 - 0.2


def test_same_graph_has_the_same_layout_in_any_order_of_edges() -> None:
    edges = random_graph(100)
    assert layered_layout(range(100), edges) == layered_layout(range(100), edges[::-1])


def test_graph_with_too_many_bends_has_straight_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MAX_BENDS", 5)
    layout = layered_layout(range(20), [*((n, n + 1) for n in range(19)), (0, 19)])
    assert len(layout.courses[0, 19]) == 2


def test_graph_of_thousands_of_nodes_is_laid_out_quickly() -> None:
    began = time.process_time()
    layered_layout(range(3000), random_graph(3000))
    assert time.process_time() - began < 5


def test_empty_graph_has_a_layout() -> None:
    assert layered_layout([], []).places == {}


# The operands and the bound that a report shows for a wrong element.


A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
K = np.arange(9, dtype=np.float32)
W = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)
PRODUCT = ("a = [4, 5, 6, 7]", "b = [8, 9, 10, 11]")
CHANNEL = "b = [8, 9, 10, 11, 12, …, 15] (8 elements)"


@pytest.mark.parametrize(
    ("op_type", "attributes", "operands", "index", "expected"),
    [
        ("Add", {}, [A, A[0, 0]], (1, 2, 3), ["a = 23", "b = 3"]),
        ("Add", {}, [A, np.float32(2).reshape(())], (1, 0, 0), ["a = 12", "b = 2"]),
        ("Mul", {}, [A[:, :, :1], A], (1, 2, 3), ["a = 20", "b = 23"]),
        ("MatMul", {}, [A[0], A[0].T], (1, 2), ["a = [4, 5, 6, 7]", "b = [8, 9, 10, 11]"]),
        ("MatMul", {}, [A, A[0].T], (1, 0, 1), ["a = [12, 13, 14, 15]", "b = [4, 5, 6, 7]"]),
        ("Softmax", {"axis": 1}, [A], (1, 2, 3), ["a = [15, 19, 23]"]),
        ("Softmax", {}, [np.arange(9.0).reshape(1, 9)], (0, 1), ["a = [0, 1, 2, 3, 4, …, 8] (9 elements)"]),
        ("ArgMax", {}, [A], (0, 2, 3), ["a = [11, 23]"]),
        ("ArgMin", {"axis": -1, "keepdims": 0}, [A], (1, 2), ["a = [20, 21, 22, 23]"]),
        ("Transpose", {}, [A], (3, 2, 1), ["a = [0, 1, 2, 3, 4, …, 23] (24 elements)"]),
        ("MatMulInteger", {}, [A[0], A[0].T, K[:3], K[3:6]], (1, 2), [*PRODUCT, "c = 1", "d = 5"]),
        (
            "QLinearMatMul",
            {},
            [A[0], K[:1], K[:1], A[0].T],
            (1, 2),
            ["a = [4, 5, 6, 7]", "b = [0]", "c = [0]", "d = [8, 9, 10, 11]"],
        ),
        ("Gemm", {"transA": 1}, [A[0].T, A[0].T, K[:3]], (1, 2), [*PRODUCT, "c = 2"]),
        ("Gemm", {"transB": 1}, [A[0], A[0], A[0, :, :1]], (1, 2), [*PRODUCT, "c = 4"]),
        ("MatMul", {}, [A[0], K[:4]], (1,), ["a = [4, 5, 6, 7]", "b = [0, 1, 2, 3]"]),
        ("MatMul", {}, [K[:4], A[0].T], (2,), ["a = [0, 1, 2, 3]", "b = [8, 9, 10, 11]"]),
        (
            "LayerNormalization",
            {"axis": 1},
            [A[:, :, :2], K[:2]],
            (1, 0, 1),
            ["a = [12, 13, 16, 17, 20, 21]", "b = [0, 1]"],
        ),
        ("ReduceSum", {"keepdims": 0}, [A, np.array([0])], (2, 3), ["a = [11, 23]", "b = [0]"]),
        ("ReduceMax", {"axes": [0, 2]}, [A], (0, 2, 0), ["a = [8, 9, 10, 11, 20, …, 23] (8 elements)"]),
        (
            "MaxPool",
            {"kernel_shape": [3, 2], "pads": [1, 0, 0, 0]},
            [A[:, None]],
            (1, 0, 0, 2),
            ["a = [14, 15, 18, 19]"],
        ),
        (
            "MaxPool",
            {"kernel_shape": [2, 2], "dilations": [2, 3]},
            [A[:, None]],
            (1, 0, 0, 0),
            ["a = [12, 15, 20, 23]"],
        ),
        ("AveragePool", {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}, [A[:, None]], (0, 0, 2, 3), ["a = [11]"]),
        (
            "Conv",
            {"strides": [1, 2]},
            [A[None], W, K[:2]],
            (0, 1, 1, 1),
            ["a = [6, 7, 10, 11, 18, …, 23] (8 elements)", CHANNEL, "c = 1"],
        ),
        (
            "ConvInteger",
            {"group": 2},
            [A[None], W[:, :1], K[7:8], K[:2]],
            (0, 1, 0, 0),
            ["a = [12, 13, 16, 17]", "b = [8, 9, 10, 11]", "c = 7", "d = 1"],
        ),
        ("GlobalMaxPool", {}, [A[:, :, :, None]], (1, 2, 0, 0), ["a = [20, 21, 22, 23]"]),
        ("BatchNormalization", {}, [A, *[K[:3]] * 4], (1, 2, 3), ["a = 23", *(f"{name} = 2" for name in "bcde")]),
        ("DequantizeLinear", {"axis": -1}, [A, K[:4], K[1:5]], (1, 2, 3), ["a = 23", "b = 3", "c = 4"]),
        ("DequantizeLinear", {"axis": 2, "block_size": 3}, [A, A[:, :, :2]], (1, 2, 3), ["a = 23", "b = 21"]),
    ],
)
def test_operands_of_an_element_are_shown(
    op_type: str, attributes: dict[str, Any], operands: list[Any], index: tuple[int, ...], expected: list[str]
) -> None:
    names = "abcde"[: len(operands)]
    node = helper.make_node(op_type, list(names), ["y"], **attributes)
    shape = np.broadcast_shapes(*(each.shape for each in operands)) if op_type in ("Add", "Mul") else operands[0].shape
    assert list(operand_texts(node, dict(zip(names, operands, strict=True)), shape, index)) == expected


def test_operand_with_a_bound_shows_the_bound() -> None:
    X = Enclosure(np.array([1.0, 2.0]), np.array([0.0, 0.25]), np.dtype(np.float32))
    node = helper.make_node("Neg", ["x"], ["y"])
    assert operand_texts(node, {"x": X}, (2,), (1,)) == ("x = 2 ± 0.25",)


def test_operands_that_do_not_fit_the_output_are_left_out() -> None:
    node = helper.make_node("Add", ["a", "b"], ["y"])
    assert operand_texts(node, {"a": A, "b": A[0, 0]}, (9, 9, 9), (8, 8, 8)) == ()


def test_wrong_line_has_value_bound_operands_and_source() -> None:
    element = JudgedElement("y", (1,), 2.0, 1.0, 0.25, ("x = 0.5",))
    outside: dict[str, Any] = {"share": 4.0, "worst": element, "should_worst": element}
    node = JudgedNode(3, "n", NodeVerdict.WRONG, op_type="Exp", domain="", type="float", **outside)
    for line, level in ((wrong_text(node), "must"), (should_text(node), "should")):
        assert line.startswith("node 3 Exp n: y[1] is 2, expected 1 ± 0.25")
        assert "; x = 0.5; bound of Exp in float at level " + level in line


def test_exact_element_that_differs_has_no_multiple_of_its_bound() -> None:
    worst = JudgedElement("y", (0,), 2.0, 1.0, 0.0)
    node = JudgedNode(0, "n", NodeVerdict.WRONG, op_type="Add", domain="", share=float("inf"), worst=worst)
    assert "times" not in wrong_text(node)


@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_message_of_rust_has_no_stack_trace(newline: str) -> None:
    text = f"Unimplemented(Det){newline * 2}Stack backtrace:{newline}   0: <unknown>"
    assert format_exception(SubjectFailure(text)) == "Unimplemented(Det)"
