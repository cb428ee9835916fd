"""Factors of the graph around a node of a training optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.factors.connections import TENSOR_ENCODINGS
from conformance.corpus.factors.covering_array import Declaration, LevelCombination
from conformance.corpus.factors.scopes import SCOPES
from conformance.corpus.factors.wrapping import IMPORT_LEVELS
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


TYPES: Mapping[str, tuple[Any, Any]] = {
    "float": (np.float32, np.float32),
    "double": (np.float64, np.float64),
    "float_r_double": (np.float32, np.float64),
    "double_r_float": (np.float64, np.float32),
}
"""Element types of the tensors and of R. They form one factor, because kernels treat mixed types separately."""

READ_BY_ANOTHER: Mapping[str, str] = {"none": "", "scalars": "RT", "X": "X", "G": "G", "state": "VH"}
"""First letters of the operands that another node also reads, by level."""

USUAL_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Adam": {"alpha": 0.75, "beta": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25, "norm_coefficient_post": 0.125},
    "Momentum": {"alpha": 0.75, "beta": 0.5, "mode": "nesterov", "norm_coefficient": 0.25},
    "Adagrad": {"decay_factor": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25},
}
"""Attributes that all affect the result. They are exact in float32, which keeps the bounds in double small."""


def has_state(op_type: str) -> bool:
    """Return whether a training optimizer has state: tensor operands besides X and G."""
    return len(TRAINING_OPTIMIZERS[op_type].operands) > len("XG")


def graph_declaration(op_type: str, known: Sequence[str], uses: Sequence[str]) -> Declaration:
    """Return the factors of the graph around an optimizer node: enclosing scope, operand sources and more.

    Args:
        op_type: type of the optimizer.
        known: the operand sources.
        uses: the result consumers.
    """
    optimizer = TRAINING_OPTIMIZERS[op_type]
    scalar = tuple(source for source in known if source != "sparse_constant")
    sources = {
        **{f"source_{name}": scalar for name in ("R", "T")},
        **{f"source_{name}": known for name in optimizer.operands},
    }
    consumers = dict.fromkeys((f"consumer_{name}" for name in optimizer.results), uses)
    return Declaration(
        factors={
            "scope": tuple(SCOPES),
            **sources,
            **consumers,
            "read_by_another": tuple(level for level in READ_BY_ANOTHER if level != "state" or has_state(op_type)),
            "types": tuple(TYPES),
            "imports": tuple(spelling for spelling in IMPORT_LEVELS if spelling != "main_by_name"),
            "stored": tuple(TENSOR_ENCODINGS),
            "training_info": ("absent", "present"),
        },
        forbidden=(LevelCombination(dict.fromkeys(consumers, ("unused",)), "A graph without outputs shows nothing."),),
        three_way={"scope": ("scope",), "source": tuple(sources), "consumer": tuple(consumers)},
    )


def tensor_names(names: Sequence[str], count: int) -> list[str]:
    """Return numbered names for several tensors: X1, X2, G1, … or X1_new, …. For one tensor return `names`.

    >>> tensor_names(["X_new", "V_new"], 2)
    ['X1_new', 'X2_new', 'V1_new', 'V2_new']
    """
    if count == 1:
        return list(names)
    return [f"{name[0]}{number}{name[1:]}" for name in names for number in range(1, count + 1)]
