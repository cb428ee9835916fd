"""The training optimizers that have cases, a module for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators import adagrad, adam, momentum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.case import Case
    from generators.training_optimizers.operator import Operator

MODULES = (adam, momentum, adagrad)
"""In the order of their cases; each has an `OPERATOR` and `cases`."""

OPERATORS: tuple[Operator, ...] = tuple(module.OPERATOR for module in MODULES)

GENERATORS: Mapping[str, Callable[[], Iterator[Case]]] = {module.OPERATOR.prefix: module.cases for module in MODULES}
"""Each one's own cases, by the name of its generator."""
