"""Branches of If and bodies of Loop and Scan as the scenarios of subgraphs use them, and a case of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.dimensions.blocks import branch, constant
from conformance.generation.models import argmax_shape, declared, declared_as
from conformance.generation.values import ranked
from generators.eliminate_nop_monotone_argmax.scenario import SHAPE, ScenarioGraph, argmax, scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from conformance.corpus.case import Case, Rewrite

FAMILY = "subgraphs"
X = ranked("subgraphs/X", SHAPE, np.float32)
INDEX = argmax_shape(SHAPE, 1, 0)
TWO_TURNS = (constant("turns", np.array(2, dtype=np.int64)), constant("always", np.array(True)))


def then_branch(nodes: Sequence[onnx.NodeProto], output: str) -> onnx.GraphProto:
    """The branch that the safe data set takes, with an index as its output."""
    return branch("then", nodes, [output], INDEX, "int64")


def else_branch(nodes: Sequence[onnx.NodeProto] = (), output: str = "plain") -> onnx.GraphProto:
    """The other branch, by default of ArgMax alone."""
    return branch("else", nodes or [argmax("X", output)], [output], INDEX, "int64")


def loop(nodes: Sequence[onnx.NodeProto], state: tuple[str, str], scanned: str) -> onnx.NodeProto:
    """A Loop of as many turns as `turns` says with X as its state, which scans indices."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["more"], ["go_on"]), *nodes],
        "body",
        [declared_as("turn", "int64", []), declared_as("more", "bool", []), declared_as(state[0], "float", SHAPE)],
        [declared_as("go_on", "bool", []), declared_as(state[1], "float", SHAPE), declared_as(scanned, "int64", INDEX)],
    )
    return helper.make_node("Loop", ["turns", "always", "X"], ["last", "index"], body=body)


def scan(nodes: Sequence[onnx.NodeProto], output: str) -> onnx.NodeProto:
    """A Scan over the rows of X, which gathers indices."""
    body = helper.make_graph(
        nodes, "body", [declared_as("row", "float", SHAPE[1:])], [declared_as(output, "int64", [])]
    )
    return helper.make_node("Scan", ["X"], ["index"], num_scan_inputs=1, body=body)


def subgraph_case(
    name: str,
    title: str,
    clauses: Sequence[str],
    rewrite: Rewrite,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto] = (),
    *,
    feeds_condition: bool = True,
) -> Case:
    """A case of this family.

    Args:
        feeds_condition: whether the condition `taken` of an If is an input, and true.
    """
    graph = ScenarioGraph(nodes, (X,), outputs=outputs)
    if feeds_condition:
        inputs = [declared("X", X), declared_as("taken", "bool", [])]
        graph = ScenarioGraph(nodes, (X, np.array(True)), inputs=inputs, outputs=outputs)
    return scenario(FAMILY, name, title, clauses, rewrite, graph)
