"""Cases of the training optimizers' families: one case for each row of a family's covering array.

`generators.declarations.families` declares the families.

The module also has special cases for variations that the declaration of `placed` omits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.training_factors import USUAL_ATTRIBUTES
from conformance.exact.reference.oracle import answers
from generators.declarations.families import TRAINING_FAMILIES
from generators.declarations.numbers import LEARNING_RATES, SPARSE_SOURCES, UPDATE_COUNTS
from generators.declarations.training_dimensions import FUNCTION_SCOPES, TENSOR_SHAPES
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.factors.covering_array import Row
    from conformance.corpus.factors.wrapping import BuiltModel
    from generators.training_optimizers.operator import Operator


SCOPE_PHRASES = {
    "main": "in the main graph",
    "if_then": "in the taken branch of an If",
    "if_else": "in an If's else_branch",
    "loop": "in a Loop that carries its results",
    "scan": "in a Scan over its rows",
    "if_in_loop": "in an If in a Loop",
    "function": "in a function with defaults",
    "function_twice": "in a function that is called twice",
    "function_in_function": "in a function that a function calls",
    "loop_invariant": "in a Loop with captured operands",
    "if_both": "in both branches of an If",
}
"""Descriptions of the levels of `scope`, for titles."""

SOURCE_PHRASES = {
    "input": "fed",
    "initializer": "an initializer",
    "overridable": "an initializer that is an input too",
    "constant": "a Constant",
    "rearranged": "rearranged",
    "part": "a part of something larger",
    "sparse_coordinates": "a sparse Constant with coordinates",
    "alias": "a second name of a value that is read later",
    "aliased": "a value that is read later by a second name",
    "sparse_constant": "a sparse Constant",
    "overridden": "fed in place of an initializer",
}
"""Descriptions of the levels of `source_*`, for titles."""

CONSUMER_PHRASES = {
    "output": "an output",
    "unused": "unused",
    "read_too": "an output and read",
    "identity": "passed through Identity",
    "captured": "captured by an If",
    "sequence": "passed through a sequence",
    "reshaped": "reshaped",
}


@dataclass(frozen=True)
class FamilyText:
    """Ids, titles and clauses of the cases of a family.

    Attributes:
        id: factors whose levels end the id of a case, after the number of the row.
        title: function that returns the part of the title after the operator's name.
        clauses: function that returns the tested clauses without the operator's prefix, the main one first.
    """

    id: tuple[str, ...]
    title: Callable[[Row], str]
    clauses: Callable[[Operator, Row], tuple[str, ...]]


def _placed_title(row: Row) -> str:
    sources = _phrases(row, "source_", SOURCE_PHRASES)
    consumers = _phrases(row, "consumer_", CONSUMER_PHRASES)
    rest = ", ".join(f"{name} {row[name]}" for name in ("tensors", "nodes", "types", "read_by_another"))
    return f"computes the same {SCOPE_PHRASES[row['scope']]}: {', '.join([*sources, *consumers])} ({rest})"


def _phrases(row: Row, prefix: str, phrases: Mapping[str, str]) -> list[str]:
    """Return phrases for a title on each operand's source or each result's consumer, such as `X a Constant`.

    Args:
        row: the levels of all factors.
        prefix: start of the names of the factors to describe.
        phrases: phrase for each level.
    """
    return [
        f"{factor.removeprefix(prefix)} {phrases[level]}" for factor, level in row.items() if factor.startswith(prefix)
    ]


def _step(operator: Operator, row: Row) -> str:
    """Return the id of the clause about X_new, without the operator's prefix. Momentum has one for each mode."""
    mode = row.get("mode", USUAL_ATTRIBUTES[operator.name].get("mode"))
    return f"x_new_{mode}" if mode else operator.step


def _placed_clauses(operator: Operator, row: Row) -> tuple[str, ...]:
    several = len(TENSOR_SHAPES[row["tensors"]]) > 1
    has_defaults = row["scope"] in FUNCTION_SCOPES and operator.signature.defaults
    return (
        _step(operator, row),
        "operands",
        "results",
        *(["several_tensors"] if several else []),
        *(["function_attributes"] if has_defaults else []),
        *(["pure"] if row["read_by_another"] != "none" else []),
    )


def _numbers_title(row: Row) -> str:
    counts = ", ".join(str(T) for T in UPDATE_COUNTS[row["T"]])
    given = ", ".join(f"{name} {value}" for name, value in row.items() if name not in {"T", "R"})
    return f"computes with T = {counts} and R = {LEARNING_RATES[row['R']]:g}: {given}"


PROGRAM_PHRASES: Mapping[str, str] = {
    "memory": "keeps operands that are used later in a subgraph, by another name, or by another node",
    "several": "updates tensors of one node that share values, or of which one is made from another",
    "loops": "counts the iterations of a Loop, and keeps the values that its body exchanges or passes on",
    "scans": "gives the results of each iteration of a Scan in the stated order and axis",
    "functions": "computes in functions that call each other, or have constants, a branch or a Loop",
    "overloads": "computes in the called one of several functions of one name",
    "mixed": "updates float and double tensors in one node",
    "names": "takes its own operands although the names of values resemble each other",
    "planned": "computes with operands that other nodes share, scale or shift, and with nearly equal constants",
    "lengths": "updates every element of a long tensor after a short one, and of many tensors of many sizes",
    "shapes": "updates two tensors whose shapes differ from run to run",
    "nested": "takes R, T and G of each iteration of a Loop or Scan also in a Loop, Scan or If in it",
    "expanded": "does not change the elements that an expanded operand repeats",
}
"""Descriptions of the levels of `program`, for titles."""

FAMILY_TEXTS: Mapping[str, FamilyText] = {
    "placed": FamilyText(("scope", "tensors", "types"), _placed_title, _placed_clauses),
    "numbers": FamilyText(
        ("T", "types"),
        _numbers_title,
        lambda operator, row: (_step(operator, row), "attribute_type", "update_count_type"),
    ),
    "extreme": FamilyText(
        ("scalar", "extreme", "T", "types"),
        lambda row: f"computes with {row['scalar']} of {row['extreme']} value at T = {row['T']} in {row['types']}",
        lambda operator, row: (_step(operator, row), "attribute_type"),
    ),
    "lengths": FamilyText(
        ("lengths", "types"),
        lambda row: f"updates short and long tensors in one node ({row['lengths']}, {row['types']})",
        lambda *_: ("several_tensors", "elementwise"),
    ),
    "constants": FamilyText(
        ("constant", "source", "types"),
        lambda row: (
            f"computes with {row['constant'].replace('_', ' ')} {SOURCE_PHRASES[row['source']]}, of shape "
            f"{row['shape']},"
            f" values {row['values']}, in {row['types']}"
        ),
        lambda operator, row: (
            _step(operator, row),
            "operands",
            "results",
            *(["sparse_constant"] if row["source"] in SPARSE_SOURCES else []),
        ),
    ),
    "readers": FamilyText(
        ("types",),
        lambda row: f"does not change operands that another node reads, in {row['types']}",
        lambda operator, row: ("pure", _step(operator, row)),
    ),
    "aliases": FamilyText(
        ("operand", "alias", "side", "types"),
        lambda row: (
            f"does not overwrite {row['operand']}, whose memory may have a second name ({row['alias']}; it reads the "
            f"{row['side']}, a later node the other), in {row['types']}"
        ),
        lambda operator, row: ("pure", _step(operator, row)),
    ),
    "shared": FamilyText(
        ("types",),
        lambda row: f"computes with one value as several operands of a tensor, in {row['types']}",
        lambda operator, row: (_step(operator, row), "operands", "results"),
    ),
    "after_empty": FamilyText(
        ("types",),
        lambda row: f"updates small tensors after empty ones in one node, in {row['types']}",
        lambda *_: ("several_tensors", "elementwise"),
    ),
    "repeated": FamilyText(
        ("types",),
        lambda row: f"updates two tensors with one value as the same operand of both, in {row['types']}",
        lambda *_: ("several_tensors", "operands", "pure"),
    ),
    "names": FamilyText(
        ("names", "scope", "types"),
        lambda row: (
            f"takes its own operands if the names of values are of the kind {row['names'].replace('_', ' ')}"
            f" ({row['tensors']} tensor, scope {row['scope']}, {row['types']})"
        ),
        lambda operator, row: ("value_names", _step(operator, row)),
    ),
    "fed_defaults": FamilyText(
        ("fed", "types"),
        lambda row: f"computes with the fed value of {row['fed'].replace('_', ' ')} instead of its initializer",
        lambda operator, row: ("fed_default", _step(operator, row)),
    ),
    "own_attributes": FamilyText(
        ("order", "types"),
        lambda row: f"nodes of one model use their own attributes ({row['order'].replace('_', ' ')}, {row['types']})",
        lambda operator, row: (
            _step(operator, row),
            *(["x_new_standard", "mode"] if "mode" in operator.usual else []),
            *(f"{name}_default" for name in operator.signature.defaults),
        ),
    ),
    "counts": FamilyText(
        ("scalar", "types"),
        lambda row: f"uses all digits of T, with a value of {row['scalar']} for which they matter, in {row['types']}",
        lambda operator, row: ("update_count_type", _step(operator, row)),
    ),
    "zero_weights": FamilyText(
        ("types",),
        lambda row: f"multiplies infinities and NaN by a weight of 0 as IEEE 754 does, in {row['types']}",
        lambda operator, row: (
            "ieee",
            _step(operator, row),
            *(clause for clause in operator.state if clause != operator.step),
        ),
    ),
    "calls": FamilyText(
        ("calls", "types"),
        lambda row: {
            "operator_name": "computes its own results after a function of its name with values of the same names",
            "branch": "uses the attributes of a function's call in a branch of an If in the function",
        }.get(row["calls"], f"computes each call of a function with the call's own {row['calls']}"),
        lambda operator, row: (
            _step(operator, row),
            *(
                ["function_attributes"]
                if row["calls"] in {"attributes", "branch"} and operator.signature.defaults
                else []
            ),
        ),
    ),
    "uses": FamilyText(
        ("uses", "types"),
        lambda row: (
            {
                "one_tensor": "updates a tensor with one value as two operands, without regularization",
                "two_tensors": "updates two tensors with one value as different operands of them",
                "rate": "updates a tensor with one value as R and as an operand",
            }[row["uses"]]
            + f", in {row['types']}"
        ),
        lambda operator, row: ("pure", _step(operator, row), "operands"),
    ),
    "broadcast": FamilyText(
        ("types",),
        lambda row: f"broadcasts G of several shapes to the shape of X, in {row['types']}",
        lambda *_: ("broadcasting",),
    ),
    "iterations": FamilyText(
        ("scope",),
        lambda row: "takes R, T and G of each iteration of a {} in {}".format(*row["scope"].capitalize().split("_")),
        lambda operator, _: ("pure", "scalars", operator.step),
    ),
    "hundreds_of_tensors": FamilyText(
        ("types",),
        lambda row: f"updates hundreds of tensors in one node, in {row['types']}",
        lambda *_: ("several_tensors", "operands", "results"),
    ),
    "alike": FamilyText(
        ("nodes", "types"),
        lambda row: (
            (
                "computes each of several nodes that differ in one input"
                if row["nodes"] == "one_input"
                else "computes beside nodes of the other optimizers with the same operands"
            )
            + f", in {row['types']}"
        ),
        lambda operator, row: ("pure", _step(operator, row), "operands"),
    ),
    "later_uses": FamilyText(
        ("types",),
        lambda row: f"does not change operands that are outputs or that a later branch captures, in {row['types']}",
        lambda operator, row: ("pure", _step(operator, row)),
    ),
    "control_flow": FamilyText(
        ("types",),
        lambda row: (
            f"takes the constants of its own branch, and runs as often as the trip count and the condition of a Loop"
            f" require, in {row['types']}"
        ),
        lambda operator, row: ("pure", _step(operator, row), "operands"),
    ),
    "programs": FamilyText(
        ("program", "types"),
        lambda row: f"{PROGRAM_PHRASES[row['program']]}, in {row['types']}",
        lambda operator, row: ("pure", _step(operator, row), "operands", "results"),
    ),
    "views": FamilyText(
        ("types",),
        lambda row: f"takes operands that are reversed, spaced, expanded or transposed, in {row['types']}",
        lambda operator, row: ("operands", "elementwise", _step(operator, row)),
    ),
    "close_attributes": FamilyText(
        ("types",),
        lambda row: f"nodes of one model use their own attributes, which differ by 2e-7, in {row['types']}",
        lambda operator, row: (_step(operator, row), "attribute_type"),
    ),
    "stored_state": FamilyText(
        ("values", "types"),
        lambda row: (
            f"updates the {row['values']} of two sets of initializers twice with the same results, in {row['types']}"
        ),
        lambda operator, row: ("pure", _step(operator, row), "operands"),
    ),
    "many_tensors": FamilyText(
        ("tensors", "shapes", "types"),
        lambda row: f"takes {row['tensors']} tensors of {row['shapes']} shapes in {row['types']}, each with its state",
        lambda *_: ("several_tensors", "operands", "results"),
    ),
}


SHOULD_FAMILIES = ("fed_defaults", "zero_weights", "broadcast")
"""Families of level `should`."""


def cases() -> Iterator[Case]:
    """Yield the cases of all families and the special cases."""
    for operator in OPERATORS:
        for name, family in TRAINING_FAMILIES.items():
            for number, row in enumerate(family.declaration(operator.name).rows, 1):
                yield _case(operator, name, number, row)
        yield from _special_cases(operator)


def _case(operator: Operator, family: str, number: int, row: Row) -> Case:
    wording = FAMILY_TEXTS[family]
    last = "_".join(row[factor] for factor in wording.id).lower()
    id = f"test_{operator.prefix}_{family}_{number:03}_{last}"
    built = TRAINING_FAMILIES[family].build(operator.name, id, row)
    level = _level(built) if family == "extreme" else Level.SHOULD if family in SHOULD_FAMILIES else Level.MUST
    leading = ["ieee"] if family == "extreme" and level is not Level.MUST else []
    own = (row.get("types") or row["scope"].rsplit("_", maxsplit=1)[-1]).split("_", maxsplit=1)[0]
    return Case(
        id=id,
        title=f"{operator.name} {wording.title(row)}",
        level=level,
        clauses=_prefixed(operator, *leading, *wording.clauses(operator, row)),
        tags=(operator.prefix, own, family, *(f"{factor}={value}" for factor, value in row.items())),
        model=built.model,
        data_sets=built.data_sets,
    )


def _level(built: BuiltModel) -> Level:
    """Return `must` if all admissible evaluations of a model agree except for rounding, otherwise `should`."""
    outputs = (answer for inputs in built.data_sets for answer in answers(built.model, inputs, Level.MUST))
    return Level.SHOULD if any(answer.indeterminacy for answer in outputs) else Level.MUST


def _prefixed(operator: Operator, *clauses: str) -> tuple[str, ...]:
    return tuple(f"{operator.prefix}.{clause}" for clause in clauses)


def _special_cases(operator: Operator) -> Iterator[Case]:
    """Yield cases for variations that `placed` omits, because the specification does not define their results."""
    factors = TRAINING_FAMILIES["placed"].declaration(operator.name).factors
    for name, (level, title, row, change) in SPECIAL_CASES.items():
        id = f"test_{operator.prefix}_{name}_float"
        built = TRAINING_FAMILIES["placed"].build(
            operator.name, id, {**{factor: values[0] for factor, values in factors.items()}, **row}
        )
        model = onnx.load_model_from_string(built.model)
        change(model.graph)
        yield Case(
            id=id,
            title=f"{operator.name} {title}",
            level=level,
            clauses=_prefixed(operator, SPECIAL_CLAUSES.get(name, "operands")),
            tags=(operator.prefix, "float", "apart"),
            model=model.SerializeToString(deterministic=True),
            data_sets=built.data_sets,
            full_check_exception="shape inference takes no sparse tensor" if model.graph.sparse_initializer else "",
        )


def _remove_result_name(graph: onnx.GraphProto) -> None:
    graph.node[0].output[0] = ""
    del graph.output[0]


def _set_equal_node_names(graph: onnx.GraphProto) -> None:
    for node in graph.node:
        node.name = "step"


def _make_initializer_sparse_with_coordinates(graph: onnx.GraphProto) -> None:
    """Replace the first initializer by a sparse one that lacks every second element."""
    X = numpy_helper.to_array(graph.initializer[0])
    places = np.arange(0, X.size, 2)
    indices = numpy_helper.from_array(np.stack(np.unravel_index(places, X.shape), axis=1), "places")
    values = numpy_helper.from_array(X.reshape(-1)[places], graph.initializer[0].name)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, X.shape))
    del graph.initializer[0]


def _make_initializer_sparse(graph: onnx.GraphProto) -> None:
    """Replace the first initializer by a sparse one that stores every element."""
    X = numpy_helper.to_array(graph.initializer[0])
    places = numpy_helper.from_array(np.arange(X.size), f"{graph.initializer[0].name}_places")
    values = numpy_helper.from_array(X.reshape(-1), graph.initializer[0].name)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, X.shape))
    del graph.initializer[0]


SPECIAL_CASES: Mapping[str, tuple[Level, str, Row, Callable[[onnx.GraphProto], None]]] = {
    "result_without_a_name": (
        Level.SILENT,
        "with an unnamed X_new, although ONNX allows unnamed outputs only for optional results",
        {},
        _remove_result_name,
    ),
    "nodes_of_one_name": (
        Level.SILENT,
        "twice with the same node name, although ONNX requires unique node names",
        {"nodes": "other_t"},
        _set_equal_node_names,
    ),
    "sparse_initializer": (
        Level.SHOULD,
        "with a sparse initializer as X, which ONNX's checker accepts and ONNX's shape inference does not",
        {"source_X": "initializer"},
        _make_initializer_sparse,
    ),
    "sparse_initializer_with_coordinates": (
        Level.SHOULD,
        "with a sparse initializer as X whose indices are coordinates, and whose other elements are 0",
        {"source_X": "initializer"},
        _make_initializer_sparse_with_coordinates,
    ),
    "main_domain_by_name": (
        Level.SHOULD,
        "with operators of the main domain, which the model imports by the name ai.onnx",
        {"source_X": "rearranged", "imports": "main_by_name"},
        lambda _: None,
    ),
}
"""Special cases by name: level, title, levels that differ from the first level of each factor, change of the graph."""

SPECIAL_CLAUSES = {
    "result_without_a_name": "results",
    "nodes_of_one_name": "node_name",
    "sparse_initializer": "sparse_initializer",
    "sparse_initializer_with_coordinates": "sparse_initializer",
}
"""Clause of a special case by name; the clause of the others is `operands`."""
