"""Cases about the graph around the pair: declarations, annotations, misleading names, unusual forms, many nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import (
    add_quantization_annotations,
    constant_node,
    if_node,
    make_branch,
    make_function,
)
from conformance.exact.models.model_building import make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    DOES_NOT_APPLY,
    PASS_OPERATORS,
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    pair,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case import Case, Rewrite

FAMILY = "surroundings"
X = permuted_quarters("surroundings/X", SHAPE, np.float32)
PAIR_COUNT = 40


def cases() -> Iterator[Case]:
    """Yield the cases with declarations, annotations, names, forms and many pairs in the graph around the pair."""
    yield from _annotated_neighbours()
    yield from _names()
    yield from _forms()
    yield _many_pairs()
    yield _indices_of_one_value()
    yield from _initializers_read_once()
    yield from _shared_node_names()
    yield _second_outputs()


def _second_outputs() -> Case:
    """Define a case in which each operator reads the second output of a Split, an If, a Loop or a function."""
    halves = ("A", "B")
    infos = {
        name: make_value_info(name, "float", SHAPE)
        for name in ("A_kept", "B_kept", "A_now", "B_now", "A_next", "B_next")
    }
    kept = [helper.make_node("Identity", [name], [f"{name}_kept"]) for name in halves]
    branches = {
        f"{word}_branch": helper.make_graph(kept, word, [], [infos[f"{name}_kept"] for name in order])
        for word, order in (("then", halves), ("else", halves[::-1]))
    }
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            *(helper.make_node("Identity", [f"{name}_now"], [f"{name}_next"]) for name in halves),
        ],
        "body",
        [make_value_info("i", "int64", ()), make_value_info("go", "bool", ()), infos["A_now"], infos["B_now"]],
        [make_value_info("go_on", "bool", ()), infos["A_next"], infos["B_next"]],
    )
    called = make_function("Both", kept, halves, ("A_kept", "B_kept"))
    nodes = [
        constant_node("yes", np.array(True)),
        constant_node("trips", np.array(3)),
        helper.make_node("Split", ["X"], list(halves), axis=1),
        helper.make_node("If", ["yes"], ["A_if", "B_if"], **branches),
        helper.make_node("Loop", ["trips", "", "A", "B"], ["A_loop", "B_loop"], body=body),
        helper.make_node("Both", ["A", "B"], ["A_call", "B_call"], domain="acme"),
    ]
    removed = []
    for source in ("B", "B_if", "B_loop", "B_call"):
        for op_type, word in PASS_OPERATORS.items():
            removed.append(f"{word}_of_{source}")
            nodes += [producer(op_type, source, removed[-1]), argmax(removed[-1], f"index_{removed[-1]}")]
    outputs = [index_info(SHAPE, name=f"index_{name}") for name in removed]
    both = np.concatenate([X, X[:, ::-1]], axis=1)
    return _case(
        "second_outputs",
        "Each of the five is removed, and ArgMax reads the second output of the node before",
        applies_to(*removed),
        ScenarioGraph(nodes, (both,), outputs=outputs, opsets={"": 13, "acme": 1}, functions=[called]),
        ("fires", "branches"),
    )


def _initializers_read_once() -> Iterator[Case]:
    """Yield cases in which only the removed operator reads an initializer."""
    nodes = [producer("Exp"), argmax(result="index_X")]
    initializers = {}
    for op_type in PASS_OPERATORS:
        initializers[f"W_{op_type}"] = permuted_quarters(f"surroundings/{op_type}", SHAPE, np.float32) + 4
        nodes.append(producer(op_type, f"W_{op_type}", f"Y_{op_type}"))
        nodes.append(argmax(f"Y_{op_type}", f"index_{op_type}"))
    yield _case(
        "initializers_read_once",
        "Each of the five before an ArgMax is removed, and the initializer that it alone reads stays",
        applies_to("Y", *(f"Y_{op_type}" for op_type in PASS_OPERATORS)),
        ScenarioGraph(
            nodes,
            (X,),
            outputs=[index_info(SHAPE, name=f"index_{name}") for name in ("X", *PASS_OPERATORS)],
            initializers=initializers,
        ),
        ("fires", "preservation"),
    )
    inner = permuted_quarters("surroundings/inner", SHAPE, np.float32)
    then = make_branch("then", [producer("Exp", "W"), argmax(result="largest")], ["largest"], SHAPE[:1], "int64")
    then.initializer.append(numpy_helper.from_array(inner, "W"))
    other = make_branch("else", [producer("Exp", "V", "Z"), argmax("Z", "other")], ["other"], SHAPE[:1], "int64")
    yield _case(
        "initializers_read_once_in_branches",
        "Exp is removed from branches of an If, and the initializers that it alone reads stay",
        applies_to("index/then_branch/Y", "index/else_branch/Z", "N"),
        ScenarioGraph(
            [
                constant_node("yes", np.array(True)),
                if_node("yes", "index", then, other),
                producer("Log", "X", "N"),
                argmax("N", "index_X"),
            ],
            (X + 4,),
            outputs=[index_info(SHAPE), index_info(SHAPE, name="index_X")],
            initializers={"V": permuted_quarters("surroundings/outer", SHAPE, np.float32)},
        ),
        ("subgraph", "preservation"),
    )


def _shared_node_names() -> Iterator[Case]:
    """Yield cases in which a node that stays has the name of the removed operator's node."""
    then = make_branch("then", [helper.make_node("Neg", ["X"], ["N"], name="step")], ["N"], SHAPE, "float")
    inner = make_branch("else", [producer("Sqrt", name="step"), argmax(result="inner")], ["inner"], SHAPE[:1], "int64")
    plain = make_branch("then", [argmax("X", "plain", name="step")], ["plain"], SHAPE[:1], "int64")
    called = make_function("Step", [helper.make_node("Neg", ["A"], ["B"], name="step")])
    graph = ScenarioGraph(
        [
            constant_node("no", np.array(False)),
            producer("Exp", "X", "Y1", name="step"),
            argmax("Y1", "index"),
            if_node("no", "Z1", then, make_branch("else", [producer("Neg", "X", "M")], ["M"], SHAPE, "float")),
            if_node("no", "Z2", plain, inner),
            helper.make_node("Step", ["X"], ["Z3"], domain="acme"),
        ],
        (X,),
        outputs=[
            index_info(SHAPE),
            make_value_info("Z1", "float", SHAPE),
            index_info(SHAPE, name="Z2"),
            make_value_info("Z3", "float", SHAPE),
        ],
        opsets={"": 13, "acme": 1},
        functions=[called],
    )
    yield _case(
        "node_names_across_graphs",
        "Exp and Sqrt are removed, and nodes of their name in other graphs and in a function stay",
        applies_to("Y1", "Z2/else_branch/Y"),
        graph,
        ("subgraph", "names"),
    )
    yield _case(
        "nodes_of_one_name",
        "Exp is removed, and other nodes of its name in the same graph stay, although names have to be unique",
        applies_to("Y"),
        ScenarioGraph(
            [
                helper.make_node("Neg", ["X"], ["N"], name="step"),
                producer("Exp", name="step"),
                argmax(),
                helper.make_node("Abs", ["X"], ["A"], name="step"),
            ],
            (X,),
            outputs=[index_info(SHAPE), make_value_info("N", "float", SHAPE), make_value_info("A", "float", SHAPE)],
        ),
        ("names", "fires"),
        level=Level.SHOULD,  # the text forbids two nodes of one name, and onnx's checker accepts them
    )


def _nodes() -> list[onnx.NodeProto]:
    """Return nodes that compute the values N, Y, index and number, each from the value before it, starting from X.

    Y is the result of Exp, and index that of ArgMax.
    """
    number = helper.make_node("Identity", ["index"], ["number"])
    return [helper.make_node("Neg", ["X"], ["N"]), producer("Exp", "N"), argmax(), number]


ANNOTATED_VALUES = ("number", "N", "Y", "index")
"""Values that are declared and annotated. The removed value Y is in the middle."""


def _declarations() -> list[onnx.ValueInfoProto]:
    types = {"number": ("int64", SHAPE[:1]), "index": ("int64", SHAPE[:1])}
    declarations = [make_value_info(name, *types.get(name, ("float", SHAPE))) for name in ANNOTATED_VALUES]
    for said in declarations:
        said.doc_string = f"what is said of {said.name}"
    return declarations


def _annotated_neighbours() -> Iterator[Case]:
    """Yield cases with several declarations and annotations. Only those of the removed value may be removed."""

    def annotate(model: onnx.ModelProto) -> None:
        add_quantization_annotations(model.graph, *ANNOTATED_VALUES)

    graph = ScenarioGraph(
        [*_nodes(), helper.make_node("Identity", ["number"], ["Z"])],
        (X,),
        outputs=[make_value_info("Z", "int64", SHAPE[:1])],
        value_info=_declarations(),
    )
    for name, text, check, level in (
        ("said_of_others", "of the values around the removed value stay", "preservation", Level.MUST),
        ("said_of_removed", "of the removed value are removed, and others stay", "leftovers", Level.SHOULD),
    ):
        clause = "preservation" if check == "preservation" else check
        yield _case(
            name,
            f"Declarations and annotations {text}",
            APPLIES,
            graph,
            (clause, "exp"),
            check=check,
            level=level,
            modify=annotate,
        )
    inner = make_branch("then", _nodes(), ["number"], SHAPE[:1], "int64")
    inner.value_info.extend(said for said in _declarations() if said.name != "number")
    add_quantization_annotations(inner, "N", "Y", "index")
    held = if_node("yes", "Z", inner, make_branch("else", [argmax("X", "plain")], ["plain"], SHAPE[:1], "int64"))
    yield _case(
        "said_in_a_branch",
        "Declarations and annotations of the removed value in a branch of an If are removed, and others stay",
        applies_to("Z/then_branch/Y"),
        ScenarioGraph([constant_node("yes", np.array(True)), held], (X,), outputs=[index_info(SHAPE, name="Z")]),
        ("leftovers", "exp"),
        check="leftovers",
        level=Level.SHOULD,
    )


def _names() -> Iterator[Case]:
    """Yield cases with equal names of models and graphs, and with node names that equal value names."""

    def rename(model: onnx.ModelProto) -> None:
        model.graph.name = "model"
        model.producer_name = ""

    for name, op_type, rewrite in (("first", "Exp", APPLIES), ("second", "Neg", DOES_NOT_APPLY)):
        yield _case(
            f"one_name_{name}",
            f"A model of {op_type} and ArgMax is rewritten correctly, although another model has the same name",
            rewrite,
            ScenarioGraph([helper.make_node(op_type, ["X"], ["Y"]), argmax()], (X,)),
            ("fires", "exp") if rewrite is APPLIES else ("other_producer",),
            check="structure",
            modify=rename,
        )
    nodes = [producer("Exp", result="Y1"), producer("Exp", result="Y2"), argmax("Y1", "index1"), argmax("Y2", "index2")]
    nodes.append(helper.make_node("Less", ["X", "Y1"], ["below"]))
    for node, other in zip(nodes, ("Y2", "Y1", "index2", "index1", "X"), strict=True):
        node.name = other
    indices = [index_info(SHAPE, name=f"index{number}") for number in (1, 2)]
    yield _case(
        "nodes_named_like_values",
        "Only the Exp that ArgMax alone uses is removed, although node names equal names of other values",
        applies_to("Y2"),
        ScenarioGraph(nodes, (X,), outputs=[*indices, make_value_info("below", "bool", SHAPE)]),
        ("fires", "other_use"),
    )
    before = [helper.make_node("Neg", ["X"], ["N"]), helper.make_node("Abs", ["N"], ["A"])]
    nodes = [*before, producer("Sqrt", "A"), argmax()]
    for node in nodes:
        node.name = f"node_of_{node.output[0]}"
    yield _case(
        "named_neighbours",
        "Sqrt is removed between nodes whose names differ from their output names",
        APPLIES,
        ScenarioGraph(nodes, (X,)),
        ("fires", "sqrt"),
    )
    then = make_branch("graph", [producer("Exp"), argmax(result="inner")], ["inner"], SHAPE[:1], "int64")
    other = make_branch(
        "graph", [helper.make_node("Neg", ["X"], ["N"]), argmax("N", "none")], ["none"], SHAPE[:1], "int64"
    )

    def rename_graph(model: onnx.ModelProto) -> None:
        model.graph.name = "graph"

    yield _case(
        "graphs_of_one_name",
        "Exp is removed from a branch of an If with the same name as the main graph and the other branch",
        applies_to("Z/then_branch/Y"),
        ScenarioGraph(
            [constant_node("yes", np.array(True)), if_node("yes", "Z", then, other)],
            (X,),
            outputs=[index_info(SHAPE, name="Z")],
        ),
        ("subgraph", "names"),
        modify=rename_graph,
    )


def _forms() -> Iterator[Case]:
    """Yield cases in which a model is written in an unusual way, such as unnamed values or reordered attributes."""
    nodes = [
        helper.make_node("Dropout", ["X"], ["same", ""]),
        helper.make_node("Clip", ["same", "", "most"], ["X0"]),
        producer("Sqrt", "X0"),
        argmax(),
    ]
    yield _case(
        "unnamed_values",
        "Sqrt is removed from a graph whose nodes omit inputs and outputs",
        APPLIES,
        ScenarioGraph(
            [constant_node("most", np.array(1.375, dtype=np.float32)), *nodes],
            (X,),
            outputs=[index_info(SHAPE)],
        ),
        ("fires", "sqrt"),
    )
    scale = constant_node("scale", np.array([2, 1, 0.5], dtype=np.float32))
    normalized = helper.make_node("LayerNormalization", ["X", "scale"], ["same", "", "inverse"])
    yield _case(
        "unnamed_middle_output",
        "Exp is removed beside a node that omits its second output and has a third one",
        APPLIES,
        ScenarioGraph(
            [scale, normalized, *pair()],
            (X,),
            outputs=[index_info(SHAPE), make_value_info("inverse", "float", (SHAPE[0], 1))],
            opsets={"": 17},
        ),
        ("fires", "exp"),
    )
    turned = argmax(axis=-1, keepdims=1, select_last_index=1)
    turned.attribute.sort(key=lambda attribute: attribute.name, reverse=True)
    yield _case(
        "attributes_reversed",
        "LogSoftmax is removed before an ArgMax with attributes in reverse order",
        APPLIES,
        ScenarioGraph(
            [producer("LogSoftmax", axis=-1), turned], (X,), outputs=[make_value_info("index", "int64", (2, 1))]
        ),
        ("fires", "log_softmax"),
    )
    yield _case(
        "domain_written_out",
        "Softmax is removed from a model that imports ai.onnx by its name",
        APPLIES,
        ScenarioGraph(pair("Softmax"), (X,), opsets={"ai.onnx": 13}),
        ("fires", "softmax"),
        level=Level.SHOULD,  # onnx's checker accepts the name; the specification does not mention it
    )


def _indices_of_one_value() -> Case:
    """Define a case with two ArgMax of one value after the removal of Exp, which differ in select_last_index."""
    tied = np.array([[3, 3, 2], [1, 2, 2]], dtype=np.float32)
    nodes = [producer("Exp"), argmax(axis=1), argmax("X", "last", axis=1, select_last_index=1)]
    return _case(
        "first_and_last_index",
        "Exp is removed, and ArgMax nodes of one value still give the first index and the last one",
        APPLIES,
        ScenarioGraph(
            nodes,
            (tied,),
            outputs=[make_value_info(name, "int64", tied.shape[:1]) for name in ("index", "last")],
        ),
        ("fires", "argmax_unchanged"),
    )


def _many_pairs() -> Case:
    """Define a case with forty operators, followed by forty ArgMax nodes; every fourth operator has another use."""
    types = [list(PASS_OPERATORS)[number % len(PASS_OPERATORS)] for number in range(PAIR_COUNT)]
    wanted = range(3, PAIR_COUNT, 4)
    nodes = [producer(op_type, "X", f"Y{number}") for number, op_type in enumerate(types)]
    nodes += [argmax(f"Y{number}", f"index{number}") for number in reversed(range(PAIR_COUNT))]
    nodes += [helper.make_node("Neg", [f"Y{number}"], [f"minus{number}"]) for number in wanted]
    return _case(
        "forty_pairs",
        "Each of forty operators is removed unless its result has another use, however far ArgMax is away",
        applies_to(*(f"Y{number}" for number in range(PAIR_COUNT) if number not in wanted)),
        ScenarioGraph(nodes, (X,), outputs=[index_info(SHAPE, name=f"index{number}") for number in range(PAIR_COUNT)]),
        ("fires", "other_use", "branches"),
    )


def _case(name: str, title: str, rewrite: Rewrite, graph: ScenarioGraph, clauses: Sequence[str], **rest: Any) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, graph, **rest)
