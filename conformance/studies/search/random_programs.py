"""Random programs: small models of tested nodes, cheap operators, control flow and calls of functions.

Statements read values of their own graph, of the enclosing graphs, and results of each other. A mistake in planning,
liveness, scopes of names, merging of nodes or control flow therefore shows in an output. `draw_program` draws a valid
model and its inputs from a seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.base.errors import ConformanceError
from conformance.corpus.factors.name_factors import NAME_KINDS, PLAIN_NAMES, rename_values_of
from conformance.corpus.factors.training_factors import USUAL_ATTRIBUTES
from conformance.corpus.factors.wrapping import IR_VERSION, BuiltModel
from conformance.corpus.generation.generators import bundled_package
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, PASS_NAME
from conformance.exact.models.arrays import Array, array_of, dtype_of, tensor_of, type_name, type_number
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    all_graphs,
    all_nodes,
    all_tensors,
    called_name,
    function_name,
    graph_edges,
    infer_shapes,
    main_opset,
)
from conformance.exact.models.input_files import fed_input_names, required_input_names
from conformance.exact.models.model_building import argmax_shape, make_value_info
from conformance.exact.models.model_validity import is_fully_valid
from conformance.exact.models.renaming import Renamer
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.distributions import spread_indices
from conformance.studies.search.example import CHAIN_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence


NAMES = (*"abcdefghijkmnpqrsuvwxyz", "t", "X", "G", "H", "Y", "T_", "o0", "o1", "o2", "o3")
"""Names of values. Graphs that do not enclose each other use the same ones."""

DOMAIN = "acme"
"""The domain of the functions; most have the name of an operator."""

FUNCTION_NAMES = (*TRAINING_OPTIMIZERS, "ArgMax", "Exp", "Sqrt", "Neg", "Identity", "If", "Step", "Cell")

MAX_DEPTH = 3
"""The most subgraphs around a statement."""

MAX_EXECUTIONS = 90
"""The most times that the tested nodes of a program run, except for a few."""

TRIPS = (0, 0, 1, 1, 2, 2, 3, 4, 5, 7, 10)
"""Maximum numbers of iterations of a Loop."""

LAST_ITERATIONS = (-1, 0, 0, 1, 1, 2)
"""Numbers with which the condition of a Loop is compared, if it ends the Loop."""

SHAPES: Sequence[tuple[int, ...]] = ((2,), (3,), (1,), (), (2, 2), (5,), (2, 3), (0,), (4,), (1, 3), (17,), (70,))
AXES_AS_INPUT = 13
"""The opset since which the axes of Squeeze and Unsqueeze are an input."""

OPSETS = (13, 13, 14, 15, 16, 17, 18, 21)
RATES = (0.1, 0.5, 0.25, 0.3, 1.0, -0.1, 0.01)
NUMBERS = (0.5, -0.5, 1.0, -1.0, 2.0, 0.25, 0.1, -0.1, 0.75, 1.5, -1.25, 3.0)
FACTORS = (0.5, 2.0, -1.0, 0.75, 1.0)
ATTRIBUTE_VALUES = (0.5, 0.9, 0.1, 0.3, 0.0, 0.0625)
CHAINS: Sequence[Sequence[str]] = (
    ("Neg", "Neg"),
    ("Abs", "Abs"),
    ("Relu", "Relu"),
    ("Neg", "Abs"),
    ("Abs", "Neg"),
    ("Neg", "Relu"),
    ("Floor", "Round"),
    ("Identity", "Identity"),
    ("Exp", "Log"),
    ("Abs", "Sqrt"),
    ("Mul", "Mul"),
    ("Mul", "Div"),
    ("Add", "Sub"),
    ("Add",),
    ("Mul",),
    ("Div",),
    ("Sub",),
    ("Softmax", "Log"),
    ("Max",),
    ("Min", "Max"),
    ("Unsqueeze", "Squeeze"),
    ("Transpose", "Transpose"),
    ("Reshape", "Reshape"),
    ("Concat", "Identity"),
    ("Dropout", "Neg"),
    ("Cast", "Cast"),
    ("Relu", "Clip"),
    ("Clip", "Clip"),
    ("Slice", "Slice"),
    ("MatMul", "Add"),
    ("Transpose", "Gemm"),
    ("Gemm", "Add", "Relu"),
    ("ReduceSum", "Unsqueeze"),
    ("ReduceSum", "ReduceSum"),
    ("ReduceSum", "Squeeze"),
    ("Transpose", "ReduceSum"),
    ("Transpose", "MatMul"),
    ("Div", "Div"),
    ("Mul", "Max"),
    ("Add", "Floor"),
    ("Where", "Where"),
)
"""Operators in turn that graph optimizers rewrite: copies, inverses, equal operators, and constants that fold."""

UNARY = frozenset({"Relu", "Floor", "Round", "Exp", "Log", "Sqrt", "Dropout"})
"""Operators of one floating-point operand."""

OTHER_TYPES = {
    "float": ("double", "float16"),
    "double": ("float", "float16"),
    "float16": ("float", "double"),
    "int32": ("int64", "double"),
    "int64": ("int32", "double"),
}
"""Types to which a Cast of a chain converts each type."""

CHAIN_CONSTANTS = (1.0, 0.0, 2.0, 0.5, -1.0, 3.0)
"""Second operands of the operators of `CHAINS`; with 1 or 0 some of them are copies."""

PATTERN_PROGRAMS_SHARE = 0.75
"""Share of the programs about graph optimizers that consist of patterns in the first place."""

MAX_PATTERN_DRAWS = 30
"""The most declared patterns that are drawn until one has the opset of the program."""

OTHER_SIZE_SHARE = 0.4
"""Probability that a size of a declared pattern is changed."""

MAX_PATTERN_SIZE = 7
"""The largest size to which a size of a declared pattern is changed."""

ZERO_SHARE = 0.04

NEARLY_EQUAL_SHARE = 0.08
"""Probability that all elements of a tensor but one are equal."""

DISTINCT_ELEMENTS = 6
"""The most distinct elements of an operand of a training optimizer: the oracle computes equal elements once."""


@dataclass(frozen=True)
class TypedName:
    """The name and the type of a value of a graph.

    Attributes:
        type: the name of the element type.
        shape: the sizes; None for a size that depends on the inputs.
        is_state: whether no element is negative, so that the value can be H.
    """

    name: str
    type: str
    shape: tuple[int | None, ...]
    is_state: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape of a value whose shape does not depend on the inputs."""
        return tuple(int(size or 0) for size in self.shape)

    @property
    def info(self) -> onnx.ValueInfoProto:
        """The declaration of the value."""
        return make_value_info(self.name, self.type, self.shape)

    def fits(self, other: TypedName) -> bool:
        """Return whether this value can stand for another one: it has the same type, and is a state if that is one."""
        return (self.type, self.shape) == (other.type, other.shape) and self.is_state >= other.is_state


@dataclass
class DrawnGraph:
    """A graph or a function under construction.

    Attributes:
        outer: the enclosing graph, or None.
        executions: about how often its statements run.
        parameters: for a function, the values of its attributes by name.
        inner_names: the names of the values of its subgraphs so far.
    """

    outer: DrawnGraph | None = None
    executions: int = 1
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    values: list[TypedName] = field(default_factory=list)
    parameters: dict[str, Any] | None = None
    inner_names: set[str] = field(default_factory=set)

    @property
    def around(self) -> Iterator[DrawnGraph]:
        """The graph and the enclosing ones, from the inside."""
        scope: DrawnGraph | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    @property
    def depth(self) -> int:
        """The number of enclosing graphs."""
        return len([*self.around]) - 1

    @property
    def function(self) -> dict[str, Any] | None:
        """The attributes of the function that contains this graph; None in the main graph."""
        return [*self.around][-1].parameters

    def append(
        self,
        op_type: str,
        taken: Sequence[TypedName],
        given: Sequence[TypedName],
        attributes: Iterable[onnx.AttributeProto] = (),
        domain: str = "",
        **more: Any,
    ) -> None:
        """Append a node that takes values and gives values."""
        inputs, outputs = ([value.name for value in values] for values in (taken, given))
        node = helper.make_node(op_type, inputs, outputs, domain=domain or None, **more)
        node.attribute.extend(attributes)
        self.nodes.append(node)

    def hold(self, value: TypedName, array: Array, *, is_initializer: bool) -> None:
        """Add the elements of a value as an initializer or as a Constant."""
        tensor = tensor_of(array, value.name)
        if is_initializer:
            self.initializers.append(tensor)
        else:
            self.append("Constant", [], [value], value=tensor)

    def graph(self, name: str, inputs: Sequence[TypedName], outputs: Sequence[TypedName]) -> onnx.GraphProto:
        """Return the graph."""
        taken, given = ([value.info for value in values] for values in (inputs, outputs))
        return helper.make_graph(self.nodes, name, taken, given, self.initializers)


@dataclass(frozen=True)
class DrawnFunction:
    """A function of the model, with the types of its inputs and outputs, and the usual values of its attributes."""

    proto: onnx.FunctionProto
    inputs: Sequence[TypedName]
    outputs: Sequence[TypedName]
    parameters: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(self.proto.name)


@dataclass
class DrawnProgram:
    """A program that is drawn.

    Attributes:
        chance: the random number generator.
        operator: the op_type that the program tests, or the name of the pass.
        type: the usual type of the tensors.
        rate_type: the type of learning rates.
        shapes: the usual shapes of the tensors.
        runs: for each run, the values of the inputs by name.
        inputs: the inputs of the main graph.
        constants: the constants of chains by type, shape and bytes.
        pattern_functions: the functions of declared patterns.
        pattern_count: the number of declared patterns.
        domains: the versions of the domains that declared patterns import.
    """

    chance: random.Random
    operator: str
    inputs: list[TypedName] = field(default_factory=list)
    overridable: list[TypedName] = field(default_factory=list)
    functions: list[DrawnFunction] = field(default_factory=list)
    main: DrawnGraph = field(default_factory=DrawnGraph)
    constants: dict[tuple[str, tuple[int, ...], bytes], list[TypedName]] = field(default_factory=dict)
    pattern_functions: list[onnx.FunctionProto] = field(default_factory=list)
    pattern_count: int = 0
    domains: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = self.chance
        self.is_training = self.operator in TRAINING_OPTIMIZERS
        types = ("float",) * 4 + ("double",)
        self.type = chance.choice(types if self.is_training else (*types, "double", "float16", "int32", "int64"))
        self.rate_type = self.type if self.is_likely(0.85) else chance.choice(("float", "double"))
        self.opset = chance.choice(OPSETS if self.is_training or self.is_likely(0.8) else (11, 12))
        usable = [shape for shape in SHAPES if self.is_training or (shape and 0 not in shape)]
        first = chance.choice(usable[: chance.choice((4, 6, len(usable)))])
        self.shapes = [first, first, first, chance.choice(usable)]
        self.runs: list[dict[str, Array]] = [{} for _ in range(chance.choice((1, 1, 2, 2, 3)))]
        self.has_patterns = self.operator == PASS_NAME and self.is_likely(PATTERN_PROGRAMS_SHARE)
        if self.has_patterns and (built := draw_declared(chance)):
            self.opset = main_opset(onnx.load_model_from_string(built.model))

    def is_likely(self, probability: float) -> bool:
        """Draw whether something is the case."""
        return self.chance.random() < probability

    def often_last(self, values: Sequence[Any], probability: float) -> Any:
        """Draw one of some objects; the last one has this probability, in addition to its share of the rest."""
        return values[-1] if self.is_likely(probability) else self.chance.choice(values)

    # values

    def name(self, scope: DrawnGraph) -> str:
        """Return a name that no visible value has, and no value of an earlier subgraph.

        The specification leaves open whether a graph may use a name that a subgraph before uses.
        """
        taken = self._taken_names(scope)
        free = [name for name in NAMES if name not in taken]
        return self.chance.choice(free[:12]) if free else self._numbered_name(taken, "v")

    def define(
        self, scope: DrawnGraph, type: str, shape: Sequence[int | None], *, is_state: bool = False, name: str = ""
    ) -> TypedName:
        """Add a value to a graph; a node, an input or an initializer must have its name."""
        value = TypedName(name or self.name(scope), type, tuple(shape), is_state)
        scope.values.append(value)
        for each in [*scope.around][1:]:
            each.inner_names.add(value.name)
        return value

    def define_like(self, scope: DrawnGraph, values: Iterable[TypedName]) -> list[TypedName]:
        """Add a value of the type and shape of each of some values to a graph."""
        return [self.define(scope, each.type, each.shape, is_state=each.is_state) for each in values]

    def array(self, type: str, shape: Sequence[int], *, is_state: bool = False) -> Array:
        """Draw the elements of an array."""
        dtype = dtype_of(type_number(type))
        chance = self.chance
        if type == "bool":
            return np.array([self.is_likely(0.6) for _ in range(prod(shape))]).astype(bool).reshape(shape)
        if type == "int64" and not shape and self.is_training:
            return np.array(chance.choice((0, 1, 2, 3, 5, 10)), dtype)
        if dtype.kind in "iu":
            least = -4 if dtype.kind == "i" else 0
            return np.array([chance.randint(least, 9) for _ in range(prod(shape))], dtype).reshape(shape)
        size = prod(shape)
        distinct = min(size, DISTINCT_ELEMENTS) if self.is_training else size
        numbers = [
            0.0 if self.is_likely(ZERO_SHARE) else chance.choice((*NUMBERS, chance.uniform(-2, 2)))
            for _ in range(distinct)
        ]
        if distinct < size:
            numbers = [numbers[place] for place in spread_indices(size, distinct, 0)]
        if size > 1 and self.is_likely(NEARLY_EQUAL_SHARE):
            numbers = [numbers[0]] * size
            numbers[chance.randrange(size)] = chance.choice(NUMBERS)
        if not shape and self.is_training:
            numbers = [chance.choice(RATES)]
        found = np.array(numbers, dtype).reshape(shape)
        return np.abs(found) if is_state else found

    def supply(self, scope: DrawnGraph, type: str, shape: Sequence[int], *, is_state: bool = False) -> TypedName:
        """Add a value that no other value determines: an input of the main graph, an initializer or a Constant."""
        # the first free name of its kind: constants of sibling graphs often have equal names
        name = self._numbered_name(self._taken_names(scope), "w")
        value = self.define(scope, type, shape, is_state=is_state, name=name)
        draw = partial(self.array, type, shape, is_state=is_state)
        if scope is self.main and self.is_likely(0.7):
            self.inputs.append(value)
            for run in self.runs:
                run[value.name] = draw()
        else:
            is_initializer = scope.parameters is None and self.is_likely(0.7)
            scope.hold(value, draw(), is_initializer=is_initializer)
            if is_initializer and scope is self.main and self.is_likely(0.1):
                self.overridable.append(value)
        return value

    def _taken_names(self, scope: DrawnGraph) -> set[str]:
        return scope.inner_names.union(value.name for each in scope.around for value in each.values)

    def _numbered_name(self, taken: Container[str], letter: str) -> str:
        return next(name for number in count() if (name := f"{letter}{number}") not in taken)

    def constant(self, scope: DrawnGraph, elements: Any, type: str = "int64") -> TypedName:
        """Add a constant of given elements."""
        array = np.array(elements, dtype_of(type_number(type)))
        value = self.define(scope, type, array.shape)
        scope.hold(value, array, is_initializer=scope.parameters is None and self.is_likely(0.6))
        return value

    def pick(self, scope: DrawnGraph, type: str, shape: Sequence[int], *, is_state: bool = False) -> TypedName:
        """Return a visible value of a type and shape: often a late one of this graph, seldom a new one."""
        required = TypedName("", type, tuple(shape), is_state)
        own = [value for value in scope.values if value.fits(required)]
        outer = [value for each in scope.around if each is not scope for value in each.values if value.fits(required)]
        found = own if own and (not outer or self.is_likely(0.6)) else outer
        if not found or self.is_likely(0.3 if scope is self.main and len(found) < 4 else 0.08):
            return self.supply(scope, type, shape, is_state=is_state)
        picked: TypedName = self.often_last(found, 0.3)
        return picked

    def pick_like(self, scope: DrawnGraph, value: TypedName) -> TypedName:
        """Return a visible value of the type and shape of another one, which is a state if that one is."""
        return self.pick(scope, value.type, value.sizes, is_state=value.is_state)

    def shape(self) -> tuple[int, ...]:
        """Draw a shape."""
        return self.chance.choice(self.shapes)

    def add(
        self,
        scope: DrawnGraph,
        op_type: str,
        taken: Sequence[TypedName],
        *,
        like: TypedName | None = None,
        domain: str = "",
        is_state: bool = False,
        **attributes: Any,
    ) -> TypedName:
        """Add a node of one output, with the type and shape of its first input or of `like`."""
        like = like or taken[0]
        value = self.define(scope, like.type, like.shape, is_state=is_state)
        scope.append(op_type, taken, [value], domain=domain, **attributes)
        return value

    def copy(self, scope: DrawnGraph, value: TypedName) -> TypedName:
        """Add an Identity."""
        return self.add(scope, "Identity", [value], is_state=value.is_state)

    # statements

    def fill(self, scope: DrawnGraph, count: int) -> None:
        """Add statements to a graph."""
        for _ in range(count):
            kinds = {self.tested: 5, self.twin: 2, self.plain: 4, self.scalar: 1.5, self.call: 1.5}
            if self.operator == PASS_NAME:
                kinds |= {self.pattern: 4, self.declared: 50 if self.has_patterns else 2}
            if scope.depth < MAX_DEPTH and scope.executions * 3 < MAX_EXECUTIONS:
                kinds |= {self.branch: 2.5, self.loop: 2, self.scan: 0.7}
            self.chance.choices([*kinds], [*kinds.values()])[0](scope)

    def tested(self, scope: DrawnGraph) -> None:
        """Add a tested node."""
        (self.step if self.is_training else self.index)(scope)

    def step(self, scope: DrawnGraph) -> None:
        """Add a training optimizer."""
        operator = self.operator if self.is_likely(0.8) else self.chance.choice([*TRAINING_OPTIMIZERS])
        optimizer = TRAINING_OPTIMIZERS[operator]
        count = self.chance.choice((1, 1, 1, 2, 2, 3))
        shapes = [self.shape() for _ in range(count)]
        own = self.type if self.is_likely(0.9) or self.type == "double" else self.chance.choice(("float", "double"))
        rate = self.pick(scope, self.rate_type, ())
        T = self.pick(scope, "int64", ())
        source = scope.outer if scope.outer is not None and self.is_likely(0.15) else scope
        tensors = [
            self.pick(source, own, shape, is_state=letter == "H") for letter in optimizer.operands for shape in shapes
        ]
        if self.is_likely(0.1):
            tensors[count] = self._add_decay(scope, tensors[0], tensors[count])
        self._add_step(scope, operator, [rate, T, *tensors], self._attributes(scope, operator))

    def _add_decay(self, scope: DrawnGraph, X: TypedName, G: TypedName) -> TypedName:
        """Add nodes that add a part of X to a gradient."""
        factor = self.constant(scope, self.chance.choice(FACTORS), X.type)
        return self.add(scope, "Add", [self.add(scope, "Mul", [X, factor]), G])

    def _add_step(
        self, scope: DrawnGraph, operator: str, taken: Sequence[TypedName], attributes: Sequence[onnx.AttributeProto]
    ) -> None:
        optimizer = TRAINING_OPTIMIZERS[operator]
        count = (len(taken) - 2) // len(optimizer.operands)
        given = [
            self.define(scope, taken[2 + place].type, taken[2 + place].shape, is_state=letter == "H_new")
            for letter in optimizer.results
            for place in range(count)
        ]
        scope.append(operator, taken, given, attributes, optimizer.domain)

    def _attributes(self, scope: DrawnGraph, operator: str) -> list[onnx.AttributeProto]:
        """Draw the attributes of a training optimizer; in a function, some refer to attributes of the call."""
        defaults = TRAINING_OPTIMIZERS[operator].defaults
        names = [name for name in USUAL_ATTRIBUTES[operator] if name not in defaults or self.is_likely(0.6)]
        return [self._attribute(scope, name, self._attribute_value(operator, name)) for name in names]

    def _attribute_value(self, operator: str, name: str) -> Any:
        if name == "mode":
            return self.chance.choice(("standard", "nesterov"))
        usual = USUAL_ATTRIBUTES[operator].get(name, 0.5)
        value = usual if self.is_likely(0.4) else self.chance.choice(ATTRIBUTE_VALUES)
        return value or 0.0625 if name == "epsilon" else value

    def _attribute(self, scope: DrawnGraph, name: str, value: Any) -> onnx.AttributeProto:
        """Return an attribute; in a function, often one that refers to an attribute of the call."""
        made = helper.make_attribute(name, value)
        parameters = scope.function
        if parameters is None or self.is_likely(0.4):
            return made
        own = name if self.is_likely(0.6) else f"{name[:2]}_own"
        stored = parameters.setdefault(own, value)
        if type(stored) is not type(value) or (isinstance(value, int) and stored > value):  # no axis of the tensor
            return made
        return onnx.AttributeProto(name=name, type=made.type, ref_attr_name=own)

    def index(self, scope: DrawnGraph) -> None:
        """Add operators of the pass and an ArgMax; a function of the same name can stand for each."""
        value = self.pick(scope, self.type, self.shape(), is_state=self.is_likely(0.4))
        axis = self.chance.randrange(len(value.shape))
        is_float = self.type in {"float", "double", "float16"}
        for _ in range(self.chance.choice((0, 1, 1, 1, 2, 3)) if is_float else 0):
            op_type = self.chance.choice(CHAIN_OPERATORS if value.is_state else ("Exp", "Softmax", "LogSoftmax"))
            is_positive = op_type in {"Exp", "Sqrt", "Softmax"}
            along: dict[str, Any] = {}
            if op_type in ALONG_AXIS and self.is_likely(0.85):
                other = (axis + 1) % len(value.shape)
                along["axis"] = self.chance.choices((axis, other), (7, 2))[0]
            if self.is_likely(0.1):
                value = self._look_alike(scope, op_type, value)
            else:
                value = self.add(scope, op_type, [value], is_state=is_positive, **along)
            if self.is_likely(0.15):
                self.plain(scope)
        attributes = {"axis": axis} if axis or self.is_likely(0.9) else {}
        if self.is_likely(0.5):
            attributes["keepdims"] = self.chance.randrange(2)
        if self.is_likely(0.3) and self.opset > 11:
            attributes["select_last_index"] = self.chance.randrange(2)
        if self.is_likely(0.1):
            self._look_alike(scope, "ArgMax", value)
            return
        self._add_index(scope, value, [self._attribute(scope, *each) for each in attributes.items()], attributes)

    def _add_index(
        self, scope: DrawnGraph, value: TypedName, attributes: Sequence[onnx.AttributeProto], given: Mapping[str, int]
    ) -> None:
        has_references = any(each.ref_attr_name for each in attributes)
        shape = argmax_shape(value.sizes, given.get("axis", 0), given.get("keepdims", 1))
        index = self.define(scope, "int64", (None,) * len(shape) if has_references else shape)
        scope.append("ArgMax", [value], [index], attributes)
        if not has_references and self.is_likely(0.3):
            self._read_index(scope, index)

    def _read_index(self, scope: DrawnGraph, index: TypedName) -> None:
        """Add an operator that reads an index: a runtime may fuse it into ArgMax, or compute it from the operand."""
        kind = self.chance.choice(("Add", "Cast", "Shape", "Squeeze", "Unsqueeze"))
        shape = index.sizes
        if kind == "Add":
            self.add(scope, kind, [index, index])
        elif kind == "Shape":
            self.add(scope, kind, [index], like=TypedName("", "int64", (len(shape),)))
        elif kind == "Cast":
            type = self.chance.choice(("int32", "float", "double"))
            self.add(scope, kind, [index], like=TypedName("", type, shape), to=type_number(type))
        elif self.opset >= AXES_AS_INPUT:
            places = range(len(shape) + 1)
            if axes := [axis for axis in places if kind == "Unsqueeze" or shape[axis : axis + 1] == (1,)]:
                axis = self.chance.choice(axes)
                rest = (1, *shape[axis:]) if kind == "Unsqueeze" else shape[axis + 1 :]
                like = TypedName("", "int64", (*shape[:axis], *rest))
                self.add(scope, kind, [index, self.constant(scope, [axis])], like=like)

    def _look_alike(self, scope: DrawnGraph, op_type: str, value: TypedName) -> TypedName:
        """Add a call of a function that has the name of an operator and computes something else."""
        if not any(each.name == op_type for each in self.functions):
            inner = DrawnGraph(parameters={})
            taken = self.define(inner, value.type, value.shape)
            given = self.add(inner, "Neg", [taken])
            self._close_function(inner, op_type, [taken], [given])
        found = next(each for each in self.functions if each.name == op_type)
        taken, *more = (*found.inputs, *found.outputs)
        keeps = len(more) == 1 and (taken.type, taken.shape) == (more[0].type, more[0].shape)
        if keeps and value.fits(taken) and not found.parameters:
            return self.add(scope, op_type, [value], domain=DOMAIN, like=found.outputs[0])
        return self.add(scope, "Neg", [value])

    def twin(self, scope: DrawnGraph) -> None:
        """Add a copy of a tested node of this graph, with another operand, another attribute, or the new state."""
        tested = {*TRAINING_OPTIMIZERS, "ArgMax"}
        found = [node for node in scope.nodes if node.op_type in tested and node.domain != DOMAIN]
        if not found:
            self.tested(scope)
            return
        node = self.often_last(found, 0.5)
        known = {value.name: value for each in scope.around for value in reversed(each.values)}
        taken = [known[name] for name in node.input]
        change = self.chance.choice(("attribute", "operand", "state", "nothing"))
        attributes = [*node.attribute]
        if node.op_type == "ArgMax":
            if change == "operand":
                taken = [self.pick(scope, taken[0].type, taken[0].sizes)]
            given = {each.name: each.i for each in attributes if not each.ref_attr_name}
            if change == "attribute" and self.opset > 11:
                attributes = [each for each in attributes if each.name != "select_last_index"]
                attributes.append(helper.make_attribute("select_last_index", 1 - given.get("select_last_index", 0)))
            self._add_index(scope, taken[0], attributes, given)
            return
        if change == "attribute":
            name = self.chance.choice([*USUAL_ATTRIBUTES[node.op_type]])
            attributes = [each for each in attributes if each.name != name]
            attributes.append(self._attribute(scope, name, self._attribute_value(node.op_type, name)))
        tensors = (len(taken) - 2) // len(TRAINING_OPTIMIZERS[node.op_type].operands)
        if change == "state":
            results = [known[name] for name in node.output]
            taken[2 : 2 + tensors] = results[:tensors]
            taken[2 + 2 * tensors :] = results[tensors:]
        places = {"operand": range(len(taken)), "state": range(2 + tensors, 2 + 2 * tensors)}
        for place in places.get(change, ()):
            if self.is_likely(0.3):
                taken[place] = self.pick_like(scope, taken[place])
        self._add_step(scope, node.op_type, taken, attributes)

    def plain(self, scope: DrawnGraph) -> None:
        """Add a cheap operator."""
        kind = self.chance.choice(("Neg", "Abs", "Add", "Sub", "Mul", "Identity", "Reshape", "Transpose", "Cast"))
        value = self.pick(scope, self.type, self.shape())
        shape = value.sizes
        if kind in {"Add", "Sub"}:
            self.add(scope, kind, [value, self.pick(scope, value.type, shape)])
        elif kind == "Mul":
            self.add(scope, kind, [value, self.constant(scope, self.chance.choice(FACTORS), self.type)])
        elif kind == "Reshape" and shape and all(shape):
            reshaped = value
            for new in ((1, *shape), shape):
                taken = [reshaped, self.constant(scope, new)]
                like = TypedName("", value.type, new)
                reshaped = self.add(scope, kind, taken, like=like, is_state=value.is_state)
        elif kind == "Transpose" and len(shape) == 2:
            turned = TypedName("", value.type, shape[::-1])
            self.add(scope, kind, [value], like=turned, is_state=value.is_state, perm=[1, 0])
        elif kind == "Cast" and value.type == "float":
            exact = self.supply(scope, "float", shape)
            double = TypedName("", "double", shape)
            self.add(scope, kind, [exact], like=double, to=onnx.TensorProto.DOUBLE)
        elif kind in {"Neg", "Abs"}:
            self.add(scope, kind, [value], is_state=kind == "Abs")
        else:
            self.copy(scope, value)

    def pattern(self, scope: DrawnGraph) -> None:
        """Add operators in turn that graph optimizers rewrite; further statements may read the values between."""
        first = self.pick(scope, self.type if self.is_likely(0.7) else self.chance.choice([*OTHER_TYPES]), self.shape())
        value = first
        for kind in self.chance.choice(CHAINS):
            value = self._link(scope, kind, value, first) or self.copy(scope, value)

    def _link(self, scope: DrawnGraph, kind: str, value: TypedName, first: TypedName) -> TypedName | None:
        """Add an operator to a chain, and return its result; None if the operator does not take the value.

        Args:
            scope: the graph.
            kind: the operator.
            value: the last value of the chain.
            first: the first value of the chain.
        """
        shape = value.sizes
        is_float = not value.type.startswith("int")
        has_axes_input = self.opset >= AXES_AS_INPUT
        taken = [value]
        sizes = shape
        given: dict[str, Any] = {}
        to = value.type
        match kind:
            case "Mul" | "Div" | "Add" | "Sub" | "Max" | "Min":
                number = self.chance.choice(CHAIN_CONSTANTS)
                taken += [value if self.is_likely(0.15) else self.shared_constant(scope, number, value.type)]
            case "Unsqueeze" if has_axes_input:
                taken += [self.shared_constant(scope, [0])]
                sizes = (1, *shape)
            case "Squeeze" if has_axes_input and shape and shape[0] == 1:
                taken += [self.shared_constant(scope, [0])]
                sizes = shape[1:]
            case "ReduceSum" if has_axes_input and shape:
                axis = self.chance.randrange(len(shape))
                taken += [self.shared_constant(scope, [axis])]
                given = {"keepdims": self.chance.choice((0, 0, 1))}
                sizes = (*shape[:axis], *[1] * given["keepdims"], *shape[axis + 1 :])
            case "Transpose" if len(shape) > 1:
                order = (
                    self.chance.sample(range(len(shape)), len(shape))
                    if self.is_likely(0.3)
                    else range(len(shape))[::-1]
                )
                given = {"perm": [*order]}
                sizes = tuple(shape[axis] for axis in order)
            case "Reshape" if shape and all(shape):
                sizes = first.sizes if shape != first.sizes else (prod(shape),)
                taken += [self.shared_constant(scope, sizes)]
            case "Concat" | "Softmax" if shape and (kind == "Concat" or is_float):
                given = {"axis": 0}
            case "Cast":
                to = first.type if value.type != first.type else self.chance.choice(OTHER_TYPES[value.type])
                given = {"to": type_number(to)}
            case "Clip" if is_float:
                taken += [self.shared_constant(scope, self.chance.choice(CHAIN_CONSTANTS), to) for _ in range(2)]
            case "Slice" if shape and shape[0] > 1:
                start = self.chance.choice((0, 1))
                step = self.chance.choice((1, 1, 2))
                last = self.chance.choice((shape[0], 99, 2**31 - 1))
                taken += [self.shared_constant(scope, [each]) for each in (start, last, 0, step)]
                sizes = (len(range(start, shape[0], step)), *shape[1:])
            case "MatMul" | "Gemm" if len(shape) == 2 and is_float:
                taken += [self.pick(scope, to, (shape[1], shape[1]))]
                taken += [self.pick(scope, to, (shape[1],))] if kind == "Gemm" else []
            case "Where":
                taken = [self.condition(scope), value, self.pick_like(scope, value)]
            case _ if kind not in {"Neg", "Abs"} and not (kind in UNARY and is_float):
                return None
        return self.add(scope, kind, taken, like=TypedName("", to, sizes), **given)

    def declared(self, scope: DrawnGraph) -> None:
        """Add a pattern of the declarations with other names and sizes; further statements may read all its values."""
        draws = (draw_declared(self.chance) for _ in range(MAX_PATTERN_DRAWS))
        patterns = ((onnx.load_model_from_string(built.model), built.data_sets[0]) for built in draws if built)
        model, arrays = next((pair for pair in patterns if main_opset(pair[0]) == self.opset), (None, ()))
        if model is None:
            self.pattern(scope)
            return
        self.pattern_count += 1
        prefix = f"p{self.pattern_count}_"
        model = infer_shapes(model)
        graph = model.graph
        self._own_domains(model, prefix)
        given = dict(zip(fed_input_names(graph, len(arrays)), arrays, strict=False))
        required = {*required_input_names(graph)}
        declared = [value for value in graph.input if value.name in required]
        taken = {value.name: self._pattern_input(scope, value, given[value.name]).name for value in declared}
        overridable = {prefix + value.name for value in graph.input if value.name not in required}
        for each in all_graphs(model):
            for value in (*each.input, *each.output, *each.value_info):
                for size in value.type.tensor_type.shape.dim:
                    size.ClearField("dim_param")  # the sizes of two patterns may differ
        Renamer(prefix.__add__).rename_graph(graph, {}, lambda name: taken.get(name) or prefix + name)
        for tensor in graph.initializer:
            value = self.define(scope, type_name(dtype_of(tensor.data_type)), tensor.dims, name=tensor.name)
            scope.hold(value, array_of(tensor), is_initializer=scope.parameters is None)
            if scope is self.main and tensor.name in overridable:
                self.overridable.append(value)
        scope.nodes.extend(graph.node)
        made = {name for node in graph.node for name in node.output}
        known = {value.name: value for value in (*graph.value_info, *graph.output)}
        for name in filter(made.__contains__, known):
            tensor = known[name].type.tensor_type
            if tensor.HasField("shape") and dtype_of(tensor.elem_type).kind in "biuf":
                self.define(scope, *_declared_type(known[name]), name=name)

    def _own_domains(self, model: onnx.ModelProto, prefix: str) -> None:
        """Put the functions of a pattern into a domain of their own, and add the functions and imports."""
        calls = {*map(function_name, model.functions)}
        own = {domain: f"{domain}.{prefix}" for domain, *_ in calls}
        for node in all_nodes(model):
            if called_name(node) in calls:
                node.domain = own[node.domain]
        for function in model.functions:
            function.domain = own[function.domain]
            for entry in (entry for entry in function.opset_import if entry.domain in own):
                function.opset_import.add(domain=own[entry.domain], version=entry.version)
        self.pattern_functions += model.functions
        imported = {entry.domain: entry.version for entry in model.opset_import if entry.domain not in MAIN_DOMAINS}
        self.domains |= imported | {new: imported.get(domain, 1) for domain, new in own.items()}

    def _pattern_input(self, scope: DrawnGraph, declared: onnx.ValueInfoProto, array: Array) -> TypedName:
        """Return a value for an input of a pattern: a visible one, an input of the model, or a constant."""
        type, shape = _declared_type(declared)
        is_float = array.dtype.kind == "f"
        if is_float and self.is_likely(0.4):
            return self.pick(scope, type, array.shape)
        name = self._numbered_name(self._taken_names(scope) | self._taken_names(self.main), "w")
        if scope.function is None and self.is_likely(0.85):
            value = self.define(self.main, type, shape, name=name)
            self.inputs.append(value)
            for number, run in enumerate(self.runs):
                elements = self.chance.sample([*array.flat], array.size) if number and is_float else array
                run[name] = np.array(elements, array.dtype).reshape(array.shape)
            return value
        value = self.define(scope, type, array.shape, name=name)
        scope.hold(value, array, is_initializer=scope.parameters is None)
        return value

    def shared_constant(self, scope: DrawnGraph, elements: Any, type: str = "int64") -> TypedName:
        """Return a constant of given elements: often one that other nodes read, also in an outer graph."""
        array = np.array(elements, dtype_of(type_number(type)))
        key = (type, array.shape, array.tobytes())
        known = [value for value in self.constants.get(key, ()) if any(value in each.values for each in scope.around)]
        if known and self.is_likely(0.6):
            return known[0]
        value = self.constant(scope, elements, type)
        if scope is self.main and value.name in {each.name for each in scope.initializers} and self.is_likely(0.1):
            self.overridable.append(value)
        self.constants.setdefault(key, []).append(value)
        return value

    def scalar(self, scope: DrawnGraph) -> None:
        """Add a node that computes R, T or a condition."""
        kind = self.chance.choice(("R", "T", "condition") if self.is_training else ("condition",))
        if kind == "R":
            rate = self.pick(scope, self.rate_type, ())
            factor = self.constant(scope, self.chance.choice((0.5, 2.0, 0.75)), self.rate_type)
            self.add(scope, "Mul", [rate, factor])
        elif kind == "T":
            self.add(scope, "Add", [self.pick(scope, "int64", ()), self.constant(scope, 1)])
        else:
            self.condition(scope)

    def condition(self, scope: DrawnGraph) -> TypedName:
        """Return a condition: a visible or a new one, or one that a node computes."""
        kind = self.chance.choice(("Not", "Less", "Greater", "And", "Or", *("picked",) * 6))
        if kind == "Not":
            return self.add(scope, kind, [self.pick(scope, "bool", ())])
        if kind in {"And", "Or"}:
            return self.add(scope, kind, [self.pick(scope, "bool", ()) for _ in range(2)])
        if kind in {"Less", "Greater"}:
            number = self.constant(scope, self.chance.choice((0, 1, 2, 3)))
            return self.add(scope, kind, [self.pick(scope, "int64", ()), number], like=TypedName("", "bool", ()))
        return self.pick(scope, "bool", ())

    def branch(self, scope: DrawnGraph) -> None:
        """Add an If."""
        condition = self.condition(scope)
        inner = [DrawnGraph(scope, scope.executions) for _ in range(2)]
        for each in inner:
            self.fill(each, self.chance.choice((0, 1, 1, 2, 3)))
        own = [value for value in inner[0].values + inner[1].values if None not in value.shape]
        chosen = self.chance.sample(own, min(len(own), self.chance.choice((1, 1, 2, 3))))
        chosen = chosen or [self.pick(scope, self.type, self.shape())]
        outputs: list[list[TypedName]] = [[], []]
        for value in chosen:
            for each, given in zip(inner, outputs, strict=True):
                left = [one for one in each.values if _is_computed(each, one) and one.fits(value) and one not in given]
                if not left or self.is_likely(0.1):
                    left = [self.copy(each, self.pick_like(each, value))]
                given.append(self.often_last(left, 0.6))
        graphs = [each.graph(f"g{place}", [], outputs[place]) for place, each in enumerate(inner)]
        results = [
            self.define(scope, one.type, one.shape, is_state=one.is_state and other.is_state)
            for one, other in zip(*outputs, strict=True)
        ]
        scope.append("If", [condition], results, map(helper.make_attribute, ("then_branch", "else_branch"), graphs))

    def _carried(self, scope: DrawnGraph) -> list[TypedName]:
        """Return visible values that a Loop or a Scan carries from one iteration to the next."""
        shape = self.shape()
        rates = [(self.rate_type, ())] * self.is_likely(0.3) if self.is_training else []
        kinds: list[tuple[str, tuple[int, ...]]] = [(self.type, shape) for _ in range(self.chance.choice((1, 2, 2, 3)))]
        kinds += [("int64", ())] * self.is_likely(0.5) if self.is_training else []
        found = [self.pick(scope, type, shape, is_state=self.is_likely(0.25)) for type, shape in kinds + rates]
        return [value for value in found if None not in value.shape]

    def _close_body(self, body: DrawnGraph, formals: Sequence[TypedName]) -> tuple[list[TypedName], list[TypedName]]:
        """Return the new values of carried values, and the values that become scan outputs."""
        updated: list[TypedName] = []
        for formal in formals:
            left = [
                value
                for value in body.values
                if value.fits(formal) and value not in updated and _is_computed(body, value)
            ]
            if not left or self.is_likely(0.15):
                others = [value for value in formals if value.fits(formal)]
                if formal.type == "int64":
                    left = [self.add(body, "Add", [formal, self.constant(body, 1)])]
                elif formal.type == self.rate_type and not formal.shape and self.is_likely(0.5):
                    left = [self.add(body, "Add", [formal, formal], is_state=formal.is_state)]
                else:
                    source = self.chance.choice(others)
                    is_handed_on = source not in updated and self.is_likely(0.5)
                    left = [source if is_handed_on else self.copy(body, source)]
            updated.append(self.often_last(left, 0.6))
        own = [value for value in body.values if _is_computed(body, value) and None not in value.shape]
        own = [value for value in own if value not in updated or self.is_likely(0.3)]
        return updated, self.chance.sample(own, min(len(own), self.chance.choice((0, 1, 1, 2))))

    def loop(self, scope: DrawnGraph) -> None:
        """Add a Loop."""
        chance = self.chance
        carried = self._carried(scope)
        absent = TypedName("", "int64", ())
        ends_early = self.is_likely(0.5)
        trips = [chance.choice(TRIPS if ends_early else TRIPS[:8]) for _ in self.runs]
        limit = chance.choice(LAST_ITERATIONS)
        if scope is self.main and self.is_likely(0.4):
            trip = self.define(scope, "int64", ())
            self.inputs.append(trip)
            for run, number in zip(self.runs, trips, strict=True):
                run[trip.name] = np.array(number)
        elif ends_early and self.is_likely(0.25):
            trip = absent
        else:
            trip, trips = self.constant(scope, trips[0]), trips[:1]
        is_conditional = ends_early or self.is_likely(0.4)
        is_entered = is_conditional and self.is_likely(0.3)
        condition = self.condition(scope) if is_conditional else TypedName("", "bool", ())
        if is_entered:
            condition = self.constant(scope, True, "bool")
        most = max(1, limit + 2 if ends_early else max(trips))
        body = DrawnGraph(scope, scope.executions * most)
        iteration = self.define(body, "int64", ())
        going = self.define(body, "bool", ())
        formals = self.define_like(body, carried)
        self.fill(body, chance.choice((1, 1, 2, 3)))
        if ends_early:
            again = self.add(body, "Less", [iteration, self.constant(body, limit)], like=going)
        elif is_conditional and self.is_likely(0.3):
            again = self.add(body, "Identity", [self.supply(body, "bool", ())])
        else:
            again = self.add(body, "Identity", [going])
        updated, scanned = self._close_body(body, formals)
        if not min(trips) or (is_conditional and not is_entered):
            scanned = scanned if self.is_likely(0.1) else []
        graph = body.graph("body", [iteration, going, *formals], [again, *updated, *scanned])
        results = self.define_like(scope, carried)
        results += [self.define(scope, each.type, (None, *each.shape)) for each in scanned]
        taken = [trip, condition, *carried]
        while taken and not taken[-1].name:
            taken.pop()
        scope.append("Loop", taken, results, body=graph)

    def scan(self, scope: DrawnGraph) -> None:
        """Add a Scan."""
        carried = self._carried(scope)
        length = self.chance.choice((1, 2, 2, 3))
        shape = self.shape()
        rows = [self.pick(scope, self.type, (length, *shape)) for _ in range(self.chance.choice((1, 1, 2)))]
        body = DrawnGraph(scope, scope.executions * length)
        formals = self.define_like(body, carried)
        parts = [self.define(body, self.type, shape) for _ in rows]
        self.fill(body, self.chance.choice((1, 1, 2, 3)))
        updated, scanned = self._close_body(body, formals)
        graph = body.graph("body", [*formals, *parts], [*updated, *scanned])
        results = self.define_like(scope, carried)
        results += [self.define(scope, each.type, (length, *each.shape)) for each in scanned]
        attributes: dict[str, Any] = {"num_scan_inputs": len(rows)}
        if self.is_likely(0.4):
            attributes["scan_input_directions"] = [self.chance.randrange(2) for _ in rows]
        if scanned and self.is_likely(0.4):
            attributes["scan_output_directions"] = [self.chance.randrange(2) for _ in scanned]
        if results:
            scope.append("Scan", [*carried, *rows], results, body=graph, **attributes)

    def call(self, scope: DrawnGraph) -> None:
        """Add a call of a function: of a new one, or of a known one with other operands and attributes."""
        known = [each for each in self.functions if scope.executions < MAX_EXECUTIONS / 4]
        if scope.parameters is None and (not known or (len(known) < 3 and self.is_likely(0.4))):
            self._new_function(scope)
            known = self.functions[-1:]
        if not known:
            self.tested(scope)
            return
        function = self.chance.choice(known)
        taken = [self.pick_like(scope, value) for value in function.inputs]
        given = self.define_like(scope, function.outputs)
        attributes = []
        defaults = {attribute.name for attribute in function.proto.attribute_proto}
        for name, value in function.parameters.items():
            if name in defaults and self.is_likely(0.5):
                continue
            other = value
            if isinstance(value, float) and self.is_likely(0.6):
                other = self.chance.choice(ATTRIBUTE_VALUES[:4])
            elif isinstance(value, str) and self.is_likely(0.5):
                other = self.chance.choice(("standard", "nesterov"))
            attributes.append(helper.make_attribute(name, other))
        scope.append(function.name, taken, given, attributes, DOMAIN)

    def _new_function(self, scope: DrawnGraph) -> None:
        inner = DrawnGraph(parameters={}, executions=scope.executions)
        kinds: list[tuple[str, tuple[int, ...], bool]] = [
            (self.type, self.shape(), self.is_likely(0.3)) for _ in range(self.chance.choice((1, 2, 3, 4)))
        ]
        if self.is_training:
            kinds += [(self.rate_type, (), False), ("int64", (), False)]
        inputs = [self.define(inner, type, shape, is_state=is_state) for type, shape, is_state in kinds]
        self.fill(inner, self.chance.choice((1, 2, 3)))
        own = [value for value in inner.values if _is_computed(inner, value) and None not in value.shape]
        if not own:
            own = [self.add(inner, "Neg", inputs[:1])]
        taken = {function.name for function in self.functions}
        name = self.chance.choice([name for name in FUNCTION_NAMES if name not in taken])
        self._close_function(inner, name, inputs, self.chance.sample(own, min(len(own), self.chance.choice((1, 2, 3)))))

    def _close_function(
        self, inner: DrawnGraph, name: str, inputs: Sequence[TypedName], outputs: Sequence[TypedName]
    ) -> None:
        parameters = inner.parameters or {}
        defaults = [name for name in parameters if self.is_likely(0.5)]
        imports = self._imports({"": self.opset if self.is_likely(0.9) else self.opset + 1, DOMAIN: 1})
        proto = helper.make_function(
            DOMAIN,
            name,
            [value.name for value in inputs],
            [value.name for value in outputs],
            inner.nodes,
            imports,
            [name for name in parameters if name not in defaults],
            [helper.make_attribute(name, parameters[name]) for name in defaults],
        )
        self.functions.append(DrawnFunction(proto, inputs, outputs, parameters))

    def _imports(self, opsets: Mapping[str, int]) -> list[onnx.OperatorSetIdProto]:
        """Return the imports of some versions by domain, and those of the training optimizers if they are tested."""
        tested = {each.domain: each.version for each in TRAINING_OPTIMIZERS.values()} if self.is_training else {}
        return [helper.make_opsetid(*opset) for opset in {**opsets, **tested, **self.domains}.items()]

    # the model

    def build(self) -> BuiltModel:
        """Draw the statements, and return the model and its data."""
        main = self.main
        chance = self.chance
        if self.is_likely(0.7):
            self.supply(main, "bool", ())
        self.fill(main, chance.randint(3, 9))
        read = {name for node in main.nodes for name in node.input}
        computed = [value for value in main.values if _is_computed(main, value)]
        outputs = [value for value in computed if self.is_likely(0.25 if value.name in read else 0.9)]
        outputs = outputs or computed[-1:]
        chance.shuffle(outputs)
        chance.shuffle(self.inputs)
        graph = main.graph("program", [*self.inputs, *self.overridable], outputs)
        if self.is_likely(0.3):
            known = [value for value in computed if value not in outputs and None not in value.shape]
            graph.value_info.extend(value.info for value in known if self.is_likely(0.5))
        if self.is_likely(0.5):
            _shuffle_nodes(graph, chance)
        functions = [*(function.proto for function in self.functions), *self.pattern_functions]
        chance.shuffle(functions)
        imports = self._imports({"": self.opset, **({DOMAIN: 1} if self.functions else {})})
        model = helper.make_model(graph, functions=functions, ir_version=IR_VERSION, opset_imports=imports)
        data_sets = tuple(tuple(run[value.name] for value in self.inputs) for run in self.runs)
        built = BuiltModel(model.SerializeToString(deterministic=True), data_sets)
        return rename_values_of(built, chance.choice([*NAME_KINDS]) if self.is_likely(0.15) else PLAIN_NAMES)


def draw_declared(chance: random.Random) -> BuiltModel | None:
    """Return a pattern of the declarations, often with another size; None if none is drawn or this is no checkout."""
    package = bundled_package()
    built: BuiltModel | None = package.draw_pattern(chance) if package else None
    if built is None or not all(isinstance(array, np.ndarray) for array in built.data_sets[0]):
        return None
    sizes = sorted({size for array in built.data_sets[0] for size in array.shape if size > 1})
    if sizes and chance.random() < OTHER_SIZE_SHARE:
        other = with_size(built, chance.choice(sizes), chance.randint(1, MAX_PATTERN_SIZE))
        built = other if is_fully_valid(other.model) else built
    return built


def with_size(built: BuiltModel, size: int, new_size: int) -> BuiltModel:
    """Return a model in which every dimension of one size has another size; larger tensors repeat their elements."""

    def part(array: Array) -> Array:
        places = (np.arange(new_size if each == size else each) % max(each, 1) for each in array.shape)
        return np.asarray(array[np.ix_(*places)])

    model = onnx.load_model_from_string(built.model)
    for tensor in all_tensors(model):
        array = array_of(tensor)
        resized = (
            np.where(array == size, new_size, array) if array.ndim == 1 and array.dtype == np.int64 else part(array)
        )
        tensor.CopyFrom(tensor_of(resized.astype(array.dtype), tensor.name))
    for graph in all_graphs(model):
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.dim_value == size:
                    dimension.dim_value = new_size
    data_sets = tuple(tuple(map(part, run)) for run in built.data_sets)
    return BuiltModel(model.SerializeToString(deterministic=True), data_sets)


def _declared_type(value: onnx.ValueInfoProto) -> tuple[str, tuple[int | None, ...]]:
    """Return the name of the element type and the sizes of a declared tensor; None for a size that is not fixed."""
    tensor = value.type.tensor_type
    sizes = tuple(size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim)
    return type_name(dtype_of(tensor.elem_type)), sizes


def _is_computed(scope: DrawnGraph, value: TypedName) -> bool:
    """Return whether a node of the graph computes a value from other values."""
    return any(value.name in node.output for node in scope.nodes if node.op_type != "Constant")


def _shuffle_nodes(graph: onnx.GraphProto, chance: random.Random) -> None:
    """Put the nodes of a graph into a random topological order."""
    needed: dict[int, set[int]] = {number: set() for number in range(len(graph.node))}
    for first, second in graph_edges(graph):
        needed[second].add(first)
    nodes = [*graph.node]
    order = []
    while needed:
        order.append(chance.choice([number for number, before in needed.items() if not before]))
        del needed[order[-1]]
        for before in needed.values():
            before.discard(order[-1])
    del graph.node[:]
    graph.node.extend(nodes[number] for number in order)


MAX_DRAWS = 50
"""The most programs that are drawn until one is valid."""


def draw_program(operator: str, seed: str) -> BuiltModel:
    """Return a valid program and its data. Equal arguments give equal programs.

    Args:
        operator: the op_type of the tested nodes, or the name of the pass.
        seed: the seed.
    """
    for attempt in range(MAX_DRAWS):
        chance = random.Random(f"{seed}/{operator}/{attempt}")  # noqa: S311 - nothing is to be kept secret
        built = DrawnProgram(chance, operator).build()
        if is_fully_valid(built.model):
            return built
    raise ConformanceError("no-program", operator=operator)
