"""Mutants that damage the model: its interface, other nodes, metadata, protobuf fields, or the caller's copy."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, defs, helper
from onnx.numpy_helper import from_array

from checks.mutation.pass_mutants.fields import FIELDS
from checks.mutation.pass_mutants.pass_mutant import PassMutant, damage_result, replace_steps
from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import MessageScope, iter_messages, snake_case
from conformance.corpus.passes.eliminate_nop_monotone_argmax import bypass_producer, eliminate
from conformance.exact.models.graphs import Scope, all_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from checks.mutation.pass_mutants.fields import ModelField
    from conformance.corpus.passes.eliminate_nop_monotone_argmax import Site


def _values(model: onnx.ModelProto) -> list[Any]:
    return [*model.graph.input, *model.graph.output]


def _types(model: onnx.ModelProto) -> list[Any]:
    return [value.type for value in _values(model)]


def _dimensions(model: onnx.ModelProto) -> list[Any]:
    return [dim for type in _types(model) for dim in type.tensor_type.shape.dim]


def _denotations(model: onnx.ModelProto) -> None:
    for message in (*_types(model), *_dimensions(model)):
        message.ClearField("denotation")


def _plain_graph_name(model: onnx.ModelProto) -> None:
    model.graph.name = re.sub(r"\W", "_", model.graph.name)


def _at_least_8(model: onnx.ModelProto) -> None:
    model.ir_version = max(model.ir_version, 8)


def _at_most_8(model: onnx.ModelProto) -> None:
    model.ir_version = min(model.ir_version, 8)


def _unused_initializers(model: onnx.ModelProto) -> None:
    scope = Scope(model, model.graph)
    for tensor in [tensor for tensor in model.graph.initializer if not scope.use_count(tensor.name)]:
        model.graph.initializer.remove(tensor)


def _dropping_initializer(site: Site) -> None:
    """Remove the operator, and the initializer of the same graph that only the operator reads."""
    is_read_once = site.scope.use_count(site.before) == 1
    bypass_producer(site)
    for tensor in [tensor for tensor in site.scope.graph.initializer if tensor.name == site.before and is_read_once]:
        site.scope.graph.initializer.remove(tensor)


def _without_namesakes(where: str) -> Callable[[onnx.ModelProto, onnx.ModelProto], None]:
    """Return a step `finish` that removes nodes with the names of the removed nodes.

    Args:
        where: in which parts of the model: `main`, `subgraphs` or `functions`.
    """

    def finish(after: onnx.ModelProto, before: onnx.ModelProto) -> None:
        names = Counter(node.name for node in all_nodes(before)) - Counter(node.name for node in all_nodes(after))
        inner = [scope.graph for scope in Scope(after, after.graph).walk()][1:]
        for holder in {"main": [after.graph], "subgraphs": inner, "functions": after.functions}[where]:
            for node in [node for node in holder.node if node.name and node.name in names]:
                holder.node.remove(node)

    return finish


def _first_of_alike_argmax(after: onnx.ModelProto, before: onnx.ModelProto) -> None:
    """Give ArgMax nodes of one value and axis the attributes of the first of them, if an operator was removed."""
    first: dict[Any, onnx.NodeProto] = {}
    is_smaller = len(after.graph.node) < len(before.graph.node)
    for node in [node for node in after.graph.node if node.op_type == "ArgMax" and is_smaller]:
        given = {attribute.name: attribute.i for attribute in node.attribute}
        same = first.setdefault((node.domain, *node.input, given.get("axis", 0), given.get("keepdims", 1)), node)
        if same is not node:
            del node.attribute[:]
            node.attribute.extend(same.attribute)


def _other_ir_version(model: onnx.ModelProto) -> None:
    model.ir_version += 1


def _other_producer(model: onnx.ModelProto) -> None:
    model.producer_name = "optimizer"


def _leaving(field: str) -> Callable[[Site], None]:
    """Return a step `rewire` that does not update a field of the graph, such as `value_info`."""

    def rewired(site: Site) -> None:
        graph = site.scope.graph
        said = [type(entry).FromString(entry.SerializeToString()) for entry in getattr(graph, field)]
        bypass_producer(site)
        graph.ClearField(field)
        getattr(graph, field).extend(said)

    return rewired


def _without_last(field: str) -> Callable[[onnx.ModelProto], None]:
    """Return a function that removes the last entry of a repeated field of each graph, if it has several entries."""

    def spoil(model: onnx.ModelProto) -> None:
        for scope in Scope(model, model.graph).walk():
            if len(getattr(scope.graph, field)) > 1:
                del getattr(scope.graph, field)[-1]

    return spoil


def _forgetting_input(site: Site) -> None:
    """Remove the operator, and also the declaration of its input."""
    site.scope.use_def.remove_annotations(site.before)
    bypass_producer(site)


def _new_argmax(*kept: str) -> Callable[[Site], None]:
    """Return a step `rewire` that clears the name and the metadata fields of ArgMax, except the fields in `kept`.

    An optimizer that creates a new ArgMax node has this effect.
    """

    def rewired(site: Site) -> None:
        bypass_producer(site)
        for field in {"name", "doc_string", "metadata_props", "device_configurations"} - {*kept}:
            site.argmax.ClearField(field)

    return rewired


def _named_after_operator(site: Site) -> None:
    site.argmax.name = site.producer.name
    bypass_producer(site)


def _rewired_outside(site: Site) -> None:
    """Remove the operator; in subgraphs, keep the declaration of its result, which no longer exists."""
    (_leaving("value_info") if site.scope.path else bypass_producer)(site)


def _declarations_by_prefix(site: Site) -> None:
    """Remove the operator, and all declarations of values whose names start with the name of its result."""
    declarations, gone = site.scope.graph.value_info, site.between
    bypass_producer(site)
    for value in [value for value in declarations if value.name.startswith(gone)]:
        declarations.remove(value)


def _moved_annotation(site: Site) -> None:
    """Remove the operator, and change the annotation of its result to one of its input."""
    notes = [note for note in site.scope.graph.quantization_annotation if note.tensor_name == site.between]
    kept = [type(note).FromString(note.SerializeToString()) for note in notes]
    before = site.before
    bypass_producer(site)
    for note in kept:
        note.tensor_name = before
        site.scope.graph.quantization_annotation.append(note)


def _removed_parameters(site: Site) -> None:
    """Remove the operator, and the initializers that the annotation of its result names."""
    graph = site.scope.graph
    notes = [note for note in graph.quantization_annotation if note.tensor_name == site.between]
    named = {entry.value for note in notes for entry in note.quant_parameter_tensor_names}
    bypass_producer(site)
    for tensor in [tensor for tensor in graph.initializer if tensor.name in named]:
        graph.initializer.remove(tensor)


def _first_binding(model: onnx.ModelProto) -> None:
    for info in model.training_info:
        del info.update_binding[1:]


def _first_training(model: onnx.ModelProto) -> None:
    del model.training_info[1:]


def _pairs_in_training(model: onnx.ModelProto) -> None:
    """Apply the pass to the graphs of the training information too."""
    for info in model.training_info:
        for graph in [graph for graph in (info.initialization, info.algorithm) if graph.node]:
            held = onnx.ModelProto(graph=graph, opset_import=model.opset_import)
            graph.CopyFrom(eliminate(held, fixed_point=True).graph)


lost = partial(damage_result, level=Level.SHOULD)
"""`damage_result` at level `should`, for information that the specification does not require a rewrite to preserve."""

PRESERVATION = (
    replace_steps(
        "source_initializer",
        "drops the initializer that the operator alone reads",
        rewire=_dropping_initializer,
    ),
    replace_steps(
        "merges_alike_argmax",
        "merges ArgMax nodes of one value that differ in select_last_index alone",
        finish=_first_of_alike_argmax,
    ),
    *(
        replace_steps(
            f"namesakes_in_{where}",
            f"removes all nodes with the operator's node name in {text}",
            level=level,
            finish=_without_namesakes(where),
        )
        for where, text, level in (
            ("main", "the main graph", Level.SHOULD),
            ("subgraphs", "graphs inside of nodes", Level.MUST),
            ("functions", "bodies of functions", Level.MUST),
        )
    ),
    replace_steps(
        "stale_value_info",
        "leaves what is declared of the removed tensor",
        level=Level.SHOULD,
        rewire=_leaving("value_info"),
    ),
    replace_steps(
        "stale_annotations",
        "leaves the quantization annotation of the removed tensor",
        level=Level.SHOULD,
        rewire=_leaving("quantization_annotation"),
    ),
    replace_steps(
        "stale_inside",
        "leaves what is declared of the removed tensor in graphs inside of nodes",
        level=Level.SHOULD,
        rewire=_rewired_outside,
    ),
    *(
        lost(f"no_last_{field}", f"drops the last of several entries of {field}", _without_last(field))
        for field in ("value_info", "quantization_annotation")
    ),
    *(
        replace_steps(id, text, level=Level.SHOULD, rewire=step)
        for id, text, step in (
            ("forgets_input", "forgets what is declared of the operator's input", _forgetting_input),
            ("new_argmax", "makes a new ArgMax that says nothing of itself", _new_argmax()),
            ("new_named_argmax", "makes a new ArgMax with the old one's name alone", _new_argmax("name")),
            ("named_after_operator", "gives ArgMax the operator's node name", _named_after_operator),
        )
    ),
    replace_steps(
        "declarations_by_prefix",
        "forgets declarations of names that start with the removed name",
        level=Level.SHOULD,
        rewire=_declarations_by_prefix,
    ),
    *(
        replace_steps(id, text, level=Level.SHOULD, rewire=step)
        for id, text, step in (
            ("moved_annotation", "takes the annotation of the removed tensor for its input's", _moved_annotation),
            ("removed_parameters", "drops what the annotation of the removed tensor names", _removed_parameters),
        )
    ),
    lost("first_binding", "keeps one binding of a training step", _first_binding),
    lost("first_training", "keeps the first training information alone", _first_training),
    lost("pairs_in_training", "applies in training information too", _pairs_in_training),
    lost("other_producer", "calls itself the model's producer", _other_producer),
    lost("other_ir_version", "raises the IR version", _other_ir_version),
    lost("ir_version_raised", "raises IR versions below 8 to it", _at_least_8),
    lost("ir_version_lowered", "lowers IR versions above 8 to it", _at_most_8),
    lost("plain_graph_name", "writes the graph's name in letters, digits and _ alone", _plain_graph_name),
    lost("no_unused_initializers", "drops initializers without a use", _unused_initializers),
    lost("no_denotations", "drops the denotations of types and dimensions", _denotations),
)


def _type_of_removed(site: Site) -> None:
    """Remove the operator, and replace the declared type of its input by the declared type of its result."""
    graph = site.scope.graph
    said = {value.name: value for value in graph.value_info}.get(site.between)
    for value in (*graph.input, *graph.value_info):
        if said is not None and value.name == site.before:
            value.type.CopyFrom(said.type)
    bypass_producer(site)


def _shape_forgotten(site: Site) -> None:
    """Remove the operator, and clear the declared shape of its input if the type of its result is declared."""
    graph = site.scope.graph
    if any(value.name == site.between for value in graph.value_info):
        for value in graph.input:
            if value.name == site.before:
                value.type.tensor_type.ClearField("shape")
    bypass_producer(site)


def _renaming(rename: Callable[[str], str]) -> Callable[[onnx.ModelProto], None]:
    """Return a function that renames every value of the main graph."""

    def spoil(model: onnx.ModelProto) -> None:
        graph = model.graph
        for named in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            named.name = rename(named.name)
        for node in graph.node:
            node.input[:] = map(rename, node.input)
            node.output[:] = map(rename, node.output)

    return spoil


def _as_identifier(name: str) -> str:
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{word}" if word[:1].isdigit() else word


def _declared_are_inputs(model: onnx.ModelProto) -> None:
    made = {name for node in model.graph.node for name in node.output}
    for value in [value for value in model.graph.value_info if value.name not in made]:
        model.graph.input.append(value)


def _counted_from_one(model: onnx.ModelProto) -> None:
    """Add one to every graph output that an ArgMax produces."""
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "ArgMax"]:
        name = node.output[0]
        if any(value.name == name for value in graph.output):
            node.output[0] = f"{name}_from_zero"
            graph.node.append(helper.make_node("Constant", [], [f"{name}_one"], value=from_array(np.array(1))))
            graph.node.append(helper.make_node("Add", [node.output[0], f"{name}_one"], [name]))


def _reversed(of: Callable[[onnx.ModelProto], Any]) -> Callable[[onnx.ModelProto], None]:
    def spoil(model: onnx.ModelProto) -> None:
        values = of(model)
        order = [type(value).FromString(value.SerializeToString()) for value in reversed(values)]
        del values[:]
        values.extend(order)

    return spoil


def _dimensions_interface(model: onnx.ModelProto) -> list[onnx.TensorShapeProto.Dimension]:
    return [dim for value in (*model.graph.input, *model.graph.output) for dim in value.type.tensor_type.shape.dim]


def _fixed_dimensions(model: onnx.ModelProto) -> None:
    for dim in _dimensions_interface(model):
        if not dim.HasField("dim_value"):
            dim.dim_value = 1


def _open_dimensions(model: onnx.ModelProto) -> None:
    for dim in _dimensions_interface(model):
        if dim.dim_param:
            dim.Clear()


def _constants_only(model: onnx.ModelProto) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in [value for value in model.graph.input if value.name in constants]:
        model.graph.input.remove(value)


def _initializers_are_inputs(model: onnx.ModelProto) -> None:
    there = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in there:
            value = model.graph.input.add(name=tensor.name)
            value.type.tensor_type.elem_type = tensor.data_type
            for size in tensor.dims:
                value.type.tensor_type.shape.dim.add(dim_value=size)


def _unused_inputs_dropped(model: onnx.ModelProto) -> None:
    used = {name for node in model.graph.node for name in node.input}
    for value in [value for value in model.graph.input if value.name not in used]:
        model.graph.input.remove(value)


def _newer_opset(model: onnx.ModelProto) -> None:
    for entry in model.opset_import:
        if not entry.domain:
            entry.version += 1


def _one_import(model: onnx.ModelProto) -> None:
    for entry in [entry for entry in model.opset_import if entry.domain not in {"", "ai.onnx"}]:
        model.opset_import.remove(entry)


def _imports_by(choose: Callable[..., int]) -> Callable[[onnx.ModelProto], None]:
    """Return a function that merges the imports of each domain; `choose` selects one of their versions."""

    def spoil(model: onnx.ModelProto) -> None:
        versions: dict[str, list[int]] = {}
        for entry in model.opset_import:
            versions.setdefault(entry.domain, []).append(entry.version)
        del model.opset_import[:]
        for domain, found in versions.items():
            model.opset_import.add(domain=domain, version=choose(found))

    return spoil


def _repeated_imports(model: onnx.ModelProto) -> None:
    """Remove the opset imports of each domain that is imported several times."""
    every = [entry.domain for entry in model.opset_import]
    for entry in [entry for entry in model.opset_import if every.count(entry.domain) > 1]:
        model.opset_import.remove(entry)


def _renamed_output(model: onnx.ModelProto) -> None:
    old = model.graph.output[0].name
    model.graph.output[0].name = "result"
    for node in model.graph.node:
        node.output[:] = ["result" if name == old else name for name in node.output]


def _int32_output(model: onnx.ModelProto) -> None:
    for value in model.graph.output:
        if value.type.tensor_type.elem_type == TensorProto.INT64:
            value.type.tensor_type.elem_type = TensorProto.INT32


INTERFACE = (
    replace_steps("type_of_removed", "says of the input what was said of the removed tensor", rewire=_type_of_removed),
    replace_steps(
        "shape_forgotten",
        "forgets the input's shape where the removed tensor's is told too",
        rewire=_shape_forgotten,
    ),
    damage_result("names_as_identifiers", "makes C identifiers of the names of values", _renaming(_as_identifier)),
    damage_result("names_cut", "cuts the names of values after 255 characters", _renaming(lambda name: name[:255])),
    damage_result(
        "names_not_of_operators",
        "lengthens the names of values that are names of operators",
        _renaming(lambda name: f"{name}_0" if defs.has(name) else name),
    ),
    damage_result("declared_are_inputs", "takes declared tensors that no node gives for inputs", _declared_are_inputs),
    damage_result("counted_from_one", "counts indices from 1", _counted_from_one),
    damage_result("inputs_reversed", "gives the inputs in another order", _reversed(lambda model: model.graph.input)),
    damage_result(
        "outputs_reversed", "gives the outputs in another order", _reversed(lambda model: model.graph.output)
    ),
    damage_result(
        "nodes_reversed",
        "gives the nodes in an order that is not topological",
        _reversed(lambda model: model.graph.node),
    ),
    damage_result("dimensions_fixed", "takes open and symbolic dimensions for 1", _fixed_dimensions),
    damage_result("dimensions_opened", "drops the names of symbolic dimensions", _open_dimensions),
    damage_result("initializers_no_inputs", "drops inputs that have an initializer", _constants_only),
    damage_result("initializers_are_inputs", "makes every initializer an input", _initializers_are_inputs),
    damage_result("unused_inputs", "drops inputs that no node of the main graph uses", _unused_inputs_dropped),
    damage_result("newer_opset", "imports the next opset", _newer_opset),
    damage_result("one_import", "drops the imports of other domains", _one_import),
    damage_result("lowest_import", "keeps the lowest of several imports of a domain", _imports_by(min)),
    damage_result("added_imports", "adds the versions of several imports of a domain", _imports_by(sum)),
    damage_result("no_repeated_imports", "drops domains that are imported twice", _repeated_imports),
    damage_result("renamed_output", "renames the first output", _renamed_output),
    damage_result("int32_output", "declares indices as int32", _int32_output),
)


def _in_place(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    model.CopyFrom(eliminate(model, fixed_point))
    return model


def _both(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    after = eliminate(model, fixed_point)
    model.CopyFrom(after)
    return after


def _shape_inferred(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    after = eliminate(model, fixed_point)
    if not model.graph.value_info:
        model.graph.value_info.add(name="inferred")
    return after


def _stripped(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    after = eliminate(model, fixed_point)
    model.ClearField("producer_name")
    return after


def _nothing_returned(model: onnx.ModelProto, fixed_point: bool = False) -> None:
    model.CopyFrom(eliminate(model, fixed_point))


MUTATION = (
    PassMutant("in_place", "rewrites the caller's model and returns it", _in_place, Level.SHOULD),
    PassMutant("caller_too", "rewrites the caller's model besides a copy", _both, Level.SHOULD),
    PassMutant("inferred_in_place", "adds inferred types to the caller's model", _shape_inferred, Level.SHOULD),
    PassMutant("caller_stripped", "strips the caller's model of its producer's name", _stripped, Level.SHOULD),
    PassMutant("returns_nothing", "rewrites in place and returns nothing", _nothing_returned),
)


IN_WORDS = {
    MessageScope.MODEL: "",
    MessageScope.MAIN: " in the main graph",
    MessageScope.SUBGRAPH: " in subgraphs",
    MessageScope.FUNCTION: " in the bodies of functions",
}


CHECK_LEVELS: Mapping[str, Level] = {
    "answers": Level.MUST,
    "checker": Level.MUST,
    "interface": Level.MUST,
    "structure": Level.MUST,
    "preservation": Level.SHOULD,
}
"""Levels of the checks in `FIELDS`."""


def clearing(field: ModelField, place: MessageScope) -> Callable[[onnx.ModelProto], None]:
    """Return a function that clears a protobuf field of every message in a scope."""

    def spoil(model: onnx.ModelProto) -> None:
        for at, message in list(iter_messages(model)):
            if at is place and type(message).__name__ == field.message:
                message.ClearField(field.name)

    return spoil


def _fault(field: ModelField, place: MessageScope, check: str) -> PassMutant:
    id = f"clears_{snake_case(field.message)}_{field.name}{'' if place is MessageScope.MODEL else f'_{place}'}"
    text = f"clears {field.name} of every {field.message}{IN_WORDS[place]}"
    return damage_result(id, text, clearing(field, place), CHECK_LEVELS[check])


CLEARED = tuple(_fault(field, place, check) for field in FIELDS for place, check in field.checks.items())
