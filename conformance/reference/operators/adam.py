"""Adam, as the operator's page writes it (ai.onnx.preview.training, since version 1)."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    """One Adam iteration for one tensor, in whatever numbers the arguments are.

    Args:
        R: the learning rate, a scalar.
        T: the update count, a scalar integer; bias correction applies where it is above 0.
        X: the tensor to optimize.
        G: its gradient, of X's shape.
        V: its exponentially averaged gradient, of X's shape.
        H: its exponentially averaged squared gradient, of X's shape.
        alpha: the share of V that is kept.
        beta: the share of H that is kept.
        epsilon: what is added to the square root of H.
        norm_coefficient: L2 regularization, added to the gradient.
        norm_coefficient_post: L2 regularization, applied to the new X.

    Returns:
        X_new, V_new and H_new, of X's shape.
    """
    # Add gradient of 0.5 * norm_coefficient * ||X||_2^2.
    G_regularized = norm_coefficient * X + G
    V_new = alpha * V + (1 - alpha) * G_regularized
    H_new = beta * H + (1 - beta) * G_regularized * G_regularized
    H_sqrt = np.sqrt(H_new) + epsilon
    R_adjusted = R * np.sqrt(1 - beta**T) / (1 - alpha**T) if T > 0 else R
    X_new = X - R_adjusted * V_new / H_sqrt
    X_final = (1 - norm_coefficient_post) * X_new
    return X_final, V_new, H_new
