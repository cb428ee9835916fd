"""Cases of ArgMax's families of `generators.declarations.ranking`: one case for each row of a covering array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.wrapping import OPSET
from generators.declarations.families import RANKING_FAMILIES
from generators.declarations.ranking import COLUMNS, FLATTENING, INNER_SIZES, LONG_LENGTH, SPECIAL_PRODUCERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.corpus.factors.covering_array import Row


@dataclass(frozen=True)
class FamilyText:
    """Ids, titles and clauses of the cases of a family.

    Attributes:
        id: factors whose levels end the id of a case, after the number of the row.
        title: function that returns the title.
        clauses: function that returns the tested clauses, the main one first.
        level: function that returns the level.
    """

    id: tuple[str, ...]
    title: Callable[[Row], str]
    clauses: Callable[[Row], tuple[str, ...]]
    level: Callable[[Row], Level] = lambda _: Level.MUST


def _tie_clause(row: Row) -> str:
    return f"argmax.{'select_last_index' if row['select_last_index'] == '1' else 'first_index'}"


def _whose(row: Row) -> str:
    return "" if row["before"] == "none" else f" of {row['before'].replace('_', ' ')}"


FAMILY_TEXTS = {
    "integers": FamilyText(
        ("type", "values"),
        lambda row: (
            f"ArgMax distinguishes consecutive integers of type {row['type']} ({row['values'].replace('_', ' ')}) in"
            f" {row['length']} elements (the larger: {row['place']}, select_last_index {row['select_last_index']})"
        ),
        lambda row: ("argmax.index", "argmax.data_type", _tie_clause(row)),
    ),
    "zeros": FamilyText(
        ("type", "zeros"),
        lambda row: (
            f"ArgMax{_whose(row)} treats zeros of both signs of type {row['type']} as equal ({row['length']} elements"
            f" {row['zeros'].replace('_', ' ')}, select_last_index {row['select_last_index']})"
        ),
        lambda row: (
            _tie_clause(row),
            "argmax.data_type",
            *(["monotone.sqrt"] if row["before"] == "sqrt" else []),
        ),
    ),
    "narrow_ties": FamilyText(
        ("before", "type"),
        lambda row: (
            f"ArgMax{_whose(row)} distinguishes {row['length']} elements of type {row['type']} that are equal in a"
            f" narrower type (the largest: {row['place']}, select_last_index {row['select_last_index']})"
        ),
        lambda row: (
            *([f"monotone.{row['before']}"] if row["before"] != "none" else []),
            "argmax.index",
            "argmax.data_type",
        ),
    ),
    "special_values": FamilyText(
        ("before", "type"),
        lambda row: (
            f"ArgMax{_whose(row)} finds the largest element "
            + ("up to where results become equal, in" if row["before"] in FLATTENING else "over the whole range of")
            + f" type {row['type']}"
            + ("" if row["before"] in FLATTENING else ", with zeros and infinities")
            + f" (select_last_index {row['select_last_index']})"
        ),
        lambda row: (
            f"monotone.{'bounded' if row['before'] in FLATTENING else row['before']}",
            "argmax.index",
            _tie_clause(row),
        ),
    ),
    "names": FamilyText(
        ("names", "before"),
        lambda row: (
            f"ArgMax{_whose(row)} takes its own operand if the names of values are of the kind"
            f" {row['names'].replace('_', ' ')} (scope {row['scope']}, type {row['type']})"
        ),
        lambda row: (
            "argmax.value_names",
            "argmax.index",
            *(["monotone.exp"] if row["before"] != "none" else []),
        ),
    ),
    "attributes": FamilyText(
        ("shape", "type"),
        lambda row: (
            f"ArgMax nodes of one model use their own attributes (X of shape {row['shape']} and type {row['type']} with"
            f" ties, nodes {row['order']})"
        ),
        lambda _: (
            "argmax.axis",
            "argmax.negative_axis",
            "argmax.keepdims",
            "argmax.select_last_index",
            "argmax.first_index",
            "argmax.axis_default",
            "argmax.keepdims_default",
        ),
    ),
    "inner_sizes": FamilyText(
        ("type",),
        lambda row: (
            f"ArgMax gives the first and the last of equal maxima along a middle axis, before an axis of size"
            f" {INNER_SIZES[0]} to {INNER_SIZES[-1]}, in {row['type']}"
        ),
        lambda _: ("argmax.first_index", "argmax.select_last_index", "argmax.negative_axis", "argmax.data_type"),
    ),
    "many_axes": FamilyText(
        ("type",),
        lambda row: f"ArgMax gives the first and the last of equal maxima along each of 5 and 6 axes, in {row['type']}",
        lambda _: ("argmax.axis", "argmax.negative_axis", "argmax.select_last_index", "argmax.keepdims"),
    ),
    "transposed": FamilyText(
        ("type",),
        lambda row: f"ArgMax reduces each axis of a tensor that a Transpose permutes in a cycle, in {row['type']}",
        lambda _: ("argmax.axis", "argmax.negative_axis", "argmax.keepdims"),
    ),
    "infinite_blocks": FamilyText(
        ("type",),
        lambda row: f"ArgMax of normalized rows ignores whole blocks of -infinity, in {row['type']}",
        lambda _: ("monotone.softmax", "monotone.log_softmax", "argmax.index"),
    ),
    "scanned": FamilyText(
        ("type",),
        lambda row: f"ArgMax in a Scan gives the first and the last of equal maxima along each axis, in {row['type']}",
        lambda _: ("argmax.axis", "argmax.negative_axis", "argmax.select_last_index", "argmax.keepdims"),
    ),
    "many_columns": FamilyText(
        ("type",),
        lambda row: f"ArgMax gives the first and the last of equal maxima of {COLUMNS} columns, in {row['type']}",
        lambda _: ("argmax.first_index", "argmax.select_last_index", "argmax.axis"),
    ),
    "long_close": FamilyText(
        ("type",),
        lambda row: (
            f"ArgMax finds the largest of {LONG_LENGTH} close elements of the types {row['type']},"
            f" {row['others'].replace('+', ', ')}"
        ),
        lambda _: ("argmax.index", "argmax.data_type"),
    ),
    "typed": FamilyText(
        ("type", "axis"),
        lambda row: (
            f"ArgMax of type {row['type']} takes each attribute as the model gives it (X of shape"
            f" {row['shape'].replace('_', ' ')}, axis {row['axis'].replace('_', ' ')}, keepdims {row['keepdims']},"
            f" select_last_index {row['select_last_index']})"
        ),
        lambda row: (
            "argmax.data_type",
            f"argmax.{'axis_default' if row['axis'] == 'default' else 'axis'}",
            f"argmax.{'keepdims_default' if row['keepdims'] == 'default' else 'keepdims'}",
            _tie_clause(row),
            *(["argmax.negative_axis"] if row["axis"].startswith("minus") else []),
        ),
    ),
    "converted": FamilyText(
        ("type", "to"),
        lambda row: (
            f"ArgMax searches {row['length']} elements of type {row['type']} as Cast converts them to {row['to']}"
            f" (select_last_index {row['select_last_index']})"
        ),
        lambda row: ("argmax.index", "argmax.data_type", _tie_clause(row)),
        # the page states how Cast converts to integers, and not how it rounds to floating-point numbers
        lambda row: Level.MUST if "int" in row["to"] else Level.SHOULD,
    ),
    "normalized": FamilyText(
        ("rank", "before"),
        lambda row: (
            f"ArgMax along each axis searches {SPECIAL_PRODUCERS[row['before']]} along each other of {row['rank']} axes"
        ),
        lambda row: (f"monotone.{row['before']}", "argmax.axis", "argmax.negative_axis"),
    ),
    "iterated": FamilyText(
        ("scope", "inner", "trips"),
        lambda row: (
            f"ArgMax gives the index of each of {row['trips']} iterations of a {row['scope'].capitalize()}"
            + (
                ""
                if row["inner"] == "alone"
                else f", in an inner {row['inner'].capitalize()} that reads a value of the outer iteration"
            )
        ),
        lambda _: ("argmax.index", "argmax.first_index"),
    ),
}


def cases() -> Iterator[Case]:
    """Yield a case for each row of each family."""
    for family, (declaration, build) in RANKING_FAMILIES.items():
        text = FAMILY_TEXTS[family]
        for number, row in enumerate(declaration.rows, 1):
            id = f"test_argmax_{family}_{number:03}_{'_'.join(row[factor] for factor in text.id)}"
            built = build(id, row)
            yield Case(
                id=id,
                title=text.title(row),
                level=text.level(row),
                clauses=text.clauses(row),
                tags=("argmax", row["type"], f"opset_{OPSET}", family, *(f"{name}={row[name]}" for name in row)),
                model=built.model,
                data_sets=built.data_sets,
            )
