"""Restrictions of a profile: which cases and census cells are outside of the models that the profile permits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, TensorProto

from conformance.exact.models.graphs import (
    all_nodes,
    is_operator,
    main_opset,
    onnx_op_type,
    top_level_graphs,
    with_inferred_types,
)
from conformance.studies.evidence.requirement_maps import RESTRICTION_IDS, has_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.records import CaseRecord
    from conformance.studies.census.census_results import CellResult

UNDOCUMENTED_OPERATORS = frozenset({"Adam", "Adagrad", "Momentum", "LogSoftmax"})
"""Operators of this suite for which the profile has no document."""

UNDOCUMENTED_CLAUSES = ("adam.", "adagrad.", "momentum.")
"""First parts of the clauses of these operators; expanded cases have the clauses and not the operators."""

ATTRIBUTES: Mapping[str, tuple[tuple[str, int], ...]] = {
    "ArgMax": (("axis", 1), ("keepdims", 1), ("select_last_index", 12)),
    "Softmax": (("axis", 1),),
}
"""Attributes that a model must set, each with the first opset that has it, by operator."""


def cases_outside(corpus: Corpus, cases: Iterable[CaseRecord]) -> dict[str, list[str]]:
    """Return the ids of the cases that each restriction leaves out; a case can be left out by several restrictions."""
    outside: dict[str, list[str]] = {id: [] for id in RESTRICTION_IDS}
    for case in cases:
        model = onnx.load_model_from_string(corpus.read(corpus.cases[case.case], "model.onnx"))
        for id, is_outside in _CHECKS.items():
            if is_outside(case, model):
                outside[id].append(case.case)
    return outside


def cells_outside(cells: Iterable[CellResult]) -> dict[str, list[str]]:
    """Return the names of the census cells that each restriction leaves out."""
    every = [each.cell for each in cells]
    return {
        "operators": [cell.name for cell in every if cell.operator in UNDOCUMENTED_OPERATORS],
        "bfloat16": [cell.name for cell in every if cell.type == "bfloat16"],
    }


def _has_undocumented_operator(case: CaseRecord, model: onnx.ModelProto) -> bool:
    is_other = bool(case.clauses) and all(clause.startswith(UNDOCUMENTED_CLAUSES) for clause in case.clauses)
    return is_other or any(onnx_op_type(node) in UNDOCUMENTED_OPERATORS for node in all_nodes(model))


def _has_default(_: CaseRecord, model: onnx.ModelProto) -> bool:
    opset = main_opset(model)
    for node in all_nodes(model):
        present = {attribute.name for attribute in node.attribute}
        for name, since in ATTRIBUTES.get(onnx_op_type(node), ()):
            if opset >= since and name not in present:
                return True
    return False


def _has_negative_axis(_: CaseRecord, model: onnx.ModelProto) -> bool:
    return any(
        attribute.name == "axis" and attribute.i < 0
        for node in all_nodes(model)
        if onnx_op_type(node) in ATTRIBUTES
        for attribute in node.attribute
    )


def _has_empty_axis(case: CaseRecord, model: onnx.ModelProto) -> bool:
    shapes = [{value.name: value.shape for value in each.inputs} for each in case.data_sets]
    if not any(0 in shape for each in shapes for shape in each.values()):
        return False
    inferred = with_inferred_types(model).graph
    known = {
        value.name: [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        for value in inferred.value_info
    }
    for node in model.graph.node:
        if not is_operator(node, "ArgMax"):
            continue
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
        for each in shapes:
            shape = each.get(node.input[0]) or known.get(node.input[0], [])
            if -len(shape) <= axis < len(shape) and shape[axis] == 0:
                return True
    return False


def _has_bfloat16(case: CaseRecord, model: onnx.ModelProto) -> bool:
    values = (value.type for each in case.data_sets for value in (*each.inputs, *each.outputs))
    return has_type(case, "bfloat16") or "bfloat16" in values or TensorProto.BFLOAT16 in set(_types_in(model))


def _types_in(model: onnx.ModelProto) -> Iterator[int]:
    """Yield the element types of tensors, of declared values, and of Cast."""
    for graph in top_level_graphs(model):
        yield from (tensor.data_type for tensor in graph.initializer)
        yield from (value.type.tensor_type.elem_type for value in (*graph.input, *graph.output, *graph.value_info))
    for node in all_nodes(model):
        for attribute in node.attribute:
            yield attribute.t.data_type
            if is_operator(node, "Cast") and attribute.name == "to":
                yield attribute.i


def _has_sparse_tensor(_: CaseRecord, model: onnx.ModelProto) -> bool:
    return any(graph.sparse_initializer for graph in top_level_graphs(model)) or any(
        attribute.type == AttributeProto.SPARSE_TENSOR for node in all_nodes(model) for attribute in node.attribute
    )


_CHECKS: Mapping[str, Callable[[CaseRecord, onnx.ModelProto], bool]] = {
    "operators": _has_undocumented_operator,
    "defaults": _has_default,
    "negative_axis": _has_negative_axis,
    "empty_axis": _has_empty_axis,
    "bfloat16": _has_bfloat16,
    "sparse": _has_sparse_tensor,
}
