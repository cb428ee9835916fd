"""A case of ArgMax that nothing is wrong with but what is asked for."""

from __future__ import annotations

import dataclasses

import numpy as np
from onnx import helper

from conformance.corpus.case import Case
from conformance.generation.models import declared, declared_as, model
from conformance.verdicts import Level

X = np.array([1.0, 3.0, 2.0], dtype=np.float32)


def argmax_case(**changes) -> Case:
    """A case of ArgMax that nothing is wrong with but the changes."""
    node = helper.make_node("ArgMax", ["X"], ["index"], axis=0, keepdims=0)
    sound = Case(
        id="test_small",
        title="ArgMax gives the index of the largest element",
        level=Level.MUST,
        clauses=("argmax.index",),
        tags=("argmax",),
        model=model("test_small", [node], [declared("X", X)], [declared_as("index", "int64", [])], {"": 13}),
        data_sets=((X,),),
    )
    return dataclasses.replace(sound, **changes)
