"""Adam, Momentum and Adagrad: the pseudo-code of their pages, line by line, for one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import fmpq

from checks.oracle.reals import add, divide, multiply, power, real, square_root, subtract
from checks.oracle.tensors import map_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from checks.oracle.arithmetic import Arithmetic
    from checks.oracle.calls import Call
    from checks.oracle.tensors import Tensor

ONE = fmpq(1)


def _adam_rate(a: Arithmetic, R: Any, T: int, n: Mapping[str, Any]) -> Any:
    if T <= 0:
        return R
    root = a(square_root, a(subtract, ONE, a(power, n["beta"], real(T))))
    return a(divide, a(multiply, R, root), a(subtract, ONE, a(power, n["alpha"], real(T))))


def _adam(
    a: Arithmetic, R_adjusted: Any, T: int, n: Mapping[str, Any], X: Any, G: Any, V: Any, H: Any
) -> tuple[Any, ...]:
    alpha, beta = n["alpha"], n["beta"]
    G_regularized = a(add, a(multiply, n["norm_coefficient"], X), G)
    V_new = a(add, a(multiply, alpha, V), a(multiply, a(subtract, ONE, alpha), G_regularized))
    square = a(multiply, a(multiply, a(subtract, ONE, beta), G_regularized), G_regularized)
    H_new = a(add, a(multiply, beta, H), square)
    H_sqrt = a(add, a(square_root, H_new), n["epsilon"])
    X_new = a(subtract, X, a(divide, a(multiply, R_adjusted, V_new), H_sqrt))
    X_final = a(multiply, a(subtract, ONE, n["norm_coefficient_post"]), X_new)
    return X_final, V_new, H_new


def _momentum_rate(a: Arithmetic, R: Any, T: int, n: Mapping[str, Any]) -> Any:
    return R


def _momentum(a: Arithmetic, R: Any, T: int, n: Mapping[str, Any], X: Any, G: Any, V: Any) -> tuple[Any, ...]:
    alpha = n["alpha"]
    beta_adjusted = n["beta"] if T > 0 else ONE
    G_regularized = a(add, a(multiply, n["norm_coefficient"], X), G)
    V_new = a(add, a(multiply, alpha, V), a(multiply, beta_adjusted, G_regularized))
    step = a(add, G_regularized, a(multiply, alpha, V_new)) if n["mode"] == b"nesterov" else V_new
    return a(subtract, X, a(multiply, R, step)), V_new


def _adagrad_rate(a: Arithmetic, R: Any, T: int, n: Mapping[str, Any]) -> Any:
    return a(divide, R, a(add, ONE, a(multiply, real(T), n["decay_factor"])))


def _adagrad(a: Arithmetic, r: Any, T: int, n: Mapping[str, Any], X: Any, G: Any, H: Any) -> tuple[Any, ...]:
    G_regularized = a(add, a(multiply, n["norm_coefficient"], X), G)
    H_new = a(add, H, a(multiply, G_regularized, G_regularized))
    H_adaptive = a(add, a(square_root, H_new), n["epsilon"])
    return a(subtract, X, a(divide, a(multiply, r, G_regularized), H_adaptive)), H_new


def _optimizer(
    rate: Callable[..., Any], step: Callable[..., tuple[Any, ...]], state: int
) -> Callable[..., tuple[Tensor, ...]]:
    """Return an operator that updates each tensor separately. Operands and results are grouped: all X, all G, …."""

    def operator(call: Call, R: Tensor, T: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        count = len(tensors) // (2 + state)
        results = [_update(call, R, T, tensors[at::count]) for at in range(count)]
        return tuple(result[group] for group in range(1 + state) for result in results)

    def _update(call: Call, R: Tensor, T: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        a = call.arithmetic(tensors[0].type)
        updates = T.integers()[0]
        adjusted = rate(a, R.elements.ravel()[0], updates, call.attributes)
        updated = map_elements(
            lambda *items: step(a, adjusted, updates, call.attributes, *items), *(t.elements for t in tensors)
        )
        return tuple(
            tensors[0].with_elements(map_elements(lambda items, at=at: items[at], updated)) for at in range(1 + state)
        )

    return operator


OPERATORS = {
    "Adagrad": _optimizer(_adagrad_rate, _adagrad, state=1),
    "Adam": _optimizer(_adam_rate, _adam, state=2),
    "Momentum": _optimizer(_momentum_rate, _momentum, state=1),
}
