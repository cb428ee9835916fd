"""Families of training optimizer cases that vary the operands of a node: sizes, shared values, names and iterations.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.connections import CONDITION_INPUT, Fragment, GraphPart, constant_node, zeros_part
from conformance.corpus.factors.name_factors import NAME_KINDS, PLAIN_NAMES, rename_values_of
from conformance.corpus.factors.training_factors import READ_BY_ANOTHER, TYPES, USUAL_ATTRIBUTES
from conformance.corpus.factors.wrapping import OPSET, BuiltModel, Context, build_in_context
from conformance.exact.models.arrays import tensor_of
from conformance.exact.models.model_building import pseudo_random_array
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.numbers import build_node, scalar_operands, tensor_operands
from generators.declarations.training_dimensions import (
    OPERAND_RANGES,
    OTHER_COUNT,
    OTHER_RATE,
    RATE,
    other_attributes,
    usual_count,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import onnx

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array

SHAPES_AFTER_EMPTY: Mapping[str, Sequence[Sequence[int]]] = {
    "0_1_5": ((0,), (1,), (5,)),
    "0_0_2_1_5": ((0,), (0,), (2,), (1,), (5,)),
    "0_1_2_3_9": ((0,), (1,), (2,), (3,), (9,)),
    "0_5": ((0,), (5,)),
    "matrices": ((0, 3), (1, 1), (2, 0), (1, 3), (2, 2)),
    "scalars": ((0,), (), (), (3,)),
}
"""Shapes by node: empty tensors first, then tensors whose size is at most their own position, then longer ones."""

SHARING_TENSORS: Mapping[str, tuple[int, int]] = {"second": (2, 2), "last": (3, 3)}
"""Number of tensors, and number of the tensor that shares operands with the first tensor, by place of the latter."""

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

LOOPED_SHAPE = (5, 15)
"""Shape of a tensor in a Loop, a Scan or a function: more elements than the registers of a vector unit have."""

FIRST_COUNTS = (-1, 0, 1, 2)
"""Values of T in the iterations of a Loop or Scan."""

LATER_OPSETS = (18, 20)
"""Opsets of the main domain in some models. The others have `OPSET`."""

TENSORS_OF_HUNDREDS = 350
"""Number of tensors, for which no counter of 8 bits and no fixed array of a few hundred inputs suffices."""

VIEW_NUMBERS: Mapping[str, Sequence[int]] = {
    "axes": (0, 1),
    "last": (-1, -1),
    "to_start": (-3, -4),
    "back": (-1, -1),
    "places": (0, 1),
    "ends": (4, 6),
    "twos": (2, 2),
    "ones": (1, 1),
    "places_after": (2, 4),
    "shape": (2, 3),
}
"""Constants of the Slices and Expands that return views of a 4 x 6 tensor, by name."""

LOOP_ENDS: Mapping[str, tuple[int, bool]] = {"no_trip": (0, True), "not_started": (4, False), "early": (10, True)}
"""The trip count and the first condition of each Loop, by name. The condition ends the last one after 3 iterations."""

TRAILING_OMISSION = Omission(
    "an empty name after the operands of the tested node",
    "Its operands are not optional. ONNX's shape inference counts the name as an operand and refuses the model.",
)


def repeated_sets(op_type: str) -> Mapping[str, Sequence[str]]:
    """Return the operands that two tensors share, by name: each operand alone, and the whole state."""
    operands = TRAINING_OPTIMIZERS[op_type].operands
    state = operands[2:]
    several = {"state": state} if len(state) > 1 else {}
    return {**{name: (name,) for name in operands}, **several}


def names_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `names`: names of values that a runtime may cut or confuse."""
    del op_type
    return FamilyDeclaration(
        {"names": NAME_LEVELS, "tensors": ("two",), "scope": ("main",), "types": ("float",)},
        omissions=(TRAILING_OMISSION, Omission("other scopes", "The names of values of ArgMax vary them.")),
    )


def uses_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `uses`: one value is passed for several inputs of a node."""
    del op_type
    return FamilyDeclaration({"uses": USES, "types": ("float",)})


def broadcast_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `broadcast`: nodes whose G broadcasts to the shape of X."""
    del op_type
    return FamilyDeclaration(
        {"order": ("listed",), "types": ("float",)},
        omissions=(
            Omission(
                "V or H of another shape than X",
                "By the pseudo-code, the new state has the shape of X; by ONNX's shape inference, that of the state.",
            ),
        ),
    )


def alike_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `alike`: nodes that differ in one input, and nodes of the other optimizers.

    In some nodes, the other input is a result of the first node.
    """
    return FamilyDeclaration(
        {"nodes": ("one_input", "optimizers") if op_type == "Adam" else ("one_input",), "types": ("float",)}
    )


def build_after_empty(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `after_empty`: nodes with empty tensors first, and small ones after them."""
    own, _ = TYPES[row["types"]]
    operands = scalar_operands(RATE, usual_count(op_type, own), own)
    nodes = []
    for label, shapes in SHAPES_AFTER_EMPTY.items():
        tensors = tensor_operands(op_type, f"{name}/{label}", own, shapes)
        operands |= {f"{operand}_{label}": array for operand, array in tensors.items()}
        inputs = ["R", "T", *(f"{operand}_{label}" for operand in tensors)]
        nodes.append(_NodeOf(op_type, label, inputs, USUAL_ATTRIBUTES[op_type]))
    return _build_nodes(name, nodes, operands)


def build_repeated(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `repeated`: one value is passed for the same operand of two tensors.

    There is a node for each set of shared operands, and for each place of the tensor that shares them.
    """
    own, _ = TYPES[row["types"]]
    letters = TRAINING_OPTIMIZERS[op_type].operands
    most = max(count for count, _ in SHARING_TENSORS.values())
    tensors = tensor_operands(op_type, name, own, [(2, 2)] * most)
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    nodes = []
    for word, (count, sharing) in SHARING_TENSORS.items():
        for shared, repeated in repeated_sets(op_type).items():
            inputs = [
                f"{letter}{1 if number == sharing and letter in repeated else number}"
                for letter in letters
                for number in range(1, count + 1)
            ]
            nodes.append(_NodeOf(op_type, f"{shared}_{word}", ["R", "T", *inputs], USUAL_ATTRIBUTES[op_type]))
    return _build_nodes(name, nodes, operands)


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


def build_readers(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `readers`: another node also reads operands.

    Its cases detect runtimes that overwrite an operand.
    """
    own, _ = TYPES[row["types"]]
    operands: dict[str, Array] = {}
    nodes = []
    read = []
    for label, letters in READ_BY_ANOTHER.items():
        given = {
            **scalar_operands(RATE, usual_count(op_type, own), own),
            **tensor_operands(op_type, f"{name}/{label}", own, [(2, 3)]),
        }
        operands |= {f"{operand}_{label}": array for operand, array in given.items()}
        read += [f"{operand}_{label}" for operand in given if operand in letters]
        nodes.append(_NodeOf(op_type, label, [f"{operand}_{label}" for operand in given], USUAL_ATTRIBUTES[op_type]))
    return _build_nodes(name, nodes, operands, read=read)


def build_shared(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `shared`: one value is passed for several operands of one tensor.

    The shared value has the range of the last of its operands, so that H is a reachable state.
    """
    own, _ = TYPES[row["types"]]
    letters = TRAINING_OPTIMIZERS[op_type].operands
    scalars = scalar_operands(RATE, 2, own)
    operands = {**scalars, "T_zero": np.array(0, dtype=np.int64)}
    nodes = []
    sets = [*combinations(letters, 2), *([letters] if len(letters) > 2 else [])]
    for first, *others in sets:
        label = "".join((first, *others))
        tensors = tensor_operands(op_type, f"{name}/{label}", own, [(2, 2)])
        tensors[first] = tensors[others[-1]]
        operands |= {f"{letter}_{label}": array for letter, array in tensors.items() if letter not in others}
        taken = [f"{first if letter in others else letter}_{label}" for letter in letters]
        for T, end in (("T", label), ("T_zero", f"{label}_zero")):
            nodes.append(_NodeOf(op_type, end, ["R", T, *taken], USUAL_ATTRIBUTES[op_type]))
    return _build_nodes(name, nodes, operands)


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
        _NodeOf(
            op_type, label, ["R", "T", *(name for group in zip(*tensors, strict=True) for name in group)], attributes
        )
        for label, tensors in taken.items()
    ]
    return _build_nodes(name, nodes, operands)


def build_hundreds_of_tensors(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `hundreds_of_tensors`: one node with so many tensors, parts of a tensor.

    A Split for each operand and a Concat for each result keep the number of files small.
    """
    own, _ = TYPES[row["types"]]
    optimizer = TRAINING_OPTIMIZERS[op_type]
    sizes = [1 + place % 3 for place in range(TENSORS_OF_HUNDREDS)]
    tensors = tensor_operands(op_type, name, own, [(sum(sizes),)])
    names = {letter: [f"{letter}{place}" for place in range(len(sizes))] for letter in tensors}
    given = {f"{letter}_new": [f"{letter}{place}_new" for place in range(len(sizes))] for letter in tensors}
    given = {result: given[result] for result in optimizer.results}
    nodes = [
        constant_node("sizes", np.array(sizes, dtype=np.int64)),
        *(helper.make_node("Split", [letter, "sizes"], names[letter]) for letter in tensors),
        helper.make_node(
            op_type,
            ["R", "T", *(one for letter in tensors for one in names[letter])],
            [one for result in given for one in given[result]],
            domain=optimizer.domain,
            **USUAL_ATTRIBUTES[op_type],
        ),
        *(helper.make_node("Concat", given[result], [result], axis=0) for result in given),
    ]
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    opsets = {"": LATER_OPSETS[0], optimizer.domain: optimizer.version}
    fragment = Fragment(tuple(nodes), operands, dict.fromkeys(given, tensors["X"]), opsets)
    return build_in_context(name, fragment, Context())


def build_alike(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `alike_declaration`. An input is not used."""
    own, _ = TYPES[row["types"]]
    low, high = OPERAND_RANGES["H"]
    letters = sorted({letter for one in TRAINING_OPTIMIZERS.values() for letter in one.operands}, key="XGVH".index)
    operands = {"unused": np.zeros((2, 2), dtype=own), **scalar_operands(RATE, usual_count(op_type, own), own)}
    operands |= {letter: pseudo_random_array(f"{name}/{letter}", (2, 2), own, low, high) for letter in letters}
    if row["nodes"] == "optimizers":
        nodes = [
            _NodeOf(one, f"{one.lower()}{label}", ["R", "T", *TRAINING_OPTIMIZERS[one].operands], attributes[one])
            for label, attributes in (
                ("", USUAL_ATTRIBUTES),
                ("_other", {one: other_attributes(one, own) for one in TRAINING_OPTIMIZERS}),
            )
            for one in TRAINING_OPTIMIZERS
        ]
        return _build_nodes(name, nodes, operands, ["unused"])
    inputs = ["R", "T", *TRAINING_OPTIMIZERS[op_type].operands]
    others = {
        f"{letter}_other": pseudo_random_array(f"{name}/{letter}_other", (2, 2), own, low, high) for letter in letters
    }
    operands |= {**others, "R_other": np.array(OTHER_RATE, dtype=own), "T_other": np.array(OTHER_COUNT, dtype=np.int64)}
    taken = {"first": inputs, "reversed": [*inputs[:2], *inputs[:1:-1]]}
    taken |= {letter: [f"{one}_other" if one == letter else one for one in inputs] for letter in inputs}
    for letter in inputs[2:]:
        earlier = f"{'X' if letter == 'G' else letter}_new_first"
        taken[f"{letter}_after_first"] = [earlier if one == letter else one for one in inputs]
    nodes = [_NodeOf(op_type, label, names, USUAL_ATTRIBUTES[op_type]) for label, names in taken.items()]
    return _build_nodes(name, nodes, operands, ["unused"])


def build_views(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `views`: operands that may share memory with another tensor in another order.

    There is a node for each operand and each kind of view: reversed axes, every second element, an expanded row, and
    axes permuted in a cycle.
    """
    own, _ = TYPES[row["types"]]
    optimizer = TRAINING_OPTIMIZERS[op_type]
    tensors = tensor_operands(op_type, name, own, [(2, 3)])
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    nodes = [constant_node(word, np.array(values, dtype=np.int64)) for word, values in VIEW_NUMBERS.items()]
    results: dict[str, Array] = {}
    cubes = tensor_operands(op_type, f"{name}/cube", own, [(2, 2, 2)])
    operands |= {f"{letter}_cube": array for letter, array in cubes.items()}
    for letter in tensors:
        given = {f"{result}_{letter}_cube": cubes["X"] for result in optimizer.results}
        turned = f"{letter}_turned"
        inputs = ["R", "T", *(turned if one == letter else f"{one}_cube" for one in cubes)]
        nodes += [
            helper.make_node("Transpose", [f"{letter}_cube"], [turned], perm=[1, 2, 0]),
            helper.make_node(op_type, inputs, list(given), domain=optimizer.domain, **USUAL_ATTRIBUTES[op_type]),
        ]
        results |= given
        whole = f"{letter}_whole"
        line = f"{letter}_line"
        operands[whole] = pseudo_random_array(f"{name}/{whole}", (4, 6), own, *OPERAND_RANGES[letter])
        views = {word: f"{letter}_{word}" for word in ("reversed", "second", "expanded")}
        nodes += [
            helper.make_node("Slice", [whole, "last", "to_start", "axes", "back"], [views["reversed"]]),
            helper.make_node("Slice", [whole, "places", "ends", "axes", "twos"], [views["second"]]),
            helper.make_node("Slice", [whole, "ones", "places_after", "axes"], [line]),
            helper.make_node("Expand", [line, "shape"], [views["expanded"]]),
        ]
        for word, view in views.items():
            given = {f"{result}_{letter}_{word}": tensors["X"] for result in optimizer.results}
            inputs = ["R", "T", *(view if one == letter else one for one in tensors)]
            nodes.append(
                helper.make_node(op_type, inputs, list(given), domain=optimizer.domain, **USUAL_ATTRIBUTES[op_type])
            )
            results |= given
    fragment = Fragment(tuple(nodes), operands, results, {"": OPSET, optimizer.domain: optimizer.version})
    return build_in_context(name, fragment, Context())


def build_later_uses(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `later_uses`: operands that are outputs too, or that a later branch captures.

    The operands of the first node are outputs of the graph. A branch of a later If captures those of the other nodes:
    graph inputs of the second node, and results of Neg of the third node.
    """
    own, _ = TYPES[row["types"]]
    optimizer = TRAINING_OPTIMIZERS[op_type]
    tensors = tensor_operands(op_type, name, own, [(2, 2)])
    held, made = (
        {
            f"{operand}_{label}": array
            for operand, array in tensor_operands(op_type, f"{name}/{label}", own, [(2, 2)]).items()
        }
        for label in ("held", "made")
    )
    results: dict[str, Array] = dict(tensors)
    nodes = [helper.make_node("Neg", [f"{operand}_negative"], [operand]) for operand in made]
    for label, operands in (("first", tensors), ("second", held), ("third", made)):
        given = {f"{result}_{label}": tensors["X"] for result in optimizer.results}
        nodes.append(
            helper.make_node(
                op_type, ["R", "T", *operands], list(given), domain=optimizer.domain, **USUAL_ATTRIBUTES[op_type]
            )
        )
        results |= given
    captured = {**held, **made}
    inner = {f"{operand}_inner": array for operand, array in captured.items()}
    copies = [helper.make_node("Identity", [operand], [f"{operand}_inner"]) for operand in captured]
    later = {f"{operand}_later": array for operand, array in captured.items()}
    around = helper.make_node(
        "If",
        [CONDITION_INPUT],
        list(later),
        then_branch=GraphPart(copies, given=inner).graph("then"),
        else_branch=zeros_part(later).graph("else"),
    )
    scalars = scalar_operands(RATE, usual_count(op_type, own), own)
    negative = {f"{operand}_negative": -array for operand, array in made.items()}
    fragment = Fragment(
        (*nodes, around),
        {**scalars, **tensors, **held, **negative},
        {**results, **later},
        {"": OPSET, optimizer.domain: optimizer.version},
    )
    return build_in_context(name, fragment, Context())


def build_control_flow(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `control_flow`: both branches of Ifs, and the ends of Loops.

    The first of two Ifs takes the first branch, and the second If the other one. An initializer or Constant of a branch
    has another value than the one of its name in the other branch. `LOOP_ENDS` has the Loops.
    """
    own, _ = TYPES[row["types"]]
    optimizer = TRAINING_OPTIMIZERS[op_type]
    usual = USUAL_ATTRIBUTES[op_type]
    tensors = tensor_operands(op_type, name, own, [(2, 2)])
    scalars = scalar_operands(RATE, usual_count(op_type, own), own)
    carried = {operand: array for operand, array in tensors.items() if operand != "G"}
    inside = {f"{operand}_inside": array for operand, array in carried.items()}

    def step(R: str, T: str, names: Mapping[str, str]) -> onnx.NodeProto:
        operands = [names.get(operand, operand) for operand in tensors]
        return helper.make_node(op_type, [R, T, *operands], list(inside), domain=optimizer.domain, **usual)

    branches = {}
    for label, R, T, G in (
        ("then", scalars["R"], scalars["T"], tensors["G"]),
        ("else", np.array(OTHER_RATE, own), np.array(0), -tensors["G"]),
    ):
        nodes = [constant_node("T_own", T), step("R_own", "T_own", {"G": "G_own"})]
        part = GraphPart(nodes, [tensor_of(R, "R_own"), tensor_of(G, "G_own")], given=inside)
        branches[f"{label}_branch"] = part.graph(label)
    around = [helper.make_node("Not", [CONDITION_INPUT], ["no"])]
    results = {f"{operand}_{label}": array for label in ("first", "second") for operand, array in carried.items()}
    for label, condition in (("first", CONDITION_INPUT), ("second", "no")):
        around.append(helper.make_node("If", [condition], [f"{operand}_{label}" for operand in carried], **branches))
    now = {f"{operand}_now": array for operand, array in carried.items()}
    start = {"iteration": np.array(0, dtype=np.int64), "goes_on": np.array(True)}
    looped = [
        helper.make_node("Less", ["iteration", "last"], ["again"]),
        step("R", "T", dict(zip(carried, now, strict=True))),
    ]
    body = GraphPart(looped, given={"again": np.array(True), **inside}).graph("body", start | now)
    limits: dict[str, Array] = {"last": np.array(2, dtype=np.int64)}
    for label, (trips, starts) in LOOP_ENDS.items():
        limits |= {f"trips_{label}": np.array(trips, dtype=np.int64), f"starts_{label}": np.array(starts)}
        given = {f"{operand}_{label}": array for operand, array in carried.items()}
        results |= given
        inputs = [f"trips_{label}", f"starts_{label}", *carried]
        around.append(helper.make_node("Loop", inputs, list(given), body=body))
    fragment = Fragment(
        tuple(around), {**scalars, **tensors, **limits}, results, {"": OPSET, optimizer.domain: optimizer.version}
    )
    return build_in_context(name, fragment, Context())


def build_stored_state(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `stored_state`: X and the state are initializers.

    The models of both values are equal except for the values of the initializers.
    """
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
    letters = TRAINING_OPTIMIZERS[op_type].operands
    nodes = []
    for size, smaller in BROADCAST_SHAPES.items():
        shape = tuple(map(int, size.split("x")))
        tensors = tensor_operands(op_type, f"{name}/{size}", own, [shape])
        operands |= {f"{letter}_{size}": array for letter, array in tensors.items() if letter != "G"}
        for word, own_shape in smaller.items():
            label = f"{size}_{word}"
            operands[f"G_{label}"] = pseudo_random_array(f"{name}/G_{label}", own_shape, own, *OPERAND_RANGES["G"])
            inputs = [f"G_{label}" if letter == "G" else f"{letter}_{size}" for letter in letters]
            nodes.append(_NodeOf(op_type, label, ["R", "T", *inputs], USUAL_ATTRIBUTES[op_type]))
    return _build_nodes(name, nodes, operands)


def build_iterations(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build a model of `iterations`: all operands of a node change from iteration to iteration.

    A Scan takes T, R and G of each iteration from larger tensors, and so does a Loop by Gather. The state is carried.
    """
    scope, types = row["scope"].split("_")
    own, _ = TYPES[types]
    optimizer = TRAINING_OPTIMIZERS[op_type]
    count = len(FIRST_COUNTS)
    tensors = tensor_operands(op_type, name, own, [LOOPED_SHAPE])
    rows = {
        "R": np.array([RATE / (1 + place) for place in range(count)], dtype=own),
        "T": np.array(FIRST_COUNTS, dtype=np.int64),
        "G": pseudo_random_array(f"{name}/G", (count, *LOOPED_SHAPE), own, *OPERAND_RANGES["G"]),
    }
    usual = USUAL_ATTRIBUTES[op_type]
    attributes = {**usual, **({"mode": "standard"} if "mode" in usual else {})}
    carried = {letter: array for letter, array in tensors.items() if letter != "G"}
    inside = {f"{letter}_new_inside": array for letter, array in carried.items()}
    step = helper.make_node(
        op_type,
        ["R_now", "T_now", *("G_now" if letter == "G" else f"{letter}_now" for letter in optimizer.operands)],
        list(inside),
        domain=optimizer.domain,
        **attributes,
    )
    now = {f"{letter}_now": array for letter, array in carried.items()}
    results = {f"{letter}_new": array for letter, array in carried.items()}
    if scope == "scan":
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


@dataclass(frozen=True)
class _NodeOf:
    """A node of a model of several nodes.

    Attributes:
        op_type: type of the node.
        label: the end of the names of its results.
        inputs: names of its inputs.
        attributes: all attributes.
    """

    op_type: str
    label: str
    inputs: Sequence[str]
    attributes: Mapping[str, Any]


def _build_nodes(
    name: str,
    nodes: Iterable[_NodeOf],
    operands: Mapping[str, Array],
    unused: Sequence[str] = (),
    read: Sequence[str] = (),
) -> BuiltModel:
    """Build a model of several nodes.

    Args:
        name: name of the graph.
        nodes: the nodes.
        operands: values of all inputs by name. Inputs that no node reads are omitted.
        unused: names of inputs that no node reads, and that the model has. Such a model has a later opset.
        read: names of inputs that another node reads after these nodes.
    """
    made: list[onnx.NodeProto] = []
    results: dict[str, Array] = {}
    used = {*unused}
    opsets = {"": LATER_OPSETS[1]} if unused else {}
    for node in nodes:
        optimizer = TRAINING_OPTIMIZERS[node.op_type]
        opsets[optimizer.domain] = optimizer.version
        count = (len(node.inputs) - 2) // len(optimizer.operands)
        X = [{**operands, **results}[operand] for operand in node.inputs[2 : 2 + count]]
        own = {
            f"{result}_{node.label}" if count == 1 else f"{result[0]}{number}{result[1:]}_{node.label}": X[number - 1]
            for result in optimizer.results
            for number in range(1, count + 1)
        }
        made.append(helper.make_node(node.op_type, node.inputs, list(own), domain=optimizer.domain, **node.attributes))
        results |= own
        used.update(node.inputs)
    taken = {operand: array for operand, array in operands.items() if operand in used}
    return build_in_context(name, Fragment(tuple(made), taken, results, opsets), Context(shared=tuple(read)))
