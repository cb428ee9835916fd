"""Chains of operators that nobody chose by hand: pairs of neighbours in all forms that models have.

The families of the texts have patterns that known passes rewrite, and the conditions that known passes forget. A
new pass needs a model with its pattern, in which one condition does not hold. The operators are those of `FORMS`, with
attributes, operands and elements that are drawn: a scalar constant more often than a broadcast input, a power of two
more often than another number, a rank of 2 or 3, and elements at which arithmetic differs from that of real numbers.
`PLANS` has the structures: a line, two producers of one consumer, a value and its result, parts that are put together
again, and sizes that are computed. A model has several chains side by side, so that few models have all pairs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import chain as all_of
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import Case, CaseKind, PassEffect, Rewrite
from conformance.corpus.generation.expected_outputs import enclosed_answers, is_unbounded
from conformance.exact.models.arrays import tensor_of, type_name, type_number
from conformance.exact.models.graphs import copy_of
from conformance.exact.models.model_building import IR_VERSION, array_value_info
from conformance.exact.models.renaming import Renamer
from generators.patterns.surroundings import SURROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

OPSETS = (17, 18, 17, 13, 21, 17, 11, 23)
"""Versions of the main domain, of which each chain has the next one."""

SHAPES: Sequence[tuple[int, ...]] = (
    (2, 3),
    (2, 3, 4),
    (3, 2),
    (4,),
    (2, 1, 3),
    (1, 3),
    (2, 2, 3),
    (2, 3, 2, 2),
    (),
    (0, 3),
)
"""Shapes of the first value of a chain."""

TYPES = ("float32",) * 8 + ("float16", "float64", "int64", "int32", "int32", "uint8", "int8", "bool")
"""Element types of the first value of a chain."""

ELEMENTS: Sequence[Sequence[float]] = (
    *((1.5, -2, 0.75, 3, -0.5, 2.25, -1.25, 4, 0.5),) * 4,
    *((2, -1, 3, -3, 1, 5, -4, 0.25, -7),) * 2,
    (np.nan, -np.inf, 2, -0.0, np.inf, 0, -1, 1.5),
    (-0.0, 0.0, 1, -1, 0.0, -2, 3),
    (3e38, -6e4, 65504, -3e38, 1e-30, -1e-38, 300),
    (0.1, 1.0001, 65000.3, 3400.7, -7.9, 1e-7, 16777217),
)
"""Lists of elements of values of floats; ordinary ones are drawn more often."""

INTEGERS: Sequence[Sequence[int]] = (
    *((1, -2, 3, 0, 5, -4, 7, 2),) * 3,
    (127, -128, 255, 200, -100, 2**15, -(2**31), 2**31 - 1, 2**62, 65537, -3),
    (2**31 - 1, 2**31 - 5, 100, 100, 2**30, 2**62, -(2**63), 46341, 3_037_000_500),
)
"""Lists of elements of values of integers, which are taken modulo the size of the type."""

FACTORS = (1, 2, 0.5, 1024, 0, -1, 4, -0.0, 3, 2.0**40, 0.1, 2.0**-20, 1e30, -2, 0.25, 512, np.inf, 7)
"""Elements of constants of floats."""


@dataclass(frozen=True)
class Value:
    """A value of a chain: its name, element type and shape."""

    name: str
    type: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def kind(self) -> str:
        """The kind of its type: `f`, `i`, `u` or `b`."""
        return self.type.kind


@dataclass
class Chain:
    """A small graph under construction.

    Attributes:
        chance: the source of all choices.
        opset: the version of the main domain.
        nodes: the nodes.
        inputs: the inputs of the graph by name.
        constants: the initializers by name.
        made: the results of nodes by name.
        outputs: the names of the results that are outputs of the graph.
    """

    chance: random.Random
    opset: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    made: dict[str, Value] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    count: int = 0

    def name(self, letter: str) -> str:
        """Return a new name."""
        self.count += 1
        return f"{letter}{self.count}"

    def is_likely(self, probability: float) -> bool:
        """Draw whether something is the case."""
        return self.chance.random() < probability

    def one(self, options: Sequence[Any]) -> Any:
        """Draw one of some objects."""
        return self.chance.choice(options)

    def array(self, type: np.dtype[Any], shape: Sequence[int]) -> Array:
        """Draw elements of a value."""
        size = int(np.prod(shape))
        if type.kind == "b":
            return np.array([self.is_likely(0.6) for _ in range(size)], bool).reshape(shape)
        elements = self.one(ELEMENTS if type.kind == "f" else INTEGERS)
        start = self.chance.randrange(3)
        with np.errstate(all="ignore"):
            chosen = [elements[(start + place) % len(elements)] for place in range(size)]
            if type.kind != "f":
                bits = 2 ** (8 * type.itemsize) - 1
                return np.array([int(each) & bits for each in chosen], np.uint64).astype(type).reshape(shape)
            return np.array(chosen, np.float64).astype(type).reshape(shape)

    def input(self, type: np.dtype[Any], shape: Sequence[int]) -> Value:
        """Add an input of the graph."""
        name = self.name("x")
        self.inputs[name] = self.array(type, shape)
        return Value(name, type, tuple(shape))

    def constant(self, array: Any, type: Any = np.int64) -> Value:
        """Add a constant: an initializer, and in some chains a Constant."""
        given = np.asarray(array).astype(type)
        name = self.name("c")
        if self.is_likely(0.12):
            self.nodes.append(helper.make_node("Constant", [], [name], **self.constant_value(given)))
        else:
            self.constants[name] = given
        return Value(name, given.dtype, given.shape)

    def again(self, type: Any, shape: Sequence[int]) -> Value | None:
        """Return the last constant of a type and shape; None if the chain has none."""
        found = [name for name, array in self.constants.items() if array.dtype == type and array.shape == tuple(shape)]
        return Value(found[-1], np.dtype(type), tuple(shape)) if found else None

    def constant_value(self, array: Array) -> dict[str, Any]:
        """Return the attribute of a Constant: a tensor, or for half of the short ones numbers."""
        names = {("f", 0): "value_float", ("f", 1): "value_floats", ("i", 0): "value_int", ("i", 1): "value_ints"}
        name = names.get((array.dtype.kind, array.ndim), "")
        is_short = self.opset >= 12 and array.dtype in (np.float32, np.int64) and array.size > 0
        if is_short and name and self.chance.random() < 0.5:
            return {name: array.tolist()}
        return {"value": tensor_of(array, "")}

    def operand(self, like: Value, *, is_divisor: bool = False) -> Value:
        """Add a second operand: mostly a constant, mostly a scalar, mostly a power of two."""
        shape = like.shape
        shapes = [(), (), (), (1,), shape[-1:], (*shape[:-1], 1), shape, (1, *shape), (1,) * len(shape)]
        chosen = self.one(shapes)
        size = int(np.prod(chosen))
        if self.is_likely(0.15) and not (is_divisor and like.kind != "f"):
            return self.input(like.type, chosen)
        if self.is_likely(0.15) and (again := self.again(like.type, chosen)) is not None:
            return again
        if like.kind == "f":
            factors = [self.one(FACTORS)] * size if self.is_likely(0.5) else [self.one(FACTORS) for _ in range(size)]
            with np.errstate(over="ignore"):
                return self.constant(np.array(factors, np.float64).reshape(chosen), like.type)
        if like.kind == "b":
            return (
                self.constant([self.is_likely(0.5) for _ in range(size)] if chosen else self.is_likely(0.5), like.type)
                if len(chosen) < 2
                else self.constant(self.array(like.type, chosen), like.type)
            )
        numbers = [2, 3, 4, 7] if is_divisor else [0, 1, 2, 3, 16, 100]
        return self.constant(np.array([self.one(numbers) for _ in range(size)]).reshape(chosen), like.type)

    def node(
        self,
        op_type: str,
        taken: Sequence[Value | None],
        shape: Sequence[int],
        type: Any = None,
        count: int = 1,
        **attributes: Any,
    ) -> Value:
        """Append a node, and return its first result; absent attributes are None."""
        first = next(value for value in taken if value is not None)
        names = [self.name("y") for _ in range(count)]
        given = {name: each for name, each in attributes.items() if each is not None}
        inputs = [value.name if value else "" for value in taken]
        while inputs and not inputs[-1]:
            inputs.pop()
        self.nodes.append(helper.make_node(op_type, inputs, names, **given))
        result = Value(names[0], np.dtype(type) if type is not None else first.type, tuple(map(int, shape)))
        self.made[names[0]] = result
        return result

    def show_second(self, type: Any, shape: Sequence[int]) -> None:
        """Draw whether the second result of the last node, if it has one, is a value of the chain."""
        names = self.nodes[-1].output
        if len(names) > 1 and self.is_likely(0.6):
            self.made[names[1]] = Value(names[1], np.dtype(type), tuple(map(int, shape)))

    def maybe(self, *options: Any) -> Any:
        """Draw None, or one of some values."""
        return self.one([None, *options])

    def axis(self, value: Value, *, more: int = 0) -> int:
        """Draw an axis, which is negative in half of the draws."""
        rank = len(value.shape) + more
        axis = self.one([rank - 1, self.chance.randrange(rank)])
        return int(axis - rank if self.is_likely(0.5) else axis)

    def axes(self, value: Value, *, most: int = 3) -> list[int]:
        """Draw different axes."""
        rank = len(value.shape)
        number = self.chance.randint(1, min(rank, most))
        chosen = self.chance.sample(range(rank), number)
        chosen = sorted(chosen) if self.is_likely(0.8) else chosen
        return [axis - rank if self.is_likely(0.35) else axis for axis in chosen]


def _unary(op_type: str, kinds: str = "f", least: int = 0, **attributes: Sequence[Any]) -> Any:
    """Return the form of an operator of one operand, with options of its attributes."""

    def add(chain: Chain, x: Value) -> Value | None:
        if x.kind not in kinds or chain.opset < least:
            return None
        given = {name: chain.maybe(*options) for name, options in attributes.items()}
        return chain.node(op_type, [x], x.shape, **given)

    return add


def binary(chain: Chain, op_type: str, a: Value, b: Value) -> Value | None:
    """Append an operator of two operands that broadcast."""
    logic = op_type in ("And", "Or", "Xor")
    compares = op_type in ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return None
    if a.type != b.type or (logic != (a.kind == "b") and not (op_type == "Equal" and chain.opset >= 11)):
        return None
    if (op_type in ("LessOrEqual", "GreaterOrEqual") and chain.opset < 12) or (
        op_type in ("Max", "Min") and chain.opset < 13 and a.kind != "f"
    ):
        return None
    if a.kind not in "fb" and (
        op_type == "PRelu" or (a.type.itemsize < 4 and chain.opset < 14 and op_type in ARITHMETIC)
    ):
        return None
    if op_type == "PRelu" and shape != a.shape:
        return None
    mode = {"fmod": 1 if a.kind == "f" else chain.maybe(1)} if op_type == "Mod" else {}
    if op_type == "Pow" and (a.type.itemsize < 4 and a.kind != "f"):
        return None
    if op_type == "Pow" and chain.opset < 12 and a.kind != "f":
        return None
    return chain.node(op_type, [a, b], shape, np.bool_ if compares else None, **mode)


def _binary(op_type: str) -> Any:
    """Return the form of an operator with a second operand."""

    def add(chain: Chain, x: Value) -> Value | None:
        other = chain.operand(x, is_divisor=op_type in ("Div", "Mod"))
        pair = (
            (other, x)
            if chain.is_likely(0.15) and not (op_type in ("Div", "Mod", "Pow") and x.kind != "f")
            else (x, other)
        )
        return binary(chain, op_type, *pair)

    return add


ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "PRelu")
COMPARISONS = ("Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")
LOGIC = ("And", "Or", "Xor")
REDUCTIONS = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)


def _reduction(op_type: str) -> Any:
    def add(chain: Chain, x: Value) -> Value | None:
        if (
            x.kind == "b"
            or (x.type.itemsize < 4 and x.kind != "f")
            or (not x.shape and chain.opset < 18)
            or 0 in x.shape
        ):
            return None
        if op_type in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean") and x.kind != "f":
            return None
        as_input = chain.opset >= (13 if op_type == "ReduceSum" else 18)
        axes = (
            chain.one([chain.axes(x) if x.shape else [], [], None])
            if chain.is_likely(0.3)
            else chain.axes(x)
            if x.shape
            else None
        )
        if axes == [] and not as_input:
            axes = None
        keepdims = chain.maybe(0, 1, 0)
        noop = chain.maybe(0, 1) if as_input else None
        whole = sorted({axis % len(x.shape) for axis in axes}) if axes else [] if noop else [*range(len(x.shape))]
        shape = [
            1 if place in whole else size for place, size in enumerate(x.shape) if place not in whole or keepdims != 0
        ]
        if as_input:
            given = None if axes is None else chain.constant(axes)
            return chain.node(op_type, [x, given], shape, keepdims=keepdims, noop_with_empty_axes=noop)
        return chain.node(op_type, [x], shape, axes=axes, keepdims=keepdims)

    return add


def _peak(op_type: str) -> Any:
    def add(chain: Chain, x: Value) -> Value | None:
        if x.kind == "b" or not x.shape or 0 in x.shape:
            return None
        axis = chain.axis(x) if chain.is_likely(0.8) else None
        keepdims = chain.maybe(0, 1)
        last = chain.maybe(1) if chain.opset >= 12 else None
        place = (axis or 0) % len(x.shape)
        shape = [1 if at == place else size for at, size in enumerate(x.shape) if at != place or keepdims != 0]
        return chain.node(op_type, [x], shape, np.int64, axis=axis, keepdims=keepdims, select_last_index=last)

    return add


def _along(op_type: str) -> Any:
    def add(chain: Chain, x: Value) -> Value | None:
        if x.kind != "f" or not x.shape:
            return None
        is_given = chain.is_likely(0.75) or (chain.opset < 13 and len(x.shape) < 2)
        return chain.node(op_type, [x], x.shape, axis=chain.axis(x) if is_given else None)

    return add


def _cumulative(chain: Chain, x: Value) -> Value | None:
    if x.kind == "b" or x.type.itemsize < 4 or not x.shape:
        return None
    axis = chain.constant(chain.axis(x), chain.one([np.int64, np.int32]))
    return chain.node("CumSum", [x, axis], x.shape, exclusive=chain.maybe(0, 1), reverse=chain.maybe(0, 1))


def _top(chain: Chain, x: Value) -> Value | None:
    if x.kind == "b" or not x.shape or 0 in x.shape or (x.type.itemsize < 4 and x.kind != "f"):
        return None
    axis = chain.axis(x)
    k = chain.one([1, x.shape[axis]])
    shape = [*x.shape]
    shape[axis] = k
    result = chain.node(
        "TopK", [x, chain.constant([k])], shape, count=2, axis=axis, largest=chain.maybe(0, 1), sorted=chain.maybe(1)
    )
    chain.show_second(np.int64, shape)
    return result


def _transpose(chain: Chain, x: Value) -> Value | None:
    rank = len(x.shape)
    perm = (
        chain.one([[*range(rank)], [*range(rank)][::-1], None, None])
        if chain.is_likely(0.4)
        else chain.chance.sample(range(rank), rank)
    )
    order = perm if perm is not None else [*range(rank)][::-1]
    return chain.node("Transpose", [x], [x.shape[place] for place in order], perm=perm if rank else None)


def _reshape(chain: Chain, x: Value) -> Value | None:
    size = int(np.prod(x.shape))
    if not size:
        return None
    options: list[list[int]] = [[-1], [*x.shape], [1, *x.shape], [*x.shape, 1], [size]]
    if len(x.shape) > 1:
        options += [[-1, x.shape[-1]], [0, -1], [x.shape[-1], -1], [*x.shape[::-1]], [x.shape[0], -1]]
    if len(x.shape) > 2:
        options += [[0, 0, -1], [x.shape[0] * x.shape[1], -1], [x.shape[1], x.shape[0], -1], [0, -1, x.shape[-1]]]
    wanted = chain.one(options)
    known = [x.shape[place] if each == 0 else each for place, each in enumerate(wanted)]
    shape = [size // max(1, -int(np.prod(known))) if each == -1 else each for each in known]
    return chain.node(
        "Reshape", [x, chain.constant(wanted)], shape, allowzero=chain.maybe(0, 0) if chain.opset >= 14 else None
    )


def _squeeze(chain: Chain, x: Value) -> Value | None:
    ones = [place for place, size in enumerate(x.shape) if size == 1]
    if not ones:
        return None
    axes = chain.chance.sample(ones, chain.chance.randint(1, len(ones)))
    shape = [size for place, size in enumerate(x.shape) if place not in axes]
    if len(axes) == len(ones) and chain.is_likely(0.4):
        return chain.node("Squeeze", [x], shape)
    given = [axis - len(x.shape) if chain.is_likely(0.4) else axis for axis in axes]
    if chain.opset < 13:
        return chain.node("Squeeze", [x], shape, axes=given)
    return chain.node("Squeeze", [x, chain.constant(given)], shape)


def _unsqueeze(chain: Chain, x: Value) -> Value | None:
    number = chain.one([1, 1, 2])
    rank = len(x.shape) + number
    if rank > 5:
        return None
    axes = sorted(chain.chance.sample(range(rank), number))
    rest = iter(x.shape)
    shape = [1 if place in axes else next(rest) for place in range(rank)]
    if chain.is_likely(0.2):
        axes.reverse()
    given = [axis - rank if chain.is_likely(0.4) else axis for axis in axes]
    if chain.opset < 13:
        return chain.node("Unsqueeze", [x], shape, axes=given)
    return chain.node("Unsqueeze", [x, chain.constant(given)], shape)


def _flatten(chain: Chain, x: Value) -> Value | None:
    rank = len(x.shape)
    axis = chain.one([None, *range(-rank, rank + 1)])
    place = 1 if axis is None else axis + rank if axis < 0 else axis
    if place > rank:
        return None
    return chain.node("Flatten", [x], [int(np.prod(x.shape[:place])), int(np.prod(x.shape[place:]))], axis=axis)


def _slice(chain: Chain, x: Value) -> Value | None:
    if not x.shape:
        return None
    axes = [axis % len(x.shape) for axis in chain.axes(x, most=2)]
    starts = []
    ends = []
    steps = []
    shape = [*x.shape]
    for axis in axes:
        size = x.shape[axis]
        start, end, step = chain.one(
            [
                (0, 1, 1),
                (1, size, 1),
                (0, 2**31 - 1, 1),
                (-1, -(2**31), -1),
                (0, 1000, 2),
                (-2, 2**63 - 1, 1),
                (0, -1, 1),
                (1, 2, 1),
                (0, size, 1),
                (1, 1, 1),
                (-1, -100, -1),
            ]
        )
        starts.append(start)
        ends.append(end)
        steps.append(step)
        shape[axis] = len(range(*slice(start, end, step).indices(size)))
    given = [axis - len(x.shape) if chain.is_likely(0.3) else axis for axis in axes]
    parts: list[Value | None] = [chain.constant(starts), chain.constant(ends)]
    has_steps = any(step != 1 for step in steps) or chain.is_likely(0.4)
    if has_steps or axes != [*range(len(axes))] or chain.is_likely(0.8):
        parts.append(chain.constant(given))
    if has_steps:
        parts.append(chain.constant(steps))
    return chain.node("Slice", [x, *parts], shape)


def _gather(chain: Chain, x: Value) -> Value | None:
    if not x.shape or 0 in x.shape:
        return None
    axis = chain.axis(x) if chain.is_likely(0.8) else None
    place = (axis or 0) % len(x.shape)
    size = x.shape[place]
    indices = np.array(chain.one([0, -1, [0], [-1], [*range(size)], [*range(size)][::-1], [0, 0], [[0, -1]], size - 1]))
    shape = [*x.shape[:place], *indices.shape, *x.shape[place + 1 :]]
    return chain.node(
        "Gather", [x, chain.constant(indices, chain.one([np.int64, np.int64, np.int32]))], shape, axis=axis
    )


def _concat(chain: Chain, x: Value) -> Value | None:
    if not x.shape:
        return None
    axis = chain.axis(x)
    if chain.is_likely(0.15):
        return chain.node("Concat", [x], x.shape, axis=axis)
    other = [*x.shape]
    other[axis] = chain.one([x.shape[axis], 1, 0, 2])
    second = (
        x
        if chain.is_likely(0.25)
        else chain.input(x.type, other)
        if chain.is_likely(0.4)
        else chain.constant(chain.array(x.type, other), x.type)
    )
    operands = [x, second] if chain.is_likely(0.7) else [second, x]
    shape = [*x.shape]
    shape[axis] += second.shape[axis]
    return chain.node("Concat", operands, shape, axis=axis)


def _split(chain: Chain, x: Value) -> Value | None:
    parts = split(chain, x)
    return None if parts is None else chain.one(parts)


def split(chain: Chain, x: Value) -> list[Value] | None:
    """Append a Split, and return its results."""
    if not x.shape:
        return None
    axis = chain.axis(x)
    size = x.shape[axis]
    sizes = chain.one(
        [[1] * size, [1, size - 1], [size - 1, 1], [size // 2] * 2 if size % 2 == 0 else [1] * size, [size]]
    )
    if sum(sizes) != size or not sizes or min(sizes) < 0:
        return None
    equal = len({*sizes}) == 1
    given = None if equal and chain.is_likely(0.3) and chain.opset < 18 else sizes
    taken: list[Value | None] = [x]
    attributes: dict[str, Any] = {"axis": axis if axis or chain.is_likely(0.7) else None}
    if given is not None and chain.opset >= 13:
        taken.append(chain.constant(given))
    elif given is not None:
        attributes["split"] = given
    first = chain.node("Split", taken, x.shape, count=len(sizes), **attributes)
    names = chain.nodes[-1].output
    found = []
    del chain.made[first.name]
    for name, part in zip(names, sizes, strict=True):
        shape = [*x.shape]
        shape[axis] = part
        found.append(Value(name, x.type, tuple(shape)))
        chain.made[name] = found[-1]
    return found


def _expand(chain: Chain, x: Value) -> Value | None:
    shape = x.shape
    wanted = chain.one(
        [
            [*shape],
            [2, *shape],
            [1, *shape],
            [1] * len(shape),
            [2, *[1] * len(shape)],
            [3 if size == 1 else size for size in shape],
            [3 if size == 1 else 1 for size in shape],
            [1],
        ]
    )
    return chain.node(
        "Expand", [x, chain.constant(np.array(wanted, np.int64))], np.broadcast_shapes(shape, tuple(wanted))
    )


def _tile(chain: Chain, x: Value) -> Value | None:
    repeats = [chain.one([1, 1, 3, 2, 0 if chain.is_likely(0.3) else 1]) for _ in x.shape]
    return chain.node(
        "Tile",
        [x, chain.constant(np.array(repeats, np.int64))],
        [size * each for size, each in zip(x.shape, repeats, strict=True)],
    )


def _pad(chain: Chain, x: Value) -> Value | None:
    if not x.shape or x.kind == "b" or 0 in x.shape:
        return None
    rank = len(x.shape)
    mode = chain.one([None, None, "constant", "edge", "reflect"])
    pads = [0] * (2 * rank)
    for _ in range(chain.one([0, 1, 1, 2])):
        place = chain.chance.randrange(2 * rank)
        if mode in (None, "constant", "edge") or x.shape[place % rank] > 1:
            pads[place] = chain.one(
                [1, 1, 2 if mode != "reflect" else 1, -1 if x.shape[place % rank] > 2 and mode != "reflect" else 1]
            )
    value = (
        chain.one([None, chain.constant(0, x.type), chain.constant(1, x.type)]) if mode in (None, "constant") else None
    )
    shape = [size + pads[place] + pads[place + rank] for place, size in enumerate(x.shape)]
    if chain.opset >= 18 and chain.is_likely(0.4):
        axes = [place for place in range(rank) if pads[place] or pads[place + rank]] or [rank - 1]
        axes = axes[:: chain.one([1, -1])]
        pads = [pads[place + side] for side in (0, rank) for place in axes]
        counted = [axis - rank if chain.is_likely(0.4) else axis for axis in axes]
        return chain.node("Pad", [x, chain.constant(pads), value, chain.constant(counted)], shape, mode=mode)
    return chain.node("Pad", [x, chain.constant(pads), value], shape, mode=mode)


def _cast(chain: Chain, x: Value) -> Value | None:
    options = {
        "float32": "float16 float64 float32 int32 int64 bool",
        "float16": "float32 float64 float16",
        "float64": "float32 float16 float64 int64",
    }
    names = options.get(x.type.name, "int64 int32 float32 bool uint8 int8 float64 " + x.type.name).split()
    to = chain.one(names)
    return chain.node("Cast", [x], x.shape, to, to=type_number(type_name(np.dtype(to))))


def _dropout(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f":
        return None
    if chain.opset < 12:
        return chain.node("Dropout", [x], x.shape, ratio=chain.maybe(0.1, 0.9))
    ratio = chain.maybe(chain.constant(0.5, np.float32), chain.constant(0.0, np.float32))
    training = chain.maybe(chain.constant(False, np.bool_)) if ratio else None
    if ratio is not None and ratio.name in chain.constants and not chain.constants[ratio.name] and chain.is_likely(0.5):
        training = chain.constant(True, np.bool_)
    result = chain.node("Dropout", [x, ratio, training], x.shape, count=chain.one([1, 2]))
    chain.show_second(np.bool_, x.shape)
    return result


def _where(chain: Chain, x: Value) -> Value | None:
    other = chain.operand(x) if chain.is_likely(0.6) else x
    shapes: list[tuple[int, ...]] = [x.shape, (), (1,), (2, *x.shape), x.shape[-1:]]
    chosen = chain.one(shapes)
    condition = (
        chain.input(np.dtype(bool), chosen)
        if chain.is_likely(0.5)
        else chain.constant(
            chain.one([np.ones(chosen), np.zeros(chosen), chain.array(np.dtype(bool), chosen)]), np.bool_
        )
    )
    operands = [x, other] if chain.is_likely(0.6) else [other, x]
    return chain.node("Where", [condition, *operands], np.broadcast_shapes(chosen, x.shape, other.shape), x.type)


def _clip(chain: Chain, x: Value) -> Value | None:
    if x.kind == "b" or (chain.opset < 12 and x.kind != "f"):
        return None
    low, high = chain.one([(0, 6), (-1, 1), (0, None), (None, 2), (2, 1), (1, 3), (-2, 0), (3, 5), (None, None)])
    if x.kind == "u":
        low = None if low is None else max(low, 0)
        high = None if high is None else max(high, 0)
    given = [None if each is None else chain.constant(each, x.type) for each in (low, high)]
    return chain.node("Clip", [x, *given], x.shape)


def _trilu(chain: Chain, x: Value) -> Value | None:
    if len(x.shape) < 2 or chain.opset < 14:
        return None
    return chain.node(
        "Trilu", [x, chain.maybe(chain.constant(1), chain.constant(-1))], x.shape, upper=chain.maybe(0, 1)
    )


def _shift(chain: Chain, x: Value) -> Value | None:
    if x.kind != "u":
        return None
    return chain.node(
        "BitShift", [x, chain.constant(chain.one([1, 3, 7]), x.type)], x.shape, direction=chain.one(["LEFT", "RIGHT"])
    )


def _bitwise(chain: Chain, x: Value) -> Value | None:
    if x.kind not in "iu" or chain.opset < 18:
        return None
    return chain.node(
        chain.one(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]),
        [x, chain.constant(chain.one([0, 1, 15, 127]), x.type)],
        x.shape,
    )


def _weights(chain: Chain, x: Value, shape: Sequence[int]) -> Value:
    """Return an operand of ordinary elements: mostly a constant."""
    size = int(np.prod(shape))
    numbers = [0.5, -1, 2, 1.5, -0.25, 3, 1, -2, 0.75, 4]
    start = chain.chance.randrange(10)
    array = np.array([numbers[(start + 3 * place) % 10] for place in range(size)]).reshape(shape)
    if chain.is_likely(0.15):
        name = chain.name("x")
        chain.inputs[name] = array.astype(x.type)
        return Value(name, x.type, tuple(shape))
    return chain.constant(array, x.type)


def _matmul(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or not x.shape or 0 in x.shape:
        return None
    if chain.is_likely(0.2) and len(x.shape) > 1:
        left = _weights(chain, x, (2, x.shape[-2]))
        return chain.node("MatMul", [left, x], (*x.shape[:-2], 2, x.shape[-1]))
    width = chain.one([2, 3, x.shape[-1]])
    shape = chain.one([(x.shape[-1], width), (x.shape[-1], width), (x.shape[-1],)])
    return chain.node("MatMul", [x, _weights(chain, x, shape)], (*x.shape[:-1], *shape[1:]))


def _gemm(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or len(x.shape) != 2 or 0 in x.shape:
        return None
    trans_a = chain.maybe(0, 1)
    trans_b = chain.maybe(0, 1, 1)
    rows, depth = x.shape[::-1] if trans_a else x.shape
    width = chain.one([depth, 3, 2])
    bias = chain.one([None, (width,), (1, width), (rows, 1), (rows, width), ()])
    operands = [
        x,
        _weights(chain, x, (width, depth) if trans_b else (depth, width)),
        None if bias is None else _weights(chain, x, bias),
    ]
    return chain.node(
        "Gemm",
        operands,
        (rows, width),
        transA=trans_a,
        transB=trans_b,
        alpha=chain.maybe(1.0, 0.5, 2.0),
        beta=chain.maybe(1.0, 0.5, 0.0) if bias is not None else None,
    )


def _conv(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or len(x.shape) not in (3, 4) or 0 in x.shape:
        return None
    space = len(x.shape) - 2
    channels = x.shape[1]
    group = chain.one([None, 1, channels])
    kernel = [chain.one([1, 1, 2]) for _ in range(space)]
    filters = (group or 1) * chain.one([1, 2])
    pads = chain.one([None, [0] * 2 * space, [1] * 2 * space, [1, *[0] * (2 * space - 1)]])
    shape = [x.shape[0], filters]
    for place in range(space):
        around = 0 if pads is None else pads[place] + pads[place + space]
        shape.append(x.shape[2 + place] + around - kernel[place] + 1)
    if min(shape) < 1:
        return None
    weights = _weights(chain, x, (filters, channels // (group or 1), *kernel))
    bias = chain.maybe(_weights(chain, x, (filters,)))
    return chain.node("Conv", [x, weights, bias], shape, group=group, pads=pads, kernel_shape=chain.maybe(kernel))


def _conv_transpose(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or len(x.shape) not in (3, 4) or 0 in x.shape:
        return None
    channels = x.shape[1]
    group = chain.one([None, 1, channels])
    filters = chain.one([1, 2])
    kernel = [chain.one([1, 2]) for _ in x.shape[2:]]
    shape = [x.shape[0], filters * (group or 1), *(a + b - 1 for a, b in zip(x.shape[2:], kernel, strict=True))]
    weights = _weights(chain, x, (channels, filters, *kernel))
    return chain.node("ConvTranspose", [x, weights, chain.maybe(_weights(chain, x, shape[1:2]))], shape, group=group)


def _of_many(op_type: str) -> Any:
    """Return the form of an operator of any number of operands."""

    def add(chain: Chain, x: Value) -> Value | None:
        if x.kind != "f" and (op_type in ("Sum", "Mean") or x.kind == "b" or chain.opset < 13):
            return None
        others = [chain.operand(x) for _ in range(chain.one([0, 1, 2, 2]))]
        operands = [x, *others] if chain.is_likely(0.6) else [*others, x]
        return chain.node(op_type, operands, np.broadcast_shapes(*(each.shape for each in operands)))

    return add


def _batch(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or len(x.shape) < 2 or 0 in x.shape:
        return None
    channels = (x.shape[1],)
    scale, bias, mean = (_weights(chain, x, channels) for _ in range(3))
    variance = chain.constant(np.array([1, 4, 0.5, 2.25])[: channels[0]], x.type)
    return chain.node("BatchNormalization", [x, scale, bias, mean, variance], x.shape, epsilon=chain.maybe(0.5, 0.0))


def _layer(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or not x.shape or 0 in x.shape or chain.opset < 17:
        return None
    axis = chain.axis(x) if chain.is_likely(0.7) else None
    part = x.shape[(-1 if axis is None else axis) % len(x.shape) :]
    return chain.node(
        "LayerNormalization",
        [x, _weights(chain, x, part), chain.maybe(_weights(chain, x, part))],
        x.shape,
        axis=axis,
        epsilon=chain.maybe(0.5),
    )


def _instance(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or len(x.shape) < 3 or 0 in x.shape:
        return None
    return chain.node("InstanceNormalization", [x, *(_weights(chain, x, x.shape[1:2]) for _ in range(2))], x.shape)


def _pool(op_type: str) -> Any:
    def add(chain: Chain, x: Value) -> Value | None:
        if x.kind != "f" or len(x.shape) not in (3, 4) or 0 in x.shape:
            return None
        space = len(x.shape) - 2
        kernel = [chain.one([1, 2]) for _ in range(space)]
        pads = chain.one([None, [0] * 2 * space, [1] * 2 * space if min(kernel) > 1 else None])
        around = 0 if pads is None else 2 * pads[0]
        shape = [*x.shape[:2], *(size + around - width + 1 for size, width in zip(x.shape[2:], kernel, strict=True))]
        if min(shape) < 1:
            return None
        counted = {"count_include_pad": chain.maybe(0, 1)} if op_type == "AveragePool" else {}
        count = chain.one([1, 2]) if op_type == "MaxPool" else 1
        result = chain.node(op_type, [x], shape, count=count, kernel_shape=kernel, pads=pads, **counted)
        chain.show_second(np.int64, shape)
        return result

    return add


def _global(chain: Chain, x: Value) -> Value | None:
    if x.kind != "f" or len(x.shape) < 3 or 0 in x.shape:
        return None
    return chain.node(chain.one(["GlobalAveragePool", "GlobalMaxPool"]), [x], [*x.shape[:2], *[1] * (len(x.shape) - 2)])


def _quantize(chain: Chain, x: Value) -> Value | None:
    if x.type != np.float32:
        return None
    is_default = chain.is_likely(0.2)
    to = np.uint8 if is_default else chain.one([np.uint8, np.int8])
    by_axis = bool(x.shape) and chain.opset >= 13 and chain.is_likely(0.25)
    axis = chain.axis(x) if by_axis else None
    size = x.shape[axis] if axis is not None else 0
    scales = np.array([0.5, 0.25, 2, 0.5])[:size] if by_axis else chain.one([0.5, 0.25, 1, 0.1])
    same = chain.again(np.float32, np.shape(scales)) if chain.is_likely(0.5) else None
    scale = same or chain.constant(scales, np.float32)
    zeros = np.array([0, 3, 1, 7])[:size] if by_axis else chain.one([0, 3, 100])
    zero = None if is_default else chain.constant(zeros, to)
    return chain.node("QuantizeLinear", [x, scale, zero], x.shape, to, axis=axis)


def _dequantize(chain: Chain, x: Value) -> Value | None:
    if x.type not in (np.uint8, np.int8):
        return None
    by_axis = bool(x.shape) and chain.opset >= 13 and chain.is_likely(0.25)
    axis = chain.axis(x) if by_axis else None
    size = x.shape[axis] if axis is not None else 0
    scales = np.array([0.5, 0.25, 2, 0.5])[:size] if by_axis else chain.one([0.5, 0.25, 1, 0.1])
    same = chain.again(np.float32, np.shape(scales)) if chain.is_likely(0.5) else None
    scale = same or chain.constant(scales, np.float32)
    zeros = np.array([0, 3, 1, 7])[:size] if by_axis else chain.one([0, 3, 100])
    zero = None if chain.is_likely(0.2) else chain.constant(zeros, x.type)
    return chain.node("DequantizeLinear", [x, scale, zero], x.shape, np.float32, axis=axis)


def _shape(chain: Chain, x: Value) -> Value | None:
    start, end = (
        (chain.maybe(0, 1, -1), chain.maybe(1, -1, 2)) if chain.opset >= 15 and chain.is_likely(0.6) else (None, None)
    )
    size = len(range(*slice(start, end).indices(len(x.shape))))
    return chain.node("Shape", [x], (size,), np.int64, start=start, end=end)


FORMS: Mapping[str, Any] = {
    **{name: _unary(name, "fi") for name in ("Neg", "Abs", "Sign")},
    **{
        name: _unary(name) for name in ("Sqrt", "Exp", "Log", "Reciprocal", "Sigmoid", "Tanh", "Floor", "Ceil", "Round")
    },
    **{name: _unary(name) for name in ("Softplus", "Erf", "Softsign")},
    "Relu": _unary("Relu"),
    "Not": _unary("Not", "b"),
    "BitwiseNot": _unary("BitwiseNot", "iu", 18),
    "LeakyRelu": _unary("LeakyRelu", alpha=(0.5, 0.0, 1.0, 2.0)),
    "Elu": _unary("Elu", alpha=(0.5,)),
    "HardSigmoid": _unary("HardSigmoid", alpha=(0.25,), beta=(0.0,)),
    "Identity": _unary("Identity", "fiub"),
    "IsNaN": lambda chain, x: (
        chain.node("IsNaN", [x], x.shape, np.bool_) if x.kind == "f" and chain.opset >= 13 else None
    ),
    **{name: _binary(name) for name in (*ARITHMETIC, *COMPARISONS, *LOGIC)},
    **{name: _reduction(name) for name in REDUCTIONS},
    **{name: _peak(name) for name in ("ArgMax", "ArgMin")},
    **{name: _along(name) for name in ("Softmax", "LogSoftmax", "Hardmax")},
    "CumSum": _cumulative,
    "TopK": _top,
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Flatten": _flatten,
    "Slice": _slice,
    "Gather": _gather,
    "Concat": _concat,
    "Split": _split,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "Cast": _cast,
    "Dropout": _dropout,
    "Where": _where,
    "Clip": _clip,
    "Trilu": _trilu,
    "BitShift": _shift,
    "Bitwise": _bitwise,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Sum": _of_many("Sum"),
    "Mean": _of_many("Mean"),
    "Max of many": _of_many("Max"),
    "Min of many": _of_many("Min"),
    "BatchNormalization": _batch,
    "LayerNormalization": _layer,
    "InstanceNormalization": _instance,
    "MaxPool": _pool("MaxPool"),
    "AveragePool": _pool("AveragePool"),
    "Global": _global,
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "Shape": _shape,
    "Size": lambda chain, x: chain.node("Size", [x], (), np.int64),
}
"""The forms of operators by name: functions that append a node which takes a value, or return None."""


def _line(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append operators of which each takes the result of the one before."""
    for name in names:
        found = FORMS[name](chain, x)
        if found is None:
            return None
        x = found
    return x


def join(chain: Chain, name: str, a: Value, b: Value) -> Value | None:
    """Append an operator that takes two values."""
    if name == "Concat":
        shapes = [[*value.shape] for value in (a, b)]
        if a.type != b.type or len(shapes[0]) != len(shapes[1]) or not shapes[0]:
            return None
        fitting = [
            axis
            for axis in range(len(a.shape))
            if all(one == two for at, (one, two) in enumerate(zip(*shapes, strict=True)) if at != axis)
        ]
        if not fitting:
            return None
        axis = chain.one(fitting)
        shape = [*a.shape]
        shape[axis] += b.shape[axis]
        return chain.node("Concat", [a, b], shape, axis=axis - len(shape) if chain.is_likely(0.4) else axis)
    if name == "Where":
        try:
            whole = np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            return None
        if a.type != b.type:
            return None
        return chain.node("Where", [chain.input(np.dtype(bool), chain.one([whole, ()])), a, b], whole, a.type)
    if name == "MatMul":
        if (
            a.type != b.type
            or a.kind != "f"
            or len(a.shape) < 2
            or len(b.shape) != 2
            or a.shape[-1] != b.shape[0]
            or 0 in a.shape + b.shape
        ):
            return None
        return chain.node("MatMul", [a, b], (*a.shape[:-1], b.shape[1]))
    if name in ("Div", "Mod", "Pow") and a.kind != "f":
        return None
    return binary(chain, name, a, b)


def _both(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append two producers of one kind, of one input or of two, and an operator that takes both results."""
    first, joining, *rest = names
    z = x if chain.is_likely(0.4) else chain.input(x.type, x.shape)
    one = FORMS[first](chain, x)
    two = FORMS[first](chain, z) if one is not None else None
    if one is None or two is None:
        return None
    if two.shape == one.shape and chain.is_likely(0.4):
        again = copy_of(chain.nodes[-1])  # the same attributes and operands as the first one
        model = next(node for node in chain.nodes if one.name in node.output)
        if model.op_type == again.op_type and len(model.output) == len(again.output):
            copied = copy_of(model)
            copied.input[0 if model.input[0] == x.name else -1] = z.name
            if x.name in model.input:
                copied.input[:] = [z.name if name == x.name else name for name in model.input]
                copied.output[:] = again.output
                chain.nodes[-1].CopyFrom(copied)
                two = Value(two.name, one.type, one.shape)
                chain.made[two.name] = two
    found = join(chain, joining, one, two)
    return None if found is None else _line(chain, found, rest)


def _round(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append an operator, and another one that takes its operand and its result."""
    first, joining, *rest = names
    one = FORMS[first](chain, x)
    if one is None:
        return None
    pair = (x, one) if chain.is_likely(0.5) else (one, x)
    found = join(chain, joining, *pair)
    return None if found is None else _line(chain, found, rest)


def _twice(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append an operator that takes a value twice, and one that takes its result."""
    joining, *rest = names
    found = join(chain, joining, x, x)
    return None if found is None else _line(chain, found, rest)


def _parts(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append a Split, an operator for each part or none, and a Concat or another operator of the parts."""
    parts = split(chain, x)
    if parts is None or not parts:
        return None
    axis = next(
        each.i for each in [*chain.nodes[-1].attribute, helper.make_attribute("axis", 0)] if each.name == "axis"
    )
    if names[0] != "Identity":
        results = [FORMS[names[0]](chain, part) for part in parts]
        if any(each is None for each in results):
            return None
        parts = [each for each in results if each is not None]
    order = chain.one([parts, parts, parts[::-1], parts[1:] or parts, [*parts, parts[0]]])
    other = axis if chain.is_likely(0.6) or len(x.shape) < 2 else chain.axis(x)
    place = other % len(x.shape)
    if any(len(part.shape) != len(x.shape) or part.type != order[0].type for part in order):
        return None
    if any(part.shape[at] != order[0].shape[at] for part in order for at in range(len(x.shape)) if at != place):
        return None
    shape = [*order[0].shape]
    shape[place] = sum(part.shape[place] for part in order)
    return chain.node("Concat", order, shape, axis=other)


def _sizes(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append a computation of sizes, and an operator that takes them as a shape."""
    if 0 in x.shape or not x.shape:
        return None
    whole = chain.node("Shape", [x], (len(x.shape),), np.int64)
    change, use = names
    size = int(np.prod(x.shape))
    if change == "elements":
        parts = [
            chain.node("Gather", [whole, chain.constant([place])], (1,), np.int64, axis=0)
            for place in range(len(x.shape))
        ]
        parts[-1] = chain.constant([-1]) if chain.is_likely(0.5) else parts[-1]
        if chain.is_likely(0.3):
            parts = [chain.constant([1]), *parts]
        wanted: Any = chain.node("Concat", parts, (len(parts),), np.int64, axis=0)
        sizes = [*x.shape] if len(parts) == len(x.shape) else [1, *x.shape]
    elif change == "scalars":
        parts = []
        for place in range(len(x.shape)):
            one = chain.node("Gather", [whole, chain.constant(place - chain.one([0, len(x.shape)]))], (), np.int64)
            if chain.opset < 13:
                parts.append(chain.node("Unsqueeze", [one], (1,), axes=[0]))
            else:
                parts.append(chain.node("Unsqueeze", [one, chain.constant([0])], (1,)))
        step = -1 if chain.is_likely(0.3) else 1
        wanted = chain.node("Concat", parts[::step], (len(parts),), np.int64, axis=0)
        sizes = [*x.shape][::step]
    elif change == "slice":
        start = chain.one([0, 1])
        head = chain.node("Slice", [whole, chain.constant([0]), chain.constant([start])], (start,), np.int64)
        wanted = chain.node("Concat", [head, chain.constant([-1])], (start + 1,), np.int64, axis=0)
        sizes = [*x.shape[:start], size // int(np.prod(x.shape[:start]))]
    elif change == "product":
        product = chain.node("ReduceProd", [whole], (1,), np.int64, keepdims=1)
        wanted = product
        sizes = [size]
    else:
        wanted = whole
        sizes = [*x.shape]
    if use == "Reshape":
        other = chain.input(x.type, [size]) if chain.is_likely(0.4) else x
        return chain.node("Reshape", [other, wanted], sizes, x.type)
    parts_of_sizes = [name for node in chain.nodes if node.op_type == "Concat" for name in node.input]
    has_rest = any(-1 in chain.constants[name] for name in parts_of_sizes if name in chain.constants)
    if has_rest or any(node.op_type == "Constant" for node in chain.nodes):
        return None
    if use == "Expand":
        return chain.node("Expand", [chain.input(x.type, chain.one([(), (1,), sizes[-1:]])), wanted], sizes)
    if use == "ConstantOfShape":
        return chain.node("ConstantOfShape", [wanted], sizes, np.float32)
    return _line(chain, wanted, [use])


UNDONE = ("Transpose", "Reshape", "Unsqueeze", "Cast")
"""Operators whose result another node can turn into the operand again."""


def _between(chain: Chain, x: Value, names: Sequence[str]) -> Value | None:
    """Append an operator of `UNDONE`, another one, and the inverse of the first one or the first one again."""
    first, *rest = names
    moved = FORMS[first](chain, x)
    if moved is None or moved.shape == x.shape == () or not chain.nodes[-1].input:
        return None
    node = chain.nodes[-1]
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    result = _line(chain, moved, rest)
    if result is None or chain.is_likely(0.25):
        return result if result is None else FORMS[first](chain, result)
    if first == "Cast":
        return chain.node("Cast", [result], result.shape, x.type, to=type_number(type_name(x.type)))
    if len(result.shape) != len(moved.shape) or (first != "Transpose" and result.shape != moved.shape):
        return None
    if first == "Transpose":
        perm = attributes.get("perm", [*range(len(x.shape))][::-1])
        back = [int(place) for place in np.argsort(perm)]
        return chain.node("Transpose", [result], [result.shape[place] for place in back], perm=back)
    if first == "Reshape":
        return chain.node("Reshape", [result, chain.constant([*x.shape])], x.shape)
    axes = [Value(name, np.dtype(np.int64), ()) for name in node.input[1:]]
    return chain.node("Squeeze", [result, *axes], x.shape, **attributes)


STRUCTURES: Mapping[str, Any] = {
    "line": _line,
    "between": _between,
    "both": _both,
    "round": _round,
    "twice": _twice,
    "parts": _parts,
    "sizes": _sizes,
}
"""The structures of chains: functions that append operators to a chain which has one value."""

MOVES = (
    "Transpose",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Slice",
    "Gather",
    "Concat",
    "Split",
    "Expand",
    "Tile",
    "Pad",
    "Cast",
    "Identity",
    "Dropout",
    "Where",
    "Trilu",
)
ELEMENTWISE = (
    "Neg",
    "Abs",
    "Sign",
    "Sqrt",
    "Exp",
    "Log",
    "Reciprocal",
    "Sigmoid",
    "Tanh",
    "Floor",
    "Ceil",
    "Round",
    "Relu",
    "LeakyRelu",
    "Elu",
    "Identity",
    "Cast",
    "Clip",
    "Not",
    "IsNaN",
    "BitwiseNot",
)
WITH_OPERAND = (*ARITHMETIC, *COMPARISONS, *LOGIC, "BitShift", "Bitwise", "Where")
ALONG = (*REDUCTIONS, "ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax", "CumSum", "TopK")
LINEAR = (
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "BatchNormalization",
    "LayerNormalization",
    "InstanceNormalization",
    "MaxPool",
    "AveragePool",
    "Global",
)
QUANTIZED = ("QuantizeLinear", "DequantizeLinear")
OF_MANY = ("Sum", "Mean", "Max of many", "Min of many")
JOINING = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Concat", "Where", "MatMul", "Equal", "Less", "And", "Or", "Pow")
USUALLY_JOINING = ("Add", "Sub", "Mul", "Div", "Max", "Concat")

PLANS: Sequence[tuple[int, str, Sequence[Sequence[str]]]] = (
    (1, "line", (MOVES, MOVES)),
    *((8, "line", ((name,), (name,))) for name in MOVES),
    (1, "line", (ARITHMETIC, ARITHMETIC)),
    (10, "line", (("Add", "Sub", "Mul", "Div"), ("Add", "Sub", "Mul", "Div"))),
    *((20, "line", ((name,), (name,))) for name in ("Max", "Min", "Pow", "Mod", "Clip", "Where", "And", "Or", "Cast")),
    (4, "line", (OF_MANY, OF_MANY)),
    (2, "line", ((*MOVES, "Add", "Mul", "Relu"), OF_MANY)),
    (1, "line", (ELEMENTWISE, ELEMENTWISE)),
    (1, "line", (WITH_OPERAND, ELEMENTWISE)),
    (1, "line", (ELEMENTWISE, WITH_OPERAND)),
    (1, "line", (WITH_OPERAND, (*COMPARISONS, *LOGIC, "Bitwise", "BitShift", "Where"))),
    (1, "line", (ALONG, ALONG)),
    *((8, "line", ((name,), (name,))) for name in ALONG),
    (1, "line", (ALONG, (*MOVES, "Exp", "Log", "Sqrt", "Neg", "Mul", "Div", "Relu"))),
    (1, "line", ((*MOVES, "Exp", "Log", "Neg", "Abs", "Relu", "Mul", "Add", "Softmax"), ALONG)),
    (1, "line", (MOVES, ELEMENTWISE)),
    (1, "line", (ELEMENTWISE, MOVES)),
    (2, "line", (MOVES, ARITHMETIC)),
    (2, "line", (ARITHMETIC, MOVES)),
    (5, "line", (LINEAR, ("Add", "Mul", "Sub", "Div", "Relu", "Clip", "BatchNormalization"))),
    (3, "line", (("Add", "Mul", "Sub", "Div", "Pad", "Transpose", "BatchNormalization", "Relu", "Clip"), LINEAR)),
    (1, "line", ((*MOVES, *ARITHMETIC, *ALONG, *LINEAR), ("Shape", "Size"))),
    (4, "line", (("Global",), ("Flatten", "Squeeze", "Reshape", "ReduceMean", "Transpose", "Mul"))),
    (2, "line", (LINEAR, LINEAR)),
    (1, "line", (LINEAR, MOVES)),
    (1, "line", (MOVES, LINEAR)),
    (3, "line", (QUANTIZED, (*QUANTIZED, *MOVES, "Relu", "Clip", "MaxPool", "Add"))),
    (3, "line", ((*MOVES, "Relu", "Clip", "Mul"), QUANTIZED)),
    (8, "line", (QUANTIZED, QUANTIZED, QUANTIZED)),
    (3, "line", ((*MOVES, *ELEMENTWISE, *WITH_OPERAND, *ALONG, *LINEAR),)),
    (1, "both", ((*MOVES, *QUANTIZED), JOINING)),
    (16, "both", (("Cast",), ("Add", "Mul", "Concat", "Max", "Equal"))),
    (1, "both", ((*ELEMENTWISE, *ARITHMETIC, *ALONG), USUALLY_JOINING)),
    (16, "both", (("Mul", "MatMul", "Div"), ("Add", "Sub"))),
    (10, "line", (("Add", "Mul", "Sub", "BatchNormalization", "Pad"), ("Conv",))),
    (10, "line", (("Pad",), ("MaxPool", "AveragePool"))),
    (4, "line", (("Relu", "Clip", "Abs", "Neg", "Transpose"), ("MaxPool", "TopK"))),
    (6, "both", (("MatMul", "Gemm", "Conv"), ("Add", "Concat", "Sub", "Mul"))),
    (1, "round", ((*ELEMENTWISE, *ARITHMETIC, *MOVES, *ALONG), USUALLY_JOINING)),
    (1, "twice", (JOINING, (*ELEMENTWISE, *ARITHMETIC))),
    (16, "twice", (("Mul", "Add", "Sub", "Div"), ("Abs", "Sqrt", "Relu", "Neg"))),
    (4, "twice", (JOINING,)),
    (40, "parts", (("Identity",),)),
    (2, "parts", ((*ELEMENTWISE, *ARITHMETIC, *MOVES, "Softmax"),)),
    (1, "between", (UNDONE, (*MOVES, *ELEMENTWISE, *WITH_OPERAND, *ALONG, *LINEAR))),
    (
        8,
        "sizes",
        (
            ("elements", "scalars", "slice", "product", "whole"),
            ("Reshape", "Expand", "ConstantOfShape", "Gather", "Cast", "Mul"),
        ),
    ),
)
"""For each structure: the number of chains of each combination, and the operators at each of its places."""

BEFORE_SHARE = 0.3
"""Probability that a node makes the first value of a chain, which is else an input of the graph."""

AFTER_SHARE = 0.6
"""Probability that a node takes the last value of a chain, which is else an output of the graph."""

OUTPUT_SHARE = 0.08
"""Probability that a value between two nodes is an output of the graph too."""

READER_SHARE = 0.1
"""Probability that a value between two nodes has another reader, and the same for a branch that reads it."""

ATTEMPTS = 12
"""Number of draws of a chain until its operators fit each other."""

CHAINS_IN_MODEL = 28
"""Number of chains of a model, which have no value in common except for constants."""


def chains() -> Iterator[Chain]:
    """Yield the chains of all plans that a draw can make."""
    number = 0
    for count, structure, places in PLANS:
        for names in product(*places):
            for turn in range(count):
                number += 1
                chance = random.Random(f"{structure}/{names}/{turn}")  # noqa: S311 - nothing is to be kept secret
                chain = grow(structure, names, OPSETS[number % len(OPSETS)], chance)
                if chain is not None:
                    yield chain


def around(chain: Chain, x: Value) -> Value:
    """Append an operator that keeps the type and the shape: an optimizer can rewrite what is not at the border."""
    options = {"b": ("Not",), "f": ("Neg", "Abs", "Relu", "Abs", "Neg"), "i": ("Neg", "Abs")}
    if x.kind == "u":
        return chain.node("Max", [x, chain.constant(3, x.type)], x.shape) if chain.opset >= 13 else x
    name = chain.one(options[x.kind])
    return chain.node(name, [x], x.shape)


def grow(structure: str, names: Sequence[str], opset: int, chance: random.Random) -> Chain | None:
    """Return a chain; None if its operators fit each other in no draw."""
    for _ in range(ATTEMPTS):
        chain = Chain(chance, opset)
        type = np.dtype(chance.choice(TYPES))
        x = chain.input(type, chance.choice(SHAPES))
        if chain.is_likely(BEFORE_SHARE):
            x = around(chain, x)
        last = STRUCTURES[structure](chain, x, names)
        if last is not None:
            if chain.is_likely(AFTER_SHARE):
                around(chain, last)
            read = {name for node in chain.nodes for name in node.input}
            inner = [value for value in chain.made.values() if value.name in read]
            if inner and chain.is_likely(READER_SHARE):
                around(chain, chain.one(inner))
            elif inner and chain.is_likely(READER_SHARE):
                capture(chain, chain.one(inner))
            chain.outputs = [name for name in chain.made if name not in read or chain.is_likely(OUTPUT_SHARE)]
            return chain
    return None


def capture(chain: Chain, value: Value) -> None:
    """Append an If whose condition is an input, and whose branches read a value of the chain."""
    condition = chain.input(np.dtype(bool), ())
    branches = {}
    for word in ("then", "else"):
        copy = helper.make_node("Identity", [value.name], [f"{value.name}_{word}"])
        type = type_number(type_name(value.type))
        declared = helper.make_tensor_value_info(copy.output[0], type, value.shape)
        branches[f"{word}_branch"] = helper.make_graph([copy], word, [], [declared])
    chain.node("If", [condition], value.shape, value.type, **branches)


def joined(chains: Sequence[Chain], chance: random.Random) -> tuple[onnx.ModelProto, Sequence[Array]]:
    """Return a model with chains side by side, and its inputs. Part of the equal operands is shared."""
    nodes: list[onnx.NodeProto] = []
    inputs: dict[str, Array] = {}
    constants: dict[str, Array] = {}
    outputs: list[onnx.ValueInfoProto] = []
    shared: dict[Any, str] = {}
    for number, chain in enumerate(chains):
        used = {name for node in chain.nodes for name in node.input if name}
        names = {"": ""}
        suffixed = f"{{}}_{number}".format
        for name, array in chain.constants.items():
            if name in used:
                key = "constant", array.dtype, array.shape, array.tobytes()
                names[name] = shared[key] if key in shared and chance.random() < 0.4 else f"{name}_{number}"
                shared[key] = names[name]
                constants[names[name]] = array
        for name, array in chain.inputs.items():
            if name in used:
                key = "input", array.dtype, array.shape, array.tobytes()
                names[name] = shared[key] if key in shared and chance.random() < 0.7 else f"{name}_{number}"
                shared[key] = names[name]
                inputs[names[name]] = array
        for node in chain.nodes:
            if node.op_type != "Constant" or node.output[0] in used:
                copy = copy_of(node)
                names |= {name: suffixed(name) for name in node.output}
                Renamer(suffixed).rename_nodes([copy], names, suffixed)
                nodes.append(copy)
        for name in chain.outputs:
            value = chain.made[name]
            outputs.append(helper.make_tensor_value_info(names[name], type_number(type_name(value.type)), value.shape))
    graph = helper.make_graph(
        nodes,
        "chains",
        [array_value_info(name, array) for name, array in inputs.items()],
        outputs,
        [tensor_of(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", chains[0].opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
    return model, [*inputs.values()]


def chain_cases(chains: Iterable[Chain]) -> Iterator[Case]:
    """Yield models of the chains that have answers."""
    waiting: dict[int, list[Chain]] = {}
    for chain in chains:
        waiting.setdefault(chain.opset, []).append(chain)
    number = 0
    for opset, group in sorted(waiting.items()):
        random.Random(opset).shuffle(group)  # noqa: S311 - nothing is to be kept secret
        for start in range(0, len(group), CHAINS_IN_MODEL):
            made = _case(group[start : start + CHAINS_IN_MODEL], number + 1)
            if made is not None:
                number += 1
                yield made


def _case(chains: Sequence[Chain], number: int) -> Case | None:
    """Return a case of chains, without those that have no answer; None if none is left."""
    answered = [(chain, answers) for chain in chains if (answers := _answers(chain))]
    if not answered:
        return None
    kept = [chain for chain, _ in answered]
    model, arrays = joined(kept, random.Random(number))  # noqa: S311 - nothing is to be kept secret
    inputs = {value.name: array for value, array in zip(model.graph.input, arrays, strict=True)}
    more = SURROUNDINGS[number % len(SURROUNDINGS)](model, inputs)
    names = [" ".join(node.op_type for node in chain.nodes if node.op_type != "Constant") for chain in kept]
    return Case(
        f"test_pattern_chains_{number:03}_opset_{kept[0].opset}",
        f"Chains side by side: {', '.join(names)}",
        Level.MUST,
        ("monotone.valid", "monotone.interface"),
        ("pattern", "pass", "chains", f"opset_{kept[0].opset}"),
        model.SerializeToString(deterministic=True),
        (tuple(inputs.values()),),
        kind=CaseKind.PASS,
        rewrite=Rewrite(PassEffect.OPTIONAL),
        answers=((*all_of.from_iterable(answers for _, answers in answered), *more),),
    )


def _answers(chain: Chain) -> Sequence[Any] | None:
    """Return the answers of a chain; None if the reference has none, or if one admits every value."""
    model, inputs = joined([chain], chain.chance)
    try:
        answers = enclosed_answers(model, inputs)
    except (Unsupported, ValueError, IndexError, KeyError, AssertionError):
        return None
    declared = [chain.made[name].shape for name in chain.outputs]
    is_declared = [each.expected.shape for each in answers] == declared  # inference of some old forms is wrong
    return None if not is_declared or any(is_unbounded(each) for each in answers) else answers
