"""What a faulty rewrite is, and how its steps are put in the place of the right ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx


@dataclass(frozen=True)
class FaultyRewrite:
    """A wrong implementation of the pass.

    Attributes:
        id: what it gets wrong in words joined by `_`.
        text: what it does, a sentence without its subject: "removes Relu too".
        optimize: does it: `optimize(model, fixed_point=…) → model`.
        level: how strongly the specification stands behind what it breaks: a case has to notice it at this level.
    """

    id: str
    text: str
    optimize: Callable[..., Any]
    level: Level = Level.MUST


def altered(id: str, text: str, *, level: Level = Level.MUST, **steps: Any) -> FaultyRewrite:
    """The suite's own implementation with some of its steps replaced."""
    return FaultyRewrite(id, text, replace(eliminate, **steps), level)


def afterwards(
    id: str, text: str, spoil: Callable[[onnx.ModelProto], object], level: Level = Level.MUST
) -> FaultyRewrite:
    """The suite's own implementation, whose result is spoilt."""
    return altered(id, text, level=level, finish=lambda after, _: spoil(after))
