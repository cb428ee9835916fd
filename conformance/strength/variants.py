"""Correct variants: implementations that are right but evaluate otherwise, none of which a `must` case may accuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations import adagrad, adam, arithmetic, momentum
from conformance.deviations.deviation import Alteration, AlteredBackend, Arithmetic
from conformance.deviations.twists import each_input
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.deviations.deviation import Twist
    from conformance.reference.numbers.values import NumberSystem


@dataclass(frozen=True, eq=False)
class Variant:
    """A correct implementation.

    Attributes:
        id: its name.
        text: what it does otherwise, a sentence without its subject.
        alterations: by op_type how its kernel differs from the reference's.
    """

    id: str
    text: str
    alterations: Mapping[str, Alteration]

    @property
    def backend(self) -> AlteredBackend:
        """A backend that computes so."""
        return AlteredBackend(self.alterations)

    def concerns(self, op_types: set[str]) -> bool:
        """Whether a model with these operators is computed otherwise."""
        return not op_types.isdisjoint(self.alterations)


def _edited(id: str, text: str, **edits: Mapping[str, str]) -> Variant:
    return Variant(id, text, {name: Alteration(arithmetic=Arithmetic(edit)) for name, edit in edits.items()})


def _everywhere(id: str, text: str, arithmetic: NumberSystem) -> Variant:
    return Variant(id, text, dict.fromkeys(TRAINING_OPTIMIZERS, Alteration(arithmetic=arithmetic)))


def _before_argmax(id: str, text: str, twist: Twist, *operators: str) -> Variant:
    return Variant(id, text, dict.fromkeys(operators, Alteration(twists=(twist,), only_before_argmax=True)))


def _power(name: str) -> Mapping[str, str]:
    return {adam.R_ADJUSTED: f"R * np.sqrt(1 - {name}(beta, T)) / (1 - {name}(alpha, T))"}


FUSED_GRADIENT = "fma(norm_coefficient, X, G)"

VARIANTS = (
    _everywhere("plain", "computes in the tensor's type, operation by operation", Arithmetic()),
    _edited(
        "fused",
        "fuses each multiplication with the addition after it",
        Adam={
            adam.G_REGULARIZED: FUSED_GRADIENT,
            adam.V_NEW: "fma(alpha, V, (1 - alpha) * G_regularized)",
            adam.H_NEW: "fma(beta, H, (1 - beta) * G_regularized * G_regularized)",
            adam.STEP: "fma(-R_adjusted, V_new / H_sqrt, X)",
        },
        Momentum={
            momentum.G_REGULARIZED: FUSED_GRADIENT,
            momentum.V_NEW: "fma(alpha, V, beta_adjusted * G_regularized)",
            momentum.STANDARD: "fma(-R, V_new, X)",
            momentum.NESTEROV: "fma(-R, fma(alpha, V_new, G_regularized), X)",
        },
        Adagrad={
            adagrad.RATE: "R / fma(T, decay_factor, R * 0 + 1)",
            adagrad.G_REGULARIZED: FUSED_GRADIENT,
            adagrad.H_NEW: "fma(G_regularized, G_regularized, H)",
            adagrad.STEP: "fma(-r, G_regularized / H_adaptive, X)",
        },
    ),
    _edited(
        "fused_otherwise",
        "fuses the other multiplication of each sum",
        Adam={
            adam.V_NEW: "fma(1 - alpha, G_regularized, alpha * V)",
            adam.H_NEW: "fma((1 - beta) * G_regularized, G_regularized, beta * H)",
            adam.STEP: "fma(-(R_adjusted / H_sqrt), V_new, X)",
        },
        Momentum={
            momentum.V_NEW: "fma(beta_adjusted, G_regularized, alpha * V)",
            momentum.NESTEROV: "fma(-R, G_regularized + alpha * V_new, X)",
        },
        Adagrad={adagrad.STEP: "fma(-(r / H_adaptive), G_regularized, X)"},
    ),
    _edited(
        "reassociated",
        "multiplies in another order",
        Adam={
            adam.H_NEW: "(1 - beta) * (G_regularized * G_regularized) + H * beta",
            adam.R_ADJUSTED: "np.sqrt(1 - beta**T) / (1 - alpha**T) * R",
            adam.STEP: "X - V_new / H_sqrt * R_adjusted",
        },
        Momentum={
            momentum.V_NEW: "G_regularized * beta_adjusted + V * alpha",
            momentum.NESTEROV: "X - (alpha * V_new + G_regularized) * R",
        },
        Adagrad={adagrad.STEP: "X - G_regularized / H_adaptive * r"},
    ),
    _edited(
        "reciprocal",
        "multiplies by reciprocals instead of dividing",
        Adam={
            adam.R_ADJUSTED: "R * np.sqrt(1 - beta**T) * (1 / (1 - alpha**T))",
            adam.STEP: "X - R_adjusted * V_new * (1 / H_sqrt)",
        },
        Adagrad={
            adagrad.RATE: "R * (1 / (1 + T * decay_factor))",
            adagrad.STEP: "X - r * G_regularized * (1 / H_adaptive)",
        },
    ),
    _edited(
        "step_first",
        "divides R by the root before it multiplies by the gradient",
        Adam={adam.STEP: "X - R_adjusted / H_sqrt * V_new"},
        Adagrad={adagrad.STEP: "X - r / H_adaptive * G_regularized"},
    ),
    _edited(
        "one_quotient",
        "multiplies the denominators instead of dividing twice",
        Adam={
            adam.R_ADJUSTED: "R * np.sqrt(1 - beta**T)",
            adam.H_SQRT: "(np.sqrt(H_new) + epsilon) * (1 - alpha**T if T > 0 else 1)",
        },
        Adagrad={
            adagrad.RATE: "R",
            adagrad.STEP: "X - r * G_regularized / (H_adaptive * (1 + T * decay_factor))",
        },
    ),
    _edited(
        "rate_divided_first",
        "divides R before it multiplies it by the root",
        Adam={adam.R_ADJUSTED: "R / (1 - alpha**T) * np.sqrt(1 - beta**T)"},
    ),
    _edited(
        "roots_divided",
        "multiplies by the reciprocal of a reciprocal root",
        Adam={adam.H_SQRT: "1 / (1 / np.sqrt(np.maximum(H_new, np.finfo(X.dtype).tiny))) + epsilon"},
        Adagrad={adagrad.H_ADAPTIVE: "1 / (1 / np.sqrt(np.maximum(H_new, np.finfo(X.dtype).tiny))) + epsilon"},
    ),
    _edited("power_by_loop", "multiplies T times for a power", Adam=_power("by_loop")),
    _edited("power_by_squaring", "squares repeatedly for a power", Adam=_power("by_squaring")),
    _edited(
        "power_by_exponential",
        "computes a power of a positive base as Exp(T * Log(base))",
        Adam=_power("by_exponential"),
    ),
    _edited(
        "scalars_in_double",
        "computes what has no tensor in it in double, and rounds it once",
        Adam={
            adam.V_NEW: "alpha * V + like(X, 1 - np.float64(alpha)) * G_regularized",
            adam.H_NEW: "beta * H + like(X, 1 - np.float64(beta)) * G_regularized * G_regularized",
            adam.R_ADJUSTED: "like(X, R * np.sqrt(1 - np.float64(beta) ** T) / (1 - np.float64(alpha) ** T))",
            adam.X_FINAL: "like(X, 1 - np.float64(norm_coefficient_post)) * X_new",
        },
        Adagrad={adagrad.RATE: "like(X, R / (1 + T * np.float64(decay_factor)))"},
    ),
    _edited(
        "attributes_in_float",
        "computes what has attributes and T only in float, for double tensors too",
        Adam={
            adam.V_NEW: "alpha * V + single(1 - single(alpha)) * G_regularized",
            adam.H_NEW: "beta * H + single(1 - single(beta)) * G_regularized * G_regularized",
            adam.R_ADJUSTED: "R * np.sqrt(single(1 - single(beta**T))) / single(1 - single(alpha**T))",
            adam.X_FINAL: "single(1 - norm_coefficient_post) * X_new",
        },
        Adagrad={adagrad.RATE: "R / single(1 + single(single(T) * decay_factor))"},
    ),
    _edited(
        "newton",
        "divides and takes roots of floats by an approximation and a step of Newton's",
        Adam={
            adam.H_SQRT: "newton_root(H_new) + epsilon",
            adam.R_ADJUSTED: "newton_quotient(R * newton_root(1 - beta**T), 1 - alpha**T)",
            adam.STEP: "X - newton_quotient(R_adjusted * V_new, H_sqrt)",
        },
        Adagrad={
            adagrad.RATE: "newton_quotient(R, 1 + T * decay_factor)",
            adagrad.H_ADAPTIVE: "newton_root(H_new) + epsilon",
            adagrad.STEP: "X - newton_quotient(r * G_regularized, H_adaptive)",
        },
    ),
    _edited(
        "opencl",
        "divides, takes roots and raises floats as inaccurately as OpenCL's full profile allows",
        Adam={
            adam.H_SQRT: "ulps_off(np.sqrt(H_new), 2) + epsilon",
            adam.R_ADJUSTED: "ulps_off(R * ulps_off(np.sqrt(1 - loose_power(beta, T)), -2)"
            " / (1 - loose_power(alpha, T)), 2)",
            adam.STEP: "X - ulps_off(R_adjusted * V_new / H_sqrt, -2)",
        },
        Adagrad={
            adagrad.RATE: "ulps_off(R / (1 + T * decay_factor), 2)",
            adagrad.H_ADAPTIVE: "ulps_off(np.sqrt(H_new), -2) + epsilon",
            adagrad.STEP: "X - ulps_off(r * G_regularized / H_adaptive, 2)",
        },
    ),
    _edited(
        "lerp",
        "goes from the old average to the gradient by the weight, from whichever is nearer (PyTorch's kernels)",
        Adam={adam.V_NEW: "lerp(V, G_regularized, 1 - alpha)"},
    ),
    _edited(
        "moved_average",
        "adds the weighted difference to the old average",
        Adam={
            adam.V_NEW: "V + (1 - alpha) * (G_regularized - V)",
            adam.H_NEW: "H + (1 - beta) * (G_regularized * G_regularized - H)",
        },
    ),
    _edited(
        "distributed",
        "multiplies each term of a sum instead of the sum",
        Momentum={
            momentum.V_NEW: "alpha * V + beta_adjusted * norm_coefficient * X + beta_adjusted * G",
            momentum.STANDARD: "X - R * alpha * V - R * beta_adjusted * G_regularized",
            momentum.NESTEROV: "X - R * G_regularized - R * alpha * V_new",
        },
    ),
    _everywhere("in_double", "computes in double and rounds once", Arithmetic(computing=np.float64)),
    _everywhere("in_extended", "computes in extended precision and rounds once", Arithmetic(computing=np.longdouble)),
    _everywhere(
        "subnormals_flushed",
        "flushes subnormal operands and results to zero",
        Arithmetic(rounding=arithmetic.flushed),
    ),
    _before_argmax(
        "monotone_removed",
        "takes Log, Exp and Sqrt before ArgMax away",
        lambda _: lambda __, inputs: inputs,
        "Log",
        "Exp",
        "Sqrt",
    ),
    _before_argmax(
        "monotone_in_double",
        "computes what is before ArgMax in double and does not round it",
        each_input(lambda X: X.astype(np.float64)),
        "Log",
        "Exp",
        "Sqrt",
        "Softmax",
        "LogSoftmax",
    ),
)
"""All correct variants."""
