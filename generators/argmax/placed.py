"""Cases of ArgMax's family `placed`, which vary the enclosing scope, the preceding operator and the attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from generators.declarations.argmax_dimensions import (
    DEFAULT_AXIS_PRODUCERS,
    PRODUCERS,
    SOURCE_LEVELS,
    argmax_placed_declaration,
    build_argmax_placed,
)
from generators.optimizer_covering_arrays import CONSUMER_PHRASES, SCOPE_PHRASES, SOURCE_PHRASES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.factors.covering_array import Row

OPSET_OF_ONE_AXIS = 13
"""First opset in which Softmax and LogSoftmax normalise along a single axis."""


def cases() -> Iterator[Case]:
    """Yield a case for each row of the covering array of `argmax_placed_declaration`."""
    for number, row in enumerate(argmax_placed_declaration().rows, 1):
        id = f"test_argmax_placed_{number:03}_{row['before']}_{row['scope']}_{row['type']}"
        built = build_argmax_placed(id, row)
        yield Case(
            id=id,
            title=_title(row),
            level=Level.MUST,
            clauses=_clauses(row),
            tags=("argmax", row["type"], f"opset_{row['opset']}", "placed", *(f"{name}={row[name]}" for name in row)),
            model=built.model,
            data_sets=built.data_sets,
        )


def _title(row: Row) -> str:
    chain = PRODUCERS[row["before"]]
    (source, stored) = SOURCE_LEVELS[row["source_X"]]
    along = " along its default axis" if row["before"] in DEFAULT_AXIS_PRODUCERS else ""
    whose = f" of {chain[0]}{along}" if chain else ""
    numbers = " of numbers" if stored == "typed" else ""
    rest = ", ".join(f"{name} {row[name]}" for name in ("shape", "axis", "values", "opset"))
    return (
        f"ArgMax{whose} gives the same index {SCOPE_PHRASES[row['scope']]}: X {SOURCE_PHRASES[source]}{numbers},"
        f" index {CONSUMER_PHRASES[row['consumer_index']]} ({rest})"
    )


def _clauses(row: Row) -> tuple[str, ...]:
    chain = PRODUCERS[row["before"]]
    if chain is None:
        return ("argmax.index", "argmax.data_type")
    coerced = chain[0].endswith("Softmax") and int(row["opset"]) < OPSET_OF_ONE_AXIS
    own = f"monotone.{row['before'].removesuffix('_coerced').removesuffix('_default')}"
    return (*(["monotone.coercion"] if coerced else []), own, "argmax.index")
