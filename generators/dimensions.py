"""Cases that are rows of the declarations in `conformance.dimensions`, and what those leave out as silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.corpus.case import Case
from conformance.dimensions.covering import covering_rows
from conformance.dimensions.families import FAMILIES
from conformance.dimensions.numbers import COUNTS, RATES
from conformance.dimensions.training import FUNCTIONS, TENSORS
from conformance.reference.oracle import answers
from conformance.verdicts import Level
from generators.training_optimizers.table import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.dimensions.contexts import Built
    from conformance.dimensions.factors import Row
    from generators.training_optimizers.operator import Operator


PLACE_WORDS = {
    "main": "in the main graph",
    "if_then": "in the taken branch of an If",
    "if_else": "in an If's else_branch",
    "loop": "in a Loop that carries its results",
    "scan": "in a Scan over its rows",
    "if_in_loop": "in an If in a Loop",
    "function": "in a function with defaults",
    "function_twice": "in a function that is called twice",
    "function_in_function": "in a function that a function calls",
}

ORIGIN_WORDS = {
    "input": "fed",
    "initializer": "an initializer",
    "overridable": "an initializer that is an input too",
    "constant": "a Constant",
    "rearranged": "rearranged",
    "part": "a part of something larger",
}

USE_WORDS = {
    "output": "an output",
    "unused": "unused",
    "read_too": "an output and read",
    "identity": "passed through Identity",
    "captured": "captured by an If",
    "sequence": "passed through a sequence",
}


@dataclass(frozen=True)
class Wording:
    """How cases of a family are called.

    Attributes:
        id: the factors whose values are the last words of an id; the row's number comes before them.
        title: what a case shows, after the operator's name.
        clauses: without the operator's prefix, the chief one first.
    """

    id: tuple[str, ...]
    title: Callable[[Row], str]
    clauses: Callable[[Operator, Row], tuple[str, ...]]


def _placed_title(row: Row) -> str:
    origins = [f"{factor[7:]} {ORIGIN_WORDS[row[factor]]}" for factor in row if factor.startswith("origin_")]
    uses = [f"{factor[4:]} {USE_WORDS[row[factor]]}" for factor in row if factor.startswith("use_")]
    rest = ", ".join(f"{name} {row[name]}" for name in ("tensors", "nodes", "types", "read_by_another"))
    return f"computes as anywhere {PLACE_WORDS[row['place']]}: {', '.join([*origins, *uses])} ({rest})"


def _placed_clauses(operator: Operator, row: Row) -> tuple[str, ...]:
    several = len(TENSORS[row["tensors"]]) > 1
    has_defaults = row["place"] in FUNCTIONS and operator.signature.defaults
    return (
        operator.step,
        "operands",
        "results",
        *(["several_tensors"] if several else []),
        *(["function_attributes"] if has_defaults else []),
        *(["pure"] if row["read_by_another"] != "none" else []),
    )


def _numbers_title(row: Row) -> str:
    counts = ", ".join(str(T) for T in COUNTS[row["T"]])
    given = ", ".join(f"{name} {value}" for name, value in row.items() if name not in {"T", "R"})
    return f"computes with T = {counts} and R = {RATES[row['R']]:g}: {given}"


WORDINGS: Mapping[str, Wording] = {
    "placed": Wording(("place", "tensors", "types"), _placed_title, _placed_clauses),
    "numbers": Wording(
        ("T", "types"),
        _numbers_title,
        lambda operator, _: (operator.step, "attribute_type", "update_count_type"),
    ),
    "extreme": Wording(
        ("scalar", "extreme", "T", "types"),
        lambda row: f"computes with {row['scalar']} of {row['extreme']} value at T = {row['T']} in {row['types']}",
        lambda operator, _: (operator.step, "attribute_type"),
    ),
    "lengths": Wording(
        ("lengths", "types"),
        lambda row: f"updates short and long tensors beside each other ({row['lengths']}, {row['types']})",
        lambda *_: ("several_tensors", "elementwise"),
    ),
    "constants": Wording(
        ("constant", "origin", "types"),
        lambda row: (
            f"computes with {row['constant'].replace('_', ' ')} {ORIGIN_WORDS[row['origin']]}, of shape {row['shape']},"
            f" values {row['values']}, in {row['types']}"
        ),
        lambda operator, _: (operator.step, "operands", "results"),
    ),
    "readers": Wording(
        ("read_by_another", "types"),
        lambda row: f"leaves what another node reads as well as it was: {row['read_by_another']}, in {row['types']}",
        lambda operator, _: ("pure", operator.step),
    ),
    "many_tensors": Wording(
        ("tensors", "shapes", "types"),
        lambda row: f"takes {row['tensors']} tensors of {row['shapes']} shapes in {row['types']}, each with its state",
        lambda *_: ("several_tensors", "operands", "results"),
    ),
}


def cases() -> Iterator[Case]:
    """All of them."""
    for operator in OPERATORS:
        for name, family in FAMILIES.items():
            for number, row in enumerate(covering_rows(family.declaration(operator.name)), 1):
                yield _case(operator, name, number, row)
        yield from _apart(operator)


def _case(operator: Operator, family: str, number: int, row: Row) -> Case:
    wording = WORDINGS[family]
    last = "_".join(row[factor] for factor in wording.id).lower()
    id = f"test_{operator.prefix}_{family}_{number:03}_{last}"
    built = FAMILIES[family].built(operator.name, id, row)
    level = _level(built) if family == "extreme" else Level.MUST
    own = row["types"].split("_", maxsplit=1)[0]
    return Case(
        id=id,
        title=f"{operator.name} {wording.title(row)}",
        level=level,
        clauses=_prefixed(operator, *([] if level is Level.MUST else ["ieee"]), *wording.clauses(operator, row)),
        tags=(operator.prefix, own, family, *(f"{factor}={value}" for factor, value in row.items())),
        model=built.model,
        data_sets=built.data_sets,
    )


def _level(built: Built) -> Level:
    """`must` where every admissible evaluation agrees but for rounding, as the oracle says of the serialised model."""
    every = (answer for inputs in built.data_sets for answer in answers(built.model, inputs, Level.MUST))
    return Level.SHOULD if any(answer.unsettled for answer in every) else Level.MUST


def _prefixed(operator: Operator, *clauses: str) -> tuple[str, ...]:
    return tuple(f"{operator.prefix}.{clause}" for clause in clauses)


def _apart(operator: Operator) -> Iterator[Case]:
    """What the declaration of `placed` leaves out because no text decides what a runtime must do."""
    factors = FAMILIES["placed"].declaration(operator.name).factors
    for name, (level, title, row, change) in APART.items():
        id = f"test_{operator.prefix}_{name}_float"
        built = FAMILIES["placed"].built(
            operator.name, id, {**{factor: values[0] for factor, values in factors.items()}, **row}
        )
        model = onnx.load_model_from_string(built.model)
        change(model.graph)
        yield Case(
            id=id,
            title=f"{operator.name} {title}",
            level=level,
            clauses=_prefixed(operator, "results" if name == "result_without_a_name" else "operands"),
            tags=(operator.prefix, "float", "apart"),
            model=model.SerializeToString(deterministic=True),
            data_sets=built.data_sets,
        )


def _without_a_name(graph: onnx.GraphProto) -> None:
    graph.node[0].output[0] = ""
    del graph.output[0]


def _of_one_name(graph: onnx.GraphProto) -> None:
    for node in graph.node:
        node.name = "step"


def _sparse(graph: onnx.GraphProto) -> None:
    """The first initializer as a sparse one, of which every element is stored."""
    X = numpy_helper.to_array(graph.initializer[0])
    places = numpy_helper.from_array(np.arange(X.size), f"{graph.initializer[0].name}_places")
    values = numpy_helper.from_array(X.reshape(-1), graph.initializer[0].name)
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, X.shape))
    del graph.initializer[0]


APART: Mapping[str, tuple[Level, str, Row, Callable[[onnx.GraphProto], None]]] = {
    "result_without_a_name": (
        Level.SILENT,
        "with an X_new without a name, which ONNX has for results that are optional, as these are not",
        {},
        _without_a_name,
    ),
    "nodes_of_one_name": (
        Level.SILENT,
        "twice under one name, which ONNX asks to be another for each node of a graph",
        {"nodes": "other_t"},
        _of_one_name,
    ),
    "sparse_initializer": (
        Level.SILENT,
        "with a sparse initializer as X, a tensor to ONNX's checker and none to its shape inference",
        {"origin_X": "initializer"},
        _sparse,
    ),
    "main_domain_by_name": (
        Level.SHOULD,
        "beside operators of the main domain, which the model imports under its name, ai.onnx",
        {"origin_X": "rearranged", "imports": "main_by_name"},
        lambda _: None,
    ),
}
"""By name: level, title, what differs from the first value of each factor, and what is done to the graph then."""
