"""A backend that is a mutant: it updates only the first of several tensors."""

from __future__ import annotations

from conformance.mutants import catalogue

_mutant = next(one for one in catalogue()["Momentum"] if one.id == "momentum.first_tensor_only")

prepare = _mutant.backend.prepare
