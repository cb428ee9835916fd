"""Accuracies of functions, admissible forms, and open elements: the tolerances of all enclosures, as tables.

The tables are to be held against the operators' pages and the sources that each row names. The code of `enclosures`
reads them and has no tolerances of its own. Quotients and roots have their limits in `numbers.precision`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping


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


@dataclass(frozen=True)
class Form:
    """One admissible form of a formula.

    Attributes:
        name: the name of the form in the code.
        formula: the form in the names of the operator's page.
        level: `must` if only level `must` admits the form, `should` if both levels do.
    """

    name: str
    formula: str
    level: Level = Level.SHOULD


FORMS: Mapping[str, tuple[Form, ...]] = {
    "Sigmoid": (
        Form("written", "1 / (1 + Exp(-X))"),
        Form("tanh", "(1 + Tanh(X / 2)) / 2"),
    ),
    "Elu": (
        Form("expm1", "alpha * Expm1(X) for X < 0"),
        Form("written", "alpha * (Exp(X) - 1) for X < 0"),
    ),
    "Celu": (
        Form("written", "X for X >= 0"),
        Form("function", "alpha * (X / alpha) for X >= 0, as in the function of the schema", Level.MUST),
    ),
    "Selu": (
        Form("expm1", "gamma * (alpha * Expm1(X)) for X <= 0"),
        Form("written", "gamma * (alpha * Exp(X) - alpha) for X <= 0"),
        Form("folded", "(gamma * alpha) * (Exp(X) - 1) for X <= 0"),
    ),
    "Mish": (
        Form("written", "X * Tanh(Softplus(X))"),
        Form("quotient", "X * ((1 + Exp(X))^2 - 1) / ((1 + Exp(X))^2 + 1) for X < 0 of float or double", Level.MUST),
    ),
    "HardSwish": (
        Form("written", "X * Max(0, Min(1, X / 6 + 0.5))"),
        Form("relu6", "X * Min(Max(X + 3, 0), 6) / 6"),
        Form("reciprocal", "X * (Min(Max(X + 3, 0), 6) * (1 / 6))"),
    ),
    "Mean": (
        Form("written", "(A + B + …) / n"),
        Form("scaled", "A / n + B / n + …"),
    ),
    "SquaredDistance": (
        Form("written", "Sum((X - V)^2)"),
        Form("expanded", "Sum(X^2) + Sum(V^2) - 2 X V"),
    ),
    "Power of 2": (
        Form("product", "X * X"),
        Form("function", "Pow(X, 2), or Exp2(2 Log2(Abs(X)))"),
    ),
    "variance": (
        Form("centred", "Mean((X - Mean(X))^2)"),
        Form("moments", "Mean(X^2) - Mean(X)^2"),
    ),
    "normalized": (
        Form("written", "(X - mean) / Sqrt(variance + epsilon)"),
        Form("reciprocal", "(X - mean) * (1 / Sqrt(variance + epsilon))"),
    ),
    "scaled": (
        Form("written", "normalized * scale + bias"),
        Form("folded", "X * a + (bias - mean * a), with a = scale / Sqrt(variance + epsilon)"),
        Form("centred", "(X - mean) * a + bias"),
        Form("multiplied", "(X - mean) * scale / Sqrt(variance + epsilon) + bias, whose product may overflow"),
    ),
    "MeanVarianceNormalization": (
        Form("page", "(X - EX) / Sqrt(E((X - EX)^2)), the formula of the page"),
        Form("function", "(X - EX) / (Sqrt(E((X - EX)^2)) + 1e-9), the function body of the schema"),
        Form("root of moments", "the function body, with the variance E(X^2) - (EX)^2"),
    ),
    "ReduceL2": (
        Form("written", "Sqrt(ReduceSum(X * X))"),
        Form("function", "the function body of the schema: the sum is cast to float before Sqrt", Level.MUST),
    ),
    "LogSoftmax": (
        Form("shifted", "(X - largest) - Log(Sum(Exp(X - largest)))"),
        Form("collected", "X - (largest + Log(Sum(Exp(X - largest))))"),
    ),
    "Range": (
        Form("written", "start + i * delta"),
        Form("function", "start + delta + delta + …, the function body of the schema"),
    ),
    "Quotient by a scale": (
        Form("written", "x / y_scale"),
        Form("reciprocal", "x * (1 / y_scale)", Level.MUST),
    ),
    "Dequantized": (
        Form("written", "(x - x_zero_point) * x_scale, with an exact difference"),
        Form("narrow", "Cast(x - x_zero_point) * x_scale, with a difference in the type of the result", Level.MUST),
    ),
    "Requantized": (
        Form("written", "sum * a_scale * b_scale / y_scale"),
        Form("multiplier", "sum * (a_scale * b_scale / y_scale)"),
    ),
    "Rescaled": (
        Form("written", "sum * a_scale * b_scale"),
        Form("multiplier", "sum * (a_scale * b_scale)"),
    ),
    "FastGelu": (
        Form("documented", "X (1 + Tanh(0.797885 X + 0.035677 X^3)) / 2, with the digits of the documentation"),
        Form("exact", "X (1 + Tanh(Sqrt(2 / pi) (X + 0.044715 X^3))) / 2, the approximation that the digits stand for"),
    ),
    "LRN": (
        Form("written", "the sum of the squares of the region"),
        Form("running", "the sum of the region before, plus the square that enters, minus the square that leaves"),
    ),
    "Activation of a cell": (
        Form("clipped", "h(Clip(Ct)): the page clips the input of each activation"),
        Form("written", "h(Ct): the page calls Ct a state, and runtimes clip only the sums of the gates"),
    ),
    "Interpolation": (
        Form("written", "(1 - w) * first + w * second"),
        Form("lerp", "first + w * (second - first)"),
    ),
}
"""The admissible forms of each formula. An enclosure contains the results of all forms that its level admits."""

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
