"""What a deviation is, and how it is run: the reference's walk of a graph with one operator's kernel altered."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import helper

from conformance.backends.reference import PreparedGraph
from conformance.deviations.arithmetic import Rounding
from conformance.deviations.pseudocode import rewritten
from conformance.models.arrays import Array
from conformance.models.graphs import all_nodes
from conformance.models.signatures import MAIN_DOMAINS
from conformance.reference.graph import Graph
from conformance.reference.nodes import Evaluation, Node
from conformance.reference.numbers.native import Native
from conformance.reference.numbers.values import NumberSystem, Value
from conformance.reference.operators.training import DOMAINS as TRAINING_DOMAINS
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import onnx

ALTERED_DOMAINS = {*MAIN_DOMAINS, *TRAINING_DOMAINS}
"""Where the operators are that have deviations; another domain may have others of the same names."""

Kernel: TypeAlias = Callable[[Node, list[Array]], list[Array]]
"""One operator on one node's inputs."""

Twist: TypeAlias = Callable[[Kernel], Kernel]
"""What is done about a kernel; made anew for every node of every prepared model, so it may keep a memory."""


@dataclass(frozen=True)
class Arithmetic(Native):
    """How an optimizer's formula is computed on one tensor.

    Attributes:
        edits: what is replaced in the pseudo-code.
        computing: the type to compute in, where it is not the tensor's own.
        rounding: what befalls the operands and the result of every operation.
    """

    edits: Mapping[str, str] = field(default_factory=dict)
    computing: Any = None
    rounding: Callable[[Array], Array] | None = None

    def optimizer(
        self,
        forms: Sequence[Callable[..., Any]],
        R: Value,
        T: Value,
        tensors: Sequence[Value],
        attributes: Mapping[str, Any],
    ) -> list[Value]:
        own = tensors[0].dtype
        dtype = np.dtype(self.computing or own)
        numbers = {
            name: self._number(np.asarray(value), dtype) if isinstance(value, float) else value
            for name, value in attributes.items()
        }
        operands = [self._number(operand.elements, dtype) for operand in (R, T, *tensors)]
        results = rewritten(forms[0], self.edits)(*operands, **numbers)
        return [Value(np.asarray(result).astype(own), own) for result in results]

    def _number(self, array: Array, dtype: np.dtype[Any]) -> Any:
        array = array.astype(dtype)
        return Rounding.of(array, self.rounding) if self.rounding else array[()]


class Promoting(Arithmetic):
    """NumPy's own types throughout: what R, T and the attributes make of a result is what comes out."""

    def optimizer(
        self,
        forms: Sequence[Callable[..., Any]],
        R: Value,
        T: Value,
        tensors: Sequence[Value],
        attributes: Mapping[str, Any],
    ) -> list[Value]:
        operands = [operand.elements[()] for operand in (R, T, *tensors)]
        results = [np.asarray(result) for result in rewritten(forms[0], self.edits)(*operands, **attributes)]
        return [Value(result, result.dtype) for result in results]


@dataclass(frozen=True)
class Alteration:
    """How an operator's kernel differs from the reference's.

    Attributes:
        defaults: what attributes are where the model does not set them.
        twists: what is done about the kernel, the outermost first.
        arithmetic: how it computes.
        only_before_argmax: whether it is so only where nothing but an ArgMax sees the result.
        only_within: whether it is so only for nodes in a graph of such an operator, or in a `function`.
        by_place: whether it takes a node's floats for those of the page by their places, whatever their names are.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    twists: tuple[Twist, ...] = ()
    arithmetic: NumberSystem = field(default_factory=Native)
    only_before_argmax: bool = False
    only_within: str | None = None
    by_place: bool = False


@dataclass(frozen=True, eq=False)
class Deviation:
    """A named wrong, or differently conventioned, implementation of an operator.

    Attributes:
        id: the operator's word and the deviation's own, `adam.epsilon_inside_root`.
        text: what it does, a sentence without its subject: "adds epsilon inside the square root".
        clause: the id of the clause it breaks.
        edits: what it replaces in the operator's pseudo-code.
        twists: what it does about the operator's kernel.
        defaults: what it takes attributes for where the model does not set them.
        arithmetic: how it computes, where not by the pseudo-code and its edits.
        level: the level of the cases that must notice it; what it does is admissible below that.
        convention: the libraries that have it for a convention of theirs.
        operator: its op_type.
        within: the operator in whose graphs alone it does so, or `function`; None where it does so anywhere.
        by_place: whether it takes a node's floats for those of the page by their places, whatever their names are.
    """

    id: str
    text: str
    clause: str
    edits: Mapping[str, str] = field(default_factory=dict)
    twists: tuple[Twist, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    arithmetic: NumberSystem | None = None
    level: Level = Level.MUST
    convention: str | None = None
    operator: str = ""
    within: str | None = None
    by_place: bool = False

    @property
    def sentence(self) -> str:
        """The text, and whose convention it is."""
        return f"{self.text} (the convention of {self.convention})" if self.convention else self.text

    @property
    def backend(self) -> AlteredBackend:
        """A backend that has it."""
        computing = self.arithmetic or (Arithmetic(self.edits) if self.edits else Native())
        alteration = Alteration(self.defaults, self.twists, computing, only_within=self.within, by_place=self.by_place)
        return AlteredBackend({self.operator: alteration})


def table(operator: str, clauses: str, rows: Iterable[Deviation]) -> tuple[Deviation, ...]:
    """The deviations of an operator, from rows that leave it out.

    Args:
        clauses: what comes before the dot in the ids of its clauses.
    """
    return tuple(
        dataclasses.replace(row, id=f"{_word(operator)}.{row.id}", clause=f"{clauses}.{row.clause}", operator=operator)
        for row in rows
    )


def _word(operator: str) -> str:
    """An operator's name in lower case: `log_softmax`."""
    return "log_softmax" if operator == "LogSoftmax" else operator.lower()


@dataclass(frozen=True)
class AlteredBackend:
    """The reference backend with some operators' kernels altered.

    Attributes:
        alterations: by op_type.
    """

    alterations: Mapping[str, Alteration]

    def prepare(self, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedGraph:  # noqa: ARG002
        """Read a model.

        Raises:
            Unsupported: it has operators that the reference does not have.
        """
        own = self._own_kernels(model)
        hidden = _seen_by_argmax_only(Graph.of(own)) if self._hides else set()

        def altering(node: Node, evaluation: Evaluation, within: tuple[str, ...]) -> Evaluation:
            alteration = self._alteration(node, within, hidden=not within and node.outputs[0] in hidden)
            return evaluation if alteration is None else _evaluation(alteration, evaluation)

        return PreparedGraph(Graph.of(own, altering))

    @property
    def _hides(self) -> bool:
        return any(alteration.only_before_argmax for alteration in self.alterations.values())

    def _own_kernels(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """The model with our reading of attributes, and without functions in whose place we have a kernel."""
        overridden = any(map(self._replaces, model.functions))
        if not overridden and not any(each.defaults or each.by_place for each in self.alterations.values()):
            return model
        copy = type(model)()
        copy.CopyFrom(model)
        functions = [function for function in copy.functions if not self._replaces(function)]
        del copy.functions[:]
        copy.functions.extend(functions)
        for node in all_nodes(copy):
            alteration = self.alterations.get(node.op_type, Alteration())
            if alteration.by_place:
                _name_by_place(node)
            given = {attribute.name for attribute in node.attribute}
            missing = {name: value for name, value in alteration.defaults.items() if name not in given}
            node.attribute.extend(helper.make_attribute(name, value) for name, value in missing.items())
        return copy

    def _replaces(self, function: onnx.FunctionProto) -> bool:
        return function.name in self.alterations and function.domain in ALTERED_DOMAINS

    def _alteration(self, node: Node, within: tuple[str, ...], *, hidden: bool) -> Alteration | None:
        """How a node's kernel differs; `hidden` tells whether nothing but an ArgMax sees its result."""
        alteration = self.alterations.get(node.op_type)
        if alteration is None or node.domain not in ALTERED_DOMAINS or (alteration.only_before_argmax and not hidden):
            return None
        return alteration if alteration.only_within in {None, *within} else None


def _name_by_place(node: onnx.NodeProto) -> None:
    """Give the floats of an optimizer's node, as they stand, the names that they have in the page's order."""
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    floats = [attribute for attribute in node.attribute if attribute.type == attribute.FLOAT]
    names = {attribute.name for attribute in floats}
    listed = [name for name in (*optimizer.required, *optimizer.defaults) if name in names]
    for attribute, name in zip(floats, listed, strict=False):  # what no page knows is refused later
        attribute.name = name


def _seen_by_argmax_only(graph: Graph) -> set[str]:
    """The values that an ArgMax takes and nothing else does, no graph in a node either."""
    takers = [(name, node) for node, _ in graph.nodes for name in node.inputs]
    others = {name for name, node in takers if node.op_type != "ArgMax" or node.domain not in MAIN_DOMAINS}
    return {name for name, _ in takers} - others - set(graph.outputs)


def _evaluation(alteration: Alteration, evaluation: Evaluation) -> Evaluation:
    kernel = _kernel(evaluation, alteration.arithmetic)
    for twist in reversed(alteration.twists):
        kernel = twist(kernel)

    def altered(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
        with np.errstate(all="ignore"):
            outputs = kernel(node, [value.elements for value in inputs])
        return [Value(array, array.dtype) for array in outputs]

    return altered


def _kernel(evaluation: Evaluation, arithmetic: NumberSystem) -> Kernel:
    def kernel(node: Node, inputs: list[Array]) -> list[Array]:
        values = [Value(array, array.dtype) for array in inputs]
        return [value.elements for value in evaluation(node, values, arithmetic)]

    return kernel
