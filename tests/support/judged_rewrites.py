"""Models before and after a rewrite, and what is complained of."""

from __future__ import annotations

import numpy as np

from conformance.corpus.case import Firing, Rewrite
from conformance.judging.examples import Example, Examples
from conformance.judging.optimizer import Task, judge_rewrite
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate
from conformance.verdicts import Level

SAFE = {"X": np.array([[1, 3, 2], [5, 1, 4]], dtype=np.float32)}


TIES = {"X": np.array([[0, 1e-8, -1], [0, 1e-8, -1]], dtype=np.float32)}


STAYS, FIRES = Rewrite(Firing.STAYS), Rewrite(Firing.FIRES, ("Y",), ("Y",))


MAY = Rewrite(Firing.MAY, ("Y",), ("Y",))


def judged(optimize, proto, expected, *, claims=True, hazard=False, level=Level.MUST):
    examples = [Example(0, SAFE), *([Example(1, TIES, "rounding_tie")] if hazard else [])]
    task = Task(proto, expected, Examples(tuple(examples)), level=level)
    return judge_rewrite(optimize, (PASS_NAME,) if claims else (), task)


def spoiling(spoil):
    """The pass, whose result is spoilt."""

    def optimize(proto, fixed_point=False):
        after = eliminate(proto, fixed_point)
        spoil(after)
        return after

    return optimize


def complaints(outcome, run="once"):
    return {
        check["name"]: check["complaint"] for check in outcome.checks if "complaint" in check and check["run"] == run
    }
