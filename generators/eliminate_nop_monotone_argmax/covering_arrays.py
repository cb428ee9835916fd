"""Covering arrays of the texts of cases that have a case for each row, and columns that follow from a row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from conformance.base.verdicts import Level
from conformance.corpus.factors.covering_array import LevelCombination
from generators.declarations.family import FamilyDeclaration, Omission
from generators.eliminate_nop_monotone_argmax.pass_scenario import PASS_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.corpus.factors.covering_array import Row


@dataclass(frozen=True)
class TextRows:
    """The rows of a text.

    Attributes:
        declaration: the factors.
        columns: function that returns further columns of a row.
    """

    declaration: FamilyDeclaration
    columns: Callable[[Row], Row] = dict


DOUBTFUL = {"imports": ("lower_last", "by_name_too"), "training": ("reads_result",)}
"""Levels that only `should` cases have, by factor.

Of several imports, the highest counts according to onnx.proto, but onnx's checker uses the last. The specification does
not mention the name ai.onnx for the main domain, but the checker accepts it. It does not forbid a graph optimizer to
remove training information, and with it a use of a value.
"""

OUTSIDE: Row = {
    "before": "none",
    "between": "none",
    "axis": "same",
    "imports": "once",
    "declared": "nothing",
    "annotated": "nothing",
    "training": "absent",
}
"""Levels of the factors that a declaration does not have."""


def combined_declaration() -> FamilyDeclaration:
    """Return the factors of the graph: the operator, its neighbours, its operand, twins, and the opset imports."""
    return FamilyDeclaration(
        factors={
            "operator": (
                *PASS_OPERATORS.values(),
                "neg_twice",
                "cast",
                "lp_normalization",
                "layer_normalization",
                "batch_normalization",
            ),
            "before": ("none", "neg_twice", "cast", "transpose", "reshape", "lp_normalization"),
            "between": ("none", "cast", "transpose", "reshape", "flatten", "unsqueeze", "neg_twice"),
            "axis": ("same", "negative", "other"),
            "operand": ("input", "initializer", "shared_initializer", "default"),
            "beside": ("nothing", "twin", "read_twin", "twin_in_branch"),
            "imports": ("once", "twice", "lower_first", "lower_last", "by_name_too"),
        },
        forbidden=(
            LevelCombination(
                {"axis": ("other",), "operator": ("exp", "log", "sqrt", "neg_twice", "cast")},
                "These operators have no axis.",
            ),
            LevelCombination(
                {"axis": ("other",), "operator": ("layer_normalization", "batch_normalization")},
                "The axes of these operators are fixed.",
            ),
            LevelCombination(
                {"operator": ("layer_normalization",), "before": ("cast",)},
                "LayerNormalization of double computes in float, by default.",
            ),
            LevelCombination(
                {"operator": ("layer_normalization",), "imports": ("lower_first", "lower_last")},
                "Below opset 17 there is no LayerNormalization.",
            ),
        ),
        omissions=(
            Omission("external data", "The interface of a graph optimizer has no folder that files are relative to."),
        ),
    )


def annotated_declaration() -> FamilyDeclaration:
    """Return the factors of the information about values, and of the graph around it."""
    return FamilyDeclaration(
        factors={
            "operator": ("exp", "softmax", "neg_twice"),
            "operand": ("input", "shared_initializer"),
            "beside": ("nothing", "twin", "read_twin"),
            "declared": ("nothing", "removed", "all", "prefixes"),
            "annotated": ("nothing", "removed", "all", "shared_parameters"),
            "training": ("absent", "reads_operand", "reads_result", "has_pair", "several"),
        },
    )


def two_axes_declaration() -> FamilyDeclaration:
    """Return the factors of the family `two_axes`: a normalization that two nodes read along different axes."""
    return FamilyDeclaration(
        {
            "operator": ("softmax", "log_softmax"),
            "second": ("argmax", "argmin", "argmax_in_branch"),
            "order": ("pair_first", "pair_last"),
        }
    )


def _combined_columns(levels: Row) -> Row:
    """Return what the pass does to the model of a row of `combined` or `annotated`, and the element types."""
    row = {**OUTSIDE, **levels}
    is_one_of_five = row["operator"] in PASS_OPERATORS.values()
    is_removable = is_one_of_five and row["axis"] != "other"
    removed = ["Y"] if is_removable and row["between"] == "none" and row["training"] != "reads_result" else []
    twins = {"twin": "Y2", "twin_in_branch": "index2/then_branch/Y_in"}
    removed += [twins[row["beside"]]] if is_removable and row["beside"] in twins else []
    source_type = "double" if row["before"] == "cast" else "float"
    result_type = "double" if row["operator"] == "cast" else source_type
    is_doubtful = any(row[factor] in levels for factor, levels in DOUBTFUL.items())
    return {
        **OUTSIDE,
        "family": "annotated" if "training" in levels else "combined",
        "clauses": ", ".join(_combined_clauses(row, removes=bool(removed))),
        "effect": f"removes {', '.join(removed)}" if removed else "stays",
        "verb": "is removed" if "Y" in removed else "stays",
        "level": Level.SHOULD if is_doubtful else Level.MUST,
        "source_type": source_type,
        "result_type": result_type,
        "cast_to": "1" if result_type == "double" else "11",
    }


def _combined_clauses(row: Row, *, removes: bool) -> list[str]:
    clauses = ["fires"] if removes else []
    if row["operator"] not in PASS_OPERATORS.values():
        clauses.append("other_producer")
    elif row["between"] != "none":
        clauses.append("adjacent")
    elif row["axis"] == "other":
        clauses.append("axis")
    if row["training"] == "reads_result" or row["beside"] == "read_twin":
        clauses.append("other_use")
    if row["beside"] == "twin_in_branch":
        clauses.append("subgraph")
    clauses += [row["operator"]] if row["operator"] in PASS_OPERATORS.values() else []
    return [*clauses, "preservation"]


DECLARED = {
    **dict.fromkeys(("B", "y", "Y2", "XY", "constant", "W", "element", "largest", "captured"), "float[2,3]"),
    "open": "float[?,?]",
    "scalar": "float",
    "without_shape": "float[]",
    "sequence": "seq(float[2,3])",
    "index": "int64[2]",
}
"""Types of the declared values of the family `declared`, without the removed value."""

INDEX_SIZES = {
    "all_defaults": "1,3",
    "default_axis": "1,3",
    "default_keepdims": "2,1",
    "default_select": "2,1",
    "others": "2",
}
"""Sizes of the index by level of the attributes of ArgMax."""

USES = {
    "captured_and_output": (1, True, False),
    "captured_twice": (2, False, False),
    "captured_and_read": (1, False, True),
    "output_and_read": (0, True, True),
    "all": (2, True, True),
}
"""Uses of a value besides those in the pair: by how many branches, as output of the graph, and by another node."""

SIZES = {"1": ("1", "1"), "3": ("3", "3"), "5": ("5", "5"), "symbolic": ("3", "N"), "open": ("3", "?")}
"""Size of both axes, and how the model declares it, by level."""


def declared_declaration() -> FamilyDeclaration:
    """Return the factors of the family `declared`: many declared or annotated values, of which the pass removes one."""
    return FamilyDeclaration(
        {
            "operator": ("exp", "softmax", "sqrt"),
            "entries": ("value_info", "annotations", "both"),
            "place": ("first", "middle", "last"),
            "scope": ("main", "branch"),
        }
    )


def sparse_declaration() -> FamilyDeclaration:
    """Return the factors of the family `sparse`: sparse initializers beside the pair."""
    return FamilyDeclaration(
        {"operator": ("exp", "softmax"), "sparse": ("several", "equal", "coordinates"), "scope": ("main", "branch")},
        omissions=(
            Omission("a sparse initializer that a node reads", "ONNX's shape inference refuses it as an operand."),
        ),
    )


def defaults_declaration() -> FamilyDeclaration:
    """Return the factors of the family `defaults`: attributes of ArgMax with default values, written or left out."""
    return FamilyDeclaration(
        {
            "operator": ("exp", "softmax", "log_softmax"),
            "attributes": tuple(INDEX_SIZES),
            "opset": ("13", "12"),
            "scope": ("main", "branch"),
        },
        forbidden=(
            LevelCombination(
                {
                    "operator": ("softmax", "log_softmax"),
                    "attributes": ("all_defaults", "default_axis"),
                    "opset": ("12",),
                },
                "Below opset 13, axis 0 normalizes all dimensions together.",
            ),
        ),
    )


def read_declaration() -> FamilyDeclaration:
    """Return the factors of the family `read`: several uses of the operand, of the removed value, or of the index."""
    return FamilyDeclaration(
        {
            "operator": ("exp", "log", "softmax"),
            "value": ("operand", "result", "index"),
            "uses": tuple(USES),
            "scope": ("main", "branch"),
        }
    )


def equal_sizes_declaration() -> FamilyDeclaration:
    """Return the factors of the family `equal_sizes`: different axes of one size."""
    return FamilyDeclaration(
        {
            "operator": ("softmax", "log_softmax"),
            "size": tuple(SIZES),
            "rank": ("2", "3"),
            "scope": ("main", "branch"),
        }
    )


def _output_columns(outputs: Mapping[str, str]) -> Row:
    """Return the outputs of a graph, and those of an If with the graph as one of its branches.

    Args:
        outputs: types of the outputs by name.
    """
    types = list(outputs.values())
    fixed = [re.sub(r"[A-Z?]", "0", type) for type in types]  # the branch that is not taken has tensors of zeros
    zeros = [", ".join(["0"] * prod(int(size) for size in re.findall(r"[\[,](\d+)", type))) for type in fixed]
    return {
        "outputs": ", ".join(f"{type} {name}" for name, type in outputs.items()),
        "results": ", ".join(f"Z{number}" for number in range(len(types))),
        "outputs_of_if": ", ".join(f"{type} Z{number}" for number, type in enumerate(types)),
        "outputs_of_else": ", ".join(f"{type} instead_{number}" for number, type in enumerate(fixed)),
        "else_nodes": "\n".join(
            f"instead_{number} = Constant <value = {type} {{{elements}}}> ()"
            for number, (type, elements) in enumerate(zip(fixed, zeros, strict=True))
        ),
    }


def _declared_columns(row: Row) -> Row:
    names = list(DECLARED)
    names.insert({"first": 0, "middle": len(names) // 2, "last": len(names)}[row["place"]], "Y")
    return {
        "declared": ", ".join(f"{DECLARED.get(name, 'float[2,3]')} {name}" for name in names),
        "annotated": ", ".join(name for name in names if name != "sequence"),
        **_output_columns({"index": "int64[2]", "largest": "float[2,3]", "captured": "float[2,3]"}),
    }


def _read_columns(row: Row) -> Row:
    used = {"operand": "B", "result": "Y", "index": "index"}[row["value"]]
    type = "int64[2]" if used == "index" else "float[2,3]"
    captures, is_output, is_read = USES[row["uses"]]
    outputs = {} if used == "index" and not is_output else {"index": "int64[2]"}
    outputs |= {f"captured_{number}": type for number in range(captures)}
    outputs |= {"read": type} if is_read else {}
    outputs |= {used: type} if is_output else {}
    stays = used == "Y"
    return {
        "used": used,
        "type": type,
        "clause": "fires" if not stays else "capture" if captures else "other_use",
        "effect": "stays" if stays else "removes $removed",
        "verb": "stays" if stays else "is removed",
        **_output_columns(outputs),
    }


def _equal_sizes_columns(row: Row) -> Row:
    size, declared = SIZES[row["size"]]
    rest = "" if row["rank"] == "2" else ",2"
    return {
        "fed_sizes": f"{size},{size}{rest}",
        "declared_sizes": f"{declared},{declared}{rest}",
        **_output_columns({"index": f"int64[{declared}{rest}]"}),
    }


ARRAYS: Mapping[str, Mapping[str, TextRows]] = {
    "not_injective": {"two_axes": TextRows(two_axes_declaration())},
    "neighbours": {
        "declared": TextRows(declared_declaration(), _declared_columns),
        "sparse": TextRows(sparse_declaration(), lambda _: _output_columns({"index": "int64[2]", "sum": "float[2,3]"})),
        "defaults": TextRows(
            defaults_declaration(), lambda row: _output_columns({"index": f"int64[{INDEX_SIZES[row['attributes']]}]"})
        ),
        "read": TextRows(read_declaration(), _read_columns),
        "equal_sizes": TextRows(equal_sizes_declaration(), _equal_sizes_columns),
    },
    "combined": {
        "combined": TextRows(combined_declaration(), _combined_columns),
        "annotated": TextRows(annotated_declaration(), _combined_columns),
    },
}
"""Rows by the text and the name of the table in it."""
