"""`python checks/measurements/double_bounds.py [CORPUS]`: print how many `must` cases in double have wide bounds.

A bound is wide above `MAX_ULP`, in ULP of the largest operand or result at the same position. The second figure is the
number of cases that a kernel passes which computes only X_new in float, although X_new needs more bits. Expanded cases
and the outputs of other nodes do not count.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.exact_scalars import MAX_ULP, excludes_float, largest_width, needs_double

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.corpus import Corpus


class DoubleCase(NamedTuple):
    """The bounds of a `must` case in double.

    Attributes:
        id: id of the case.
        width: the largest bound, in ULP of the largest operand or result at the same position.
        width_of_result: the largest bound, in ULP of the expected value.
        needs_double: whether an expected X_new is not representable in float.
        excludes_float: whether an X_new that is rounded to float fails the case.
    """

    id: str
    width: float
    width_of_result: float
    needs_double: bool
    excludes_float: bool


def double_cases(corpus: Corpus) -> Iterator[DoubleCase]:
    """Yield the `must` cases of training optimizers that have a double output, except expanded cases."""
    prefixes = tuple(f"test_{op_type.lower()}_" for op_type in TRAINING_OPTIMIZERS)
    for entry in corpus.cases.values():
        if entry.level is Level.MUST and entry.id.startswith(prefixes) and not entry.id.endswith("_expanded"):
            held = load_case_in_memory(corpus, entry).held
            outputs = [
                (output, data_set.inputs)
                for data_set in held
                for output in data_set.outputs
                if output.expected.dtype == np.float64 and output.expected.size
            ]
            updates = [output for output, _ in outputs if output.name.startswith("X")]
            if outputs:
                yield DoubleCase(
                    entry.id,
                    max(largest_width(output.expected, output.bound, inputs) for output, inputs in outputs),
                    max(largest_width(output.expected, output.bound, ()) for output, _ in outputs),
                    any(needs_double(output.expected) for output in updates),
                    any(excludes_float(output.expected, output.bound) for output in updates),
                )


def main() -> None:
    """Print both figures."""
    found = list(double_cases(open_corpus(Path(sys.argv[1]) if len(sys.argv) > 1 else bundled_corpus_path())))
    wide = [case for case in found if case.width > MAX_ULP]
    needing = [case for case in found if case.needs_double]
    passing = [case for case in needing if not case.excludes_float]
    share = len(wide) / len(found)
    print(f"{len(found)} must cases in double, {len(wide)} with a bound above {MAX_ULP} ULP ({share:.1%})")
    print(f"{sum(case.width_of_result > MAX_ULP for case in found)} of them above {MAX_ULP} ULP of the expected value")
    print(f"{len(needing)} need more than float; a kernel with X_new in float passes {len(passing)}")
    for case in passing:
        print(f"  {case.id}")


if __name__ == "__main__":
    main()
