"""Pairs of a mutant and a condition: the mutant counts again on the nodes that have another attribute or input too.

A kernel often has a path of its own for a combination, such as padding with dilation. So a corpus must show that an
attribute has an effect together with each other one. The pairs only measure cases and choose seeds: their outputs are
those of the mutant itself, so they name no mistake of a subject.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx

from conformance.run.mutants.node_mutants import AXIS_ATTRIBUTES, TYPE_ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.run.mutants.node_mutants import Answers, NodeMutant, NodeRun

PAIR = "-with-"
"""Text in the id of each pair."""

PAIRED = ("ignores ", "reads ", "pads ", "applies ")
"""Begins of the mistakes that are paired."""

HIGH_RANK = 4
"""Rank above which a node has the condition of a high rank."""


def with_pairs(run: NodeRun, mutants: Sequence[NodeMutant]) -> list[NodeMutant]:
    """Return mutants of a node and their pairs. A mutant and its pairs are computed once."""
    found = [replace(each, compute=_remembered(each.compute)) for each in mutants]
    every = list(conditions(run))
    for mutant in list(found):
        if mutant.mistake.startswith(PAIRED):
            words = mutant.mistake.split()
            for name, text in every:
                if not any(word == name or (len(name) > 1 and word.startswith(name)) for word in words):
                    mistake = f"{mutant.mistake} with {text}"
                    found.append(replace(mutant, id=f"{mutant.id}{PAIR}{text.replace(' ', '-')}", mistake=mistake))
    return found


def conditions(run: NodeRun) -> Iterator[tuple[str, str]]:
    """Yield the conditions of a node: the name of an attribute or input, and the condition as a phrase."""
    for name, value in run.values.items():
        default = run.schema.attributes[name].default_value if name in run.schema.attributes else onnx.AttributeProto()
        if default.type == onnx.AttributeProto.UNDEFINED or onnx.helper.get_attribute_value(default) != value:
            yield name, f"{name} {_value(name, value)}".strip()
    for formal, operand in zip(run.schema.inputs, run.inputs, strict=False):
        if operand is not None and formal.option == onnx.defs.OpSchema.FormalParameterOption.Optional:
            yield formal.name, formal.name
    first = next((each for each in run.inputs if each is not None), None)
    if first is not None and first.ndim > HIGH_RANK:
        yield "", f"a rank above {HIGH_RANK}"
    if first is not None and first.ndim > 1 and min(first.shape) > 1:
        yield "", "no size of 1"


def _value(name: str, value: Any) -> str:
    """Return the text of a value if each value is a path of its own: a word, a type, or a number that is not finite."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    is_special = isinstance(value, float) and not math.isfinite(value)
    return str(value) if name in TYPE_ATTRIBUTES or (is_special and name not in AXIS_ATTRIBUTES) else ""


def _remembered(compute: Callable[[Answers], Answers | None]) -> Callable[[Answers], Answers | None]:
    """Return a computation that is made once."""
    results: list[Answers | None] = []

    def computed(right: Answers) -> Answers | None:
        if not results:
            results.append(compute(right))
        return results[0]

    return computed
