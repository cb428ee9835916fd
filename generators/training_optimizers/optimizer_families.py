"""Cases that all training optimizers share and that the family `pairwise` does not cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Level
from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.operator import Operator, OperatorSetting, optimizer_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.cases.case import Case

FLOATS = (np.float32, np.float64)

UNREGULARIZED = {"norm_coefficient": 0.0}
"""The attribute without which a NaN in X has no effect on G, if an implementation leaves out a product with 0."""

SQUARE_OVERFLOWS = ((np.float32, 1e25), (np.float64, 1e200))
"""A number of each type whose square overflows."""

UPDATE_COUNTS = {
    "t_least": -(2**63),
    "t_2p24_plus_1": 2**24 + 1,
    "t_2p40": 2**40,
}
"""Values of T by name at which narrower integers and floats lose precision."""

TENSOR_SHAPES: Mapping[str, Sequence[int]] = {
    "empty": (0,),
    "empty_3d": (2, 0, 3),
    "1x1": (1, 1),
    "3001": (3001,),
    "2x3x4": (2, 3, 4),
    "2x1x3x2": (2, 1, 3, 2),
}
"""Shapes of the tensor by name."""


def update_count_cases(
    operator: Operator, attributes: Mapping[str, Any], clauses: Mapping[bool, Sequence[str]]
) -> Iterator[Case]:
    """Yield a case for each combination of T and element type.

    Args:
        operator: the tested operator.
        attributes: attributes of the node.
        clauses: tested clauses; the key states whether T > 0.
    """
    for name, T in UPDATE_COUNTS.items():
        for dtype in FLOATS:
            branch = "above 0" if T > 0 else "of 0" if T == 0 else "below 0"
            yield optimizer_case(
                operator,
                f"{name}_{FLOAT_TYPE_NAMES[dtype]}",
                f"{operator.name} in {FLOAT_TYPE_NAMES[dtype]} uses the formula for an update count {branch} for "
                f"T = {T}",
                (*clauses[T > 0], "update_count_type"),
                attributes,
                OperatorSetting(dtype, counts=(T,)),
                tags=("update_count",),
            )


def shape_cases(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield cases with higher ranks, empty tensors, a 1x1 matrix, and a length that no block size divides."""
    for dtype in FLOATS:
        for name, shape in TENSOR_SHAPES.items():
            yield optimizer_case(
                operator,
                f"shape_{name}_{FLOAT_TYPE_NAMES[dtype]}",
                f"{operator.name} gives outputs of shape {list(shape)} for {FLOAT_TYPE_NAMES[dtype]} tensors of "
                "that shape",
                ("elementwise",),
                attributes,
                OperatorSetting(dtype, shapes=(shape,), counts=(operator.count_for(dtype),)),
                tags=("shape",),
            )


def data_set_cases(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield cases with several runs of one loaded model.

    They detect runtimes that keep state between runs or overwrite inputs.
    """
    for dtype in FLOATS:
        yield optimizer_case(
            operator,
            f"data_sets_t_changes_{FLOAT_TYPE_NAMES[dtype]}",
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
            f"data_sets_repeated_{FLOAT_TYPE_NAMES[dtype]}",
            f"{operator.name} gives the same outputs for the same inputs, run after run",
            ("pure",),
            attributes,
            OperatorSetting(dtype, counts=(3 if operator.count_for(dtype) else 0,) * 3, same_data=True),
            tags=("data_sets",),
        )


def nan_cases(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield cases with NaN in one element of one operand."""
    for name in operator.signature.operands:
        for dtype in FLOATS:
            yield optimizer_case(
                operator,
                f"nan_in_{name.lower()}_{FLOAT_TYPE_NAMES[dtype]}",
                f"{operator.name} gives NaN exactly in the elements that depend on a NaN in {name}",
                ("elementwise", *operator.state),
                attributes,
                OperatorSetting(dtype, counts=(operator.count_for(dtype),), operands={name: [0.5, np.nan, 1.0, 2.0]}),
                tags=("special_values", "nan"),
            )


def infinity_cases(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield cases with infinities. The level is `must` if all admissible evaluations agree."""
    for name in operator.signature.operands:
        values = [0.5, np.inf, 1.0, np.inf if name == "H" else -np.inf]
        level = Level.SHOULD if name in operator.averages else Level.MUST
        for dtype in FLOATS:
            yield optimizer_case(
                operator,
                f"infinite_{name.lower()}_{FLOAT_TYPE_NAMES[dtype]}",
                f"{operator.name} carries infinities in {name} through the pseudo-code",
                operator.state,
                attributes,
                OperatorSetting(
                    dtype, counts=(operator.count_for(dtype) if level is Level.MUST else 2,), operands={name: values}
                ),
                level,
                ("special_values", "infinity"),
            )


def magnitude_cases(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield cases with very large and very small operands for which no admissible evaluation overflows."""
    scales = {np.float32: 2.0**40, np.float64: 2.0**300}
    for dtype in FLOATS:
        for name, scale in (("huge", scales[dtype]), ("tiny", 1 / scales[dtype])):
            values = np.array([1.0, -1.5, 0.75, 1.25]) * scale
            operands: dict[str, Any] = {"X": values, "G": -values[::-1], "V": values / 4, "H": np.abs(values) * scale}
            yield optimizer_case(
                operator,
                f"{name}_{FLOAT_TYPE_NAMES[dtype]}",
                f"{operator.name} computes with {name} {FLOAT_TYPE_NAMES[dtype]} operands",
                operator.state,
                attributes,
                OperatorSetting(
                    dtype,
                    counts=(operator.count_for(dtype),),
                    operands={key: operands[key] for key in operator.signature.operands},
                ),
                tags=("special_values", "magnitude"),
            )


def zero_and_subnormal_cases(operator: Operator, attributes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield cases in which IEEE 754 defines the sign of a zero, or a subnormal that must not be flushed to zero."""
    for dtype in FLOATS:
        least = float(np.finfo(dtype).smallest_subnormal)
        subnormals = [least, -least, 3 * least, 1024 * least]
        for name, X, G, V, H in (
            ("zeros_of_both_signs", [0.0, -0.0, 0.0, -0.0], [0.0, 0.0, -0.0, -0.0], [0.0, -0.0, -0.0, -0.0], 1.0),
            ("subnormal_x", subnormals, 0.0, 0.0, [1.0, 64 * least, 512 * least, 1024 * least]),
        ):
            operands: dict[str, Any] = {"X": X, "G": G, "V": V, "H": H}
            yield optimizer_case(
                operator,
                f"{name}_{FLOAT_TYPE_NAMES[dtype]}",
                f"{operator.name} keeps {'the signs of zeros' if 'zeros' in name else 'subnormals'} in "
                f"{FLOAT_TYPE_NAMES[dtype]}",
                ("ieee",),
                attributes,
                OperatorSetting(
                    dtype, counts=(0,), operands={key: operands[key] for key in operator.signature.operands}
                ),
                Level.SHOULD,
                ("special_values", "zero" if "zeros" in name else "subnormal"),
            )


def attribute_cases(
    operator: Operator, alone: Mapping[str, tuple[float, str]], decimals: Mapping[str, float], clause: str, T: int
) -> Iterator[Case]:
    """Yield cases without attributes, with a single attribute, and with decimal attributes.

    Args:
        operator: the tested operator, whose attributes have defaults.
        alone: value and main clause of each attribute that is set alone.
        decimals: typical values of the attributes, which float32 cannot represent exactly.
        clause: a clause that the decimal attributes affect.
        T: an update count for the decimal attributes, besides 7.
    """
    defaults = [f"{name}_default" for name in operator.signature.defaults]
    yield optimizer_case(
        operator,
        "defaults_double",
        f"{operator.name} without attributes uses the schema's defaults at T = 0 and T = 2",
        (*defaults, "attribute_type"),
        {},
        OperatorSetting(np.float64, counts=(0, 2), operands={"H": [0.0, 1.0, 0.0, 2.0], "G": [1e-4, 1.0, -1e-5, 2.0]}),
        tags=("attributes", "defaults"),
    )
    for name, (value, own) in alone.items():
        yield optimizer_case(
            operator,
            f"only_{name}_float",
            f"{operator.name} with only {name} set uses the defaults of the others",
            (own, *(default for default in defaults if default != f"{name}_default")),
            {name: value},
            OperatorSetting(),
            tags=("attributes",),
        )
    for dtype, level in ((np.float32, Level.MUST), (np.float64, Level.SHOULD)):
        yield optimizer_case(
            operator,
            f"float32_attributes_{level}_{FLOAT_TYPE_NAMES[dtype]}",
            f"{operator.name} in {FLOAT_TYPE_NAMES[dtype]} computes with the float32 values of its attributes",
            ("attribute_type", clause),
            decimals,
            OperatorSetting(dtype, counts=(T, 7)),
            level,
            ("attributes",),
        )


def special_value_case(
    operator: Operator,
    dtype: Any,
    name: str,
    effect: str,
    clause: str,
    attributes: Mapping[str, float],
    *tags: str,
    count: int = 2,
    **operands: Any,
) -> Case:
    """Define a case in which IEEE 754 defines the result.

    Args:
        operator: the tested operator.
        dtype: element type of the tensors.
        name: a part of the id.
        effect: the result, as a verb phrase.
        clause: the tested clause of the pseudo-code.
        attributes: the attributes that are not the usual ones.
        tags: further tags.
        count: the update count.
        operands: values of operands by name.
    """
    return optimizer_case(
        operator,
        f"{name}_{FLOAT_TYPE_NAMES[dtype]}",
        f"{operator.name} {effect}",
        ("ieee", clause),
        {**operator.usual, **attributes},
        OperatorSetting(dtype, counts=(count,), operands=operands),
        Level.SHOULD,
        ("special_values", *tags),
    )


def shared_cases(operator: Operator, counts: Mapping[bool, Sequence[str]]) -> Iterator[Case]:
    """Yield all cases that the training optimizers share, for one operator with its usual attributes.

    Args:
        operator: the tested operator.
        counts: clauses for `update_count_cases`.
    """
    usual = operator.usual
    yield from update_count_cases(operator, usual, counts)
    yield from shape_cases(operator, usual)
    yield from data_set_cases(operator, usual)
    yield from nan_cases(operator, usual)
    yield from infinity_cases(operator, usual)
    yield from magnitude_cases(operator, usual)
    yield from zero_and_subnormal_cases(operator, {**usual, **UNREGULARIZED})
