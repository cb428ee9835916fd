"""Definitions of all cases: one module or package for each topic, each with a function `cases`.

Generators define models and inputs. The oracle later computes the expected outputs from the serialised model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators import (
    argmax,
    eliminate_nop_monotone_argmax,
    expanded,
    functions,
    invalid,
    optimizer_covering_arrays,
    training_cases,
)
from generators.declarations.families import coverage_lines
from generators.exact_scalars import with_siblings
from generators.patterns import cases as pattern_cases
from generators.patterns import draw_pattern
from generators.training_optimizers import table as training_optimizers

__all__ = ["GENERATORS", "coverage_lines", "draw_pattern", "pattern_cases"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.cases.case import Case

GENERATORS: Mapping[str, Callable[[], Iterator[Case]]] = {
    **{name: with_siblings(cases) for name, cases in training_optimizers.GENERATORS.items()},
    "dimensions": with_siblings(optimizer_covering_arrays.cases),
    "argmax": argmax.cases,
    "eliminate_nop_monotone_argmax": eliminate_nop_monotone_argmax.cases,
    "functions": functions.cases,
    "expanded": expanded.cases,
    "training": training_cases.cases,
    "invalid": invalid.cases,
}
"""The suite's own generators in the order in which they run, by the name for `generate -g`."""
