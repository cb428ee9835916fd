"""Faults in how far a single run and a fixed point go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import FaultyRewrite, altered
from conformance.passes.eliminate_nop_monotone_argmax import eliminate, is_monotone

if TYPE_CHECKING:
    import onnx

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _whole_chain(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
    return eliminate(model, fixed_point=True)


def _single_run(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
    return eliminate(model)


def _two_runs(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    return eliminate(eliminate(model)) if fixed_point else eliminate(model)


def _one_argmax(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    """The pass with the first ArgMax that it fires at, and no other."""
    chosen: list[str] = []

    def first(site: Site) -> bool:
        if is_monotone(site) and not chosen:
            chosen.append(site.argmax.output[0])
        return is_monotone(site) and site.argmax.output[0] in chosen

    return altered("", "", is_monotone=first).optimize(model, fixed_point=fixed_point)  # type: ignore[no-any-return]


def _ends_a_chain(site: Site) -> bool:
    """Whether the operator before is none of the pass, so that a chain stays."""
    before = site.scope.producer(site.before)
    return is_monotone(site) and (before is None or before.op_type not in {"Log", "Exp", "Sqrt", "Softmax"})


CHAINS = (
    FaultyRewrite("once_is_fixed_point", "removes a whole chain in a single run", _whole_chain),
    FaultyRewrite("fixed_point_is_once", "removes one operator of a chain at a fixed point", _single_run),
    FaultyRewrite("fixed_point_is_twice", "removes two operators of a chain at a fixed point", _two_runs),
    FaultyRewrite("first_argmax_only", "fires at the first ArgMax alone", _one_argmax),
    altered("no_chains", "stays before a chain", is_monotone=_ends_a_chain),
)
