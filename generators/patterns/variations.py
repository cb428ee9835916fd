"""Variations of one place of a pattern: one value, constant, operand, attribute or node is not as a pass expects it.

A pass matches a pattern and forgets a condition. The conditions are of few kinds, whatever the pattern is. A value
between two nodes has another reader, a constant is shared or unknown, and an attribute has another option. An operand
broadcasts, is left out, or has changed places. An operator of another domain has the same name. A function of this
module yields the places of a model that it can vary, each with the change of the model and its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper

from conformance.exact.declarations.declaration_tables import declarations
from conformance.exact.models.arrays import array_of, dtype_of, tensor_of
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    all_nodes,
    copy_of,
    count_captures,
    infer_shapes,
    main_opset,
)
from conformance.exact.models.model_building import array_value_info
from conformance.exact.models.renaming import Renamer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array

    Inputs = dict[str, Array]
    Change = Callable[[onnx.ModelProto, Inputs], set[str] | None]
    Places = Iterator[tuple[str, str, Change | None]]
    """The places of a model: words for the place, words for what is there, and the change; None if it is there."""

PLAIN_ELEMENTS = (0.75, -1.5, 2, -0.25, 3, 1.25, -2)
"""Elements of inputs that a variation adds."""


BROADCASTING = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Where", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor"}
    | {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"}
)
"""Operators whose result has the widest shape of the operands."""

ANY_ELEMENTS = BROADCASTING | {"MatMul", "Gemm", "Conv", "ConvTranspose", "PRelu", "Clip", "Pad", "LSTM", "GRU", "RNN"}
"""Operators whose constants can have any elements."""

SIZED_OPERANDS = frozenset(
    {"Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization", "GroupNormalization", "PRelu", "Gemm"}
    | {"LayerNormalization", "RMSNormalization", "QuantizeLinear", "DequantizeLinear", "QLinearConv", "Attention"}
    | {"QLinearMatMul", "MatMulInteger", "ConvInteger", "RotaryEmbedding", "Einsum", "Range"}
)
"""Operators with operands whose sizes follow from those of another one, which the checker does not check."""

NOT_NEGATIVE = frozenset({"pads", "strides", "dilations", "kernel_shape", "output_padding", "output_shape", "split"})
POSITIVE = frozenset({"strides", "dilations", "kernel_shape"})
"""Attributes whose elements are 0 or more, and those whose elements are 1 or more."""


@dataclass(frozen=True)
class Pattern:
    """A model with a pattern, and what the variations look up.

    Attributes:
        model: the model, which no variation changes.
        inputs: the values of the inputs without an initializer.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Array]

    @classmethod
    def of(cls, model: onnx.ModelProto, inputs: Sequence[Array]) -> Pattern | None:
        """Return the pattern of a model; None if the inputs are others than those without an initializer."""
        fixed = {tensor.name for tensor in model.graph.initializer}
        fed = [value.name for value in model.graph.input if value.name not in fixed]
        return cls(model, dict(zip(fed, inputs, strict=True))) if len(fed) == len(inputs) else None

    @property
    def nodes(self) -> Sequence[onnx.NodeProto]:
        """The nodes of the main graph."""
        nodes: Sequence[onnx.NodeProto] = self.model.graph.node
        return nodes

    @cached_property
    def types(self) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """The element type and the shape of each value; None for a shape that is not fixed."""
        inferred = infer_shapes(self.model, data_prop=True).graph
        found: dict[str, tuple[int, tuple[int, ...] | None]] = {}
        for value in (*inferred.value_info, *inferred.output, *inferred.input):
            if value.type.WhichOneof("value") == "tensor_type":
                type = value.type.tensor_type
                fixed = type.HasField("shape") and all(size.HasField("dim_value") for size in type.shape.dim)
                shape = tuple(size.dim_value for size in type.shape.dim) if fixed else None
                found[value.name] = type.elem_type, shape
        for tensor in self.model.graph.initializer:
            found.setdefault(tensor.name, (tensor.data_type, tuple(tensor.dims)))
        return found

    @cached_property
    def fixed(self) -> dict[str, onnx.TensorProto]:
        """The initializers that no caller can replace, by name."""
        fed = {value.name for value in self.model.graph.input}
        return {tensor.name: tensor for tensor in self.model.graph.initializer if tensor.name not in fed}

    @cached_property
    def made(self) -> dict[str, int]:
        """The number of the node that makes each value."""
        return {name: number for number, node in enumerate(self.nodes) for name in node.output if name}

    @cached_property
    def uses(self) -> dict[str, list[tuple[int, int]]]:
        """The numbers of the nodes that read each value, each with the place of the operand."""
        found: dict[str, list[tuple[int, int]]] = {}
        for number, node in enumerate(self.nodes):
            for place, name in enumerate(node.input):
                found.setdefault(name, []).append((number, place))
        found.pop("", None)
        return found

    @cached_property
    def outputs(self) -> set[str]:
        """The names of the outputs of the graph."""
        return {value.name for value in self.model.graph.output}

    @property
    def has_sized_operands(self) -> bool:
        """Whether other sizes of an input can make a model wrong that the checker accepts."""
        return any(node.op_type in SIZED_OPERANDS for node in all_nodes(self.model))

    def words(self, number: int) -> str:
        """Return words for a node: its operator, between the ones that make its first operand and read its result."""
        node = self.nodes[number]
        before = next((self.nodes[self.made[name]].op_type for name in node.input if name in self.made), "")
        after = next((self.nodes[self.uses[name][0][0]].op_type for name in node.output if name in self.uses), "")
        return f"{before}>{node.op_type}>{after}"

    def between(self) -> Iterator[tuple[str, str]]:
        """Yield the values between two nodes, each with words for the one that makes it and for one that reads it."""
        for name, uses in self.uses.items():
            if name in self.made and name in self.types:
                yield name, f"{self.words(self.made[name])} {self.nodes[uses[0][0]].op_type}"

    def constants(self) -> Iterator[tuple[int, int, str, str]]:
        """Yield the operands that are initializers: number of the node, place of the operand, name, and words."""
        for name, uses in self.uses.items():
            if name in self.fixed:
                number, place = uses[0]
                yield number, place, name, f"{self.words(number)} {place}"

    def main_nodes(self) -> Iterator[tuple[int, onnx.NodeProto]]:
        """Yield the nodes of operators of the main domain, with their numbers."""
        for number, node in enumerate(self.nodes):
            if node.domain in MAIN_DOMAINS and onnx.defs.has(node.op_type):
                yield number, node

    def schema(self, node: onnx.NodeProto) -> Any:
        """Return the schema of a node of the main domain."""
        return onnx.defs.get_schema(node.op_type, main_opset(self.model), "")


def _reader(type: int) -> str:
    """Return an operator that changes elements of a type, or Identity."""
    if type == TensorProto.BOOL:
        return "Not"
    return "Neg" if dtype_of(type).kind in "fi" else "Identity"


def _append_output(graph: onnx.GraphProto, name: str, type: int) -> None:
    """Declare a value as an output; `situate` infers its shape."""
    graph.output.append(helper.make_tensor_value_info(name, type, None))


def _read(model: onnx.ModelProto, _: Inputs, *, name: str, type: int) -> None:
    """Append another reader of a value."""
    model.graph.node.append(helper.make_node(_reader(type), [name], [f"{name}_read"]))
    _append_output(model.graph, f"{name}_read", type)


def _show(model: onnx.ModelProto, _: Inputs, *, name: str, type: int) -> None:
    """Make a value an output of the graph too."""
    _append_output(model.graph, name, type)


def _capture(model: onnx.ModelProto, inputs: Inputs, *, name: str, type: int) -> None:
    """Append an If whose branches read a value; for half of the names, it is in the body of a Loop."""
    graph = model.graph
    branches = {}
    for word, op_type in (("then", _reader(type)), ("else", "Identity")):
        node = helper.make_node(op_type, [name], [f"{name}_{word}"])
        value = helper.make_tensor_value_info(f"{name}_{word}", type, None)
        branches[f"{word}_branch"] = helper.make_graph([node], word, [], [value])
    condition = f"{name}_taken"
    chosen = helper.make_node("If", [condition], [f"{name}_chosen"], **branches)
    graph.input.append(array_value_info(condition, np.array(True)))
    inputs[condition] = np.array(True)
    if crc32(name.encode()) % 2 or main_opset(model) < 13:
        graph.node.append(chosen)
        _append_output(graph, f"{name}_chosen", type)
        return
    goes_on = helper.make_node("Identity", ["go_on"], ["goes_on"])
    body = helper.make_graph(
        [goes_on, chosen],
        "body",
        [array_value_info("i", np.array(0)), array_value_info("go_on", np.array(True))],
        [array_value_info("goes_on", np.array(True)), helper.make_tensor_value_info(f"{name}_chosen", type, None)],
    )
    trips = f"{name}_trips"
    graph.input.append(array_value_info(trips, np.array(2)))
    inputs[trips] = np.array(2)
    graph.node.append(helper.make_node("Loop", [trips, ""], [f"{name}_stacked"], body=body))
    _append_output(graph, f"{name}_stacked", type)


USES: Mapping[str, Any] = {"read": _read, "shown": _show, "captured": _capture}
"""The other uses of a value: a node, an output of the graph, or a branch."""


def _elsewhere(pattern: Pattern, name: str, words: str, type: int) -> Places:
    """Yield the other uses of a value, with a change if it has no other use yet."""
    present = {
        "read": len(pattern.uses[name]) > 1,
        "shown": name in pattern.outputs,
        "captured": bool(count_captures(pattern.model.graph)[name]),
    }
    for kind, use in USES.items():
        if present[kind] or not any(present.values()):
            yield words, kind, None if present[kind] else partial(use, name=name, type=type)


def values_elsewhere(pattern: Pattern) -> Places:
    """Use a value between two nodes elsewhere too."""
    for name, words in pattern.between():
        yield from _elsewhere(pattern, name, words, pattern.types[name][0])


def constants_elsewhere(pattern: Pattern) -> Places:
    """Use an initializer elsewhere too."""
    for _, _, name, words in pattern.constants():
        yield from _elsewhere(pattern, name, words, pattern.fixed[name].data_type)


def _feed(model: onnx.ModelProto, _: Inputs, *, number: int, place: int, name: str) -> None:
    """Give a node another operand."""
    model.graph.node[number].input[place] = name


def _remove_initializer(graph: onnx.GraphProto, name: str) -> onnx.TensorProto:
    """Remove an initializer from a graph, and return it."""
    tensor: onnx.TensorProto = next(tensor for tensor in graph.initializer if tensor.name == name)
    found: onnx.TensorProto = copy_of(tensor)
    graph.initializer.remove(tensor)
    return found


def replaceable(pattern: Pattern) -> Places:
    """Make one initializer an input too, which a caller can replace."""

    def change(model: onnx.ModelProto, _: Inputs, name: str) -> None:
        tensor = pattern.fixed[name]
        model.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))

    for _, _, name, words in pattern.constants():
        yield words, "", partial(change, name=name)


def unknown(pattern: Pattern) -> Places:
    """Make one initializer an input instead."""

    def change(model: onnx.ModelProto, inputs: Inputs, name: str) -> None:
        array = array_of(_remove_initializer(model.graph, name))
        model.graph.input.append(array_value_info(name, array))
        inputs[name] = array

    for _, _, name, words in pattern.constants():
        yield words, "", partial(change, name=name)


def late(pattern: Pattern) -> Places:
    """Compute an operand just before its node reads it."""

    def change(model: onnx.ModelProto, inputs: Inputs, name: str, number: int) -> None:
        array = array_of(_remove_initializer(model.graph, name))
        given = f"{name}_given"
        model.graph.input.append(array_value_info(given, array))
        with np.errstate(all="ignore"):
            inputs[given] = ~array if array.dtype == bool else -array
        nodes = [copy_of(node) for node in model.graph.node]
        op_type = "Not" if array.dtype == bool else "Neg"
        del model.graph.node[:]
        model.graph.node.extend([*nodes[:number], helper.make_node(op_type, [given], [name]), *nodes[number:]])

    captured = count_captures(pattern.model.graph)
    for number, _, name, words in pattern.constants():
        kind = dtype_of(pattern.fixed[name].data_type).kind
        if number and len(pattern.uses[name]) == 1 and not captured[name] and kind in "fib":
            yield words, "", partial(change, name=name, number=number)


def constant_nodes(pattern: Pattern) -> Places:
    """Give an initializer as a Constant: as numbers, as a sparse tensor, or as a tensor."""
    opset = main_opset(pattern.model)

    def change(model: onnx.ModelProto, _: Inputs, name: str, form: str) -> None:
        tensor = _remove_initializer(model.graph, name)
        array = array_of(tensor)
        if form == "sparse_value":
            flat = array.ravel()
            places = np.flatnonzero(flat)
            given: Any = helper.make_sparse_tensor(
                tensor_of(flat[places], name), tensor_of(places.astype(np.int64), f"{name}_places"), array.shape
            )
        else:
            given = tensor if form == "value" else array.tolist()
        nodes = [copy_of(node) for node in model.graph.node]
        del model.graph.node[:]
        model.graph.node.extend([helper.make_node("Constant", [], [name], **{form: given}), *nodes])

    for _, _, name, words in pattern.constants():
        tensor = pattern.fixed[name]
        forms = ["value"]
        if opset >= 12 and tensor.data_type in (TensorProto.FLOAT, TensorProto.INT64) and len(tensor.dims) < 2:
            kind = "float" if tensor.data_type == TensorProto.FLOAT else "int"
            forms.append(f"value_{kind}" + "s" * len(tensor.dims))
        if opset >= 11 and tensor.data_type == TensorProto.FLOAT and tensor.dims and 0 not in tensor.dims:
            forms.append("sparse_value")
        for form in forms:
            yield words, form, partial(change, name=name, form=form)


def _set_constant(model: onnx.ModelProto, inputs: Inputs, *, number: int, place: int, array: Array) -> None:
    """Give an operand another constant."""
    name = f"{model.graph.node[number].input[place]}_varied"
    model.graph.initializer.append(tensor_of(array, name))
    _feed(model, inputs, number=number, place=place, name=name)


def _other_elements(array: Array) -> Iterator[tuple[str, Array]]:
    """Yield arrays with other elements, each with words."""
    if array.dtype.kind == "f":
        one = array.copy()
        with np.errstate(all="ignore"):
            one.flat[array.size - 1] = one.flat[array.size - 1] * (1 + 2.0**-6) + 2.0**-8
            yield "near", one
            yield "negative", -array
            yield "half", array * array.dtype.type(0.5) if array.any() else array + array.dtype.type(1)
    elif array.dtype.kind == "i":
        yield "more", array + array.dtype.type(1)
        yield "less", array - array.dtype.type(1)
        yield "negated", -array
        if array.size > 1:
            yield "reversed", np.ascontiguousarray(array[::-1])
            yield "shorter", array[:-1]
        if array.ndim == 1:
            added = next(number for number in range(array.size + 1) if number not in array)
            yield "longer", np.append(array, array.dtype.type(added))
    elif array.dtype == bool:
        yield "not", ~array


def other_elements(pattern: Pattern) -> Places:
    """Give an operand a constant with other elements."""
    for number, place, name, words in pattern.constants():
        array = np.asarray(array_of(pattern.fixed[name]))
        is_limited = array.dtype.kind == "f" and pattern.nodes[number].op_type not in ANY_ELEMENTS
        if array.size and not is_limited:
            for kind, other in _other_elements(array):
                change = partial(_set_constant, number=number, place=place, array=other)
                yield words, kind, change


SPECIAL = (0.0, -0.0, np.inf, np.nan)
"""Elements with which arithmetic has rules of its own."""


def special_constants(pattern: Pattern) -> Places:
    """Give an operand a constant whose last element is 0, -0, infinity or NaN."""
    for number, place, name, words in pattern.constants():
        array = np.asarray(array_of(pattern.fixed[name]))
        is_free = array.dtype.kind == "f" and pattern.nodes[number].op_type in ANY_ELEMENTS
        for special in SPECIAL if is_free and array.size else ():
            other = array.copy()
            other.flat[array.size - 1] = special
            yield words, str(special), partial(_set_constant, number=number, place=place, array=other)


def other_shapes(pattern: Pattern) -> Places:
    """Give an operand a constant of another shape: one element, one element of some rank, more axes, another axis."""
    for number, place, name, words in pattern.constants():
        array = np.asarray(array_of(pattern.fixed[name]))
        shapes: dict[str, Array] = {}
        if pattern.nodes[number].op_type not in BROADCASTING:
            continue
        if array.size == 1:
            shapes = {"scalar": array.reshape(()), "vector": array.reshape(1), "matrix": array.reshape(1, 1)}
        elif array.ndim == 1 and array.size:
            shapes = {"first": array[0], "row": array.reshape(1, -1), "column": array.reshape(-1, 1), "one": array[:1]}
        elif array.size:
            shapes = {"row": array[:1], "column": array[..., :1], "wide": array[np.newaxis]}
        for kind, other in shapes.items():
            if other.shape != array.shape:
                yield words, kind, partial(_set_constant, number=number, place=place, array=np.array(other, order="C"))


@cache
def _options(op_type: str) -> Mapping[str, Sequence[Any]]:
    """Return options of the attributes of an operator: those that its declarations have, and those of its schema."""
    found: dict[str, list[Any]] = {}
    for each in declarations().get(op_type, ()):
        for name, options in each.attributes.items():
            plain = [
                option
                for option in options
                if isinstance(option, int | float | str) and not str(option).startswith(("absent", "="))
            ]
            found.setdefault(name, []).extend(option for option in plain if option not in found.get(name, ()))
    return found


def _varied_list(values: Sequence[int]) -> Iterator[list[int]]:
    """Yield other lists of integers: in another order, with another first or last element."""
    yield [*values][::-1]
    yield [*values[1:], values[0]]
    yield [values[0] + 1, *values[1:]]
    yield [*values[:-1], values[-1] - 1]
    yield [*values, next(number for number in range(len(values) + 1) if number not in values)]
    yield [*values[:-1]]


def _list_options(pattern: Pattern, node: onnx.NodeProto, name: str) -> Sequence[list[int]]:
    """Return options of a list of integers that a node leaves out."""
    shape = pattern.types.get(node.input[0], (0, None))[1] if node.input else None
    if not shape:
        return []
    if name == "perm":
        order = [*range(len(shape))]
        return [order[::-1], [*order[1:], 0]]
    if name == "axes":
        return [[0], [len(shape) - 1]]
    sizes = len(shape) - 2
    options = {
        "pads": [[1] * 2 * sizes, [0] * sizes + [1] * sizes],
        "strides": [[2] * sizes],
        "dilations": [[2] * sizes],
    }
    return options.get(name, []) if sizes > 0 else []


def _attribute_options(pattern: Pattern, node: onnx.NodeProto) -> Iterator[tuple[str, Any, Sequence[Any]]]:
    """Yield the attributes of a node: name, value, and other options; None is an attribute that is left out."""
    given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    for name, about in pattern.schema(node).attributes.items():
        value = given.get(name)
        value = value.decode() if isinstance(value, bytes) else value
        options: list[Any] = [each for each in _options(node.op_type).get(name, ()) if each != value]
        if value is not None and not about.required:
            options.insert(0, None)
        if isinstance(value, list) and value and isinstance(value[0], int):
            least = 1 if name in POSITIVE else 0 if name in NOT_NEGATIVE else min(*value, -8)
            options += [each for each in _varied_list(value) if each != value and min(each, default=least) >= least]
        elif value is None and about.type == onnx.defs.OpSchema.AttrType.INTS:
            options += _list_options(pattern, node, name)
        elif name == "axis" and isinstance(value, int):
            options += [each for each in (value - 1, value + 1) if each not in options]
        elif about.type == onnx.defs.OpSchema.AttrType.FLOAT:
            options = [float(each) if isinstance(each, int) else each for each in options][:3]
        if value is None and about.default_value.type in (AttributeProto.INT, AttributeProto.FLOAT):
            default = helper.get_attribute_value(about.default_value)
            options = [each for each in options if each != default]
        yield name, value, options


def _option_kind(option: Any, options: Sequence[Any]) -> str:
    """Return words for an option of an attribute."""
    return f"list {options.index(option)}" if isinstance(option, list) else str(option)


def _set_attributes(model: onnx.ModelProto, _: Inputs, *, numbers: Sequence[int], name: str, value: Any) -> None:
    """Give nodes another option of an attribute; None leaves it out. Either `auto_pad` or `pads` stays."""
    removed = {name} | ({"auto_pad", "pads"} if name in ("auto_pad", "pads") and value is not None else set())
    for number in numbers:
        node = model.graph.node[number]
        for each in [each for each in node.attribute if each.name in removed]:
            node.attribute.remove(each)
        if value is not None:
            type = AttributeProto.INTS if isinstance(value, list) else None
            node.attribute.append(helper.make_attribute(name, value, attr_type=type))


def attributes(pattern: Pattern) -> Places:
    """Give an attribute of a node another option, or leave it out."""
    for number, node in pattern.main_nodes():
        for name, _, options in _attribute_options(pattern, node):
            for option in options:
                change = partial(_set_attributes, numbers=[number], name=name, value=option)
                yield f"{pattern.words(number)} {name}", _option_kind(option, options), change


def together(pattern: Pattern) -> Places:
    """Give several nodes another option of an attribute that they have in common, or other elements of a constant."""
    groups: dict[tuple[str, str], list[int]] = {}
    choices: dict[tuple[str, str], Sequence[Any]] = {}
    for number, node in pattern.main_nodes():
        for name, value, options in _attribute_options(pattern, node):
            key = name, f"{value}"
            groups.setdefault(key, []).append(number)
            choices.setdefault(key, options)
    for (name, value), numbers in groups.items():
        for option in choices[name, value] if len(numbers) > 1 else ():
            words = " ".join(pattern.nodes[number].op_type for number in numbers)
            change = partial(_set_attributes, numbers=numbers, name=name, value=option)
            yield f"{words} {name}", _option_kind(option, choices[name, value]), change
    equal: dict[bytes, list[str]] = {}
    for name, tensor in pattern.fixed.items():
        array = np.asarray(array_of(tensor))
        if name in pattern.uses and array.dtype.kind in "fib":
            equal.setdefault(f"{array.dtype} {array.shape}".encode() + array.tobytes(), []).append(name)

    def change_all(model: onnx.ModelProto, _: Inputs, names: Sequence[str], array: Array) -> None:
        for tensor in model.graph.initializer:
            if tensor.name in names:
                tensor.CopyFrom(tensor_of(array, tensor.name))

    for names in equal.values():
        readers = [use for name in names for use in pattern.uses[name]]
        array = np.asarray(array_of(pattern.fixed[names[0]]))
        operators = [pattern.nodes[number].op_type for number, _ in readers]
        if len(readers) > 1 and array.size and (array.dtype.kind != "f" or {*operators} <= ANY_ELEMENTS):
            words = " ".join(f"{pattern.nodes[number].op_type} {place}" for number, place in readers)
            for kind, other in _other_elements(array):
                yield words, kind, partial(change_all, names=names, array=np.asarray(other))


COMMUTATIVE = frozenset({"Add", "Mul", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor", "Equal"})


def swapped(pattern: Pattern) -> Places:
    """Exchange the first two operands of a node."""

    def change(model: onnx.ModelProto, _: Inputs, number: int) -> None:
        operands = model.graph.node[number].input
        operands[:2] = operands[1::-1]

    for number, node in pattern.main_nodes():
        types = [pattern.types.get(name, (0, None))[0] for name in node.input[:2]]
        is_ordered = len(node.input) > 1 and node.op_type in (BROADCASTING | {"MatMul", "Concat"}) - COMMUTATIVE
        if is_ordered and types[0] == types[1] and node.input[0] != node.input[1]:
            yield pattern.words(number), "", partial(change, number=number)


def fed_twice(pattern: Pattern) -> Places:
    """Let a node read its first operand a second time."""
    for number, node in pattern.main_nodes():
        for place, name in enumerate(node.input[:3]):
            first = node.input[0]
            if place and name != first and name in pattern.types and pattern.types[name] == pattern.types.get(first):
                yield f"{pattern.words(number)} {place}", "", partial(_feed, number=number, place=place, name=first)


def other_readings(pattern: Pattern) -> Places:
    """Let one of several readers of a value read another input."""

    def change(model: onnx.ModelProto, inputs: Inputs, name: str, number: int, place: int) -> None:
        type, shape = pattern.types[name]
        dtype = dtype_of(type)
        other = f"{name}_instead"
        array = pattern.inputs.get(name)
        if array is not None:
            value = copy_of(next(value for value in model.graph.input if value.name == name))
            value.name = other
            inputs[other] = np.flip(array).copy()
        else:
            inputs[other] = np.resize(np.array(PLAIN_ELEMENTS, np.float64), shape or ()).astype(dtype)
            value = array_value_info(other, inputs[other])
        model.graph.input.append(value)
        _feed(model, inputs, number=number, place=place, name=other)

    for name, uses in pattern.uses.items():
        if len(uses) < 2 or name in pattern.fixed or name not in pattern.types:
            continue
        type, shape = pattern.types[name]
        if name in pattern.inputs or (shape is not None and dtype_of(type).kind == "f"):
            for number, place in uses:
                yield (
                    f"{pattern.words(number)} {place}",
                    "",
                    partial(change, name=name, number=number, place=place),
                )


def omitted(pattern: Pattern) -> Places:
    """Leave out an optional operand."""

    def change(model: onnx.ModelProto, _: Inputs, number: int, place: int) -> None:
        operands = model.graph.node[number].input
        operands[place] = ""
        while not operands[-1]:
            operands.pop()

    for number, node in pattern.main_nodes():
        schema = pattern.schema(node)
        for place, name in enumerate(node.input):
            option = schema.inputs[min(place, len(schema.inputs) - 1)].option
            if name and place and option == onnx.defs.OpSchema.FormalParameterOption.Optional:
                yield f"{pattern.words(number)} {place}", "", partial(change, number=number, place=place)


RESULT_TYPES = {"Dropout": TensorProto.BOOL, "MaxPool": TensorProto.INT64}
"""The types of the second results that are not those of the first result."""


def more_results(pattern: Pattern) -> Places:
    """Make an optional result of a node an output of the graph."""

    def change(model: onnx.ModelProto, _: Inputs, number: int) -> None:
        node = model.graph.node[number]
        name = f"{node.output[0]}_second"
        type = RESULT_TYPES.get(node.op_type, pattern.types[node.output[0]][0])
        node.output.append(name)
        _append_output(model.graph, name, type)

    for number, node in pattern.main_nodes():
        if len(node.output) == 1 and len(pattern.schema(node).outputs) > 1 and node.output[0] in pattern.types:
            yield pattern.words(number), "", partial(change, number=number)


def broadcasts(pattern: Pattern) -> Places:
    """Give an input one row, one column, one axis more, or no axes."""

    def change(model: onnx.ModelProto, inputs: Inputs, name: str, part: Any) -> None:
        value = next(value for value in model.graph.input if value.name == name)
        array = np.array(inputs[name][part])
        inputs[name] = array
        value.CopyFrom(array_value_info(name, array))

    for name, array in pattern.inputs.items():
        if not array.ndim or not array.size or name not in pattern.uses or pattern.has_sized_operands:
            continue
        kinds: dict[str, Any] = {"column": np.s_[..., :1], "row": np.s_[:1], "wide": np.s_[np.newaxis]}
        kinds |= {"narrow": 0, "scalar": (0,) * array.ndim} if array.ndim > 1 else {"scalar": 0}
        number, place = pattern.uses[name][0]
        for kind, part in kinds.items():
            if np.array(array[part]).shape != array.shape:
                yield f"{pattern.words(number)} {place}", kind, partial(change, name=name, part=part)


def more_axes(pattern: Pattern) -> Places:
    """Give all inputs one axis more at the front, of size 1 or 2, or one axis less."""

    def change(model: onnx.ModelProto, inputs: Inputs, size: int) -> None:
        for value in model.graph.input:
            if value.name in inputs:
                array = inputs[value.name]
                inputs[value.name] = np.stack([array] * size) if size else np.array(array[0])
                value.CopyFrom(array_value_info(value.name, inputs[value.name]))

    if pattern.inputs and not pattern.has_sized_operands:
        yield "", "2", partial(change, size=2)
        yield "", "1", partial(change, size=1)
        if all(array.ndim and array.size for array in pattern.inputs.values()):
            yield "", "less", partial(change, size=0)


def twice(pattern: Pattern, *, is_shared_alone: bool = False) -> Places:
    """Append the pattern again with other inputs, and with the same constants, or with one of them and others."""

    def change(model: onnx.ModelProto, inputs: Inputs, shared: Collection[str]) -> None:
        graph = model.graph
        define = "{}_too".format
        names = {}
        for value in list(graph.input):
            if value.name in inputs:
                other = copy_of(value)
                other.name = names[value.name] = define(value.name)
                graph.input.append(other)
                inputs[other.name] = np.flip(inputs[value.name]).copy()
        for tensor in list(graph.initializer):
            if tensor.name in pattern.fixed and tensor.name not in shared:
                array = array_of(tensor)
                names[tensor.name] = define(tensor.name)
                with np.errstate(all="ignore"):
                    elements = array * array.dtype.type(2) + array.dtype.type(1) if array.dtype.kind == "f" else array
                graph.initializer.append(tensor_of(elements, names[tensor.name]))
        copies = [copy_of(node) for node in graph.node]

        def defining(name: str) -> str:
            if name:
                names[name] = define(name)
            return names.get(name, name)

        Renamer(define).rename_nodes(copies, names, defining)
        for node in copies:
            if node.name:
                node.name = define(node.name)
        graph.node.extend(copies)
        for value in list(graph.output):
            if value.name in names:
                other = copy_of(value)
                other.name = names[value.name]
                graph.output.append(other)

    if pattern.inputs:
        if not is_shared_alone:
            yield "", "", partial(change, shared={*pattern.fixed})
        elif len(pattern.fixed) > 1:
            for _, _, name, words in pattern.constants():
                yield words, "", partial(change, shared={name})


def inside(pattern: Pattern) -> Places:
    """Put nodes before the inputs and after the outputs."""

    def change(model: onnx.ModelProto, inputs: Inputs) -> None:
        graph = model.graph
        nodes = [copy_of(node) for node in graph.node]
        before = []
        for value in graph.input:
            array = inputs.get(value.name)
            if array is not None and array.dtype.kind in "fib":
                inner = value.name
                value.name = f"{inner}_before"
                with np.errstate(all="ignore"):
                    inputs[value.name] = ~inputs.pop(inner) if array.dtype == bool else -inputs.pop(inner)
                before.append(helper.make_node("Not" if array.dtype == bool else "Neg", [value.name], [inner]))
        after = []
        for value in graph.output:
            inner = value.name
            value.name = f"{inner}_after"
            after.append(helper.make_node(_reader(value.type.tensor_type.elem_type), [inner], [value.name]))
        del graph.node[:]
        graph.node.extend([*before, *nodes, *after])

    if all(value.type.WhichOneof("value") == "tensor_type" for value in pattern.model.graph.output):
        yield "", "", change


def other_domains(pattern: Pattern) -> Places:
    """Let a node call a function of the model with the name of its operator, which negates the result."""

    def change(model: onnx.ModelProto, _: Inputs, number: int, type: int) -> None:
        node = model.graph.node[number]
        names = [f"operand_{place}" for place, name in enumerate(node.input)]
        inner = copy_of(node)
        inner.input[:] = [given if name else "" for given, name in zip(names, node.input, strict=True)]
        inner.output[0] = "inner"
        last = helper.make_node(_reader(type), ["inner"], ["result"])
        function = helper.make_function(
            "acme",
            node.op_type,
            names,
            ["result"],
            [inner, last],
            [copy_of(entry) for entry in model.opset_import if entry.domain != "acme"],
            [each.name for each in node.attribute],
        )
        node.domain = "acme"
        model.functions.append(function)
        model.ir_version = max(model.ir_version, 8)
        if "acme" not in {entry.domain for entry in model.opset_import}:
            model.opset_import.add(domain="acme", version=1)

    called = {function.name for function in pattern.model.functions}
    for number, node in pattern.main_nodes():
        has_graph = any(each.HasField("g") for each in node.attribute)
        known = node.output and node.output[0] in pattern.types and len(node.output) == 1
        type = pattern.types[node.output[0]][0] if known else 0
        is_usable = node.op_type not in called and not has_graph and node.op_type != "Constant"
        if is_usable and known and _reader(type) != "Identity":
            yield pattern.words(number), "", partial(change, number=number, type=type)


def other_types(pattern: Pattern) -> Places:
    """Give one input or one constant another type than the others have."""
    wanted = {
        "f": (TensorProto.INT64, TensorProto.DOUBLE, TensorProto.FLOAT16),
        "i": (TensorProto.INT32, TensorProto.INT64),
    }
    wanted |= {"u": (TensorProto.INT8, TensorProto.UINT8)}

    def change(model: onnx.ModelProto, inputs: Inputs, name: str, type: int) -> None:
        with np.errstate(all="ignore"):
            if name in inputs:
                inputs[name] = inputs[name].astype(dtype_of(type))
                next(value for value in model.graph.input if value.name == name).type.tensor_type.elem_type = type
            else:
                tensor = next(tensor for tensor in model.graph.initializer if tensor.name == name)
                tensor.CopyFrom(tensor_of(array_of(tensor).astype(dtype_of(type)), name))
        for value in model.graph.output:
            value.type.tensor_type.elem_type = 0  # `situate` infers it

    for name, uses in pattern.uses.items():
        if (name in pattern.inputs or name in pattern.fixed) and name in pattern.types:
            number, place = uses[0]
            given = pattern.types[name][0]
            for type in wanted.get(dtype_of(given).kind, ()):
                if type != given:
                    yield f"{pattern.words(number)} {place}", str(type), partial(change, name=name, type=type)


def operand_counts(pattern: Pattern) -> Places:
    """Give a node of any number of operands one more, or leave out the last one."""

    def change(model: onnx.ModelProto, inputs: Inputs, number: int, is_more: bool) -> None:
        operands = model.graph.node[number].input
        if not is_more:
            operands.pop()
            return
        type, shape = pattern.types[operands[-1]]
        name = f"{operands[-1]}_more"
        inputs[name] = np.resize(np.array(PLAIN_ELEMENTS, np.float64), shape or ()).astype(dtype_of(type))
        model.graph.input.append(array_value_info(name, inputs[name]))
        operands.append(name)

    for number, node in pattern.main_nodes():
        last = pattern.schema(node).inputs[-1:]
        if last and last[0].option == onnx.defs.OpSchema.FormalParameterOption.Variadic and node.input:
            if len(node.input) > 1:
                yield pattern.words(number), "fewer", partial(change, number=number, is_more=False)
            if (
                pattern.types.get(node.input[-1], (0, None))[1] is not None
                and pattern.types[node.input[-1]][0] != TensorProto.STRING
            ):
                yield pattern.words(number), "more", partial(change, number=number, is_more=True)


OPERANDS_AS_INPUTS = 11
"""The version since which Pad and Slice have their operands as inputs."""


def _optional_operands(pattern: Pattern, node: onnx.NodeProto) -> Iterator[tuple[int, str, Any]]:
    """Yield elements of operands that a node leaves out: the place, words, and the elements."""
    shapes = [pattern.types.get(name, (0, None))[1] for name in node.input]
    is_early = main_opset(pattern.model) < OPERANDS_AS_INPUTS
    if is_early or not shapes or any(shape is None for name, shape in zip(node.input, shapes, strict=True) if name):
        return
    known = [shape or () for shape in shapes]
    rank = len(known[0])
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    match node.op_type:
        case "Conv" | "ConvInteger":
            yield 2, "bias", np.resize(PLAIN_ELEMENTS, known[1][0])
        case "ConvTranspose":
            yield 2, "bias", np.resize(PLAIN_ELEMENTS, known[1][1] * attributes.get("group", 1))
        case "Gemm":
            columns = known[1][0] if attributes.get("transB") else known[1][1]
            yield 2, "row", np.resize(PLAIN_ELEMENTS, columns)
            yield 2, "scalar", np.array(0.75)
        case "LayerNormalization":
            yield 2, "bias", np.resize(PLAIN_ELEMENTS, known[1])
        case "Clip":
            yield 1, "low", np.array(-1)
            yield 2, "high", np.array(1)
        case "Pad":
            yield 2, "value", np.array(1)
            if known[1] == (2 * rank,):
                yield 3, "axes", np.arange(rank)
                yield 3, "other axes", np.arange(rank)[::-1]
                yield 3, "last axes", np.array([*range(rank - 2), *range(rank - 1, max(rank - 3, -1), -1)])
        case "Slice":
            count = known[1][0]
            yield 3, "axes", np.arange(count)
            yield 3, "other axes", np.arange(rank)[::-1][:count]
            yield 4, "steps", np.full(count, 2)
            yield 4, "no steps", np.full(count, 1)
        case "Dropout":
            yield 1, "ratio", np.array(0.25)
            yield 2, "mode", np.array(False)
        case "Trilu":
            yield 1, "diagonal", np.array(1)
        case "QuantizeLinear" | "DequantizeLinear":
            yield 2, "zero point", np.full(known[1], 3)
        case "MatMulInteger":
            yield 2, "zero point", np.array(3)
        case "LSTM" | "GRU" | "RNN":
            state = np.resize(PLAIN_ELEMENTS, (known[2][0], known[0][1], known[2][2]))
            yield 3, "bias", np.resize(PLAIN_ELEMENTS, (known[2][0], 2 * known[1][1]))
            yield 5, "state", state
            if node.op_type == "LSTM":
                yield 6, "cell", state
        case _ if node.op_type.startswith("Reduce") and rank:
            yield from ((1, "axes", np.array([0])), (1, "other axes", np.array([rank - 1])))


def added(pattern: Pattern) -> Places:
    """Give a node an optional operand: a constant, or an input of the graph if it is of floats."""

    def change(model: onnx.ModelProto, inputs: Inputs, number: int, place: int, array: Array, is_fixed: bool) -> None:
        operands = model.graph.node[number].input
        operands.extend([""] * (place + 1 - len(operands)))
        name = f"{model.graph.node[number].output[0]}_operand_{place}"
        operands[place] = name
        if is_fixed:
            model.graph.initializer.append(tensor_of(array, name))
        else:
            model.graph.input.append(array_value_info(name, array))
            inputs[name] = array

    for number, node in pattern.main_nodes():
        count = len(pattern.schema(node).inputs)
        first = pattern.types.get(node.input[0], (0, None))[0] if node.input else 0
        for place, words, elements in _optional_operands(pattern, node) if first else ():
            if place >= count or (place < len(node.input) and node.input[place]):
                continue
            is_float = elements.dtype.kind == "f" or words in ("low", "high", "value")
            type = dtype_of(first if is_float else TensorProto.INT64)
            if elements.dtype == bool:
                type = elements.dtype
            elif words == "zero point":
                type = dtype_of(first if node.op_type != "QuantizeLinear" else TensorProto.UINT8)
            array = np.asarray(elements).astype(type)
            for kind in ("constant", "input")[: 2 if is_float else 1]:
                given = partial(change, number=number, place=place, array=array, is_fixed=kind == "constant")
                yield f"{pattern.words(number)} {place}", f"{words} {kind}", given


UNARY = ("Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Softplus", "HardSigmoid", "Abs", "Neg", "Exp", "Sqrt", "Ceil")
OTHER_UNARY = ("Floor", "Round", "Sign", "Erf", "Identity", "Softsign", "HardSwish", "Gelu", "Selu", "ThresholdedRelu")
SIBLINGS: Sequence[Sequence[str]] = (
    (*UNARY, *OTHER_UNARY, "Clip"),
    ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"),
    ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    ("MaxPool", "AveragePool", "LpPool"),
    ("GlobalMaxPool", "GlobalAveragePool"),
    ("And", "Or", "Xor"),
    ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"),
    ("ArgMax", "ArgMin"),
    ("Softmax", "LogSoftmax", "Hardmax"),
)
"""Groups of operators with the same operands."""


def other_operators(pattern: Pattern) -> Places:
    """Exchange the operator of a node for another one with the same operands."""
    opset = main_opset(pattern.model)

    def change(model: onnx.ModelProto, _: Inputs, number: int, op_type: str) -> None:
        node = model.graph.node[number]
        node.op_type = op_type
        known = onnx.defs.get_schema(op_type, opset, "").attributes
        for each in [each for each in node.attribute if each.name not in known]:
            node.attribute.remove(each)

    for number, node in pattern.main_nodes():
        for group in SIBLINGS if len(node.output) == 1 else ():
            if node.op_type in group and not (node.op_type == "Clip" and len(node.input) > 1):
                for op_type in group:
                    if op_type != node.op_type and onnx.defs.has(op_type, opset, ""):
                        yield pattern.words(number), op_type, partial(change, number=number, op_type=op_type)


def exchanged(pattern: Pattern) -> Places:
    """Exchange two nodes of which one reads the other, and whose further operands are constants."""

    def change(model: onnx.ModelProto, _: Inputs, first: int, second: int) -> None:
        nodes = [model.graph.node[number] for number in (first, second)]
        before = [copy_of(node) for node in nodes]
        for node, own, other in zip(nodes, before, before[::-1], strict=True):
            node.CopyFrom(other)
            node.name = own.name
            node.input[0] = own.input[0]
            node.output[:] = own.output

    def is_of_one(node: onnx.NodeProto) -> bool:
        fixed = (not name or name in pattern.fixed for name in node.input[1:])
        return bool(node.input) and len(node.output) == 1 and node.input[0] not in pattern.fixed and all(fixed)

    for second, node in pattern.main_nodes():
        first = pattern.made.get(node.input[0]) if node.input else None
        if first is not None and is_of_one(node) and is_of_one(pattern.nodes[first]):
            other = pattern.nodes[first]
            shapes = [pattern.types.get(name, (0, None))[1] for name in (other.input[0], *other.output, *node.output)]
            is_safe = not pattern.has_sized_operands or (shapes[0] is not None and len({*shapes}) == 1)
            if is_safe and len(pattern.uses[node.input[0]]) == 1 and other.op_type != node.op_type:
                yield pattern.words(second), "", partial(change, first=first, second=second)
