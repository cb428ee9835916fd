"""Momentum in both its modes, as the operator's page writes it (ai.onnx.preview.training, since version 1)."""

from __future__ import annotations

from typing import Any


def momentum(
    R: Any, T: Any, X: Any, G: Any, V: Any, *, alpha: Any, beta: Any, mode: str, norm_coefficient: Any
) -> tuple[Any, Any]:
    """One iteration of stochastic gradient descent with momentum for one tensor, in whatever numbers the arguments are.

    Args:
        R: the learning rate, a scalar.
        T: the update count, a scalar integer; beta applies where it is above 0.
        X: the tensor to optimize.
        G: its gradient, of X's shape.
        V: its momentum, of X's shape.
        alpha: the share of V that is kept.
        beta: the weight of the gradient after the first iteration.
        mode: "standard" or "nesterov".
        norm_coefficient: L2 regularization, added to the gradient.

    Returns:
        X_new and V_new, of X's shape.

    Raises:
        ValueError: the mode is neither of the two.
    """
    # Add gradient of 0.5 * norm_coefficient * ||X||^2.
    G_regularized = norm_coefficient * X + G
    beta_adjusted = beta if T > 0 else 1
    V_new = alpha * V + beta_adjusted * G_regularized
    if mode == "standard":
        X_new = X - R * V_new
    elif mode == "nesterov":
        X_new = X - R * (G_regularized + alpha * V_new)
    else:
        raise ValueError(f'Momentum has the modes "standard" and "nesterov", not {mode!r}')
    return X_new, V_new
