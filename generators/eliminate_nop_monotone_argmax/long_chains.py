"""More cases of the family `chains`: chains of up to twelve operators, in containers, after constants, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import if_node, make_branch, make_function
from conformance.exact.models.model_building import array_value_info, make_value_info
from generators.eliminate_nop_monotone_argmax.containers import (
    ContainedNodes,
    ContainerType,
    container_inputs,
    nest_in_containers,
)
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    SHAPE,
    ScenarioGraph,
    applies_to,
    argmax,
    index_info,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.corpus.cases.case import Case, Rewrite

FAMILY = "chains"
X = permuted_quarters("chains/X", SHAPE, np.float32) + np.float32(1)
TWELVE = (
    "LogSoftmax",
    "Exp",
    "Log",
    "Exp",
    "Sqrt",
    "Softmax",
    "Log",
    "LogSoftmax",
    "Exp",
    "Sqrt",
    "Log",
    "Exp",
)
"""Operators of the longest chain. None of them gets a negative number that it does not accept."""
LENGTHS = (9, 12)
THREE = ("Exp", "Softmax", "Log")
AROUND: Sequence[Sequence[ContainerType]] = (("Loop",), ("Scan",), ("Scan", "If", "Loop"))


def cases() -> Iterator[Case]:
    """Yield cases with chains of several lengths, in containers, after constants, and with functions."""
    for length in LENGTHS:
        row = TWELVE[-length:] if length in (9, 12) else TWELVE[:length]
        yield _long(row)
    for kinds in AROUND:
        yield _nested(kinds)
    yield from _after_constants()
    yield from _training_cases()
    yield from _function_cases()
    yield _several_graphs()


def _named_chain(row: Sequence[str], source: str = "X") -> tuple[list[onnx.NodeProto], list[str]]:
    """Return the nodes of a chain with its ArgMax, and the names of the operators' results, the last result first.

    Args:
        row: op_types of the chain, in order.
        source: name of the value that the first operator reads.
    """
    values = [f"Y{number}" for number in range(1, len(row) + 1)]
    triples = zip(row, [source, *values], values, strict=False)
    return [*(producer(*triple) for triple in triples), argmax(values[-1])], values[::-1]


def _long(row: Sequence[str]) -> Case:
    nodes, values = _named_chain(row)
    return _case(
        f"of_{len(row)}",
        f"One run removes the last of {len(row)} operators, and runs to a fixed point remove all",
        applies_to(values[0], then=values[1:]),
        ScenarioGraph(nodes, (X,)),
    )


def _nested(kinds: Sequence[ContainerType]) -> Case:
    nodes, values = _named_chain(TWELVE[-5:])
    nodes[-1].output[0] = "inner"
    within = nest_in_containers(ContainedNodes(nodes, "inner", SHAPE[:1]), kinds)
    gone = [f"{within.path}{value}" for value in values]
    return _case(
        f"in_{'_'.join(kind.lower() for kind in kinds)}",
        "A chain of five in "
        f"{' in '.join(f'a {kind}' if kind != 'If' else 'an If' for kind in reversed(kinds))} is removed",
        applies_to(gone[0], then=gone[1:]),
        ScenarioGraph(
            [*container_inputs(), *within.nodes], (X,), outputs=[make_value_info(within.output, "int64", within.shape)]
        ),
        clauses=("one_per_run", "fixed_point", "subgraph"),
    )


def _after_constants() -> Iterator[Case]:
    """Yield cases with chains that start from an input with a default, an initializer, or a sparse Constant."""
    W = permuted_quarters("chains/W", SHAPE, np.float32) + np.float32(1)
    less = helper.make_node("Less", ["W", "X"], ["less"])
    shown = make_value_info("less", "bool", SHAPE)
    nodes, values = _named_chain(THREE, "W")
    rewrite = applies_to(values[0], then=values[1:])
    outputs = [index_info(SHAPE), shown]
    yield _case(
        "of_default",
        "A chain after an input with a default is removed, and the input keeps its default",
        rewrite,
        ScenarioGraph(
            [*nodes, less], (X,), [array_value_info("W", W), array_value_info("X", X)], outputs, initializers={"W": W}
        ),
        check="interface",
    )
    yield _case(
        "of_given_default",
        "A chain after the last input, which has a default, is removed",
        rewrite,
        ScenarioGraph(
            [*nodes, less], (X,), [array_value_info("X", X), array_value_info("W", W)], outputs, initializers={"W": W}
        ),
        check="interface",
    )
    yield _case(
        "of_initializer",
        "A chain after an initializer is removed, and the initializer stays",
        rewrite,
        ScenarioGraph([*nodes, less], (X,), outputs=outputs, initializers={"W": W}),
    )
    places = np.arange(W.size, dtype=np.int64)
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(W.ravel(), "S"), numpy_helper.from_array(places, "S_places"), list(SHAPE)
    )
    held = helper.make_node("Constant", [], ["S"], sparse_value=sparse)
    relu = helper.make_node("Max", ["S", "X"], ["W"])
    yield _case(
        "of_sparse_constant",
        "A chain after a sparse Constant is removed",
        rewrite,
        ScenarioGraph([held, relu, *nodes], (X,)),
    )


def _training_cases() -> Iterator[Case]:
    """Yield cases with chains in models whose training information uses an initializer or a value of the chain."""
    yield _case(
        "beside_training",
        "A chain is removed if training information uses none of its values",
        applies_to("Y3", then=("Y2", "Y1")),
        ScenarioGraph(_named_chain(THREE)[0], (X,), initializers={"W": np.array([0.5, 2.0], dtype=np.float32)}),
        modify=_training("W", "W"),
    )
    rows: Sequence[tuple[str, str, str, Rewrite]] = (
        ("result", "the result of the first operator of the three", "Y1", applies_to("Y3", then=("Y2",))),
        ("input", "the input of the chain", "X", applies_to("Y3", then=("Y2", "Y1"))),
        ("index", "the index", "index", applies_to("Y3", then=("Y2", "Y1"))),
    )
    for name, text, value, rewrite in rows:
        yield _case(
            f"{name}_in_training",
            f"If the training algorithm uses {text}, only operators whose results nothing else uses are removed",
            rewrite,
            ScenarioGraph(_named_chain(THREE)[0], (X,), initializers={"W": np.array(0.5, dtype=np.float32)}),
            modify=_training("W", value),
            level=Level.SHOULD,
        )


def _training(updated: str, taken: str) -> Callable[[onnx.ModelProto], None]:
    """Return a function that adds training information to a model.

    Args:
        updated: name of the initializer that the training updates.
        taken: name of the value of the graph that the update uses.
    """

    def modify(model: onnx.ModelProto) -> None:
        number = helper.make_node("Cast", [taken], ["number"], to=onnx.TensorProto.FLOAT)
        total = helper.make_node("ReduceMax", ["number"], ["total"], keepdims=0)
        step = helper.make_node("Mul", [updated, "total"], ["W_new"])
        shape = [dim for tensor in model.graph.initializer if tensor.name == updated for dim in tensor.dims]
        info = model.training_info.add()
        info.algorithm.CopyFrom(
            helper.make_graph([number, total, step], "step", [], [make_value_info("W_new", "float", shape)])
        )
        info.update_binding.add(key=updated, value="W_new")

    return modify


def _function_cases() -> Iterator[Case]:
    """Yield cases with function calls before and within a chain."""
    scale = make_function("Scaled", [helper.make_node("LeakyRelu", ["A"], ["B"])], attributes=["slope"])
    scale.node[0].attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    outer = make_function("Outer", [helper.make_node("Scaled", ["A"], ["B"], domain="acme", slope=0.5)])
    outer.opset_import.append(helper.make_opsetid("acme", 1))
    nodes, values = _named_chain(THREE, "X0")
    call = helper.make_node("Outer", ["X"], ["X0"], domain="acme")
    yield _case(
        "after_function",
        "A chain after the call of a function that calls another function is removed, and both functions stay",
        applies_to(values[0], then=values[1:]),
        ScenarioGraph([call, *nodes], (X,), functions=[scale, outer], opsets={"": 13, "acme": 1}),
    )
    split = [producer("Exp", "X", "Y1"), helper.make_node("Outer", ["Y1"], ["Y2"], domain="acme")]
    rest = [producer("Sqrt", "Y2", "Y3"), producer("Softmax", "Y3", "Y4"), argmax("Y4")]
    yield _case(
        "parted_by_function",
        "Only the part of a chain after a function call is removed",
        applies_to("Y4", then=("Y3",)),
        ScenarioGraph([*split, *rest], (X,), functions=[scale, outer], opsets={"": 13, "acme": 1}),
    )


def _several_graphs() -> Case:
    """Define a case with chains of other lengths in four graphs.

    The last graph has no operator to remove, and the main graph has the shortest chain: a pass that repeats its run
    only if one of them changed ends too early. The chains are along axis 0, the default of ArgMax.
    """
    index = SHAPE[1:]
    graphs: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("A", ("Exp", "Sqrt"), ()),
        ("B", (), ("Softmax", "Exp", "Log")),
        ("C", (), ()),
    ]
    nodes = []
    outputs = [make_value_info("index", "int64", index)]
    once = ["Z"]
    then = []
    for name, *rows in graphs:
        branches = []
        for branch, row in zip(("then_branch", "else_branch"), rows, strict=True):
            values = [f"{name}{number}" for number in range(1, len(row) + 1)]
            triples = zip(row, ["X", *values], values, strict=False)
            chain = [producer(*triple, axis=0) for triple in triples]
            chain.append(argmax(values[-1] if values else "X", f"{name}_{branch}", axis=0))
            branches.append(make_branch(branch, chain, [f"{name}_{branch}"], index, "int64"))
            paths = [f"{name}_index/{branch}/{value}" for value in values[::-1]]
            once += paths[:1]
            then += paths[1:]
        nodes.append(if_node("taken", f"{name}_index", *branches))
        outputs.append(make_value_info(f"{name}_index", "int64", index))
    nodes[1:1] = [producer("Exp", "X", "Z"), argmax("Z", axis=0)]
    inputs = [array_value_info("X", X), make_value_info("taken", "bool", [])]

    def import_others_first(model: onnx.ModelProto) -> None:
        imports = [helper.make_opsetid("ai.onnx.ml", 3), *model.opset_import, helper.make_opsetid("acme", 99)]
        del model.opset_import[:]
        model.opset_import.extend(imports)

    return _case(
        "in_several_graphs",
        "Chains of one to three operators along axis 0 are removed in four graphs, the last of which has none",
        applies_to(*once, then=then),
        ScenarioGraph(nodes, (X, np.array(True)), inputs, outputs),
        clauses=("fixed_point", "one_per_run", "subgraph"),
        modify=import_others_first,
    )


def _case(
    name: str,
    title: str,
    rewrite: Rewrite,
    graph: ScenarioGraph,
    clauses: Sequence[str] = ("one_per_run", "fixed_point"),
    **rest: Any,
) -> Case:
    return scenario(FAMILY, name, title, clauses, rewrite, graph, **rest)
