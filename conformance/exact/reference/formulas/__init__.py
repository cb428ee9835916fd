"""The formulas of operators, each once: for enclosures, and for the numbers of every number system.

A formula takes a node and its inputs, and computes with the operations of `FormulaTensor`. `FORMULAS` has the formulas
that compute with both kinds of tensors. The other formulas of the modules compute with enclosures only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.exact.reference.formulas import elementwise, linear, normalization, recurrent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.exact.reference.nodes import NodeFormula

FORMULAS: Mapping[str, NodeFormula] = {
    **elementwise.FORMULAS,
    **linear.FORMULAS,
    **normalization.FORMULAS,
    **recurrent.FORMULAS,
}
"""The formulas that have an exact value, a bound, an enclosure and a native result, by op_type."""
