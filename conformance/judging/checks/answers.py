"""On safe inputs the rewritten model answers as the model did, both computed exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.judging.compare import shown
from conformance.judging.examples import same
from conformance.judging.rewriting import NotJudged
from conformance.models.arrays import type_name
from conformance.verdicts import Level, Unsupported

if TYPE_CHECKING:
    from conformance.judging.rewriting import Rewriting

LEVEL = Level.MUST
CLAUSES = (
    "monotone.log",
    "monotone.exp",
    "monotone.sqrt",
    "monotone.softmax",
    "monotone.log_softmax",
    "monotone.other_producer",
    "monotone.only_argmax",
    "monotone.argmax_unchanged",
)


def complaint(rewriting: Rewriting) -> str | None:
    """`index is [0] instead of [1] on data set 0`."""
    names = [value.name for value in rewriting.before.graph.output]
    try:
        for example in rewriting.examples.safe():
            before = rewriting.examples.answers(rewriting.before, example)
            after = rewriting.examples.answers(rewriting.after, example)
            if len(after) != len(before):
                return f"{len(after)} outputs instead of {len(before)}"
            for name, old, new in zip(names, before, after, strict=True):
                if not same(old, new):
                    return f"{name} {differing(new, old)} on data set {example.number}"
    except Unsupported as error:
        raise NotJudged(f"the reference cannot compute the models: {error}") from None
    return None


def differing(new: Any, old: Any) -> str:
    """In what two outputs differ: their types or shapes, or what their first elements are."""
    if isinstance(new, np.ndarray) and isinstance(old, np.ndarray):
        if new.dtype != old.dtype:
            return f"has type {type_name(new.dtype)} instead of {type_name(old.dtype)}"
        if new.shape != old.shape:
            return f"has shape {list(new.shape)} instead of {list(old.shape)}"
    return f"is {shown(new)} instead of {shown(old)}"
