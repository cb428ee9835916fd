"""Faults of operators that compute each element alone, and of conversions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fault import Fault, array, const, flags, halves, node, normal, positive, scalar, whole

if TYPE_CHECKING:
    from checks.truth.evaluate import Call


F4 = np.float32
INF, NAN = float("inf"), float("nan")


def broadcast_left(c: Call, function: Any) -> Any:
    """Apply a function to two operands whose shapes are aligned at their first axes."""
    a, b = c.inputs
    rank = max(a.ndim, b.ndim)
    left = [v.reshape(v.shape + (1,) * (rank - v.ndim)) for v in (a, b)]
    return function(*left)


def acos_series(c: Call) -> Any:
    """Return the arc cosine by a polynomial of degree three."""
    x = c.inputs[0]
    a = np.abs(x)
    r = np.sqrt(1 - a) * (1.5707288 + a * (-0.2121144 + a * (0.0742610 - 0.0187293 * a)))
    return np.where(x < 0, np.pi - r, r)


def erf_series(x: Any) -> Any:
    """Return the error function by a formula with errors up to 5e-4."""
    z = np.abs(x)
    return np.sign(x) * (1 - 1 / (1 + 0.278393 * z + 0.230389 * z**2 + 0.000972 * z**3 + 0.078108 * z**4) ** 4)


def fast_exp(x: Any) -> Any:
    """Return the exponential by Schraudolph's method, with errors up to 4 %."""
    return (12102203.0 * x + 1064866805.0).astype(np.int32).view(F4)


def half_up(x: Any) -> Any:
    """Round halves up."""
    return np.floor(x + 0.5)


def half_away(x: Any) -> Any:
    """Round halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def quantize(c: Call, rounding: Any, scale: Any = None) -> Any:
    """Return QuantizeLinear of uint8 or int8 for one scale, with another rounding."""
    x, s, z = c.inputs
    info = np.iinfo(z.dtype)
    return np.clip(rounding(x / (s if scale is None else scale)) + z, info.min, info.max).astype(z.dtype)


def truncated_half(c: Call) -> Any:
    """Return float16 numbers that are rounded toward zero."""
    x = c.inputs[0]
    y = x.astype(np.float16)
    return np.where(np.abs(y.astype(F4)) > np.abs(x), np.nextafter(y, np.float16(0)), y)


def float_mod(c: Call) -> Any:
    """Return the remainder with the sign of the divisor."""
    return np.mod(*c.inputs)


GRID = halves(-4, 4, 5, 8)
WIDE = normal(5, 8, scale=4)

FAULTS = [
    Fault(
        "abs-keeps-minus-zero",
        "Abs",
        "Abs of -0 is -0.",
        lambda c: np.where(c.inputs[0] < 0, -c.inputs[0], c.inputs[0]),
        node("Abs", GRID * -0.0),
        "should",
    ),
    Fault(
        "acos-polynomial",
        "Acos",
        "A polynomial of degree three has errors of 7e-5.",
        acos_series,
        node("Acos", normal(5, 8, scale=0.4)),
    ),
    Fault(
        "acosh-overflow",
        "Acosh",
        "The square of the operand overflows.",
        lambda c: np.log(c.inputs[0] + np.sqrt(c.inputs[0] * c.inputs[0] - 1)),
        node("Acosh", array(1.5, 3, 1e5, 1e20, 3e30)),
    ),
    Fault(
        "add-broadcast-left",
        "Add",
        "Shapes are aligned at their first axes.",
        lambda c: broadcast_left(c, np.add),
        node("Add", normal(4, 4), normal(4)),
    ),
    Fault(
        "add-int64-as-double",
        "Add",
        "int64 is computed in double.",
        lambda c: (c.inputs[0].astype("f8") + c.inputs[1].astype("f8")).astype(c.inputs[0].dtype),
        node("Add", whole(-(2**60), 2**60, 4, 5), whole(-9, 9, 4, 5)),
    ),
    Fault(
        "and-broadcast-left",
        "And",
        "Shapes are aligned at their first axes.",
        lambda c: broadcast_left(c, np.logical_and),
        node("And", flags(6, 6), flags(6)),
    ),
    Fault(
        "asin-polynomial",
        "Asin",
        "A polynomial has errors of 7e-5.",
        lambda c: np.pi / 2 - acos_series(c),
        node("Asin", normal(5, 8, scale=0.4)),
    ),
    Fault(
        "asinh-cancellation",
        "Asinh",
        "The sum x + sqrt(x*x + 1) cancels for negative operands.",
        lambda c: np.log(c.inputs[0] + np.sqrt(c.inputs[0] ** 2 + F4(1))),
        node("Asinh", normal(5, 8, scale=40)),
    ),
    Fault(
        "atan-polynomial",
        "Atan",
        "A formula has errors of 2e-3.",
        lambda c: c.inputs[0] / (1 + 0.28 * c.inputs[0] ** 2),
        node("Atan", normal(5, 8, scale=0.5)),
    ),
    Fault(
        "atanh-small",
        "Atanh",
        "log((1+x)/(1-x)) loses small operands.",
        lambda c: F4(0.5) * np.log((F4(1) + c.inputs[0]) / (F4(1) - c.inputs[0])),
        node("Atanh", normal(5, 8, scale=1e-4)),
    ),
    Fault(
        "bitshift-direction",
        "BitShift",
        "The direction RIGHT is ignored.",
        lambda c: c(direction="LEFT"),
        node("BitShift", whole(0, 200, 12, dtype="u1"), whole(1, 6, 12, dtype="u1"), direction="RIGHT"),
    ),
    Fault(
        "bitwiseand-broadcast-left",
        "BitwiseAnd",
        "Shapes are aligned at their first axes.",
        lambda c: broadcast_left(c, np.bitwise_and),
        node("BitwiseAnd", whole(0, 99, 5, 5), whole(0, 99, 5)),
    ),
    Fault(
        "bitwisenot-logical",
        "BitwiseNot",
        "The logical not is computed.",
        lambda c: (c.inputs[0] == 0).astype(c.inputs[0].dtype),
        node("BitwiseNot", whole(-9, 9, 12, dtype="i4")),
    ),
    Fault(
        "bitwisexor-as-or",
        "BitwiseXor",
        "The or is computed.",
        lambda c: c(operator="BitwiseOr"),
        node("BitwiseXor", whole(0, 99, 12, dtype="i4"), whole(0, 99, 12, dtype="i4")),
    ),
    Fault(
        "cast-rounds",
        "Cast",
        "A float is rounded, not truncated.",
        lambda c: np.rint(c.inputs[0]),
        node("Cast", WIDE, to=6),
    ),
    Fault(
        "cast-bool-through-int",
        "Cast",
        "A fraction becomes false.",
        lambda c: c.inputs[0].astype(np.int32) != 0,
        node("Cast", normal(5, 8), to=9),
    ),
    Fault(
        "cast-double-to-half-twice",
        "Cast",
        "A double is rounded to float and then to float16.",
        lambda c: c.inputs[0].astype(F4).astype(np.float16),
        node("Cast", np.array([1 + 2**-11 + 2**-40, 1 - 2**-12 - 2**-45, 3 + 2**-9 + 2**-35]), to=10),
    ),
    Fault(
        "cast-half-truncates",
        "Cast",
        "A float becomes float16 toward zero.",
        truncated_half,
        node("Cast", normal(5, 8), to=10),
    ),
    Fault(
        "cast-bfloat16-truncates",
        "Cast",
        "The lower bits of a float are cut.",
        lambda c: (c.inputs[0].view(np.uint32) & 0xFFFF0000).view(F4),
        node("Cast", normal(5, 8), to=16),
    ),
    Fault(
        "cast-int64-through-float",
        "Cast",
        "An int64 becomes a double through float.",
        lambda c: c.inputs[0].astype(F4).astype("f8"),
        node("Cast", whole(2**24, 2**40, 9), to=11),
    ),
    Fault(
        "cast-float8-no-saturation",
        "Cast",
        "A large number becomes NaN although saturate is 1.",
        lambda c: c(saturate=0),
        node("Cast", array(1, 500, -1000, 3.3, 447), to=17),
    ),
    Fault(
        "cast-minus-zero",
        "Cast",
        "-0 becomes +0 in double.",
        lambda c: c.inputs[0].astype("f8") + 0.0,
        node("Cast", array(-0.0, 0.0, -1.0), to=11),
        "should",
    ),
    Fault(
        "castlike-rounds",
        "CastLike",
        "A float is rounded, not truncated.",
        lambda c: np.rint(c.inputs[0]),
        node("CastLike", WIDE, array(1, dtype="i4")),
    ),
    Fault(
        "ceil-truncates",
        "Ceil",
        "The integer part plus one is computed for positive numbers.",
        lambda c: np.trunc(c.inputs[0]) + (c.inputs[0] > 0),
        node("Ceil", GRID),
    ),
    Fault(
        "celu-alpha-outside",
        "Celu",
        "The operand is not divided by alpha.",
        lambda c: np.maximum(c.inputs[0], 0) + np.minimum(0, F4(c.attributes["alpha"]) * np.expm1(c.inputs[0])),
        node("Celu", WIDE, alpha=2.0),
    ),
    Fault(
        "clip-min-wins",
        "Clip",
        "The lower limit wins if it is above the upper limit.",
        lambda c: np.maximum(np.minimum(c.inputs[0], c.inputs[2]), c.inputs[1]),
        node("Clip", normal(5, 8), scalar(0.5), scalar(-0.5)),
    ),
    Fault(
        "clip-min-default-zero",
        "Clip",
        "A missing lower limit is 0.",
        lambda c: np.clip(c.inputs[0], 0, c.inputs[2]),
        node("Clip", normal(5, 8), None, scalar(0.7)),
    ),
    Fault(
        "clip-max-ignored",
        "Clip",
        "The upper limit is ignored.",
        lambda c: np.maximum(c.inputs[0], c.inputs[1]),
        node("Clip", WIDE, scalar(-0.5), scalar(0.5)),
    ),
    Fault(
        "cos-float-period",
        "Cos",
        "The operand is reduced by 2 pi in float.",
        lambda c: np.cos(np.fmod(c.inputs[0], F4(2 * np.pi))),
        node("Cos", normal(5, 8, scale=500)),
    ),
    Fault(
        "sin-float-period",
        "Sin",
        "The operand is reduced by 2 pi in float.",
        lambda c: np.sin(np.fmod(c.inputs[0], F4(2 * np.pi))),
        node("Sin", normal(5, 8, scale=500)),
    ),
    Fault(
        "tan-quotient-period",
        "Tan",
        "The operand is reduced by pi in float.",
        lambda c: np.tan(np.fmod(c.inputs[0], F4(np.pi))),
        node("Tan", normal(5, 8, scale=500)),
    ),
    Fault(
        "cosh-early-overflow",
        "Cosh",
        "The exponential overflows before the result does.",
        lambda c: (np.exp(c.inputs[0]) + np.exp(-c.inputs[0])) / 2,
        node("Cosh", array(1, 89.2, -89.3, 5)),
    ),
    Fault(
        "sinh-cancellation",
        "Sinh",
        "The difference of exponentials cancels for small operands.",
        lambda c: (np.exp(c.inputs[0]) - np.exp(-c.inputs[0])) * F4(0.5),
        node("Sinh", normal(5, 8, scale=1e-4)),
    ),
    Fault(
        "dequantizelinear-zero-point",
        "DequantizeLinear",
        "The zero point is ignored.",
        lambda c: c(*c.inputs[:2]),
        node("DequantizeLinear", whole(0, 255, 12, dtype="u1"), scalar(0.1), scalar(128, "u1")),
    ),
    Fault(
        "dequantizelinear-int8-wraps",
        "DequantizeLinear",
        "The difference to the zero point wraps in int8.",
        lambda c: (c.inputs[0] - c.inputs[2]).astype("i1") * c.inputs[1],
        node("DequantizeLinear", whole(-128, 127, 12, dtype="i1"), scalar(0.1), scalar(100, "i1")),
    ),
    Fault(
        "dequantizelinear-axis",
        "DequantizeLinear",
        "The axis is ignored.",
        lambda c: c(axis=1),
        node("DequantizeLinear", whole(-9, 9, 4, 4, dtype="i1"), const(0.1, 0.2, 0.3, 0.4, dtype="f4"), axis=0),
    ),
    Fault(
        "div-int-floors",
        "Div",
        "Integer quotients are rounded down.",
        lambda c: np.floor_divide(*c.inputs) if c.inputs[0].dtype.kind == "i" else c.inputs[0] / c.inputs[1],
        node("Div", whole(-50, 50, 5, 8, dtype="i4"), whole(1, 9, 8, dtype="i4")),
    ),
    Fault(
        "div-approximate-reciprocal",
        "Div",
        "The reciprocal has twelve bits.",
        lambda c: c.inputs[0] * (1 / c.inputs[1]).astype(np.float16).astype(c.inputs[0].dtype),
        node("Div", normal(5, 8), positive(8)),
    ),
    Fault(
        "dynamicquantize-range",
        "DynamicQuantizeLinear",
        "The range does not have to include 0.",
        lambda c: [
            np.clip(np.rint((c.inputs[0] - c.inputs[0].min()) / ((np.ptp(c.inputs[0])) / F4(255))), 0, 255).astype(
                "u1"
            ),
            F4(np.ptp(c.inputs[0]) / F4(255)),
            np.clip(np.rint(-c.inputs[0].min() / (np.ptp(c.inputs[0]) / F4(255))), 0, 255).astype("u1"),
        ],
        node("DynamicQuantizeLinear", positive(5, 8), outputs=3),
    ),
    Fault("elu-alpha-ignored", "Elu", "alpha is 1.", lambda c: c(alpha=1.0), node("Elu", normal(5, 8), alpha=0.3)),
    Fault(
        "equal-tolerance",
        "Equal",
        "Floats that differ by 1e-6 are equal.",
        lambda c: np.abs(c.inputs[0] - c.inputs[1]) < 1e-6,
        node("Equal", array(1, 2, 3, 4), array(1, 2.0000002, 3, 5)),
    ),
    Fault(
        "equal-nan",
        "Equal",
        "NaN equals NaN.",
        lambda c: (c.inputs[0] == c.inputs[1]) | (np.isnan(c.inputs[0]) & np.isnan(c.inputs[1])),
        node("Equal", array(1, NAN, 3), array(1, NAN, 4)),
    ),
    Fault(
        "erf-polynomial",
        "Erf",
        "A formula has errors of 5e-4.",
        lambda c: erf_series(c.inputs[0]),
        node("Erf", normal(5, 8)),
    ),
    Fault(
        "erf-saturates",
        "Erf",
        "The result is 1 above 2.",
        lambda c: np.where(np.abs(c.inputs[0]) > 2, np.sign(c.inputs[0]), c.one()),
        node("Erf", normal(5, 8, scale=2)),
    ),
    Fault(
        "exp-fast",
        "Exp",
        "Schraudolph's method has errors of some percent.",
        lambda c: fast_exp(c.inputs[0].astype(F4)),
        node("Exp", normal(5, 8)),
    ),
    Fault(
        "exp-float-in-double",
        "Exp",
        "double is computed in float.",
        lambda c: np.exp(c.inputs[0].astype(F4)),
        node("Exp", normal(5, 8, dtype="f8")),
    ),
    Fault(
        "exp-clamps",
        "Exp",
        "The operand is limited to 80.",
        lambda c: np.exp(np.minimum(c.inputs[0], 80)),
        node("Exp", array(1, 85, 88, -3, 2)),
    ),
    Fault(
        "floor-truncates",
        "Floor",
        "Negative numbers are truncated.",
        lambda c: np.trunc(c.inputs[0]),
        node("Floor", WIDE),
    ),
    Fault(
        "gelu-tanh-always",
        "Gelu",
        "The tanh formula is used for approximate=none.",
        lambda c: c(approximate="tanh"),
        node("Gelu", normal(5, 8), approximate="none"),
    ),
    Fault(
        "gelu-sigmoid",
        "Gelu",
        "x * sigmoid(1.702 x) is computed.",
        lambda c: c.inputs[0] / (1 + np.exp(-1.702 * c.inputs[0])),
        node("Gelu", normal(5, 8), approximate="none"),
    ),
    Fault(
        "gelu-tanh-constant",
        "Gelu",
        "The constant of the cube is 0.04.",
        lambda c: 0.5 * c.inputs[0] * (1 + np.tanh(0.7978845608 * (c.inputs[0] + 0.04 * c.inputs[0] ** 3))),
        node("Gelu", normal(5, 8), approximate="tanh"),
    ),
    Fault(
        "greater-int64-as-float",
        "Greater",
        "int64 is compared as float.",
        lambda c: c.inputs[0].astype(F4) > c.inputs[1].astype(F4),
        node("Greater", whole(2**40, 2**40 + 9, 12), whole(2**40, 2**40 + 8, 12)),
    ),
    Fault(
        "greaterorequal-nan",
        "GreaterOrEqual",
        "not (a < b) is computed.",
        lambda c: ~(c.inputs[0] < c.inputs[1]),
        node("GreaterOrEqual", array(1, NAN, 3), array(2, 1, NAN)),
    ),
    Fault(
        "hardsigmoid-default",
        "HardSigmoid",
        "alpha is 1/6 by default.",
        lambda c: c(alpha=1 / 6) if "alpha" not in c.attributes else c(),
        node("HardSigmoid", normal(5, 8)),
    ),
    Fault(
        "hardswish-sigmoid",
        "HardSwish",
        "The hard sigmoid has the slope 0.2.",
        lambda c: c.inputs[0] * np.clip(0.2 * c.inputs[0] + 0.5, 0, 1),
        node("HardSwish", normal(5, 8)),
    ),
    Fault(
        "isinf-negative",
        "IsInf",
        "detect_negative is ignored.",
        lambda c: c(detect_negative=1),
        node("IsInf", array(1, INF, -INF, NAN), detect_negative=0),
    ),
    Fault(
        "isnan-infinity",
        "IsNaN",
        "Infinity is NaN.",
        lambda c: ~np.isfinite(c.inputs[0]),
        node("IsNaN", array(1, INF, -INF, NAN)),
    ),
    Fault(
        "leakyrelu-default",
        "LeakyRelu",
        "alpha is 0.1 by default.",
        lambda c: c(alpha=0.1) if "alpha" not in c.attributes else c(),
        node("LeakyRelu", normal(5, 8)),
    ),
    Fault(
        "leakyrelu-alpha-ignored",
        "LeakyRelu",
        "alpha is always 0.01.",
        lambda c: c(alpha=0.01),
        node("LeakyRelu", normal(5, 8), alpha=0.2),
    ),
    Fault(
        "less-int64-as-float",
        "Less",
        "int64 is compared as float.",
        lambda c: c.inputs[0].astype(F4) < c.inputs[1].astype(F4),
        node("Less", whole(2**40, 2**40 + 9, 12), whole(2**40, 2**40 + 8, 12)),
    ),
    Fault(
        "lessorequal-nan",
        "LessOrEqual",
        "not (a > b) is computed.",
        lambda c: ~(c.inputs[0] > c.inputs[1]),
        node("LessOrEqual", array(1, NAN, 3), array(2, 1, NAN)),
    ),
    Fault(
        "log-flushes",
        "Log",
        "Subnormal operands are 0.",
        lambda c: np.log(np.where(np.abs(c.inputs[0]) < np.finfo(F4).tiny, 0, c.inputs[0])),
        node("Log", array(1, 1e-40, 2, 1e-44)),
    ),
    Fault(
        "log-base-two-constant",
        "Log",
        "log2 is multiplied by a constant of four digits.",
        lambda c: np.log2(c.inputs[0]) * c.inputs[0].dtype.type(0.6931),
        node("Log", positive(5, 8)),
    ),
    Fault(
        "max-first-two",
        "Max",
        "Only two inputs are compared.",
        lambda c: np.maximum(c.inputs[0], c.inputs[1]),
        node("Max", normal(5, 8), normal(5, 8, scale=2), normal(5, 8, scale=3)),
    ),
    Fault(
        "min-first-two",
        "Min",
        "Only two inputs are compared.",
        lambda c: np.minimum(c.inputs[0], c.inputs[1]),
        node("Min", normal(5, 8), normal(5, 8, scale=2), normal(5, 8, scale=3)),
    ),
    Fault(
        "mean-of-two",
        "Mean",
        "The sum is divided by 2.",
        lambda c: sum(c.inputs) / F4(2),
        node("Mean", normal(5, 8), normal(5, 8, scale=2), normal(5, 8, scale=3)),
    ),
    Fault(
        "mish-overflow",
        "Mish",
        "The square of the exponential overflows.",
        lambda c: (lambda e: c.inputs[0] * (e * e + 2 * e) / (e * e + 2 * e + 2))(np.exp(c.inputs[0])),
        node("Mish", normal(5, 8, scale=40)),
    ),
    Fault(
        "mod-sign-of-dividend",
        "Mod",
        "fmod=0 has the sign of the dividend.",
        lambda c: np.fmod(*c.inputs),
        node("Mod", whole(-50, 50, 5, 8, dtype="i4"), whole(-9, 0, 8, dtype="i4")),
    ),
    Fault(
        "mod-fmod-ignored",
        "Mod",
        "fmod=1 has the sign of the divisor.",
        float_mod,
        node("Mod", WIDE, positive(8), fmod=1),
    ),
    Fault(
        "mul-int32-as-float",
        "Mul",
        "int32 is multiplied as float.",
        lambda c: (c.inputs[0].astype(F4) * c.inputs[1].astype(F4)).astype(c.inputs[0].dtype),
        node("Mul", whole(-30000, 30000, 12, dtype="i4"), whole(-30000, 30000, 12, dtype="i4")),
    ),
    Fault(
        "mul-flushes",
        "Mul",
        "Subnormal products are 0.",
        lambda c: (lambda y: np.where(np.abs(y) < np.finfo(y.dtype).tiny, y * 0, y))(c.inputs[0] * c.inputs[1]),
        node("Mul", normal(5, 8, scale=1e-20), normal(5, 8, scale=1e-20)),
        "should",
    ),
    Fault(
        "neg-zero",
        "Neg",
        "0 - x is computed.",
        lambda c: c.inputs[0].dtype.type(0) - c.inputs[0],
        node("Neg", np.maximum(normal(5, 8), 0)),
        "should",
    ),
    Fault(
        "or-as-xor",
        "Or",
        "The exclusive or is computed.",
        lambda c: np.logical_xor(*c.inputs),
        node("Or", flags(12), flags(3, 12)),
    ),
    Fault(
        "pow-negative-base",
        "Pow",
        "exp(y log x) is NaN for a negative base.",
        lambda c: np.exp(c.inputs[1] * np.log(c.inputs[0])),
        node("Pow", normal(5, 8), scalar(3.0)),
    ),
    Fault(
        "pow-int-as-float",
        "Pow",
        "int32 is computed as float.",
        lambda c: np.power(c.inputs[0].astype(F4), c.inputs[1].astype(F4)).astype(c.inputs[0].dtype),
        node("Pow", whole(90, 400, 9, dtype="i4"), scalar(3, "i4")),
    ),
    Fault(
        "pow-square-of-magnitude",
        "Pow",
        "The base loses its sign.",
        lambda c: np.abs(c.inputs[0]) ** c.inputs[1],
        node("Pow", normal(5, 8), scalar(3.0)),
    ),
    Fault(
        "prelu-channel-axis",
        "PRelu",
        "A vector of slopes belongs to axis 1.",
        lambda c: np.where(c.inputs[0] < 0, c.inputs[0] * c.inputs[1].reshape(1, -1, 1), c.inputs[0]),
        node("PRelu", normal(2, 4, 4), const(0.1, 0.2, 0.3, 0.4, dtype="f4")),
    ),
    Fault(
        "quantizelinear-half-up",
        "QuantizeLinear",
        "Halves are rounded up.",
        lambda c: quantize(c, half_up),
        node("QuantizeLinear", halves(-9, 9, 5, 8), scalar(1.0), scalar(128, "u1")),
    ),
    Fault(
        "quantizelinear-half-away",
        "QuantizeLinear",
        "Halves are rounded away from zero.",
        lambda c: quantize(c, half_away),
        node("QuantizeLinear", halves(-9, 9, 5, 8), scalar(1.0), scalar(0, "i1")),
    ),
    Fault(
        "quantizelinear-wraps",
        "QuantizeLinear",
        "Numbers out of range wrap.",
        lambda c: (np.rint(c.inputs[0] / c.inputs[1]).astype("i8") + c.inputs[2]).astype(c.inputs[2].dtype),
        node("QuantizeLinear", normal(5, 8, scale=90), scalar(0.5), scalar(0, "i1")),
    ),
    Fault(
        "quantizelinear-axis",
        "QuantizeLinear",
        "The axis is ignored.",
        lambda c: c(axis=1),
        node(
            "QuantizeLinear",
            WIDE[:, :5],
            const(0.1, 0.2, 0.3, 0.4, 0.5, dtype="f4"),
            const(1, 2, 3, 4, 5, dtype="u1"),
            axis=0,
        ),
    ),
    Fault(
        "reciprocal-twelve-bits",
        "Reciprocal",
        "The estimate is not refined.",
        lambda c: (1 / c.inputs[0]).astype(np.float16).astype(F4),
        node("Reciprocal", positive(5, 8)),
    ),
    Fault("relu-six", "Relu", "The result is at most 6.", lambda c: np.clip(c.inputs[0], 0, 6), node("Relu", WIDE)),
    Fault(
        "round-half-away",
        "Round",
        "Halves are rounded away from zero.",
        lambda c: half_away(c.inputs[0]),
        node("Round", GRID),
    ),
    Fault(
        "selu-gamma-ignored",
        "Selu",
        "gamma is not applied to positive numbers.",
        lambda c: np.where(c.inputs[0] > 0, c.inputs[0], c.one()),
        node("Selu", normal(5, 8)),
    ),
    Fault(
        "selu-attributes",
        "Selu",
        "The attributes are ignored.",
        lambda c: c(alpha=None, gamma=None),
        node("Selu", normal(5, 8), alpha=1.2, gamma=2.0),
    ),
    Fault(
        "shrink-bias",
        "Shrink",
        "bias is ignored.",
        lambda c: c(bias=0.0),
        node("Shrink", normal(5, 8, scale=2), bias=0.25, lambd=0.5),
    ),
    Fault(
        "shrink-border",
        "Shrink",
        "The border itself is shifted too.",
        lambda c: (lambda x, t, b: np.where(x <= -t, x + b, np.where(x >= t, x - b, 0)))(
            c.inputs[0], c.attributes["lambd"], c.attributes["bias"]
        ),
        node("Shrink", GRID, bias=0.25, lambd=0.5),
    ),
    Fault(
        "sigmoid-table",
        "Sigmoid",
        "A table has 256 entries.",
        lambda c: 1 / (1 + np.exp(-np.rint(np.clip(c.inputs[0], -8, 8) * 16) / 16)),
        node("Sigmoid", WIDE),
    ),
    Fault(
        "sigmoid-overflow",
        "Sigmoid",
        "exp(x) / (1 + exp(x)) is NaN for large operands.",
        lambda c: np.exp(c.inputs[0]) / (1 + np.exp(c.inputs[0])),
        node("Sigmoid", array(1, 100, -100, 3)),
    ),
    Fault(
        "sign-of-zero", "Sign", "The sign of 0 is 1.", lambda c: np.where(c.inputs[0] < 0, -1, 1), node("Sign", GRID)
    ),
    Fault(
        "softplus-threshold",
        "Softplus",
        "The operand is returned above 4.",
        lambda c: np.where(c.inputs[0] > 4, c.inputs[0], np.log1p(np.exp(c.inputs[0]))),
        node("Softplus", WIDE),
    ),
    Fault(
        "softsign-sign",
        "Softsign",
        "The denominator has no absolute value.",
        lambda c: c.inputs[0] / (1 + c.inputs[0]),
        node("Softsign", normal(5, 8)),
    ),
    Fault(
        "sqrt-twelve-bits",
        "Sqrt",
        "The estimate is not refined.",
        lambda c: np.sqrt(c.inputs[0]).astype(np.float16).astype(c.inputs[0].dtype),
        node("Sqrt", positive(5, 8)),
    ),
    Fault(
        "sqrt-negative-zero",
        "Sqrt",
        "A negative operand gives 0.",
        lambda c: np.sqrt(np.maximum(c.inputs[0], 0)),
        node("Sqrt", normal(5, 8)),
    ),
    Fault(
        "sub-swapped",
        "Sub",
        "The operands are swapped if the first is broadcast.",
        lambda c: c.inputs[1] - c.inputs[0] if c.inputs[0].size < c.inputs[1].size else c.inputs[0] - c.inputs[1],
        node("Sub", normal(8), normal(5, 8)),
    ),
    Fault(
        "sum-third-input",
        "Sum",
        "The third input is ignored.",
        lambda c: c.inputs[0] + c.inputs[1],
        node("Sum", normal(5, 8), normal(5, 8, scale=2), normal(8)),
    ),
    Fault(
        "tanh-saturates",
        "Tanh",
        "The result is 1 above 3.",
        lambda c: np.where(np.abs(c.inputs[0]) > 3, np.sign(c.inputs[0]), np.tanh(c.inputs[0])),
        node("Tanh", WIDE),
    ),
    Fault(
        "tanh-pade",
        "Tanh",
        "A rational function has errors of 1e-3.",
        lambda c: (lambda x: np.clip(x * (27 + x * x) / (27 + 9 * x * x), -1, 1))(c.inputs[0]),
        node("Tanh", normal(5, 8)),
    ),
    Fault(
        "thresholdedrelu-border",
        "ThresholdedRelu",
        "The border itself is kept.",
        lambda c: np.where(c.inputs[0] >= c.attributes["alpha"], c.inputs[0], 0),
        node("ThresholdedRelu", GRID, alpha=0.5),
    ),
    Fault(
        "where-by-product",
        "Where",
        "c*a + (1-c)*b is NaN for an infinity that is not selected.",
        lambda c: c.inputs[0] * c.inputs[1] + (1 - c.inputs[0]) * c.inputs[2],
        node("Where", flags(8), array(1, -INF, 2, 3, INF, 4, -INF, INF), normal(8)),
    ),
    Fault(
        "where-swapped",
        "Where",
        "The branches are swapped.",
        lambda c: np.where(c.inputs[0], c.inputs[2], c.inputs[1]),
        node("Where", flags(5, 8), normal(5, 8), normal(8)),
    ),
    Fault(
        "xor-as-or", "Xor", "The or is computed.", lambda c: np.logical_or(*c.inputs), node("Xor", flags(12), flags(12))
    ),
]
