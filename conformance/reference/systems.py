"""The number systems behind one interface, so that a graph is walked once for all of them.

`Native` computes with arrays of the tensors' own types and is the `reference` backend. `Enclosing` computes with
`Bounded` numbers and is the oracle: its values are the exact ones, its intervals enclose what a backend may answer.
"""

from __future__ import annotations

from conformance.reference.enclosing import Enclosing
from conformance.reference.native import Native
from conformance.reference.values import NumberSystem, Value

__all__ = ["Enclosing", "Native", "NumberSystem", "Value"]
