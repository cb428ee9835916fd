"""The example of any declared operator: a node that is drawn from its declaration.

A `DrawnExample` is the seed of the node, and the choices and elements that shrinking has changed. It is simplified
choice by choice: the first option of each choice is the plainest one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from conformance.base.serialization.decoding import Count, MalformedError
from conformance.corpus.factors.wrapping import BuiltModel, Context
from conformance.exact.declarations.declaration_tables import declarations
from conformance.exact.declarations.drawing import (
    DrawnNode,
    InvalidNodeError,
    draw_node,
    draw_valid_node,
    element_count,
)
from conformance.exact.models.arrays import type_name
from conformance.studies.search.distributions import SIZE_CLASSES, Combination, class_of
from conformance.studies.search.example import count_digits
from conformance.studies.search.program_example import SampledExample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


PLAIN_ELEMENTS = (0.0, 1.0)
"""The elements that other elements are simplified to."""

MAX_ELEMENTS_EDITED = 32
"""Number of elements of all operands up to which single elements are simplified."""

_QUANTITIES = ("size ", "values of ", "kind of ")
"""Beginnings of the names of choices that change no more than sizes and elements."""


class DrawnExample(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """A randomly drawn test of one node.

    Attributes:
        operator: the op_type of the node.
        seed: the seed that the node is drawn from.
        chosen: the options of the choices that were changed, by name of the choice.
        edits: the elements that were changed, by name of the operand and flat index.
    """

    operator: str
    seed: str
    chosen: dict[str, Count]
    edits: dict[str, dict[int, float]]

    @cached_property
    def node(self) -> DrawnNode:
        """The node, its model and its operands.

        Raises:
            InvalidNodeError: the choices give no valid model.
        """
        return draw_node(self.operator, self.seed, self.chosen, self.edits)

    @cached_property
    def built(self) -> BuiltModel:
        """The model and its inputs."""
        return BuiltModel(self.node.model.SerializeToString(deterministic=True), (tuple(self.node.inputs.values()),))

    @property
    def context(self) -> Context:
        """The graph around the node, which has no other node."""
        return Context()

    @property
    def combination(self) -> Combination:
        """The combination of classes that the example has."""
        arrays = [*self.node.operands.values()]
        largest = max((array.size for array in arrays), default=0)
        first = type_name(arrays[0].dtype) if arrays else ""
        attributes = "+".join(sorted(attribute.name for attribute in self.node.proto.attribute))
        return Combination(self.operator, class_of(largest, SIZE_CLASSES), first, "main", "", attributes)

    @property
    def complexity(self) -> tuple[int, ...]:
        """A sort key: of two examples with the same fault, the example with the smaller key is reported."""
        choices = {name: choice for name, choice in self.node.choices.items() if not choice.is_plain}
        elements = element_count(self.node)
        return (
            sum(not name.startswith(_QUANTITIES) for name in choices),
            elements,
            len(choices),
            sum(choice.index for choice in choices.values()),
            sum(map(count_digits, self.node.operands.values())) if elements <= MAX_ELEMENTS_EDITED else 0,
        )

    def check(self) -> None:
        """Check an example that an untrusted document has.

        Raises:
            MalformedError: no model can be built from it.
        """
        if self.operator not in declarations() or any(min(each, default=0) < 0 for each in self.edits.values()):
            raise MalformedError("an example has an unknown operator or a negative index")
        try:
            self.built  # noqa: B018 - a wrong document has no model
        except ValueError as error:
            raise MalformedError(f"no model can be built from an example ({type(error).__name__})") from None

    def choosing(self, name: str, index: int) -> DrawnExample:
        """Return the example with another option of a choice."""
        return replace(self, chosen={**self.chosen, name: index})

    def editing(self, name: str, place: int, value: float) -> DrawnExample:
        """Return the example with another element of an operand."""
        return replace(self, edits={**self.edits, name: {**self.edits.get(name, {}), place: value}})


AnyExample: TypeAlias = SampledExample | DrawnExample


def draw_example(operator: str, seed: str) -> DrawnExample:
    """Return a valid example of an operator.

    Raises:
        UsageError: the operator has no declaration.
    """
    node, own = draw_valid_node(operator, seed)
    example = DrawnExample(operator, own, {}, {})
    example.__dict__["node"] = node  # it is drawn already
    return example


def plainer_choices(example: DrawnExample) -> Iterator[DrawnExample]:
    """Yield examples in which choices take plainer options: all, all sizes, and then each choice.

    Sizes come first, because small examples are judged faster.
    """
    choices = {name: choice for name, choice in example.node.choices.items() if choice.index and name != "declaration"}
    sizes = [name for name in choices if name.startswith("size ")]
    for group in (list(choices), sizes):
        if len(group) > 1:
            yield from _valid(replace(example, chosen={**example.chosen, **dict.fromkeys(group, 0)}))
    for name, choice in sorted(choices.items(), key=lambda each: each[0] not in sizes):
        for index in dict.fromkeys((0, choice.index // 2, choice.index - 1)) if choice.index > 0 else ():
            yield from _valid(example.choosing(name, index))


def plainer_elements(example: DrawnExample) -> Iterator[DrawnExample]:
    """Yield examples in which all elements of an operand, or one of them, are a plain number."""
    if element_count(example.node) > MAX_ELEMENTS_EDITED:
        return
    operands = ((name, example.node.operands[name]) for name in example.node.free)
    free = {name: array for name, array in operands if array.dtype.kind != "c"}
    for name, array in free.items():
        for plain in PLAIN_ELEMENTS:
            yield replace(example, edits={**example.edits, name: dict.fromkeys(range(array.size), plain)})
    for name, array in free.items():
        for place, element in enumerate(array.flat):
            for plain in PLAIN_ELEMENTS:
                if float(element) != plain or np.signbit(float(element)):
                    yield example.editing(name, place, plain)


def _valid(example: DrawnExample) -> Iterator[DrawnExample]:
    """Yield an example if its model is valid."""
    try:
        example.node  # noqa: B018 - an invalid node raises
    except InvalidNodeError:
        return
    yield example


DRAWN_STAGES: Sequence[Callable[[DrawnExample], Iterator[DrawnExample]]] = (plainer_choices, plainer_elements)
"""The stages of shrinking; see `conformance.studies.search.shrinking`."""
