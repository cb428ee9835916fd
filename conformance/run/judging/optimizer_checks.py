"""The checks of a graph optimizer's run: one function for each check, and the table `CHECKS`.

A check takes an `OptimizerRun` and returns the first violation, or None if the run satisfies the check. It
raises `NotJudged` if it cannot be evaluated. Names of checks are part of the results format.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.cases.case import PassEffect
from conformance.corpus.passes.expected_models import iter_produced_values, remove_producers
from conformance.exact.models.arrays import (
    adds_only_dimension_names,
    is_refinement,
    strip_denotations,
    type_name,
    type_text,
)
from conformance.exact.models.comparison import (
    canonical_form,
    first_difference,
    has_same_content,
    normal_form,
    opset_versions,
    remove_trailing_empty_names,
)
from conformance.exact.models.graphs import Scope, called_name, constant_names
from conformance.exact.models.model_validity import find_new_faults
from conformance.exact.models.summaries import MAX_SHOWN_ELEMENTS, shortest_decimal
from conformance.run.judging.compare import format_array
from conformance.run.judging.optimizer_run import NotJudged, checker_error, equal_outputs, is_elementwise_admissible
from conformance.run.results.records import HazardChange
from conformance.run.results.violations import Violation, ViolationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.run.judging.optimizer_run import OptimizerRun


@dataclass(frozen=True)
class OptimizerCheck:
    """A check of graph optimizers.

    A violation counts at the weaker of the case's level and the check's level.

    Attributes:
        level: how strongly the specification supports the check. A check without clauses cannot be `must`.
        clause_names: names of the clauses of the family `monotone` that require what the check tests.
        find_violation: function that returns the first violation, or None.
        applies_to_invalid_models: whether the check also applies if the model of the case is invalid.
    """

    name: str
    level: Level
    clause_names: tuple[str, ...]
    find_violation: Callable[[OptimizerRun], Violation | None]
    applies_to_invalid_models: bool = False

    @property
    def clauses(self) -> tuple[str, ...]:
        """The ids of these clauses."""
        return tuple(f"monotone.{name}" for name in self.clause_names)


def check_answers(run: OptimizerRun) -> Violation | None:
    """Check `answers`: on safe data sets, the outputs after the rewrite are admissible for the model before it.

    Enclosures of the outputs of both models decide. For an optimizer that implements the pass, and where there is no
    enclosure, the outputs must be equal, both computed exactly. Example of a violation:
    `index is [0] instead of [1] on data set 0`.

    Raises:
        NotJudged: the reference cannot compute one of the models.
    """
    names = [value.name for value in run.task.model.graph.output]
    if len(run.after.graph.output) != len(names):
        return Violation(ViolationKind.ANSWER_COUNT, count=len(run.after.graph.output), of=len(names))
    if run.after == run.task.model:
        return None
    try:
        for data_set in run.task.data_sets.safe():
            if (found := run.effect(data_set)) is not None and found.effect is not None:
                if found.is_wrong and found.reason:
                    return Violation(ViolationKind.INVALID_MODEL, detail=found.reason)
                if found.is_wrong:
                    return _answer_difference(found.output, found.value_after, found.value_before, data_set.number)
                continue
            before = run.task.data_sets.answers(run.task.model, data_set)
            after = run.task.data_sets.answers(run.after, data_set)
            for name, old, new in zip(names, before, after, strict=True):
                if not equal_outputs(old, new):
                    return _answer_difference(name, new, old, data_set.number)
    except Unsupported as error:
        raise NotJudged(f"the reference cannot compute the models: {error}") from None
    return None


def _answer_difference(name: str, new: Any, old: Any, data_set: int) -> Violation:
    """Return how two values of an output differ: in type, in shape, or in their first elements."""
    kind = ViolationKind.ANSWER_VALUES
    actual = format_array(new)
    expected = format_array(old)
    if isinstance(new, np.ndarray) and isinstance(old, np.ndarray):
        if new.dtype != old.dtype:
            kind = ViolationKind.ANSWER_TYPE
            actual = type_name(new.dtype)
            expected = type_name(old.dtype)
        elif new.shape != old.shape:
            kind = ViolationKind.ANSWER_SHAPE
            actual = str(list(new.shape))
            expected = str(list(old.shape))
    return Violation(kind, place=name, expected=expected, actual=actual, data_set=data_set)


def check_validity(run: OptimizerRun) -> Violation | None:
    """Check `checker`: the rewritten model is valid.

    The violation is the error of onnx's checker, with shape inference. Faults that the checker does not detect count if
    the model did not have them before: a called function is missing, a function does not compute one of its outputs, or
    a tensor does not have the number of elements of its shape.
    """
    fault = checker_error(run.after) or next(find_new_faults(run.task.model, run.after), None)
    return None if fault is None else Violation(ViolationKind.INVALID_MODEL, detail=fault)


def check_hazardous_answers(run: OptimizerRun) -> Violation | None:
    """Check `hazards`: on hazardous data sets, each output element is that of a documented model.

    Documented models are the model before the pass and the models after the pass. If the answers of documented models
    differ, each of them is acceptable; `hazard_changes` lists such differences. Example of a violation:
    `index is [2] instead of [0] or [1] on data set 1`.

    Raises:
        NotJudged: there is no hazardous data set, or the reference cannot compute one of the models.
    """
    data_sets = list(run.task.data_sets.hazardous())
    if not data_sets:
        raise NotJudged
    names = [value.name for value in run.task.model.graph.output]
    try:
        for data_set in data_sets:
            after = run.task.data_sets.answers(run.after, data_set, declared=True)
            documented = [run.task.data_sets.answers(model, data_set, declared=True) for model in run.documented_models]
            if len(after) != len(names):
                return Violation(ViolationKind.ANSWER_COUNT, count=len(after), of=len(names))
            for place, name in enumerate(names):
                admissible = [answers[place] for answers in documented]
                if not is_elementwise_admissible(after[place], admissible):
                    either = " or ".join(dict.fromkeys(map(format_array, admissible)))
                    actual = format_array(after[place])
                    number = data_set.number
                    return Violation(
                        ViolationKind.ANSWER_VALUES, place=name, expected=either, actual=actual, data_set=number
                    )
    except Unsupported as error:
        raise NotJudged(f"the reference cannot compute the models: {error}") from None
    return None


def hazard_changes(run: OptimizerRun) -> list[HazardChange]:
    """Return the hazardous data sets on which the rewrite changed the answer, with both answers."""
    found: list[HazardChange] = []
    for data_set in () if run.task.invalid else run.task.data_sets.hazardous():
        try:
            before = run.task.data_sets.answers(run.task.model, data_set, declared=True)
            after = run.task.data_sets.answers(run.after, data_set, declared=True)
        except Unsupported:
            continue
        if not equal_outputs(before, after):
            assert data_set.hazard is not None
            answers = _first_elements(before), _first_elements(after)
            found.append(HazardChange(data_set.hazard, data_set.number, run.run, *answers))
    return found


def _first_elements(outputs: list[Any]) -> list[str]:
    """Return the first elements of each output that is an array, as decimals."""
    arrays = [output for output in outputs if isinstance(output, np.ndarray)]
    return [shortest_decimal(element) for array in arrays for element in array.flat[:MAX_SHOWN_ELEMENTS]]


def check_interface(run: OptimizerRun) -> Violation | None:
    """Check `interface`: the graph's inputs and outputs keep names, types, shapes and order; opset imports are kept.

    Denotations are not part of a type, see `check_preservation`. An optimizer that implements the pass must also keep
    the defaults of inputs. Any other optimizer may name unknown dimensions of inputs, may make the types of outputs
    more specific, and may add or remove imports of domains. Example of a violation:
    `type of input X changed from float[N,3] to float[2,3]`.
    """
    return next(_interface_changes(run), None)


def _interface_changes(run: OptimizerRun) -> Iterator[Violation]:
    before = run.task.model.graph
    after = run.after.graph
    yield from _value_changes(
        "input", before.input, after.input, operator.eq if run.implements_pass else adds_only_dimension_names
    )
    yield from _value_changes(
        "output", before.output, after.output, operator.eq if run.implements_pass else is_refinement
    )
    if run.implements_pass:
        yield from _default_changes(before, after)
    yield from _import_changes(run.task.model, run.after, strict=run.implements_pass)


def _value_changes(
    what: str,
    before: Sequence[onnx.ValueInfoProto],
    after: Sequence[onnx.ValueInfoProto],
    admissible: Callable[[onnx.TypeProto, onnx.TypeProto], bool],
) -> Iterator[Violation]:
    """Yield the changes of inputs or outputs.

    Args:
        what: `input` or `output`.
        admissible: function of the new and the old type that returns whether the change is allowed.
    """
    old, new = ([value.name for value in values] for values in (before, after))
    yield from (Violation(ViolationKind.VALUE_GONE, what, name) for name in old if name not in new)
    yield from (Violation(ViolationKind.VALUE_ADDED, what, name) for name in new if name not in old)
    if sorted(old) == sorted(new) and old != new:
        yield Violation(ViolationKind.VALUE_ORDER, what, expected=", ".join(old), actual=", ".join(new))
    types = {value.name: strip_denotations(value.type) for value in after}
    for value in before:
        was = strip_denotations(value.type)
        type = types.get(value.name, was)
        if type != was and not admissible(type, was):
            yield _type_change(what, value.name, was, type)


def _default_changes(before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[Violation]:
    """Yield the changed default values of inputs; the default of an input is its initializer."""
    fed = {value.name for value in before.input}
    left = {tensor.name: tensor for tensor in after.initializer}
    for tensor in before.initializer:
        if tensor.name in fed and tensor.name not in left:
            yield Violation(ViolationKind.DEFAULT_GONE, place=tensor.name)
        elif tensor.name in fed and not has_same_content(tensor, left[tensor.name]):
            yield Violation(ViolationKind.DEFAULT_CHANGED, place=tensor.name)


def _type_change(what: str, name: str, before: onnx.TypeProto, after: onnx.TypeProto) -> Violation:
    """Return the old and the new type as a violation; if their texts are equal, the first different field."""
    old = type_text(before)
    new = type_text(after)
    if old != new:
        return Violation(ViolationKind.VALUE_TYPE, what, name, expected=old, actual=new)
    return Violation(ViolationKind.VALUE_TYPE_FIELD, what, name, detail=str(first_difference(before, after)))


def _import_changes(before: onnx.ModelProto, after: onnx.ModelProto, *, strict: bool) -> Iterator[Violation]:
    old = opset_versions(before.opset_import)
    new = opset_versions(after.opset_import)
    for domain, version in old.items():
        if domain not in new:
            if strict:
                yield Violation(ViolationKind.IMPORT_GONE, place=domain)
        elif new[domain] != version:
            kind = ViolationKind.IMPORT_CHANGED
            yield Violation(kind, place=domain, expected=str(version), actual=str(new[domain]))
    if strict and (added := [domain for domain in new if domain not in old]):
        yield Violation(ViolationKind.IMPORT_ADDED, place=added[0])


def check_leftovers(run: OptimizerRun) -> Violation | None:
    """Check `leftovers`: no value_info and no quantization annotation is left for a value that was removed.

    Example of a violation: `value_info of Y is left, which is gone`, where Y is the removed value.
    """
    return next(_stale_entries(run.task.model, run.after), None)


def _stale_entries(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[Violation]:
    graphs = {scope.path: scope.graph for scope in Scope(before, before.graph).walk()}
    for scope in Scope(after, after.graph).walk():
        gone = _values_of_graph(graphs[scope.path]) - _values_of_graph(scope.graph) if scope.path in graphs else set()
        said = [("value_info", value.name) for value in scope.graph.value_info]
        said += [("quantization annotation", note.tensor_name) for note in scope.graph.quantization_annotation]
        for what, name in said:
            if name in gone:
                place = f"{scope.path}{name}"
                yield Violation(ViolationKind.LEFT_OVER, what, place, in_subgraph=bool(scope.path))


def _values_of_graph(graph: onnx.GraphProto) -> set[str]:
    """Return the names of a graph's values: inputs, initializers and outputs of nodes."""
    names = {value.name for value in graph.input} | constant_names(graph)
    return names.union(name for node in graph.node for name in node.output)


def check_caller_model(run: OptimizerRun) -> Violation | None:
    """Check `mutation`: the model object that the caller passed is unchanged.

    Example of a violation: `the caller's model is changed: graph.node has 1 entries instead of 2`.
    """
    difference = first_difference(run.task.model, run.caller_model)
    return None if difference is None else Violation(ViolationKind.CALLER_MODEL, detail=difference)


_MODEL_FIELDS = ("doc_string", "domain", "model_version")
_MODEL_FIELDS_OF_THE_PASS = ("ir_version", "producer_name", "producer_version")
_NODE_FIELDS = ("name", "doc_string")


def check_preservation(run: OptimizerRun) -> Violation | None:
    """Check `preservation`: the rewrite keeps all information that does not concern the removed operators.

    An optimizer that implements the pass must keep everything else: descriptions, metadata, functions, initializers,
    and names of nodes. Any other optimizer may inline functions, drop initializers, rename nodes and values, and set
    the producer. It must keep descriptions and metadata of model and graph, quantization annotations of values that
    remain, and training information. Example of a violation: `metadata author of the model is gone`.
    """
    before = run.task.model
    after = run.after
    losses = _losses_of_any_optimizer(before, after)
    return next(chain(losses, _losses_of_the_pass(before, after)) if run.implements_pass else losses, None)


@dataclass(frozen=True)
class _Place:
    """A place with texts and metadata: its name, its name without names of values, and whether it is in a subgraph."""

    name: str
    kind: str
    in_subgraph: bool = False


_MODEL = _Place("the model", "the model")
_GRAPH = _Place("the graph", "the graph")


def _losses_of_any_optimizer(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[Violation]:
    """Yield each piece of information that was removed although every graph optimizer must keep it."""
    yield from _text_changes(_MODEL, before, after, _MODEL_FIELDS)
    yield from _text_changes(_GRAPH, before.graph, after.graph)
    yield from _annotation_changes(before.graph, after.graph)
    for number, info in enumerate(before.training_info):
        place = f"training_info[{number}]"
        if number >= len(after.training_info):
            yield Violation(ViolationKind.TRAINING_GONE, place=place)
        elif difference := _content_difference(info, after.training_info[number]):
            yield Violation(ViolationKind.TRAINING_CHANGED, place=place, detail=difference)


def _losses_of_the_pass(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[Violation]:
    """Yield each piece of information that was removed although the pass must keep it."""
    yield from _field_changes(_MODEL, before, after, _MODEL_FIELDS_OF_THE_PASS)
    yield from _field_changes(_GRAPH, before.graph, after.graph, ("name",))
    yield from _entry_changes("function", before.functions, after.functions, _function_name)
    configurations = before.configuration, after.configuration
    yield from _entry_changes("configuration", *configurations, lambda entry: str(entry.name), _DEVICE)
    scopes = {scope.path: scope.graph for scope in Scope(after, after.graph).walk()}
    for scope in Scope(before, before.graph).walk():
        if scope.path in scopes:
            yield from _graph_losses(scope.path, scope.graph, scopes[scope.path])
    yield from _node_changes(before, after)


def _graph_losses(path: str, before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[Violation]:
    if path:
        yield from _subgraph_losses(path, before, after)
    yield from _value_text_changes(path, before, after)
    defaults = set() if path else {value.name for value in before.input}  # the check `interface` covers them
    constants = [tensor for tensor in before.initializer if tensor.name not in defaults]
    made = {name for node in after.node for name in node.output}
    still = [value for value in before.value_info if value.name in made]
    changes = chain(
        _entry_changes("initializer", constants, after.initializer, _entry_name, difference=_tensor_difference),
        _entry_changes(
            "sparse initializer",
            before.sparse_initializer,
            after.sparse_initializer,
            lambda tensor: str(tensor.values.name),
        ),
        _entry_changes("value_info", still, after.value_info, _entry_name, difference=_value_info_difference),
    )
    yield from (_inside(path, change) for change in changes)


def _inside(path: str, change: Violation) -> Violation:
    """Return a violation of the graph at a path; the path of the main graph is empty."""
    return replace(change, place=f"{path}{change.place}", in_subgraph=True) if path else change


def _subgraph_losses(path: str, before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[Violation]:
    """Yield each change of a subgraph's texts, annotations, and types of inputs and outputs.

    `check_interface` covers the inputs and outputs of the main graph only.
    """
    yield from _text_changes(_Place(f"the graph {path[:-1]}", "a subgraph"), before, after, ("name", "doc_string"))
    yield from (_inside(path, change) for change in _annotation_changes(before, after))
    for old, new in ((before.input, after.input), (before.output, after.output)):
        for value, left in zip(old, new, strict=False):
            if strip_denotations(value.type) != strip_denotations(left.type):
                yield Violation(
                    ViolationKind.SUBGRAPH_TYPE,
                    place=f"{path}{value.name}",
                    expected=type_text(value.type),
                    actual=type_text(left.type),
                    in_subgraph=True,
                )


def _entry_name(entry: Any) -> str:
    return str(entry.name)


def _content_difference(before: Any, after: Any) -> str | None:
    """Return a phrase on how the normal forms of two messages differ, or None."""
    return None if before == after else first_difference(normal_form(before), normal_form(after))


_ENTRY = ViolationKind.ENTRY_GONE, ViolationKind.ENTRY_CHANGED
_ANNOTATION = ViolationKind.ANNOTATION_GONE, ViolationKind.ANNOTATION_CHANGED
_DEVICE = ViolationKind.DEVICE_GONE, ViolationKind.DEVICE_CHANGED


def _entry_changes(
    what: str,
    before: Iterable[Any],
    after: Iterable[Any],
    name: Callable[[Any], str],
    kinds: tuple[ViolationKind, ViolationKind] = _ENTRY,
    difference: Callable[[Any, Any], str | None] = _content_difference,
) -> Iterator[Violation]:
    """Yield each entry of a repeated field that was removed or changed; entries are matched by name.

    Args:
        what: the repeated field.
        name: function that returns the name of an entry.
        kinds: kinds of the violations for an entry that was removed, and for one that was changed.
        difference: function that returns how two entries differ, or None.
    """
    left = {name(thing): thing for thing in after}
    gone, changed = kinds
    for thing in before:
        if name(thing) not in left:
            yield Violation(gone, what, name(thing))
        elif detail := difference(thing, left[name(thing)]):
            yield Violation(changed, what, name(thing), detail=detail)


def _tensor_difference(before: onnx.TensorProto, after: onnx.TensorProto) -> str | None:
    if not has_same_content(before, after):
        return "it has another type, shape or content"
    change = next(_text_changes(_Place("it", "an initializer"), before, after), None)
    return None if change is None else str(change)


def _value_info_difference(before: onnx.ValueInfoProto, after: onnx.ValueInfoProto) -> str | None:
    old = type_text(before.type)
    new = type_text(after.type)
    return _content_difference(before, after) if old == new else f"it was {old} and is {new}"


def _function_name(function: onnx.FunctionProto) -> str:
    return f"{function.domain}.{function.name}{f':{function.overload}' if function.overload else ''}"


def _field_changes(place: _Place, before: Any, after: Any, names: Iterable[str]) -> Iterator[Violation]:
    kinds = ViolationKind.TEXT_GONE, ViolationKind.TEXT_CHANGED
    for name in names:
        if getattr(before, name) != getattr(after, name):
            yield _text_change(kinds, place, name, getattr(before, name), getattr(after, name) or None)


def _text_changes(
    place: _Place, before: Any, after: Any, names: Iterable[str] = ("doc_string",)
) -> Iterator[Violation]:
    """Yield each change of the text fields `names` and of the metadata of a message."""
    yield from _field_changes(place, before, after, names)
    kinds = ViolationKind.METADATA_GONE, ViolationKind.METADATA_CHANGED
    new = _metadata_of(after)
    for key, value in _metadata_of(before).items():
        if value != new.get(key):
            yield _text_change(kinds, place, key, value, new.get(key))


def _text_change(
    kinds: tuple[ViolationKind, ViolationKind], place: _Place, field: str, old: object, new: object
) -> Violation:
    """Return the violation for a text that was removed, if `new` is None, or changed."""
    gone, changed = kinds
    violation = Violation(gone, field, place.name, place.kind, in_subgraph=place.in_subgraph)
    return violation if new is None else replace(violation, kind=changed, expected=repr(old), actual=repr(new))


def _metadata_of(message: Any) -> Mapping[str, str]:
    return {entry.key: entry.value for entry in message.metadata_props}


def _annotation_changes(before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[Violation]:
    """Yield each changed quantization annotation of a value that is still in the graph."""
    there = {value.name for value in (*after.input, *after.initializer)}
    there.update(name for node in after.node for name in node.output)
    still = [note for note in before.quantization_annotation if note.tensor_name in there]
    annotations = still, after.quantization_annotation
    yield from _entry_changes("annotation", *annotations, lambda note: str(note.tensor_name), _ANNOTATION)


def _node_changes(before: onnx.ModelProto, after: onnx.ModelProto) -> Iterator[Violation]:
    """Yield each removed name, description or metadata entry of a node that was not removed.

    Of the attributes, only descriptions count; `check_structure` covers their values.
    """
    left = dict(iter_produced_values(after))
    for path, node in iter_produced_values(before):
        if path in left and left[path].op_type == node.op_type:
            name = f"the {node.op_type} that makes {path}"
            in_subgraph = _is_in_subgraph(path, node)
            yield from _text_changes(_Place(name, "a node", in_subgraph), node, left[path], _NODE_FIELDS)
            devices = node.device_configurations, left[path].device_configurations
            configurations = _entry_changes(
                f"what {path} runs on by", *devices, lambda entry: str(entry.configuration_id), _DEVICE
            )
            yield from (replace(change, in_subgraph=in_subgraph) for change in configurations)
            for attribute, kept in _kept_entries(node.attribute, left[path].attribute):
                place = _Place(f"{attribute.name} of {name}", "an attribute", in_subgraph)
                yield from _field_changes(place, attribute, kept, ("doc_string",))


def _is_in_subgraph(path: str, node: onnx.NodeProto) -> bool:
    """Return whether a node of a subgraph makes the value at a path: in the main graph, the path is its name."""
    return path not in node.output


def _value_text_changes(path: str, before: onnx.GraphProto, after: onnx.GraphProto) -> Iterator[Violation]:
    """Yield each removed description, metadata entry or denotation of an input or output.

    `check_interface` covers the types of inputs and outputs.
    """
    in_subgraph = bool(path)
    for what, old, new in (("input", before.input, after.input), ("output", before.output, after.output)):
        for value, left in _kept_entries(old, new):
            name = f"{path}{value.name}"
            place = _Place(f"{what} {name}", "an input or output", in_subgraph)
            yield from _text_changes(place, value, left)
            is_same_type = strip_denotations(value.type) == strip_denotations(left.type)
            if is_same_type and (changed := first_difference(value.type, left.type)):
                yield Violation(ViolationKind.DENOTATION, what, name, detail=changed, in_subgraph=in_subgraph)


def _kept_entries(before: Iterable[Any], after: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the entries that are still there by name, each with the entry after the rewrite."""
    left = {entry.name: entry for entry in after}
    return ((entry, left[entry.name]) for entry in before if entry.name in left)


def check_structure(run: OptimizerRun) -> Violation | None:
    """Check `structure`: the pass removes exactly the operators that it must remove, and changes no other node.

    The check applies to graph optimizers that implement the pass: no clause restricts the graphs of other optimizers.
    Names of intermediate values and everything else that the specification leaves free may change, see
    `canonical_form`. Example of a violation, in which Exp is the producer of Y: `Exp, which makes Y, is gone, though
    the pass does not apply`.

    Raises:
        NotJudged: the optimizer does not implement the pass.
    """
    if not run.implements_pass:
        raise NotJudged
    after = canonical_form(run.after)
    admissible = [remove_producers(run.task.model, gone) for gone in run.allowed_removals]
    if any(canonical_form(model) == after for model in admissible):
        return None
    return next(_rewrite_faults(run, admissible[0]))


def _rewrite_faults(run: OptimizerRun, expected: onnx.ModelProto) -> Iterator[Violation]:
    """Yield the differences between the rewritten model and the expected model.

    The last one does not name a value.
    """
    before, right, after = (dict(iter_produced_values(model)) for model in (run.task.model, expected, run.after))
    reason = "the pass does not apply" if run.task.expected.effect is PassEffect.DOES_NOT_APPLY else "the pass keeps it"
    for path, node in before.items():
        if path in right and path not in after:
            yield replace(_at_node(ViolationKind.OPERATOR_GONE, path, node), detail=reason)
        if path not in right and path in after:
            yield _at_node(ViolationKind.OPERATOR_LEFT, path, node)
    for path, node in right.items():
        if path in after and (taken := _input_names(after[path])) != (right_inputs := _input_names(node)):
            yield replace(_at_node(ViolationKind.NODE_INPUTS, path, node), expected=right_inputs, actual=taken)
        if path in after and called_name(after[path]) != called_name(node):
            operator = _at_node(ViolationKind.OTHER_OPERATOR, path, node)
            yield replace(operator, expected=node.op_type, actual=after[path].op_type)
    if new := [path for path in after if path not in before]:
        yield _at_node(ViolationKind.NODE_ADDED, new[0], after[new[0]])
    yield Violation(ViolationKind.COMPUTATION)


def _at_node(kind: ViolationKind, path: str, node: onnx.NodeProto) -> Violation:
    """Return a violation at the node that makes the value at a path."""
    return Violation(kind, node.op_type, path, in_subgraph=_is_in_subgraph(path, node))


def _input_names(node: onnx.NodeProto) -> str:
    names = list(node.input)
    remove_trailing_empty_names(names)
    return ", ".join(names) or "nothing"


EFFECT_CHECK = "answers"
"""Name of the check whose result has the effect of the rewrite."""

CHECKS = (
    OptimizerCheck(
        EFFECT_CHECK,
        Level.MUST,
        ("log", "exp", "sqrt", "softmax", "log_softmax", "other_producer", "only_argmax", "argmax_unchanged"),
        check_answers,
    ),
    OptimizerCheck("checker", Level.MUST, ("valid",), check_validity),
    OptimizerCheck("hazards", Level.MUST, ("hazard",), check_hazardous_answers),
    OptimizerCheck("interface", Level.MUST, ("interface",), check_interface),
    # The specification does not forbid information on other values, and the checker accepts it.
    OptimizerCheck("leftovers", Level.SHOULD, ("leftovers",), check_leftovers),
    # No clause mentions the caller's model.
    OptimizerCheck("mutation", Level.SHOULD, (), check_caller_model, applies_to_invalid_models=True),
    # The specification defines the meaning of these fields, but does not require optimizers to keep them.
    OptimizerCheck("preservation", Level.SHOULD, ("preservation",), check_preservation),
    OptimizerCheck(
        "structure",
        Level.MUST,
        (
            "fires",
            "other_producer",
            "only_argmax",
            "axis",
            "other_use",
            "graph_output",
            "capture",
            "one_per_run",
            "fixed_point",
        ),
        check_structure,
    ),
)
"""All checks, sorted by name."""
