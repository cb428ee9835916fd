"""Puts a fragment into its context: origins of operands, uses of results, the place between them, and the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.dimensions.fragments import Fragment, Part, joined, renamed
from conformance.dimensions.origins import ORIGINS, STORED
from conformance.dimensions.places import OWN, PLACES, Site
from conformance.dimensions.uses import CONDITION, USES, read_by_another
from conformance.generation.models import declared, declared_as
from conformance.models.arrays import tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.dimensions.origins import Supply
    from conformance.models.arrays import Array

OPSET = 13
IR_VERSION = 9
"""The first in which a function's attributes can have defaults."""

IMPORTS = ("training_first", "main_first", "main_by_name", "beside_others")
"""How a model spells its imports; the main domain's name is the empty text but for `main_by_name`."""

_OTHERS: Mapping[str, int] = {"ai.onnx.ml": 3, "acme.unused": 1}


@dataclass(frozen=True)
class Context:
    """What surrounds a fragment, in words of the tables.

    Attributes:
        place: of `PLACES`.
        origins: by operand, of `ORIGINS`; `input` for those that are not named.
        uses: by result, of `USES`; `output` for those that are not named.
        shared: operands that another node reads as well.
        stored: of `STORED`, how constants hold their elements.
        imports: of `IMPORTS`.
        trains: whether the model has a training_info, whose graph has the same nodes.
    """

    place: str = "main"
    origins: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    stored: str = "raw"
    imports: str = "main_first"
    trains: bool = False


@dataclass(frozen=True)
class Built:
    """A model and what it is fed.

    Attributes:
        model: serialised.
        data_sets: per run the values of the graph's inputs, in order, but for those that have an initializer.
    """

    model: bytes
    data_sets: tuple[tuple[Array, ...], ...]


def in_context(name: str, fragment: Fragment, context: Context, again: Sequence[Mapping[str, Array]] = ()) -> Built:
    """A model of a fragment in a context.

    Args:
        name: of the graph.
        again: the operands of further runs; one that is a constant of the model is that of the first in all of them.
    """
    supplies = _supplies(fragment.operands, context)
    uses = [USES[context.uses.get(result, "output")](result, array) for result, array in fragment.results.items()]
    before = joined(supply.before for supply in supplies.values())
    after = joined((*uses, *(read_by_another(operand, fragment.operands[operand]) for operand in context.shared)))
    placed = PLACES[context.place](Site(before, fragment, after))
    main, fed = placed.main, _fed(supplies)
    overridable = [tensor for supply in supplies.values() for tensor in supply.overridable]
    graph = Part(main.nodes, [*main.initializers, *overridable], main.sparse, main.given).graph(name, fed)
    decided = {CONDITION: np.array(True)} if any(CONDITION in node.input for node in main.nodes) else {}
    graph.input.extend(declared(*named) for named in decided.items())
    graph.input.extend(
        declared_as(tensor.name, onnx.TensorProto.DataType.Name(tensor.data_type).lower(), tensor.dims)
        for tensor in overridable
    )
    taken = [{operand: array for operand, array in run.items() if supplies[operand].fed} for run in again]
    runs = [fed, *(_fed(_supplies(operands, context)) for operands in taken)]
    data_sets = tuple((*run.values(), *decided.values()) for run in runs)
    return Built(_model(graph, fragment, context, placed.functions), data_sets)


def _supplies(operands: Mapping[str, Array], context: Context) -> dict[str, Supply]:
    """How each operand comes into the graph."""
    stored = STORED[context.stored]
    return {name: ORIGINS[context.origins.get(name, "input")](name, array, stored) for name, array in operands.items()}


def _fed(supplies: Mapping[str, Supply]) -> dict[str, Array]:
    """Graph inputs with their values."""
    return {name: array for supply in supplies.values() for name, array in supply.fed.items()}


def _model(
    graph: onnx.GraphProto, fragment: Fragment, context: Context, functions: Sequence[onnx.FunctionProto]
) -> bytes:
    opsets = {"": OPSET, **fragment.opsets, **({OWN: 1} if functions else {})}
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
    return [*given, *_OTHERS.items()] if spelling == "beside_others" else given


def _training_info(fragment: Fragment) -> onnx.TrainingInfoProto:
    """A step of training, which no inference runs: the fragment's nodes on initializers of their own."""
    own = {name: f"training_{name}" for name in (*fragment.operands, *fragment.results)}
    given = {own[name]: array for name, array in fragment.results.items()}
    constants = [tensor_of(array, own[operand]) for operand, array in fragment.operands.items()]
    algorithm = Part([renamed(node, own) for node in fragment.nodes], constants, given=given)
    info = onnx.TrainingInfoProto(algorithm=algorithm.graph("algorithm"))
    for result, operand in fragment.carried.items():
        info.update_binding.add(key=own[operand], value=own[result])
    return info
