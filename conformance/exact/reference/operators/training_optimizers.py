"""The training optimizers: Adam, Adagrad and Momentum (ai.onnx.preview.training, version 1).

`adam`, `adagrad` and `momentum` are the pseudo-code of the operators' pages. They compute with any numbers that have
`+ - * / ** >` and `np.sqrt`. `adam_in_all_forms` and its siblings have the same statements in all admissible *forms*,
which are equal in algebra but round differently. `TRAINING_OPTIMIZERS` has one entry for each operator.

The table does not read the schemas of the installed `onnx`, so no expected value depends on the version of `onnx`. A
test compares the table with the schemas. Defaults of attributes are the float32 values nearest to the decimals here.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.graphs import TRAINING_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.reference.nodes import Node
    from conformance.exact.reference.numbers.number_system import NumberSystem, Value


def adam(
    R: Any,
    T: Any,
    X: Any,
    G: Any,
    V: Any,
    H: Any,
    *,
    alpha: Any,
    beta: Any,
    epsilon: Any,
    norm_coefficient: Any,
    norm_coefficient_post: Any,
) -> tuple[Any, Any, Any]:
    """Compute one Adam iteration for one tensor.

    Args:
        R: the learning rate, a scalar.
        T: the update count, a scalar integer. If it is above 0, the learning rate is bias-corrected.
        X: the tensor to optimize.
        G: its gradient, of X's shape.
        V: its exponentially averaged gradient, of X's shape.
        H: its exponentially averaged squared gradient, of X's shape.
        alpha: the weight of V in V_new.
        beta: the weight of H in H_new.
        epsilon: added to the square root of H_new.
        norm_coefficient: L2 regularization, added to the gradient.
        norm_coefficient_post: L2 regularization, applied to X_new.

    Returns:
        X_final, V_new and H_new, of X's shape.
    """
    # Add gradient of 0.5 * norm_coefficient * ||X||_2^2.
    G_regularized = norm_coefficient * X + G
    # Update exponentially-averaged historical gradient.
    V_new = alpha * V + (1 - alpha) * G_regularized
    # Update exponentially-averaged historical squared gradient.
    H_new = beta * H + (1 - beta) * G_regularized * G_regularized
    # Compute the element-wise square root.
    H_sqrt = np.sqrt(H_new) + epsilon
    # Compute the learning rate.
    R_adjusted = R * np.sqrt(1 - beta**T) / (1 - alpha**T) if T > 0 else R
    # Compute the new value of X.
    X_new = X - R_adjusted * V_new / H_sqrt
    # Post-update regularization.
    X_final = (1 - norm_coefficient_post) * X_new
    return X_final, V_new, H_new


def adagrad(
    R: Any, T: Any, X: Any, G: Any, H: Any, *, decay_factor: Any, epsilon: Any, norm_coefficient: Any
) -> tuple[Any, Any]:
    """Compute one Adagrad iteration for one tensor.

    Args:
        R: the initial learning rate, a scalar.
        T: the update count, a scalar integer.
        X: the tensor to optimize.
        G: its gradient, of X's shape.
        H: its accumulated squared gradient, of X's shape.
        decay_factor: the decay of the learning rate per update.
        epsilon: added to the square root of H_new.
        norm_coefficient: L2 regularization, added to the gradient.

    Returns:
        X_new and H_new, of X's shape.
    """
    # Compute a scalar learning-rate factor.
    r = R / (1 + T * decay_factor)
    # Add gradient of 0.5 * norm_coefficient * ||X||_2^2.
    G_regularized = norm_coefficient * X + G
    # Compute the new accumulated squared gradient.
    H_new = H + G_regularized * G_regularized
    # Compute the adaptive part of the per-coordinate learning rate.
    H_adaptive = np.sqrt(H_new) + epsilon
    # Compute the new value of X.
    X_new = X - r * G_regularized / H_adaptive
    return X_new, H_new


def momentum(
    R: Any, T: Any, X: Any, G: Any, V: Any, *, alpha: Any, beta: Any, mode: str, norm_coefficient: Any
) -> tuple[Any, Any]:
    """Compute one iteration of stochastic gradient descent with momentum for one tensor.

    Args:
        R: the learning rate, a scalar.
        T: the update count, a scalar integer. If it is 0, beta is ignored.
        X: the tensor to optimize.
        G: its gradient, of X's shape.
        V: its momentum, of X's shape.
        alpha: the weight of V in V_new.
        beta: the weight of the gradient in V_new after the first iteration.
        mode: "standard" or "nesterov".
        norm_coefficient: L2 regularization, added to the gradient.

    Returns:
        X_new and V_new, of X's shape.

    Raises:
        ValueError: the mode is neither "standard" nor "nesterov".
    """
    # Add gradient of 0.5 * norm_coefficient * ||X||^2.
    G_regularized = norm_coefficient * X + G
    # In the first training iteration, beta should always be 1.
    beta_adjusted = beta if T > 0 else 1
    # Compute the current momentum based on previous momentum and the current gradient.
    V_new = alpha * V + beta_adjusted * G_regularized
    # Update X.
    if mode == "standard":
        X_new = X - R * V_new
    elif mode == "nesterov":
        X_new = X - R * (G_regularized + alpha * V_new)
    else:
        raise ValueError(f'Momentum has the modes "standard" and "nesterov", not {mode!r}')
    return X_new, V_new


# The formulas in all admissible forms
#
# A rewrite that is correct in algebra can change every rounding: a sum that nearly cancels, or a term with the weight
# 0, rounds differently in each form. Kernels use many forms, so a bound has to enclose all of them. The functions below
# are the formulas above, statement by statement. Each statement is the hull of its forms: first the form of the page,
# then its rewrites by rule. A statement reads the hulls of the statements before it, so all compositions of rewrites
# are enclosed. Docs: docs/explanation/bounds.md, section "Admissible forms". The rules:
#
# - distribute: a factor or a divisor of a sum is applied to each term of the sum.
# - collect: the terms with X are one product: the coefficient of X times X.
# - interpolate: a weighted average is one end plus a share of the difference of both ends.
# - lerp: a weighted average with a weight up to 1/2 is the nearer end plus a share of the difference.
# - expand: (1 - a) * x is x - a * x; in a weighted average only if a is at most 1/2.
# - factor: (1 - beta) * G * G is the square of Sqrt(1 - beta) * G.


class Forms(Protocol):
    """The number system's part in a formula with all its forms."""

    def any_of(self, written: Any, *, complement: str | None = None, **rewrites: Sequence[Any]) -> Any:
        """Return a number that encloses the forms of a statement.

        Args:
            written: the form of the page.
            complement: the attribute a of which the statement uses 1 - a; None if there is none.
            rewrites: the other forms, by rule.
        """

    def in_tensor_precision(self, scalar: Any) -> Any:
        """Return a scalar in the precision of the tensor: scalar expressions that only a rewrite has are not coarser.

        Their roots are rounded correctly.
        """

    def with_common_error(self, scalar: Any) -> Any:
        """Return a scalar whose error is the same in all terms that it multiplies."""


def _descent(
    forms: Forms,
    X: Any,
    step: Callable[[Any], Any],
    direction: Any,
    sums: Sequence[Sequence[Any]],
    collected: tuple[Any, Sequence[Any]],
    complement: str | None = None,
) -> Any:
    """Return X - step(direction) in all forms.

    Args:
        forms: see `Forms`.
        X: the tensor to optimize.
        step: multiplies its argument by the learning rate, and divides it by the adaptive divisor.
        direction: the sum that the page subtracts.
        sums: the direction as a sum of other terms, each a sequence of terms.
        collected: the direction as a multiple of X and a sum: the coefficient of X in the tensor's precision, and the
            terms.
        complement: see `Forms.any_of`.
    """
    coefficient, terms = collected
    remaining = (1 - step(coefficient)) * X
    return forms.any_of(
        X - step(direction),
        complement=complement,
        distribute=[reduce(operator.sub, map(step, addends), X) for addends in sums],
        collect=[remaining - step(reduce(operator.add, terms)), reduce(operator.sub, map(step, terms), remaining)],
    )


def adam_in_all_forms(
    forms: Forms,
    R: Any,
    T: Any,
    X: Any,
    G: Any,
    V: Any,
    H: Any,
    *,
    alpha: Any,
    beta: Any,
    epsilon: Any,
    norm_coefficient: Any,
    norm_coefficient_post: Any,
) -> tuple[Any, Any, Any]:
    """Compute one Adam iteration in all forms. The other arguments and the results are those of `adam`."""
    pull = norm_coefficient * X
    G_regularized = pull + G
    share = 1 - alpha
    V_new = forms.any_of(
        alpha * V + share * G_regularized,
        complement="alpha",
        distribute=[alpha * V + share * pull + share * G],
        interpolate=[V + share * (G_regularized - V)],
        lerp=[] if 2 * alpha > 1 else [G_regularized - (G_regularized - V) * (1 - share)],
        expand=[]
        if 2 * alpha > 1  # G - alpha * G would cancel the leading bits of G
        else [
            alpha * V + (G_regularized - alpha * G_regularized),
            alpha * V + pull + G - alpha * pull - alpha * G,
            G_regularized + alpha * (V - G_regularized),
        ],
    )
    square = G_regularized * G_regularized
    root = np.sqrt(forms.in_tensor_precision(1 - beta))
    H_new = forms.any_of(
        beta * H + (1 - beta) * square,
        complement="beta",
        interpolate=[H + (1 - beta) * (square - H)],
        factor=[beta * H + (root * G_regularized) * (root * G_regularized)],
    )
    H_sqrt = np.sqrt(H_new) + epsilon
    R_adjusted = forms.with_common_error(R * np.sqrt(1 - beta**T) / (1 - alpha**T) if T > 0 else R)
    X_new = _descent(
        forms,
        X,
        lambda direction: R_adjusted * direction / H_sqrt,
        V_new,
        [
            [alpha * V, share * G_regularized],
            [alpha * V, share * pull, share * G],
        ],
        (forms.in_tensor_precision(share) * forms.in_tensor_precision(norm_coefficient), [alpha * V, share * G]),
        complement="alpha",
    )
    step = R_adjusted * V_new / H_sqrt
    kept = 1 - norm_coefficient_post
    X_final = forms.any_of(
        kept * X_new,
        complement="norm_coefficient_post",
        distribute=[kept * X - kept * step],
        expand=[
            X_new - norm_coefficient_post * X_new,
            X - norm_coefficient_post * X - (step - norm_coefficient_post * step),
        ],
    )
    return X_final, V_new, H_new


def adagrad_in_all_forms(
    forms: Forms, R: Any, T: Any, X: Any, G: Any, H: Any, *, decay_factor: Any, epsilon: Any, norm_coefficient: Any
) -> tuple[Any, Any]:
    """Compute one Adagrad iteration in all forms. The other arguments and the results are those of `adagrad`."""
    r = forms.with_common_error(R / (1 + T * decay_factor))
    pull = norm_coefficient * X
    G_regularized = pull + G
    H_new = H + G_regularized * G_regularized
    H_adaptive = np.sqrt(H_new) + epsilon
    X_new = _descent(
        forms,
        X,
        lambda direction: r * direction / H_adaptive,
        G_regularized,
        [[pull, G]],
        (forms.in_tensor_precision(norm_coefficient), [G]),
    )
    return X_new, H_new


def momentum_in_all_forms(
    forms: Forms, R: Any, T: Any, X: Any, G: Any, V: Any, *, alpha: Any, beta: Any, mode: str, norm_coefficient: Any
) -> tuple[Any, Any]:
    """Compute one Momentum iteration in all forms. The other arguments and the results are those of `momentum`."""
    pull = norm_coefficient * X
    G_regularized = pull + G
    beta_adjusted = beta if T > 0 else 1
    V_new = forms.any_of(
        alpha * V + beta_adjusted * G_regularized,
        distribute=[alpha * V + beta_adjusted * pull + beta_adjusted * G],
    )
    if mode == "standard":
        direction = V_new
        sums = [
            [alpha * V, beta_adjusted * G_regularized],
            [alpha * V, beta_adjusted * pull, beta_adjusted * G],
        ]
        weight = forms.in_tensor_precision(beta_adjusted)
        terms = [alpha * V, beta_adjusted * G]
    elif mode == "nesterov":
        direction = G_regularized + alpha * V_new
        weight = 1 + forms.in_tensor_precision(alpha) * forms.in_tensor_precision(beta_adjusted)
        terms = [alpha * (alpha * V), weight * G]
        sums = [
            [G_regularized, alpha * V_new],
            [weight * G_regularized, alpha * (alpha * V)],
            [pull, G, alpha * (alpha * V), alpha * (beta_adjusted * pull), alpha * (beta_adjusted * G)],
        ]
    else:
        raise ValueError(f'Momentum has the modes "standard" and "nesterov", not {mode!r}')
    coefficient = weight * forms.in_tensor_precision(norm_coefficient)
    X_new = _descent(forms, X, lambda direction: R * direction, direction, sums, (coefficient, terms))
    return X_new, V_new


@dataclass(frozen=True)
class TrainingOptimizer:
    """A training optimizer. Its inputs are R, T, then X of all tensors, G of all tensors, and so on.

    Attributes:
        formula: the pseudo-code, called with R, T, the operands of one tensor, and all attributes by name.
        operands: the operands of each tensor: X, G and the state.
        results: the results for each tensor: X_new and the new state.
        defaults: the default of each optional attribute.
        required: the attributes without a default.
        allowed_values: the values that an attribute of type string may have.
        domain: the domain of the operator.
        version: the version of the domain. The suite supports this version only.
        formula_in_all_forms: the pseudo-code with all admissible forms of its statements. Its first argument is a
            `Forms`.
        complements: the attributes a of which the formula uses 1 - a.
        has_common_numbers: whether the formula computes inexact numbers that do not depend on a tensor, such as 1 - a.
    """

    formula: Callable[..., Any]
    formula_in_all_forms: Callable[..., Any]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    defaults: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    allowed_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    domain: str = TRAINING_DOMAIN
    version: int = 1
    complements: tuple[str, ...] = ()
    has_common_numbers: bool = True

    def complete_attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a node's attributes with the defaults of the schema. Floats have float32 values, as in the model.

        Raises:
            Unsupported: a required attribute is missing, or the schema has no attribute of some name.
        """
        if missing := [name for name in self.required if name not in given]:
            raise Unsupported(f"{self.formula.__name__} requires the attributes {missing}")
        if unknown := [name for name in given if name not in {*self.required, *self.defaults}]:
            raise Unsupported(f"{self.formula.__name__} has no attributes {unknown}")
        values = {**{name: float(np.float32(value)) for name, value in self.defaults.items()}, **given}
        return {name: values[name] for name in (*self.required, *self.defaults)}


TRAINING_OPTIMIZERS: Mapping[str, TrainingOptimizer] = {
    "Adam": TrainingOptimizer(
        adam,
        adam_in_all_forms,
        operands=("X", "G", "V", "H"),
        results=("X_new", "V_new", "H_new"),
        defaults={"alpha": 0.9, "beta": 0.999, "epsilon": 1e-6, "norm_coefficient": 0.0, "norm_coefficient_post": 0.0},
        complements=("alpha", "beta", "norm_coefficient_post"),
    ),
    "Momentum": TrainingOptimizer(
        momentum,
        momentum_in_all_forms,
        operands=("X", "G", "V"),
        results=("X_new", "V_new"),
        required=("alpha", "beta", "mode", "norm_coefficient"),
        has_common_numbers=False,
        allowed_values={"mode": ("standard", "nesterov")},
    ),
    "Adagrad": TrainingOptimizer(
        adagrad,
        adagrad_in_all_forms,
        operands=("X", "G", "H"),
        results=("X_new", "H_new"),
        defaults={"decay_factor": 0.0, "epsilon": 1e-6, "norm_coefficient": 0.0},
    ),
}
"""The training optimizers by op_type."""

TRAINING_DOMAINS = frozenset(optimizer.domain for optimizer in TRAINING_OPTIMIZERS.values())
"""The domains of the training optimizers."""


def find_training_optimizer(domain: str, op_type: str) -> TrainingOptimizer | None:
    """Return the training optimizer of this domain and name, or None."""
    optimizer = TRAINING_OPTIMIZERS.get(op_type)
    return optimizer if optimizer is not None and optimizer.domain == domain else None


def evaluate_optimizer(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Return the results of a training optimizer's node.

    Operands and results are grouped by kind (X of all tensors, G of all tensors, …).
    """
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    R, T, *operands = inputs
    kinds = len(optimizer.operands)
    count, rest = divmod(len(operands), kinds)
    if rest:
        raise Unsupported(f"{node.op_type} takes R, T and {kinds} operands per tensor, not {len(inputs)} inputs")
    tensors = [operands[i::count] for i in range(count)]
    by_tensor = system.apply_optimizer(optimizer, R, T, tensors, node.attributes)
    return [results[kind] for kind in range(len(optimizer.results)) for results in by_tensor]
