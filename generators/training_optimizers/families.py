"""Families of cases that all three optimizers share, for what the pairs of `matrix` leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.generation.models import TYPES
from conformance.verdicts import Level
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.case import Case

FLOATS = (np.float32, np.float64)

COUNTS = {
    "t_least": -(2**63),
    "t_2p24_plus_1": 2**24 + 1,
    "t_2p40": 2**40,
}
"""T by name beside those of `matrix`: the widths at which narrower integers and floats lose it."""

SHAPES: Mapping[str, Sequence[int]] = {
    "empty": (0,),
    "empty_3d": (2, 0, 3),
    "1x1": (1, 1),
    "3001": (3001,),
    "2x3x4": (2, 3, 4),
    "2x1x3x2": (2, 1, 3, 2),
}
"""Shapes of one tensor beside those of `matrix`."""


def update_counts(
    operator: Operator, attributes: Mapping[str, Any], clauses: Mapping[bool, Sequence[str]]
) -> Iterator[Case]:
    """Each of these T in every type.

    Args:
        clauses: what is tested where T > 0 and where it is not.
    """
    for name, T in COUNTS.items():
        for dtype in FLOATS:
            branch = "above 0" if T > 0 else "of 0" if T == 0 else "below 0"
            yield optimizer_case(
                operator,
                f"{name}_{TYPES[dtype]}",
                f"{operator.name} in {TYPES[dtype]} takes the branch of an update count {branch} for T = {T}",
                (*clauses[T > 0], "update_count_type"),
                attributes,
                OperatorSetting(dtype, counts=(T,)),
                tags=("update_count",),
            )


def shapes(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Higher ranks, empty tensors, one element in two axes, and a length that leaves blocks of a loop a tail."""
    for dtype in FLOATS:
        for name, shape in SHAPES.items():
            yield optimizer_case(
                operator,
                f"shape_{name}_{TYPES[dtype]}",
                f"{operator.name} gives outputs of shape {list(shape)} for {TYPES[dtype]} tensors of that shape",
                ("elementwise",),
                attributes,
                OperatorSetting(dtype, shapes=(shape,)),
                tags=("shape",),
            )


def data_sets(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Several runs of one prepared model: nothing is kept between them, and nothing is written into the inputs."""
    for dtype in FLOATS:
        yield optimizer_case(
            operator,
            f"data_sets_t_changes_{TYPES[dtype]}",
            f"{operator.name} takes T and R from each run's own inputs",
            ("pure", "scalars"),
            attributes,
            OperatorSetting(
                dtype,
                counts=(0, 1, 10, 0, 2, -1),
                rates=(0.125, 0.25, 0.125, 0.5, 0.0625, 0.125),
            ),
            tags=("data_sets",),
        )
        yield optimizer_case(
            operator,
            f"data_sets_repeated_{TYPES[dtype]}",
            f"{operator.name} gives the same outputs for the same inputs, run after run",
            ("pure",),
            attributes,
            OperatorSetting(dtype, counts=(3, 3, 3), same_data=True),
            tags=("data_sets",),
        )


def nan_operands(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """NaN in one element of one operand reaches every output element that depends on it, and no other."""
    for name in operator.signature.operands:
        for dtype in FLOATS:
            yield optimizer_case(
                operator,
                f"nan_in_{name.lower()}_{TYPES[dtype]}",
                f"{operator.name} gives NaN in the elements that depend on a NaN in {name}, and in no other",
                ("elementwise", *operator.state),
                attributes,
                OperatorSetting(dtype, operands={name: [0.5, np.nan, 1.0, 2.0]}),
                tags=("special_values", "nan"),
            )


def infinite_operands(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Infinities of both signs, `must` where every admissible evaluation gives the same."""
    for name in operator.signature.operands:
        values = [0.5, np.inf, 1.0, np.inf if name == "H" else -np.inf]
        for dtype in FLOATS:
            yield optimizer_case(
                operator,
                f"infinite_{name.lower()}_{TYPES[dtype]}",
                f"{operator.name} carries infinities in {name} through the pseudo-code",
                operator.state,
                attributes,
                OperatorSetting(dtype, operands={name: values}),
                Level.SHOULD if name in operator.averages else Level.MUST,
                ("special_values", "infinity"),
            )


def magnitudes(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Operands far from 1, within what every admissible evaluation can hold."""
    scales = {np.float32: 2.0**40, np.float64: 2.0**300}
    for dtype in FLOATS:
        for name, scale in (("huge", scales[dtype]), ("tiny", 1 / scales[dtype])):
            values = np.array([1.0, -1.5, 0.75, 1.25]) * scale
            operands: dict[str, Any] = {"X": values, "G": -values[::-1], "V": values / 4, "H": np.abs(values) * scale}
            yield optimizer_case(
                operator,
                f"{name}_{TYPES[dtype]}",
                f"{operator.name} computes with {name} {TYPES[dtype]} operands",
                ("tensor_type", *operator.state),
                attributes,
                OperatorSetting(dtype, operands={key: operands[key] for key in operator.signature.operands}),
                tags=("special_values", "magnitude"),
            )


def zeros_and_subnormals(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Signed zeros bit for bit and subnormals that are not flushed, as IEEE 754 has them."""
    for dtype in FLOATS:
        least = float(np.finfo(dtype).smallest_subnormal)
        for name, X, G, V in (
            ("zeros_of_both_signs", [0.0, -0.0, 0.0, -0.0], [0.0, 0.0, -0.0, -0.0], [0.0, -0.0, -0.0, -0.0]),
            ("subnormal_x", [least, -least, 3 * least, 1024 * least], 0.0, 0.0),
        ):
            operands: dict[str, Any] = {"X": X, "G": G, "V": V, "H": 1.0}
            yield optimizer_case(
                operator,
                f"{name}_{TYPES[dtype]}",
                f"{operator.name} keeps {'the signs of zeros' if 'zeros' in name else 'subnormals'} in {TYPES[dtype]}",
                ("ieee",),
                attributes,
                OperatorSetting(
                    dtype, counts=(0,), operands={key: operands[key] for key in operator.signature.operands}
                ),
                Level.SHOULD,
                ("special_values", "zero" if "zeros" in name else "subnormal"),
            )


def shared(operator: Operator, counts: Mapping[bool, Sequence[str]]) -> Iterator[Case]:
    """All shared families with the operator's usual attributes."""
    usual = operator.usual
    yield from update_counts(operator, usual, counts)
    yield from shapes(operator, usual)
    yield from data_sets(operator, usual)
    yield from nan_operands(operator, usual)
    yield from infinite_operands(operator, usual)
    yield from magnitudes(operator, usual)
    unregularized = {**usual, "norm_coefficient": 0.0}
    yield from zeros_and_subnormals(operator, unregularized)
