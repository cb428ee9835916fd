"""Drawing of nodes from declarations: a model of one node, and its inputs.

A node is drawn by named choices, such as `size D1` or `attribute axis`. Each choice depends on the seed and on its name
only, and not on the order of the choices. So a node in which one choice is changed keeps all others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper

from conformance.exact.declarations.declaration_tables import (
    SIZE_SETS,
    TYPE_SETS,
    Rule,
    domain_and_type,
    expression_value,
    has_schemas,
)
from conformance.exact.declarations.given_attributes import (
    bound_sizes,
    declarations_for,
    default_attributes,
    depends_on_sizes,
    stated_attributes,
)
from conformance.exact.declarations.hard_values import (
    INTEGER_MODE_WEIGHTS,
    INTEGER_MODES,
    MODE_WEIGHTS,
    MODES,
    choose_by_bits,
    element_bits,
    elements,
    mode_count,
    text_bits,
)
from conformance.exact.models.arrays import Array, dtype_of, tensor_of, type_name, type_number
from conformance.exact.models.graphs import inference_problem, normal_domain
from conformance.exact.models.model_building import array_value_info, make_ordered_node, splitmix64
from conformance.exact.models.model_validity import check_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.declarations.declaration_tables import DeclaredOperand, OperatorDeclaration, Option, Scalar

IR_VERSION = 10
"""IR version of drawn models."""

MAX_ELEMENTS = 20_000
"""Maximum number of elements of an operand."""

MAX_SIZED_ELEMENTS = 2**18
"""Maximum number of elements of an operand whose sizes the caller chooses."""

MAX_OPERANDS = 33
"""Maximum number of repeated operands of a node whose sizes the caller chooses."""

MAX_DISTINCT_STEPS = 2**20
"""Largest product of the numbers of drawn integers and of their options that are drawn one after another."""

MAX_FEW = 2
"""The largest option of a size that the caller cannot choose, such as a number of directions."""

SizeOf: TypeAlias = "Callable[[str, int], int]"
"""Returns the size to take for a name, from the size that would be drawn."""

MAX_ATTEMPTS = 100
"""Number of nodes that are drawn until one is valid."""

VARIANTS = 8
"""Number of variants of the elements of an operand that a rule gives; the first variant has the plainest elements."""


class InvalidNodeError(ValueError):
    """The chosen options give no valid model."""


@dataclass(frozen=True)
class Choice:
    """A choice of a drawn node.

    Attributes:
        index: the index of the chosen option.
        count: the number of options.
        text: the chosen option as text.
        is_plain: whether it is equal to the first option.
    """

    index: int
    count: int
    text: str
    is_plain: bool


@dataclass(frozen=True)
class DrawnNode:
    """A node with its inputs.

    Attributes:
        operator: its operator.
        model: a model of this node alone.
        operands: the values of all operands by name, in the order of the node's inputs.
        choices: the choices by name.
        free: the names of the operands that may have any elements.
    """

    operator: str
    model: onnx.ModelProto
    operands: Mapping[str, Array]
    choices: Mapping[str, Choice]
    free: tuple[str, ...]

    @property
    def proto(self) -> onnx.NodeProto:
        """The node."""
        node: onnx.NodeProto = self.model.graph.node[0]
        return node

    @property
    def opset(self) -> int:
        """The version of the node's domain."""
        imports = self.model.opset_import
        return int(
            next(each.version for each in imports if normal_domain(each.domain) == normal_domain(self.proto.domain))
        )

    @cached_property
    def inputs(self) -> dict[str, Array]:
        """The values of the graph's inputs by name."""
        return {value.name: self.operands[value.name] for value in self.model.graph.input}


def draw_valid_node(operator: str, seed: str) -> tuple[DrawnNode, str]:
    """Return the first valid node of an operator, with the seed that `draw_node` draws the node from.

    Raises:
        UsageError: the operator has no declaration.
        InvalidNodeError: no node is valid.
    """
    for attempt in range(MAX_ATTEMPTS):
        own = f"{seed}/{attempt}" if attempt else seed
        try:
            return draw_node(operator, own), own
        except InvalidNodeError as error:
            last = error
    raise last


def draw_node(
    operator: str,
    seed: str,
    chosen: Mapping[str, int] | None = None,
    edits: Mapping[str, Mapping[int, float]] | None = None,
    given: Mapping[str, Any] | None = None,
    size_of: SizeOf | None = None,
    most_elements: int = MAX_SIZED_ELEMENTS,
) -> DrawnNode:
    """Return the node of a seed. Equal arguments give equal nodes.

    Args:
        operator: the operator.
        seed: the seed.
        chosen: for some choices by name, the index of the option to take instead; the last option if there are fewer.
        edits: for some operands by name, elements by their flat index; an index outside of the operand is ignored.
        given: the attributes; None to draw them. The declaration that is taken should fit them, see
            `conformance.exact.declarations.given_attributes`.
        size_of: returns the size to take for a name, `r` for the rank, from the one that would be drawn.
        most_elements: the largest number of elements of an operand, before they are drawn.

    Raises:
        UsageError: the operator has no declaration.
        InvalidNodeError: an operand has more elements, onnx's full check rejects the node, or no option of an attribute
            has a given value.
    """
    return _Draft(operator, seed, chosen or {}, edits or {}, given, size_of, most_elements).complete()


@dataclass
class _Draft:
    """A node whose choices are being made."""

    operator: str
    seed: str
    chosen: Mapping[str, int]
    edits: Mapping[str, Mapping[int, float]]
    given: Mapping[str, Any] | None = None
    size_of: SizeOf | None = None
    most_elements: int = MAX_SIZED_ELEMENTS
    choices: dict[str, Choice] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    operands: dict[str, Array] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    parameters: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        every = declarations_for(self.operator, self.given or {})
        numbers = [str(number) for number in range(len(every))]
        weights = [int(not each.cases) for each in every]
        place = self.choose("declaration", numbers, weights if any(weights) else ())
        self.declaration: OperatorDeclaration = every[place]
        opsets = self.declaration.opsets_of(self.operator)[::-1]
        self.opset = opsets[self.choose("opset", opsets)]
        self.op_type = domain_and_type(self.operator)[1]
        self.schema: Any = None
        if has_schemas(self.declaration.domain):
            self.schema = onnx.defs.get_schema(self.op_type, self.opset, self.declaration.domain)
        self.stated = stated_attributes(self.declaration, self.given or {}, default_attributes(self.schema))
        self.bound = bound_sizes(self.declaration, self.stated)
        ranks = self.declaration.ranks
        self.rank = self.bound["r"] if "r" in self.bound else ranks[self.choose("rank", ranks)]
        if self.size_of is not None and "r" not in self.bound:
            self.rank = self.size_of("r", self.rank)

    def choose(self, name: str, options: Sequence[Any], weights: Sequence[int] = ()) -> int:
        """Return the index of the option that a choice takes."""
        index = self.chosen.get(name)
        if index is None:
            drawn = text_bits(f"{self.seed}/{name}")
            index = drawn % len(options) if not weights else _weighted(drawn, weights)
        index = max(0, min(index, len(options) - 1))
        self.choices[name] = Choice(index, len(options), str(options[index]), options[index] == options[0])
        return index

    def complete(self) -> DrawnNode:
        """Make all choices, and return the node."""
        given = (self.given or {}).items()
        self.attributes.update(
            {name: tensor_of(each) if isinstance(each, np.ndarray) else each for name, each in given}
        )
        for name, options in self.declaration.attributes.items() if self.given is None else ():
            if (not self.schema or name in self.schema.attributes) and (
                value := self.attribute(name, options)
            ) is not None:
                self.attributes[name] = value
        for place, operand in enumerate(self.declaration.operands()):
            if not self.schema or place < self.schema.max_input:
                self.add_operand(operand)
        for name, value in self.stated.items():
            if not self.has_option(name, value):
                raise InvalidNodeError(f"{self.operator}: {name} does not fit the sizes")
        numbers = [self.expression(each) for each in self.declaration.outputs]
        count = numbers[self.choose("outputs", numbers)]
        held = ("inputs", "parameters", "all but the first")
        return self.build(count, held[self.choose("constants", held, (2, 2, 1))])

    def build(self, count: int, held: str) -> DrawnNode:
        """Return the node as a model, with types of its outputs.

        Args:
            count: the number of outputs.
            held: which operands are initializers.
        """
        while self.names and not self.names[-1]:
            self.names.pop()
        outputs = [f"Y{number}" for number in range(1, count + 1)]
        node = make_ordered_node(self.op_type, self.names, outputs, self.attributes, self.declaration.domain)
        constant = self.parameters if held == "parameters" else set(list(self.operands)[1:])
        fed = [name for name in self.operands if held == "inputs" or name not in constant]
        graph = helper.make_graph(
            [node],
            "drawn",
            [array_value_info(name, self.operands[name]) for name in fed],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [tensor_of(array, name) for name, array in self.operands.items() if name not in fed],
        )
        opset = helper.make_opsetid(self.declaration.domain, self.opset)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        if (problem := inference_problem(model)) is not None:
            raise InvalidNodeError(f"{self.operator}: {problem}")
        try:
            model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
            given = self.declaration.output_types, self.declaration.output_ranks
            for value, dtype, rank in zip_longest(model.graph.output, *(each[:count] for each in given)):
                type = value.type.tensor_type
                if dtype is not None and not type.elem_type:
                    type.elem_type = type_number(type_name(self.type_of(dtype)))
                if rank is not None and not type.HasField("shape"):
                    sizes = [None] * self.expression(rank)
                    value.CopyFrom(helper.make_tensor_value_info(value.name, type.elem_type, sizes))
            check_model(model, shapes=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
            raise InvalidNodeError(f"{self.operator}: {error}") from None
        free = tuple(name for name in self.operands if name not in self.parameters)
        return DrawnNode(self.operator, model, self.operands, self.choices, free)

    def size(self, name: str) -> int:
        """Return the size with a name."""
        if name.isdecimal():
            return int(name)
        if name == "r":
            return self.rank
        if name in self.bound:
            return self.bound[name]
        sizes = self.declaration.sizes
        given = sizes.get(name, sizes.get(name.rstrip("0123456789"), "any"))
        if isinstance(given, Rule) and given.by:
            case = self.case_of(given)
            assert isinstance(case, str)
            return self.expression(case)
        options = (
            self.integers(given) if isinstance(given, Rule) else SIZE_SETS[given] if isinstance(given, str) else given
        )
        size = int(options[self.choose(f"size {name}", options)])
        is_free = self.size_of is not None and not isinstance(given, Rule) and max(options) > MAX_FEW
        if not is_free or self.size_of is None:
            return size
        most = MAX_OPERANDS if name == "count" else MAX_SIZED_ELEMENTS
        return min(self.size_of(name, size), self.declaration.most.get(name, most))

    def expression(self, text: str | int) -> int:
        """Return the value of an expression."""
        if isinstance(text, int):
            return text
        return expression_value(text, self.operand)

    def case_of(self, rule: Rule) -> Rule | Scalar:
        """Return the case of a rule that the value of its expression chooses.

        Raises:
            InvalidNodeError: the sizes of the node have no case.
        """
        place = self.expression(rule.by)
        if not 0 <= place < len(rule.cases):
            raise InvalidNodeError(f"{self.operator}: a rule has no case for {rule.by} = {place}")
        return rule.cases[place]

    def operand(self, text: str) -> int:
        """Return the value of an operand of an expression: a name, a number, or `S[axis]`."""
        return self.shape(text, "")[0] if "[" in text else self.size(text)

    def shape(self, text: str, name: str) -> list[int]:
        """Return the sizes of a shape.

        Args:
            text: the shape.
            name: the name of the operand, for its choices.
        """
        sizes: list[int] = []
        for part in text.split():
            if part.endswith("~"):
                sizes += self.broadcast(part[:-1], name)
            elif found := _AT_AXIS.fullmatch(part):
                sizes += self.at_axis(found, name)
            elif "..." in part:
                sizes += [self.expression(part.replace("...", str(number))) for number in range(1, self.rank + 1)]
            else:
                sizes.append(self.expression(part))
        if any(size < 0 for size in sizes) or prod(sizes) > (
            MAX_ELEMENTS if self.size_of is None else MAX_SIZED_ELEMENTS
        ):
            raise InvalidNodeError(f"{self.operator}: a negative size, or too many elements")
        return sizes

    def broadcast(self, base: str, name: str) -> list[int]:
        """Return a shape that broadcasts to another one."""
        whole = self.shape(self.declaration.shapes.get(base, f"{base}..."), name)
        left_out = list(range(len(whole) + 1))
        whole = whole[self.choose(f"dimensions left out of {name}", left_out, (2 * len(left_out), *left_out[1:])) :]
        masks = list(range(2 ** len(whole)))
        mask = masks[self.choose(f"dimensions of 1 in {name}", masks, (2 * len(masks), *([1] * (len(masks) - 1))))]
        return [1 if mask >> place & 1 else size for place, size in enumerate(whole)]

    def at_axis(self, part: re.Match[str], name: str) -> list[int]:
        """Return the size of a shape at an axis, or the sizes from there, or all sizes with another one there."""
        base, attribute, kind, size = part.groups()
        whole = self.shape(f"{base}...", name)
        known = self.schema.attributes if self.schema else {}
        default = known[attribute].default_value.i if attribute in known else 0
        axis = self.attributes.get(attribute, default)
        if not -len(whole) <= axis < len(whole):
            raise InvalidNodeError(f"{self.operator}: an axis of another rank")
        if kind == ":":
            return whole[axis % len(whole) :]
        if not kind:
            return [whole[axis]]
        whole[axis] = self.expression(size.replace("...", f"_{name}"))
        return whole

    def integers(self, rule: Rule) -> list[int]:
        """Return the integers of a range, those near 0 first."""
        low = self.expression(rule.low)
        high = self.expression(rule.high)
        if low > high:
            raise InvalidNodeError(f"{self.operator}: an empty range")
        return sorted(range(low, high + 1), key=lambda number: (abs(number), number < 0))

    def type_of(self, names: str) -> np.dtype[Any]:
        """Return the element type of a type variable, or of one of several variables that the schema has."""
        constraints = self.schema.type_constraints if self.schema else ()
        allowed = {each.type_param_str: each.allowed_type_strs for each in constraints}
        own = self.declaration.types
        name = next((each for each in names.split("|") if each in allowed), names.split("|", maxsplit=1)[0])
        given = own.get(name, (name,))
        every = TYPE_SETS[given] if isinstance(given, str) else given
        types = [each for each in every if name not in allowed or f"tensor({each})" in allowed[name]]
        if not types:
            raise InvalidNodeError(f"{self.operator}: version {self.opset} has none of the types of {name}")
        return dtype_of(type_number(types[self.choose(f"type {name}", types)] if name in own else name))

    def has_option(self, name: str, value: Any) -> bool:
        """Return whether a given attribute has the value of an option that depends on sizes, if it has such options."""
        options = self.declaration.attributes.get(name, ())
        sized = [option for option in options if depends_on_sizes(option)]
        return not sized or any(self.has_value(option, value) for option in options)

    def has_value(self, option: Option, value: Any) -> bool:
        """Return whether a value of an attribute is one of an option that depends on sizes."""
        if not isinstance(option, (Rule, tuple)):
            return bool(self.scalar(option) == value)
        if isinstance(option, tuple):
            is_equal = (
                list(map(self.scalar, option)) == value if depends_on_sizes(option) else len(option) == len(value)
            )
            return bool(is_equal)
        assert isinstance(option, Rule)
        if option.by:
            place = self.expression(option.by)
            case = option.cases[place] if 0 <= place < len(option.cases) else None
            return case is not None and self.has_value(case, value)
        if option.shape:
            return bool(self.shape(option.shape, "") == value)
        if option.count and not (isinstance(value, list) and len(value) == self.expression(option.count)):
            return False
        if not option.low or isinstance(value, list):
            return True
        return bool(self.expression(option.low) <= value <= self.expression(option.high))

    def attribute(self, name: str, options: Sequence[Option]) -> Any:
        """Return the value of an attribute; None if it is absent."""
        texts = [each if isinstance(each, (int, float, str, tuple)) else "drawn" for each in options]
        option = options[self.choose(f"attribute {name}", texts)]
        if isinstance(option, Rule):
            return self.attribute_by_rule(name, option)
        if isinstance(option, tuple):
            return [self.scalar(each) for each in option]
        return None if option == "absent" else self.scalar(option)

    def attribute_by_rule(self, name: str, rule: Rule) -> Any:
        if rule.by:
            case = self.case_of(rule)
            return self.attribute_by_rule(name, case) if isinstance(case, Rule) else case
        if rule.shape:
            return self.shape(rule.shape, name)
        if rule.type:
            number = type_number(type_name(self.type_of(rule.type)))
            return onnx.TensorProto.DataType.Name(number) if (self.op_type, self.opset) == ("Cast", 1) else number
        if rule.tensor:
            lists = rule.lists or tuple((each,) for each in rule.options)
            numbers = [self.scalar(each) for each in lists[self.choose(f"attribute {name}, value", lists)]]
            return tensor_of(np.array(numbers).astype(self.type_of(rule.tensor)))
        values: Sequence[Any] = self.integers(rule) if rule.low else rule.options
        if not rule.count:
            return values[self.choose(f"attribute {name}, value", values)]
        found: list[Any] = []
        for number in range(1, self.expression(rule.count) + 1):
            left = [
                value for value in values if not rule.distinct or value % self.expression(rule.distinct) not in found
            ]
            found.append(left[self.choose(f"attribute {name}, element {number}", left)])
        return found

    def scalar(self, value: Scalar) -> Any:
        """Return a number or a text, or the value of an expression."""
        return self.expression(value) if isinstance(value, str) and value.startswith("=") else value

    def add_operand(self, operand: DeclaredOperand) -> None:
        """Choose the elements of an input, or leave it out."""
        name = operand.name
        if operand.mark == "-" or (operand.mark == "?" and not self.choose(f"input {name}", ("left out", "given"))):
            self.names.append("")
            return
        types = operand.type.split("/")
        dtype = self.type_of(types[self.choose(f"type of {name}", types) if len(types) > 1 else 0])
        repeated = [f"{name}{number + 1}" for number in range(self.size("count"))] if operand.mark == "*" else [name]
        kinds = self.declaration.value_kinds(name)
        shown = [each if isinstance(each, str) else "chosen" for each in kinds]
        kind = kinds[self.choose(f"kind of {name}", shown) if len(kinds) > 1 else 0]
        for each in repeated:
            shape = self.shape(operand.shape, each)
            if prod(shape) > self.most_elements:
                raise InvalidNodeError(f"{self.operator}: too many elements")
            array = self.elements(each, kind, dtype, shape)
            if isinstance(kind, Rule) and kind.shape:
                shape = [array.size]  # a shape with fewer axes is a shorter list
            array = np.ascontiguousarray(array.astype(dtype)).reshape(shape)
            for place, value in self.edits.get(each, {}).items():
                if place < array.size:
                    array.reshape(-1)[place] = value
            self.names.append(each)
            self.operands[each] = array
            if not isinstance(kind, str):
                self.parameters.add(each)

    def elements(self, name: str, kind: str | Rule, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
        """Return elements of one of `VALUE_KINDS`, or of a rule."""
        if isinstance(kind, Rule):
            return self.by_rule(name, kind, dtype, shape)
        count = mode_count(dtype, kind)
        is_integer = dtype.kind in "iu"
        modes = (INTEGER_MODES if is_integer else MODES)[:count]
        weights = INTEGER_MODE_WEIGHTS if is_integer else MODE_WEIGHTS
        mode = self.choose(f"values of {name}", modes, weights[:count])
        return elements(f"{self.seed}/{name}", dtype, shape, kind, mode, self.declaration.hard)

    def by_rule(self, name: str, rule: Rule, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
        """Return elements of a rule."""
        if rule.by:
            case = self.case_of(rule)
            assert isinstance(case, Rule)
            return self.by_rule(name, case, dtype, shape)
        if rule.shape:
            return np.array(self.shape(rule.shape, name), dtype)
        if rule.lists:
            chosen = rule.lists[self.choose(f"values of {name}", rule.lists)]
            return np.array([self.scalar(each) for each in chosen], dtype)
        if rule.options and not rule.first and prod(shape) == 1:  # each option is a choice, which others pair with
            options = [self.scalar(each) for each in rule.options]
            return np.full(shape, options[self.choose(f"values of {name}", options)])
        variants = ["plain", *map(str, range(1, VARIANTS))]
        variant = self.choose(f"values of {name}", variants)
        if rule.axis:
            return self.distinct_along(f"{self.seed}/{name}/{variant}", rule, shape)
        bits = element_bits(f"{self.seed}/{name}/{variant}", shape) if variant else np.zeros(shape, np.uint64)
        if rule.columns:
            sizes = np.array(self.shape(rule.columns, name))
            if (sizes == 0).any():
                raise InvalidNodeError(f"{self.operator}: an index of an empty dimension")
            if rule.distinct:
                if shape[0] > prod(sizes):
                    raise InvalidNodeError(f"{self.operator}: too few distinct rows")
                order = np.argsort(element_bits(f"{self.seed}/{name}/{variant}", (prod(sizes),)), kind="stable")
                rows = np.stack(np.unravel_index(order[: shape[0]], sizes), -1)
                return np.asarray(rows - sizes * (variant > 0))
            return np.asarray((bits % (2 * sizes).astype(np.uint64)).astype(np.int64) - sizes * (variant > 0))
        values: Sequence[Any] = self.integers(rule) if rule.low else [self.scalar(each) for each in rule.options]
        if rule.distinct:
            return self.distinct(values, self.expression(rule.distinct), bits)
        array = choose_by_bits(values, bits)
        for place, each in enumerate(rule.first):
            array.reshape(-1)[place] = self.scalar(each)
        return array

    def distinct_along(self, text: str, rule: Rule, shape: Sequence[int]) -> Array:
        """Return indices that differ along the axis of an attribute; some are negative if the rule admits it."""
        axis = self.attributes.get(rule.axis, 0)
        size = self.expression(rule.high) + 1
        whole = list(shape)
        whole[axis] = size
        bits = element_bits(text, whole)
        indices = np.argsort(bits, axis=axis, kind="stable")
        if self.expression(rule.low) < 0:
            indices = indices - size * (bits & np.uint64(1)).astype(np.int64)
        return np.asarray(np.take(indices, range(shape[axis]), axis=axis))

    def distinct(self, values: Sequence[int], modulus: int, bits: Array) -> Array:
        """Return integers that differ modulo a number."""
        if bits.size * len(values) > MAX_DISTINCT_STEPS:
            numbers = np.array(values)
            first = np.unique(numbers % modulus, return_index=True)[1]
            if len(first) < bits.size:
                raise InvalidNodeError(f"{self.operator}: too few distinct integers")
            order = np.argsort(splitmix64(bits.reshape(-1)[:1] ^ np.arange(len(first), dtype=np.uint64)), kind="stable")
            return np.asarray(numbers[first[order[: bits.size]]])
        left = list(values)
        found = []
        for each in bits.reshape(-1):
            if not left:
                raise InvalidNodeError(f"{self.operator}: too few distinct integers")
            found.append(left[int(each) % len(left)])
            left = [value for value in left if (value - found[-1]) % modulus]
        return np.array(found, np.int64)


_AT_AXIS = re.compile(r"(\w+)\[(\w+)(:|=|)([^\]]*)\]")


def _weighted(drawn: int, weights: Sequence[int]) -> int:
    """Return an index, drawn in proportion to weights."""
    left = drawn % sum(weights)
    for index, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return index
    raise AssertionError(weights)


def element_count(node: DrawnNode) -> int:
    """Return the number of elements of all operands."""
    return sum(prod(array.shape) for array in node.operands.values())
