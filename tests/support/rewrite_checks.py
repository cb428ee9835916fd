"""Models before and after a rewrite, and the violations of checks."""

from __future__ import annotations

import numpy as np

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import PassEffect, Rewrite
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_run import OptimizerDataSet, OptimizerDataSets, OptimizerTask

SAFE = {"X": np.array([[1, 3, 2], [5, 1, 4]], dtype=np.float32)}


TIES = {"X": np.array([[0, 1e-8, -1], [0, 1e-8, -1]], dtype=np.float32)}


STAYS, FIRES = Rewrite(PassEffect.DOES_NOT_APPLY), Rewrite(PassEffect.APPLIES, ("Y",), ("Y",))


MAY = Rewrite(PassEffect.OPTIONAL, ("Y",), ("Y",))


def judged(optimize, proto, expected, *, implements=True, hazard=False, level=Level.MUST):
    examples = [OptimizerDataSet(0, SAFE), *([OptimizerDataSet(1, TIES, "rounding_tie")] if hazard else [])]
    task = OptimizerTask(proto, expected, OptimizerDataSets(tuple(examples)), level=level)
    return judge_rewrite(optimize, (PASS_NAME,) if implements else (), task)


def spoiling(spoil):
    """Return the pass with a corrupted result."""

    def optimize(proto, fixed_point=False):
        after = eliminate(proto, fixed_point)
        spoil(after)
        return after

    return optimize


def violations(outcome, run="once"):
    return {
        check.name: str(check.violation) for check in outcome.checks if check.violation is not None and check.run == run
    }
