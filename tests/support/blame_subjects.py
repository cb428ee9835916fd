"""Backends and graph optimizers for `blame`, each with the one fault that its name states."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from conformance.adapters.optimizers import LIST_PASSES, chosen_passes, list_of_passes
from conformance.models.graphs import iter_nodes, subgraphs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

TEN_PASSES = [f"pass_{number}" for number in range(10)]

INJECTED_PASS = """</title><script>'pass"</script><a href javascript:pass>"""


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


class Correct:
    """onnx's evaluator, after a change of the model."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        changed = cls.change(copy_of(model))

        class Prepared:
            def run(self, inputs: Sequence[Any]) -> list[Any]:
                names = [value.name for value in changed.graph.input]
                with np.errstate(all="ignore"):
                    results = ReferenceEvaluator(changed).run(None, dict(zip(names, inputs, strict=True)))
                return [np.asarray(each) for each in cls.finish(results)]

        return Prepared()

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        return model

    @classmethod
    def finish(cls, results: list[Any]) -> list[Any]:
        return results


class WrongAbs(Correct):
    """Computes Abs as Neg."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        replace_operator(iter_nodes(model.graph), "Abs", "Neg")
        return model


class WrongAbsInFunctions(Correct):
    """Computes Abs as Neg in model-local functions only."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        replace_operator((node for function in model.functions for node in function.node), "Abs", "Neg")
        return model


class WrongAbsAnywhere(WrongAbsInFunctions, WrongAbs):
    """Computes Abs as Neg, also in model-local functions."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        return WrongAbs.change(super().change(model))


class WrongAbsInLoops(Correct):
    """Computes Abs as Neg in bodies only."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        for node in model.graph.node:
            for graph in subgraphs_of(node):
                replace_operator(iter_nodes(graph), "Abs", "Neg")
        return model


class WrongFusedMulAdd(Correct):
    """Has a wrong kernel for an Add after a Mul whose result is no output."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        outputs = {value.name for value in model.graph.output}
        products = {node.output[0] for node in model.graph.node if node.op_type == "Mul"} - outputs
        for node in model.graph.node:
            if node.op_type == "Add" and products.intersection(node.input):
                node.op_type = "Sub"
        return model


class NotDeterministic(Correct):
    """Adds the number of the run to every output."""

    runs = itertools.count()

    @classmethod
    def finish(cls, results: list[Any]) -> list[Any]:
        number = next(cls.runs)
        return [each + each.dtype.type(number) for each in results]


class FailsInRun1(Correct):
    """Raises in the first run."""

    runs = itertools.count(1)
    failing = 1

    @classmethod
    def finish(cls, results: list[Any]) -> list[Any]:
        if next(cls.runs) == cls.failing:
            raise RuntimeError("out of luck")
        return results


class FailsInRun2(FailsInRun1):
    """Raises in the second run."""

    runs = itertools.count(1)
    failing = 2


class RaisesForAbs(Correct):
    """Does not run Abs."""

    @classmethod
    def change(cls, model: onnx.ModelProto) -> onnx.ModelProto:
        if any(node.op_type == "Abs" for node in model.graph.node):
            raise RuntimeError("no kernel for Abs")
        return model


def replace_operator(nodes: Iterable[onnx.NodeProto], old: str, new: str) -> None:
    for node in nodes:
        if node.op_type == old:
            node.op_type = new


def with_passes(
    rewrite: Callable[[onnx.ModelProto, list[str]], None], names: Sequence[str] = TEN_PASSES
) -> Callable[..., onnx.ModelProto]:
    """Return a graph optimizer with passes; `rewrite` changes a model by the passes that are chosen."""

    def optimize(model: onnx.ModelProto, *, passes: str = "") -> onnx.ModelProto:
        if passes == LIST_PASSES:
            return list_of_passes(model, names)
        rewritten = copy_of(model)
        rewrite(rewritten, chosen_passes(passes, names))
        return rewritten

    return optimize


@with_passes
def wrong_in_one_pass(model: onnx.ModelProto, passes: list[str]) -> None:
    """`pass_6` replaces Abs by Neg."""
    if "pass_6" in passes:
        replace_operator(model.graph.node, "Abs", "Neg")


@with_passes
def wrong_in_two_passes_together(model: onnx.ModelProto, passes: list[str]) -> None:
    """`pass_2` replaces Relu by Abs, and `pass_7` replaces an Abs that `pass_2` made by Neg."""
    if {"pass_2", "pass_7"} <= set(passes):
        replace_operator(model.graph.node, "Abs", "Neg")


def _injected_pass(model: onnx.ModelProto, passes: list[str]) -> None:
    if INJECTED_PASS in passes:
        replace_operator(model.graph.node, "Abs", "Neg")


wrong_in_injected_pass = with_passes(_injected_pass, ["pass_0", INJECTED_PASS])
"""A graph optimizer with a pass whose name is HTML."""


@with_passes
def wrong_round_trip(model: onnx.ModelProto, passes: list[str]) -> None:
    """Replaces Abs by Neg without any pass."""
    replace_operator(model.graph.node, "Abs", "Neg")


@with_passes
def removes_softmax(model: onnx.ModelProto, passes: list[str]) -> None:
    """`pass_3` removes a Softmax before an ArgMax, which is correct in the reals."""
    if "pass_3" not in passes:
        return
    sources = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Softmax"}
    for node in model.graph.node:
        if node.op_type == "ArgMax":
            node.input[0] = sources.get(node.input[0], node.input[0])
    kept = [node for node in model.graph.node if node.op_type != "Softmax"]
    del model.graph.node[:]
    model.graph.node.extend(kept)


def raises(model: onnx.ModelProto) -> onnx.ModelProto:
    """Fails on a model with Abs."""
    if any(node.op_type == "Abs" for node in model.graph.node):
        raise RuntimeError("cannot rewrite Abs")
    return model


def returns_invalid_model(model: onnx.ModelProto) -> onnx.ModelProto:
    """Removes the producer of a value that is still used."""
    rewritten = copy_of(model)
    for number, node in enumerate(rewritten.graph.node):
        if node.op_type == "Abs":
            del rewritten.graph.node[number]
            break
    return rewritten
