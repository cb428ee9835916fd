"""Siblings on primitive operators: the optimizers' data sets on the lowered graph, for runtimes without the optimizers.

What a sibling must give is computed from the lowered model alone, in which every operation has the type of its tensors.
Not every permutation has one: a primitive graph cannot get wrong what only an optimizer's own kernel does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx

from conformance.lowering.lowering import lower
from conformance.verdicts import Level
from generators import training
from generators.training_optimizers.table import GENERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.corpus.case import Case

BOTH, FLOAT, DOUBLE = ("float", "double"), ("float",), ("double",)

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "upstream": BOTH,
    "update_count": BOTH,
    "types": BOTH,
    "pairwise": BOTH,
    "defaults": DOUBLE,
    "magnitude": FLOAT,
    "shape": FLOAT,
    "data_sets": DOUBLE,
    "structure": DOUBLE,
    "nan": FLOAT,
    "infinity": DOUBLE,
    "zero": FLOAT,
    "subnormal": DOUBLE,
    "special_values": FLOAT,
    "attributes": DOUBLE,
    "network": BOTH,
    "unrolled": FLOAT,
    "fed": DOUBLE,
}
"""The families that have siblings, and for tensors of which types; of several tags of a case, the first here counts.

T and types bear on conversions and constants, and so on every type; the arithmetic of the others is the same in both,
and one of the two shows it.
"""

MANY_TENSORS = "tensors=eight"
"""The tag of cases about how a kernel finds its operands: to primitives these are graphs side by side."""

LARGEST_TENSOR = 64
"""Long tensors are about the loops of an optimizer's kernel."""

LONGEST_GRAPH = 40
"""Nodes before lowering: a sibling of a hundred unrolled steps would show what one of ten does."""


def cases() -> Iterator[Case]:
    """All siblings."""
    for generator in (*GENERATORS.values(), training.cases):
        yield from (_sibling(case) for case in generator() if _has_sibling(case))


def _has_sibling(case: Case) -> bool:
    family = next((family for family in FAMILIES if family in case.tags), None)
    if case.level is Level.SILENT or family is None or not set(FAMILIES[family]) & set(case.tags):
        return False
    graph = onnx.load_model_from_string(case.model).graph
    if len(graph.node) > LONGEST_GRAPH or MANY_TENSORS in case.tags:
        return False
    return all(array.size <= LARGEST_TENSOR for array in case.data_sets[0])


def _sibling(case: Case) -> Case:
    lowered = lower(onnx.load_model_from_string(case.model))
    lowered.graph.name = f"{case.id}_expanded"
    return replace(
        case,
        id=f"{case.id}_expanded",
        title=f"{case.title}, as a graph of primitive operators",
        tags=(*case.tags, "expanded"),
        model=lowered.SerializeToString(deterministic=True),
    )
