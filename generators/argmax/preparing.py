"""How a prepared ArgMax is used: prepared twice, and in turns with one that takes the other of equal maxima."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.generation.values import scattered
from generators.argmax.case import argmax_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case

TIES = ([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]], [[0.0, -1.0, 0.0], [4.0, 5.0, 5.0]], [[7.0, 7.0, 7.0], [1.0, 2.0, 3.0]])
"""What the runs of one prepared model are fed."""


def cases() -> Iterator[Case]:
    """All of them."""
    yield _prepared_twice()
    yield from _in_turns()


def _prepared_twice() -> Case:
    arrays = [scattered(f"argmax/prepared_twice/{number}", (3, 4), np.float32) for number in range(3)]
    title = "ArgMax gives each of two prepared copies of its model the indices of its own input"
    case = argmax_case("prepared_twice", title, ("index",), arrays[0], {"axis": 1, "keepdims": 0})
    data_sets = tuple((array,) for array in arrays)
    return replace(case, tags=(*case.tags, "preparation"), data_sets=data_sets, beside=case.id)


def _in_turns() -> Iterator[Case]:
    """Two models that are alike but for `select_last_index`: even in the graph's name."""
    data_sets = tuple((np.array(ties, dtype=np.float32),) for ties in TIES)
    words = ("first", "last")
    for last, (own, other) in enumerate((words, words[::-1])):
        case = argmax_case(
            f"in_turns_{own}",
            f"ArgMax gives the {own} of equal maxima beside a model of the same names that gives the {other}",
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
            beside=f"test_argmax_in_turns_{other}",
        )
