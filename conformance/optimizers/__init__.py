"""Graph optimizers: adapters for those that are no plain `optimize(model) → model` themselves, one file each.

A graph optimizer is a callable that takes a model and returns the rewritten one. If it takes `fixed_point=`, it is run
both ways. Its attribute `passes` names the passes that it claims to implement: with a claim it is held to what the pass
does, without one to the meaning of the model alone. What it raises is an error; `Unsupported`, as of a backend, is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_F = TypeVar("_F", bound="Callable[..., Any]")


def adapter(version: str, passes: tuple[str, ...] = ()) -> Callable[[_F], _F]:
    """Say of a function which version of its package it runs, and which passes it claims."""

    def say(optimize: _F) -> _F:
        vars(optimize).update(__version__=version, passes=passes)
        return optimize

    return say
