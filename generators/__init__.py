"""What to test: one module or folder for each subject, each with a function `cases`; nothing but case definitions.

No expected value is computed here: the oracle does that, from the serialised model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from generators import argmax, dimensions, eliminate_nop_monotone_argmax, functions, invalid, lowered, training
from generators.training_optimizers import table as training_optimizers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.case import Case

GENERATORS: Mapping[str, Callable[[], Iterator[Case]]] = {
    **training_optimizers.GENERATORS,
    "dimensions": dimensions.cases,
    "argmax": argmax.cases,
    "eliminate_nop_monotone_argmax": eliminate_nop_monotone_argmax.cases,
    "functions": functions.cases,
    "lowered": lowered.cases,
    "training": training.cases,
    "invalid": invalid.cases,
}
"""The suite's own generators by the name that `generate -g` knows, in the order in which they are run."""
