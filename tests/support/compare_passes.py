"""Compares onnxoptimizer's pass with the suite's own on random valid models, and shows the smallest that differs.

What is known to differ is left out by construction (see `random_graphs`): operators of other domains and functions,
value_info, metadata, quantization annotations, training information, sparse constants, sequences and optionals.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import onnx
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from onnx import printer
from random_graphs import models

from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.exact.models.comparison import canonical_form
from conformance.subjects.adapters.optimizers.onnxoptimizer import optimize


class Differs(Exception):
    """A model of which the two make different things."""

    def __init__(self, model: onnx.ModelProto, how: str) -> None:
        super().__init__(how)
        self.model, self.how = model, how


def compare(model: onnx.ModelProto) -> None:
    """Run both, once and to a fixed point.

    Raises:
        Differs: what comes out is not the same.
    """
    for fixed_point in (False, True):
        run = "to a fixed point" if fixed_point else "once"
        expected, gone = eliminate.rewritten(model, fixed_point=fixed_point)
        try:
            actual = optimize(model, fixed_point=fixed_point)
        except Exception as error:  # noqa: BLE001
            raise Differs(model, f"{run} it raises {type(error).__name__}: {error}") from None
        if canonical_form(actual) != canonical_form(expected):
            left = [node.op_type for node in actual.graph.node]
            told = f"the suite removes {', '.join(gone) or 'nothing'}, and {left} are left of the main graph"
            raise Differs(model, f"{run} {told}")


def search(number: int, examples: int, running: Path) -> Differs | None:
    """The smallest difference found, if any; the model that is being run is in a file, should the process die."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        verbosity=Verbosity.quiet,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(models())
    def run(model: onnx.ModelProto) -> None:
        onnx.checker.check_model(model, full_check=True)
        running.write_bytes(model.SerializeToString(deterministic=True))
        compare(model)

    try:
        run()
    except Differs as difference:
        return difference
    return None


def main() -> int:
    """Exit status: 0 where nothing differs, 1 where something does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--save", type=Path, default=Path("reports/latest/rewrites"), help="where models are written")
    given = parser.parse_args()
    given.save.mkdir(parents=True, exist_ok=True)
    running = given.save / "running.onnx"
    difference = search(given.seed, given.examples, running)
    running.unlink(missing_ok=True)
    if difference is None:
        sys.stdout.write(f"{given.examples} random models, seed {given.seed}: no difference\n")
        return 0
    saved = given.save / "difference.onnx"
    saved.write_bytes(difference.model.SerializeToString(deterministic=True))
    sys.stdout.write(f"{difference.how}; the model is in {saved}:\n{printer.to_text(difference.model)}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
