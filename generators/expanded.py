"""Expanded cases: optimizer cases in which primitive operators replace the optimizer, for runtimes without optimizers.

The oracle computes the expected outputs from the expanded model alone. Every operation has the type of its tensors.
Only some cases are expanded: the others test properties of an optimizer's own kernel, which primitive operators do not
have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx

from conformance.base.verdicts import Level
from conformance.own.expansion import expand
from generators import training_cases
from generators.training_optimizers.table import GENERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.corpus.cases.case import Case


BOTH_TYPES = ("float", "double")
FLOAT = ("float",)
DOUBLE = ("double",)

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "upstream": BOTH_TYPES,
    "update_count": BOTH_TYPES,
    "types": BOTH_TYPES,
    "pairwise": BOTH_TYPES,
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
    "network": BOTH_TYPES,
    "unrolled": FLOAT,
    "fed": DOUBLE,
}
"""Element types for which cases are expanded, by family tag. If a case has several of these tags, the first one counts.

T and mixed types affect conversions and constants, so these families are expanded for both types. The arithmetic of
the other families is the same in both types, so one type is enough.
"""

MANY_TENSORS = "tensors=eight"
"""Tag of cases about how a kernel finds its operands. They are not expanded."""

BROADCASTING = "_broadcast_g"
"""End of the ids of cases about broadcasting, which primitive operators define. They are not expanded."""

MAX_TENSOR_SIZE = 64
"""Largest number of elements of a tensor. Longer tensors test the loops of a kernel."""

MAX_NODES = 40
"""Largest number of nodes before expansion. Ten unrolled training steps test as much as a hundred."""


def cases() -> Iterator[Case]:
    """Yield the expanded cases of all optimizers."""
    for generator in (*GENERATORS.values(), training_cases.cases):
        yield from (_expanded_case(case) for case in generator() if _is_expandable(case))


def _is_expandable(case: Case) -> bool:
    family = next((family for family in FAMILIES if family in case.tags), None)
    if case.level is Level.SILENT or family is None or not set(FAMILIES[family]) & set(case.tags):
        return False
    graph = onnx.load_model_from_string(case.model).graph
    if len(graph.node) > MAX_NODES or MANY_TENSORS in case.tags or case.id.endswith(BROADCASTING):
        return False
    return all(array.size <= MAX_TENSOR_SIZE for array in case.data_sets[0])


def _expanded_case(case: Case) -> Case:
    expanded = expand(onnx.load_model_from_string(case.model))
    expanded.graph.name = f"{case.id}_expanded"
    return replace(
        case,
        id=f"{case.id}_expanded",
        title=f"{case.title}, as a graph of primitive operators",
        tags=(*case.tags, "expanded"),
        model=expanded.SerializeToString(deterministic=True),
    )
