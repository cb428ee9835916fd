"""The example of a random program: a model with its data, and the simplifications of such an example.

A `ProgramExample` contains the model itself, so that every step of shrinking is a change of a model: outputs, runs and
nodes are left out, calls of functions and branches become nodes of the graph, and a Loop becomes the nodes of a step.
"""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx

from conformance.base.serialization.decoding import MalformedError, StoredRecord
from conformance.corpus.factors.wrapping import BuiltModel, Context
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.exact.models.arrays import array_of, type_name
from conformance.exact.models.graphs import (
    all_graphs,
    all_nodes,
    all_tensors,
    called_name,
    copy_of,
    function_name,
    is_operator,
)
from conformance.exact.models.input_files import DeclaredInput, required_input_names, required_inputs
from conformance.exact.models.model_validity import check_model
from conformance.exact.models.renaming import FreshNames, Renamer
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.own.graphs.cutting import without_unused
from conformance.own.graphs.fed_model import FedModel
from conformance.own.graphs.inlining import inline_functions, inline_taken_branches, unrolled_models
from conformance.studies.search.distributions import SIZE_CLASSES, Combination, class_of
from conformance.studies.search.example import (
    ARGMAX,
    CHAIN_OPERATORS,
    Example,
    TensorDocument,
    tensor_array,
    tensor_document,
)
from conformance.studies.search.random_programs import draw_program, with_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


CONTROL_FLOW = ("If", "Loop", "Scan")
TESTED = (*TRAINING_OPTIMIZERS, ARGMAX, *CHAIN_OPERATORS)
"""The operators that a program tests."""

PLAIN_ELEMENTS = (1.0, 0.5)
"""The elements that the elements of an operand are simplified to."""

CONTROL_FLOW_WEIGHT = 3
"""Number of nodes of which an example has to get rid in place of a subgraph or a function to become simpler."""


class ProgramDocument(StoredRecord):
    """A program as JSON: the operator, the model as base64 text, and for each run the inputs in order."""

    operator: str
    model: str
    runs: list[list[TensorDocument]]


@dataclass(frozen=True)
class ProgramExample:
    """A random program as an example.

    Attributes:
        operator: the op_type that the program tests.
        built: the model and its data.
    """

    operator: str
    built: BuiltModel

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The model. It must not be changed."""
        return onnx.load_model_from_string(self.built.model)

    @property
    def context(self) -> Context:
        """The graph around the tested nodes."""
        return Context(scope="program")

    @property
    def chain(self) -> tuple[str, ...]:
        """The other tested operators of the program."""
        present = {node.op_type for node in all_nodes(self.model)} - {self.operator}
        return tuple(op_type for op_type in TESTED if op_type in present)

    @cached_property
    def rewritten(self) -> tuple[str, ...]:
        """The operators of a program of patterns alone, which has no tested operator; else empty."""
        present = [node.op_type for node in all_nodes(self.model) if node.op_type != "Constant"]
        return () if self.operator in present else tuple(dict.fromkeys(present))

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the first tested node, apart from those that refer to attributes of a function."""
        node = next((node for node in all_nodes(self.model) if node.op_type == self.operator), onnx.NodeProto())
        return attribute_values(attribute for attribute in node.attribute if not attribute.ref_attr_name)

    @property
    def combination(self) -> Combination:
        """The combination of classes that the example has."""
        present = {node.op_type for node in all_nodes(self.model)}
        words = [word for word in CONTROL_FLOW if word in present] + ["functions"] * bool(self.model.functions)
        arrays = [array for array in self.built.data_sets[0] if array.dtype.kind != "b"]
        kind = next((type_name(array.dtype) for array in arrays if array.dtype.kind not in "iu"), "")
        largest = max((array.size for array in arrays), default=1)
        return Combination(self.operator, class_of(largest, SIZE_CLASSES), kind, " ".join(["program", *words]), "", "")

    @property
    def complexity(self) -> tuple[int, ...]:
        """A sort key: of two examples with the same fault, the example with the smaller key is reported."""
        graphs = [*all_graphs(self.model)]
        nodes = [*all_nodes(self.model)]
        arrays = [*self.built.data_sets[0], *map(array_of, all_tensors(self.model))]
        parts = len(graphs) + len(self.model.functions)
        return (
            sum(len(node.output) for node in nodes) + CONTROL_FLOW_WEIGHT * parts,
            len(self.model.graph.output),
            len(self.built.data_sets),
            sum(array.size for array in arrays),
            sum(len({*array.flat}) + (array != 1).sum() for run in self.built.data_sets for array in run),
        )

    def to_document(self) -> ProgramDocument:
        """Return the example as a record."""
        runs = [[*map(tensor_document, run)] for run in self.built.data_sets]
        return ProgramDocument(self.operator, base64.b64encode(self.built.model).decode(), runs)

    @classmethod
    def from_document(cls, document: ProgramDocument) -> ProgramExample:
        """Read an example from an untrusted document.

        Raises:
            MalformedError: the model is not valid, or the inputs are not those of the model.
        """
        try:
            runs = tuple(tuple(map(tensor_array, run)) for run in document.runs)
            example = cls(document.operator, BuiltModel(base64.b64decode(document.model, validate=True), runs))
            check_model(example.model, shapes=True)
            declared = [*map(DeclaredInput.of, required_inputs(example.model.graph))]
            for run in runs:
                for one, array in zip(declared, run, strict=True):
                    one.check(array.dtype, array.shape)
        except Exception as error:  # noqa: BLE001 - the checker raises errors of several kinds
            raise MalformedError(f"no model can be built from an example ({type(error).__name__})") from None
        if not runs or example.operator not in TESTED:
            raise MalformedError("an example has no runs or an unknown operator")
        return example

    def with_model(self, model: onnx.ModelProto) -> ProgramExample:
        """Return an example with a changed model; parts that no output depends on are left out."""
        names = required_input_names(self.model.graph)
        runs = [dict(zip(names, run, strict=True)) for run in self.built.data_sets]
        model = without_unused(FedModel(model, runs[0])).model
        while uncalled := {*map(function_name, model.functions)} - {*map(called_name, all_nodes(model))}:
            kept = [function for function in model.functions if function_name(function) not in uncalled]
            del model.functions[:]
            model.functions.extend(kept)
        left = required_input_names(model.graph)
        data_sets = tuple(tuple(run[name] for name in left) for run in runs)
        return replace(self, built=BuiltModel(model.SerializeToString(deterministic=True), data_sets))


SampledExample: TypeAlias = Example | ProgramExample


def draw_program_example(operator: str, seed: str) -> ProgramExample:
    """Return an example of a random program.

    Args:
        operator: the op_type of the tested nodes, or the name of the pass.
        seed: the seed.
    """
    return ProgramExample(ARGMAX if operator == PASS_NAME else operator, draw_program(operator, seed))


def plainer_parts(example: ProgramExample) -> Mapping[str, Sequence[ProgramExample]]:
    """Return, by the name of a kind of part that the program has, examples without these parts."""
    model = example.model
    found = {}
    present = Counter(node.op_type for node in all_nodes(model) if not node.domain)
    if model.functions:
        found["functions"] = [example.with_model(inline_functions(model))]
    if present["If"]:
        found["branches"] = [*_without_branches(example)]
    if present["Loop"]:
        found["loops"] = [*_without_loops(example)]
    if len(example.built.data_sets) > 1:
        runs = [replace(example, built=replace(example.built, data_sets=(run,))) for run in example.built.data_sets]
        found["runs"] = runs
    return {name: examples for name, examples in found.items() if examples}


def _without_branches(example: ProgramExample) -> Iterator[ProgramExample]:
    conditions = {node.input[0] for node in example.model.graph.node if is_operator(node, "If")}
    for names in ({*conditions}, *({name} for name in sorted(conditions))):
        for taken in (True, False):
            inlined = inline_taken_branches(example.model, dict.fromkeys(names, np.array(taken)))
            if inlined is not None:
                yield example.with_model(inlined)


def _without_loops(example: ProgramExample) -> Iterator[ProgramExample]:
    for number, node in enumerate(example.model.graph.node):
        if is_operator(node, "Loop"):
            yield from map(example.with_model, islice(unrolled_models(example.model, number, {}), 2))


def _fewer_outputs(example: ProgramExample) -> Iterator[ProgramExample]:
    count = len(example.model.graph.output)
    halves = [range(count // 2), range(count // 2, count)] if count > 3 else []
    singles = [[place] for place in range(count)] if count > 1 else []
    for kept in (*singles, *halves, *([one for one in range(count) if one != place] for place in range(count))):
        if 0 < len(kept) < count:
            model = copy_of(example.model)
            outputs = [model.graph.output[place] for place in kept]
            del model.graph.output[:]
            model.graph.output.extend(outputs)
            yield example.with_model(model)


def _fewer_nodes(example: ProgramExample) -> Iterator[ProgramExample]:
    """Yield examples without a node: values that the node takes replace its results."""
    for number, graph in enumerate(all_graphs(example.model)):
        for place in range(len(graph.node) - 1, -1, -1):
            for sources in _sources(graph.node[place]):
                model = copy_of(example.model)
                _bypass(model, [*all_graphs(model)][number], place, sources)
                yield example.with_model(model)


def _sources(node: onnx.NodeProto) -> Iterator[Sequence[str]]:
    """Yield names of operands that can replace the results of a node."""
    if node.op_type in TRAINING_OPTIMIZERS and not node.domain.startswith("acme"):
        letters = TRAINING_OPTIMIZERS[node.op_type].operands
        count = (len(node.input) - 2) // len(letters)
        yield [*node.input[2 : 2 + count], *node.input[2 + 2 * count :]]
    elif node.op_type in {"Loop", "Scan"}:
        yield node.input[2 if node.op_type == "Loop" else 0 :]
    else:
        yield from ([name] for name in dict.fromkeys(node.input) if name)


def _bypass(model: onnx.ModelProto, graph: onnx.GraphProto, place: int, sources: Sequence[str]) -> None:
    """Remove a node, or replace it by an Identity where its result is an output of the main graph."""
    node = copy_of(graph.node[place])
    outputs = {value.name for value in graph.output}
    names = dict(zip(filter(None, node.output), sources, strict=False))
    kept = [onnx.helper.make_node("Identity", [source], [name]) for name, source in names.items() if name in outputs]
    del graph.node[place]
    for position, link in enumerate(kept):
        graph.node.insert(place + position, link)
    renamer = Renamer(FreshNames.of(model))
    left = {name: source for name, source in names.items() if name not in outputs}
    for later in graph.node[place + len(kept) :]:
        renamer.rename_uses(later, left)
    for each in all_graphs(model):
        del each.value_info[:]


def _smaller_sizes(example: ProgramExample) -> Iterator[ProgramExample]:
    """Yield examples in which every dimension of one size has the size 1 or 2."""
    arrays = [*example.built.data_sets[0], *map(array_of, all_tensors(example.model))]
    for size in sorted({size for array in arrays for size in array.shape if size > 1}, reverse=True):
        for new_size in (1, 2):
            if new_size < size:
                yield replace(example, built=with_size(example.built, size, new_size))


def _plainer_elements(example: ProgramExample) -> Iterator[ProgramExample]:
    """Yield examples in which all elements of an input are a plain number."""
    for number, run in enumerate(example.built.data_sets):
        for place, array in enumerate(run):
            for plain in PLAIN_ELEMENTS if array.dtype.kind != "b" else ():
                changed = [*run]
                changed[place] = np.full_like(array, plain)
                data_sets = [*example.built.data_sets]
                data_sets[number] = tuple(changed)
                yield replace(example, built=replace(example.built, data_sets=tuple(data_sets)))


PROGRAM_STAGES: Sequence[Callable[[ProgramExample], Iterator[ProgramExample]]] = (
    _fewer_outputs,
    _fewer_nodes,
    _smaller_sizes,
    _plainer_elements,
)
"""The stages of shrinking; see `conformance.studies.search.shrinking`."""
