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
from conformance.generation.models import declared_as
from conformance.models.arrays import tensor_of
from conformance.reference.nodes import captured_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.dimensions.places import Placed
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


def in_context(name: str, fragment: Fragment, context: Context) -> Built:
    """A model of a fragment in a context.

    Args:
        name: of the graph.
    """
    stored = STORED[context.stored]
    supplies = [
        ORIGINS[context.origins.get(operand, "input")](operand, array, stored)
        for operand, array in fragment.operands.items()
    ]
    uses = [USES[context.uses.get(result, "output")](result, array) for result, array in fragment.results.items()]
    before = joined(supply.before for supply in supplies)
    after = joined((*uses, *(read_by_another(operand, fragment.operands[operand]) for operand in context.shared)))
    placed = PLACES[context.place](Site(before, fragment, after))
    fed = {name: array for supply in supplies for name, array in supply.fed.items()}
    if CONDITION in captured_names(placed.main.graph(name)):
        fed[CONDITION] = np.array(True)
    overridable = [tensor for supply in supplies for tensor in supply.overridable]
    return Built(_model(name, fragment, context, placed, fed, overridable), (tuple(fed.values()),))


def _model(
    name: str,
    fragment: Fragment,
    context: Context,
    placed: Placed,
    fed: Mapping[str, Array],
    overridable: list[onnx.TensorProto],
) -> bytes:
    main = placed.main
    graph = Part(main.nodes, [*main.initializers, *overridable], main.sparse, main.given).graph(name, fed)
    graph.input.extend(
        declared_as(tensor.name, onnx.TensorProto.DataType.Name(tensor.data_type).lower(), tensor.dims)
        for tensor in overridable
    )
    opsets = {"": OPSET, **fragment.opsets, **({OWN: 1} if placed.functions else {})}
    model = helper.make_model(
        graph,
        functions=list(placed.functions),
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
