"""Adagrad, as the operator's page writes it (ai.onnx.preview.training, since version 1)."""

from __future__ import annotations

from typing import Any

import numpy as np


def adagrad(
    R: Any, T: Any, X: Any, G: Any, H: Any, *, decay_factor: Any, epsilon: Any, norm_coefficient: Any
) -> tuple[Any, Any]:
    """One Adagrad iteration for one tensor, in whatever numbers the arguments are.

    Args:
        R: the initial learning rate, a scalar.
        T: the update count, a scalar integer.
        X: the tensor to optimize.
        G: its gradient, of X's shape.
        H: its accumulated squared gradient, of X's shape.
        decay_factor: how much each update lowers the learning rate.
        epsilon: what is added to the square root of H.
        norm_coefficient: L2 regularization, added to the gradient.

    Returns:
        X_new and H_new, of X's shape.
    """
    r = R / (1 + T * decay_factor)
    # Add gradient of 0.5 * norm_coefficient * ||X||_2^2.
    G_regularized = norm_coefficient * X + G
    H_new = H + G_regularized * G_regularized
    H_adaptive = np.sqrt(H_new) + epsilon
    X_new = X - r * G_regularized / H_adaptive
    return X_new, H_new
