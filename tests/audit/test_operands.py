"""The operands and the bound that a report shows for a wrong element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from conformance.audit.judgement import JudgedElement, JudgedNode, NodeVerdict
from conformance.audit.operands import operand_texts
from conformance.audit.report import should_text, wrong_text
from conformance.reference.numbers.enclosure import Enclosure
from conformance.subjects.failures import SubjectFailure, format_exception

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


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
        ("Transpose", {}, [A], (1, 2, 3), []),
    ],
)
def test_operands_of_an_element_are_shown(
    op_type: str, attributes: dict[str, Any], operands: list[Any], index: tuple[int, ...], expected: list[str]
) -> None:
    names = "ab"[: len(operands)]
    node = helper.make_node(op_type, list(names), ["y"], **attributes)
    shape = (
        np.matmul(*operands).shape if op_type == "MatMul" else np.broadcast_shapes(*(each.shape for each in operands))
    )
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
    node = JudgedNode(
        3, "n", "Exp", "", NodeVerdict.WRONG, share=4.0, worst=element, type="float", should_worst=element
    )
    for line, level in ((wrong_text(node), "must"), (should_text(node), "should")):
        assert line.startswith("node 3 Exp n: y[1] is 2, expected 1 ± 0.25")
        assert "; x = 0.5; bound of Exp in float at level " + level in line


def test_exact_element_that_differs_has_no_multiple_of_its_bound() -> None:
    element = JudgedElement("y", (0,), 2.0, 1.0, 0.0)
    node = JudgedNode(0, "n", "Add", "", NodeVerdict.WRONG, share=float("inf"), worst=element, type="int64")
    assert "times" not in wrong_text(node)


@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_message_of_rust_has_no_stack_trace(newline: str) -> None:
    text = f"Unimplemented(Det){newline * 2}Stack backtrace:{newline}   0: <unknown>"
    assert format_exception(SubjectFailure(text)) == "Unimplemented(Det)"
