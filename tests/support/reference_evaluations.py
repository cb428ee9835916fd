"""Admissible floating-point evaluations of the three optimizers: the written formulas in other orders and precisions.

Each is a correct implementation that some runtime may have; none is the project's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from reference_models import nearest

if TYPE_CHECKING:
    from collections.abc import Callable


def by_library(base: Any, T: int) -> Any:
    return np.power(base, base.dtype.type(T))


def by_loop(base: Any, T: int) -> Any:
    power = base.dtype.type(1)
    for _ in range(T):
        power *= base
    return power


def by_squaring(base: Any, T: int) -> Any:
    power = base.dtype.type(1)
    while T:
        power = power * base if T % 2 else power
        base, T = base * base, T // 2
    return power


def by_logarithm(base: Any, T: int) -> Any:
    return np.exp(base.dtype.type(T) * np.log(base))


STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "R * V / H": lambda R, V, H: R * V / H,
    "R * (V / H)": lambda R, V, H: R * (V / H),
    "V * (R / H)": lambda R, V, H: V * (R / H),
    "R * V * (1 / H)": lambda R, V, H: R * V * (1 / H),
    "R * (V * (1 / H))": lambda R, V, H: R * (V * (1 / H)),
}


@dataclass(frozen=True)
class Evaluation:
    """One way to compute the formulas.

    Attributes:
        step: the association of R * V / H.
        square_first: (1 - beta) * (G * G) instead of ((1 - beta) * G) * G.
        power: how alpha**T and beta**T are computed.
        wide: compute in the next wider type and round the results only.
        float_attributes: compute expressions of attributes and T in float for double tensors too.
        narrow_rate: round R, and compute with it, in float.
        fused: fuse products and sums wherever the formula has them.
        flush: take subnormal operands and results for zero.
        reciprocal: divide scalars by multiplying by a reciprocal.
        factor_first: compute what the learning rate is multiplied by on its own.
    """

    step: str = "R * V / H"
    square_first: bool = False
    power: Callable[[Any, int], Any] = by_library
    wide: bool = False
    float_attributes: bool = False
    narrow_rate: bool = False
    fused: bool = False
    flush: bool = False
    reciprocal: bool = False
    factor_first: bool = False

    def run(self, op_type: str, inputs: list[Any], attributes: dict[str, Any]) -> list[Any]:
        """The outputs for one tensor."""
        R, T, *tensors = inputs
        own = tensors[0].dtype
        working = own if not self.wide else np.dtype({4: np.float64, 8: np.longdouble}[own.itemsize])
        with np.errstate(all="ignore"):
            operands = [self.kept(tensor.astype(working)) for tensor in tensors]
            scalar = np.dtype(np.float32) if self.narrow_rate else working
            attribute = np.dtype(np.float32) if self.float_attributes else working
            named = {
                name: value if name == "mode" else self.kept(attribute.type(value))
                for name, value in attributes.items()
            }
            results = getattr(self, op_type.lower())(self.kept(R.astype(scalar)[()]), int(T), *operands, **named)
            return [self.kept(np.asarray(result).astype(own)) for result in results]

    def kept(self, number: Any) -> Any:
        """Return a number after a store: subnormals may be flushed."""
        if not self.flush:
            return number
        return np.where(np.abs(number) < np.finfo(number.dtype).tiny, number * 0, number)[()]

    def plus_product(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c, in one rounding where products and sums are fused."""
        if self.fused:
            return fused(a, b, c)
        return self.kept(self.kept(a * b) + c)

    def quotient(self, a: Any, b: Any) -> Any:
        return a * (type(a)(1) / b) if self.reciprocal else a / b

    def adam(self, R, T, X, G, V, H, *, alpha, beta, epsilon, norm_coefficient, norm_coefficient_post):
        gradient = self.plus_product(norm_coefficient, X, G)
        V_new = self.plus_product(alpha, V, self.kept((1 - alpha) * gradient))
        if self.square_first:
            square = self.kept((1 - beta) * self.kept(gradient * gradient))
        else:
            square = self.kept(self.kept((1 - beta) * gradient) * gradient)
        H_new = self.plus_product(beta, H, square)
        H_sqrt = np.sqrt(H_new) + epsilon
        if T > 0:
            R_correction, V_correction = np.sqrt(1 - self.power(beta, T)), 1 - self.power(alpha, T)
            R = (
                R * (R_correction / V_correction)
                if self.factor_first
                else self.quotient(R * R_correction, V_correction)
            )
        X_new = X - self.kept(STEPS[self.step](R, V_new, H_sqrt))
        return self.kept((1 - norm_coefficient_post) * X_new), V_new, H_new

    def momentum(self, R, T, X, G, V, *, alpha, beta, mode, norm_coefficient):
        gradient = self.plus_product(norm_coefficient, X, G)
        V_new = (
            self.plus_product(beta, gradient, self.kept(alpha * V)) if T > 0 else self.plus_product(alpha, V, gradient)
        )
        direction = V_new if mode == "standard" else self.plus_product(alpha, V_new, gradient)
        return self.plus_product(-R, direction, X), V_new

    def adagrad(self, R, T, X, G, H, *, decay_factor, epsilon, norm_coefficient):
        one = decay_factor.dtype.type(1)
        decay = self.plus_product(decay_factor.dtype.type(T), decay_factor, one)
        r = R * (one / decay) if self.factor_first else self.quotient(R, decay)
        gradient = self.plus_product(norm_coefficient, X, G)
        H_new = self.plus_product(gradient, gradient, H)
        H_adaptive = np.sqrt(H_new) + epsilon
        return X - self.kept(STEPS[self.step](r, gradient, H_adaptive)), H_new


def fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c with a single rounding, element by element."""
    dtype = np.result_type(a, b, c)
    a, b, c = np.broadcast_arrays(a, b, c)
    sums = [_fused(float(x), float(y), float(z), dtype) for x, y, z in zip(a.flat, b.flat, c.flat, strict=True)]
    return np.array(sums, dtype=dtype).reshape(a.shape)[()]


def _fused(a: float, b: float, c: float, dtype: Any) -> Any:
    if not np.isfinite([a, b, c]).all():
        return dtype.type(a * b + c)
    return nearest(Fraction(a) * Fraction(b) + Fraction(c), dtype)


IN_ANY_PRECISION = {
    "as written": Evaluation(),
    "R * (V / H)": Evaluation(step="R * (V / H)"),
    "V * (R / H)": Evaluation(step="V * (R / H)", square_first=True),
    "reciprocal": Evaluation(step="R * V * (1 / H)", reciprocal=True),
    "reciprocal of H first": Evaluation(step="R * (V * (1 / H))", reciprocal=True, square_first=True),
    "power by loop": Evaluation(power=by_loop),
    "power by squaring": Evaluation(power=by_squaring),
    "power by logarithm": Evaluation(power=by_logarithm),
    "wider": Evaluation(wide=True),
    "factor of R first": Evaluation(factor_first=True),
    "fused": Evaluation(fused=True),
    "fused and reassociated": Evaluation(fused=True, step="V * (R / H)", square_first=True),
}
AT_MUST_ONLY = {
    "flushed": Evaluation(flush=True),
    "flushed and reassociated": Evaluation(flush=True, step="R * (V / H)", square_first=True),
    "attributes in float": Evaluation(float_attributes=True),
    "attributes in float, power by loop": Evaluation(float_attributes=True, power=by_loop),
    "attributes in float, power by squaring": Evaluation(float_attributes=True, power=by_squaring, reciprocal=True),
    "attributes in float, fused": Evaluation(float_attributes=True, fused=True),
    "attributes in float, flushed": Evaluation(float_attributes=True, flush=True),
}
