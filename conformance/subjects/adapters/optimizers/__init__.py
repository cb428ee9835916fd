"""Adapters of graph optimizers that are not simple functions `optimize(model) → model`, one per file.

A graph optimizer is a function that takes a model and returns the optimized one. If it has a parameter `fixed_point`,
it is tested with both values. Its attribute `passes` lists the passes that it implements: the suite then checks that it
removes exactly the right nodes. Without this attribute, the suite checks only that the meaning of the model is
preserved. An exception is the verdict `error`, except `Unsupported`, as for a backend.

`blame` bisects a graph optimizer with a parameter `passes`: names with `+` between them, or `none`. For `passes=list`
it returns a model whose metadata entry `passes` has the names of all its passes, with `+` between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import onnx

_F = TypeVar("_F", bound="Callable[..., Any]")

LIST_PASSES = "list"
"""Value of the option `passes` for which a graph optimizer returns the names of its passes."""


def declare_adapter(version: str, passes: tuple[str, ...] = ()) -> Callable[[_F], _F]:
    """Return a decorator that sets the version of an optimizer function and the passes that it implements."""

    def declare(optimize: _F) -> _F:
        vars(optimize).update(__version__=version, passes=passes)
        return optimize

    return declare


def chosen_passes(passes: str, known: Sequence[str]) -> list[str]:
    """Return the passes that the option `passes` names, in the order of `known`; all for an empty text.

    Raises:
        ValueError: a name is unknown.
    """
    if not passes:
        return list(known)
    selected = {} if passes == "none" else dict.fromkeys(passes.split("+"))
    if unknown := [name for name in selected if name not in known]:
        raise ValueError(f"there is no pass {unknown[0]}")
    return [name for name in known if name in selected]


def list_of_passes(model: onnx.ModelProto, known: Sequence[str]) -> onnx.ModelProto:
    """Return a copy of a model with the names of passes in its metadata entry `passes`."""
    copy = type(model)()
    copy.CopyFrom(model)
    del copy.metadata_props[:]
    copy.metadata_props.add(key="passes", value="+".join(known))
    return copy
