"""Cases side by side: one case whose model has the graphs of several ones, which have no value in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx

from conformance.exact.models.graphs import all_graphs, all_nodes, called_name, copy_of, function_name
from conformance.exact.models.renaming import FreshNames, Renamer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.corpus.cases.case import Case


def side_by_side(cases: Iterable[Case], parts: int) -> Iterator[Case]:
    """Yield cases of which each has the graphs of cases of one opset.

    Args:
        cases: the cases. A case without answers, with more than one data set, or whose model is more than a graph with
            functions stays as it is.
        parts: the most cases that become one.
    """
    waiting: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        model = onnx.load_model_from_string(case.model)
        if len(case.answers) != 1 or not _is_plain(model):
            yield case
            continue
        imports = sorted((entry.domain, str(entry.version)) for entry in model.opset_import)
        key = (case.level, str(model.ir_version), *map(str, imports))
        waiting.setdefault(key, []).append(case)
        if len(waiting[key]) == parts:
            yield _joined(waiting.pop(key))
    for left in waiting.values():
        yield _joined(left)


def _is_plain(model: onnx.ModelProto) -> bool:
    """Return whether a model has no texts and no information besides its graph and its functions."""
    graph = model.graph
    return not (
        model.metadata_props or model.doc_string or model.training_info or graph.doc_string or graph.metadata_props
    )


def _joined(cases: Sequence[Case]) -> Case:
    """Return one case with the graphs of all."""
    if len(cases) == 1:
        return cases[0]
    parts = [_renamed(onnx.load_model_from_string(case.model), f"_{place}") for place, case in enumerate(cases, 1)]
    model = parts[0]
    for part in parts[1:]:
        model.graph.MergeFrom(part.graph)
        model.functions.extend(part.functions)
    model.graph.name = "side_by_side"
    return replace(
        cases[0],
        title="; ".join(case.title for case in cases),
        tags=tuple(dict.fromkeys(tag for case in cases for tag in case.tags)),
        model=model.SerializeToString(deterministic=True),
        data_sets=(tuple(array for case in cases for array in case.data_sets[0]),),
        answers=(tuple(answer for case in cases for answer in case.answers[0]),),
    )


def _renamed(model: onnx.ModelProto, suffix: str) -> onnx.ModelProto:
    """Return a copy of a model in which the names of values, nodes, sizes and functions have a suffix."""
    copy = copy_of(model)
    functions = {function_name(function) for function in copy.functions}
    for node in all_nodes(copy):
        node.name = node.name and node.name + suffix
        if called_name(node) in functions:
            node.op_type += suffix
    for function in copy.functions:
        function.name += suffix
    Renamer(FreshNames.of(copy)).rename_graph(copy.graph, {}, lambda name: name + suffix)
    for graph in all_graphs(copy):
        for value in (*graph.input, *graph.output, *graph.value_info):
            for size in value.type.tensor_type.shape.dim:
                if size.dim_param:
                    size.dim_param += suffix
    return copy
