"""Pairs of a mutant and a condition: the mutant counts again on the nodes that have another attribute or input too.

A kernel often has a path of its own for a combination, such as padding with dilation. So a corpus must show that an
attribute has an effect together with each other one. A kernel also has paths of its own for a rank, an axis, a kind of
broadcasting, a long axis and an empty output: the mutant of a path returns zeros, or loses the shape, on the nodes that
take it. Pairs and paths only measure cases and choose seeds; they name no mistake of a subject.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.run.mutants.node_mutants import AXIS_ATTRIBUTES, TYPE_ATTRIBUTES, NodeMutant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.run.mutants.node_mutants import Answers, NodeRun

PAIR = "-with-"
"""Text in the id of each pair."""

PAIRED = ("ignores ", "reads ", "pads ", "applies ")
"""Begins of the mistakes that are paired."""

VECTOR = 4
"""Number of elements that a kernel handles at once along the last axis."""

LONG_AXIS = 64
"""Number of elements of an axis above which a node takes the path of long axes."""

HIGH_RANK = 4
"""Rank above which a node has the condition of a high rank."""


def with_pairs(run: NodeRun, mutants: Sequence[NodeMutant]) -> list[NodeMutant]:
    """Return mutants of a node, their pairs and those of paths. A mutant and its pairs are computed once."""
    found = [replace(each, compute=_remembered(each.compute)) for each in mutants]
    every = list(conditions(run))
    for mutant in list(found):
        if mutant.mistake.startswith(PAIRED):
            words = mutant.mistake.split()
            for name, text in every:
                if not any(word == name or (len(name) > 1 and word.startswith(name)) for word in words):
                    mistake = f"{mutant.mistake} with {text}"
                    found.append(replace(mutant, id=f"{mutant.id}{PAIR}{text.replace(' ', '-')}", mistake=mistake))
    for path in paths(run):
        mistake = f"is wrong {path}"
        found.append(NodeMutant(f"{run.node.op_type}-{mistake.replace(' ', '-')}", mistake, _changed))
    return found


def paths(run: NodeRun) -> Iterator[str]:
    """Yield the paths that a kernel can take for a node, as phrases."""
    shapes = [each.shape for each in run.inputs if each is not None]
    if not shapes:
        return
    yield f"at rank {len(shapes[0])}"
    for rest in {size % VECTOR > 0 for size in shapes[0] if size > LONG_AXIS}:
        yield f"where an axis has more than {LONG_AXIS} elements{', and a rest after vectors' if rest else ''}"
    if 0 in shapes[0]:
        yield "for an empty input"
    if shapes[0] and shapes[0][-1] > VECTOR and shapes[0][-1] % VECTOR:
        yield f"where the last axis has a rest of {shapes[0][-1] % VECTOR} after vectors"
    axis = run.values.get("axis")
    if isinstance(axis, int):
        yield f"for axis {axis}"
    if "broadcast" in (run.schema.doc or "") and len(shapes) > 1:
        with suppress(ValueError):  # not all operands are broadcast
            yield from _broadcasting(shapes, np.broadcast_shapes(*shapes))


def _broadcasting(shapes: Sequence[tuple[int, ...]], result: tuple[int, ...]) -> Iterator[str]:
    """Yield the kinds of broadcasting that the first two operands need."""
    for word, shape in zip(("first", "second"), shapes, strict=False):
        if len(shape) < len(result):
            yield f"where the {word} input has fewer axes"
        if any(size == 1 < longer for size, longer in zip(shape[::-1], result[::-1], strict=False)):
            yield f"where the {word} input repeats an axis"


def _changed(right: Answers) -> Answers:
    """Return zeros or empty texts, and vectors for the empty outputs."""
    arrays = [each.expected for each in right]
    plain = [np.full_like(each, "") if each.dtype == object else np.zeros_like(each) for each in arrays]
    changed = [each.reshape(each.shape if each.size else 0) for each in plain]
    return [replace(answer, expected=array) for answer, array in zip(right, changed, strict=True)]


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
