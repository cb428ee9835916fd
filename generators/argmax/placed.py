"""Cases of ArgMax, with and without an operator before it, as rows of `conformance.dimensions.argmax`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.corpus.case import Case
from conformance.dimensions.argmax import BY_DEFAULT, CHAINS, SUPPLIES, argmax_placed, built_placed
from conformance.dimensions.covering import covering_rows
from conformance.verdicts import Level
from generators.dimensions import ORIGIN_WORDS, PLACE_WORDS, USE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.dimensions.factors import Row

OPSET_OF_ONE_AXIS = 13
"""The first in which Softmax and LogSoftmax normalize along one axis alone."""


def cases() -> Iterator[Case]:
    """All of them."""
    for number, row in enumerate(covering_rows(argmax_placed()), 1):
        id = f"test_argmax_placed_{number:03}_{row['before']}_{row['place']}_{row['type']}"
        built = built_placed(id, row)
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
    chain, (origin, stored) = CHAINS[row["before"]], SUPPLIES[row["origin_X"]]
    along = " along its default axis" if row["before"] in BY_DEFAULT else ""
    whose = f" of {chain[0]}{along}" if chain else ""
    numbers = " of numbers" if stored == "typed" else ""
    rest = ", ".join(f"{name} {row[name]}" for name in ("shape", "axis", "values", "opset"))
    return (
        f"ArgMax{whose} answers as anywhere {PLACE_WORDS[row['place']]}: X {ORIGIN_WORDS[origin]}{numbers},"
        f" index {USE_WORDS[row['use_index']]} ({rest})"
    )


def _clauses(row: Row) -> tuple[str, ...]:
    chain = CHAINS[row["before"]]
    if chain is None:
        return ("argmax.index", "argmax.data_type")
    coerced = chain[0].endswith("Softmax") and int(row["opset"]) < OPSET_OF_ONE_AXIS
    own = f"monotone.{row['before'].removesuffix('_coerced').removesuffix('_default')}"
    return (*(["monotone.coercion"] if coerced else []), own, "argmax.index")
