"""Kernels with one mistake each that the catalogue of mutants does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.run.mutants import KernelPatch, MutantBackend
from conformance.run.mutants.mutant import FormulaArithmetic
from conformance.run.mutants.training_wrappers import (
    R,
    T,
    change_operands,
    change_scalar,
    operands_by_tensor,
    unchanged_results,
)
from conformance.run.mutants.wrappers import replace_attributes, replace_inputs, replace_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node
    from conformance.run.mutants.mutant import KernelWrapper


@dataclass(frozen=True)
class Mistake:
    """A wrong kernel.

    Attributes:
        text: its behaviour as a verb phrase.
        operator: its op_type.
        patch: the differences from the reference's kernel.
    """

    text: str
    operator: str
    patch: KernelPatch

    @property
    def backend(self) -> MutantBackend:
        """A backend with this mistake."""
        return MutantBackend({self.operator: self.patch})


def _edited(text: str, operator: str, old: str, new: str) -> Mistake:
    return Mistake(text, operator, KernelPatch(arithmetic=FormulaArithmetic({old: new})))


def _wrapped(text: str, operator: str, wrap_kernel: KernelWrapper) -> Mistake:
    return Mistake(text, operator, KernelPatch(wrappers=(wrap_kernel,)))


def _attribute(name: str, change: Callable[[Any], Any]) -> KernelWrapper:
    return replace_attributes(lambda given: {**given, name: change(given[name])} if name in given else given)


def _where(condition: Callable[[Node, list[Array]], bool], change: Callable[[Array], Array]) -> KernelWrapper:
    """Change the outputs if the node and its inputs satisfy the condition."""
    return replace_outputs(
        lambda node, inputs, outputs: [*map(change, outputs)] if condition(node, inputs) else outputs
    )


def _each(condition: Callable[[Array], bool], change: Callable[[Array], Array]) -> KernelWrapper:
    """Change each output that satisfies the condition."""
    return replace_outputs(lambda _, __, outputs: [change(array) if condition(array) else array for array in outputs])


def _doubled(array: Array) -> Array:
    return (array * 2).astype(array.dtype)


def _reversed(array: Array) -> Array:
    return array[::-1].copy()


def _stale(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """Update nothing if there are several tensors."""
    return unchanged_results(node, inputs) if len(operands_by_tensor(node, inputs)) > 1 else outputs


def _infinity_for_nan(array: Array) -> Array:
    return np.where(np.isnan(array), array.dtype.type(np.inf), array) if array.dtype.kind == "f" else array


def _plus_1(array: Array) -> Array:
    return array + 1


def _index(condition: Callable[[Node, Array], bool], change: Callable[[Array], Array]) -> KernelWrapper:
    return _where(lambda node, inputs: condition(node, inputs[0]), lambda array: change(array).astype(array.dtype))


ADAM = (
    _wrapped("holds alpha at 0.95", "Adam", _attribute("alpha", lambda alpha: min(alpha, 0.95))),
    _wrapped("holds beta at 0.99", "Adam", _attribute("beta", lambda beta: min(beta, 0.99))),
    _edited("squares norm_coefficient", "Adam", "norm_coefficient * X", "norm_coefficient * norm_coefficient * X"),
    _edited(
        "takes norm_coefficient_post twice", "Adam", "(1 - norm_coefficient_post)", "(1 - norm_coefficient_post) ** 2"
    ),
    _wrapped("holds epsilon above 1e-5", "Adam", _attribute("epsilon", lambda epsilon: max(epsilon, 1e-5))),
    _wrapped("holds T at 100", "Adam", change_scalar(T, lambda t: np.minimum(t, 100))),
    _wrapped("doubles what it gives for double tensors", "Adam", _each(lambda a: a.dtype == np.float64, _doubled)),
    _wrapped("does nothing where there are several tensors", "Adam", replace_outputs(_stale)),
    _wrapped("reverses the rows of matrices", "Adam", _each(lambda a: a.ndim == 2, _reversed)),
    _wrapped("doubles what it gives where T is 10 or more", "Adam", _where(lambda _, i: i[T] >= 10, _doubled)),
    _wrapped("takes a negative gradient for 0", "Adam", change_operands(lambda G: np.maximum(G, 0), "G")),
    _wrapped("takes an R of 0 for 0.01", "Adam", change_scalar(R, lambda r: np.where(r == 0, 0.01, r).astype(r.dtype))),
)

MOMENTUM = (
    _edited("adds R to alpha in mode nesterov", "Momentum", "alpha * V_new)", "(alpha + R) * V_new)"),
    _edited("takes R twice in mode standard", "Momentum", "X - R * V_new", "X - 2 * R * V_new"),
    _wrapped("takes an alpha of 0 for 0.9", "Momentum", _attribute("alpha", lambda alpha: alpha or 0.9)),
    _wrapped("holds beta at 0.5", "Momentum", _attribute("beta", lambda beta: min(beta, 0.5))),
    _edited("squares norm_coefficient", "Momentum", "norm_coefficient * X", "norm_coefficient * norm_coefficient * X"),
    _wrapped("doubles what it gives for float tensors", "Momentum", _each(lambda a: a.dtype == np.float32, _doubled)),
    _wrapped("does nothing where there are several tensors", "Momentum", replace_outputs(_stale)),
    _wrapped("gives 7 for 0-d tensors", "Momentum", _each(lambda a: not a.ndim, lambda a: np.full_like(a, 7))),
    _wrapped("doubles what it gives where T is negative", "Momentum", _where(lambda _, i: i[T] < 0, _doubled)),
    _wrapped("reverses tensors of three and more dimensions", "Momentum", _each(lambda a: a.ndim > 2, _reversed)),
)

ADAGRAD = (
    _edited(
        "divides the step by 1 + decay_factor",
        "Adagrad",
        "G_regularized / H_adaptive",
        "G_regularized / H_adaptive / (1 + decay_factor)",
    ),
    _wrapped("holds T at 1", "Adagrad", change_scalar(T, lambda t: np.minimum(t, 1))),
    _edited("squares norm_coefficient", "Adagrad", "norm_coefficient * X", "norm_coefficient * norm_coefficient * X"),
    _wrapped("holds epsilon above 1e-5", "Adagrad", _attribute("epsilon", lambda epsilon: max(epsilon, 1e-5))),
    _wrapped(
        "halves what it gives for double tensors", "Adagrad", _each(lambda a: a.dtype == np.float64, lambda a: a / 2)
    ),
    _wrapped("does nothing where there are several tensors", "Adagrad", replace_outputs(_stale)),
    _wrapped("gives 7 for 0-d tensors", "Adagrad", _each(lambda a: not a.ndim, lambda a: np.full_like(a, 7))),
    _wrapped("doubles what it gives where T is 2", "Adagrad", _where(lambda _, i: i[T] == 2, _doubled)),
    _wrapped("reverses tensors of three and more dimensions", "Adagrad", _each(lambda a: a.ndim > 2, _reversed)),
)

ARGMAX = (
    _wrapped("adds 1 for uint8", "ArgMax", _index(lambda _, X: X.dtype == np.uint8, _plus_1)),
    _wrapped("adds 1 for float16", "ArgMax", _index(lambda _, X: X.dtype == np.float16, _plus_1)),
    _wrapped("adds 1 for signed 64-bit integers", "ArgMax", _index(lambda _, X: X.dtype == np.int64, _plus_1)),
    _wrapped("adds 1 for a negative axis", "ArgMax", _index(lambda n, _: n.attributes.get("axis", 0) < 0, _plus_1)),
    _wrapped("adds 1 where keepdims is 0", "ArgMax", _index(lambda n, _: not n.attributes.get("keepdims", 1), _plus_1)),
    _wrapped("gives 0 for more than three dimensions", "ArgMax", _index(lambda _, X: X.ndim > 3, lambda a: a * 0)),
    _wrapped(
        "adds 1 where select_last_index is 1",
        "ArgMax",
        _index(lambda n, _: n.attributes.get("select_last_index", 0) == 1, _plus_1),
    ),
    _wrapped("adds 1 for vectors", "ArgMax", _index(lambda _, X: X.ndim == 1, _plus_1)),
    _wrapped("takes NaN for infinity", "ArgMax", replace_inputs(lambda _, inputs: [*map(_infinity_for_nan, inputs)])),
)

MISTAKES = (*ADAM, *MOMENTUM, *ADAGRAD, *ARGMAX)
"""All mistakes."""
