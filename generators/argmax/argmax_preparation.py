"""Cases about loading ArgMax models: a model that is loaded twice, and models that run in turns with a companion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.argmax_factors import argmax_fragment
from conformance.corpus.factors.connections import ALIAS_SOURCES
from conformance.corpus.factors.wrapping import OPSET, Context, build_in_context
from conformance.exact.models.arrays import type_name
from conformance.exact.models.model_building import pseudo_random_array
from generators.argmax.argmax_case import argmax_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.factors.wrapping import BuiltModel
    from conformance.exact.models.arrays import Array


TIES = ([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]], [[0.0, -1.0, 0.0], [4.0, 5.0, 5.0]], [[7.0, 7.0, 7.0], [1.0, 2.0, 3.0]])
"""Inputs of the runs of one loaded model."""


def cases() -> Iterator[Case]:
    """Yield cases with a model that is loaded twice, and with companions."""
    yield _prepared_twice()
    yield from _companion_cases("in_turns", "with the same names")
    yield from _companion_cases("in_turns_named", "whose node has the same name", node_name="search")
    yield _named_branches()
    yield from _single_operand_cases()


def _prepared_twice() -> Case:
    arrays = [pseudo_random_array(f"argmax/prepared_twice/{number}", (3, 4), np.float32) for number in range(3)]
    title = "ArgMax computes each of two loaded copies of a model from the copy's own input"
    case = argmax_case("prepared_twice", title, ("index",), arrays[0], {"axis": 1, "keepdims": 0})
    data_sets = tuple((array,) for array in arrays)
    return replace(case, tags=(*case.tags, "preparation"), data_sets=data_sets, companion=case.id)


def _companion_cases(name: str, same: str, node_name: str = "") -> Iterator[Case]:
    """Yield two cases that are companions of each other; their models differ only in `select_last_index`.

    Args:
        name: part of the ids and of the graph's name.
        same: what is the same in the models, for the titles.
        node_name: name of the node in both models.
    """
    data_sets = tuple((np.array(ties, dtype=np.float32),) for ties in TIES)
    words = ("first", "last")
    for last, (own, other) in enumerate((words, words[::-1])):
        case = argmax_case(
            f"{name}_{own}",
            f"ArgMax gives the {own} of equal maxima although another loaded model {same} gives the {other}",
            ("select_last_index" if last else "first_index", "node_name" if node_name else "index"),
            data_sets[0][0],
            {"axis": 1, "keepdims": 0, "select_last_index": last},
        )
        model = onnx.load_model_from_string(case.model)
        model.graph.name = f"argmax_{name}"
        if node_name:
            model.graph.node[0].name = node_name
        yield replace(
            case,
            tags=(*case.tags, "preparation"),
            model=bytes(model.SerializeToString(deterministic=True)),
            data_sets=data_sets,
            companion=f"test_argmax_{name}_{other}",
        )


def _named_branches() -> Case:
    """Define a case with nodes of one name and different attributes in both branches of an If."""
    id = "test_argmax_named_in_both_branches"
    X = np.array(TIES[0], dtype=np.float32)
    fragment = argmax_fragment(X, [], {"axis": 1, "keepdims": 0, "select_last_index": 0}, OPSET)
    for node in (*fragment.nodes, *fragment.again):
        node.name = "search"
    built = build_in_context(id, fragment, Context(scope="if_both"))
    title = "ArgMax uses its own attributes in each branch of an If, although the nodes of both have one name"
    return _case(id, title, ("node_name", "select_last_index"), X, built)


def _single_operand_cases() -> Iterator[Case]:
    """Yield cases with sparse constants, fed defaults and aliases as the input."""
    for dtype in (np.float32, np.int64):
        name = type_name(np.dtype(dtype))
        X = np.array([[0, 3, 0, 3], [-1, -2, -1, -4]], dtype=dtype)
        for stored, indices in (("raw", "positions"), ("typed", "coordinates")):
            yield _operand_case(
                f"sparse_constant_of_{indices}_{name}",
                f"ArgMax searches a sparse Constant of type {name} whose indices are {indices}",
                "sparse_constant",
                X,
                Context(sources={"X": "sparse_constant"}, stored=stored, shared=("X",)),
            )
        yield _operand_case(
            f"fed_default_{name}",
            f"ArgMax searches the fed {name} value of an input that has an initializer",
            "fed_default",
            X,
            Context(sources={"X": "overridden"}),
            Level.SHOULD,
        )
    for source in ALIAS_SOURCES:
        kind, _, side = source.rpartition("_")
        X = np.array([[1, 3, 2], [-1, -2, -1]], dtype=np.float32)
        title = f"ArgMax does not change a value with a second name ({kind}; it reads the {side})"
        yield _operand_case(f"of_{kind}_{side}", title, "index", X, Context(sources={"X": source}))


def _operand_case(name: str, title: str, clause: str, X: Array, context: Context, level: Level = Level.MUST) -> Case:
    """Define a case with one ArgMax in a graph that `context` describes."""
    id = f"test_argmax_{name}"
    fragment = argmax_fragment(X, [], {"axis": 1, "keepdims": 0}, OPSET)
    return _case(id, title, (clause, "index"), X, build_in_context(id, fragment, context), level)


def _case(id: str, title: str, clauses: Sequence[str], X: Array, built: BuiltModel, level: Level = Level.MUST) -> Case:
    return Case(
        id=id,
        title=title,
        level=level,
        clauses=tuple(f"argmax.{clause}" for clause in dict.fromkeys(clauses)),
        tags=("argmax", type_name(X.dtype), f"opset_{OPSET}", "preparation"),
        model=built.model,
        data_sets=built.data_sets,
    )
