"""The family `pairwise`: every two values of any two factors of an optimizer's case meet in some case.

The factors are those of `conformance.dimensions.pairwise`. Values are such that a step is a fair part of X whatever the
factors are, so that a wrong reading shows beside the bound: R grows with the operands, with epsilon and, for Adagrad,
with 1 + T * decay_factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.corpus.case import Case
from conformance.dimensions.building import RANGES
from conformance.dimensions.covering import covering_rows
from conformance.dimensions.pairwise import ATTRIBUTES, COUNTS, DATA_SETS, SCALES, TENSORS, pairwise
from conformance.dimensions.training import TYPES as MIXTURES
from conformance.generation.models import TYPES
from conformance.generation.values import scattered
from conformance.verdicts import Level
from generators.training_optimizers.operator import Operator, optimizer_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.dimensions.factors import Declaration, Row
    from conformance.models.arrays import Array

RATE = 0.1
"""R with all the bits of its type, which a narrower copy of it lacks."""

WORDS = {
    "0d": "a 0-d tensor",
    "vector": "a vector of 7",
    "matrix": "a 2 by 3 matrix",
    "two": "two tensors of different shapes",
    "three": "three tensors of which one is empty",
    "eight": "eight tensors",
}

ZEROS: Mapping[str, tuple[int, Sequence[int]]] = {"X": (3, (0,)), "G": (3, (1,)), "V": (2, (0,)), "H": (4, (0, 1))}
"""Which elements are zero where values have zeros: those whose place leaves one of these remainders.

The first element is that of a run's first step: V = H = 0.
"""


@dataclass(frozen=True)
class Matrix:
    """An operator's table.

    Attributes:
        clauses: what every case tests, without the operator's prefix.
    """

    operator: Operator
    clauses: Sequence[str]

    @property
    def declaration(self) -> Declaration:
        """The factors and what may not meet."""
        return pairwise(self.operator.name)

    @property
    def attributes(self) -> Mapping[str, Mapping[str, Any]]:
        """The values of each attribute by their word; None where the model leaves it out."""
        return ATTRIBUTES[self.operator.name]

    def cases(self) -> Iterator[Case]:
        """One for each row."""
        for number, row in enumerate(self.rows, 1):
            yield _case(self, number, row)

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The declaration's rows."""
        return covering_rows(self.declaration)


def _case(matrix: Matrix, number: int, row: Row) -> Case:
    operator = matrix.operator
    id = f"test_{operator.prefix}_pairwise_{number:03}_t_{row['T']}_{row['tensors']}_{row['types']}"
    own = TYPES[MIXTURES[row["types"]][0]]
    attributes = {
        name: values[row[name]] for name, values in matrix.attributes.items() if values[row[name]] is not None
    }
    places = range(len(DATA_SETS[row["data_sets"]]))
    data_sets = tuple(_data_set(matrix, id, row, attributes, place) for place in places)
    return Case(
        id=id,
        title=f"{operator.name} computes with {_in_words(matrix, row)}",
        level=Level.MUST,
        clauses=tuple(f"{operator.prefix}.{clause}" for clause in matrix.clauses),
        tags=(operator.prefix, own, "pairwise", *(f"{factor}={value}" for factor, value in row.items())),
        model=optimizer_model(operator, id, attributes, data_sets[0]),
        data_sets=data_sets,
    )


def _in_words(matrix: Matrix, row: Row) -> str:
    """The row's values: `a double R, T = 2, a 0-d tensor in float, alpha = 0.5, …, ordinary values, one data set`."""
    own, rate = (TYPES[dtype] for dtype in MIXTURES[row["types"]])
    given = [
        f"{name} {'left out' if values[row[name]] is None else f'= {values[row[name]]}'}"
        for name, values in matrix.attributes.items()
    ]
    words = {"zeros": "values some of which are zero", "mixed": "values of mixed magnitude"}
    values = words.get(row["values"], f"{row['values']} values")
    tensors = f"{WORDS[row['tensors']]} in {own}"
    runs = f"{row['data_sets']} data set{'' if row['data_sets'] == 'one' else 's'}"
    return ", ".join([f"a {rate} R", f"T = {COUNTS[row['T']]}", tensors, *given, values, runs])


def _data_set(matrix: Matrix, id: str, row: Row, attributes: Mapping[str, Any], place: int) -> tuple[Array, ...]:
    T = COUNTS[row["T"]]
    R = RATE * DATA_SETS[row["data_sets"]][place] * _reach(matrix.operator, row, T, attributes)
    taken = T - 1 if place == 1 and T > 0 else T
    dtype, rate_dtype = MIXTURES[row["types"]]
    return (
        np.array(R, dtype=rate_dtype),
        np.array(taken, dtype=np.int64),
        *(
            _tensor(f"{id}/{place}/{name}{number}", name, shape, row["values"], dtype)
            for name in matrix.operator.signature.operands
            for number, shape in enumerate(TENSORS[row["tensors"]])
        ),
    )


def _reach(operator: Operator, row: Row, T: int, attributes: Mapping[str, Any]) -> float:
    """What R is multiplied by for a step to be a fair part of X; Momentum's is that by itself."""
    if "epsilon" not in operator.usual:
        return 1.0
    scales = SCALES[row["values"]]
    scale = scales[0] if len(scales) == 1 else 1.0
    return float(max(scale, attributes.get("epsilon", 0.0)) * (1 + T * attributes.get("decay_factor", 0.0)))


def _tensor(seed: str, name: str, shape: Sequence[int], values: str, dtype: Any) -> Array:
    numbers = scattered(seed, (prod(shape),), dtype, *RANGES[name])
    places = np.arange(numbers.size)
    if values == "zeros":
        divisor, remainders = ZEROS[name]
        numbers[np.isin(places % divisor, remainders)] = 0
    scales = np.array(SCALES[values], dtype=dtype)[places % len(SCALES[values])]
    return np.asarray(numbers * (scales * scales if name == "H" else scales)).reshape(tuple(shape))
