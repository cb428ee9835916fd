"""The training optimizers: Adam, Adagrad and Momentum (ai.onnx.preview.training, version 1).

`adam`, `adagrad` and `momentum` are the pseudo-code of the operators' pages. They compute with any numbers that have
`+ - * / ** >` and `np.sqrt`. The module also has other *forms* of these formulas, which are equal in algebra but round
differently. `TRAINING_OPTIMIZERS` has one entry for each operator.

The table does not read the schemas of the installed `onnx`, so no expected value depends on the version of `onnx`. A
test compares the table with the schemas. Defaults of attributes are the float32 values nearest to the decimals here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.types import TRAINING_DOMAIN
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.reference.nodes import Node
    from conformance.reference.numbers.number_system import NumberSystem, Value


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


# The formulas in other forms
#
# A sum that nearly cancels, or a term with the weight 0, rounds differently in each form. All forms are correct
# implementations of the page, and kernels use them. A bound is therefore the hull of the results of all forms. If the
# results differ by more than rounding, as with infinities, no `must` case may depend on them.


def _weighted_average(old: Any, new: Any, weight: Any) -> Any:
    return weight * old + (1 - weight) * new


def _old_plus_difference(old: Any, new: Any, weight: Any) -> Any:
    return old + (1 - weight) * (new - old)


def _interpolate(old: Any, new: Any, weight: Any) -> Any:
    return _old_plus_difference(old, new, weight) if 2 * weight > 1 else new - (new - old) * (1 - (1 - weight))


def _adam_with_averages(
    average_gradient: Callable[[Any, Any, Any], Any], average_square: Callable[[Any, Any, Any], Any]
) -> Callable[..., tuple[Any, Any, Any]]:
    """Return the formula of Adam with other formulas for its two moving averages.

    Args:
        average_gradient: computes V_new from V, the regularized gradient and the weight of V.
        average_square: computes H_new from H, the squared regularized gradient and the weight of H.
    """

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
        G_regularized = norm_coefficient * X + G
        V_new = average_gradient(V, G_regularized, alpha)
        H_new = average_square(H, G_regularized * G_regularized, beta)
        R_adjusted = R * np.sqrt(1 - beta**T) / (1 - alpha**T) if T > 0 else R
        X_new = X - R_adjusted * V_new / (np.sqrt(H_new) + epsilon)
        return (1 - norm_coefficient_post) * X_new, V_new, H_new

    return adam


adam_by_difference = _adam_with_averages(_old_plus_difference, _old_plus_difference)
"""Adam as in TensorFlow's kernels: each average moves by a share of its difference from the new number."""

adam_by_lerp = _adam_with_averages(_interpolate, _weighted_average)
"""Adam as in PyTorch's kernels: V_new is a `lerp`, which starts from the nearer of both ends."""


def momentum_distributed(
    R: Any, T: Any, X: Any, G: Any, V: Any, *, alpha: Any, beta: Any, mode: str, norm_coefficient: Any
) -> tuple[Any, Any]:
    """Compute one Momentum iteration with every product of a sum multiplied out.

    Only sums of tensors are multiplied out, not sums of scalars. Arguments and results are those of `momentum`.
    """
    beta_adjusted = beta if T > 0 else 1
    V_new = alpha * V + beta_adjusted * (norm_coefficient * X) + beta_adjusted * G
    G_regularized = norm_coefficient * X + G
    if mode == "nesterov":
        return X - R * G_regularized - R * (alpha * V_new), V_new
    return X - R * (alpha * V) - R * (beta_adjusted * G_regularized), V_new


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
        alternative_forms: algebraically equal forms of the formula that kernels use.
    """

    formula: Callable[..., Any]
    operands: tuple[str, ...]
    results: tuple[str, ...]
    defaults: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    allowed_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    domain: str = TRAINING_DOMAIN
    version: int = 1
    alternative_forms: tuple[Callable[..., Any], ...] = ()

    @property
    def forms(self) -> tuple[Callable[..., Any], ...]:
        """The formula of the operator's page, followed by its alternative forms."""
        return (self.formula, *self.alternative_forms)

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
        operands=("X", "G", "V", "H"),
        results=("X_new", "V_new", "H_new"),
        defaults={"alpha": 0.9, "beta": 0.999, "epsilon": 1e-6, "norm_coefficient": 0.0, "norm_coefficient_post": 0.0},
        alternative_forms=(adam_by_difference, adam_by_lerp),
    ),
    "Momentum": TrainingOptimizer(
        momentum,
        operands=("X", "G", "V"),
        results=("X_new", "V_new"),
        required=("alpha", "beta", "mode", "norm_coefficient"),
        allowed_values={"mode": ("standard", "nesterov")},
        alternative_forms=(momentum_distributed,),
    ),
    "Adagrad": TrainingOptimizer(
        adagrad,
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

    Operands and results are grouped by kind (X of all tensors, G of all tensors, …). The formula is evaluated for one
    tensor at a time.
    """
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    R, T, *operands = inputs
    kinds = len(optimizer.operands)
    count, rest = divmod(len(operands), kinds)
    if rest:
        raise Unsupported(f"{node.op_type} takes R, T and {kinds} operands per tensor, not {len(inputs)} inputs")
    by_tensor = [
        system.apply_optimizer(optimizer.forms, R, T, operands[i::count], node.attributes) for i in range(count)
    ]
    return [results[kind] for kind in range(len(optimizer.results)) for results in by_tensor]
