"""Accuracies of functions, admissible forms, and open elements: the tolerances of all enclosures, as tables.

The tables are to be held against the operators' pages and the sources that each row names. The code of `enclosures`
reads them and has no tolerances of its own.

Sums and products are correctly rounded everywhere. The tables bound the errors of all other operations in units in the
last place (ULP), as their sources do. Relative to a result, one ULP is at most two units of roundoff.

Sources: the OpenCL C specification, section "Relative Error as ULPs", tables "ULP Values for Single-Precision Built-in
Math Functions" (full profile), "… for Double-Precision Built-in Math Functions" and "… for Half-Precision
Floating-Point Arithmetic Operations" (Khronos, OpenCL-Docs, OpenCL_C.txt); IEEE 754-2019, clause 5.4.1; WGSL (W3C),
section "Floating Point Accuracy".
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping


LN_2 = Decimal("0.6932")
"""The natural logarithm of 2, rounded up."""


@dataclass(frozen=True)
class Accuracy:
    """The largest admissible errors of operations in one format, in ULP of the exact result.

    Attributes:
        quotient: error of a division.
        root: error of a square root.
        power: error of a power that one function call computes; a loop, or an exponential of a logarithm, may have a
            larger error.
        function: error of an exponential or a logarithm.
        logarithm: absolute error, near 1, of the base-2 logarithm that a power is computed with; 0 if powers are not
            computed with a base-2 logarithm.
    """

    quotient: Decimal
    root: Decimal
    power: Decimal
    function: Decimal
    logarithm: Decimal = Decimal(0)

    def power_error(self, exponent: Decimal, logarithm: Decimal, unit_roundoff: Decimal) -> Decimal:
        """Return the largest absolute error of the natural logarithm of a power.

        Args:
            exponent: the exponent of the power.
            logarithm: the natural logarithm of the base's magnitude.
            unit_roundoff: the unit roundoff of the format.
        """
        log_of_power = exponent * abs(logarithm)
        error = max(2 * self.power, exponent, 3 * log_of_power) * unit_roundoff
        if not self.logarithm:
            return error
        # log2 within its absolute error or 3 ULP, the product rounded, exp2 of z within 3 + 2 |z| ULP.
        return max(error, exponent * self.logarithm * LN_2 + (13 * log_of_power + 6) * unit_roundoff)

    @property
    def is_exact_for_powers_of_two(self) -> bool:
        """Whether a division by a power of two, and the square root of a power of four, are exact.

        Both are exact if a quotient is correctly rounded, or is a correctly rounded product with a correctly rounded
        reciprocal. They are inexact if a quotient is an approximation refined by a Newton step, as `-ffast-math`
        compiles a float division.
        """
        return self.quotient <= 1 and self.root <= 1


IEEE_754 = Accuracy(Decimal("0.5"), Decimal("0.5"), Decimal("0.5"), Decimal("0.5"))
"""Correct rounding: required by IEEE 754 for quotients and roots, recommended for functions. It grades the accuracy of
a backend and never decides a verdict."""

OPENCL: Mapping[str, Accuracy] = {
    "float": Accuracy(Decimal("2.5"), Decimal(3), Decimal(16), Decimal(3)),
    "double": Accuracy(Decimal("0.5"), Decimal("0.5"), Decimal(16), Decimal(3)),
    "float16": Accuracy(Decimal(1), Decimal(1), Decimal(4), Decimal(2)),
}
"""The accuracy that the full profile of OpenCL requires, by the name of the format."""

WGSL: Mapping[str, Accuracy] = {
    "float": Accuracy(Decimal("2.5"), Decimal("4.51"), Decimal(16), Decimal(4), Decimal(2) ** -21),
}
"""The accuracy that WGSL requires, by the name of the format. A root is 1 / inverseSqrt(x): 2 ULP, then 2.5 ULP. A
power
is exp2(y * log2(x))."""

ACCURACY_GRADES: Mapping[str, Mapping[str, Accuracy]] = {
    "IEEE 754": {"float": IEEE_754, "double": IEEE_754},
    "OpenCL, full profile": OPENCL,
    "WGSL": WGSL,
}
"""The grades of an output's accuracy, the strictest first: name of the grade → name of the format → accuracy. A grade
does not apply to formats that it does not list."""

MUST_ACCURACY: Mapping[str, Accuracy] = {
    # OpenCL's full profile throughout; one ULP more for functions, which only decide indices here.
    "float": Accuracy(Decimal("2.5"), Decimal(3), Decimal(16), Decimal(4)),
    # A correctly rounded reciprocal, then a correctly rounded product: wider than OpenCL, since compilers emit this.
    "double": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
    "float16": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
    "bfloat16": Accuracy(Decimal(1), Decimal(1), Decimal(16), Decimal(4)),
}
"""The errors that level `must` admits, by the name of the format. They are nowhere below those of OpenCL's full
profile."""

SHOULD_ACCURACY = Accuracy(Decimal(1), Decimal(1), Decimal(8), Decimal(4))
"""The errors that the levels `should` and `silent` admit, in every format."""


def accuracy_at(level: Level, format_name: str) -> Accuracy:
    """Return the errors that a level admits in a format; a format without a row has those of `should`."""
    return MUST_ACCURACY.get(format_name, SHOULD_ACCURACY) if level is Level.MUST else SHOULD_ACCURACY


@dataclass(frozen=True)
class FunctionAccuracy:
    """The largest admissible error of a function in ULP of its result.

    Attributes:
        must: the limit at level `must` for float and double.
        should: the limit at level `should` for float and double.
        narrow: the limit at level `must` for float16 and bfloat16. At level `should` it is `NARROW_ULP`.
        opencl: the limit of OpenCL's full profile for float.
        absolute: a further admissible error at level `must`, in units of roundoff of 1.
    """

    must: float
    should: float
    narrow: float
    opencl: float
    absolute: float = 0.0

    def ulps(self, type_name: str, *, is_strict: bool) -> float:
        """Return the limit for a type at level `should` or at level `must`."""
        if type_name in NARROW:
            return NARROW_ULP if is_strict else self.narrow
        return self.should if is_strict else self.must


NARROW = frozenset({"float16", "bfloat16"})
"""Types whose sums and functions are computed in float at level `should`, as the kernels of all known runtimes do.
NumPy does so for functions of float16, but not for sums. At level `must` sums may be accumulated in the type itself,
unless the page has a `stash_type`."""

NARROW_ULP = 1.0
"""The error of a function that is computed in float and rounded once: half an ULP, and a little of the function."""


FUNCTIONS: Mapping[str, FunctionAccuracy] = {
    # function               must should narrow OpenCL
    "exp": FunctionAccuracy(4, 4, 2, 3),
    "log": FunctionAccuracy(4, 4, 2, 3),
    "expm1": FunctionAccuracy(4, 4, 2, 3),
    "log1p": FunctionAccuracy(4, 4, 2, 2),
    "sin": FunctionAccuracy(4, 4, 2, 4, absolute=8),
    "cos": FunctionAccuracy(4, 4, 2, 4, absolute=8),
    "tan": FunctionAccuracy(5, 5, 2, 5),
    "asin": FunctionAccuracy(4, 4, 2, 4),
    "acos": FunctionAccuracy(4, 4, 2, 4),
    "atan": FunctionAccuracy(5, 5, 2, 5),
    "sinh": FunctionAccuracy(4, 4, 2, 4),
    "cosh": FunctionAccuracy(4, 4, 2, 4),
    "tanh": FunctionAccuracy(5, 5, 2, 5),
    "tanh of a cell": FunctionAccuracy(5, 5, 2, 5, absolute=4),
    "asinh": FunctionAccuracy(4, 4, 2, 4),
    "acosh": FunctionAccuracy(4, 4, 2, 4),
    "atanh": FunctionAccuracy(5, 5, 2, 5),
    "erf": FunctionAccuracy(16, 8, 4, 16),
    "pow": FunctionAccuracy(16, 8, 4, 16),
}
"""Source: the table "ULP Values for Single-Precision Built-in Math Functions" of the OpenCL C specification, full
profile. The limits are those of OpenCL, and one ULP more for exp, log, expm1 and log1p. The limits
of narrow types are those of the table for half precision. Sin and cos have an absolute
limit too, as in WGSL: their results near 0 depend on the reduction of the argument. The pages of recurrent operators
write Tanh as (1 - e) / (1 + e) with e = Exp(-2 X): an error of 4 ULP, which is 8 units of roundoff, of e changes it by
2 e 8 u / (1 + e)^2, at most 4 u."""


FORMS: Mapping[str, Mapping[str, str]] = {
    "Sigmoid": {"written": "1 / (1 + Exp(-X))", "tanh": "(1 + Tanh(X / 2)) / 2"},
    "Elu": {"expm1": "alpha * Expm1(X) for X < 0", "written": "alpha * (Exp(X) - 1) for X < 0"},
    "Celu": {"written": "X for X >= 0", "function": "alpha * (X / alpha) for X >= 0, as in the function of the schema"},
    "Selu": {
        "expm1": "gamma * (alpha * Expm1(X)) for X <= 0",
        "written": "gamma * (alpha * Exp(X) - alpha) for X <= 0",
        "folded": "(gamma * alpha) * (Exp(X) - 1) for X <= 0",
    },
    "Mish": {
        "written": "X * Tanh(Softplus(X))",
        "quotient": "X * ((1 + Exp(X))^2 - 1) / ((1 + Exp(X))^2 + 1) for X < 0 of float or double",
    },
    "HardSwish": {
        "written": "X * Max(0, Min(1, X / 6 + 0.5))",
        "relu6": "X * Min(Max(X + 3, 0), 6) / 6",
        "reciprocal": "X * (Min(Max(X + 3, 0), 6) * (1 / 6))",
    },
    "Mean": {"written": "(A + B + …) / n", "scaled": "A / n + B / n + …"},
    "SquaredDistance": {"written": "Sum((X - V)^2)", "expanded": "Sum(X^2) + Sum(V^2) - 2 X V"},
    "Power of 2": {"product": "X * X", "function": "Pow(X, 2), or Exp2(2 Log2(Abs(X)))"},
    "variance": {"centred": "Mean((X - Mean(X))^2)", "moments": "Mean(X^2) - Mean(X)^2"},
    "normalized": {"written": "(X - mean) / root", "reciprocal": "(X - mean) * (1 / root)"},
    "scaled": {
        "written": "normalized * scale + bias",
        "folded": "X * a + (bias - mean * a), with a = scale / Sqrt(variance + epsilon)",
        "centred": "(X - mean) * a + bias",
        "multiplied": "(X - mean) * scale / Sqrt(variance + epsilon) + bias, whose product may overflow",
    },
    "MeanVarianceNormalization": {
        "page": "(X - EX) / Sqrt(E((X - EX)^2)), the formula of the page",
        "function": "(X - EX) / (Sqrt(E((X - EX)^2)) + 1e-9), the function body of the schema",
        "root of moments": "the function body, with the variance E(X^2) - (EX)^2",
    },
    "ReduceL2": {"written": "Sqrt(ReduceSum(X * X))", "function": "Sqrt(Cast(ReduceSum(X * X))), with a cast to float"},
    "LogSoftmax": {
        "shifted": "(X - largest) - Log(Sum(Exp(X - largest)))",
        "collected": "X - (largest + Log(Sum(Exp(X - largest))))",
        "logarithm": "Log(Softmax(X)), the form of the page, which has no accurate result where Softmax underflows",
    },
    "Normalizer by L2": {
        "quotient": "X / Sqrt(Sum(X^2))",
        "root": "Sqrt(X^2 / Sum(X^2)), the form of the page, which has no accurate result where X^2 underflows",
    },
    "Range": {"written": "start + i * delta", "function": "start + delta + delta + …, the function body of the schema"},
    "Quotient by a scale": {"written": "x / y_scale", "reciprocal": "x * (1 / y_scale)"},
    "Dequantized": {"written": "(x - x_zero_point) * x_scale, exactly", "narrow": "Cast(x - x_zero_point) * x_scale"},
    "Requantized": {
        "written": "sum * a_scale * b_scale / y_scale",
        "multiplier": "sum * (a_scale * b_scale / y_scale)",
    },
    "Rescaled": {"written": "sum * a_scale * b_scale", "multiplier": "sum * (a_scale * b_scale)"},
    "FastGelu": {
        "documented": "X (1 + Tanh(0.797885 X + 0.035677 X^3)) / 2, with the digits of the documentation",
        "exact": "X (1 + Tanh(Sqrt(2 / pi) (X + 0.044715 X^3))) / 2, the approximation that the digits stand for",
    },
    "LRN": {
        "written": "the sum of the squares of the region",
        "running": "the sum of the region before, plus the square that enters, minus the square that leaves",
    },
    "Activation of a cell": {
        "clipped": "h(Clip(Ct)): the page clips the input of each activation",
        "written": "h(Ct): the page calls Ct a state, and runtimes clip only the sums of the gates",
    },
    "Interpolation": {"written": "(1 - w) * first + w * second", "lerp": "first + w * (second - first)"},
    "Softplus": {"shifted": "Max(X, 0) + Log(1 + Exp(-Abs(X)))", "written": "Log(Exp(X) + 1)"},
    "factor": {"written": "scale / root", "reciprocal": "scale * (1 / root)"},
    "GroupNormalization": {
        "written": "Cast(normalized) * scale + bias",
        "stashed": "Cast(normalized * scale + bias), with a scale and a bias in the type stash_type",
    },
    "RoiAlign": {"sample": "the largest interpolated sample", "product": "the largest product of a pixel and a weight"},
    "Limit of a cell": {"written": "Clip(X, -clip, clip)", "rounded": "Clip(X, -c, c), with c = clip in the type of X"},
    "QuantizeLinear": {"written": "x / y_scale in precision", "float": "x / y_scale in float, rounded to an integer"},
    "Cast scale": {"written": "Cast(x_scale)", "unrounded": "x_scale in its own type"},
    "Resize": {"given": "a scale for each axis", "shared": "one scale for all axes, which keeps the ratio"},
    "QLinear": {"written": "a + b or a * b", "combined": "the scales and the zero points combined first"},
}
"""The admissible forms of each formula, by the name of the form in the code, in the names of the operator's page. An
enclosure contains the results of all forms that its level admits. `root` is Sqrt(variance + epsilon)."""

FORMS_AT_MUST = frozenset(
    {("Celu", "function"), ("ReduceL2", "function"), ("LogSoftmax", "logarithm"), ("QuantizeLinear", "float")}
    | {("Quotient by a scale", "reciprocal"), ("Dequantized", "narrow"), ("Mish", "quotient")}
    | {("Normalizer by L2", "root")}
)
"""Forms that only level `must` admits."""


def forms_of(name: str, level: Level) -> list[str]:
    """Return the names of the forms of a row of `FORMS` that a level admits."""
    return [form for form in FORMS[name] if level is Level.MUST or (name, form) not in FORMS_AT_MUST]


FUNCTION_OPERATORS = frozenset(
    {("", name) for name in ("BlackmanWindow", "HammingWindow", "HannWindow", "RotaryEmbedding", "SwiGLU")}
    | {("", name) for name in ("Attention", "CausalConvWithState", "LinearAttention")}
    | {("", "NegativeLogLikelihoodLoss"), ("", "SoftmaxCrossEntropyLoss"), ("ai.onnx.preview", "FlexAttention")}
)
"""Operators, by domain and name, whose schema has a function body that states the result. The body is evaluated node by
node: the bounds of its nodes add up, and contain a computation in wider types and one in a single kernel.

The tensors between its nodes have the type of the operands at both levels. In bfloat16, Attention of some 20 keys has a
bound of 4 ULP at level `should`, which is 3 % of a number, and 24 to 68 ULP at level `must`. A bound for one rounding
would contradict 12 of onnx's own node cases, whose expected values are computed node by node."""

WIDE_FORMULAS = frozenset(
    {"Mean", "Sum", "Gemm", "Conv", "ConvTranspose", "AveragePool", "GlobalAveragePool", "CumSum"}
    | {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}
    | {"Softmax", "LogSoftmax", "InstanceNormalization", "BatchNormalization", "LpNormalization"}
    | {"MeanVarianceNormalization", "LpPool", "GlobalLpPool", "LRN"}
)
"""Operators that level `should` requires to be computed in float, and rounded once, for tensors of a type in `NARROW`.
The reason is the same: their formulas are sums."""

ROUNDINGS: Mapping[str, int] = {
    "position in AffineGrid": 4,
    "position of a sample": 2,
    "place in RoiAlign": 6,
    "number of samples in RoiAlign": 8,
    "length of Range": 2,
    "multiple in Mod": 4,
    "limit of a random number": 2,
    "weight of a cubic interpolation": 16,
    "root of unity": 8,
    "stage of a transform": 12,
}
"""Roundings of numbers that are no results of a node, in units of roundoff of the largest intermediate value.

A position in AffineGrid is a start plus steps. A weight of a cubic interpolation and a root of unity have an error
relative to 1. A fast transform of any length is a convolution of three transforms of up to four times the length
(Bluestein). At level `must`, Mod may be A - Floor(A / B) * B, whose quotient, product and difference round."""

TIE_DISTANCE = 2.0**-12
"""Distance from a change of `nearest_mode` of Resize within which rounding of a coordinate decides."""

DEVIATIONS = 3.5
"""Factor c of the bound c Sqrt(n) u of a sum of n terms at level `should`.

If rounding errors are independent, have mean 0 and are uniform in [-u, u], the error of the sum has a standard
deviation of at most Sqrt(n / 3) u times the largest partial sum, and c is 6 of them: an element is outside with a
probability of 2e-9. If nothing is known but independence and the mean, the probability is at most
2 Exp(-c^2 / 2) = 0.5 %. Source: Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci.
Comput. 41(5), 2019. Sums of equal terms can have errors with another mean, which is the reason for level `should`."""

SUBNORMAL_STEPS = 128
"""A further admissible error of a function at level `must` for float and double, in smallest subnormal numbers.

Products inside of a rational approximation lose digits where the result is near the smallest normal number. Source:
OpenCL admits that subnormal intermediates and results are flushed to zero, which is an error of 2^23 steps in float."""

NORMAL_RANGE = 40.0
"""Number of standard deviations that a number of a normal distribution is from the mean, at most. A number beyond has a
probability below 1e-300; a generator that transforms 32 or 53 random bits reaches 8.6."""

UNSPECIFIED_NAN = frozenset(
    {"Max", "Min", "Clip", "Relu", "Sign", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool", "HardSigmoid"}
    | {"ArgMax", "ArgMin", "Hardmax", "TopK"}
)
"""Operators whose pages do not state which of two numbers is larger if one is NaN."""

UNSPECIFIED_OVERFLOW = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Neg", "Abs", "Sum", "Mean", "ReduceSum", "ReduceMean"}
    | {"ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceProd", "CumSum", "CumProd", "MatMul", "Gemm", "Einsum"}
)
"""Operators of integers whose pages do not state the result of an overflow."""

SIGNED_ZERO = frozenset(
    {"Neg", "Abs", "Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Ceil", "Floor", "Round", "Cast", "Sin", "Tan"}
    | {"Asin", "Atan", "Sinh", "Asinh", "Tanh", "Atanh", "Erf", "Identity", "Reshape", "Transpose", "Squeeze"}
    | {"Unsqueeze", "Flatten", "Expand", "Slice", "Tile", "Gather", "Split", "Concat", "Where", "GatherElements"}
    | {"GatherND", "DepthToSpace", "SpaceToDepth", "Constant"}
)
"""Operators for which IEEE 754 (clauses 5.5.1, 6.3 and 9.2.1) determines the sign of a zero: a requirement of level
`should`. Other operators add, or compare, numbers in an order that the page leaves open."""
