"""Table of the training optimizers and of the generators of their cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators import adagrad, adam, momentum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.cases.case import Case
    from generators.training_optimizers.operator import Operator

OPERATOR_MODULES = (adam, momentum, adagrad)
"""Modules of the operators, each with `OPERATOR` and `cases`."""

OPERATORS: tuple[Operator, ...] = tuple(module.OPERATOR for module in OPERATOR_MODULES)

GENERATORS: Mapping[str, Callable[[], Iterator[Case]]] = {
    module.OPERATOR.prefix: module.cases for module in OPERATOR_MODULES
}
"""Generator of each operator's own cases, by name."""
