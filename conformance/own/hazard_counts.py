"""Counts of the answers of a model that the pass eliminate_nop_monotone_argmax changes, by hazard.

A subject runs the model and the rewritten model on the same inputs. Each index that differs is classified by the
operand and the result of the removed operator, as the subject computed them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from conformance.base.errors import UsageError
from conformance.base.serialization.printable_text import one_line
from conformance.corpus.passes.analysis import ArgMaxSite, analyse_argmaxes
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, eliminate, explicit_axis
from conformance.corpus.passes.hazards import hazards
from conformance.exact.models.external_data import initializer_arrays_in
from conformance.exact.models.graphs import is_operator, main_opset, with_inferred_types
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_validity import read_model, report_invalid_model
from conformance.own.graphs.cutting import with_outputs
from conformance.own.graphs.intermediate_values import SubjectRefused, are_identical, run_once, set_data_folder
from conformance.own.graphs.model_inputs import choose_inputs, input_text
from conformance.own.graphs.reading import LoadedModel, shared_weights
from conformance.own.graphs.tensor_borders import with_tensor_inputs
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.own.graphs.model_inputs import InputSet
    from conformance.subjects.calling.subject_names import Subject

NO_HAZARD = "no hazard"
"""Class of a changed index that no hazard explains."""

NO_OPERAND = "operand unknown"
"""Class of a changed index if the subject does not return the operand of the removed operator."""

COERCION_BELOW = 13
"""The opset from which Softmax and LogSoftmax normalize one axis only."""


class ChangedIndex(msgspec.Struct, frozen=True):
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


class ArgMaxChanges(msgspec.Struct):
    """The answers of one ArgMax, with and without the operators that the pass removes before it.

    Attributes:
        output: the name of the ArgMax's output.
        compared: the number of compared indices.
        changed: the number of changed indices by the id of the hazard, or by `NO_HAZARD` or `NO_OPERAND`.
        first: the first changed index of each class.
    """

    output: str
    compared: int = 0
    changed: Counter[str] = msgspec.field(default_factory=Counter)
    first: dict[str, ChangedIndex] = {}


class HazardCounts(msgspec.Struct):
    """The changed answers of a model on one subject, as the JSON report has them.

    Attributes:
        subject: the id of the subject.
        version: its version.
        failure: the message of the subject if it did not run a model.
        argmax: the ArgMax nodes of the main graph before which the pass removes operators.
        not_counted: paths of ArgMax nodes in subgraphs, which the pass changes too.
        remarks: what limits the counts.
    """

    subject: str
    version: str
    failure: str | None
    argmax: list[ArgMaxChanges]
    not_counted: list[str]
    remarks: list[str] = []


class HazardsDocument(msgspec.Struct):
    """The file of `--json` of the verb `hazards`; it has inputs, a seed and counts if a subject runs the model."""

    model: str
    argmax: list[ArgMaxSite]
    inputs: list[str] | msgspec.UnsetType = msgspec.UNSET
    seed: int | msgspec.UnsetType | None = msgspec.UNSET
    counts: list[HazardCounts] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class ModelHazards:
    """The hazards of a model, and the indices that change on subjects.

    Attributes:
        model: the file of the model.
        findings: the ArgMax nodes before which the pass removes operators.
        data_sets: the inputs; none if no subject runs the model.
        texts: the names, types and shapes of the inputs of each data set.
        seed: the seed of pseudo-random inputs; None if the user gave inputs.
        counts: the changed indices on each subject.
    """

    model: Path
    findings: list[ArgMaxSite]
    data_sets: Sequence[InputSet]
    texts: list[str]
    seed: int | None
    counts: list[HazardCounts]

    @property
    def fails(self) -> bool:
        """Whether a subject does not run the model."""
        return any(each.failure for each in self.counts)

    @property
    def document(self) -> HazardsDocument:
        """The content of the file of `--json`."""
        document = HazardsDocument(str(self.model), self.findings)
        if self.data_sets:
            document.inputs = self.texts
            document.seed = self.seed
            document.counts = self.counts
        return document

    def lines(self) -> Iterator[str]:
        """Yield the lines that show the hazards in a terminal."""
        yield from site_lines(self.findings)
        for data_set, text in zip(self.data_sets, self.texts, strict=True):
            yield f"inputs ({data_set.name}): {text or 'none'}"
        for each in self.counts:
            yield from text_lines(each)


def find_hazards(
    path: Path,
    backends: Sequence[str] = (),
    *,
    inputs: Path | None = None,
    shapes: Sequence[str] = (),
    values: Sequence[str] = (),
    seed: int = 0,
    timeout: float = 60.0,
    in_process: bool = False,
) -> ModelHazards:
    """Find the hazards of a model, and count the indices that change on backends, if there are any.

    Args:
        path: the file of the model.
        backends: the names of the backends.
        inputs: a file or folder of inputs; None for pseudo-random inputs.
        shapes: the sizes of inputs, as for `--shape`.
        values: the values of single inputs, as for `--input`.
        seed: the seed of pseudo-random inputs.
        timeout: the time limit of each request, in seconds.
        in_process: whether backends written in Python run in this process.

    Raises:
        ConformanceError: the model or the inputs cannot be read, a backend cannot be started, or there are inputs
            without a backend.
    """
    if not backends and (inputs is not None or shapes or values):
        raise UsageError("subject-missing.for-inputs")
    _, proto = read_model(path)
    with report_invalid_model(path, proto):
        findings = analyse_argmaxes(proto)
    if not backends:
        return ModelHazards(path, findings, [], [], None, [])
    data_sets = choose_inputs(proto, inputs, shapes, seed, values)
    counts = count_on_subjects(path, backends, data_sets, timeout, in_process=in_process)
    texts = [input_text(required_input_names(proto.graph), data_set) for data_set in data_sets]
    return ModelHazards(path, findings, data_sets, texts, None if inputs else seed, counts)


@dataclass(frozen=True)
class _RemovedOperator:
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
    removed: tuple[_RemovedOperator, ...]

    @property
    def output(self) -> str:
        return str(self.argmax.output[0])

    @property
    def values(self) -> dict[str, None]:
        """The names of the operands and the results of the removed operators, in order."""
        return dict.fromkeys(name for each in self.removed for name in (each.source, each.result))


def count_on_subjects(
    path: Path, backends: Sequence[str], data_sets: Sequence[InputSet], timeout: float, *, in_process: bool
) -> list[HazardCounts]:
    """Run a model and the rewritten model on each backend, and count the indices that change.

    Args:
        path: the file of the model; external data that is large stays in its files.
        backends: the names of the backends.
        data_sets: the inputs.
        timeout: the time limit of each request, in seconds.
        in_process: whether backends written in Python run in this process.
    """
    named = [SubjectName.parse(text, SubjectKind.BACKEND) for text in backends]
    with shared_weights([path], named) as scratch:
        loaded = LoadedModel.read(path, scratch=scratch)
        with started_subjects(named, Limits(timeout), no_isolation=in_process) as subjects:
            for subject in subjects:
                set_data_folder(subject.target, loaded.data_folder)
            made, fed = with_tensor_inputs(loaded, data_sets)
            return [count_hazards(made.original, each, fed, loaded.data_folder) for each in subjects]


def count_hazards(
    model: onnx.ModelProto, subject: Subject, data_sets: Sequence[InputSet], data_folder: Path | None = None
) -> HazardCounts:
    """Count the indices that the pass changes on a subject, by hazard.

    Args:
        model: a valid model.
        subject: the backend.
        data_sets: the inputs.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """
    model = with_inferred_types(model)
    rewritten, removals = eliminate.traced(model, fixed_point=True)
    sites = list(_main_sites(model, {removal.path for removal in removals}))
    outputs = [site.output for site in sites]
    skipped = sorted({removal.argmax for removal in removals} - {*outputs})
    counts = HazardCounts(subject.id, subject.version or "", None, [ArgMaxChanges(name) for name in outputs], skipped)
    try:
        for data_set in data_sets if sites else ():
            _DataSetCount(counts, sites, model, subject.target, data_set, data_folder).add(rewritten)
    except SubjectRefused as refusal:
        counts.failure = str(refusal)
    return counts


def _main_sites(model: onnx.ModelProto, removed_paths: set[str]) -> Iterator[_Site]:
    producers = {name: node for node in model.graph.node for name in node.output}
    opset = main_opset(model)
    for node in model.graph.node:
        if not is_operator(node, "ArgMax"):
            continue
        removed: list[_RemovedOperator] = []
        name = node.input[0]
        while name in removed_paths and (producer := producers.get(name)) is not None:
            axis = explicit_axis(producer) if producer.op_type in ALONG_AXIS else None
            removed.append(_RemovedOperator(producer.op_type, opset, axis, producer.input[0], name))
            name = producer.input[0]
        if removed:
            yield _Site(node, tuple(reversed(removed)))


@dataclass(frozen=True)
class _DataSetCount:
    """The counts for one data set.

    Attributes:
        counts: the counts of all data sets, to which those of this data set are added.
        sites: the ArgMax nodes.
        model: the model.
        backend: the subject.
        data_set: the inputs.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    counts: HazardCounts
    sites: Sequence[_Site]
    model: onnx.ModelProto
    backend: Any
    data_set: InputSet
    data_folder: Path | None

    def add(self, rewritten: onnx.ModelProto) -> None:
        """Count the indices that the rewritten model changes."""
        names = [site.output for site in self.sites]
        first, second = self._run(self.model, names, times=2)
        if not are_identical([first[name] for name in names], [second[name] for name in names]):
            self._add_remark("the indices differ from run to run; a change need not come from the pass")
        (after,) = self._run(rewritten, names)
        differs = {
            name: first[name].shape != after[name].shape or bool((first[name] != after[name]).any()) for name in names
        }
        values = self._operands(first) if any(differs.values()) else {}
        for name, site, changes in zip(names, self.sites, self.counts.argmax, strict=True):
            if first[name].shape != after[name].shape:
                raise SubjectRefused(f"{name} has another shape without the removed operators")
            changes.compared += int(first[name].size)
            for position in np.argwhere(first[name] != after[name]) if differs[name] else ():
                place = tuple(int(part) for part in position)
                changed = ChangedIndex(self.data_set.name, place, int(first[name][place]), int(after[name][place]))
                hazard = _hazard_of_change(site, changed, values)
                changes.changed[hazard] += 1
                changes.first.setdefault(hazard, changed)

    def _operands(self, before: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return operands and results of the removed operators by name; none if the subject refuses to return them."""
        names = [site.output for site in self.sites]
        given = dict(zip(required_input_names(self.model.graph), self.data_set.arrays, strict=True))
        known = {**initializer_arrays_in(self.model.graph, self.data_folder), **given}
        wanted = [name for site in self.sites for name in site.values if name not in known]
        try:
            (run,) = self._run(self.model, [*names, *wanted])
        except SubjectRefused as refusal:
            self._add_remark(f"the subject does not return the operands of the removed operators: {refusal}")
            return {}
        if not are_identical([run[name] for name in names], [before[name] for name in names]):
            self._add_remark("to expose the operands changes indices; the classes are those of the exposed operands")
        return {**known, **run}

    def _add_remark(self, text: str) -> None:
        if text not in self.counts.remarks:
            self.counts.remarks.append(text)

    def _run(self, model: onnx.ModelProto, names: Sequence[str], *, times: int = 1) -> list[dict[str, Array]]:
        """Run a model with these values as outputs, and return all outputs of each run by name."""
        present = {value.name for value in model.graph.output}
        exposed = with_outputs(model, [name for name in dict.fromkeys(names) if name not in present])
        results = run_once(self.backend, exposed, self.data_set.arrays, times=times)
        found = [dict(zip((value.name for value in exposed.graph.output), outputs, strict=True)) for outputs in results]
        if any(not isinstance(values[name], np.ndarray) for values in found for name in names):
            raise SubjectRefused("returned an output that is not a tensor")
        return found


def _hazard_of_change(site: _Site, changed: ChangedIndex, values: Mapping[str, Array]) -> str:
    """Return the hazard of a changed index, `NO_HAZARD`, or `NO_OPERAND`.

    The hazard is that of the first removed operator after which the element of the new index is no longer ahead of the
    element of the old one.

    Args:
        site: the ArgMax.
        changed: the index.
        values: the operands and results of the removed operators by name.
    """
    if not values.keys() >= site.values.keys():
        return NO_OPERAND
    attributes = {attribute.name: attribute.i for attribute in site.argmax.attribute}
    source = values[site.removed[0].source]
    axis = attributes.get("axis", 0) % max(source.ndim, 1)
    old = [*changed.position]
    if not attributes.get("keepdims", 1):
        old.insert(axis, 0)
    new = old.copy()
    old[axis] = changed.before
    new[axis] = changed.after
    is_first = (new[axis] < old[axis]) != bool(attributes.get("select_last_index", 0))
    if _is_ahead(source, old, new, is_first) or _has_nan(source, old, axis):
        for step in site.removed:
            if not _is_ahead(values[step.result], old, new, is_first):
                return _hazard(step, values[step.source], values[step.result], old, new, axis) or NO_HAZARD
    return NO_HAZARD


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
    operator: _RemovedOperator, x: Array, y: Array, old: Sequence[int], new: Sequence[int], axis: int
) -> str | None:
    """Return the hazard by which the element `new` is not ahead of the element `old` in the result of an operator."""
    y_old, y_new = _pair(y, old, new)
    ties = y_old == y_new
    falls = y_new < y_old
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
    operator: _RemovedOperator, x: Array, along: Array, place: Sequence[int], y_new: float, *, ties: bool
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


def site_lines(findings: Sequence[ArgMaxSite]) -> Iterator[str]:
    """Yield the lines that the terminal shows for the ArgMax nodes of a model."""
    known = hazards()
    for finding in findings:
        if not finding.removals:
            yield one_line(f"ArgMax {finding.path} is not changed: {finding.reason_for_stop}.")
            continue
        yield one_line(f"ArgMax {finding.path} is changed.")
        for removal in finding.removals:
            value = one_line(removal.value)
            yield f"    {removal.op_type} is removed, and with it {value} ({removal.type}). The output may change:"
            for hazard in (known[id] for id in removal.hazards):
                yield f"        {hazard.id}: {hazard.text}"
                yield f"            In practice: {hazard.practice}"
    rewritten = sum(bool(finding.removals) for finding in findings)
    yield f"{len(findings)} ArgMax, {rewritten} changed."


def text_lines(counts: HazardCounts) -> Iterator[str]:
    """Yield the lines that the terminal shows for one subject."""
    yield f"{counts.subject} {counts.version}"
    if counts.failure:
        yield f"  The subject does not run the model: {counts.failure}"
        return
    for changes in counts.argmax:
        yield f"  ArgMax {changes.output}: {changes.changed.total()} of {changes.compared} indices change"
        for hazard, count in changes.changed.most_common():
            first = changes.first[hazard]
            place = ", ".join(map(str, first.position))
            yield f"    {hazard}: {count}; first at [{place}] of {first.data_set}: {first.before} → {first.after}"
    for path in counts.not_counted:
        yield f"  ArgMax {path}: not counted, because it is in a subgraph"
    for remark in counts.remarks:
        yield f"  Note: {remark}."
