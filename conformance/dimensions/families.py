"""The families of cases whose choices are rows of a declaration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.dimensions.argmax import argmax_placed
from conformance.dimensions.building import built_structure
from conformance.dimensions.extremes import constants, extremes, lengths, many_tensors, readers
from conformance.dimensions.numbers import numbers
from conformance.dimensions.pairwise import pairwise
from conformance.dimensions.plain import (
    built_constants,
    built_extreme,
    built_lengths,
    built_many_tensors,
    built_numbers,
    built_readers,
)
from conformance.dimensions.sizes import long_types
from conformance.dimensions.training import structure
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.dimensions.contexts import Built
    from conformance.dimensions.factors import Declaration, Row


@dataclass(frozen=True)
class Family:
    """Cases that are rows of one declaration.

    Attributes:
        declaration: what may vary, by the optimizer's op_type.
        built: the model and data of a row; called with the op_type, a name for the graph, by which the data are
            scattered, and the row.
    """

    declaration: Callable[[str], Declaration]
    built: Callable[[str, str, Row], Built]


FAMILIES: Mapping[str, Family] = {
    "placed": Family(structure, built_structure),
    "numbers": Family(numbers, built_numbers),
    "extreme": Family(extremes, built_extreme),
    "many_tensors": Family(many_tensors, built_many_tensors),
    "lengths": Family(lengths, built_lengths),
    "constants": Family(constants, built_constants),
    "readers": Family(readers, built_readers),
}
"""By the tag that their cases bear, beside that of the optimizer and one tag `factor=value` for each factor."""

PAIRWISE = "pairwise"
"""The family that declares its rows here and has its cases made by the generators."""

ARGMAX: Mapping[str, Declaration] = {"placed": argmax_placed(), "long_types": long_types()}
"""ArgMax's families, by the tag that their cases bear beside `argmax` and one tag `factor=value` for each factor."""


def row_of(tags: Iterable[str]) -> dict[str, str]:
    """The choice that a case is, from its tags."""
    return dict(tag.split("=", 1) for tag in tags if "=" in tag)


def declarations() -> Iterator[tuple[str, str, Declaration]]:
    """Every operator's families: the tag of the operator, that of the family, and the declaration."""
    for op_type in TRAINING_OPTIMIZERS:
        for name, family in FAMILIES.items():
            yield op_type.lower(), name, family.declaration(op_type)
        yield op_type.lower(), PAIRWISE, pairwise(op_type)
    for name, declaration in ARGMAX.items():
        yield "argmax", name, declaration
