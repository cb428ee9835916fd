"""Mutants that misread what is near the pair: declarations, sparse initializers, defaults, uses and equal sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checks.mutation.pass_mutants.pass_mutant import damage_result, replace_steps
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    bypass_producer,
    explicit_axis,
    is_monotone,
    is_only_use,
)
from conformance.exact.models.graphs import Scope, all_graphs, count_captures

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from checks.mutation.pass_mutants.pass_mutant import PassMutant
    from conformance.corpus.passes.eliminate_nop_monotone_argmax import Site

    _IsLost = Callable[[Site, str], bool]

FIELD_KEYS = {"value_info": "name", "quantization_annotation": "tensor_name"}
"""Repeated fields of a graph with information about values, with the field of an entry that names the value."""


def _losing(field: str, is_lost: _IsLost) -> Callable[[Site], None]:
    """Return a step `rewire` that also removes the entries of a field for whose value `is_lost` returns True."""

    def rewired(site: Site) -> None:
        entries = getattr(site.scope.graph, field)
        names = [getattr(entry, FIELD_KEYS[field]) for entry in entries]
        lost = {name for name in names if name != site.between and is_lost(site, name)}
        bypass_producer(site)
        for entry in [entry for entry in entries if getattr(entry, FIELD_KEYS[field]) in lost]:
            entries.remove(entry)

    return rewired


def _is_captured(site: Site, name: str) -> bool:
    return bool(count_captures(site.scope.graph)[name])


def _is_constant(site: Site, name: str) -> bool:
    producer = site.scope.producer(name)
    return producer is not None and producer.op_type == "Constant"


LOST: tuple[tuple[str, str, _IsLost], ...] = (
    (
        "of_other_case",
        "whose names differ from the removed name only in case",
        lambda s, n: n.lower() == s.between.lower(),
    ),
    ("by_suffix", "whose names end with the removed name", lambda s, n: n.endswith(s.between)),
    ("of_captured", "that a subgraph captures", _is_captured),
    ("of_constants", "of the results of Constant", _is_constant),
    ("of_outputs", "of the outputs of the graph", lambda s, n: n in {value.name for value in s.scope.graph.output}),
)
"""Entries that mutants lose: part of the id, description, and function of a site and the name of a value."""


def _limited(field: str, count: int) -> Callable[[onnx.ModelProto], None]:
    """Return a function that keeps only the first entries of a repeated field of each graph."""

    def spoil(model: onnx.ModelProto) -> None:
        for graph in all_graphs(model):
            del getattr(graph, field)[count:]

    return spoil


def _declarations_where(is_lost: Callable[[Any], bool]) -> Callable[[onnx.ModelProto], None]:
    """Return a function that removes the declarations for whose type `is_lost` returns True."""

    def spoil(model: onnx.ModelProto) -> None:
        for graph in all_graphs(model):
            for value in [value for value in graph.value_info if is_lost(value.type)]:
                graph.value_info.remove(value)

    return spoil


def _repeat_declaration(model: onnx.ModelProto) -> None:
    for graph in all_graphs(model):
        graph.value_info.extend([type(value).FromString(value.SerializeToString()) for value in graph.value_info[:1]])


DECLARED: tuple[PassMutant, ...] = (
    *(
        replace_steps(f"{word}_{id}", f"loses {word} {text}", level=Level.SHOULD, rewire=_losing(field, is_lost))
        for id, text, is_lost in LOST
        for word, field in (("declarations", "value_info"), ("annotations", "quantization_annotation"))
    ),
    replace_steps(
        "annotations_by_prefix",
        "loses annotations whose names begin with the removed name",
        level=Level.SHOULD,
        rewire=_losing("quantization_annotation", lambda site, name: name.startswith(site.between)),
    ),
    *(
        damage_result(f"{field}_at_most_8", f"keeps at most 8 entries of {field}", _limited(field, 8), Level.SHOULD)
        for field in FIELD_KEYS
    ),
    damage_result(
        "declarations_of_open_sizes",
        "drops declarations with a dimension without size and name",
        _declarations_where(lambda kind: any(not d.WhichOneof("value") for d in kind.tensor_type.shape.dim)),
        Level.SHOULD,
    ),
    damage_result(
        "declarations_without_shape",
        "drops declarations of tensors without a shape",
        _declarations_where(lambda kind: kind.HasField("tensor_type") and not kind.tensor_type.HasField("shape")),
        Level.SHOULD,
    ),
    damage_result(
        "declarations_of_sequences",
        "drops declarations of sequences",
        _declarations_where(lambda kind: kind.HasField("sequence_type")),
        Level.SHOULD,
    ),
    damage_result("repeated_declaration", "repeats the first declaration of a value", _repeat_declaration),
)


def _merge_sparse(model: onnx.ModelProto) -> None:
    """Keep the first of several sparse initializers with equal elements."""
    for graph in all_graphs(model):
        seen = set()
        for sparse in list(graph.sparse_initializer):
            key = sparse.values.raw_data, sparse.indices.raw_data, tuple(sparse.dims)
            if key in seen:
                graph.sparse_initializer.remove(sparse)
            seen.add(key)


SPARSE = (
    damage_result("merges_sparse", "merges sparse initializers with equal elements", _merge_sparse, Level.SHOULD),
    *(
        damage_result(id, f"keeps the {text} of several sparse initializers", spoil, Level.SHOULD)
        for id, text, spoil in (
            ("first_sparse_initializer", "first", _limited("sparse_initializer", 1)),
            ("two_sparse_initializers", "first two", _limited("sparse_initializer", 2)),
            ("eight_sparse_initializers", "first eight", _limited("sparse_initializer", 8)),
        )
    ),
    replace_steps(
        "not_beside_sparse",
        "does not apply in a graph with several sparse initializers",
        is_monotone=lambda site: is_monotone(site) and len(site.scope.graph.sparse_initializer) < 2,
    ),
)


def _attributes(site: Site) -> dict[str, int]:
    return {attribute.name: attribute.i for attribute in site.argmax.attribute}


def _main_opset(site: Site) -> int:
    return next(int(entry.version) for entry in site.scope.model.opset_import if not entry.domain)


ARGMAX_DEFAULTS = {"axis": 0, "keepdims": 1, "select_last_index": 0}

DEFAULTS = tuple(
    replace_steps(id, text, is_monotone=lambda site, is_refused=is_refused: is_monotone(site) and not is_refused(site))
    for id, text, is_refused in (
        (
            "all_defaults_written",
            "does not apply if ArgMax has all attributes with their default values",
            lambda site: _attributes(site) == ARGMAX_DEFAULTS,
        ),
        (
            "all_defaults_of_softmax",
            "does not apply to Softmax or LogSoftmax if ArgMax has all attributes with their default values",
            lambda site: site.producer.op_type in ALONG_AXIS and _attributes(site) == ARGMAX_DEFAULTS,
        ),
        (
            "defaults_written_inside",
            "does not apply in graphs inside of nodes if ArgMax has keepdims 1 or select_last_index 0",
            lambda site: bool(
                site.scope.path and {*ARGMAX_DEFAULTS.items()} - {("axis", 0)} & {*_attributes(site).items()}
            ),
        ),
        (
            "default_select_below_13",
            "does not apply below opset 13 if ArgMax has select_last_index 0",
            lambda site: _attributes(site).get("select_last_index") == 0 and _main_opset(site) < 13,
        ),
        (
            "defaults_left_out_inside",
            "does not apply in graphs inside of nodes if ArgMax has no keepdims",
            lambda site: bool(site.scope.path and "keepdims" not in _attributes(site)),
        ),
    )
)


def _is_output(site: Site, name: str) -> bool:
    return name in {value.name for value in site.scope.graph.output}


def _is_both(site: Site, name: str) -> bool:
    return _is_captured(site, name) and _is_output(site, name)


def _consumers(site: Site) -> int:
    return sum(list(node.input).count(site.between) for node in site.scope.graph.node)


READ = tuple(
    replace_steps(id, text, is_only_use=step)
    for id, text, step in (
        (
            "captured_and_output",
            "removes the operator if a subgraph captures its result and the result is a graph output too",
            lambda site: is_only_use(site) or (_is_both(site, site.between) and _consumers(site) == 1),
        ),
        (
            "captured_twice",
            "removes the operator if several subgraphs capture its result, and nothing else uses it",
            lambda site: (
                is_only_use(site)
                or (_is_captured(site, site.between) and _consumers(site) == 1 and not _is_output(site, site.between))
            ),
        ),
        (
            "captured_and_read",
            "removes the operator if a subgraph captures its result and another node reads the result",
            lambda site: (
                is_only_use(site)
                or (_is_captured(site, site.between) and _consumers(site) == 2 and not _is_output(site, site.between))
            ),
        ),
        (
            "output_and_read",
            "removes the operator if its result is a graph output and another node reads the result",
            lambda site: is_only_use(site) or (_is_output(site, site.between) and _consumers(site) == 2),
        ),
        (
            "operand_captured_and_output",
            "keeps the operator if a subgraph captures its operand and the operand is a graph output too",
            lambda site: is_only_use(site) and not _is_both(site, site.before),
        ),
        (
            "index_captured_and_output",
            "keeps the operator if a subgraph captures the index and the index is a graph output too",
            lambda site: is_only_use(site) and not _is_both(site, site.argmax.output[0]),
        ),
    )
)


def _sizes(scope: Scope, name: str) -> list[Any] | None:
    """Return the declared sizes of a value of the main graph: numbers, names, or None; None without a declaration."""
    declared = {value.name: value for value in (*scope.graph.input, *scope.graph.value_info)}.get(name)
    if declared is None:
        return None
    return [dim.dim_param or dim.dim_value or None for dim in declared.type.tensor_type.shape.dim]


def _with_equal_sizes(is_equal: Callable[[Any, Any], bool]) -> Callable[[Site], bool]:
    """Return a step `is_monotone` that accepts different axes if `is_equal` returns True for their declared sizes."""

    def decide(site: Site) -> bool:
        own, reduced, sizes = explicit_axis(site.producer), explicit_axis(site.argmax), _sizes(site.scope, site.before)
        if is_monotone(site) or own is None or reduced is None or not sizes or site.producer.op_type not in ALONG_AXIS:
            return is_monotone(site)
        return is_equal(sizes[own], sizes[reduced])

    return decide


EQUAL_SIZES = tuple(
    replace_steps(
        id, f"removes Softmax along another axis if both sizes are {text}", is_monotone=_with_equal_sizes(step)
    )
    for id, text, step in (
        ("axes_of_size_1", "1", lambda one, other: one == other == 1),
        ("axes_of_size_3", "3", lambda one, other: one == other == 3),
        ("axes_of_size_5", "5", lambda one, other: one == other == 5),
        ("axes_of_one_symbol", "one symbol", lambda one, other: one == other and isinstance(one, str)),
        ("axes_of_open_sizes", "not declared", lambda one, other: one is None and other is None),
    )
)
