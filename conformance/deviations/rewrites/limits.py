"""Faults at limits: of chains, of how many and how far, of opsets and versions, of sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx

from conformance.deviations.rewrites.fault import FaultyRewrite, afterwards, altered
from conformance.models.signatures import MAIN_DOMAINS
from conformance.passes.eliminate_nop_monotone_argmax import eliminate, explicit_axis, is_monotone
from conformance.passes.fields import placed
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _runs(most: int) -> Callable[..., onnx.ModelProto]:
    """A fixed point of at most so many runs."""

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        for _ in range(most if fixed_point else 1):
            model = eliminate(model)
        return model

    return optimize


def _once_inside(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """A fixed point of the main graph alone; graphs inside of nodes get one run."""
    after = eliminate(model)
    return replace(eliminate, scopes=lambda scope: iter([scope]))(after, fixed_point=True) if fixed_point else after


def _at_most(count: int) -> Callable[..., onnx.ModelProto]:
    """The pass at the first so many ArgMax that it fires at."""

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        chosen: set[str] = set()

        def among(site: Site) -> bool:
            path = site.scope.path_of(site.argmax)
            if is_monotone(site) and (path in chosen or len(chosen) < count):
                chosen.add(path)
                return True
            return False

        result: onnx.ModelProto = replace(eliminate, is_monotone=among)(model, fixed_point)
        return result

    return optimize


def _within(distance: int) -> Callable[[Site], bool]:
    """Whether ArgMax comes at most so many nodes after the operator."""

    def fires(site: Site) -> bool:
        outputs = [list(node.output) for node in site.scope.graph.node]
        gap = outputs.index(list(site.argmax.output)) - outputs.index(list(site.producer.output))
        return is_monotone(site) and gap <= distance

    return fires


def _where_opset(condition: Callable[[int], bool]) -> Callable[[Site], bool]:
    def fires(site: Site) -> bool:
        versions = [entry.version for entry in site.scope.model.opset_import if entry.domain in MAIN_DOMAINS]
        return is_monotone(site) and all(map(condition, versions))

    return fires


def _short_import(site: Site) -> bool:
    return is_monotone(site) and any(not entry.domain for entry in site.scope.model.opset_import)


def _young(site: Site) -> bool:
    return is_monotone(site) and site.scope.model.ir_version >= 4


def _modulo(rank: int) -> Callable[[Site], bool]:
    """Compares axes as if every tensor were of one rank."""

    def fires(site: Site) -> bool:
        own, reduced = explicit_axis(site.producer), explicit_axis(site.argmax)
        if own is None or reduced is None:
            return is_monotone(site)
        return is_monotone(site) or (site.producer.op_type.endswith("Softmax") and own % rank == reduced % rank)

    return fires


def _first_attribute(site: Site) -> bool:
    """Takes the first attribute of ArgMax for its axis."""
    held = site.argmax.attribute
    return is_monotone(site) and len(held) > 0 and held[0].i == explicit_axis(site.argmax)


def _large(model: onnx.ModelProto, size: int) -> list[Any]:
    tensors = [message for _, message in placed(model) if isinstance(message, onnx.TensorProto)]
    return [tensor for tensor in tensors if len(tensor.raw_data) > size]


def _moved_out(size: int) -> Callable[[onnx.ModelProto], None]:
    """Moves the elements of large tensors to a file, which is not handed back."""

    def spoil(model: onnx.ModelProto) -> None:
        for tensor in _large(model, size):
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights")

    return spoil


def _cut(model: onnx.ModelProto) -> None:
    for tensor in _large(model, 2**16):
        tensor.raw_data = tensor.raw_data[: 2**16] + bytes(len(tensor.raw_data) - 2**16)


def _by_name() -> Callable[..., onnx.ModelProto]:
    """Keeps what it made of a model, and gives it for every later one of that name."""
    made: dict[tuple[str, bool], onnx.ModelProto] = {}

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        return made.setdefault((model.graph.name, fixed_point), eliminate(model, fixed_point))

    return optimize


LIMITS = (
    *(
        FaultyRewrite(f"chains_of_{most}", f"removes at most {most} operators of a chain at a fixed point", _runs(most))
        for most in (5, 8, 11)
    ),
    FaultyRewrite("chains_once_inside", "removes one operator of a chain inside of nodes", _once_inside),
    *(
        FaultyRewrite(f"first_{count}_argmax", f"fires at the first {count} ArgMax alone", _at_most(count))
        for count in (8, 16)
    ),
    altered("next_node_only", "fires where ArgMax is the node after the operator alone", is_monotone=_within(1)),
    altered("near_only", "fires where at most 16 nodes lie between alone", is_monotone=_within(17)),
    altered("since_opset_7", "stays below opset 7", is_monotone=_where_opset(lambda version: version >= 7)),
    altered("until_opset_21", "stays above opset 21", is_monotone=_where_opset(lambda version: version <= 21)),
    altered("not_opset_14", "stays at opset 14", is_monotone=_where_opset(lambda version: version != 14)),
    altered(
        "import_by_name",
        "stays where ai.onnx is imported by its name",
        level=Level.SHOULD,
        is_monotone=_short_import,
    ),
    altered("since_ir_version_4", "stays below IR version 4", is_monotone=_young),
    *(
        altered(f"axes_modulo_{rank}", f"compares axes as if the rank were {rank}", is_monotone=_modulo(rank))
        for rank in (2, 3)
    ),
    altered("axis_comes_first", "takes the first attribute of ArgMax for its axis", is_monotone=_first_attribute),
    afterwards("moved_out_1_kib", "moves tensors of more than 1 KiB to a file", _moved_out(2**10)),
    afterwards("moved_out_64_kib", "moves tensors of more than 64 KiB to a file", _moved_out(2**16)),
    afterwards("cut_at_64_kib", "keeps the first 64 KiB of a tensor", _cut),
    FaultyRewrite("by_name", "gives for a model what it made of an earlier one of that name", _by_name()),
)
