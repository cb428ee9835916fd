"""Families of training optimizer cases that vary the operands of a node: sizes, shared values, names and iterations.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.factors.connections import Fragment, GraphPart
from conformance.factors.covering_array import Declaration, Omission
from conformance.factors.names import NAME_KINDS, PLAIN_NAMES, rename_values_of
from conformance.factors.training import TYPES, USUAL_ATTRIBUTES
from conformance.factors.wrapping import OPSET, Context, build_in_context
from conformance.generation.models import pseudo_random_array
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.numbers import build_node, scalar_operands, tensor_operands
from generators.declarations.training import OPERAND_RANGES, RATE, usual_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import onnx

    from conformance.factors.covering_array import Row
    from conformance.factors.wrapping import BuiltModel
    from conformance.models.arrays import Array

SHAPES_AFTER_EMPTY: Mapping[str, Sequence[Sequence[int]]] = {
    "0_1_5": ((0,), (1,), (5,)),
    "0_0_2_1_5": ((0,), (0,), (2,), (1,), (5,)),
    "0_1_2_3_9": ((0,), (1,), (2,), (3,), (9,)),
    "0_5": ((0,), (5,)),
    "matrices": ((0, 3), (1, 1), (2, 0), (1, 3), (2, 2)),
    "scalars": ((0,), (), (), (3,)),
}
"""Shapes by level: empty tensors first, then tensors whose size is at most their own position, then longer ones."""

SHARING_TENSORS: Mapping[str, tuple[int, int]] = {"second": (2, 2), "last": (3, 3)}
"""Number of tensors, and number of the tensor that shares operands with the first tensor, by level."""

TRAILING_EMPTY = "trailing_empty"
"""Level of `names`: plain names, and operands from nodes whose last inputs and outputs have empty names."""

NAME_LEVELS = (*NAME_KINDS, TRAILING_EMPTY)
"""Kinds of names of values."""

NAMED_TENSORS = ((2, 2), (2, 2))
"""Shapes of the tensors of cases about names. Both have the same shape, so that a confusion is no error."""

USES = ("one_tensor", "two_tensors", "rate")
"""Uses of one value by one node: for two operands of a tensor, of two tensors, or as R and as an operand."""

BROADCAST_SHAPES: Mapping[str, Mapping[str, Sequence[int]]] = {
    "2x3": {"row": (3,), "one_row": (1, 3), "column": (2, 1), "one": (1,), "scalar": ()},
    "2x3x4": {"matrix": (3, 4), "column": (3, 1), "outer": (2, 1, 1), "middle": (1, 3, 1), "around": (2, 1, 4)},
}
"""Shapes of G by name, for each shape of X. Each of them broadcasts to the shape of X."""

FIRST_COUNTS = (-1, 0, 1, 2)
"""Values of T in the iterations of a Loop or Scan."""

TRAILING_OMISSION = Omission(
    "an empty name after the operands of the tested node",
    "Its operands are not optional. ONNX's shape inference counts the name as an operand and refuses the model.",
)


def after_empty_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `after_empty`: one node with empty tensors first, and small ones after them."""
    del op_type
    return Declaration({"tensors": tuple(SHAPES_AFTER_EMPTY), "types": ("float",)})


def repeated_sets(op_type: str) -> Mapping[str, Sequence[str]]:
    """Return the operands that two tensors share, by level: each operand alone, and the whole state."""
    operands = TRAINING_OPTIMIZERS[op_type].operands
    state = operands[2:]
    several = {"state": state} if len(state) > 1 else {}
    return {**{name: (name,) for name in operands}, **several}


def repeated_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `repeated`: one value is passed for the same operand of two tensors."""
    return Declaration(
        {"operand": tuple(repeated_sets(op_type)), "tensor": tuple(SHARING_TENSORS), "types": ("float", "double")}
    )


def names_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `names`: names of values that a runtime may cut or confuse."""
    del op_type
    return Declaration(
        {"names": NAME_LEVELS, "tensors": ("two",), "scope": ("main",), "types": ("float",)},
        omissions=(TRAILING_OMISSION, Omission("other scopes", "The names of values of ArgMax vary them.")),
    )


def uses_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `uses`: one value is passed for several inputs of a node."""
    del op_type
    return Declaration({"uses": USES, "types": ("float",)})


def broadcast_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `broadcast`: nodes whose G broadcasts to the shape of X."""
    del op_type
    return Declaration(
        {"order": ("listed",), "types": ("float",)},
        omissions=(
            Omission(
                "V or H of another shape than X",
                "By the pseudo-code, the new state has the shape of X; by ONNX's shape inference, that of the state.",
            ),
        ),
    )


def iterations_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `iterations`: all operands of a node change from iteration to iteration."""
    del op_type
    return Declaration({"scope": ("loop", "scan"), "types": ("float",)})


def stored_state_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `stored_state`: X and the state are initializers.

    The models of both values are equal except for the values of the initializers.
    """
    del op_type
    return Declaration({"values": ("first", "second"), "types": ("float",)})


def build_after_empty(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `after_empty_declaration`."""
    own, _ = TYPES[row["types"]]
    tensors = tensor_operands(op_type, name, own, SHAPES_AFTER_EMPTY[row["tensors"]])
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands])


def build_repeated(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `repeated_declaration`."""
    own, _ = TYPES[row["types"]]
    count, sharing = SHARING_TENSORS[row["tensor"]]
    tensors = tensor_operands(op_type, name, own, [(2, 2)] * count)
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    shared = {f"{letter}{sharing}": f"{letter}1" for letter in repeated_sets(op_type)[row["operand"]]}
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], shared=shared)


def build_names(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `names_declaration`."""
    own, _ = TYPES[row["types"]]
    tensors = tensor_operands(op_type, name, own, NAMED_TENSORS)
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    context = names_context(row, list(tensors))
    built = build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], context)
    return rename_values_of(built, name_kind(row))


def names_context(row: Row, operands: Sequence[str]) -> Context:
    """Return the graph around a node for a row of a family about names.

    Args:
        row: the levels of all factors, with `names` and `scope`.
        operands: names of the operands that can come from a node with empty names.
    """
    sources = dict.fromkeys(operands, TRAILING_EMPTY) if row["names"] == TRAILING_EMPTY else {}
    return Context(scope=row["scope"], sources=sources)


def name_kind(row: Row) -> str:
    """Return the kind of names of a row of a family about names."""
    return PLAIN_NAMES if row["names"] == TRAILING_EMPTY else row["names"]


def build_uses(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `uses_declaration`.

    The first letters in the names of the results state the inputs that have one value. norm_coefficient is 0, so that
    G_regularized is G.
    """
    own, _ = TYPES[row["types"]]
    letters = TRAINING_OPTIMIZERS[op_type].operands
    operands = scalar_operands(RATE, usual_count(op_type, own), own)
    low, high = OPERAND_RANGES["H"]
    shape = () if row["uses"] == "rate" else (2, 2)
    others = [f"{letter}2" for letter in letters]
    for names, sizes in ((letters, shape), (others, (2, 2))):
        operands |= {operand: pseudo_random_array(f"{name}/{operand}", sizes, own, low, high) for operand in names}
    if row["uses"] == "one_tensor":
        taken = {
            first + second: [[second if letter == first else letter for letter in letters]]
            for first, second in combinations(letters, 2)
        }
    elif row["uses"] == "two_tensors":
        taken = {
            f"{letters[0]}{letters[by]}": [list(letters), [*letters[by:], *letters[:by]]]
            for by in range(1, len(letters))
        }
    else:
        taken = {f"R{used}": [["R" if letter == used else letter for letter in letters], others] for used in letters}
    attributes = {**USUAL_ATTRIBUTES[op_type], "norm_coefficient": 0.0}
    nodes = [
        (label, ["R", "T", *(name for group in zip(*tensors, strict=True) for name in group)], attributes)
        for label, tensors in taken.items()
    ]
    return _build_nodes(op_type, name, nodes, operands)


def build_stored_state(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `stored_state_declaration`, with two equal runs."""
    own, _ = TYPES[row["types"]]
    graph = name.removesuffix(f"_{row['values']}_{row['types']}")[: -len("_001")]
    seeds = {True: f"{graph}/fed", False: f"{graph}/{row['values']}"}
    tensors = {
        letter: pseudo_random_array(f"{seeds[letter == 'G']}/{letter}", (2, 2), own, *OPERAND_RANGES[letter])
        for letter in TRAINING_OPTIMIZERS[op_type].operands
    }
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    context = Context(sources={letter: "initializer" for letter in tensors if letter != "G"})
    return build_node(op_type, graph, USUAL_ATTRIBUTES[op_type], [operands, operands], context)


def build_broadcast(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `broadcast_declaration`: a node for each G."""
    own, _ = TYPES[row["types"]]
    operands = scalar_operands(RATE, usual_count(op_type, own), own)
    letters, nodes = TRAINING_OPTIMIZERS[op_type].operands, []
    for size, smaller in BROADCAST_SHAPES.items():
        shape = tuple(map(int, size.split("x")))
        tensors = tensor_operands(op_type, f"{name}/{size}", own, [shape])
        operands |= {f"{letter}_{size}": array for letter, array in tensors.items() if letter != "G"}
        for word, own_shape in smaller.items():
            label = f"{size}_{word}"
            operands[f"G_{label}"] = pseudo_random_array(f"{name}/G_{label}", own_shape, own, *OPERAND_RANGES["G"])
            inputs = [f"G_{label}" if letter == "G" else f"{letter}_{size}" for letter in letters]
            nodes.append((label, ["R", "T", *inputs], USUAL_ATTRIBUTES[op_type]))
    return _build_nodes(op_type, name, nodes, operands)


def build_iterations(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `iterations_declaration`.

    A Scan takes T, R and G of each iteration from larger tensors, and so does a Loop by Gather. The state is carried.
    """
    own, _ = TYPES[row["types"]]
    optimizer, count = TRAINING_OPTIMIZERS[op_type], len(FIRST_COUNTS)
    tensors = tensor_operands(op_type, name, own, [(2, 2)])
    rows = {
        "R": np.array([RATE / (1 + place) for place in range(count)], dtype=own),
        "T": np.array(FIRST_COUNTS, dtype=np.int64),
        "G": pseudo_random_array(f"{name}/G", (count, 2, 2), own, *OPERAND_RANGES["G"]),
    }
    carried = {letter: array for letter, array in tensors.items() if letter != "G"}
    inside = {f"{letter}_new_inside": array for letter, array in carried.items()}
    step = helper.make_node(
        op_type,
        ["R_now", "T_now", *("G_now" if letter == "G" else f"{letter}_now" for letter in optimizer.operands)],
        list(inside),
        domain=optimizer.domain,
        **USUAL_ATTRIBUTES[op_type],
    )
    now = {f"{letter}_now": array for letter, array in carried.items()}
    results = {f"{letter}_new": array for letter, array in carried.items()}
    if row["scope"] == "scan":
        now |= {f"{operand}_now": array[0] for operand, array in rows.items()}
        each = helper.make_node("Identity", ["X_new_inside"], ["X_each_inside"])
        body = GraphPart([step, each], given={**inside, "X_each_inside": tensors["X"]}).graph("body", now)
        results["X_each"] = rows["G"]
        around = helper.make_node("Scan", [*carried, *rows], list(results), body=body, num_scan_inputs=len(rows))
    else:
        start = {"iteration": np.array(0, dtype=np.int64), "goes_on": np.array(True)}
        taking = [helper.make_node("Gather", [operand, "iteration"], [f"{operand}_now"]) for operand in rows]
        again = helper.make_node("Identity", ["goes_on"], ["again"])
        looped = GraphPart([again, *taking, step], given={"again": np.array(True), **inside})
        around = helper.make_node(
            "Loop", ["iterations", "starts", *carried], list(results), body=looped.graph("body", start | now)
        )
        rows |= {"iterations": np.array(count, dtype=np.int64), "starts": np.array(True)}
    fragment = Fragment(
        (around,),
        {**rows, **carried},
        results,
        {"": OPSET, optimizer.domain: optimizer.version},
    )
    return build_in_context(name, fragment, Context())


def _build_nodes(
    op_type: str,
    name: str,
    nodes: Iterable[tuple[str, Sequence[str], Mapping[str, Any]]],
    operands: Mapping[str, Array],
) -> BuiltModel:
    """Build a model of several nodes.

    Args:
        op_type: type of the nodes.
        name: name of the graph.
        nodes: the label, the inputs and the attributes of each node. The names of its results end with the label.
        operands: values of all inputs by name.
    """
    optimizer = TRAINING_OPTIMIZERS[op_type]
    made: list[onnx.NodeProto] = []
    results: dict[str, Array] = {}
    used: set[str] = set()
    for label, inputs, attributes in nodes:
        count = (len(inputs) - 2) // len(optimizer.operands)
        X = [operands[operand] for operand in inputs[2 : 2 + count]]
        own = {
            f"{result}_{label}" if count == 1 else f"{result[0]}{number}{result[1:]}_{label}": X[number - 1]
            for result in optimizer.results
            for number in range(1, count + 1)
        }
        made.append(helper.make_node(op_type, inputs, list(own), domain=optimizer.domain, **attributes))
        results |= own
        used.update(inputs)
    taken = {operand: array for operand, array in operands.items() if operand in used}
    return build_in_context(
        name, Fragment(tuple(made), taken, results, {optimizer.domain: optimizer.version}), Context()
    )
