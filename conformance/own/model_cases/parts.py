"""Parts of models: one node, or the nodes of a region, with canonical names and the types of their operands.

Two parts are equal if their configurations are: operators, versions, attributes, types, shapes and sources of the
operands, and the elements that determine shapes. Names and other elements do not count.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.exact.declarations.declaration_tables import Rule
from conformance.exact.declarations.hard_values import is_index, operand_rule
from conformance.exact.models.arrays import Array, type_name
from conformance.exact.models.graphs import (
    has_nodes_inside,
    iter_nodes,
    main_opset,
    names_taken_by,
    normal_domain,
    subgraphs_of,
)
from conformance.exact.models.renaming import FreshNames
from conformance.own.graphs.nested_nodes import (
    called_functions,
    clean_functions,
    clean_subgraphs,
)
from conformance.own.graphs.tensor_borders import TensorMaker, TensorReader
from conformance.own.model_cases.typed_values import Typed, TypedValue, infer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.own.graphs.reading import LoadedModel

MAX_SHAPE_ELEMENTS = 64
"""Maximum number of elements of an operand that determines shapes."""

MIN_IR_VERSION = 4
"""First IR version in which an initializer need not be an input."""

MAX_WORDS = 60
"""Maximum length of the operators in the id of a case."""


PLACES = {"SequenceAt": 1, "SequenceErase": 1, "SequenceInsert": 2, "SplitToSequence": 1}
"""The operands that are positions in a sequence, or lengths of its tensors, by operator."""


@dataclass(frozen=True)
class Part:
    """Some nodes of a model, in their order.

    Attributes:
        model: a model with the imports of the nodes, and without nodes.
        nodes: the nodes, with canonical names.
        operands: the values that the nodes take, by name.
        kept: the names of operands whose elements determine shapes.
        results: the names of the values that the model uses elsewhere.
        shapes: the shapes of all tensors that the nodes make, by name.
        before: the number of nodes at the start that only make sequences and optionals from tensors.
        after: the number of nodes at the end that only take sequences and optionals apart.
    """

    model: onnx.ModelProto
    nodes: tuple[onnx.NodeProto, ...]
    operands: Mapping[str, TypedValue]
    kept: frozenset[str]
    results: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    before: int = 0
    after: int = 0

    @property
    def tested(self) -> tuple[onnx.NodeProto, ...]:
        """The nodes of the model."""
        return self.nodes[self.before : len(self.nodes) - self.after]

    @property
    def opset(self) -> int:
        """The version of the main domain."""
        return main_opset(self.model)

    @property
    def operators(self) -> str:
        """The operators, such as `Conv-Relu`."""
        return "-".join(node.op_type for node in self.tested)

    @property
    def is_region(self) -> bool:
        """Whether the part has several nodes of the model."""
        return len(self.tested) > 1

    @property
    def is_nested(self) -> bool:
        """Whether the node of the model has subgraphs, or calls a function."""
        return any(has_nodes_inside(self.model, node) for node in self.tested)

    @cached_property
    def configuration(self) -> str:
        """A text that is equal for equal parts."""
        imports = {normal_domain(entry.domain): entry.version for entry in self.model.opset_import}
        nodes = [
            {
                "operator": [normal_domain(node.domain), node.op_type, _version(node, imports)],
                "attributes": sorted(each.SerializeToString(deterministic=True).hex() for each in node.attribute),
                "inputs": list(node.input),
                "outputs": list(node.output),
            }
            for node in self.nodes
        ]
        operands = [
            [name, type_name(value.dtype), value.shape, value.is_constant, self._kept_elements(name)]
            for name, value in self.operands.items()
        ]
        found = {"nodes": nodes, "operands": operands, "results": self.results}
        if self.is_nested:  # the nodes inside have versions, too
            functions = [each.SerializeToString(deterministic=True).hex() for each in self.model.functions]
            found |= {"imports": sorted(imports.items()), "functions": functions}
        return json.dumps(found)

    def _kept_elements(self, name: str) -> list[Any] | None:
        array = self.operands[name].array
        return array.ravel().astype(object).tolist() if name in self.kept and array is not None else None

    @property
    def id(self) -> str:
        """The id of the case: the operators and a hash of the configuration."""
        words = "_".join(re.sub(r"[^a-z0-9]+", "_", node.op_type.lower()) for node in self.tested)
        digest = hashlib.sha256(self.configuration.encode()).hexdigest()
        return f"test_model_{words[:MAX_WORDS].strip('_')}_{digest[:12]}"


def _version(node: onnx.NodeProto, imports: Mapping[str, int]) -> int:
    """Return the version of a node's operator: the opset in which its schema last changed, or without one the opset."""
    domain = normal_domain(node.domain)
    if not onnx.defs.has(node.op_type, imports[domain], domain):
        return imports[domain]
    schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=imports[domain], domain=domain)
    return int(schema.since_version)


def part_of_nodes(
    model: LoadedModel, nodes: Sequence[onnx.NodeProto], values: Mapping[str, Typed], used: Iterable[str]
) -> Part | None:
    """Return some nodes as a part; None if the type or the shape of a value is not known.

    Sequences and optionals are made from tensors, and taken apart, by further nodes.

    Args:
        model: the model.
        nodes: the nodes.
        values: the values of the model by name.
        used: names of values that other nodes take or that the model returns.
    """
    made = [name for node in nodes for name in node.output if name]
    operands = [each for each in dict.fromkeys(chain(*map(names_taken_by, nodes))) if each not in made]
    if any(name not in values for name in (*operands, *made)):
        return None
    names = {name: f"{'c' if values[name].is_constant else 'x'}{place}" for place, name in enumerate(operands)}
    outside = set(used)
    results = [name for name in made if name in outside] or list(filter(None, nodes[-1].output))
    names |= {name: f"{'y' if name in results else 'v'}{place}" for place, name in enumerate(made)}
    renamed = tuple(_renamed(node, names) for node in nodes)
    fresh = FreshNames(names.values())
    maker = TensorMaker(fresh)
    for name in operands:
        maker.make(names[name], values[name].type, values[name].value)
    reader = TensorReader(fresh)
    for name in results:
        reader.read(names[name], values[name].type, values[name].value)
    imports = _only_used(model, renamed)
    positions = {name: TypedValue.of(array, is_constant=True) for name, array in reader.constants.items()}
    given = {name: replace(each, is_optional=False) for name, each in maker.tensors.items()} | positions
    shapes = {names[name]: each.shape for name in made if isinstance(each := values[name], TypedValue)}
    shapes |= {name: each.shape for name, each in reader.tensors.items()}
    for name in filter(None, map(_position, renamed)):
        value = given.get(name)
        if value is not None and value.array is None and not value.shape:
            given[name] = replace(value, array=np.zeros((), value.dtype))
    kept = frozenset(name for name in given if any(_is_kept(imports, node, given, name) for node in renamed))
    every = (*maker.nodes, *renamed, *reader.nodes)
    ends = (len(maker.nodes), len(reader.nodes))
    return Part(imports, every, given, kept | positions.keys(), tuple(reader.tensors), shapes, *ends)


def part_of_model(model: onnx.ModelProto, constants: Mapping[str, Array], fed: Mapping[str, Array]) -> Part:
    """Return the nodes of a model's main graph as a part, with the names and the elements that they have.

    Args:
        model: the model.
        constants: the elements of its initializers.
        fed: the elements of its inputs.
    """
    values = {name: TypedValue.of(array) for name, array in fed.items()}
    operands = {name: TypedValue.of(array, is_constant=True) for name, array in constants.items()} | values
    nodes = tuple(model.graph.node)
    results = tuple(value.name for value in model.graph.output)
    kept = frozenset(name for name in operands if any(_is_kept(model, node, operands, name) for node in nodes))
    return Part(model, nodes, operands, kept, results, {})


def _position(node: onnx.NodeProto) -> str:
    """Return the operand of a node that is a position in a sequence; empty if it has none."""
    place = PLACES.get(node.op_type, len(node.input))
    return str(node.input[place]) if place < len(node.input) else ""


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """Return a node with canonical names, and without texts for people."""
    copy = onnx.NodeProto(op_type=node.op_type, domain=normal_domain(node.domain))
    copy.input.extend(names.get(name, "") for name in node.input)
    copy.output.extend(names.get(name, "") for name in node.output)
    for attribute in sorted(node.attribute, key=lambda each: each.name):
        own = copy.attribute.add()
        own.CopyFrom(attribute)
        own.ClearField("doc_string")
        if own.HasField("t"):
            own.t.ClearField("name")
            own.t.ClearField("doc_string")
    clean_subgraphs(copy, names)
    return copy


def _only_used(loaded: LoadedModel, nodes: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    """Return the functions that some nodes call, and the imports of all domains.

    The main domain is always imported, because some runtimes need it.
    """
    model = loaded.prepared
    functions = called_functions(loaded.original, nodes)
    inner = chain(nodes, *(iter_nodes(graph) for node in nodes for graph in subgraphs_of(node)))
    used = {"", *(normal_domain(node.domain) for node in inner), *(normal_domain(each.domain) for each in functions)}
    versions = {normal_domain(entry.domain): entry.version for entry in model.opset_import}
    found = onnx.ModelProto(ir_version=max(model.ir_version, MIN_IR_VERSION), functions=clean_functions(functions))
    for domain in sorted(used & versions.keys()):
        found.opset_import.add(domain=domain, version=versions[domain])
    return found


def _is_kept(model: onnx.ModelProto, node: onnx.NodeProto, given: Mapping[str, TypedValue], name: str) -> bool:
    """Return whether an operand of a node determines shapes, or is an axis or another integer with a rule."""
    value = given[name]
    if value.array is None or value.size > MAX_SHAPE_ELEMENTS or value.is_given or name not in names_taken_by(node):
        return False
    if has_nodes_inside(model, node):  # a node inside may take it as a shape, an axis or an index
        return value.dtype.kind in "iu"
    if name == _position(node):
        return True
    rule = operand_rule(node, main_opset(model), list(node.input).index(name))
    if value.dtype.kind in "iu" and isinstance(rule, Rule) and not is_index(rule):
        return True
    if any(each and each not in given for each in node.input):
        return False
    with_elements = infer(model, [node], given)
    without = infer(model, [node], {**given, name: replace(value, array=None)})
    return any(after is None and before is not None for before, after in zip(with_elements, without, strict=True))
