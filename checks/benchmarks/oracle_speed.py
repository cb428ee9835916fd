"""Measure how many float32 elements per second of processor time the oracle answers, vectorised and with decimals.

Both rates are those of `answers` for a serialised model of one node at level `must`; elements are normally distributed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from onnx import TensorProto, helper

from conformance.base.verdicts import Level
from conformance.exact.reference import oracle

if TYPE_CHECKING:
    from rich.table import Table

    from conformance.exact.models.arrays import Array

VECTORIZED_ELEMENTS = 2**19
DECIMAL_ELEMENTS = 2**12
ARITY = {"Add": 2, "Mul": 2, "Div": 2, "Sqrt": 1, "Exp": 1, "Log": 1}


def oracle_rows(table: Table) -> None:
    """Add a row for each operator."""
    for op_type in ARITY:
        with patch.object(oracle, "MIN_VECTORIZED_ELEMENTS", VECTORIZED_ELEMENTS):
            fast, slow = (
                _elements_per_second(op_type, VECTORIZED_ELEMENTS),
                _elements_per_second(op_type, DECIMAL_ELEMENTS),
            )
        title = f"oracle on {op_type}, {VECTORIZED_ELEMENTS:,} elements"
        table.add_row(title, f"{fast:,.0f}/s", f"decimals {slow:,.0f}/s", f"{fast / slow:.0f}", "at least 100,000/s")


def _elements_per_second(op_type: str, size: int) -> float:
    generator = np.random.default_rng(0)
    operands: list[Array] = [generator.standard_normal(size).astype(np.float32) for _ in range(ARITY[op_type])]
    if op_type in {"Sqrt", "Log"}:
        operands = [np.abs(operand) for operand in operands]
    names = [f"operand_{place}" for place in range(len(operands))]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in (*names, "Y")]
    graph = helper.make_graph([helper.make_node(op_type, names, ["Y"])], "one_node", values[:-1], values[-1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()
    started = time.process_time()
    oracle.answers(model, operands, Level.MUST)
    return size / (time.process_time() - started)
