"""What a graph optimizer made of a case's model in one run, as the checks look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.corpus.case import Firing
from conformance.models.checking import check
from conformance.passes.expected import past_all, without

if TYPE_CHECKING:
    import onnx

    from conformance.corpus.case import Rewrite
    from conformance.judging.examples import Examples

LONGEST = 200
ONCE, FIXED_POINT = "once", "fixed_point"


class NotJudged(Exception):
    """A check has nothing to say of a rewriting; the text says why, and is empty where it need not be told."""


@dataclass(frozen=True)
class Rewriting:
    """One run of a graph optimizer.

    Attributes:
        run: `once` or `fixed_point`.
        before: the case's model.
        given: the model that the graph optimizer was handed, as it is afterwards.
        after: what it returned.
        expected: what the pass must do.
        examples: the case's data sets.
        claims: whether the graph optimizer claims to implement the pass.
        tells_apart: whether it knows a single run and a fixed point apart.
        invalid: why onnx's checker refuses the model that was given, or None.
    """

    run: str
    before: onnx.ModelProto
    given: onnx.ModelProto
    after: onnx.ModelProto
    expected: Rewrite
    examples: Examples
    claims: bool = False
    tells_apart: bool = True
    invalid: str | None = None

    @cached_property
    def gone(self) -> list[tuple[str, ...]]:
        """The values whose producers may be gone: all that the pass may do in this run, one choice each."""
        expected = self.expected
        choices = [expected.once] if self.run == ONCE else [expected.fixed_point]
        if not self.tells_apart:
            choices.append(expected.fixed_point)
        if expected.answer is Firing.MAY:
            choices += [(), expected.once]
        return list(dict.fromkeys(choices))

    @cached_property
    def documented(self) -> list[onnx.ModelProto]:
        """The model as it was, and as the pass leaves it after one run and at its fixed point.

        Without a claim there may be other passes before this one, which remove what it has to respect.
        """
        gone = dict.fromkeys([(), self.expected.once, self.expected.fixed_point])
        models = [without(self.before, values) for values in gone]
        return models if self.claims else [*models, past_all(self.before)]


def refusal(model: onnx.ModelProto) -> str | None:
    """Why onnx's checker, shape inference included, refuses a model, in short; None where it does not."""
    try:
        check(model, shapes=True)
    except Exception as error:  # noqa: BLE001 - the checker's own, those of shape inference, and of protobuf
        return " ".join(str(error).split())[:LONGEST] or type(error).__name__
    return None
