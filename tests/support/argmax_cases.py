"""Valid cases of ArgMax with given changes."""

from __future__ import annotations

import dataclasses

import numpy as np
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.models.model_building import array_value_info, build_model, make_value_info

X = np.array([1.0, 3.0, 2.0], dtype=np.float32)


def argmax_case(**changes) -> Case:
    """Return a valid case of ArgMax with these changes."""
    node = helper.make_node("ArgMax", ["X"], ["index"], axis=0, keepdims=0)
    sound = Case(
        id="test_small",
        title="ArgMax gives the index of the largest element",
        level=Level.MUST,
        clauses=("argmax.index",),
        tags=("argmax",),
        model=build_model(
            "test_small", [node], [array_value_info("X", X)], [make_value_info("index", "int64", [])], {"": 13}
        ),
        data_sets=((X,),),
    )
    return dataclasses.replace(sound, **changes)
