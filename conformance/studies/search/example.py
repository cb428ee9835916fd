"""The random example: operator, context, attributes and operand values of one randomly generated test.

An `Example` is plain data, from which the model and its data sets are built. Examples can therefore be compared,
simplified by `conformance.studies.search.shrinking`, and written as JSON without loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from msgspec.structs import asdict

from conformance.base.serialization.decoding import Count, Integer, MalformedError, StoredRecord
from conformance.corpus.factors.argmax_factors import argmax_fragment
from conformance.corpus.factors.connections import Fragment
from conformance.corpus.factors.name_factors import PLAIN_NAMES, rename_values_of
from conformance.corpus.factors.training_factors import tensor_names
from conformance.corpus.factors.wrapping import BuiltModel, Context, build_in_context
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS
from conformance.exact.models.arrays import Array, dtype_of, type_name, type_number
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_building import make_ordered_node
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.distractors import add_distractor
from conformance.studies.search.distributions import COUNT_CLASSES, SIZE_CLASSES, Combination, attribute_class, class_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


ARGMAX = "ArgMax"
CHAIN_OPERATORS = ("Exp", "Log", "Sqrt", "Softmax", "LogSoftmax")
"""The operators of the pass, which an example can put between the operand and an ArgMax."""

DEFAULT_OPSET = 13
"""The opset of the default domain, unless an example varies it."""

MAX_DIGITS = 17
"""Significant digits of a double: the most that `Example.complexity` counts for one number."""

MAX_NUMBERS_COUNTED = 256
"""Examples with more numbers are assumed to have `MAX_DIGITS` digits in each of them."""


AXIS_RELATIONS = ("same", "default", "next")
"""The relation of the axis of a chain operator to ArgMax's axis: the same number, not set, or the next dimension.

The same dimension written as a negative number is left to the corpus: the specification does not say whether the pass
applies there.
"""


class TensorDocument(StoredRecord):
    """A tensor as JSON. The bytes of the elements are hexadecimal text, so that no bit is lost."""

    dtype: str
    shape: list[Count]
    data: str


class ExampleDocument(StoredRecord):
    """An example as JSON."""

    operator: str
    chain: list[str]
    context: Context
    attributes: dict[str, int | float | str]
    opset: Integer
    axis_relation: str
    distractor: str
    repeated: dict[str, str]
    names: str
    runs: list[dict[str, TensorDocument]]


@dataclass(frozen=True)
class Example:
    """A randomly generated test of one operator.

    Attributes:
        operator: the op_type of the tested node.
        context: the graph around the node (scope, operand sources, result consumers, tensor encoding).
        attributes: the attributes of the node, in the order in which the model lists them.
        runs: for each run of the prepared model, the operand values by name. An operand that is a constant of the model
            has the value of the first run in all runs.
        chain: the op_types of the nodes between the operand and an ArgMax, in the order of execution.
        opset: the opset of the default domain.
        axis_relation: relation between the axis of ArgMax and the axis of chain operators, one of `AXIS_RELATIONS`.
        distractor: one of `distractors.NAMES`: unrelated nodes or metadata added to the model. Empty for none.
        repeated: by the name of an operand, another operand that the node takes in its place: {"H2": "H1"}.
        names: the kind of the names of values, a key of `NAME_KINDS`.
    """

    operator: str
    context: Context
    attributes: Mapping[str, Any]
    runs: tuple[Mapping[str, Array], ...]
    chain: tuple[str, ...] = ()
    opset: int = DEFAULT_OPSET
    axis_relation: str = "same"
    distractor: str = ""
    repeated: Mapping[str, str] = field(default_factory=dict)
    names: str = PLAIN_NAMES

    @property
    def operands(self) -> Mapping[str, Array]:
        """The operand values of the first run, by name."""
        return self.runs[0]

    @property
    def is_resized(self) -> bool:
        """Whether the operands of the runs have different shapes."""
        return any(array.shape != self.operands[name].shape for run in self.runs for name, array in run.items())

    @property
    def tensor_count(self) -> int:
        """The number of tensors that a training optimizer updates; 1 for an ArgMax."""
        if self.operator == ARGMAX:
            return 1
        return (len(self.operands) - 2) // len(TRAINING_OPTIMIZERS[self.operator].operands)

    @property
    def combination(self) -> Combination:
        """The combination of classes that the example has."""
        operands = self.operands
        tensors = [array for name, array in operands.items() if name not in {"R", "T"}]
        T = ""
        attributes = "+".join(sorted(map(str, self.attributes)))
        if self.operator != ARGMAX:
            T = class_of(int(operands["T"]), COUNT_CLASSES)
            floats = [*TRAINING_OPTIMIZERS[self.operator].defaults, *TRAINING_OPTIMIZERS[self.operator].required]
            attributes = attribute_class([self.attributes.get(name) for name in floats if name != "mode"])
        elif "axis" in self.attributes:
            attributes += " (negative axis)" if self.attributes["axis"] < 0 else ""
        return Combination(
            " ".join((*self.chain, self.operator)),
            class_of(max(array.size for array in tensors), SIZE_CLASSES),
            type_name(tensors[0].dtype),
            " ".join(filter(None, (self.context.scope, self.distractor))),
            T,
            attributes,
        )

    @property
    def complexity(self) -> tuple[int, ...]:
        """A sort key: of two examples with the same fault, the example with the smaller key is reported.

        The key counts, from the most to the least important: unusual features, tensors, elements, runs, attributes,
        digits.
        """
        context = self.context
        words = [
            bool(self.distractor),
            context.scope != "main",
            context.stored != "raw",
            context.imports != "main_first",
            context.trains,
        ]
        unusual = [word != "input" for word in context.sources.values()]
        unusual += [word != "output" for word in context.consumers.values()]
        elements = sum(array.size for run in self.runs for array in run.values())
        digits = MAX_DIGITS * elements
        if elements <= MAX_NUMBERS_COUNTED:
            digits = sum(count_digits(array) for run in self.runs for array in run.values())
        return (
            sum(words)
            + sum(unusual)
            + len(context.shared)
            + len(self.chain)
            + len(self.repeated)
            + (self.names != PLAIN_NAMES)
            + (self.opset != DEFAULT_OPSET)
            + (self.axis_relation != "same")
            + len({array.dtype for name, array in self.operands.items() if name != "T"} - {np.dtype(np.float32)}),
            self.tensor_count,
            sum(array.size for array in self.operands.values()),
            len(self.runs),
            len(self.attributes),
            digits + sum(len(str(value)) for value in self.attributes.values()),
        )

    @cached_property
    def built(self) -> BuiltModel:
        """The model and the data sets of the example; they are built on first use."""
        return build_model(self)

    def to_document(self) -> ExampleDocument:
        """Return the example as a record."""
        return ExampleDocument(
            operator=self.operator,
            chain=list(self.chain),
            context=self.context,
            attributes=dict(self.attributes),
            opset=self.opset,
            axis_relation=self.axis_relation,
            distractor=self.distractor,
            repeated=dict(self.repeated),
            names=self.names,
            runs=[{name: tensor_document(array) for name, array in run.items()} for run in self.runs],
        )

    def map_operands(self, change: Callable[[str, Array], Array]) -> Example:
        """Return the example with other operand values in all runs; `change` takes the name and the value of each."""
        return replace(
            self, runs=tuple({name: change(name, array) for name, array in run.items()} for run in self.runs)
        )

    @classmethod
    def from_document(cls, document: ExampleDocument) -> Example:
        """Read an example from an untrusted document.

        Raises:
            MalformedError: no model can be built from the document.
        """
        try:
            runs = tuple({name: tensor_array(tensor) for name, tensor in run.items()} for run in document.runs)
            example = cls(**{**asdict(document), "chain": tuple(document.chain), "runs": runs})
            example.built  # noqa: B018 - a wrong document has no model
        except Exception as error:  # noqa: BLE001 - the builders assume correct examples and can raise anything
            raise MalformedError(f"no model can be built from an example ({type(error).__name__})") from None
        return example


def keep_tensors(example: Example, kept: list[int]) -> Example:
    """Return the example with only the tensors whose indices are in `kept`."""
    optimizer = TRAINING_OPTIMIZERS[example.operator]
    count = example.tensor_count

    def renamed(groups: Any) -> dict[str, str]:
        old = tensor_names(groups, count)
        new = tensor_names(groups, len(kept))
        taken = [old[group * count + place] for group in range(len(groups)) for place in kept]
        return dict(zip(taken, new, strict=True))

    operands = {"R": "R", "T": "T", **renamed(optimizer.operands)}
    results = renamed(optimizer.results)
    context = example.context
    return replace(
        example,
        context=context.changed(
            sources={operands[name]: word for name, word in context.sources.items() if name in operands},
            consumers={results[name]: word for name, word in context.consumers.items() if name in results},
            shared=tuple(operands[name] for name in context.shared if name in operands),
        ),
        runs=tuple({new: run[name] for name, new in operands.items()} for run in example.runs),
        repeated={
            operands[name]: operands[other]
            for name, other in example.repeated.items()
            if name in operands and other in operands
        },
    )


def slice_tensor(example: Example, tensor: int, part: slice) -> Example:
    """Return the example with a part of one tensor's elements, as a 1-D tensor.

    If the tensor has an operand in common with another tensor, that tensor is reduced too.
    """
    operands = TRAINING_OPTIMIZERS[example.operator].operands
    count = example.tensor_count
    every = tensor_names(operands, count)
    linked = {every.index(name) % count for pair in example.repeated.items() for name in pair}
    sliced = linked if tensor in linked else {tensor}
    names = [name for place, name in enumerate(every) if place % count in sliced]
    return example.map_operands(lambda name, array: array.reshape(-1)[part] if name in names else array)


def count_digits(array: Array) -> int:
    """Return the number of characters of the elements in decimal."""
    numbers = array.real if array.dtype.kind == "c" else array
    return sum(len(f"{float(value):.{MAX_DIGITS}g}") for value in numbers.flat)


def build_model(example: Example) -> BuiltModel:
    """Build the model and the data sets of an example."""
    fragment = _argmax_fragment(example) if example.operator == ARGMAX else _optimizer_fragment(example)
    again = [{name: run[name] for name in fragment.operands} for run in example.runs[1:]]
    built = rename_values_of(build_in_context("drawn", fragment, example.context, again), example.names)
    built = _open_declared_sizes(built) if example.is_resized else built
    return add_distractor(built, example.distractor) if example.distractor else built


def _optimizer_fragment(example: Example) -> Fragment:
    optimizer = TRAINING_OPTIMIZERS[example.operator]
    operands = {name: array for name, array in example.operands.items() if name not in example.repeated}
    tensors = [example.operands[name] for name in tensor_names(optimizer.operands[:1], example.tensor_count)]
    names = tensor_names(optimizer.results, example.tensor_count)
    results = {name: np.zeros_like(tensors[place % len(tensors)]) for place, name in enumerate(names)}
    taken = [example.repeated.get(name, name) for name in example.operands]
    node = make_ordered_node(example.operator, taken, names, example.attributes, optimizer.domain)
    carried = {name: operand for name in names if (operand := name.removesuffix("_new")) in operands}
    opsets = {optimizer.domain: optimizer.version}
    return Fragment((node,), operands, results, opsets, carried, (node,))


def _argmax_fragment(example: Example) -> Fragment:
    X = example.operands["X"]
    axis_relation = _chain_attributes(example.axis_relation, example.attributes.get("axis", 0), X.ndim)
    before = [(op_type, axis_relation if op_type in ALONG_AXIS else {}) for op_type in example.chain]
    return argmax_fragment(X, before, example.attributes, example.opset)


def _chain_attributes(relation: str, axis: int, rank: int) -> dict[str, int]:
    """Return the attributes of a chain operator.

    Args:
        relation: one of `AXIS_RELATIONS`.
        axis: ArgMax's axis.
        rank: the rank of the operand.
    """
    if relation == "default":
        return {}
    return {"axis": (axis + 1) % rank if relation == "next" and rank > 1 else axis}


def tensor_document(array: Array) -> TensorDocument:
    """Return a tensor as a record."""
    return TensorDocument(type_name(array.dtype), list(array.shape), array.tobytes().hex())


def tensor_array(tensor: TensorDocument) -> Array:
    """Return the tensor of a record."""
    data = np.frombuffer(bytes.fromhex(tensor.data), dtype=dtype_of(type_number(tensor.dtype)))
    return data.reshape(tensor.shape).copy()


def _open_declared_sizes(built: BuiltModel) -> BuiltModel:
    """Return a model that declares a symbol for each size in which the inputs of two data sets differ.

    The sizes of all outputs are not declared.
    """
    model = onnx.load_model_from_string(built.model)
    declared = {value.name: value for value in model.graph.input}
    for name, *arrays in zip(required_input_names(model.graph), *built.data_sets, strict=False):
        dimensions = declared[name].type.tensor_type.shape.dim
        for axis, sizes in enumerate(zip(*(array.shape for array in arrays), strict=True)):
            if len({*sizes}) > 1:
                dimensions[axis].dim_param = f"size_{axis}_of_{name}"
    for value in model.graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.Clear()
    return BuiltModel(model.SerializeToString(deterministic=True), built.data_sets)
