"""What stands around the pair: declarations and annotations, names that mislead, unusual forms, many nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.dimensions.blocks import branch, constant, if_node
from conformance.dimensions.field_parts import annotate
from conformance.generation.models import declared_as
from conformance.generation.values import ranked
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIRES,
    FIVE,
    SHAPE,
    STAYS,
    ScenarioGraph,
    argmax,
    fires,
    index_of,
    pair,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.case import Case, Rewrite

FAMILY = "surroundings"
X = ranked("surroundings/X", SHAPE, np.float32)
MANY = 40


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _said_of_neighbours()
    yield from _names()
    yield from _forms()
    yield _many()


def _row() -> list[onnx.NodeProto]:
    """X → N → Y → index → number."""
    number = helper.make_node("Identity", ["index"], ["number"])
    return [helper.make_node("Neg", ["X"], ["N"]), producer("Exp", "N"), argmax(), number]


SAID = ("number", "N", "Y", "index")
"""Values of the row, in an order that is not theirs, with that which goes in the midst."""


def _declarations() -> list[onnx.ValueInfoProto]:
    types = {"number": ("int64", SHAPE[:1]), "index": ("int64", SHAPE[:1])}
    declarations = [declared_as(name, *types.get(name, ("float", SHAPE))) for name in SAID]
    for said in declarations:
        said.doc_string = f"what is said of {said.name}"
    return declarations


def _said_of_neighbours() -> Iterator[Case]:
    """Several declarations and annotations: those of the tensor that goes go, and the others stay, each as it is."""

    def annotated(model: onnx.ModelProto) -> None:
        annotate(model.graph, *SAID)

    graph = ScenarioGraph(
        [*_row(), helper.make_node("Identity", ["number"], ["Z"])],
        (X,),
        outputs=[declared_as("Z", "int64", SHAPE[:1])],
        value_info=_declarations(),
    )
    for name, text, check, level in (
        ("said_of_others", "of the values around the tensor that is removed stays", "preservation", Level.MUST),
        ("said_of_removed", "of the tensor that is removed goes, among others", "leftovers", Level.SHOULD),
    ):
        clause = "preservation" if check == "preservation" else check
        yield _case(
            name,
            f"What is declared and annotated {text}",
            FIRES,
            graph,
            (clause, "exp"),
            check=check,
            level=level,
            touch=annotated,
        )
    inner = branch("then", _row(), ["number"], SHAPE[:1], "int64")
    inner.value_info.extend(said for said in _declarations() if said.name != "number")
    annotate(inner, "N", "Y", "index")
    held = if_node("yes", "Z", inner, branch("else", [argmax("X", "plain")], ["plain"], SHAPE[:1], "int64"))
    yield _case(
        "said_in_a_branch",
        "What is declared and annotated in a branch of an If of the tensor that is removed goes, and the rest stays",
        fires("Z/then_branch/Y"),
        ScenarioGraph([constant("yes", np.array(True)), held], (X,), outputs=[index_of(SHAPE, name="Z")]),
        ("leftovers", "exp"),
        check="leftovers",
        level=Level.SHOULD,
    )


def _names() -> Iterator[Case]:
    """Names of models and graphs that others have too, and of nodes that values have."""

    def named(model: onnx.ModelProto) -> None:
        model.graph.name, model.producer_name = "model", ""

    for name, op_type, rewrite in (("first", "Exp", FIRES), ("second", "Neg", STAYS)):
        yield _case(
            f"one_name_{name}",
            f"A model of {op_type} and ArgMax is rewritten for itself, whatever another one of its name had in it",
            rewrite,
            ScenarioGraph([helper.make_node(op_type, ["X"], ["Y"]), argmax()], (X,)),
            ("fires", "exp") if rewrite is FIRES else ("other_producer",),
            check="structure",
            touch=named,
        )
    nodes = [producer("Exp", result="Y1"), producer("Exp", result="Y2"), argmax("Y1", "index1"), argmax("Y2", "index2")]
    nodes.append(helper.make_node("Less", ["X", "Y1"], ["below"]))
    for node, other in zip(nodes, ("Y2", "Y1", "index2", "index1", "X"), strict=True):
        node.name = other
    indices = [index_of(SHAPE, name=f"index{number}") for number in (1, 2)]
    yield _case(
        "nodes_named_like_values",
        "Of two Exp whose nodes bear the names of each other's values the one whose result ArgMax alone takes goes",
        fires("Y2"),
        ScenarioGraph(nodes, (X,), outputs=[*indices, declared_as("below", "bool", SHAPE)]),
        ("fires", "other_use"),
    )
    before = [helper.make_node("Neg", ["X"], ["N"]), helper.make_node("Abs", ["N"], ["A"])]
    nodes = [*before, producer("Sqrt", "A"), argmax()]
    for node in nodes:
        node.name = f"node_of_{node.output[0]}"
    yield _case(
        "named_neighbours",
        "Sqrt goes from between nodes whose names are not those of their outputs",
        FIRES,
        ScenarioGraph(nodes, (X,)),
        ("fires", "sqrt"),
    )
    then = branch("graph", [producer("Exp"), argmax(result="inner")], ["inner"], SHAPE[:1], "int64")
    other = branch("graph", [helper.make_node("Neg", ["X"], ["N"]), argmax("N", "none")], ["none"], SHAPE[:1], "int64")

    def one_name(model: onnx.ModelProto) -> None:
        model.graph.name = "graph"

    yield _case(
        "graphs_of_one_name",
        "Exp goes from a branch of an If that bears the name of the main graph and of the other branch",
        fires("Z/then_branch/Y"),
        ScenarioGraph(
            [constant("yes", np.array(True)), if_node("yes", "Z", then, other)],
            (X,),
            outputs=[index_of(SHAPE, name="Z")],
        ),
        ("subgraph", "names"),
        touch=one_name,
    )


def _forms() -> Iterator[Case]:
    """Values without a name, attributes in another order, the domain written out."""
    nodes = [
        helper.make_node("Dropout", ["X"], ["same", ""]),
        helper.make_node("Clip", ["same", "", "most"], ["X0"]),
        *[producer("Sqrt", "X0"), argmax()],
    ]
    yield _case(
        "unnamed_values",
        "Sqrt goes from a graph whose nodes leave out inputs and outputs",
        FIRES,
        ScenarioGraph(
            [constant("most", np.array(1.375, dtype=np.float32)), *nodes],
            (X,),
            outputs=[index_of(SHAPE)],
        ),
        ("fires", "sqrt"),
    )
    turned = argmax(axis=-1, keepdims=1, select_last_index=1)
    turned.attribute.sort(key=lambda attribute: attribute.name, reverse=True)
    yield _case(
        "attributes_reversed",
        "LogSoftmax goes before an ArgMax whose attributes stand in the reverse of their order",
        FIRES,
        ScenarioGraph([producer("LogSoftmax", axis=-1), turned], (X,), outputs=[declared_as("index", "int64", (2, 1))]),
        ("fires", "log_softmax"),
    )
    yield _case(
        "domain_written_out",
        "Softmax goes from a model that imports ai.onnx by its name",
        FIRES,
        ScenarioGraph(pair("Softmax"), (X,), opsets={"ai.onnx": 13}),
        ("fires", "softmax"),
        level=Level.SHOULD,  # onnx's checker takes the spelling, and no page speaks of it
    )


def _many() -> Case:
    """All operators first, then ArgMax by ArgMax from the last on; every fourth result is wanted elsewhere too."""
    types = [list(FIVE)[number % len(FIVE)] for number in range(MANY)]
    wanted = range(3, MANY, 4)
    nodes = [producer(op_type, "X", f"Y{number}") for number, op_type in enumerate(types)]
    nodes += [argmax(f"Y{number}", f"index{number}") for number in reversed(range(MANY))]
    nodes += [helper.make_node("Neg", [f"Y{number}"], [f"minus{number}"]) for number in wanted]
    return _case(
        "forty_pairs",
        "Of forty operators of one input each goes but those whose result is wanted elsewhere, however far ArgMax is",
        fires(*(f"Y{number}" for number in range(MANY) if number not in wanted)),
        ScenarioGraph(nodes, (X,), outputs=[index_of(SHAPE, name=f"index{number}") for number in range(MANY)]),
        ("fires", "other_use", "branches"),
    )


def _case(name: str, title: str, rewrite: Rewrite, graph: ScenarioGraph, clauses: Sequence[str], **rest: Any) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, graph, **rest)
