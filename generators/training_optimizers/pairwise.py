"""Cases of the family `pairwise`: every pair of levels of an optimizer's factors occurs in a case.

`generators.declarations.families` declares the factors. The values are chosen so that the update is a considerable part
of X for all levels. Then a wrong interpretation exceeds the bound. For this, R grows with the operands, with epsilon
and, for Adagrad, with 1 + T * decay_factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.factors.training_factors import TYPES as MIXTURES
from conformance.exact.models.model_building import pseudo_random_array
from generators.declarations.families import (
    ATTRIBUTE_LEVELS,
    RATE_FACTORS,
    TENSOR_SHAPES,
    UPDATE_COUNTS,
    VALUE_SCALES,
    pairwise_declaration,
)
from generators.declarations.training_dimensions import OPERAND_RANGES
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.operator import Operator, optimizer_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array
    from generators.declarations.family import FamilyDeclaration


RATE = 0.1
"""Value of R that uses all bits of its type, so that a narrower copy of R differs."""

TENSOR_PHRASES = {
    "0d": "a 0-d tensor",
    "vector": "a vector of 7",
    "matrix": "a 2 by 3 matrix",
    "two": "two tensors of different shapes",
    "three": "three tensors of which one is empty",
    "eight": "eight tensors",
}
"""Descriptions of the levels of `tensors`, for titles."""

ZERO_POSITIONS: Mapping[str, tuple[int, Sequence[int]]] = {
    "X": (3, (0,)),
    "G": (3, (1,)),
    "V": (2, (0,)),
    "H": (4, (0, 1)),
}
"""Positions of zeros in the level `zeros`: a divisor of the index, and the remainders at which an element is zero.

The first element is like the first step of training: V = H = 0.
"""


@dataclass(frozen=True)
class PairwiseFamily:
    """The cases of the family `pairwise` of an operator.

    Attributes:
        operator: the tested operator.
        clauses: clauses that every case tests, without the operator's prefix.
    """

    operator: Operator
    clauses: Sequence[str]

    @property
    def declaration(self) -> FamilyDeclaration:
        """The factors and forbidden combinations of the family."""
        return pairwise_declaration(self.operator.name)

    @property
    def attributes(self) -> Mapping[str, Mapping[str, Any]]:
        """For each attribute, its value by level of the factor. If the value is None, the node omits the attribute."""
        return ATTRIBUTE_LEVELS[self.operator.name]

    def cases(self) -> Iterator[Case]:
        """Yield a case for each row of the covering array."""
        for number, row in enumerate(self.rows, 1):
            yield _case(self, number, row)

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The rows of the covering array of `declaration`."""
        return self.declaration.rows


def _case(matrix: PairwiseFamily, number: int, row: Row) -> Case:
    operator = matrix.operator
    id = f"test_{operator.prefix}_pairwise_{number:03}_t_{row['T']}_{row['tensors']}_{row['types']}"
    own = FLOAT_TYPE_NAMES[MIXTURES[row["types"]][0]]
    attributes = {
        name: values[row[name]] for name, values in matrix.attributes.items() if values[row[name]] is not None
    }
    places = range(len(RATE_FACTORS[row["data_sets"]]))
    data_sets = tuple(_data_set(matrix, id, row, attributes, place) for place in places)
    return Case(
        id=id,
        title=f"{operator.name} computes with {_row_phrase(matrix, row)}",
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in matrix.clauses),
        tags=(operator.prefix, own, "pairwise", *(f"{factor}={value}" for factor, value in row.items())),
        model=optimizer_model(operator, id, attributes, data_sets[0]),
        data_sets=data_sets,
    )


def _row_phrase(matrix: PairwiseFamily, row: Row) -> str:
    """Return a phrase for the title of the case of a row.

    Example: `a double R, T = 2, a 0-d tensor in float, alpha = 0.5, …, ordinary values, one data set`.
    """
    own, rate = (FLOAT_TYPE_NAMES[dtype] for dtype in MIXTURES[row["types"]])
    given = [
        f"{name} {'omitted' if values[row[name]] is None else f'= {values[row[name]]}'}"
        for name, values in matrix.attributes.items()
    ]
    words = {"zeros": "values some of which are zero", "mixed": "values of mixed magnitude"}
    values = words.get(row["values"], f"{row['values']} values")
    tensors = f"{TENSOR_PHRASES[row['tensors']]} in {own}"
    runs = f"{row['data_sets']} data set{'' if row['data_sets'] == 'one' else 's'}"
    return ", ".join([f"a {rate} R", f"T = {UPDATE_COUNTS[row['T']]}", tensors, *given, values, runs])


def _data_set(
    matrix: PairwiseFamily, id: str, row: Row, attributes: Mapping[str, Any], place: int
) -> tuple[Array, ...]:
    T = UPDATE_COUNTS[row["T"]]
    R = RATE * RATE_FACTORS[row["data_sets"]][place] * _rate_factor(matrix.operator, row, T, attributes)
    taken = T - 1 if place == 1 and T > 0 else T
    dtype, rate_dtype = MIXTURES[row["types"]]
    return (
        np.array(R, dtype=rate_dtype),
        np.array(taken, dtype=np.int64),
        *(
            _tensor(f"{id}/{place}/{name}{number}", name, shape, row["values"], dtype)
            for name in matrix.operator.signature.operands
            for number, shape in enumerate(TENSOR_SHAPES[row["tensors"]])
        ),
    )


def _rate_factor(operator: Operator, row: Row, T: int, attributes: Mapping[str, Any]) -> float:
    """Return the number by which R is multiplied, so that the update is a considerable part of X; 1 for Momentum."""
    if "epsilon" not in operator.usual:
        return 1.0
    scales = VALUE_SCALES[row["values"]]
    scale = scales[0] if len(scales) == 1 else 1.0
    return float(max(scale, attributes.get("epsilon", 0.0)) * (1 + T * attributes.get("decay_factor", 0.0)))


def _tensor(seed: str, name: str, shape: Sequence[int], values: str, dtype: Any) -> Array:
    numbers = pseudo_random_array(seed, (prod(shape),), dtype, *OPERAND_RANGES[name])
    places = np.arange(numbers.size)
    if values == "zeros":
        divisor, remainders = ZERO_POSITIONS[name]
        numbers[np.isin(places % divisor, remainders)] = 0
    scales = np.array(VALUE_SCALES[values], dtype=dtype)[places % len(VALUE_SCALES[values])]
    return np.asarray(numbers * (scales * scales if name == "H" else scales)).reshape(tuple(shape))
