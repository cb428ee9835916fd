"""A mutant: an implementation of one operator with one known fault, and the backend that runs it.

A mutant of a training optimizer is usually a text replacement in the pseudo-code of the operator: a misreading of the
specification. Others wrap the reference kernel (`conformance.run.mutants.wrappers`), change the default of an
attribute, or compute in another arithmetic. `compose` combines several mutants in one backend.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper

from conformance.base.verdicts import Level
from conformance.exact.models.arrays import Array
from conformance.exact.models.graphs import MAIN_DOMAINS, all_nodes, copy_of
from conformance.exact.reference.graph import Graph, PreparedReferenceGraph
from conformance.exact.reference.nodes import Evaluation, Node
from conformance.exact.reference.numbers.number_system import NumberSystem, OptimizerFormula, Value
from conformance.exact.reference.operators.training_optimizers import (
    TRAINING_DOMAINS,
    TRAINING_OPTIMIZERS,
    find_training_optimizer,
)
from conformance.run.mutants import arithmetic
from conformance.run.mutants.arithmetic import Rounding

if TYPE_CHECKING:
    from types import ModuleType


def replace_pseudocode(
    formula: Callable[..., Any], edits: Mapping[str, str], functions: ModuleType = arithmetic
) -> Callable[..., Any]:
    """Return a formula with changed pseudo-code: each key of `edits` is replaced by its value in the source text.

    The new text can use all names in the module of the formula, in `conformance.run.mutants.arithmetic` and in
    `functions`.

    Raises:
        ValueError: a text to replace does not occur exactly once in the pseudo-code, or two of the texts overlap.
    """
    return _compile_pseudocode(formula, tuple(edits.items()), functions)


@cache
def _compile_pseudocode(
    formula: Callable[..., Any], edits: tuple[tuple[str, str], ...], functions: ModuleType
) -> Callable[..., Any]:
    if not edits:
        return formula
    source = pseudocode(formula)
    for start, end, new in reversed(_replacement_spans(formula, edits)):
        source = source[:start] + new + source[end:]
    namespace = {**vars(arithmetic), **vars(functions), **formula.__globals__}
    exec(compile(source, f"<{formula.__name__} with replacements>", "exec", dont_inherit=True), namespace)  # noqa: S102
    changed: Callable[..., Any] = namespace[formula.__name__]
    return changed


def _replacement_spans(formula: Callable[..., Any], edits: tuple[tuple[str, str], ...]) -> list[tuple[int, int, str]]:
    """Return start, end and new text of each replacement in the pseudo-code, in order.

    Raises:
        ValueError: a text to replace does not occur exactly once, or two of the texts overlap.
    """
    source = pseudocode(formula)
    places = []
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(
                f"{old!r} occurs {source.count(old)} times in the pseudo-code of {formula.__name__}, not once"
            )
        start = source.index(old)
        places.append((start, start + len(old), new))
    places.sort()
    for (_, end, _), (start, _, _) in pairwise(places):
        if start < end:
            raise ValueError(
                f"two replacements in the pseudo-code of {formula.__name__} overlap in {source[start:end]!r}"
            )
    return places


@cache
def pseudocode(formula: Callable[..., Any]) -> str:
    """Return the source text of a formula: a signature without annotations, and the body without the docstring."""
    source = textwrap.dedent(inspect.getsource(formula))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    statements = source.splitlines()[function.body[0].end_lineno :]
    positional = [argument.arg for argument in function.args.args]
    keyword = [argument.arg for argument in function.args.kwonlyargs]
    signature = f"def {formula.__name__}({', '.join([*positional, '*', *keyword])}):"
    return "\n".join([signature, *statements, ""])


PATCHED_DOMAINS = {*MAIN_DOMAINS, *TRAINING_DOMAINS}
"""Domains of the operators that have mutants. Another domain can have other operators of the same names."""

Kernel: TypeAlias = Callable[[Node, list[Array]], list[Array]]
"""An operator applied to one node's inputs."""

ModelRewrite: TypeAlias = Callable[["onnx.ModelProto", str], None]
"""Modifies a model in place, given the op_type of the mutant's operator."""

KernelWrapper: TypeAlias = Callable[[Kernel], Kernel]
"""Changes the behaviour of a kernel. It is applied anew for each node of each prepared model, so it can keep state."""


@dataclass(frozen=True)
class FormulaArithmetic(NumberSystem):
    """Evaluates an optimizer's formula with NumPy, one tensor at a time.

    Attributes:
        edits: the text replacements in the pseudo-code.
        computing: the type to compute in, or None for the tensor's own type.
        rounding: a function that is applied to the operands and the result of each operation, or None.
        functions: a module with functions that the pseudo-code can use.
    """

    edits: Mapping[str, str] = field(default_factory=dict)
    computing: Any = None
    rounding: Callable[[Array], Array] | None = None
    functions: ModuleType = arithmetic

    def update_tensor(
        self, optimizer: OptimizerFormula, R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        own = tensors[0].dtype
        dtype = np.dtype(self.computing or own)
        numbers = {
            name: self._number(np.asarray(value), dtype) if isinstance(value, float) else value
            for name, value in attributes.items()
        }
        operands = [self._number(operand.elements, dtype) for operand in (R, T, *tensors)]
        results = replace_pseudocode(optimizer.formula, self.edits, self.functions)(*operands, **numbers)
        return [Value(np.asarray(result).astype(own), own) for result in results]

    def _number(self, array: Array, dtype: np.dtype[Any]) -> Any:
        array = array.astype(dtype)
        return Rounding.of(array, self.rounding) if self.rounding else array[()]


class PromotingArithmetic(FormulaArithmetic):
    """Evaluates a formula with NumPy's type promotion: the types of R, T and the attributes can widen the results."""

    def update_tensor(
        self, optimizer: OptimizerFormula, R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        operands = [operand.elements[()] for operand in (R, T, *tensors)]
        formula = replace_pseudocode(optimizer.formula, self.edits, self.functions)
        results = [np.asarray(result) for result in formula(*operands, **attributes)]
        return [Value(result, result.dtype) for result in results]


@dataclass(frozen=True, eq=False)
class KernelPatch:
    """The differences between the kernel of an operator in a mutant and the kernel of the reference.

    Attributes:
        defaults: the values of attributes that the model does not set.
        wrappers: the wrappers of the kernel, the outermost first.
        arithmetic: the number system in which the kernel computes.
        within: an op_type or `function`: the patch applies only inside such an operator's subgraph or a function.
        is_direct: whether the scope `within` must be the innermost scope around the node.
        by_position: whether the node's float attributes are taken in the order of the specification, ignoring their
            names.
        find_sites: a function that returns the outputs of the nodes of the main graph to which the patch applies,
            given the graph and the op_type of the patch. None if the patch applies to all nodes.
        rewrites: functions that modify each model before it is prepared, given the op_type of the patch.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    wrappers: tuple[KernelWrapper, ...] = ()
    arithmetic: NumberSystem = field(default_factory=NumberSystem)
    within: str | None = None
    is_direct: bool = False
    by_position: bool = False
    find_sites: Callable[[Graph, str], set[tuple[str, ...]]] | None = None
    rewrites: tuple[ModelRewrite, ...] = ()

    def applies_within(self, within: tuple[str, ...]) -> bool:
        """Return whether the patch applies inside these scopes, from the main graph inwards."""
        return self.within is None or self.within in (within[-1:] if self.is_direct else within)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant(KernelPatch):
    """A wrong implementation of an operator: a known mistake, or the convention of another library.

    Attributes:
        id: the operator and the name of the mutant: `adam.epsilon_inside_root`.
        text: the faulty behaviour as a verb phrase: "adds epsilon inside the square root".
        clause: the id of the clause that the mutant violates.
        operator: the op_type.
        level: the level of the cases that must detect the mutant. Cases of a stronger level must accept its behaviour.
        convention: the libraries with this behaviour, or None.
        mistake: the mistake of `node_mutants` with this behaviour, which reports name by the text of this mutant; empty
            if there is none.
    """

    id: str
    text: str
    clause: str
    operator: str
    level: Level = Level.MUST
    convention: str | None = None
    mistake: str = ""

    @property
    def description(self) -> str:
        """The text of the mutant, followed by the libraries with this convention."""
        return f"{self.text} (the convention of {self.convention})" if self.convention else self.text

    @property
    def edits(self) -> Mapping[str, str]:
        """The text replacements in the operator's pseudo-code."""
        return self.arithmetic.edits if isinstance(self.arithmetic, FormulaArithmetic) else {}

    @property
    def backend(self) -> MutantBackend:
        """A backend with the fault of this mutant."""
        return MutantBackend({self.operator: self})


@dataclass(frozen=True)
class MutantBackend:
    """The reference backend with the kernels of some operators patched.

    Attributes:
        patches: the patches by op_type.
    """

    patches: Mapping[str, KernelPatch]

    def prepare(self, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> PreparedReferenceGraph:  # noqa: ARG002
        """Prepare a model.

        Raises:
            Unsupported: the reference does not implement an operator of the model.
        """
        graph = read_graph(self._own_kernels(model).SerializeToString())
        sites = {
            op_type: patch.find_sites(graph, op_type) for op_type, patch in self.patches.items() if patch.find_sites
        }

        def patching(node: Node, evaluation: Evaluation, within: tuple[str, ...]) -> Evaluation:
            patch = self.patches.get(node.op_type)
            if patch is None or node.domain not in PATCHED_DOMAINS or not patch.applies_within(within):
                return evaluation
            is_site = not patch.find_sites or (not within and node.outputs in sites[node.op_type])
            return _patched_evaluation(patch, evaluation) if is_site else evaluation

        return PreparedReferenceGraph(graph.with_evaluations(patching))

    def _own_kernels(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """Return the model with the patched attributes, and without functions that a patched kernel replaces."""
        overridden = any(map(self._replaces, model.functions))
        changing = (each.defaults or each.by_position or each.rewrites for each in self.patches.values())
        if not overridden and not any(changing):
            return model
        copy = copy_of(model)
        functions = [function for function in copy.functions if not self._replaces(function)]
        del copy.functions[:]
        copy.functions.extend(functions)
        for node in all_nodes(copy):
            patch = self.patches.get(node.op_type, KernelPatch())
            if patch.by_position:
                _rename_floats_by_position(node)
            given = {attribute.name for attribute in node.attribute}
            missing = {name: value for name, value in patch.defaults.items() if name not in given}
            node.attribute.extend(helper.make_attribute(name, value) for name, value in missing.items())
        for op_type, patch in self.patches.items():
            for rewrite in patch.rewrites:
                rewrite(copy, op_type)
        return copy

    def _replaces(self, function: onnx.FunctionProto) -> bool:
        return function.name in self.patches and function.domain in PATCHED_DOMAINS


@lru_cache(maxsize=1024)
def read_graph(model: bytes) -> Graph:
    """Return the graph of a serialised model, which most mutants of an operator leave unchanged."""
    return Graph.from_model(onnx.load_model_from_string(model))


def _rename_floats_by_position(node: onnx.NodeProto) -> None:
    """Rename the float attributes of a training optimizer: they get the names of the specification by position."""
    optimizer = TRAINING_OPTIMIZERS[node.op_type]
    floats = [attribute for attribute in node.attribute if attribute.type == attribute.FLOAT]
    names = {attribute.name for attribute in floats}
    listed = [name for name in (*optimizer.required, *optimizer.defaults) if name in names]
    for attribute, name in zip(floats, listed, strict=False):  # unknown attributes are rejected later
        attribute.name = name


VIEW_OPERATORS = ("Constant", "Transpose", "Slice", "Gather")
"""Operators whose results share memory with constants or inputs in the reference. No mutant writes to them."""


def find_last_readers(operand: str, graph: Graph, op_type: str) -> set[tuple[str, ...]]:
    """Return the outputs of each node of the main graph that is the last reader of the name of an operand such as X.

    The operand of every tensor must be the result of a node, not of a view operator, and no output of the graph.
    """
    owned = {name for node, _ in graph.nodes if node.op_type not in VIEW_OPERATORS for name in node.outputs}
    found: set[tuple[str, ...]] = set()
    for place, (node, _) in enumerate(graph.nodes):
        optimizer = find_training_optimizer(node.domain, node.op_type)
        if optimizer is None or node.op_type != op_type:
            continue
        groups = optimizer.operands
        count = (len(node.inputs) - 2) // len(groups)
        first = groups.index(operand)
        names = set(node.inputs[2 + first * count : 2 + (first + 1) * count])
        later = {name for other, _ in graph.nodes[place + 1 :] for name in other.inputs}
        if names and names <= owned and not names & (later | {*graph.outputs}):
            found.add(node.outputs)
    return found


def _patched_evaluation(patch: KernelPatch, evaluation: Evaluation) -> Evaluation:
    kernel = _as_kernel(evaluation, patch.arithmetic)
    for wrap_kernel in reversed(patch.wrappers):
        kernel = wrap_kernel(kernel)

    def patched(node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
        with np.errstate(all="ignore"):
            outputs = kernel(node, [value.elements for value in inputs])
        return [Value(array, array.dtype) for array in outputs]

    return patched


def _as_kernel(evaluation: Evaluation, arithmetic: NumberSystem) -> Kernel:
    def kernel(node: Node, inputs: list[Array]) -> list[Array]:
        values = [Value(array, array.dtype) for array in inputs]
        return [value.elements for value in evaluation(node, values, arithmetic)]

    return kernel


class IncompatibleMutantsError(ValueError):
    """Mutants of one operator contradict each other: an implementation cannot have all of them."""


@lru_cache(maxsize=4096)
def compose(mutants: tuple[Mutant, ...]) -> MutantBackend:
    """Return a backend with the faults of all these mutants; kernel wrappers are applied in order, the outermost first.

    Raises:
        IncompatibleMutantsError: two mutants replace the same pseudo-code, set the default of the same attribute, or
            both define an arithmetic.
    """
    patches: dict[str, KernelPatch] = {}
    for mutant in mutants:
        known = patches.get(mutant.operator)
        patches[mutant.operator] = _compose_patches(mutant.operator, known, mutant) if known else mutant
    return MutantBackend(patches)


def _compose_patches(operator: str, one: KernelPatch, other: KernelPatch) -> KernelPatch:
    return KernelPatch(
        _merge_disjoint(one.defaults, other.defaults, "the default of"),
        (*one.wrappers, *other.wrappers),
        _compose_arithmetic(operator, one.arithmetic, other.arithmetic),
        by_position=one.by_position or other.by_position,
        rewrites=(*one.rewrites, *other.rewrites),
    )


def _merge_disjoint(one: Mapping[str, Any], other: Mapping[str, Any], what: str) -> dict[str, Any]:
    if shared := one.keys() & other.keys():
        raise IncompatibleMutantsError(f"both change {what} {min(shared)!r}")
    return {**one, **other}


def _compose_arithmetic(operator: str, one: NumberSystem, other: NumberSystem) -> NumberSystem:
    """Return the number system with the edits of both mutants and with the special arithmetic of either."""
    if not isinstance(one, FormulaArithmetic):
        return other
    if not isinstance(other, FormulaArithmetic):
        return one
    edits = _merge_disjoint(one.edits, other.edits, "the pseudo-code")
    try:
        replace_pseudocode(TRAINING_OPTIMIZERS[operator].formula, edits)
    except ValueError as error:
        raise IncompatibleMutantsError(str(error)) from None
    plain = [system for system in (one, other) if system == FormulaArithmetic(system.edits)]
    if not plain:
        raise IncompatibleMutantsError("both have an arithmetic of their own")
    special = other if plain[0] is one else one
    return dataclasses.replace(special, edits=edits)
