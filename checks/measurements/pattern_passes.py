"""Passes written by hand for the patterns of `generate --passes`, and their mutants: each forgets one condition.

python -m checks.measurements.pattern_passes FOLDER
python -m checks.measurements.pattern_passes --search COUNT

FOLDER has the corpus of `generate --passes`. With `--search`, the first COUNT examples of `search -o` take its place,
which has patterns in random surroundings. A pass is a rule: a node, or a node and the producer of an operand, the
conditions for the rewrite, and the rewrite. The script prints the mutants that no case detects and the correct passes
that fail a case, and exits with 1 if there is a correct pass that fails, or if fewer than 97 % of the mutants are
detected.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from checks.mutation.search_score import optimizer_examples
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.models.arrays import array_of, dtype_of, tensor_of
from conformance.exact.models.graphs import MAIN_DOMAINS, Scope, copy_of, count_captures, infer_shapes
from conformance.run.judging.optimizer import judge_rewrite
from conformance.run.judging.optimizer_run import OptimizerTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

LEAST_DETECTED = 0.97
"""Share of the mutants that the corpus must detect."""

UNDETECTED = (Verdict.PASS, Verdict.SKIPPED)
"""Verdicts that show no mistake: the rewrite is right, or its outputs cannot be judged."""


class UnknownRankError(ValueError):
    """The number of axes of a value is unknown."""


UNFIT = (TypeError, ValueError, IndexError, AttributeError, AssertionError)
"""Errors of a condition that has no meaning for a node, so that no rule matches the node."""


@dataclass
class Site:
    """A node, and for rules of two nodes the producer of one of its operands.

    Attributes:
        model: the model, which the rewrite changes.
        last: the node whose results the rewrite keeps.
        first: the producer of the operand; None for rules of one node.
        place: the place of the operand.
    """

    model: onnx.ModelProto
    last: onnx.NodeProto
    first: Any = None
    place: int = 0

    @cached_property
    def graph(self) -> onnx.GraphProto:
        """The main graph."""
        return self.model.graph

    @property
    def key(self) -> tuple[str, int]:
        """The first result of the last node, and the place of the operand."""
        return self.last.output[0], self.place

    @property
    def between(self) -> str:
        """The value between both nodes."""
        return self.last.input[self.place]

    @property
    def nodes(self) -> list[onnx.NodeProto]:
        """Both nodes, or the one node."""
        return [node for node in (self.first, self.last) if node is not None]

    @cached_property
    def fed(self) -> set[str]:
        """The names of the inputs."""
        return {value.name for value in self.graph.input}

    @cached_property
    def types(self) -> dict[str, Any]:
        """The types of values by name, as far as they are declared or inferred."""
        fixed = copy_of(self.model)  # a caller can replace the initializer of an input
        for tensor in [tensor for tensor in fixed.graph.initializer if tensor.name in self.fed]:
            fixed.graph.initializer.remove(tensor)
        inferred = infer_shapes(fixed, data_prop=True).graph
        found = {
            value.name: value.type.tensor_type for value in (*inferred.value_info, *inferred.input, *inferred.output)
        }
        for tensor in self.graph.initializer:
            if tensor.name not in self.fed:
                found[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims).tensor_type
        return found

    def shape(self, name: str) -> Any:
        """Return the sizes of a value; None if they are not all fixed."""
        if name not in self.types or not self.types[name].HasField("shape"):
            return None
        sizes = [size.dim_value if size.HasField("dim_value") else None for size in self.types[name].shape.dim]
        return None if None in sizes else tuple(sizes)

    def rank(self, name: str) -> int:
        """Return the number of axes of a value.

        Raises:
            UnknownRankError: it is unknown, so that no rule matches.
        """
        if name not in self.types or not self.types[name].HasField("shape"):
            raise UnknownRankError
        return len(self.types[name].shape.dim)

    def constant(self, name: str) -> Any:
        """Return the elements of an initializer or Constant, also of an initializer that is an input; else None."""
        for tensor in self.graph.initializer:
            if tensor.name == name:
                return array_of(tensor)
        for node in self.graph.node:
            if node.op_type == "Constant" and name in node.output and node.attribute[0].name == "value":
                return array_of(node.attribute[0].t)
        return None

    def has_operand(self, node: onnx.NodeProto, place: int) -> bool:
        """Return whether an operand is given."""
        return len(node.input) > place and node.input[place] != ""

    def operand(self, node: onnx.NodeProto, place: int) -> Any:
        """Return the elements of an operand that is constant; else None."""
        return self.constant(node.input[place]) if self.has_operand(node, place) else None

    def uses(self, name: str) -> int:
        """Return how often nodes of the graph read a value."""
        return sum(list(node.input).count(name) for node in self.graph.node)

    def is_unused(self, name: str) -> bool:
        """Return whether no node of the graph reads a value, which is no output either."""
        return not self.uses(name) and name not in {value.name for value in self.graph.output}

    def is_read_once(self, name: str) -> bool:
        """Return whether one node of the graph reads a value, and nothing else does."""
        is_output = name in {value.name for value in self.graph.output}
        return self.uses(name) == 1 and not is_output and not count_captures(self.graph)[name]

    def add_constant(self, array: Array) -> str:
        """Add an initializer, and return its name."""
        name = f"added_{len(self.graph.initializer)}"
        self.graph.initializer.append(tensor_of(np.asarray(array, order="C"), name))
        return name

    def make(self, op_type: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> None:
        """Replace the last node by a node with the same results."""
        node = helper.make_node(op_type, inputs, list(self.last.output)[:1], domain=domain, **attributes)
        self.last.CopyFrom(node)
        if domain and domain not in {entry.domain for entry in self.model.opset_import}:
            self.model.opset_import.add(domain=domain, version=1)


def attribute(node: onnx.NodeProto, name: str, default: Any = None) -> Any:
    """Return the value of an attribute, or its default."""
    return next((helper.get_attribute_value(each) for each in node.attribute if each.name == name), default)


COMMON: dict[str, Any] = {
    "only_use": lambda s: s.first is None or s.uses(s.between) == 1,
    "not_output": lambda s: s.first is None or s.between not in {value.name for value in s.graph.output},
    "not_captured": lambda s: s.first is None or not count_captures(s.graph)[s.between],
    "main_domain": lambda s: all(node.domain in MAIN_DOMAINS for node in s.nodes),
}
"""Conditions of all rules."""

FIXED: dict[str, Any] = {
    "fixed": lambda s: (
        not any(name in s.fed and s.constant(name) is not None for node in s.nodes for name in node.input)
    )
}
"""The condition that no caller can replace a constant."""


@dataclass(frozen=True)
class Rule:
    """A pass.

    Attributes:
        name: its name.
        last: the operators of the last node.
        first: the operators of the producer; empty for rules of one node.
        conditions: the conditions, besides `COMMON`, by name.
        rewrite: changes the last node of a site; the producer is removed afterwards.
        places: the operands that the producer may make.
    """

    name: str
    last: tuple[str, ...]
    first: tuple[str, ...]
    conditions: Mapping[str, Callable[[Site], bool]]
    rewrite: Callable[[Site], None]
    places: tuple[int, ...] = (0,)

    @property
    def every_condition(self) -> dict[str, Callable[[Site], bool]]:
        """The conditions, each of which a mutant forgets. A condition before another one guards it."""
        common = COMMON if self.first else {"main_domain": COMMON["main_domain"]}
        return {**common, **self.conditions}

    def optimize(self, model: onnx.ModelProto, forgotten: str = "") -> onnx.ModelProto:
        """Return a copy of a model after the rewrites of all its sites in turn, without one of the conditions."""
        after = copy_of(model)
        seen: set[tuple[str, int]] = set()
        while (site := next((site for site in self._sites(after) if site.key not in seen), None)) is not None:
            seen.add(site.key)
            conditions = (holds for name, holds in self.every_condition.items() if name != forgotten)
            try:
                if not all(holds(site) for holds in conditions):
                    continue
            except UNFIT:
                continue
            before = copy_of(after)
            try:
                self.rewrite(site)
            except UNFIT:
                if not forgotten:
                    raise
                after = before  # without its guard, the rewrite has no meaning
                continue
            if site.first is not None:
                after.graph.node.remove(site.first)
                _forget(after.graph, site.first.output)
        return after

    def _sites(self, model: onnx.ModelProto) -> Iterator[Site]:
        scope = Scope(model, model.graph)
        for node in model.graph.node:
            if node.op_type not in self.last:
                continue
            if not self.first:
                yield Site(model, node)
            for place in self.places if self.first else ():
                producer = scope.producer(node.input[place]) if len(node.input) > place else None
                if producer is not None and producer.op_type in self.first:
                    yield Site(model, node, producer, place)


def _forget(graph: onnx.GraphProto, names: Sequence[str]) -> None:
    """Remove the declarations of removed values."""
    for value in [value for value in graph.value_info if value.name in names]:
        graph.value_info.remove(value)


def _inverse(s: Site) -> bool:
    rank = s.rank(s.first.input[0])
    default = list(range(rank))[::-1]
    one, two = (attribute(node, "perm", default) for node in s.nodes)
    return [one[place] for place in two] == list(range(rank))


def _axes(s: Site, node: onnx.NodeProto, rank: int) -> list[int] | None:
    given = attribute(node, "axes")
    axes = given if given is not None else s.operand(node, 1)
    return None if axes is None else sorted(int(axis) % rank for axis in axes)


def _same_axes(s: Site) -> bool:
    rank = s.rank(s.between)
    one, two = (_axes(s, node, rank) for node in s.nodes)
    return one is not None and one == two


LOSSLESS = {(1, 11), (10, 1), (10, 11), (6, 7), (6, 11), (1, 1), (7, 7)}
"""Pairs of types of which the second holds all values of the first."""


def _lossless(s: Site) -> bool:
    source = s.types[s.first.input[0]].elem_type
    return (source, attribute(s.first, "to")) in LOSSLESS


def _identity_of_first(s: Site) -> None:
    s.make("Identity", [s.first.input[0]])


def _skip_first(s: Site) -> None:
    s.last.input[s.place] = s.first.input[0]


def _other(s: Site) -> str:
    return s.last.input[1 - s.place]


def _fits_gemm(s: Site) -> bool:
    bias = s.shape(_other(s))
    result = s.shape(s.between)
    if bias is None or result is None or len(bias) > 2:
        return False
    padded = (1,) * (2 - len(bias)) + bias
    return all(size in (1, whole) for size, whole in zip(padded, result[-2:], strict=True))


def _rank_2(s: Site) -> bool:
    return all(s.rank(name) == 2 for name in s.first.input)


def _per_channel(s: Site) -> bool:
    addend = s.constant(_other(s))
    channels, *rest = s.shape(s.first.input[1])
    shape = (channels, *[1] * (len(rest) - 1))
    return addend is not None and addend.shape in (shape, (1, *shape))


def _add_bias(s: Site) -> None:
    bias = s.add_constant(s.constant(_other(s)).reshape(-1))
    given = {each.name: helper.get_attribute_value(each) for each in s.first.attribute}
    s.make("Conv", [*s.first.input[:2], bias], **given)


def _are_known(s: Site, names: Sequence[str]) -> bool:
    return all(s.constant(name) is not None for name in names)


def _fold_normalization(s: Site) -> None:
    scale, shift, mean, variance = (s.operand(s.last, place).astype(np.float64) for place in range(1, 5))
    weights = s.operand(s.first, 1)
    bias = s.operand(s.first, 2)
    factor = scale / np.sqrt(variance + attribute(s.last, "epsilon", float(np.float32(1e-5))))
    folded = weights * factor.reshape(-1, *[1] * (weights.ndim - 1))
    shifted = ((0 if bias is None else bias) - mean) * factor + shift
    given = {each.name: helper.get_attribute_value(each) for each in s.first.attribute}
    names = [s.add_constant(each.astype(weights.dtype)) for each in (folded, shifted)]
    s.make("Conv", [s.first.input[0], *names], **given)


def _has_one(s: Site, node: onnx.NodeProto, place: int) -> bool:
    """Return whether an operand is a constant of one element."""
    elements = s.operand(node, place)
    return elements is not None and elements.size == 1


def _merge_slices(s: Site) -> None:
    starts, ends, axes, steps = ([s.operand(node, place) for node in s.nodes] for place in range(1, 5))
    steps = [np.ones_like(start) if step is None else step for start, step in zip(starts, steps, strict=True)]
    parts = (starts, ends, axes, steps)
    s.make("Slice", [s.first.input[0], *(s.add_constant(np.concatenate(each)) for each in parts)])


def _slice_axis(s: Site, node: onnx.NodeProto) -> int:
    return int(s.operand(node, 3)[0]) % s.rank(s.between)


def _merge_concats(s: Site) -> None:
    operands = list(s.last.input)
    operands[s.place : s.place + 1] = s.first.input
    s.make("Concat", operands, axis=attribute(s.last, "axis"))


def _concat_axes(s: Site) -> bool:
    rank = s.rank(s.between)
    one, two = (attribute(node, "axis") % rank for node in s.nodes)
    return one == two


def _merge_pads(s: Site) -> None:
    total = s.operand(s.first, 1) + s.operand(s.last, 1)
    s.make("Pad", [s.first.input[0], s.add_constant(total), s.first.input[2]], mode=attribute(s.first, "mode"))


def _is_zero_padding(s: Site) -> bool:
    value = s.operand(s.first, 2)
    return not s.has_operand(s.first, 2) if value is None else value.item() == 0


def _pads_of_space(s: Site) -> bool:
    pads = s.operand(s.first, 1).reshape(2, -1)
    return not pads[:, :2].any() and not s.has_operand(s.first, 3)


def _pad_conv(s: Site) -> None:
    pads = s.operand(s.first, 1).reshape(2, -1)[:, 2:].reshape(-1)
    given = {each.name: helper.get_attribute_value(each) for each in s.last.attribute}
    given["pads"] = [int(a + b) for a, b in zip(given.get("pads", [0] * len(pads)), pads, strict=True)]
    s.make("Conv", [s.first.input[0], *s.last.input[1:]], **given)


def _fold_node(s: Site) -> None:
    names = list(s.last.input)
    if any(s.constant(name) is None for name in names):
        raise ValueError("an operand is not constant")
    graph = helper.make_graph(
        [s.last],
        "folded",
        [helper.make_tensor_value_info(name, s.types[name].elem_type, None) for name in dict.fromkeys(names)],
        [helper.make_empty_tensor_value_info(s.last.output[0])],
    )
    model = helper.make_model(graph, opset_imports=s.model.opset_import, ir_version=8)
    with np.errstate(all="ignore"):
        (value,) = ReferenceEvaluator(model).run(None, {name: s.constant(name) for name in names})
    s.make("Constant", [], value=tensor_of(np.asarray(value), ""))


def _is_number(s: Site, number: float) -> bool:
    value = s.operand(s.last, 1)
    return value is not None and value.size > 0 and bool(np.all(value == number))


def _keeps_shape(s: Site) -> bool:
    return s.shape(s.last.input[0]) == s.shape(s.last.output[0])


def _power_of_two(s: Site) -> bool:
    value = s.operand(s.last, 1)
    return value is not None and bool(np.all(np.frexp(value)[0] == 0.5))


def _reciprocal(s: Site) -> Array:
    value = s.operand(s.last, 1)
    with np.errstate(all="ignore"):
        return np.asarray(1 / value).astype(value.dtype)


def _has_reciprocal(s: Site) -> bool:
    value = _reciprocal(s)
    return bool(np.all(np.isfinite(value) & (np.abs(value) >= np.finfo(value.dtype).tiny)))


def _by_reciprocal(s: Site) -> None:
    s.make("Mul", [s.last.input[0], s.add_constant(_reciprocal(s))])


def _keeps_zeros(s: Site) -> bool:
    has_sign = np.signbit(s.operand(s.last, 1))
    return _is_integer(s) or bool(np.all(has_sign if s.last.op_type == "Add" else ~has_sign))


def _same_quantized_axis(s: Site) -> bool:
    """Return whether both nodes have one scale, or scales along the same axis."""
    if not s.rank(s.last.input[1]):
        return True
    axes = {attribute(node, "axis", 1) % s.rank(s.last.output[0]) for node in (s.first, s.last)}
    return len(axes) == 1 and attribute(s.first, "block_size", 0) == attribute(s.last, "block_size", 0)


def _same_parameter(place: int) -> Callable[[Site], bool]:
    def holds(s: Site) -> bool:
        one, two = (s.operand(node, place) for node in s.nodes)
        return one is not None and two is not None and one.shape == two.shape and bool(np.all(one == two))

    return holds


def _reduced_axes(s: Site) -> list[int]:
    given = attribute(s.first, "axes", None)
    axis = attribute(s.first, "axis", None)
    axes = given if given is not None else [axis] if axis is not None else list(s.operand(s.first, 1))
    return [int(each) % s.rank(s.first.input[0]) for each in axes]


def _keep_dimension(s: Site) -> None:
    given = {each.name: helper.get_attribute_value(each) for each in s.first.attribute} | {"keepdims": 1}
    s.make(s.first.op_type, s.first.input, **given)


def _toggle_transpose(s: Site) -> None:
    given = {each.name: helper.get_attribute_value(each) for each in s.last.attribute}
    name = "transA" if s.place == 0 else "transB"
    operands = list(s.last.input)
    operands[s.place] = s.first.input[0]
    s.make("Gemm", operands, **{**given, name: 1 - given.get(name, 0)})


def _all_indices(s: Site) -> bool:
    indices = s.operand(s.last, 1)
    shape = s.shape(s.last.input[0])
    axis = attribute(s.last, "axis", 0)
    return indices is not None and shape is not None and [*indices.reshape(-1)] == [*range(shape[axis])]


def _to_constant_shape(s: Site) -> None:
    sizes = [size.dim_value if size.HasField("dim_value") else 1 for size in s.types[s.last.input[0]].shape.dim]
    s.make("Constant", [], value=tensor_of(np.array(sizes, np.int64), ""))


def _other_has_shape(s: Site) -> bool:
    return s.shape(_other(s)) is not None and s.shape(_other(s)) == s.shape(s.between)


def _trains(s: Site) -> bool:
    if len(s.last.input) < 3 or not s.last.input[2]:
        return False
    given = s.operand(s.last, 2)
    return given is None or bool(given)


def _gelu_parts(s: Site) -> Any:
    """Return the nodes of Mul(Mul(X, Add(Erf(Div(X, root)), one)), half); None if it is another form."""
    scope = Scope(s.model, s.graph)
    found = {"half": s.last}
    for name, above, op_type, place in (
        ("product", "half", "Mul", 0),
        ("sum", "product", "Add", 1),
        ("erf", "sum", "Erf", 0),
        ("quotient", "erf", "Div", 0),
    ):
        node = scope.producer(found[above].input[place])
        if node is None or node.op_type != op_type:
            return None
        found[name] = node
    return found


def _gelu_number(part: str, number: float, places: float = 1e-6) -> Callable[[Site], bool]:
    def holds(s: Site) -> bool:
        value = s.operand(_gelu_parts(s)[part], 1)
        if value is None or value.size != 1:
            return False
        return bool(abs(value.item() - number) <= min(places, 4 * np.finfo(value.dtype).eps) * number)

    return holds


def _gelu_keeps_rank(s: Site) -> bool:
    parts = _gelu_parts(s)
    operands = (s.operand(parts[name], 1) for name in ("half", "sum", "quotient"))
    return all(value.ndim <= s.rank(parts["product"].input[0]) for value in operands)


def _equation(s: Site) -> tuple[list[str], str]:
    """Return the letters of the operands of an Einsum, and those of its result."""
    left, arrow, right = attribute(s.last, "equation").decode().replace(" ", "").partition("->")
    letters = left.replace(",", "")
    implied = "".join(sorted(letter for letter in letters if letters.count(letter) == 1))
    return left.split(","), right if arrow else implied


def _is_product(s: Site) -> bool:
    operands, _ = _equation(s)
    return len(operands) == 2 and [len(each) for each in operands] == [2, 2] and operands[0][1] == operands[1][0]


def _has_order_of_product(s: Site) -> bool:
    operands, result = _equation(s)
    return result == operands[0][0] + operands[1][1]


def _compare_integers(s: Site) -> None:
    with np.errstate(invalid="ignore"):  # without its condition, the rule converts NaN
        number = s.constant(_other(s)).astype(dtype_of(s.types[s.first.input[0]].elem_type))
    operands = [s.first.input[0], s.add_constant(number)]
    s.make(s.last.op_type, operands if s.place == 0 else operands[::-1])


def _is_whole(s: Site) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.all(np.floor(s.constant(_other(s))) == s.constant(_other(s))))


def _is_in_range(s: Site) -> bool:
    limits = np.iinfo(dtype_of(s.types[s.first.input[0]].elem_type))
    number = s.constant(_other(s))
    return bool(np.all((number >= limits.min) & (number <= limits.max)))


def _holds_type(s: Site) -> bool:
    source = s.types[s.first.input[0]].elem_type
    return source in WHOLE_IN and attribute(s.first, "to") in WHOLE_IN[source]


WHOLE_IN = {2: (1, 11), 3: (1, 11), 4: (1, 11), 5: (1, 11), 6: (11,), 12: (11,)}
"""For types of integers, the types of floats that hold all of them."""


def _merge_unsqueezes(s: Site) -> None:
    rank = s.rank(s.first.input[0])
    first, last = (s.operand(node, 1) for node in s.nodes)
    total = rank + len(first) + len(last)
    own = [int(axis) % total for axis in last]
    places = [place for place in range(total) if place not in own]
    axes = sorted([*own, *(places[int(axis) % (rank + len(first))] for axis in first)])
    s.make("Unsqueeze", [s.first.input[0], s.add_constant(np.array(axes, np.int64))])


def _to_clip(s: Site) -> None:
    s.make("Clip", [s.first.input[0], s.last.input[1], s.first.input[1]])


def _limits(s: Site) -> list[Any]:
    return [s.operand(node, 1) for node in s.nodes]


def _has_few_bits(s: Site) -> bool:
    return bool(sum(int(each) for each in _limits(s)) < 8)


def _merge_shifts(s: Site) -> None:
    amount = np.asarray(sum(_limits(s)), _limits(s)[0].dtype)
    s.make("BitShift", [s.first.input[0], s.add_constant(amount)], direction=attribute(s.last, "direction"))


NOT_NEGATIVE = ("Relu", "Sigmoid", "Exp", "Abs", "Softplus", "HardSigmoid", "Sqrt", "Softmax", "ReduceL1")


def _to_maximum(s: Site) -> None:
    s.make("ReduceMax", [s.last.input[0]], axes=[attribute(s.last, "axis", -1)], keepdims=1)


def _to_cast(s: Site) -> None:
    s.make("Cast", [s.last.input[0]], to=s.types[s.last.output[0]].elem_type)


def _is_constant_number(place: int, number: float) -> Callable[[Site], bool]:
    def holds(s: Site) -> bool:
        value = s.operand(s.last, place)
        return value is not None and value.dtype.kind == "f" and bool(np.all(value == number))

    return holds


def _gelu_uses(s: Site) -> bool:
    parts = _gelu_parts(s)
    return all(s.is_read_once(parts[name].output[0]) for name in ("product", "sum", "erf", "quotient"))


def _fuse_gelu(s: Site) -> None:
    parts = _gelu_parts(s)
    operand = parts["product"].input[0]
    for name in ("product", "sum", "erf", "quotient"):
        s.graph.node.remove(parts[name])
    s.make("Gelu", [operand], "com.microsoft")


def _keep_first(s: Site) -> None:
    """Make the results of the last node by the first one, with all its attributes, also empty ones."""
    s.make(s.first.op_type, s.first.input)
    s.last.attribute.extend(s.first.attribute)


def _is_integer(s: Site) -> bool:
    return dtype_of(s.types[s.last.input[0]].elem_type).kind in "iu"


def _to_zeros(s: Site) -> None:
    sizes = s.add_constant(np.array(s.shape(s.last.output[0]), np.int64))
    zero = np.zeros((), dtype_of(s.types[s.last.input[0]].elem_type))
    s.make("Expand", [s.add_constant(zero), sizes])


def _no_trips(s: Site) -> bool:
    trips = s.operand(s.last, 0)
    first = s.operand(s.last, 1)
    return (trips is not None and trips.item() <= 0) or (first is not None and not first.item())


def _initial_values(s: Site) -> None:
    outputs = list(s.last.output)
    nodes = [
        helper.make_node("Identity", [given], [name]) for given, name in zip(s.last.input[2:], outputs, strict=True)
    ]
    place = list(s.graph.node).index(s.last)
    rest = [copy_of(node) for node in s.graph.node]
    del s.graph.node[:]
    s.graph.node.extend([*rest[:place], *nodes, *rest[place + 1 :]])


def _second_shape(s: Site) -> Any:
    return s.operand(s.last, 1)


def _same_type(s: Site) -> bool:
    zero = s.operand(s.last, 2)
    source = s.types[s.first.input[0]].elem_type
    return zero is not None and helper.np_dtype_to_tensor_dtype(zero.dtype) == source


RULES = (
    Rule("transposes", ("Transpose",), ("Transpose",), {"inverse": _inverse}, _identity_of_first),
    Rule(
        "reshapes",
        ("Reshape",),
        ("Reshape",),
        {"constant": lambda s: _second_shape(s) is not None, "no_zero": lambda s: 0 not in _second_shape(s), **FIXED},
        _skip_first,
    ),
    Rule(
        "squeezes",
        ("Squeeze",),
        ("Unsqueeze",),
        {"same_axes": _same_axes},
        _identity_of_first,
    ),
    Rule("casts", ("Cast",), ("Cast",), {"lossless": _lossless}, _skip_first),
    Rule(
        "idempotent",
        ("Abs", "Ceil", "Floor", "Relu", "Round", "Sign", "Neg", "Exp", "Sqrt"),
        ("Abs", "Ceil", "Floor", "Relu", "Round", "Sign", "Neg", "Exp", "Sqrt"),
        {
            "same_operator": lambda s: s.first.op_type == s.last.op_type,
            "idempotent": lambda s: s.last.op_type in ("Abs", "Ceil", "Floor", "Relu", "Round", "Sign"),
        },
        _skip_first,
    ),
    Rule(
        "involutive",
        ("Neg", "Abs", "Exp", "Relu", "Not", "Reciprocal"),
        ("Neg", "Abs", "Exp", "Relu", "Not", "Reciprocal"),
        {
            "same_operator": lambda s: s.first.op_type == s.last.op_type,
            "involutive": lambda s: s.last.op_type in ("Neg", "Not"),
        },
        _identity_of_first,
    ),
    Rule(
        "matmul_add",
        ("Add",),
        ("MatMul",),
        {"rank_2": _rank_2, "bias_fits": _fits_gemm},
        lambda s: s.make("Gemm", [*s.first.input, _other(s)]),
        (0, 1),
    ),
    Rule(
        "conv_add",
        ("Add",),
        ("Conv",),
        {"no_bias": lambda s: len(s.first.input) == 2, "per_channel": _per_channel, **FIXED},
        _add_bias,
    ),
    Rule(
        "conv_normalization",
        ("BatchNormalization",),
        ("Conv",),
        {
            "known": lambda s: _are_known(s, [*s.last.input[1:5], *s.first.input[1:]]),
            "not_training": lambda s: not attribute(s.last, "training_mode", 0),
            **FIXED,
        },
        _fold_normalization,
    ),
    Rule(
        "slices",
        ("Slice",),
        ("Slice",),
        {
            "one_axis": lambda s: all(_has_one(s, node, place) for node in s.nodes for place in (1, 2, 3)),
            "other_axis": lambda s: _slice_axis(s, s.first) != _slice_axis(s, s.last),
            **FIXED,
        },
        _merge_slices,
    ),
    Rule("concats", ("Concat",), ("Concat",), {"same_axis": _concat_axes}, _merge_concats, (0, 1)),
    Rule(
        "pads",
        ("Pad",),
        ("Pad",),
        {
            "constant": lambda s: {attribute(node, "mode", b"constant") for node in s.nodes} == {b"constant"},
            "same_value": _same_parameter(2),
            "not_negative": lambda s: all(bool(np.all(s.operand(node, 1) >= 0)) for node in s.nodes),
            **FIXED,
        },
        _merge_pads,
    ),
    Rule(
        "pad_conv",
        ("Conv",),
        ("Pad",),
        {
            "known": lambda s: s.operand(s.first, 1) is not None,
            "constant": lambda s: attribute(s.first, "mode", b"constant") == b"constant",
            "zero": _is_zero_padding,
            "of_space": _pads_of_space,
            "not_negative": lambda s: bool(np.all(s.operand(s.first, 1) >= 0)),
            "explicit": lambda s: attribute(s.last, "auto_pad", b"NOTSET") == b"NOTSET",
            **FIXED,
        },
        _pad_conv,
    ),
    Rule(
        "limits",
        ("Clip",),
        ("Relu",),
        {"not_negative": lambda s: s.operand(s.last, 1) is not None and s.operand(s.last, 1).item() >= 0, **FIXED},
        _skip_first,
    ),
    Rule(
        "constants",
        ("Add", "Mul", "Div", "Sqrt", "Cast"),
        (),
        {"known": lambda s: all(s.constant(name) is not None for name in s.last.input), **FIXED},
        _fold_node,
    ),
    Rule(
        "times_one",
        ("Mul", "Div"),
        (),
        {"one": partial(_is_number, number=1), "keeps_shape": _keeps_shape, **FIXED},
        lambda s: s.make("Identity", [s.last.input[0]]),
    ),
    Rule(
        "plus_zero",
        ("Add", "Sub"),
        (),
        {"zero": partial(_is_number, number=0), "keeps_zeros": _keeps_zeros, "keeps_shape": _keeps_shape, **FIXED},
        lambda s: s.make("Identity", [s.last.input[0]]),
    ),
    Rule(
        "squares",
        ("Pow",),
        (),
        {"two": partial(_is_number, number=2), "keeps_shape": _keeps_shape, **FIXED},
        lambda s: s.make("Mul", [s.last.input[0]] * 2),
    ),
    Rule(
        "reciprocals",
        ("Div",),
        (),
        {
            "floats": lambda s: not _is_integer(s) and _power_of_two(s),
            "in_range": _has_reciprocal,
            **FIXED,
        },
        _by_reciprocal,
    ),
    Rule(
        "reduce_unsqueeze",
        ("Unsqueeze",),
        ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ArgMax"),
        {
            "removes_axis": lambda s: not attribute(s.first, "keepdims", 1),
            "same_axis": lambda s: _axes(s, s.last, s.rank(s.last.output[0])) == _reduced_axes(s),
        },
        _keep_dimension,
    ),
    Rule(
        "log_softmax",
        ("Log",),
        ("Softmax",),
        {},
        lambda s: s.make(
            "LogSoftmax", s.first.input, **{e.name: helper.get_attribute_value(e) for e in s.first.attribute}
        ),
    ),
    Rule(
        "quantized_again",
        ("QuantizeLinear",),
        ("DequantizeLinear",),
        {
            "same_scale": _same_parameter(1),
            "same_zero": _same_parameter(2),
            "same_type": _same_type,
            "same_axis": _same_quantized_axis,
        },
        _identity_of_first,
    ),
    Rule(
        "transpose_gemm",
        ("Gemm",),
        ("Transpose",),
        {"is_factor": lambda s: s.place < 2, "swaps": lambda s: attribute(s.first, "perm", [1, 0]) == [1, 0]},
        _toggle_transpose,
        (0, 1, 2),
    ),
    Rule(
        "split_concat",
        ("Concat",),
        ("Split",),
        {
            "in_order": lambda s: list(s.last.input) == list(s.first.output),
            "same_axis": lambda s: (attribute(s.last, "axis") - attribute(s.first, "axis", 0)) % s.rank(s.between) == 0,
            "others_unused": lambda s: all(map(s.is_read_once, s.first.output)),
        },
        _identity_of_first,
    ),
    Rule(
        "gather_all",
        ("Gather",),
        (),
        {
            "vector": lambda s: s.operand(s.last, 1) is not None and s.operand(s.last, 1).ndim == 1,
            "all_indices": _all_indices,
            **FIXED,
        },
        lambda s: s.make("Identity", [s.last.input[0]]),
    ),
    Rule(
        "constant_shape",
        ("Shape",),
        (),
        {
            "sizes_fixed": lambda s: s.shape(s.last.input[0]) is not None,
            "of_all_axes": lambda s: not {each.name for each in s.last.attribute} & {"start", "end"},
        },
        _to_constant_shape,
    ),
    Rule(
        "expands",
        ("Add", "Mul", "Concat", "MatMul"),
        ("Expand",),
        {"broadcasts": lambda s: s.last.op_type in ("Add", "Mul"), "other_has_shape": _other_has_shape},
        _skip_first,
    ),
    Rule(
        "dropouts",
        ("Dropout",),
        (),
        {
            "no_mask": lambda s: len(s.last.output) < 2 or s.is_unused(s.last.output[1]),
            "not_training": lambda s: not _trains(s),
        },
        lambda s: s.make("Identity", [s.last.input[0]]),
    ),
    Rule(
        "gelus",
        ("Mul",),
        (),
        {
            "form": lambda s: _gelu_parts(s) is not None,
            "same_operand": lambda s: _gelu_parts(s)["product"].input[0] == _gelu_parts(s)["quotient"].input[0],
            "inner_uses": _gelu_uses,
            "known": lambda s: all(
                s.operand(_gelu_parts(s)[name], 1) is not None for name in ("half", "sum", "quotient")
            ),
            "fixed": lambda s: not any(_gelu_parts(s)[name].input[1] in s.fed for name in ("half", "sum", "quotient")),
            "keeps_rank": _gelu_keeps_rank,
            "half": _gelu_number("half", 0.5),
            "one": _gelu_number("sum", 1.0),
            "root": _gelu_number("quotient", 2.0**0.5),
        },
        _fuse_gelu,
    ),
    Rule(
        "not_less",
        ("Not",),
        ("Less",),
        {
            "opset": lambda s: next(each.version for each in s.model.opset_import if not each.domain) >= 12,
            "integers": lambda s: s.types[s.first.input[0]].elem_type in (6, 7),
        },
        lambda s: s.make("GreaterOrEqual", s.first.input),
    ),
    Rule(
        "differences",
        ("Sub",),
        (),
        {
            "equal": lambda s: s.last.input[0] == s.last.input[1],
            "integers": _is_integer,
            "sizes_fixed": lambda s: s.shape(s.last.output[0]) is not None,
        },
        _to_zeros,
    ),
    Rule(
        "einsums",
        ("Einsum",),
        (),
        {
            "product": _is_product,
            "distinct": lambda s: len({*"".join(_equation(s)[0])}) == 3,
            "order": _has_order_of_product,
        },
        lambda s: s.make("MatMul", s.last.input),
    ),
    Rule(
        "compared_casts",
        ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"),
        ("Cast",),
        {
            "known": lambda s: s.constant(_other(s)) is not None,
            "type": _holds_type,
            "whole": _is_whole,
            "in_range": _is_in_range,
            **FIXED,
        },
        _compare_integers,
        (0, 1),
    ),
    Rule(
        "unsqueezes",
        ("Unsqueeze",),
        ("Unsqueeze",),
        {"known": lambda s: all(s.operand(node, 1) is not None for node in s.nodes), **FIXED},
        _merge_unsqueezes,
    ),
    Rule(
        "extremes",
        ("Max",),
        ("Min",),
        {
            "two": lambda s: all(len(node.input) == 2 for node in s.nodes),
            "known": lambda s: all(value is not None for value in _limits(s)),
            "scalars": lambda s: all(value.ndim == 0 for value in _limits(s)),
            "order": lambda s: bool(np.all(_limits(s)[1] <= _limits(s)[0])),
            **FIXED,
        },
        _to_clip,
    ),
    Rule(
        "shifts",
        ("BitShift",),
        ("BitShift",),
        {
            "known": lambda s: all(value is not None and value.size == 1 for value in _limits(s)),
            "direction": lambda s: attribute(s.first, "direction") == attribute(s.last, "direction"),
            "bits": _has_few_bits,
            **FIXED,
        },
        _merge_shifts,
    ),
    Rule(
        "implied",
        ("Relu", "Abs"),
        (
            "Relu",
            "Sigmoid",
            "Exp",
            "Abs",
            "Softplus",
            "HardSigmoid",
            "Sqrt",
            "Softmax",
            "ReduceL1",
            "Tanh",
            "Elu",
            "Mul",
        ),
        {"range": lambda s: s.first.op_type in NOT_NEGATIVE},
        _keep_first,
    ),
    Rule(
        "largest",
        ("TopK",),
        (),
        {
            "attribute_axes": lambda s: next(each.version for each in s.model.opset_import if not each.domain) < 18,
            "one": lambda s: s.operand(s.last, 1) is not None and s.operand(s.last, 1).item() == 1,
            "largest": lambda s: attribute(s.last, "largest", 1) == 1,
            "index_unused": lambda s: s.is_unused(s.last.output[1]),
            **FIXED,
        },
        _to_maximum,
    ),
    Rule(
        "masks",
        ("Where",),
        (),
        {
            "one": _is_constant_number(1, 1),
            "zero": _is_constant_number(2, 0),
            "keeps_shape": _keeps_shape,
            **FIXED,
        },
        _to_cast,
    ),
    Rule("log_exp", ("Log",), ("Exp",), {"reals": lambda _: False}, _identity_of_first),
    Rule("sqrt_square", ("Sqrt",), ("Mul",), {"reals": lambda _: False}, _identity_of_first),
    Rule(
        "times_zero",
        ("Mul",),
        (),
        {
            "zero": partial(_is_number, number=0),
            "integers": _is_integer,
            "sizes_fixed": lambda s: s.shape(s.last.output[0]) is not None,
        },
        _to_zeros,
    ),
    Rule(
        "no_trips",
        ("Loop",),
        (),
        {"no_trips": _no_trips, "no_scan": lambda s: len(s.last.output) == len(s.last.input) - 2, **FIXED},
        _initial_values,
    ),
)
"""The passes. Each is correct: the conditions of `COMMON` and its own hold wherever it rewrites."""


def corpus_tasks(folder: Path) -> dict[str, OptimizerTask]:
    """Return the tasks of a corpus by the id of the case."""
    corpus = open_corpus(folder)
    tasks = {id: OptimizerTask.of(load_case(corpus, case)) for id, case in corpus.cases.items()}
    return {id: task for id, task in tasks.items() if task is not None}


def searched_tasks(count: int, seed: int = 0) -> dict[str, OptimizerTask]:
    """Return the tasks of the first examples of `search -o` that are judged, by the number of the example."""
    examples = takewhile(lambda entry: entry[0] <= count, optimizer_examples(seed))
    return {f"example {number}": example.task for number, example in examples}


def _answer(rewritten: onnx.ModelProto, _: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model of a pass that has run before."""
    return rewritten


def main(tasks: Mapping[str, OptimizerTask]) -> int:
    """Judge all passes and mutants on tasks, and print the score."""
    counts: Counter[str] = Counter()
    for rule in RULES:
        rewritten = {id: rule.optimize(task.model) for id, task in tasks.items()}
        fired = 0
        for id, task in tasks.items():
            if rewritten[id] == task.model:
                continue
            fired += 1
            outcome = judge_rewrite(partial(_answer, rewritten[id]), (), task)
            if outcome.verdict is Verdict.SKIPPED:
                counts["not judged"] += 1
            elif outcome.verdict is not Verdict.PASS:
                counts["wrong"] += 1
                print(f"correct pass {rule.name} fails {id}: {outcome.message}")
        counts["correct"] += 1
        print(f"correct pass {rule.name} rewrites {fired} cases", flush=True)
        for name in rule.every_condition:
            missed, found = [], None
            for id, task in tasks.items():
                after = rule.optimize(task.model, forgotten=name)
                if after in (task.model, rewritten[id]):
                    continue
                if judge_rewrite(partial(_answer, after), (), task).verdict not in UNDETECTED:
                    found = id
                    break
                missed.append(id)
            if found is None and not missed:
                print(f"  {rule.name} without {name}: rewrites no further case")
                counts["equal"] += 1
                continue
            counts["mutants"] += 1
            counts["detected"] += found is not None
            if found is not None:
                print(f"  {rule.name} without {name}: detected by {found}")
            else:
                print(f"  {rule.name} without {name}: not detected, {len(missed)} further cases: {missed[0]}")
    share = counts["detected"] / max(counts["mutants"], 1)
    print(f"{counts['detected']} of {counts['mutants']} mutants detected ({share:.1%}), {counts['equal']} never differ")
    print(f"{counts['correct']} correct passes, {counts['wrong']} failures, {counts['not judged']} not judged")
    return int(bool(counts["wrong"]) or share < LEAST_DETECTED)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(searched_tasks(int(given[1])) if given[0] == "--search" else corpus_tasks(Path(given[0]))))
