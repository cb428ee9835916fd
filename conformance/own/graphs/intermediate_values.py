"""The intermediate values of a model on a runtime, and the way by which each of them was obtained.

There are three ways, in this order:

1. *Added outputs*: intermediate values become outputs of the graph. If the graph's own outputs stay bit-identical, the
   values are those of the original model.
   Values that are too large for one run are obtained in further runs, and stay in temporary files. A sample of them
   is judged.
2. *Groups*: if they do not, the values that depend on inputs and those of constants alone are exposed apart, because
   runtimes fuse the dequantization of weights. Then half of the values are exposed at a time, then half of those, down
   to single values. A value whose exposure changes an output stays *hidden*; the nodes around it are judged together.
3. *Cut*: if the runtime refuses additional outputs, also those of floating-point types alone, each node becomes a model
   of its own, and is fed with the values that the earlier nodes returned.
"""

from __future__ import annotations

import math
from collections import ChainMap, Counter
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Verdict
from conformance.exact.models.arrays import (
    Array,
    array_of,
    copy_of_value,
    dtype_of,
    have_same_bits,
    is_floating,
    is_text,
)
from conformance.exact.models.external_data import mapped_bytes
from conformance.exact.models.graphs import constant_names, is_operator, iter_nodes, names_taken_by, subgraphs_of
from conformance.exact.models.input_files import (
    DeclaredInput,
    constant_node_values,
    initializer_arrays,
    required_input_names,
)
from conformance.own.graphs.cutting import single_node_model, with_outputs
from conformance.subjects.calling.request import CaseEnded, call_running_subject, suite_code
from conformance.subjects.calling.subject_loading import ConfiguredBackend
from conformance.subjects.isolation.protocol import LARGE_OUTPUT_BYTES
from conformance.subjects.isolation.proxies import BackendProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    import onnx


MAX_VALUE_BYTES = 2**28
"""Maximum size of an intermediate value that stays in memory: the reference needs about ten times the memory."""

MAX_OBTAINED_BYTES = LARGE_OUTPUT_BYTES * 2 // 3
"""Maximum size of all intermediate values that one run returns."""

MAX_GROUP_BYTES = 2**28
"""Size of several intermediate values that one run returns, if further runs return the others: both processes need
several times this memory."""

MAX_MAPPED_BYTES = 2**33
"""Maximum size of the intermediate values of further runs, which are in temporary files."""

MAX_GROUP_RUNS = 256
"""Maximum number of models that are run to find the values whose exposure changes no output."""

MAX_HIDDEN_OF_A_KIND = 4
"""Number of hidden results of constants after which others of the same operators are not exposed alone."""


class Exposure(StrEnum):
    """The way by which the value of an intermediate tensor was obtained.

    Attributes:
        OUTPUT: the value is an input or an output of the model.
        ADDED_OUTPUT: it was exposed with all others as an output; the model's outputs kept their bits.
        GROUP: it was exposed with some others as an output; the model's outputs kept their bits.
        CUT: the node was run as a model of its own on the known values.
        RECORDED: it was recorded elsewhere, in a run of the whole model.
        UNRECORDED: other values were recorded elsewhere, and this one was not.
        HIDDEN: exposing it changes the model's outputs, or it is too large; the nodes around it are judged together.
        CONSTANT: it is an initializer or a constant.
        STAND_IN: it is hidden, and zeros of its type and shape stand for it where the node is probed.
    """

    OUTPUT = "output"
    ADDED_OUTPUT = "added output"
    GROUP = "group of added outputs"
    CUT = "cut model"
    RECORDED = "recorded elsewhere"
    UNRECORDED = "not recorded"
    HIDDEN = "hidden"
    CONSTANT = "constant"
    STAND_IN = "stand-in"


class SubjectRefused(Exception):
    """The subject did not load or run a model; the message is its own.

    Attributes:
        verdict: the verdict on a case in which the subject does the same; `fail` for outputs that cannot be compared.
    """

    def __init__(self, message: str, verdict: Verdict = Verdict.FAIL) -> None:
        super().__init__(message)
        self.verdict = verdict

    @property
    def is_unsupported(self) -> bool:
        """Whether the subject does not support an operator, type or opset of the model."""
        return self.verdict is Verdict.UNSUPPORTED

    @property
    def is_error(self) -> bool:
        """Whether the subject raised an error, as it does for inputs that do not fit."""
        return self.verdict is Verdict.ERROR


@dataclass
class ExposedValues:
    """The values of a model on a subject.

    Attributes:
        values: the known values by name.
        ways: the way of each named value.
        outputs: the outputs of the original model.
        runs: the number of models that were run.
        remark: why added outputs could not be used for all values; empty if they could.
    """

    values: Mapping[str, Array]
    ways: dict[str, Exposure]
    outputs: list[Any]
    runs: int = 1
    remark: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    """Messages of the subject for nodes that it does not run as a model of their own, by the node's first output."""

    others: dict[str, Any] = field(default_factory=dict)
    """The outputs of the original model that are no tensors, by name, and its inputs that are maps."""

    enclosed: dict[str, Any] | None = None
    """Enclosures of hidden results of constants, by the node's first output; None if they are not kept."""

    @property
    def maps(self) -> dict[str, dict[Any, Any]]:
        """The inputs that are maps, by name."""
        return {name: value for name, value in self.others.items() if isinstance(value, dict)}

    @property
    def operands(self) -> Mapping[str, Any]:
        """The known values, and the inputs that are maps, by name."""
        values: Any = self.values  # a value is read only when it is used
        return ChainMap(self.maps, values)


class _GrowingValues(ExposedValues):
    """Values to which more are added."""

    values: dict[str, Array]

    def add(self, values: Mapping[str, Array], way: Exposure) -> None:
        """Add values that were obtained in one way."""
        self.values |= values
        self.ways |= dict.fromkeys(values, way)


def run_once(backend: Any, model: onnx.ModelProto, inputs: Sequence[Array], *, times: int = 1) -> list[list[Any]]:
    """Prepare a model and run it, and return the outputs of each run; errors are those of `run_each`."""
    return run_each(backend, model, [inputs] * times)


def run_each(backend: Any, model: onnx.ModelProto, runs: Sequence[Sequence[Array]]) -> list[list[Any]]:
    """Prepare a model and run it with the inputs of each run, and return the outputs of each run.

    Raises:
        SubjectRefused: the subject failed, or returned other outputs than the model has.
        StorageError: the suite cannot write its files for the subject.
        SubjectError: the subject's process does not start again.
    """
    name = backend.client.named.text if isinstance(backend, BackendProxy) else type(backend).__name__

    def run(prepared: Any, inputs: Sequence[Array]) -> list[Any]:
        with suite_code():
            copies = list(map(copy_of_value, inputs))
        return list(prepared.run(copies))

    try:
        prepared = call_running_subject(name, "load", lambda: backend.prepare(model, "CPU"))
        results = [call_running_subject(name, "run", partial(run, prepared, inputs)) for inputs in runs]
    except CaseEnded as ended:
        raise SubjectRefused(ended.message, ended.verdict) from None
    expected = model.graph.output
    for outputs in results:
        if len(outputs) != len(expected):
            raise SubjectRefused(f"returned {len(outputs)} outputs instead of {len(expected)}")
        for value, output in zip(expected, outputs, strict=True):
            if value.type.WhichOneof("value") in (None, "tensor_type") and not isinstance(output, np.ndarray):
                raise SubjectRefused(
                    f"returned {type(output).__name__} instead of a tensor for the output {value.name}"
                )
    return results


def set_data_folder(backend: Any, folder: Path | None) -> None:
    """Set the folder of the external data of the models that a subject will load."""
    if isinstance(backend, BackendProxy | ConfiguredBackend):
        backend.data_folder = "" if folder is None else str(folder)


def are_identical(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two lists of outputs have the same types, shapes and bits, except for the bits of NaN."""
    return len(first) == len(second) and all(map(have_same_bits, first, second))


def constant_text(name: str, value: Any) -> str:
    """Return a note on an output without elements, or whose floating-point numbers are all equal; empty for others."""
    if isinstance(value, np.ndarray) and not value.size:
        return f"{name} has no elements, so that nothing of it was compared; other sizes or inputs show more"
    if not isinstance(value, np.ndarray) or value.size < 2 or not is_floating(value.dtype):
        return ""
    first = value.flat[0]
    if not (value == first).all():
        return ""
    return f"all {value.size} elements of {name} are {float(first):g}; other sizes or inputs show more"


def declaration_text(declared: onnx.ValueInfoProto, value: Any) -> str:
    """Return a note on an output whose declared shape another shape contradicts; empty if it does not."""
    shape = DeclaredInput.of(declared).shape
    if not isinstance(value, np.ndarray) or shape is None:
        return ""
    sizes = zip(shape, value.shape, strict=False)
    if len(shape) == value.ndim and all(size in {None, found} for size, found in sizes):
        return ""
    texts = ("x".join("?" if size is None else str(size) for size in each) or "scalar" for each in (shape, value.shape))
    return "the model declares {} as {}, but makes {}".format(declared.name, *texts)


def exposable_values(model: onnx.ModelProto) -> list[str]:
    """Return the tensors that nodes of the main graph compute and that are not outputs yet, in the model's order."""
    present = {value.name for value in model.graph.output}
    other = {
        value.name for value in model.graph.value_info if value.type.WhichOneof("value") not in (None, "tensor_type")
    }
    return [
        name
        for node in model.graph.node
        if not is_operator(node, "Constant")
        for name in node.output
        if name and name not in present and name not in other
    ]


def _floating_point_values(model: onnx.ModelProto, names: Sequence[str]) -> list[str]:
    types = {value.name: value.type.tensor_type.elem_type for value in model.graph.value_info}
    return [name for name in names if types.get(name) and is_floating(dtype_of(types[name]))]


@dataclass
class _Groups:
    """Runs that expose groups of values; `known` grows with each.

    Attributes:
        backend: the subject.
        model: the model.
        inputs: its inputs.
        known: the values that are known.
        kinds: for a value that depends on no input, the operators that make and that take it.
        progress: is called with a text for the user.
        is_in_files: whether the values are kept in temporary files.
        hidden: the number of hidden values of each kind.
        shown: the kinds with an exposed value.
    """

    backend: Any
    model: onnx.ModelProto
    inputs: Sequence[Array]
    known: _GrowingValues
    kinds: Mapping[str, tuple[str, ...]]
    progress: Callable[[str], None]
    is_in_files: bool = False
    hidden: Counter[tuple[str, ...]] = field(default_factory=Counter)
    shown: set[tuple[str, ...]] = field(default_factory=set)

    def note_change(self) -> None:
        """Note that outputs of the model change if all values are exposed."""
        if not self.known.remark:
            self.known.remark = "exposing all values changes the model's outputs"
            self.progress("exposing all values changes the outputs; smaller groups are exposed")

    def expose(self, names: Sequence[str], *, must_keep_outputs: bool = True) -> bool:
        """Expose values; record them and return True if the model's outputs are bit-identical, or need not be.

        Raises:
            SubjectRefused: the subject failed.
        """
        known = self.known
        known.runs += 1
        outputs, exposed = _run_exposed(self.backend, self.model, self.inputs, names)
        if not are_identical(outputs, known.outputs):
            if must_keep_outputs:
                return False
            known.remark = "the outputs differ from run to run; the values and outputs are those of one run"
            known.outputs = outputs
            known.values |= _arrays_by_name((value.name for value in self.model.graph.output), outputs)
        way = Exposure.GROUP if known.remark and must_keep_outputs else Exposure.ADDED_OUTPUT
        with suppress(OSError):  # the disk is full
            known.add(_in_file(exposed) if self.is_in_files else exposed, way)
        return True

    def expose_all(self, groups: Sequence[Sequence[str]]) -> None:
        """Expose groups, then halves of the groups whose exposure changes an output; single values remain hidden."""
        pending = list(groups)
        while pending:
            group = [name for name in pending.pop(0) if not self._stays_hidden(name)]
            if not group:
                continue
            self.progress(f"run {self.known.runs + 1}, for {len(group)} values; {len(pending)} groups of values follow")
            is_exposed = False
            if self.known.runs < MAX_GROUP_RUNS:
                with suppress(SubjectRefused):
                    is_exposed = self.expose(group)
            if is_exposed:
                self.shown.update(self.kinds[name] for name in group if name in self.kinds)
                continue
            self.note_change()
            if len(group) == 1 or self.known.runs >= MAX_GROUP_RUNS:
                self.known.ways.update(dict.fromkeys(group, Exposure.HIDDEN))
                self.hidden.update(self.kinds[name] for name in group if name in self.kinds)
            elif group[0] in self.kinds:  # the first hidden ones may decide
                pending = [*self.halves(group), *pending]
            else:
                pending += self.halves(group)

    def halves(self, group: Sequence[str]) -> list[Sequence[str]]:
        """Return the halves of a group: the results of constants alone and all others, or else the first and last."""
        first = [name for name in group if name not in self.kinds]
        half = len(first) if 0 < len(first) < len(group) else len(group) // 2
        return [group[:half], group[half:]]

    def _stays_hidden(self, name: str) -> bool:
        """Return whether several values of a kind were exposed alone, and all of them changed an output."""
        kind = self.kinds.get(name)
        stays = kind is not None and kind not in self.shown and self.hidden[kind] >= MAX_HIDDEN_OF_A_KIND
        if stays:
            self.known.ways[name] = Exposure.HIDDEN
        return stays


def expose_values(
    backend: Any,
    model: onnx.ModelProto,
    inputs: Sequence[Array],
    outputs: Sequence[Any],
    progress: Callable[[str], None] = lambda _: None,
    *,
    is_stable: bool = True,
    constants: Mapping[str, Array] | None = None,
) -> ExposedValues:
    """Obtain the intermediate values of a model.

    Args:
        backend: the subject.
        model: the model, without calls of model-local functions, with inferred types.
        inputs: the inputs.
        outputs: the outputs of the unchanged model.
        progress: is called with a text for the user.
        is_stable: whether the subject returns the same outputs in every run. If not, all values and outputs are those
            of one run with added outputs.
        constants: the initializers by name; None to take them from the model.

    Raises:
        SubjectRefused: the subject fails on every way.
    """
    known = _GrowingValues({}, {}, list(outputs))
    fed = dict(zip(required_input_names(model.graph), inputs, strict=True))
    known.add(_arrays_by_name(fed, inputs), Exposure.OUTPUT)
    known.others |= {name: value for name, value in fed.items() if isinstance(value, dict)}
    for name, array in (initializer_arrays(model.graph) if constants is None else constants).items():
        known.values.setdefault(name, array)
        known.ways.setdefault(name, Exposure.CONSTANT)
    named = {value.name: output for value, output in zip(model.graph.output, outputs, strict=True)}
    known.add(_arrays_by_name(named, outputs), Exposure.OUTPUT)
    known.others |= {name: output for name, output in named.items() if name not in known.values}
    known.ways |= dict.fromkeys(known.others, Exposure.OUTPUT)
    kinds = _kinds_of_constants(model, fed)
    every = sorted(exposable_values(model), key=lambda name: name in kinds)
    names, *further = _runs_within_size(model, every, MAX_GROUP_BYTES if is_stable else MAX_OBTAINED_BYTES)
    known.ways |= dict.fromkeys({*every} - {*names}, Exposure.HIDDEN)
    groups = _Groups(backend, model, inputs, known, kinds, progress)
    try:
        try:
            is_kept = not names or groups.expose(names, must_keep_outputs=is_stable)
        except SubjectRefused:  # perhaps of shapes alone
            names = _floating_point_values(model, names)
            is_kept = groups.expose(names, must_keep_outputs=is_stable)
    except SubjectRefused as refusal:
        known.remark = f"the subject refuses additional outputs: {refusal}"
        progress("the subject refuses additional outputs; each node is run alone")
        _cut(backend, model, known, progress)
        return known
    if not is_kept:
        groups.note_change()
    groups.is_in_files = bool(further)
    if is_stable:
        groups.expose_all([*([] if is_kept else groups.halves(names)), *further])
    _note_hidden(known, {*every}.difference(names, *further))
    return known


def _note_hidden(known: ExposedValues, too_large: Collection[str]) -> None:
    if too_large:
        note = f"{len(too_large)} values are too large, and stay hidden; a smaller --shape shows them"
        known.remark = f"{known.remark}; {note}" if known.remark else note


def _kinds_of_constants(model: onnx.ModelProto, fed: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the operators that make and that take each value that depends on no input, by name."""
    constants = constant_names(model.graph).difference(fed)
    takers: dict[str, list[str]] = {}
    for node in model.graph.node:
        taken = names_taken_by(node)
        for name in taken:
            takers.setdefault(name, []).append(node.op_type)
        if constants.issuperset(taken):
            constants.update(node.output)
    return {
        name: (node.op_type, *sorted(takers.get(name, ())))
        for node in model.graph.node
        for name in node.output
        if name in constants
    }


def _runs_within_size(model: onnx.ModelProto, names: Sequence[str], group_size: int) -> list[list[str]]:
    """Return the values of each run, within the maximum sizes; those of the first run stay in memory.

    A value without an inferred shape has no size. A value that is too large for any run is left out, and so is a large
    tensor of texts. Several values of one run have at most `group_size` bytes.
    """
    most = min(group_size, MAX_OBTAINED_BYTES)
    types = {value.name: DeclaredInput.of(value) for value in model.graph.value_info}
    first: list[str] = []
    further: list[list[str]] = []
    total = 0
    rest = 0
    mapped = 0
    for name in names:
        declared = types.get(name)
        dtype = None if declared is None else declared.dtype
        size = 0
        if declared is not None and dtype is not None and None not in (shape := declared.shape or (0,)):
            size = dtype.itemsize * math.prod(each or 0 for each in shape)
        if size <= MAX_VALUE_BYTES and total + size <= most:
            first.append(name)
            total += size
        elif (
            size <= MAX_OBTAINED_BYTES
            and mapped + size <= MAX_MAPPED_BYTES
            and dtype is not None
            and not is_text(dtype)
        ):
            if not further or rest + size > most:
                further.append([])
                rest = 0
            further[-1].append(name)
            rest += size
            mapped += size
    return [first, *further]


def _in_file(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays that are mapped from one temporary file; texts stay in memory.

    Raises:
        OSError: the file cannot be written.
    """
    flat = {
        name: np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for name, array in arrays.items()
        if not is_text(array.dtype)
    }
    content = mapped_bytes(
        part for each in flat.values() for part in (each, np.zeros(-each.size % _ALIGNMENT, np.uint8))
    )
    found = dict(arrays)
    start = 0
    for name, each in flat.items():
        array = arrays[name]
        found[name] = content[start : start + each.size].view(array.dtype).reshape(array.shape)
        start += each.size + -each.size % _ALIGNMENT
    return found


_ALIGNMENT = 64
"""Alignment of arrays in a temporary file, in bytes."""


def _run_exposed(
    backend: Any, model: onnx.ModelProto, inputs: Sequence[Array], names: Sequence[str]
) -> tuple[list[Any], dict[str, Array]]:
    """Run a model with additional outputs; return its own outputs, and the other ones by name."""
    (results,) = run_once(backend, with_outputs(model, names), inputs)
    own = len(model.graph.output)
    return results[:own], _arrays_by_name(names, results[own:])


def _arrays_by_name(names: Iterable[str], values: Iterable[Any]) -> dict[str, Array]:
    """Return values by name, without sequences and maps."""
    return {name: value for name, value in zip(names, values, strict=True) if isinstance(value, np.ndarray)}


def expose_together(
    backend: Any, model: onnx.ModelProto, inputs: Sequence[Array], names: Sequence[str], known: ExposedValues
) -> dict[str, Array] | None:
    """Return values of one run by name; None if the subject refuses, or if the model's outputs change."""
    with suppress(SubjectRefused):
        outputs, exposed = _run_exposed(backend, model, inputs, names)
        if are_identical(outputs, known.outputs):
            return exposed
    return None


def _cut(backend: Any, model: onnx.ModelProto, known: _GrowingValues, progress: Callable[[str], None]) -> None:
    """Run each node as a model of its own, on the values that the earlier nodes returned."""
    typed = {value.name: value for value in (*model.graph.value_info, *model.graph.output, *model.graph.input)}
    operands = known.operands
    total = 0
    for number, node in enumerate(model.graph.node):
        if total > MAX_OBTAINED_BYTES:
            known.remark += f"; the values from node {number} on are too large together"
            break
        progress(f"node {number + 1} of {len(model.graph.node)}")
        if is_operator(node, "Constant") or any(name and name not in operands for name in node.input):
            continue
        single = single_node_model(model, number, operands, typed)
        known.runs += 1
        try:
            (results,) = run_once(backend, single, [operands[v.name] for v in single.graph.input])
        except SubjectRefused as refusal:
            known.refused[node.output[0]] = str(refusal)
            continue
        obtained = _arrays_by_name((value.name for value in single.graph.output), results)
        known.add(obtained, Exposure.CUT)
        total += sum(array.nbytes for array in obtained.values())


RANDOM_OPERATORS = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
"""Operators whose pages state a distribution. A seed starts the generator, and the next run continues it."""


def random_values(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the values of a main graph that depend on random numbers."""
    inferring = _false_constants(graph)
    found: set[str] = set()
    for node in graph.node:
        inner = (each for subgraph in subgraphs_of(node) for each in iter_nodes(subgraph))
        is_random = any(_draws(each, inferring) for each in (node, *inner))
        if is_random or not found.isdisjoint(names_taken_by(node)):
            found.update(name for name in node.output if name)
    return found


def _draws(node: onnx.NodeProto, inferring: AbstractSet[str]) -> bool:
    """Return whether a node draws random numbers; Dropout does so in training."""
    if is_operator(node, "Dropout"):
        return len(node.input) > 2 and bool(node.input[2]) and node.input[2] not in inferring
    return is_operator(node, *RANDOM_OPERATORS)


def _false_constants(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the constants of one element that are false; Dropout with one as its mode infers."""
    modes = {each.input[2] for each in iter_nodes(graph) if is_operator(each, "Dropout") and len(each.input) > 2}
    given = {each.name: array_of(each) for each in graph.initializer if each.name in modes}
    values = {**given, **(constant_node_values(graph) if modes else {})}
    return {name for name in modes & values.keys() if not values[name].any()}
