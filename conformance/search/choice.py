"""A choice: what a draw is, in the declaration's words and in numbers. A model and its data are functions of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from onnx import helper

from conformance.dimensions.argmax import argmax_fragment
from conformance.dimensions.building import numbered
from conformance.dimensions.contexts import Built, Context, in_context
from conformance.dimensions.fragments import Fragment
from conformance.models.arrays import type_name
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.search.beside import with_bystander

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array

ARGMAX = "ArgMax"
CHAINED = ("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax")
"""The operators of the pass, which may stand before an ArgMax."""

OPSET = 13

DIGITS, MOST_COUNTED = 17, 256
"""How long a number is at most, and of how many that is looked at one by one."""


ALONG = ("same", "default", "next")
"""What the axis of an operator of the chain is to ArgMax's: the same number, left out, or the next dimension. The same
dimension counted from the other end is the corpus's: whether the pass fires there is open."""


class Tensor(TypedDict):
    """An operand as JSON has it: its elements as hexadecimal text, which loses nothing."""

    dtype: str
    shape: list[int]
    data: str


class ChoiceDocument(TypedDict):
    """A choice as JSON has it."""

    operator: str
    chain: list[str]
    context: dict[str, Any]
    attributes: dict[str, Any]
    opset: int
    along: str
    beside: str
    runs: list[dict[str, Tensor]]


@dataclass(frozen=True)
class Choice:
    """What a draw is.

    Attributes:
        operator: the op_type of the node that it is about.
        context: what surrounds it.
        attributes: those of the node, in the model's order.
        runs: the operands of each run of the one prepared model, by name; an operand that is a constant of the model
            is that of the first run in all of them.
        chain: operators between the operand and an ArgMax, the first one first.
        opset: of the main domain.
        along: of `ALONG`, for the operators of the chain that have an axis.
        beside: of `beside.WORDS`, what else stands in the model; empty for nothing.
    """

    operator: str
    context: Context
    attributes: Mapping[str, Any]
    runs: tuple[Mapping[str, Array], ...]
    chain: tuple[str, ...] = ()
    opset: int = OPSET
    along: str = "same"
    beside: str = ""

    @property
    def operands(self) -> Mapping[str, Array]:
        """Those of the first run."""
        return self.runs[0]

    @property
    def tensors(self) -> int:
        """How many tensors a training optimizer updates; 1 of an ArgMax."""
        if self.operator == ARGMAX:
            return 1
        return (len(self.operands) - 2) // len(TRAINING_OPTIMIZERS[self.operator].operands)

    @property
    def size(self) -> tuple[int, ...]:
        """How large it is: the smaller of two is the better example of one fault."""
        context = self.context
        words = [
            bool(self.beside),
            context.place != "main",
            context.stored != "raw",
            context.imports != "main_first",
            context.trains,
        ]
        unusual = [word != "input" for word in context.origins.values()]
        unusual += [word != "output" for word in context.uses.values()]
        elements = sum(array.size for run in self.runs for array in run.values())
        digits = DIGITS * elements if elements > MOST_COUNTED else _digits(self.runs)
        return (
            sum(words)
            + sum(unusual)
            + len(context.shared)
            + len(self.chain)
            + (self.opset != OPSET)
            + (self.along != "same"),
            self.tensors,
            sum(array.size for array in self.operands.values()),
            len(self.runs),
            len(self.attributes),
            digits + sum(len(str(value)) for value in self.attributes.values()),
        )

    @cached_property
    def made(self) -> Built:
        """The model and the data, made once."""
        return built(self)

    def document(self) -> ChoiceDocument:
        """The choice as JSON has it."""
        context = self.context
        return {
            "operator": self.operator,
            "chain": list(self.chain),
            "context": {
                "place": context.place,
                "origins": dict(context.origins),
                "uses": dict(context.uses),
                "shared": list(context.shared),
                "stored": context.stored,
                "imports": context.imports,
                "trains": context.trains,
            },
            "attributes": dict(self.attributes),
            "opset": self.opset,
            "along": self.along,
            "beside": self.beside,
            "runs": [{name: _tensor(array) for name, array in run.items()} for run in self.runs],
        }

    @classmethod
    def of(cls, document: ChoiceDocument) -> Choice:
        """The choice that JSON has."""
        context = dict(document["context"])
        context["shared"] = tuple(context["shared"])
        runs = tuple({name: _array(tensor) for name, tensor in run.items()} for run in document["runs"])
        chain, rest = tuple(document["chain"]), (document["opset"], document["along"], document["beside"])
        return cls(document["operator"], Context(**context), document["attributes"], runs, chain, *rest)

    def with_operands(self, changed: Mapping[str, Array]) -> Choice:
        """The same with other operands in the first run."""
        return replace(self, runs=({**self.operands, **changed}, *self.runs[1:]))


def _digits(runs: Iterable[Mapping[str, Array]]) -> int:
    return sum(len(f"{float(value):.{DIGITS}g}") for run in runs for array in run.values() for value in array.flat)


def built(choice: Choice) -> Built:
    """The model and the data of a choice."""
    fragment = _argmax(choice) if choice.operator == ARGMAX else _optimizer(choice)
    made = in_context("drawn", fragment, choice.context, choice.runs[1:])
    return with_bystander(made, choice.beside) if choice.beside else made


def _optimizer(choice: Choice) -> Fragment:
    operands, optimizer = choice.operands, TRAINING_OPTIMIZERS[choice.operator]
    tensors = [operands[name] for name in numbered(optimizer.operands[:1], choice.tensors)]
    names = numbered(optimizer.results, choice.tensors)
    results = {name: np.zeros_like(tensors[place % len(tensors)]) for place, name in enumerate(names)}
    node = _node(choice, list(operands), names, optimizer.domain)
    carried = {name: name.removesuffix("_new") for name in names}
    opsets = {optimizer.domain: optimizer.version}
    return Fragment((node,), operands, results, opsets, carried, (node,))


def _node(choice: Choice, taken: Sequence[str], given: Sequence[str], domain: str) -> onnx.NodeProto:
    """The node that a choice is about, its attributes in the choice's order, which `make_node` would sort."""
    node = helper.make_node(choice.operator, taken, given, domain=domain or None)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in choice.attributes.items())
    return node


def _argmax(choice: Choice) -> Fragment:
    X = choice.operands["X"]
    along = _along(choice.along, choice.attributes.get("axis", 0), X.ndim)
    before = [(op_type, along if op_type in ALONG_AXIS else {}) for op_type in choice.chain]
    return argmax_fragment(X, before, choice.attributes, choice.opset)


def _along(word: str, axis: int, rank: int) -> dict[str, int]:
    """The attributes of an operator before an ArgMax over this axis."""
    if word == "default":
        return {}
    return {"axis": (axis + 1) % rank if word == "next" and rank > 1 else axis}


def _tensor(array: Array) -> Tensor:
    return {"dtype": type_name(array.dtype), "shape": list(array.shape), "data": array.tobytes().hex()}


def _array(tensor: Tensor) -> Array:
    from conformance.models.arrays import dtype_of, type_number

    data = np.frombuffer(bytes.fromhex(tensor["data"]), dtype=dtype_of(type_number(tensor["dtype"])))
    return data.reshape(tensor["shape"]).copy()
