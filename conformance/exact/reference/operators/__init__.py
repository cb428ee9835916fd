"""The evaluations of all supported operators: the training optimizers, ArgMax, and the operators around them.

An operator is written once, for all number systems: a function that takes a node, its inputs and a `NumberSystem`, and
returns the outputs (`Evaluation`). `OPERATORS` maps the operators of the main domain to these functions, except the
control-flow operators. `training_optimizers` and `control_flow` have tables of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.exact.reference.operators.data_movement import DATA_MOVEMENT
from conformance.exact.reference.operators.elementwise import ELEMENTWISE, PRIMITIVES
from conformance.exact.reference.operators.reductions import INDICES, REDUCTIONS, SOFTMAX
from conformance.exact.reference.operators.sequences import SEQUENCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.exact.reference.nodes import Evaluation

OPERATORS: Mapping[str, Evaluation] = {
    **PRIMITIVES,
    **ELEMENTWISE,
    **DATA_MOVEMENT,
    **REDUCTIONS,
    **INDICES,
    **SOFTMAX,
    **SEQUENCES,
}
"""The evaluation of each operator of the main domain, by op_type."""

LATER_FORMS: Mapping[str, int] = {
    **dict.fromkeys(("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor", "PRelu"), 7),
    "Upsample": 7,
    "Cast": 6,
    "Tile": 6,
    "Selu": 6,
}
"""The first version of operators whose attributes, operands or broadcasting had another form before, by op_type."""

LATER_FORMS_SINCE = max(LATER_FORMS.values())
"""The version of the main domain from which on every operator has its later form."""
