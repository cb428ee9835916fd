"""The intermediate values of a model on a runtime, and the way by which each of them was obtained.

There are three ways, in this order:

1. *Added outputs*: intermediate values become outputs of the graph. If the graph's own outputs stay bit-identical, the
   values are those of the original model.
   Values that are too large for one run are obtained in further runs, and stay in temporary files. A sample of them
   is judged.
2. *Groups*: if they do not, half of the values are exposed at a time, then half of those, down to single values. A
   value whose exposure changes an output stays *hidden*; the nodes around it are judged together.
3. *Cut*: if the runtime refuses additional outputs, also those of floating-point types alone, each node becomes a model
   of its own, and is fed with the values that the earlier nodes returned.
"""

from __future__ import annotations

import math
import mmap
from collections import ChainMap
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Verdict
from conformance.exact.models.arrays import Array, copy_of_value, dtype_of, have_same_bits, is_floating, is_text
from conformance.exact.models.graphs import is_operator
from conformance.exact.models.input_files import DeclaredInput, initializer_arrays, required_input_names
from conformance.own.graphs.cutting import single_node_model, with_outputs
from conformance.subjects.calling.request import CaseEnded, call_running_subject, suite_code
from conformance.subjects.calling.subject_loading import ConfiguredBackend
from conformance.subjects.isolation.protocol import LARGE_OUTPUT_BYTES
from conformance.subjects.isolation.proxies import BackendProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import onnx


MAX_VALUE_BYTES = 2**28
"""Maximum size of an intermediate value that stays in memory: the reference needs about ten times the memory."""

MAX_OBTAINED_BYTES = LARGE_OUTPUT_BYTES * 2 // 3
"""Maximum size of all intermediate values that one run returns."""

MAX_MAPPED_BYTES = 2**33
"""Maximum size of the intermediate values of further runs, which are in temporary files."""

MAX_GROUP_RUNS = 256
"""Maximum number of models that are run to find the values whose exposure changes no output."""


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
        is_unsupported: whether the subject does not support an operator, type or opset of the model.
        is_error: whether the subject raised an error, as it does for inputs that do not fit.
    """

    def __init__(self, message: str, *, is_unsupported: bool = False, is_error: bool = False) -> None:
        super().__init__(message)
        self.is_unsupported = is_unsupported
        self.is_error = is_error


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
        verdict = ended.verdict
        is_unsupported = verdict is Verdict.UNSUPPORTED
        raise SubjectRefused(ended.message, is_unsupported=is_unsupported, is_error=verdict is Verdict.ERROR) from None
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
    """Return a note on an output of floating-point numbers whose elements are all equal; empty for another output."""
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
    every = exposable_values(model)
    names, *further = _runs_within_size(model, every)
    known.ways |= dict.fromkeys({*every} - {*names}, Exposure.HIDDEN)
    if not names and not further:
        _note_hidden(known, every)
        return known
    expose = partial(_expose, known=known, way=Exposure.ADDED_OUTPUT, must_keep_outputs=is_stable)
    try:
        try:
            is_kept = expose(backend, model, inputs, names)
        except SubjectRefused:  # perhaps of shapes alone
            names = _floating_point_values(model, names)
            is_kept = expose(backend, model, inputs, names)
        if is_kept:
            for number, group in enumerate(further if is_stable else ()):
                progress(f"run {number + 2} of {1 + len(further)} for the large values")
                _expose_in_files(backend, model, inputs, group, known)
            _note_hidden(known, every)
            return known
    except SubjectRefused as refusal:
        known.remark = f"the subject refuses additional outputs: {refusal}"
        progress("the subject refuses additional outputs; each node is run alone")
        _cut(backend, model, known, progress)
        return known
    known.remark = "exposing all values changes the model's outputs"
    progress("exposing all values changes the outputs; smaller groups are exposed")
    _expose_groups(backend, model, inputs, names, known)
    return known


def _note_hidden(known: ExposedValues, names: Sequence[str]) -> None:
    hidden = sum(known.ways.get(name) is Exposure.HIDDEN for name in names)
    if hidden:
        known.remark = f"{hidden} values are too large, and stay hidden; a smaller --shape shows them"


def _runs_within_size(model: onnx.ModelProto, names: Sequence[str]) -> list[list[str]]:
    """Return the values of each run, within the maximum sizes; those of the first run stay in memory.

    A value without an inferred shape has no size. A value that is too large for any run is left out, and so is a large
    tensor of texts.
    """
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
        if size <= MAX_VALUE_BYTES and total + size <= MAX_OBTAINED_BYTES:
            first.append(name)
            total += size
        elif (
            size <= MAX_OBTAINED_BYTES
            and mapped + size <= MAX_MAPPED_BYTES
            and dtype is not None
            and not is_text(dtype)
        ):
            if not further or rest + size > MAX_OBTAINED_BYTES:
                further.append([])
                rest = 0
            further[-1].append(name)
            rest += size
            mapped += size
    return [first, *further]


def _expose_in_files(
    backend: Any, model: onnx.ModelProto, inputs: Sequence[Array], names: Sequence[str], known: _GrowingValues
) -> None:
    """Expose large values in a further run, and keep them in temporary files; they stay hidden if an output changes."""
    with suppress(SubjectRefused):
        known.runs += 1
        outputs, exposed = _run_exposed(backend, model, inputs, names)
        if are_identical(outputs, known.outputs):
            for name in list(exposed):
                with suppress(OSError):  # the disk is full
                    known.add({name: _in_file(exposed.pop(name))}, Exposure.ADDED_OUTPUT)


def _in_file(array: Array) -> Array:
    """Return an array that is mapped from a temporary file, which ends with the array.

    Raises:
        OSError: the file cannot be written.
    """
    with TemporaryFile() as file:
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        file.flush()
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.ndarray(array.shape, array.dtype, content)


def _expose(
    backend: Any,
    model: onnx.ModelProto,
    inputs: Sequence[Array],
    names: Sequence[str],
    known: _GrowingValues,
    way: Exposure,
    *,
    must_keep_outputs: bool = True,
) -> bool:
    """Expose values; record them and return True if the model's outputs are bit-identical, or need not be."""
    known.runs += 1
    outputs, exposed = _run_exposed(backend, model, inputs, names)
    if not are_identical(outputs, known.outputs):
        if must_keep_outputs:
            return False
        known.remark = "the outputs differ from run to run; the values and outputs are those of one run"
        known.outputs = outputs
        known.values |= _arrays_by_name((value.name for value in model.graph.output), outputs)
    known.add(exposed, way)
    return True


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


def _expose_groups(
    backend: Any, model: onnx.ModelProto, inputs: Sequence[Array], names: Sequence[str], known: _GrowingValues
) -> None:
    """Expose halves, then halves of the halves whose exposure changes an output; single values remain hidden."""
    pending = [names[: len(names) // 2], names[len(names) // 2 :]]
    while pending:
        group = pending.pop(0)
        if not group:
            continue
        exposed = False
        if known.runs < MAX_GROUP_RUNS:
            with suppress(SubjectRefused):
                exposed = _expose(backend, model, inputs, group, known, Exposure.GROUP)
        if exposed:
            continue
        if len(group) == 1 or known.runs >= MAX_GROUP_RUNS:
            known.ways.update(dict.fromkeys(group, Exposure.HIDDEN))
            continue
        pending += [group[: len(group) // 2], group[len(group) // 2 :]]


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
