"""Accuracies of functions, admissible forms, and open elements: the tolerances of all enclosures, as tables.

`tolerances.toml` has the tables of functions, forms and operators. The tables are to be held against the operators'
pages and the sources that each table names. The code of `enclosures` reads them and has no tolerances of its own.

Sums and products are correctly rounded everywhere. The tables bound the errors of all other operations in units in the
last place (ULP), as their sources do. Relative to a result, one ULP is at most two units of roundoff.

Sources: the OpenCL C specification, section "Relative Error as ULPs", tables "ULP Values for Single-Precision Built-in
Math Functions" (full profile), "… for Double-Precision Built-in Math Functions" and "… for Half-Precision
Floating-Point Arithmetic Operations" (Khronos, OpenCL-Docs, OpenCL_C.txt); IEEE 754-2019, clause 5.4.1; WGSL (W3C),
section "Floating Point Accuracy".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from conformance.base.serialization.decoding import read_own_toml
from conformance.base.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
power is exp2(y * log2(x))."""

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


_TABLES = read_own_toml("conformance.exact.reference", "tolerances.toml")

FUNCTIONS = {name: FunctionAccuracy(**row) for name, row in _TABLES["functions"].items()}
"""The largest admissible error of each function."""


@dataclass(frozen=True)
class FunctionRange:
    """The range of a function.

    Attributes:
        low: the smallest value.
        high: the largest value.
        beyond: how far rounding may take a result out of the range, in ULP of 1.
    """

    low: float
    high: float = math.inf
    beyond: float = 0.0

    def limits(self, unit_roundoff: float) -> tuple[float, float]:
        """Return the smallest and the largest admissible result in a type with a unit roundoff."""
        margin = self.beyond * 2 * unit_roundoff
        return self.low - margin, self.high + margin


RANGES = {name: FunctionRange(**row) for name, row in _TABLES["ranges"].items()}
"""The ranges of functions, by operator of the main domain."""

FORMS: Mapping[str, Mapping[str, str]] = _TABLES["forms"]
"""The admissible forms of each formula, by the name of the form in the code, in the names of the operator's page. An
enclosure contains the results of all forms that its level admits."""

FORMS_AT_MUST: Mapping[str, Sequence[str]] = _TABLES["forms_at_must"]
"""Forms that only level `must` admits, by formula."""


@dataclass(frozen=True)
class Erratum:
    """A change of the text of a page within one version of an operator.

    Attributes:
        name: the name by which `read_as` refers to it.
        operators: the operators.
        versions: the versions whose text changed.
        since: the first release of onnx with the later text.
        change: what changed.
    """

    name: str
    operators: Sequence[str]
    versions: Sequence[int]
    since: str
    change: str


ERRATA = {row["name"]: Erratum(**row) for row in _TABLES["errata"]}
"""The changes of pages within one version, by name."""

SILENCES: Mapping[str, str] = _TABLES["silences"] | {name: each.change for name, each in ERRATA.items()}
"""The sentences that the page of an operator's version lacks, that contradict each other, or that changed, by name."""


def forms_of(name: str, level: Level) -> list[str]:
    """Return the names of the forms of a row of `FORMS` that a level admits."""
    return [form for form in FORMS[name] if level is Level.MUST or form not in FORMS_AT_MUST.get(name, ())]


FUNCTION_OPERATORS = frozenset(
    (domain, name) for domain, names in _TABLES["function_operators"].items() for name in names
)
"""Operators, by domain and name, whose schema has a function body that states the result."""

ROUNDINGS: Mapping[str, int] = _TABLES["roundings"]
"""Roundings of numbers that are no results of a node, in units of roundoff of the largest intermediate value."""

WIDE_FORMULAS, UNSPECIFIED_NAN, UNSPECIFIED_OVERFLOW, SIGNED_ZERO = (
    frozenset[str](_TABLES["operators"][name]) for name in ("wide", "nan", "overflow", "signed_zero")
)
"""Operators computed in float at level `should`, operators whose pages leave NaN or an overflow open, and operators
that determine the sign of a zero."""

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
