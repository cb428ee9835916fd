"""The examples of the operators' pages, under the names by which every ONNX runner knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.case import Case
from conformance.verdicts import Level
from generators.training_optimizers.operator import Operator, optimizer_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.models.arrays import Array


def upstream_case(
    operator: Operator,
    id: str,
    title: str,
    clauses: Sequence[str],
    attributes: Mapping[str, Any],
    operands: Mapping[str, Sequence[Sequence[float]]],
) -> Case:
    """An example of a page: float32, R = 0.1 and T = 0.

    Args:
        operands: per operand the values of every tensor.
    """
    tensors: list[Array] = [
        np.array(values, dtype=np.float32) for name in operator.signature.operands for values in operands[name]
    ]
    inputs: tuple[Array, ...] = (np.array(0.1, dtype=np.float32), np.array(0, dtype=np.int64), *tensors)
    return Case(
        id=id,
        title=title,
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in clauses),
        tags=(operator.prefix, "float", "upstream"),
        model=optimizer_model(operator, id, attributes, inputs),
        data_sets=(inputs,),
    )
