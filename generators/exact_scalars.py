"""Siblings of cases in double whose bounds are wide, because numbers without a tensor may be computed in float.

The specification states no type for R_adjusted (r in Adagrad) and 1 - attribute. For tensors of double, the bound of
level `must` encloses the results of both types, and can hide most bits of X_new. Such a case becomes level `should`,
which requires double. Its sibling tests the same operands at level `must` with a T of at most 0, and with attributes
for which these numbers are the same in float and in double.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import wraps
from itertools import starmap
from math import frexp
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.base.verdicts import Level
from conformance.corpus.factors.training_factors import USUAL_ATTRIBUTES
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array

    Generator = Callable[[], Iterator[Case]]

MAX_ULP = 64
"""Largest bound of a `must` case in double, in ULP of the largest operand or result at the same position."""

OPERATORS = ("adam", "adagrad")
"""Tags of the operators with numbers that depend on T and attributes."""

FAMILIES = ("numbers", "pairwise", "extreme")
"""Tags of the families with siblings: models with one node, whose first inputs are R and T."""


def with_siblings(generator: Generator) -> Generator:
    """Return a generator whose wide `must` cases in double are level `should`, each followed by its sibling."""

    @wraps(generator)
    def cases() -> Iterator[Case]:
        for case in generator():
            tags = set(case.tags)
            is_must_in_double = case.level is Level.MUST and "double" in tags and not tags.isdisjoint(OPERATORS)
            if is_must_in_double and not tags.isdisjoint(FAMILIES) and _is_wide(case):
                sibling = _sibling(case)
                yield from [case] if _is_wide(sibling) else [replace(case, level=Level.SHOULD), sibling]
            else:
                yield case

    return cases


def _is_wide(case: Case) -> bool:
    """Return whether a bound is above `MAX_ULP`, or X_new rounded to float is always within its bound."""
    names = output_names(onnx.load_model_from_string(case.model))
    outputs = [
        (answer.expected, answer.bound, inputs, name)
        for inputs in case.data_sets
        for answer, name in zip(answers(case.model, inputs, Level.MUST), names, strict=True)
        if answer.expected.dtype == np.float64 and answer.expected.size
    ]
    if any(largest_width(expected, bound, inputs) > MAX_ULP for expected, bound, inputs, _ in outputs):
        return True
    updates = [(expected, bound) for expected, bound, _, name in outputs if name == "X_new"]
    return any(needs_double(expected) for expected, _ in updates) and not any(starmap(excludes_float, updates))


def output_names(model: onnx.ModelProto) -> list[str]:
    """Return the names of a model's outputs, without the numbers of tensors: X_new for X2_new."""
    return [value.name[0] + value.name[1:].lstrip("0123456789") for value in model.graph.output]


def largest_width(expected: Array, bound: Array | None, inputs: Sequence[Array]) -> float:
    """Return the largest bound of a double output, in ULP of the largest operand or result at the same position."""
    if bound is None or not bound.size:
        return 0.0
    numbers = [array for array in (*inputs, expected) if array.shape == expected.shape]
    largest = np.fmax.reduce([np.where(np.isfinite(array), abs(array), 0) for array in numbers])
    with np.errstate(over="ignore"):
        return float((bound / np.spacing(largest.astype(np.float64))).max())


def needs_double(expected: Array) -> bool:
    """Return whether a double output has a finite element that is not representable in float."""
    return bool(_distance_to_float(expected).any())


def excludes_float(expected: Array, bound: Array | None) -> bool:
    """Return whether an element of a double output, rounded to float, is outside of its bound."""
    return bool((_distance_to_float(expected) > (0 if bound is None else bound)).any())


def _distance_to_float(expected: Array) -> Array:
    """Return the distance of each expected value from the nearest float; 0 for values that are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        distance = abs(expected.astype(np.float32).astype(np.float64) - expected)
    return np.where(np.isfinite(expected), distance, 0)


def _sibling(case: Case) -> Case:
    """Define the sibling of a case with one node of a training optimizer."""
    id = f"{case.id}_exact"
    model = onnx.load_model_from_string(case.model)
    model.graph.name = id
    (node,) = (node for node in model.graph.node if node.op_type in TRAINING_OPTIMIZERS)
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    inexact = [
        name
        for name in optimizer.complements
        if not _is_float(1 - Fraction(optimizer.complete_attributes(given)[name]))
    ]
    exact = given | {name: USUAL_ATTRIBUTES[node.op_type][name] for name in inexact}
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(*attribute) for attribute in exact.items())
    decay = given.get("decay_factor", 0.0)
    return replace(
        case,
        id=id,
        title=(
            f"{node.op_type} computes in double with the operands of {case.id}, T of at most 0 and exact 1 - attribute"
        ),
        clauses=tuple(clause.replace("r_adjusted", "t_switch") for clause in case.clauses),
        tags=(*(tag for tag in case.tags if "=" not in tag and tag not in FAMILIES), "exact_scalars"),
        model=model.SerializeToString(deterministic=True),
        data_sets=tuple(_exact_inputs(*inputs, decay_factor=decay) for inputs in case.data_sets),
    )


def _is_float(number: Fraction) -> bool:
    return Fraction(float(np.float32(float(number)))) == number


def _exact_inputs(R: Array, T: Array, *tensors: Array, decay_factor: float) -> tuple[Array, ...]:
    """Return the inputs with a T of at most 0, and with an R near r of Adagrad."""
    scale = 2.0 ** -frexp(1 + max(float(T), 0) * decay_factor)[1] if decay_factor else 1.0
    return (np.asarray(R * R.dtype.type(scale)), np.minimum(T, 0), *tensors)
