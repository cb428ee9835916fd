"""The type of a mutant of the pass, and functions that create a mutant from the suite's implementation of the pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME, eliminate

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from conformance.exact.models.graphs import Scope


@dataclass(frozen=True)
class PassMutant:
    """A graph optimizer that is a wrong implementation of the pass, or a correct one as a control.

    Attributes:
        id: a name for the fault: words joined by `_`.
        text: the faulty behaviour as a verb phrase: "removes Relu too".
        optimize: the graph optimizer: `optimize(model, fixed_point=…) → model`.
        level: the level of the cases that must detect the mutant. It is the level at which the specification supports
            the correct behaviour.
        implements_pass: whether the optimizer is judged as an implementation of the pass.
    """

    id: str
    text: str
    optimize: Callable[..., Any]
    level: Level = Level.MUST
    implements_pass: bool = True

    @property
    def passes(self) -> tuple[str, ...]:
        """Names of the passes that the optimizer implements."""
        return (PASS_NAME,) if self.implements_pass else ()


def replace_steps(id: str, text: str, *, level: Level = Level.MUST, **steps: Any) -> PassMutant:
    """Return a mutant: the suite's implementation of the pass with some of its steps replaced.

    Args:
        steps: functions by the names of the attributes of `Elimination`.
    """
    return PassMutant(id, text, replace(eliminate, **steps), level)


def damage_result(
    id: str, text: str, spoil: Callable[[onnx.ModelProto], object], level: Level = Level.MUST
) -> PassMutant:
    """Return a mutant: the suite's implementation of the pass, followed by a function that damages its result.

    Args:
        spoil: function that changes the optimized model in place.
    """
    return replace_steps(id, text, level=level, finish=lambda after, _: spoil(after))


def invalidate(scope: Scope) -> None:
    """Discard the index of a graph and of all enclosing graphs, after a change that was made without this index."""
    scope.__dict__.pop("use_def", None)
    if scope.parent is not None:
        invalidate(scope.parent)
