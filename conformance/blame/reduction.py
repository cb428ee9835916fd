"""Reduction of a model and its inputs, while the same difference stays.

The steps, each of which tries smaller models and keeps those with the same difference:

1. *Cut*: a part of the nodes becomes a model. Values from outside of the part become inputs, with the values that the
   subject computed in the whole model. The part is halved, and then nodes are left out one after the other.
2. *Outputs*: outputs that do not differ are left out.
3. *Subgraphs*: a Loop is replaced by the nodes of its steps, and an If by the nodes of its branch. Where the difference
   needs the subgraph, its nodes are left out one after the other.
4. *Dimensions*: sizes are made smaller, all dimensions of one size together.
5. *Weights*: initializers and inputs become constants or short numbers, where the difference allows it.

Every part has valid inputs, because a user could give a model any input.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from conformance.audit.exposure import inline_taken_branches, record_values
from conformance.audit.session import with_inferred_types
from conformance.blame.comparison import FedModel, run_model
from conformance.blame.passes import minimize
from conformance.generation.models import array_value_info
from conformance.models.arrays import array_of, tensor_of
from conformance.models.graphs import attribute_graphs, count_free_uses, iter_nodes, subgraphs_of
from conformance.models.inputs import initializer_arrays, required_inputs
from conformance.models.types import MAIN_DOMAINS
from conformance.models.validity import check_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.models.arrays import Array

MAX_SECONDS = 600.0
"""Maximum time of a reduction; the smallest model so far is kept after that."""

MAX_UNROLLED_STEPS = 8
"""Maximum number of steps of a Loop that is replaced by the nodes of its steps."""

WINDOW_NODES = 16
"""Number of nodes of the parts in which a fault is searched if the whole model's difference is admissible."""


@dataclass
class Reducer:
    """Reduces one case.

    Attributes:
        backend: the subject that computes the values at cuts.
        is_same: whether a smaller case has the same difference.
        progress: is called with a text for the user.
        deadline: the time (`time.monotonic`) at which the reduction ends.
        tested: the number of cases that were tried.
        ended_early: whether the time ended before the reduction.
        on_smaller: is called with each smaller case that has the same difference.
    """

    backend: Any
    is_same: Callable[[FedModel], bool]
    progress: Callable[[str], None] = lambda _: None
    deadline: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)
    tested: int = 0
    ended_early: bool = False
    on_smaller: Callable[[FedModel], None] = lambda _: None

    def reduce(self, case: FedModel) -> FedModel:
        """Return the smallest case that was found; it may be the given one."""
        for round in range(4):
            size = node_count(case.model)
            case = self._cut(case)
            case = self._drop_outputs(case)
            case = self._open_subgraphs(case)
            if round and node_count(case.model) == size:
                break
        case = self._drop_inner_nodes(case)
        case = self._shrink_dimensions(case)
        return self._simplify_weights(case)

    def holds(self, case: FedModel | None) -> bool:
        """Return whether a smaller case is valid and has the same difference."""
        if case is None:
            return False
        if time.monotonic() > self.deadline:
            self.ended_early = True
            return False
        self.tested += 1
        try:
            check_model(case.model)
        except Exception:  # noqa: BLE001 - the checker raises errors of several kinds
            return False
        if not self.is_same(case):
            return False
        self.progress(f"{node_count(case.model)} nodes, {self.tested} models tried")
        self.on_smaller(case)
        return True

    def _cut(self, case: FedModel) -> FedModel:
        nodes = live_nodes(case.model)
        values = known_values(self.backend, case)
        whole = cut(case.model, nodes, values)
        best = case
        if whole is not None and self.holds(whole):
            best = whole

        def keeps(part: Sequence[int]) -> bool:
            nonlocal best
            smaller = cut(case.model, part, values)
            if not self.holds(smaller):
                return False
            assert smaller is not None
            best = smaller
            return True

        minimize(nodes, keeps, 10_000)
        return best

    def _drop_outputs(self, case: FedModel) -> FedModel:
        for value in list(case.model.graph.output):
            if len(case.model.graph.output) == 1:
                break
            model = copy_of(case.model)
            kept = [each for each in model.graph.output if each.name != value.name]
            del model.graph.output[:]
            model.graph.output.extend(kept)
            smaller = without_unused(FedModel(model, case.inputs))
            if self.holds(smaller):
                case = smaller
        return case

    def _open_subgraphs(self, case: FedModel) -> FedModel:
        values = known_values(self.backend, case)
        inlined = inline_taken_branches(case.model, values)
        if inlined is not None and self.holds(opened := without_unused(FedModel(inlined, case.inputs))):
            case = opened
        for number, node in enumerate(case.model.graph.node):
            if node.op_type == "Loop" and node.domain in MAIN_DOMAINS:
                for unrolled in unrolled_models(case.model, number, values):
                    if self.holds(opened := without_unused(FedModel(with_inferred_types(unrolled), case.inputs))):
                        return opened
        return case

    def _drop_inner_nodes(self, case: FedModel) -> FedModel:
        """Leave out nodes of subgraphs: a user of a node's output takes one of the node's inputs instead."""
        case = self._shorten_loops(case)
        place = 0
        while True:
            inner = [
                node for outer in case.model.graph.node for graph in subgraphs_of(outer) for node in iter_nodes(graph)
            ]
            if place >= len(inner):
                return case
            for source in [name for name in dict.fromkeys(inner[place].input) if name]:
                smaller = bypass_inner(case, place, source)
                if self.holds(smaller):
                    case = smaller
                    break
            else:
                place += 1

    def _shorten_loops(self, case: FedModel) -> FedModel:
        for node in case.model.graph.node:
            if node.op_type == "Loop" and node.input and node.input[0]:
                smaller = with_array(case, node.input[0], np.asarray(1, np.int64))
                if self.holds(smaller):
                    assert smaller is not None
                    case = smaller
        return case

    def _shrink_dimensions(self, case: FedModel) -> FedModel:
        arrays = case_arrays(case)
        sizes = Counter(size for array in arrays.values() for size in array.shape if size > 1)
        for size in sorted(sizes, reverse=True):
            current = size
            for wanted in dict.fromkeys((1, 2, 3, size // 4, size // 2)):
                if not 0 < wanted < current:
                    continue
                starts = dict.fromkeys((0, current - wanted, (current - wanted) // 2))
                found = next(
                    (each for start in starts if self.holds(each := shrink(case, current, start, wanted))), None
                )
                if found is not None:
                    case = found
                    break
        for name in list(case.inputs):
            for axis, size in enumerate(case.inputs[name].shape):
                if size > 1:
                    smaller = with_array(case, name, case.inputs[name].take(range(1), axis))
                    if self.holds(smaller):
                        assert smaller is not None
                        case = smaller
        return case

    def _simplify_weights(self, case: FedModel) -> FedModel:
        for name in case_arrays(case):
            for simple in simple_arrays(case_arrays(case)[name]):
                smaller = with_array(case, name, simple)
                if self.holds(smaller):
                    assert smaller is not None
                    case = smaller
                    break
        return case

    def find_part(self, case: FedModel) -> FedModel | None:
        """Return a part of at most `WINDOW_NODES` consecutive nodes that holds; None if there is none."""
        nodes = live_nodes(case.model)
        if len(nodes) <= 1:
            return None
        values = known_values(self.backend, case)
        for size in (WINDOW_NODES, 4):
            if len(nodes) <= size // 2:
                continue
            for start in range(0, max(1, len(nodes) - size // 2), max(1, size // 2)):
                self.progress(f"nodes from {start} of {len(nodes)}")
                part = cut(case.model, nodes[start : start + size], values)
                if self.holds(part):
                    return part
        return None


def copy_of(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a model."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def node_count(model: onnx.ModelProto) -> int:
    """Return the number of nodes, also of subgraphs; constants do not count."""
    return sum(node.op_type != "Constant" for node in iter_nodes(model.graph))


def _taken_names(node: onnx.NodeProto) -> list[str]:
    captured = [name for _, inner in attribute_graphs(node) for name in count_free_uses(inner)]
    return [name for name in (*node.input, *captured) if name]


def live_nodes(model: onnx.ModelProto) -> list[int]:
    """Return the positions of the nodes of the main graph on which an output depends, without constants."""
    wanted = {value.name for value in model.graph.output}
    found = []
    for number in range(len(model.graph.node) - 1, -1, -1):
        node = model.graph.node[number]
        if wanted.intersection(node.output):
            wanted.update(_taken_names(node))
            found.append(number)
    return [number for number in reversed(found) if model.graph.node[number].op_type != "Constant"]


def known_values(backend: Any, case: FedModel) -> dict[str, Array]:
    """Return all values of a model that a subject returns, by name; other values are missing."""
    values: dict[str, Any] = {**initializer_arrays(case.model.graph), **case.inputs}
    answer = run_model(backend, case.model, case.inputs)
    if not answer.failure:
        try:
            recorded = record_values(backend, case.model, case.arrays, answer.outputs, is_stable=False)
            values.update(recorded.values)
        except Exception:  # noqa: BLE001 - the model is then cut at inputs only
            values.update(zip((value.name for value in case.model.graph.output), answer.outputs, strict=True))
    if len(values) < len(case.model.graph.node):
        values = {**_evaluated(case), **values}
    return {name: np.asarray(array) for name, array in values.items() if isinstance(array, np.ndarray | np.generic)}


def _evaluated(case: FedModel) -> dict[str, Any]:
    """Return the values that onnx's evaluator computes; any value of the right type and shape is a valid input."""
    from onnx.reference import ReferenceEvaluator

    names = [name for node in case.model.graph.node for name in node.output if name]
    model = copy_of(case.model)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    try:
        with np.errstate(all="ignore"):
            return dict(zip(names, ReferenceEvaluator(model).run(None, dict(case.inputs)), strict=True))
    except Exception:  # noqa: BLE001 - the evaluator lacks an operator
        return {}


def cut(model: onnx.ModelProto, numbers: Sequence[int], values: Mapping[str, Array]) -> FedModel | None:
    """Return some nodes of a model as a model of their own; None if a value that they need is not known.

    Args:
        model: the model.
        numbers: the positions of the nodes; the constants that they take are added.
        values: the values at the cuts by name.
    """
    graph = model.graph
    constants = {node.output[0]: node for node in graph.node if node.op_type == "Constant" and node.output}
    chosen = [graph.node[number] for number in numbers]
    produced = {name for node in chosen for name in node.output if name}
    needed = dict.fromkeys(name for node in chosen for name in _taken_names(node) if name not in produced)
    part = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    part.graph.name = "reduced"
    dense = {tensor.name: tensor for tensor in graph.initializer}
    sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer}
    inputs: dict[str, Array] = {}
    declared = {value.name: value for value in graph.input}
    for name in needed:
        if name in constants:
            part.graph.node.append(constants[name])
        elif name in dense:
            part.graph.initializer.append(dense[name])
            if name in declared:
                part.graph.input.append(declared[name])
        elif name in sparse:
            part.graph.sparse_initializer.append(sparse[name])
        elif name in values:
            try:
                part.graph.input.append(array_value_info(name, values[name]))
            except (KeyError, ValueError, TypeError):
                return None
            inputs[name] = values[name]
        else:
            return None
    part.graph.node.extend(chosen)
    used = {name for node in chosen for name in _taken_names(node)}
    own = {value.name for value in graph.output}
    typed = {value.name: value for value in (*graph.value_info, *graph.output)}
    for name in dict.fromkeys(name for node in chosen for name in node.output if name):
        if name in used and name not in own:
            continue
        value = _open_value(name, values.get(name), typed.get(name))
        if value is None:
            if name in own:
                return None
            continue
        part.graph.output.append(value)
    return FedModel(part, inputs) if part.graph.output else None


def _open_value(name: str, array: Array | None, typed: onnx.ValueInfoProto | None) -> onnx.ValueInfoProto | None:
    """Return the declaration of an output with its type and rank, and without sizes."""
    if array is not None:
        try:
            found = array_value_info(name, array)
        except (KeyError, ValueError, TypeError):
            return None
        return helper.make_tensor_value_info(name, found.type.tensor_type.elem_type, [None] * array.ndim)
    if typed is None or not typed.type.HasField("tensor_type"):
        return typed
    tensor = typed.type.tensor_type
    rank = [None] * len(tensor.shape.dim) if tensor.HasField("shape") else None
    return helper.make_tensor_value_info(name, tensor.elem_type, rank)


def without_unused(case: FedModel) -> FedModel:
    """Return a case without nodes, initializers and inputs that no output depends on, and without value types."""
    model = copy_of(case.model)
    wanted = {value.name for value in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if wanted.intersection(node.output):
            wanted.update(_taken_names(node))
            kept.append(node)
    nodes = [copied for node in reversed(kept) for copied in [onnx.NodeProto()] if copied.CopyFrom(node) is None]
    for entries in (model.graph.node, model.graph.value_info):
        del entries[:]
    model.graph.node.extend(nodes)
    _keep(model.graph.input, wanted, "name")
    _keep(model.graph.initializer, wanted, "name")
    _keep(model.graph.sparse_initializer, wanted, "values.name")
    return FedModel(model, {name: array for name, array in case.inputs.items() if name in wanted})


def _keep(entries: Any, wanted: set[str], attribute: str) -> None:
    """Remove the entries of a repeated field that have none of the names `wanted`."""
    name_of = attrgetter(attribute)
    for place in range(len(entries) - 1, -1, -1):
        if name_of(entries[place]) not in wanted:
            del entries[place]


def unrolled_models(model: onnx.ModelProto, number: int, values: Mapping[str, Array]) -> Iterator[onnx.ModelProto]:
    """Yield models in which a Loop is replaced by the nodes of its first steps, the fewest steps first."""
    node = model.graph.node[number]
    trips = values.get(node.input[0]) if node.input and node.input[0] else None
    most = MAX_UNROLLED_STEPS if trips is None or trips.size != 1 else min(int(trips.item()), MAX_UNROLLED_STEPS)
    for steps in range(1, most + 1):
        unrolled = copy_of(model)
        del unrolled.graph.node[:]
        del unrolled.graph.value_info[:]
        unrolled.graph.node.extend(model.graph.node[:number])
        _append_steps(unrolled, node, steps)
        unrolled.graph.node.extend(model.graph.node[number + 1 :])
        yield unrolled


def _append_steps(model: onnx.ModelProto, loop: onnx.NodeProto, steps: int) -> None:
    """Append the nodes of the steps of a Loop to a graph, with new names for the values of each step."""
    graph = model.graph
    body = next(attribute.g for attribute in loop.attribute if attribute.name == "body")
    carried = list(loop.input[2:])
    scanned: list[list[str]] = [[] for _ in body.output[1 + len(carried) :]]
    opset = next((entry.version for entry in model.opset_import if entry.domain in MAIN_DOMAINS), 1)
    prefix = f"{loop.output[0] or 'loop'}/"
    condition = f"{prefix}true"
    graph.initializer.append(tensor_of(np.asarray(True), condition))
    axes = f"{prefix}axes"
    if scanned and opset >= 13:
        graph.initializer.append(tensor_of(np.asarray([0], np.int64), axes))
    for step in range(steps):
        graph.initializer.append(tensor_of(np.asarray(step, np.int64), f"{prefix}{step}/step"))
        names = dict(
            zip((value.name for value in body.input), [f"{prefix}{step}/step", condition, *carried], strict=False)
        )
        names.update(
            (name, f"{prefix}{step}/{name}")
            for name in [
                *(tensor.name for tensor in body.initializer),
                *(output for inner in body.node for output in inner.output if output),
            ]
        )
        for tensor in body.initializer:
            graph.initializer.add().CopyFrom(tensor)
            graph.initializer[-1].name = names[tensor.name]
        for inner in body.node:
            graph.node.add().CopyFrom(inner)
            rename_taken(graph.node[-1], names)
            graph.node[-1].output[:] = [names.get(name, name) for name in inner.output]
            graph.node[-1].name = f"{prefix}{step}/{inner.name}" if inner.name else ""
        results = [names.get(value.name, value.name) for value in body.output]
        carried, parts = results[1 : 1 + len(carried)], results[1 + len(carried) :]
        for place, part in enumerate(parts):
            row = f"{prefix}{step}/row{place}"
            by_input = opset >= 13
            attributes: dict[str, Any] = {} if by_input else {"axes": [0]}
            graph.node.append(helper.make_node("Unsqueeze", [part, *([axes] if by_input else [])], [row], **attributes))
            scanned[place].append(row)
    for name, source in zip(loop.output, carried, strict=False):
        if name:
            graph.node.append(helper.make_node("Identity", [source], [name]))
    for name, rows in zip(loop.output[len(carried) :], scanned, strict=False):
        if name:
            graph.node.append(helper.make_node("Concat", rows, [name], axis=0))


def rename_taken(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Rename the values that a node takes, also those that its subgraphs capture."""
    node.input[:] = [names.get(name, name) for name in node.input]
    for _, inner in attribute_graphs(node):
        own = {value.name for value in (*inner.input, *inner.initializer)}
        own.update(name for each in inner.node for name in each.output)
        outer = {name: new for name, new in names.items() if name not in own}
        for each in inner.node:
            rename_taken(each, outer)
        for value in inner.output:
            value.name = outer.get(value.name, value.name)


def bypass_inner(case: FedModel, place: int, source: str) -> FedModel:
    """Return a case in which the users of the first output of a subgraph's node take `source` instead."""
    model = copy_of(case.model)
    seen = 0
    for outer in model.graph.node:
        for graph in subgraphs_of(outer):
            for owner in _graphs_within(graph):
                for position, node in enumerate(owner.node):
                    if seen == place:
                        names = {name: source for name in node.output if name}
                        del owner.node[position]
                        for later in owner.node[position:]:
                            rename_taken(later, names)
                        for value in owner.output:
                            value.name = names.get(value.name, value.name)
                        return without_unused(FedModel(model, case.inputs))
                    seen += 1
    return case


def _graphs_within(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for inner in subgraphs_of(node):
            yield from _graphs_within(inner)


def case_arrays(case: FedModel) -> dict[str, Array]:
    """Return the initializers, the constants and the inputs of a case by name."""
    dense = {tensor.name for tensor in case.model.graph.initializer}
    weights = {name: array for name, array in initializer_arrays(case.model.graph).items() if name in dense}
    constants = {name: array_of(tensor) for name, tensor in _constant_tensors(case.model)}
    return {**weights, **constants, **case.inputs}


def _constant_tensors(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Yield the tensors of the Constants of the main graph, with the names of their outputs."""
    for node in model.graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                yield node.output[0], attribute.t


def with_array(case: FedModel, name: str, array: Array) -> FedModel | None:
    """Return a case with another array for an input or an initializer."""
    return _with_arrays(case, {name: array})


def _with_arrays(case: FedModel, arrays: Mapping[str, Array]) -> FedModel | None:
    model = copy_of(case.model)
    del model.graph.value_info[:]
    try:
        for tensor in model.graph.initializer:
            if tensor.name in arrays:
                tensor.CopyFrom(tensor_of(arrays[tensor.name], tensor.name))
        for name, tensor in _constant_tensors(model):
            if name in arrays:
                tensor.CopyFrom(tensor_of(arrays[name], name))
        for value in model.graph.input:
            if value.name in arrays:
                value.CopyFrom(array_value_info(value.name, arrays[value.name]))
        for value in model.graph.output:
            for size in value.type.tensor_type.shape.dim:
                size.Clear()
    except (KeyError, ValueError, TypeError):
        return None
    inputs = {name: arrays.get(name, array) for name, array in case.inputs.items()}
    return FedModel(model, inputs) if len(required_inputs(model.graph)) == len(inputs) else None


def shrink(case: FedModel, size: int, start: int, wanted: int) -> FedModel | None:
    """Return a case in which every dimension of one size has another size."""
    changed = {}
    for name, array in case_arrays(case).items():
        if size in array.shape:
            part = tuple(slice(start, start + wanted) if each == size else slice(None) for each in array.shape)
            changed[name] = np.ascontiguousarray(array[part])
    return _with_arrays(case, changed)


def simple_arrays(array: Array) -> Iterator[Array]:
    """Yield arrays of the same type and shape with simpler numbers, the simplest first."""
    if array.dtype.kind in "fV":
        count = np.arange(array.size, dtype=np.float64).reshape(array.shape)
        for simple in (np.zeros(array.shape), np.ones(array.shape), count, (count % 7 - 3) / 4):
            yield simple.astype(array.dtype)
        with np.errstate(all="ignore"):
            for digits in (1, 2, 3):
                yield np.round(array.astype(np.float64), digits).astype(array.dtype)
