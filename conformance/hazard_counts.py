"""Counts of the answers of a model that the pass eliminate_nop_monotone_argmax changes, by hazard.

A subject runs the model and the rewritten model on the same inputs. Each index that differs is classified by the
operand and the result of the removed operator, as the subject computed them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.graphs.cutting import with_outputs
from conformance.graphs.intermediate_values import SubjectRefused, are_identical, run_once
from conformance.models.graphs import is_operator, main_opset, with_inferred_types
from conformance.models.inputs import initializer_arrays, required_input_names
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, eliminate, explicit_axis
from conformance.passes.hazards import hazards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.graphs.inputs import InputSet
    from conformance.models.arrays import Array
    from conformance.subjects.loading import Subject

NO_HAZARD = "no hazard"
"""Class of a changed index that no hazard explains."""

NO_OPERAND = "operand unknown"
"""Class of a changed index if the subject does not return the operand of the removed operator."""

COERCION_BELOW = 13
"""The opset from which Softmax and LogSoftmax normalize one axis only."""


@dataclass(frozen=True)
class ChangedIndex:
    """An index that the pass changes.

    Attributes:
        data_set: the name of the data set.
        position: the position in the output of ArgMax.
        before: the index that the model returns.
        after: the index that the rewritten model returns.
    """

    data_set: str
    position: tuple[int, ...]
    before: int
    after: int


@dataclass
class ArgMaxChanges:
    """The answers of one ArgMax, with and without the operators that the pass removes before it.

    Attributes:
        output: the name of the ArgMax's output.
        compared: the number of compared indices.
        changed: the number of changed indices by the id of the hazard, or by `NO_HAZARD` or `NO_OPERAND`.
        first: the first changed index of each class.
    """

    output: str
    compared: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    first: dict[str, ChangedIndex] = field(default_factory=dict)


@dataclass
class HazardCounts:
    """The changed answers of a model on one subject.

    Attributes:
        subject: the id of the subject.
        version: its version.
        argmaxes: the ArgMax nodes of the main graph before which the pass removes operators.
        skipped: paths of ArgMax nodes in subgraphs, which the pass changes too, and which are not counted.
        remarks: what limits the counts.
        failure: the message of the subject if it did not run a model; otherwise empty.
    """

    subject: str
    version: str
    argmaxes: list[ArgMaxChanges]
    skipped: list[str]
    remarks: list[str] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True)
class RemovedOperator:
    """An operator that the pass removes before an ArgMax.

    Attributes:
        op_type: its type.
        opset: the opset of the model.
        axis: its axis; None for an elementwise operator.
        source: the name of its operand.
        result: the name of its result.
    """

    op_type: str
    opset: int
    axis: int | None
    source: str
    result: str


@dataclass(frozen=True)
class _Site:
    """An ArgMax of the main graph, and the removed operators before it, the first that is computed first."""

    argmax: onnx.NodeProto
    removed: tuple[RemovedOperator, ...]

    @property
    def output(self) -> str:
        return str(self.argmax.output[0])


def count_hazards(model: onnx.ModelProto, subject: Subject, data_sets: Sequence[InputSet]) -> HazardCounts:
    """Count the indices that the pass changes on a subject, by hazard.

    Args:
        model: a valid model, with its external data loaded.
        subject: the backend.
        data_sets: the inputs.
    """
    model = with_inferred_types(model)
    rewritten, removals = eliminate.traced(model, fixed_point=True)
    sites = list(_main_sites(model, {removal.path for removal in removals}))
    outputs = [site.output for site in sites]
    skipped = sorted({removal.argmax for removal in removals} - {*outputs})
    counts = HazardCounts(subject.id, subject.version or "", [ArgMaxChanges(name) for name in outputs], skipped)
    if not sites:
        return counts
    try:
        for data_set in data_sets:
            _count_data_set(counts, sites, model, rewritten, subject.target, data_set)
    except SubjectRefused as refusal:
        counts.failure = str(refusal)
    return counts


def _main_sites(model: onnx.ModelProto, removed_paths: set[str]) -> Iterator[_Site]:
    producers = {name: node for node in model.graph.node for name in node.output}
    opset = main_opset(model)
    for node in model.graph.node:
        if not is_operator(node, "ArgMax"):
            continue
        removed: list[RemovedOperator] = []
        name = node.input[0]
        while name in removed_paths and (producer := producers.get(name)) is not None:
            axis = explicit_axis(producer) if producer.op_type in ALONG_AXIS else None
            removed.append(RemovedOperator(producer.op_type, opset, axis, producer.input[0], name))
            name = producer.input[0]
        if removed:
            yield _Site(node, tuple(reversed(removed)))


def _count_data_set(
    counts: HazardCounts,
    sites: Sequence[_Site],
    model: onnx.ModelProto,
    rewritten: onnx.ModelProto,
    backend: Any,
    data_set: InputSet,
) -> None:
    names = [site.output for site in sites]
    first, second = _run(backend, model, names, data_set, times=2)
    if not are_identical([first[name] for name in names], [second[name] for name in names]):
        _add_remark(counts, "the indices differ from run to run; a change need not come from the pass")
    (after,) = _run(backend, rewritten, names, data_set)
    differs = {
        name: first[name].shape != after[name].shape or bool((first[name] != after[name]).any()) for name in names
    }
    values: Mapping[str, Array] = {}
    if any(differs.values()):
        values = _operands(counts, sites, model, backend, data_set, first)
    for site, changes in zip(sites, counts.argmaxes, strict=True):
        if first[site.output].shape != after[site.output].shape:
            raise SubjectRefused(f"{site.output} has another shape without the removed operators")
        changes.compared += int(first[site.output].size)
        if differs[site.output]:
            _classify_site(changes, site, first[site.output], after[site.output], values, data_set.name)


def _operands(
    counts: HazardCounts,
    sites: Sequence[_Site],
    model: onnx.ModelProto,
    backend: Any,
    data_set: InputSet,
    before: Mapping[str, Array],
) -> Mapping[str, Array]:
    """Return operands and results of the removed operators by name; none if the subject refuses to return them."""
    names = [site.output for site in sites]
    given = dict(zip(required_input_names(model.graph), data_set.arrays, strict=True))
    known = {**initializer_arrays(model.graph), **given}
    wanted = [name for site in sites for each in site.removed for name in (each.source, each.result)]
    try:
        (run,) = _run(backend, model, [*names, *(name for name in wanted if name not in known)], data_set)
    except SubjectRefused as refusal:
        _add_remark(counts, f"the subject does not return the operands of the removed operators: {refusal}")
        return {}
    if not are_identical([run[name] for name in names], [before[name] for name in names]):
        _add_remark(counts, "to expose the operands changes indices; the classes are those of the exposed operands")
    return {**known, **run}


def _add_remark(counts: HazardCounts, text: str) -> None:
    if text not in counts.remarks:
        counts.remarks.append(text)


def _run(
    backend: Any, model: onnx.ModelProto, names: Sequence[str], data_set: InputSet, *, times: int = 1
) -> list[dict[str, Array]]:
    """Run a model with these values as outputs, and return all outputs of each run by name."""
    present = {value.name for value in model.graph.output}
    exposed = with_outputs(model, [name for name in dict.fromkeys(names) if name not in present])
    results = run_once(backend, exposed, data_set.arrays, times=times)
    found = [dict(zip((value.name for value in exposed.graph.output), outputs, strict=True)) for outputs in results]
    if any(not isinstance(values[name], np.ndarray) for values in found for name in names):
        raise SubjectRefused("returned an output that is not a tensor")
    return found


def _classify_site(
    changes: ArgMaxChanges, site: _Site, before: Array, after: Array, values: Mapping[str, Array], data_set: str
) -> None:
    """Add the changed indices of one run to the counts."""
    positions = np.argwhere(before != after)
    if all(name in values for each in site.removed for name in (each.source, each.result)):
        classes = classify_changes(site.argmax, site.removed, values, positions, before, after)
    else:
        classes = [NO_OPERAND] * len(positions)
    for position, hazard in zip(positions, classes, strict=True):
        place = tuple(int(part) for part in position)
        changes.changed[hazard] += 1
        changes.first.setdefault(hazard, ChangedIndex(data_set, place, int(before[place]), int(after[place])))


def classify_changes(
    argmax: onnx.NodeProto,
    removed: Sequence[RemovedOperator],
    values: Mapping[str, Array],
    positions: Array,
    before: Array,
    after: Array,
) -> list[str]:
    """Return the hazard of each changed index, or `NO_HAZARD`.

    The hazard is that of the first removed operator after which the element of the new index is no longer ahead of the
    element of the old one.

    Args:
        argmax: the ArgMax.
        removed: the removed operators, the first that is computed first.
        values: their operands and results by name.
        positions: the positions of the changed indices in the output of ArgMax, one row for each.
        before: the output with the operators.
        after: the output without them.
    """
    attributes = {attribute.name: attribute.i for attribute in argmax.attribute}
    rank = values[removed[0].source].ndim
    axis = attributes.get("axis", 0) % max(rank, 1)
    takes_last = bool(attributes.get("select_last_index", 0))
    classes = []
    for position in positions:
        place = list(position) if attributes.get("keepdims", 1) else [*position[:axis], 0, *position[axis:]]
        old, new = [place.copy(), place.copy()]
        old[axis], new[axis] = before[tuple(position)], after[tuple(position)]
        is_first = (new[axis] < old[axis]) != takes_last
        source = values[removed[0].source]
        steps = removed if _is_ahead(source, old, new, is_first) or _has_nan(source, old, axis) else ()
        step = next((each for each in steps if not _is_ahead(values[each.result], old, new, is_first)), None)
        hazard = None if step is None else _hazard(step, values[step.source], values[step.result], old, new, axis)
        classes.append(hazard or NO_HAZARD)
    return classes


def _is_ahead(array: Array, old: Sequence[int], new: Sequence[int], is_first: bool) -> bool:
    """Return whether ArgMax prefers the element `new` to the element `old`; it never does if one of them is NaN."""
    y_old, y_new = _pair(array, old, new)
    return y_new > y_old or (y_new == y_old and is_first)


def _pair(array: Array, old: Sequence[int], new: Sequence[int]) -> tuple[float, float]:
    return float(array[tuple(old)]), float(array[tuple(new)])


def _has_nan(array: Array, place: Sequence[int], axis: int) -> bool:
    return bool(np.isnan(_slice(array, place, axis)).any())


def _slice(array: Array, place: Sequence[int], axis: int) -> Array:
    """Return the elements along an axis through a place, as doubles."""
    index: tuple[Any, ...] = (*place[:axis], slice(None), *place[axis + 1 :])
    return np.asarray(array[index]).astype(np.float64)


def _hazard(
    operator: RemovedOperator, x: Array, y: Array, old: Sequence[int], new: Sequence[int], axis: int
) -> str | None:
    """Return the hazard by which the element `new` is not ahead of the element `old` in the result of an operator."""
    y_old, y_new = _pair(y, old, new)
    ties, falls = y_old == y_new, y_new < y_old
    along = _slice(x, old, axis)
    found: str | None = None
    if operator.axis is not None:
        found = _softmax_hazard(operator, x, along, old, y_new, ties=ties)
    elif operator.op_type in ("Log", "Sqrt") and (along < 0).any() and _has_nan(y, old, axis):
        found = f"{operator.op_type.lower()}_negative"
    elif np.isnan(along).any():
        found = None
    elif ties and operator.op_type == "Exp" and np.isinf(y_new):
        found = "exp_overflow"
    elif ties and operator.op_type == "Exp" and y_new == 0:
        found = "exp_underflow"
    elif ties or falls:
        found = "rounding_tie" if ties else "not_monotone"
    return found if found and hazards()[found].affects(operator.op_type, operator.opset) else None


def _softmax_hazard(
    operator: RemovedOperator, x: Array, along: Array, place: Sequence[int], y_new: float, *, ties: bool
) -> str | None:
    row = along
    if operator.opset < COERCION_BELOW and operator.axis is not None:
        start = operator.axis % x.ndim
        row = np.asarray(x[tuple(place[:start])]).astype(np.float64)
    if np.isnan(row).any():
        return "softmax_nan"
    if np.isposinf(row).any() or np.isneginf(row).all():
        return "softmax_infinity"
    if not ties:
        return None
    return "coercion" if y_new in (0, -np.inf) and along.max() < row.max() else "rounding_tie"


def text_lines(counts: HazardCounts) -> Iterator[str]:
    """Yield the lines that the terminal shows for one subject."""
    yield f"{counts.subject} {counts.version}"
    if counts.failure:
        yield f"  The subject does not run the model: {counts.failure}"
        return
    for changes in counts.argmaxes:
        yield f"  ArgMax {changes.output}: {changes.changed.total()} of {changes.compared} indices change"
        for hazard, count in changes.changed.most_common():
            first = changes.first[hazard]
            place = ", ".join(map(str, first.position))
            yield f"    {hazard}: {count}; first at [{place}] of {first.data_set}: {first.before} → {first.after}"
    for path in counts.skipped:
        yield f"  ArgMax {path}: not counted, because it is in a subgraph"
    for remark in counts.remarks:
        yield f"  Note: {remark}."


def as_json(counts: HazardCounts) -> dict[str, Any]:
    """Return the counts as JSON data."""
    return {
        "subject": counts.subject,
        "version": counts.version,
        "failure": counts.failure or None,
        "argmax": [
            {
                "output": changes.output,
                "compared": changes.compared,
                "changed": dict(changes.changed),
                "first": {hazard: asdict(first) for hazard, first in changes.first.items()},
            }
            for changes in counts.argmaxes
        ],
        "not_counted": counts.skipped,
        "remarks": counts.remarks,
    }
