"""On hazardous inputs each answer is that of the model as it was, or of the model as the pass leaves it.

That the two differ there is no fault of a graph optimizer which does what is documented: it is listed, by class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.judging.compare import shown
from conformance.judging.examples import same, within
from conformance.judging.rewriting import NotJudged
from conformance.models.preview import SHOWN, decimal
from conformance.verdicts import Level, Unsupported

if TYPE_CHECKING:
    from conformance.judging.rewriting import Rewriting
    from conformance.results.records import HazardChange

LEVEL = Level.MUST
CLAUSES = ("monotone.hazard",)


def complaint(rewriting: Rewriting) -> str | None:
    """`index is [2] instead of [0] or [1] on data set 1`: neither as before nor as after the pass."""
    examples = list(rewriting.examples.hazardous())
    if not examples:
        raise NotJudged
    names = [value.name for value in rewriting.before.graph.output]
    try:
        for example in examples:
            after = rewriting.examples.answers(rewriting.after, example, declared=True)
            documented = [rewriting.examples.answers(model, example, declared=True) for model in rewriting.documented]
            if len(after) != len(names):
                return f"{len(after)} outputs instead of {len(names)}"
            for place, name in enumerate(names):
                admissible = [answers[place] for answers in documented]
                if not within(after[place], admissible):
                    told = " or ".join(dict.fromkeys(map(shown, admissible)))
                    return f"{name} is {shown(after[place])} instead of {told} on data set {example.number}"
    except Unsupported as error:
        raise NotJudged(f"the reference cannot compute the models: {error}") from None
    return None


def changes(rewriting: Rewriting) -> list[HazardChange]:
    """The hazardous data sets on which the answer changed, whatever it became."""
    found: list[HazardChange] = []
    for example in () if rewriting.invalid else rewriting.examples.hazardous():
        try:
            before = rewriting.examples.answers(rewriting.before, example, declared=True)
            after = rewriting.examples.answers(rewriting.after, example, declared=True)
        except Unsupported:
            continue
        if not same(before, after):
            assert example.hazard is not None
            change: HazardChange = {
                "class": example.hazard,
                "data_set": example.number,
                "run": rewriting.run,
                "before": _values(before),
                "after": _values(after),
            }
            found.append(change)
    return found


def _values(outputs: list[Any]) -> list[str]:
    """The first elements of each output."""
    arrays = [output for output in outputs if isinstance(output, np.ndarray)]
    return [decimal(element) for array in arrays for element in array.flat[:SHOWN]]
