"""Cases about loading ArgMax models: a model that is loaded twice, and models that run in turns with a companion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.generation.models import pseudo_random_array
from generators.argmax.case import argmax_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case


TIES = ([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]], [[0.0, -1.0, 0.0], [4.0, 5.0, 5.0]], [[7.0, 7.0, 7.0], [1.0, 2.0, 3.0]])
"""Inputs of the runs of one loaded model."""


def cases() -> Iterator[Case]:
    """Yield cases with a model that is loaded twice, and with companions."""
    yield _prepared_twice()
    yield from _companion_cases()


def _prepared_twice() -> Case:
    arrays = [pseudo_random_array(f"argmax/prepared_twice/{number}", (3, 4), np.float32) for number in range(3)]
    title = "ArgMax computes each of two loaded copies of a model from the copy's own input"
    case = argmax_case("prepared_twice", title, ("index",), arrays[0], {"axis": 1, "keepdims": 0})
    data_sets = tuple((array,) for array in arrays)
    return replace(case, tags=(*case.tags, "preparation"), data_sets=data_sets, companion=case.id)


def _companion_cases() -> Iterator[Case]:
    """Yield two cases that are companions of each other; their models differ only in `select_last_index`."""
    data_sets = tuple((np.array(ties, dtype=np.float32),) for ties in TIES)
    words = ("first", "last")
    for last, (own, other) in enumerate((words, words[::-1])):
        case = argmax_case(
            f"in_turns_{own}",
            f"ArgMax gives the {own} of equal maxima although another loaded model with the same names gives "
            f"the {other}",
            ("select_last_index" if last else "first_index", "index"),
            data_sets[0][0],
            {"axis": 1, "keepdims": 0, "select_last_index": last},
        )
        model = onnx.load_model_from_string(case.model)
        model.graph.name = "argmax_in_turns"
        yield replace(
            case,
            tags=(*case.tags, "preparation"),
            model=bytes(model.SerializeToString(deterministic=True)),
            data_sets=data_sets,
            companion=f"test_argmax_in_turns_{other}",
        )
