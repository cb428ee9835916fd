"""Adapters of graph optimizers that are not simple functions `optimize(model) → model`, one per file.

A graph optimizer is a function that takes a model and returns the optimized one. If it has a parameter `fixed_point`,
it is tested with both values. Its attribute `passes` lists the passes that it implements: the suite then checks that it
removes exactly the right nodes. Without this attribute, the suite checks only that the meaning of the model is
preserved. An exception is the verdict `error`, except `Unsupported`, as for a backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_F = TypeVar("_F", bound="Callable[..., Any]")


def declare_adapter(version: str, passes: tuple[str, ...] = ()) -> Callable[[_F], _F]:
    """Return a decorator that sets the version of an optimizer function and the passes that it implements."""

    def declare(optimize: _F) -> _F:
        vars(optimize).update(__version__=version, passes=passes)
        return optimize

    return declare
