"""Deviations that any optimizer's kernel can have in its numbers: R and T, types, precision, special values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations import arithmetic
from conformance.deviations.deviation import Arithmetic, Deviation, Promoting
from conformance.deviations.twists import (
    R,
    T,
    answering,
    by_tensor,
    counting_runs,
    each_float_attribute,
    each_operand,
    each_output,
    feeding,
    remembering,
    scalar,
    unchanged,
)
from conformance.verdicts import Level

if TYPE_CHECKING:
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


def _decimal(value: float) -> float:
    """The shortest decimal that a float32 is written as."""
    return float(str(np.float32(value)))


def _as_float_bytes(rate: Array) -> Array:
    return np.frombuffer(rate.tobytes()[:4], dtype=np.float32).reshape(rate.shape)


def _as_double_bytes(rate: Array) -> Array:
    return np.frombuffer(rate.tobytes().ljust(8, b"\0")[:8], dtype=np.float64).reshape(rate.shape)


def _through_type_of_r(_: Node, inputs: list[Array]) -> list[Array]:
    return [*inputs[:2], *(array.astype(inputs[R].dtype).astype(array.dtype) for array in inputs[2:])]


def several_as_float(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """Float outputs where there are several tensors."""
    return [array.astype(np.float32) for array in outputs] if len(by_tensor(node, inputs)) > 1 else outputs


def _skipping_steps(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """No step at all where an operand is not finite, as a loss scaler would have it."""
    return outputs if all(np.isfinite(array).all() for array in inputs[2:]) else unchanged(node, inputs)


SCALARS = (
    Deviation(
        "t_as_int32", "reads T as a 32-bit integer", "update_count_type", twists=(scalar(T, lambda t: t.astype("i4")),)
    ),
    Deviation(
        "t_as_int16", "reads T as a 16-bit integer", "update_count_type", twists=(scalar(T, lambda t: t.astype("i2")),)
    ),
    Deviation("t_counted", "counts its own runs instead of reading T", "pure", twists=(counting_runs,)),
    Deviation("t_kept", "keeps the T of its first run", "pure", twists=(remembering(T),)),
    Deviation("r_kept", "keeps the R of its first run", "pure", twists=(remembering(R),)),
    Deviation(
        "r_as_float",
        "narrows a double R to float",
        "learning_rate_type",
        twists=(scalar(R, lambda r: r.astype("f4")),),
    ),
    Deviation("r_as_half", "narrows R to half precision", "learning_rate_type", twists=(scalar(R, arithmetic.half),)),
    Deviation(
        "r_float_bytes",
        "reads the bytes of R as a float, whatever its type",
        "learning_rate_type",
        twists=(scalar(R, _as_float_bytes),),
    ),
    Deviation(
        "r_double_bytes",
        "reads the bytes of R as a double, whatever its type",
        "learning_rate_type",
        twists=(scalar(R, _as_double_bytes),),
    ),
    Deviation(
        "r_constant",
        "steps with 0.001 instead of R",
        "learning_rate_type",
        twists=(scalar(R, lambda r: np.full(r.shape, 0.001, r.dtype)),),
    ),
)

TYPES = (
    Deviation(
        "promotes_types",
        "lets R, T and Python's numbers promote float tensors to double outputs",
        "tensor_type",
        arithmetic=Promoting(),
    ),
    Deviation("computes_in_float", "computes double tensors in float", "tensor_type", arithmetic=Arithmetic({}, "f4")),
    Deviation(
        "float_outputs",
        "gives float outputs for double tensors",
        "tensor_type",
        twists=(each_output(lambda a: a.astype("f4")),),
    ),
    Deviation(
        "double_outputs",
        "gives double outputs for float tensors",
        "tensor_type",
        twists=(each_output(lambda a: a.astype("f8")),),
    ),
    Deviation(
        "outputs_of_type_of_r",
        "gives every output the type of R",
        "tensor_type",
        twists=(answering(lambda _, inputs, outputs: [array.astype(inputs[R].dtype) for array in outputs]),),
    ),
    Deviation(
        "tensors_in_type_of_r",
        "converts the tensors to the type of R, and the outputs back",
        "tensor_type",
        twists=(feeding(_through_type_of_r),),
    ),
    Deviation(
        "several_as_float",
        "gives float outputs where there are several tensors",
        "tensor_type",
        twists=(answering(several_as_float),),
    ),
    Deviation(
        "first_type_for_all",
        "gives every output the type of the first tensor",
        "tensor_type",
        twists=(answering(lambda _, inputs, outputs: [array.astype(inputs[2].dtype) for array in outputs]),),
        level=Level.SHOULD,
    ),
    Deviation(
        "gradient_as_float",
        "narrows the gradient of double tensors to float",
        "tensor_type",
        twists=(each_operand(arithmetic.single, "G"),),
    ),
    Deviation(
        "gradient_as_half",
        "narrows the gradient to half precision",
        "tensor_type",
        twists=(each_operand(arithmetic.half, "G"),),
    ),
    Deviation(
        "state_as_float",
        "keeps the state of double tensors in float",
        "tensor_type",
        twists=(each_operand(arithmetic.single, "VH"),),
    ),
    Deviation(
        "state_as_bfloat16",
        "keeps the state in bfloat16",
        "tensor_type",
        twists=(each_operand(arithmetic.bfloat16_bits, "VH"),),
    ),
    Deviation(
        "decimal_attributes",
        "computes double tensors with the decimals that the attributes were written as",
        "attribute_type",
        twists=(each_float_attribute(_decimal),),
    ),
    Deviation(
        "half_attributes",
        "keeps attributes in half precision",
        "attribute_type",
        twists=(each_float_attribute(lambda value: float(np.float16(value))),),
    ),
    Deviation(
        "bfloat16_attributes",
        "keeps attributes in bfloat16",
        "attribute_type",
        twists=(each_float_attribute(lambda value: float(arithmetic.bfloat16_bits(np.float64(value)))),),
    ),
)

PRECISION = (
    Deviation(
        "half_arithmetic",
        "computes in half precision",
        "tensor_type",
        arithmetic=Arithmetic(rounding=arithmetic.half),
    ),
    Deviation(
        "bfloat16_arithmetic",
        "computes in bfloat16",
        "tensor_type",
        arithmetic=Arithmetic(rounding=arithmetic.bfloat16_bits),
    ),
    Deviation(
        "tf32_arithmetic",
        "computes with eleven significant bits, as tensor cores do",
        "tensor_type",
        arithmetic=Arithmetic(rounding=arithmetic.half_bits),
    ),
    Deviation(
        "half_outputs",
        "rounds every output to half precision",
        "tensor_type",
        twists=(each_output(arithmetic.half),),
    ),
)

SPECIAL_VALUES = (
    Deviation(
        "subnormals_flushed",
        "flushes subnormals to zero",
        "ieee",
        arithmetic=Arithmetic(rounding=arithmetic.flushed),
        level=Level.SHOULD,
    ),
    Deviation(
        "negative_zero_lost",
        "gives 0 instead of -0",
        "ieee",
        twists=(each_output(lambda array: array + array.dtype.type(0)),),
        level=Level.SHOULD,
    ),
    Deviation("nan_as_zero", "takes NaN for 0", "ieee", twists=(each_operand(arithmetic.zero_for_nan),)),
    Deviation("nan_outputs_as_zero", "gives 0 instead of NaN", "ieee", twists=(each_output(arithmetic.zero_for_nan),)),
    Deviation(
        "clamped_outputs",
        "gives the largest finite value instead of infinity",
        "ieee",
        twists=(each_output(arithmetic.clamped),),
    ),
    Deviation(
        "skips_steps",
        "skips the step where a number is not finite",
        "ieee",
        twists=(answering(_skipping_steps),),
        convention="PyTorch's gradient scaler",
    ),
    Deviation(
        "clips_gradient",
        "clips the gradient to [-1, 1]",
        "g_regularized",
        twists=(each_operand(lambda G: np.clip(G, -1, 1), "G"),),
    ),
)

ROWS = (*SCALARS, *TYPES, *PRECISION, *SPECIAL_VALUES)
