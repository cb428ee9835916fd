"""The optimizers' formulas in forms that are equal in algebra and not in rounding, each of which kernels have.

A sum that nearly cancels, or a term that a weight of 0 takes away, rounds otherwise in one than in the other. Both are
right readings of the page, so what an answer may be holds both: a bound is the hull, and where they differ by more than
rounding, as with infinities, no `must` case may rest on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def _as_written(old: Any, new: Any, kept: Any) -> Any:
    return kept * old + (1 - kept) * new


def _from_the_old(old: Any, new: Any, kept: Any) -> Any:
    return old + (1 - kept) * (new - old)


def _from_the_nearer(old: Any, new: Any, kept: Any) -> Any:
    return _from_the_old(old, new, kept) if 2 * kept > 1 else new - (new - old) * (1 - (1 - kept))


def _adam_with(
    mean: Callable[[Any, Any, Any], Any], mean_of_squares: Callable[[Any, Any, Any], Any]
) -> Callable[..., tuple[Any, Any, Any]]:
    """Adam with its averages computed so, from the old one, what is new, and the share that is kept."""

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
        V_new = mean(V, G_regularized, alpha)
        H_new = mean_of_squares(H, G_regularized * G_regularized, beta)
        R_adjusted = R * np.sqrt(1 - beta**T) / (1 - alpha**T) if T > 0 else R
        X_new = X - R_adjusted * V_new / (np.sqrt(H_new) + epsilon)
        return (1 - norm_coefficient_post) * X_new, V_new, H_new

    return adam


adam_by_differences = _adam_with(_from_the_old, _from_the_old)
"""As TensorFlow's kernels move both averages by a share of the difference."""

adam_by_lerp = _adam_with(_from_the_nearer, _as_written)
"""As PyTorch's kernels take V_new by `lerp`, which starts from whichever end is nearer."""


def momentum_distributed(
    R: Any, T: Any, X: Any, G: Any, V: Any, *, alpha: Any, beta: Any, mode: str, norm_coefficient: Any
) -> tuple[Any, Any]:
    """Momentum with every sum multiplied term by term.

    Each product has a tensor in it from the start: this is about the tensors' sums, not about what has no tensor in it.
    """
    beta_adjusted = beta if T > 0 else 1
    V_new = alpha * V + beta_adjusted * (norm_coefficient * X) + beta_adjusted * G
    G_regularized = norm_coefficient * X + G
    if mode == "nesterov":
        return X - R * G_regularized - R * (alpha * V_new), V_new
    return X - R * (alpha * V) - R * (beta_adjusted * G_regularized), V_new
