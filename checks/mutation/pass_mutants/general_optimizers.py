"""Mutants that do not implement the pass: they bypass another operator before ArgMax, or a shared normalization.

They are judged as other graph optimizers are: by the meaning of the model alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checks.mutation.pass_mutants.pass_mutant import PassMutant
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS
from conformance.exact.models.graphs import Scope, copy_of, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

CHANGING = (
    *("Clip", "HardSigmoid", "ThresholdedRelu", "Shrink", "Cast", "LeakyRelu", "Elu", "Mish"),
    *("Max", "Min", "Hardmax", "Mul", "Add", "Sub", "Div", "Pow"),
)
"""Operators whose removal changes the index in exact arithmetic, too."""

SATURATING = ("Sigmoid", "Tanh", "Softsign")
"""Operators whose removal changes the index because of rounding."""


def _bypass_only_use(op_type: str) -> Callable[..., onnx.ModelProto]:
    """Return an optimizer that bypasses an operator of the main graph whose only use is an ArgMax."""

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
        after = copy_of(model)
        scope = Scope(after, after.graph)
        for node in [node for node in after.graph.node if is_operator(node, "ArgMax")]:
            before = scope.producer(node.input[0])
            if before is not None and is_operator(before, op_type) and scope.use_count(node.input[0]) == 1:
                node.input[0] = before.input[0]
                after.graph.node.remove(before)
        return after

    return optimize


def _bypass_all_uses(reader: str) -> Callable[..., onnx.ModelProto]:
    """Return an optimizer that bypasses normalizations before an ArgMax for all nodes of a type in the main graph."""

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
        after = copy_of(model)
        before = {node.output[0]: node for node in after.graph.node if node.op_type in ALONG_AXIS}
        searched = {node.input[0] for node in after.graph.node if is_operator(node, "ArgMax")}
        for node in after.graph.node:
            if is_operator(node, reader) and node.input[0] in before and node.input[0] in searched:
                node.input[0] = before[node.input[0]].input[0]
        return after

    return optimize


GENERAL = (
    *(
        PassMutant(
            f"general_{op_type.lower()}",
            f"removes {op_type} before ArgMax, without the pass",
            _bypass_only_use(op_type),
            implements_pass=False,
        )
        for op_type in CHANGING
    ),
    *(
        PassMutant(
            f"general_{op_type.lower()}",
            f"removes {op_type} before ArgMax, without the pass",
            _bypass_only_use(op_type),
            Level.SHOULD,
            implements_pass=False,
        )
        for op_type in SATURATING
    ),
    *(
        PassMutant(
            f"general_second_{reader.lower()}",
            f"lets every {reader} read the operand of a normalization that an ArgMax reads, without the pass",
            _bypass_all_uses(reader),
            implements_pass=False,
        )
        for reader in ("ArgMax", "ArgMin")
    ),
)
