"""Build a model around tested nodes, with a given enclosing scope, operand sources and result consumers."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import onnx
from msgspec.structs import replace
from onnx import helper

from conformance.corpus.factors.connections import (
    ALIAS_SOURCES,
    CONDITION_INPUT,
    CONSUMERS,
    OMITTING_SOURCES,
    SOURCES,
    TENSOR_ENCODINGS,
    Fragment,
    GraphPart,
    extra_reader,
    join_parts,
    rename_values,
)
from conformance.corpus.factors.scopes import CUSTOM_DOMAIN, SCOPES, SEARCH_SCOPES, ScopeContent
from conformance.exact.models.arrays import Array, tensor_of
from conformance.exact.models.input_files import tensor_elements
from conformance.exact.models.model_building import array_value_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.factors.connections import OperandSource


OPSET = 13
IR_VERSION = 9
"""First IR version in which function attributes can have defaults."""

IMPORT_LEVELS = ("training_first", "main_first", "main_by_name", "with_other_domains")
"""Ways to write the opset imports.

The main domain is written as the empty text, except for `main_by_name`. With `with_other_domains`, the model also
imports domains that it does not use.
"""

_OTHER_DOMAINS: Mapping[str, int] = {"ai.onnx.ml": 3, "acme.unused": 1}


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The graph around the tested nodes, described by levels of factors.

    Attributes:
        scope: the enclosing scope, a key of `SCOPES` or `SEARCH_SCOPES`.
        sources: the operand source by the operand's name: a key of `SOURCES`, `ALIAS_SOURCES` or `OMITTING_SOURCES`.
            The default is `input`.
        consumers: the result consumer, a key of `CONSUMERS`, by the result's name. The default is `output`.
        shared: names of operands that another node also reads.
        stored: how constants are stored, a key of `TENSOR_ENCODINGS`.
        imports: the opset imports, a level of `IMPORT_LEVELS`.
        trains: whether the model has training information with the same nodes.
    """

    scope: str = "main"
    sources: Mapping[str, str] = {}
    consumers: Mapping[str, str] = {}
    shared: tuple[str, ...] = ()
    stored: str = "raw"
    imports: str = "main_first"
    trains: bool = False

    def changed(self, **levels: Any) -> Context:
        """Return the context with other levels."""
        return replace(self, **levels)


@dataclass(frozen=True)
class BuiltModel:
    """A serialised model and its input data.

    Attributes:
        model: the serialised model.
        data_sets: for each run, the values of the graph inputs without an initializer, in order.
    """

    model: bytes
    data_sets: tuple[tuple[Array, ...], ...]


def build_in_context(
    name: str, fragment: Fragment, context: Context, again: Sequence[Mapping[str, Array]] = ()
) -> BuiltModel:
    """Build a model with the tested nodes in the graph that `context` describes, and its data.

    Args:
        name: name of the graph.
        fragment: the tested nodes and the operands of the first run.
        context: the graph around the nodes.
        again: operands of further runs. Operands that are constants of the model keep the value of the first run.
    """
    supplies = _operand_sources(fragment.operands, context)
    uses = [
        CONSUMERS[context.consumers.get(result, "output")](result, array) for result, array in fragment.results.items()
    ]
    before = join_parts(supply.before for supply in supplies.values())
    readers = (extra_reader(operand, fragment.operands[operand]) for operand in context.shared)
    after = join_parts((*uses, *readers, *(supply.after for supply in supplies.values())))
    main = {**SCOPES, **SEARCH_SCOPES}[context.scope](ScopeContent(before, fragment, after))
    fed = _graph_inputs(supplies)
    overridable = [tensor for supply in supplies.values() for tensor in supply.overridable]
    graph = GraphPart(main.nodes, [*main.initializers, *overridable], main.sparse, main.given).graph(name, fed)
    decided = {CONDITION_INPUT: np.array(True)} if any(CONDITION_INPUT in node.input for node in main.nodes) else {}
    graph.input.extend(array_value_info(*named) for named in decided.items())
    graph.input.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in overridable
    )
    taken = [
        {operand: array for operand, array in run.items() if supplies[operand].fed or supplies[operand].overriding}
        for run in again
    ]
    sources = [supplies, *({**supplies, **_operand_sources(operands, context)} for operands in taken)]
    data_sets = tuple((*_graph_inputs(each).values(), *decided.values(), *_overriding_inputs(each)) for each in sources)
    return BuiltModel(_model(graph, fragment, context, main.functions), data_sets)


def _operand_sources(operands: Mapping[str, Array], context: Context) -> dict[str, OperandSource]:
    """Return the graph inputs, initializers and nodes that provide each operand, by the operand's name."""
    stored = TENSOR_ENCODINGS[context.stored]
    sources = {**SOURCES, **ALIAS_SOURCES, **OMITTING_SOURCES}
    return {name: sources[context.sources.get(name, "input")](name, array, stored) for name, array in operands.items()}


def _graph_inputs(supplies: Mapping[str, OperandSource]) -> dict[str, Array]:
    """Return the values of the graph inputs by name."""
    return {name: array for supply in supplies.values() for name, array in supply.fed.items()}


def _overriding_inputs(supplies: Mapping[str, OperandSource]) -> list[Array]:
    """Return the values that the caller feeds for the inputs with an initializer: all of them, or none."""
    given = {name: array for supply in supplies.values() for name, array in supply.overriding.items()}
    overridable = [tensor for supply in supplies.values() for tensor in supply.overridable]
    return [given.get(tensor.name, tensor_elements(tensor)) for tensor in overridable] if given else []


def _model(
    graph: onnx.GraphProto, fragment: Fragment, context: Context, functions: Sequence[onnx.FunctionProto]
) -> bytes:
    opsets = {"": OPSET, **fragment.opsets, **({CUSTOM_DOMAIN: 1} if functions else {})}
    model = helper.make_model(
        graph,
        functions=list(functions),
        producer_name="onnx-conformance",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid(*opset) for opset in _imports(opsets, context.imports)],
    )
    if context.trains:
        model.training_info.append(_training_info(fragment))
    return bytes(model.SerializeToString(deterministic=True))


def _imports(opsets: Mapping[str, int], spelling: str) -> list[tuple[str, int]]:
    given = [("ai.onnx" if spelling == "main_by_name" and not domain else domain, opsets[domain]) for domain in opsets]
    if spelling == "training_first":
        return given[::-1]
    return [*given, *_OTHER_DOMAINS.items()] if spelling == "with_other_domains" else given


def _training_info(fragment: Fragment) -> onnx.TrainingInfoProto:
    """Return training information whose algorithm has the tested nodes; inference ignores it.

    The operands are initializers of the training information.
    """
    own = {name: f"training_{name}" for name in (*fragment.operands, *fragment.results)}
    given = {own[name]: array for name, array in fragment.results.items()}
    constants = [tensor_of(array, own[operand]) for operand, array in fragment.operands.items()]
    algorithm = GraphPart([rename_values(node, own) for node in fragment.nodes], constants, given=given)
    info = onnx.TrainingInfoProto(algorithm=algorithm.graph("algorithm"))
    for result, operand in fragment.carried.items():
        info.update_binding.add(key=own[operand], value=own[result])
    return info
