"""Subgraphs within subgraphs, rows of operators around their borders, and names that two scopes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.dimensions.blocks import branch, constant, if_node
from conformance.generation.models import declared_as
from generators.eliminate_nop_monotone_argmax.scenario import SHAPE, STAYS, argmax, fires, index_of, pair, producer
from generators.eliminate_nop_monotone_argmax.subgraph_parts import (
    INDEX,
    TWO_TURNS,
    else_branch,
    loop,
    subgraph_case,
    then_branch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _nested()
    yield from _rows()
    yield from _names()


def _nested() -> Iterator[Case]:
    """An If within an If, a Loop within a branch."""
    within = then_branch([producer("Exp"), argmax(result="inner")], "inner")
    inner = if_node("taken", "middle", within, else_branch(output="none"))
    yield subgraph_case(
        "if_in_if",
        "Exp is taken away two subgraphs deep",
        ("subgraph",),
        fires("index/then_branch/middle/then_branch/Y"),
        [if_node("taken", "index", then_branch([inner], "middle"), else_branch())],
    )
    within = then_branch([argmax(result="inner")], "inner")
    outer = [producer("Exp"), if_node("taken", "middle", within, else_branch(output="none"))]
    yield subgraph_case(
        "if_in_if_across",
        "Exp in a branch of If stays where its one consumer is an ArgMax in a branch within that branch",
        ("border", "capture"),
        STAYS,
        [if_node("taken", "index", then_branch(outer, "middle"), else_branch())],
    )
    body = [producer("Exp", "state"), argmax(result="inner"), helper.make_node("Neg", ["state"], ["next"])]
    turns = loop(body, ("state", "next"), "inner")
    turns.output[:] = ["last", "scanned"]
    first = [constant("first", np.array(0, dtype=np.int64)), helper.make_node("Gather", ["scanned", "first"], ["got"])]
    yield subgraph_case(
        "loop_in_if",
        "Exp is taken away from the body of a Loop in a branch of If",
        ("subgraph",),
        fires("index/then_branch/last/body/Y"),
        [if_node("taken", "index", then_branch([*TWO_TURNS, turns, *first], "got"), else_branch())],
    )


def _rows() -> Iterator[Case]:
    row = [producer("Exp", result="Y1"), producer("Log", "Y1", "Y"), argmax(result="inner")]
    yield subgraph_case(
        "if_row",
        "Of Exp and Log in a branch of If one run takes Log away and a fixed point both",
        ("subgraph", "one_per_run", "fixed_point"),
        fires("index/then_branch/Y", then=["index/then_branch/Y1"]),
        [if_node("taken", "index", then_branch(row, "inner"), else_branch())],
    )
    log = [producer("Log", "Y1"), argmax(result="inner")]
    yield subgraph_case(
        "if_row_across",
        "Of Exp before an If and Log in its branch only Log is ever taken away",
        ("border", "subgraph"),
        fires("index/then_branch/Y"),
        [producer("Exp", result="Y1"), if_node("taken", "index", then_branch(log, "inner"), else_branch())],
    )
    shown = branch("then", [producer("Exp"), argmax(result="inner")], ["inner"], INDEX, "int64")
    shown.output.append(declared_as("Y", "float", SHAPE))
    plain = else_branch([argmax("X", "plain"), helper.make_node("Neg", ["X"], ["minus"])])
    plain.output.append(declared_as("minus", "float", SHAPE))
    both = helper.make_node("If", ["taken"], ["index", "Z"], then_branch=shown, else_branch=plain)
    yield subgraph_case(
        "if_output",
        "Exp in a branch of If stays where its result is an output of the branch",
        ("graph_output", "subgraph"),
        STAYS,
        [both],
        [index_of(SHAPE), declared_as("Z", "float", SHAPE)],
    )


def _names() -> Iterator[Case]:
    """One name for two values that no scope holds together."""
    yield subgraph_case(
        "name_in_both_branches",
        "Of two values of one name in the two branches of an If only the one that Exp gives loses its producer",
        ("names", "subgraph"),
        fires("index/then_branch/Y"),
        [
            if_node(
                "taken",
                "index",
                then_branch([producer("Exp"), argmax(result="inner")], "inner"),
                else_branch([helper.make_node("Neg", ["X"], ["Y"]), argmax(result="other")], "other"),
            )
        ],
    )
    then = then_branch([producer("Exp"), argmax(result="inner")], "inner")
    yield subgraph_case(
        "name_after_the_branch",
        "A value of the main graph after an If may bear a name from its branch, and both producers are taken away",
        ("names", "subgraph"),
        fires("index2/then_branch/Y", "Y"),
        [if_node("taken", "index2", then, else_branch()), *pair()],
        [index_of(SHAPE), index_of(SHAPE, name="index2")],
    )
    wanted = then_branch([helper.make_node("Neg", ["X"], ["Y"]), argmax("Y", "inner")], "inner")
    yield subgraph_case(
        "name_is_no_capture",
        "A value of a branch of an earlier If that bears the name of Exp's result is no use of it",
        ("names", "capture"),
        fires("Y"),
        [if_node("taken", "index2", wanted, else_branch()), *pair()],
        [index_of(SHAPE), index_of(SHAPE, name="index2")],
    )
