"""Proxies of subjects in child processes, with the same interface and behaviour as subjects in this process.

`BackendProxy` has ONNX's backend interface. `OptimizerProxy` is a function from a model to a model. Both reproduce side
effects that a subject would have in this process: if the subject modifies an input, or an output of an earlier run, the
proxy modifies the array in this process.

A message has the elements of a small tensor in base64, and those of a tensor of strings as texts. A large tensor of
numbers is in a file, for harnesses that support it. A sequence or a map consists of such messages.
"""

from __future__ import annotations

import os
from binascii import a2b_base64
from contextlib import suppress
from functools import cache
from inspect import Parameter, Signature
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.files.atomic_write import read_regular_into, storage_errors
from conformance.exact.models.arrays import dtype_of, type_name, type_number, value_byte_count
from conformance.exact.models.encoded_messages import is_large_message
from conformance.exact.models.input_files import fed_input_names
from conformance.subjects.calling.harness import (
    FILE_THRESHOLD_BYTES,
    KINDS,
    PACKED_ALIGNMENT,
    PACKED_BYTES,
    READ_SUFFIX,
    kind_of,
    pack_elements,
    text_array,
    value_message,
    write_elements,
)
from conformance.subjects.calling.request import suite_code
from conformance.subjects.isolation.protocol import (
    MAX_MODEL_FIELDS,
    UnsupportedAnswer,
    max_line_bytes,
    max_model_bytes,
    max_output_bytes,
    placeholder_for_type,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array, Value
    from conformance.subjects.isolation.subject_client import SubjectClient, SubjectProcess


@cache
def _dtype(name: str) -> np.dtype[Any]:
    return dtype_of(type_number(name))


def encode_value(name: str, value: Value) -> dict[str, Any]:
    """Return the message of a value with all its elements.

    Raises:
        ValueError: the value has no ONNX type.
    """
    message = value_message(value)
    if message is None:
        raise ValueError(f"a {getattr(value, 'dtype', type(value).__name__)} is not a value of an ONNX type")
    return {**message, "name": name}


def decode_value(message: Mapping[str, Any], limit: int | None = None) -> Value:
    """Return the value of a message that satisfies its schema; arrays are new and writable.

    Args:
        message: the message.
        limit: largest size of the elements in bytes, or None for no limit.

    Raises:
        ValueError: the elements are not encoded as they must be, are too many, or do not match type and shape. The text
            is a predicate: "has data that is not base64".
    """
    if "sequence" in message:
        parts = []
        for each in message["sequence"]:
            parts.append(decode_value(each, limit))
            limit = None if limit is None else limit - value_byte_count(parts[-1])
        return parts
    if "map" in message:
        keys, values = (decode_value(message["map"][part], limit) for part in ("keys", "values"))
        if keys.shape != values.shape or keys.ndim != 1:
            raise ValueError(f"is a map with keys of shape {list(keys.shape)} and values of shape {list(values.shape)}")
        return dict(zip(keys.tolist(), values.tolist(), strict=True))
    if "empty" in message:
        return None
    return _decode_texts(message, limit) if message["dtype"] == "string" else _decode_elements(message, limit)


def _decode_texts(message: Mapping[str, Any], limit: int | None) -> Array:
    texts = message.get("texts", ())
    try:
        count = sum(len(text.encode()) for text in texts)
    except UnicodeError:
        raise ValueError("has a text that is not Unicode") from None
    if limit is not None and count > limit:
        raise ValueError(f"has more than {limit} bytes")
    if len(texts) != prod(message["shape"]):
        raise ValueError(f"has {len(texts)} texts, which does not match the shape {list(message['shape'])}")
    array: Array = text_array(texts, message["shape"])
    return array


def _decode_elements(message: Mapping[str, Any], limit: int | None) -> Array:
    dtype = _dtype(message["dtype"])
    try:
        data = a2b_base64(message.get("data", ""), strict_mode=True)
    except ValueError as error:
        raise ValueError(f"has data that is not base64 ({error})") from None
    if limit is not None and len(data) > limit:
        raise ValueError(f"has more than {limit} bytes")
    shape = message["shape"]
    if len(data) != prod(shape) * dtype.itemsize:
        type = f"{message['dtype']} of shape {list(shape)}"
        raise ValueError(f"has {len(data)} bytes of data, which does not match {type}")
    return np.frombuffer(data, dtype).reshape(shape).copy()


def write_tensor(path: str, name: str, array: Array) -> dict[str, Any]:
    """Write a tensor to a new file, and return its message.

    Raises:
        KeyError: ONNX has no such element type.
        ValueError: ONNX has no such element type, or the array contains objects.
        StorageError: the file system cannot hold the file.
        OSError: the file cannot be written for another reason.
    """
    message = {"name": name, "dtype": type_name(array.dtype), "shape": array.shape, "file": path}
    _write_new(path, array)
    return message


def write_packed(path: str, named: Sequence[tuple[str, Array]]) -> list[dict[str, Any]]:
    """Write several tensors to one new file, and return their messages.

    Raises:
        KeyError, ValueError, StorageError, OSError: as for `write_tensor`.
    """
    messages = [{"name": name, "dtype": type_name(array.dtype), "shape": array.shape} for name, array in named]
    content, offsets = pack_elements([array for _, array in named])
    _write_new(path, content)
    return [{**message, "file": path, "offset": offset} for message, offset in zip(messages, offsets, strict=True)]


def _write_new(path: str, array: Array) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    with storage_errors(path):
        write_elements(path, os.O_EXCL, array)


def take_tensor(message: Mapping[str, Any], path: str, limit: int) -> Array:
    """Read the tensor of a message that satisfies its schema into a new array, and rename its file.

    Args:
        message: the message.
        path: path that the message must name.
        limit: largest size in bytes that is read, for all remaining outputs of the answer.

    Raises:
        ValueError: the message names another file, or the file cannot be read or has the wrong size. The text is a
            predicate: "has more than 10 bytes".
    """
    return take_packed([{**message, "offset": 0}], path, limit, padding=0)[0]


def take_packed(
    messages: Sequence[Mapping[str, Any]], path: str, limit: int, padding: int = PACKED_ALIGNMENT - 1
) -> list[Array]:
    """Read tensors that share a file, and rename the file. The tensors share memory.

    Args:
        messages: the messages of all tensors in the file, which satisfy their schema and have an offset.
        path: as for `take_tensor`.
        limit: as for `take_tensor`.
        padding: largest number of bytes after the last tensor.

    Raises:
        ValueError: as for `take_tensor`.
    """
    types = [_dtype(message["dtype"]) for message in messages]
    sizes = [prod(message["shape"]) * dtype.itemsize for message, dtype in zip(messages, types, strict=True)]
    end = max(message["offset"] + size for message, size in zip(messages, sizes, strict=True))
    if any(message["file"] != path for message in messages):
        raise ValueError("is in a file that was not requested")
    if max(sum(sizes), end) > limit:
        raise ValueError(f"has more than {limit} bytes")
    content = np.empty(end, np.uint8)
    try:
        length = read_regular_into(path, content.data)
        os.rename(path, f"{path}{READ_SUFFIX}")  # noqa: PTH104
    except OSError as error:
        raise ValueError(f"has a file that cannot be read ({error.strerror})") from None
    if not end <= length <= end + padding:
        described = " and ".join(f"{message['dtype']} of shape {list(message['shape'])}" for message in messages[:2])
        raise ValueError(f"has a file of {length} bytes, which does not match {described}")
    return [
        content[message["offset"] : message["offset"] + size].view(dtype).reshape(message["shape"])
        for message, dtype, size in zip(messages, types, sizes, strict=True)
    ]


class BackendProxy:
    """A backend in a child process, with ONNX's backend interface.

    Attributes:
        data_folder: the folder of the external data of the models; empty for models without external data.
    """

    def __init__(self, client: SubjectClient) -> None:
        self.client = client
        self.data_folder = ""
        self._loaded: dict[int, PreparedProxy] = {}
        self._returned: list[Sequence[Any]] = []

    @suite_code()
    def prepare(self, model: onnx.ModelProto, device: str = "CPU") -> PreparedProxy:  # noqa: ARG002
        """Load the model and drop all others.

        Raises:
            SubjectFailure: the subject does not load it; see `conformance.subjects.isolation.protocol`.
        """
        self.client.begin_case()
        return self._load(model, 0)

    @suite_code()
    def prepare_companion(self, model: onnx.ModelProto, device: str = "CPU") -> PreparedProxy:  # noqa: ARG002
        """Load a second model (companion). If the harness keeps only one model, each run reloads its model.

        Raises:
            SubjectFailure: the subject does not load it; see `conformance.subjects.isolation.protocol`.
        """
        return self._load(model, 1 if self.client.info().models > 1 else 0)

    def _load(self, model: onnx.ModelProto, slot: int) -> PreparedProxy:
        prepared = PreparedProxy(self, model.SerializeToString(), _input_names(model.graph), slot)
        prepared.load()
        return prepared

    def is_loaded(self, prepared: PreparedProxy) -> bool:
        """Return whether the current process still has this model loaded."""
        return self._loaded.get(prepared.slot) is prepared and self.client.is_running(prepared.process)

    def record_load(self, prepared: PreparedProxy) -> None:
        """Record that a model is loaded now, and that the models which it replaces are not."""
        if prepared.slot == 0 or any(other.process is not prepared.process for other in self._loaded.values()):
            self._loaded.clear()
            self._returned.clear()
        self._loaded[prepared.slot] = prepared

    def record_outputs(self, outputs: Sequence[Any], overwritten: Sequence[Sequence[int]]) -> None:
        """Record the outputs of a run, and modify outputs of earlier runs that the subject has overwritten.

        Args:
            outputs: outputs of the run; None for a large output, for which the harness does not detect changes.
            overwritten: pairs of the number of a run, counted since the first model was loaded, and the index of an
                output.

        Raises:
            SubjectFailure: `overwritten` names an output that does not exist.
        """
        for run, number in overwritten:
            if run >= len(self._returned) or number >= len(self._returned[run]):
                raise self.client.protocol_violation(f"reports that it overwrote output {number} of run {run}")
            output = self._returned[run][number]
            if isinstance(output, np.ndarray):
                _modify(output)
        self._returned.append(outputs)


def _input_names(graph: onnx.GraphProto) -> dict[int, list[str]]:
    """Return the names of the inputs by the number of values that a caller feeds: the required inputs, or all."""
    counts = (len(graph.input), len(fed_input_names(graph, -1)))
    return {count: fed_input_names(graph, count) for count in counts}


class PreparedProxy:
    """A model that is loaded in the subject; `run` loads it again if another model has replaced it.

    Attributes:
        placement: number of nodes by provider and operator, as last reported; None if not reported.
    """

    def __init__(self, backend: BackendProxy, model: bytes, names: Mapping[int, Sequence[str]], slot: int) -> None:
        self._backend = backend
        self._model = model
        self._names = names
        self.slot = slot
        self.process: SubjectProcess | None = None
        self.placement: dict[str, dict[str, int]] | None = None
        self._given_bytes = len(model)

    def load(self) -> None:
        """Send the command `load`, and wait for the answer."""
        try:
            fields = self._load_fields(f"model{self.slot or ''}.onnx")
        except OSError as error:
            problem = f"changed the folder of its models: {error.strerror}"
            raise self._backend.client.protocol_violation(problem) from None
        self._backend.client.process.line_limit = max_line_bytes(self._backend.client.limits, len(self._model))
        self._backend.record_load(self)
        self.placement = self._backend.client.ask("load", **fields).get("placement")

    def _load_fields(self, file: str) -> dict[str, Any]:
        """Write the model to a file, and return the fields of the command that loads it."""
        self.process = self._backend.client.process
        folder = self._backend.data_folder
        data = {"data": folder} if folder else {}
        return {"model": self.process.write_input_file(file, self._model), **self._slot_fields(), **data}

    @suite_code()
    def run(self, inputs: Sequence[Value]) -> Any:
        """Run the model on inputs in the graph's order, and return the return value of the subject.

        Raises:
            SubjectFailure: the subject does not return outputs; see `conformance.subjects.isolation.protocol`.
            SuiteFault: the suite cannot send the inputs, or read the outputs.
        """
        client = self._backend.client
        if not self._backend.is_loaded(self):
            client.begin_case()
            self.load()
        try:
            fields = self._run_fields(inputs)
        except OSError as error:
            raise client.protocol_violation(f"changed the folder of its models: {error.strerror}") from None
        client.process.line_limit = max_line_bytes(client.limits, self._given_bytes)
        answer = client.ask("run", **fields)
        if "invalid_return" in answer:
            return placeholder_for_type(answer["invalid_return"])
        self.placement = answer.get("placement", self.placement)
        for number in answer.get("changed", ()):
            if number >= len(inputs):
                raise client.protocol_violation(f"reports that it changed input {number} of {len(inputs)}")
            _modify(inputs[number])
        messages = answer["outputs"]
        outputs = []
        remaining = max_output_bytes(client.limits, self._given_bytes)
        packed = self._packed_outputs(client, messages, remaining)
        for number, message in enumerate(messages):
            outputs.append(packed[number] if number in packed else self._output(client, number, message, remaining))
            remaining -= value_byte_count(outputs[-1])
        observed = [
            output if "file" not in message or "offset" in message else None
            for output, message in zip(outputs, messages, strict=True)
        ]
        self._backend.record_outputs(observed, answer.get("overwritten", ()))
        return outputs

    def _run_fields(self, inputs: Sequence[Value]) -> dict[str, Any]:
        """Return the fields of the command that runs the model; write large inputs to files.

        Raises:
            UnsupportedAnswer: the harness does not take inputs of a kind.
        """
        client = self._backend.client
        known = self._names.get(len(inputs)) or self._names[min(self._names)]
        names = [*known, *(str(number) for number in range(len(known), len(inputs)))]
        info = client.info()
        self._given_bytes = len(self._model) + sum(map(value_byte_count, inputs))
        named = list(zip(names, inputs, strict=False))
        for name, value in named:
            if (kind := kind_of(value)) not in {"tensor", *info.types}:
                taken = f"the harness takes no input that is a {KINDS[kind]}"
                raise UnsupportedAnswer(f"{taken}: it does not name {kind} in `types` (input {name})")
        files = {"files": _output_prefix(client)} if info.files else {}
        packed = {"packed": _packed_path(client)} if info.packs else {}
        return {"inputs": self._input_messages(named), **self._slot_fields(), **files, **packed}

    def _input_messages(self, named: Sequence[tuple[str, Value]]) -> list[dict[str, Any]]:
        """Return the messages of inputs by name; write large tensors of numbers to files."""
        process = self._backend.client.process
        tensors = {number: each for number, each in enumerate(named) if kind_of(each[1]) == "tensor"}
        large = {number for number, (_, array) in tensors.items() if array.nbytes >= FILE_THRESHOLD_BYTES}
        own = large if self._backend.client.info().files else set()
        small = [number for number in tensors if number not in own]
        shared: dict[int, dict[str, Any]] = {}
        if self._packs([tensors[number][1] for number in small]):
            messages = write_packed(f"{process.scratch.models}/inputs", [tensors[number] for number in small])
            shared = dict(zip(small, messages, strict=True))
        return [
            write_tensor(f"{process.scratch.models}/input_{number}", *each)
            if number in own
            else shared.get(number) or encode_value(*each)
            for number, each in enumerate(named)
        ]

    def _slot_fields(self) -> dict[str, int]:
        """Return the field that selects the second model; no field for the first model."""
        return {"slot": self.slot} if self.slot else {}

    def _packs(self, small: Sequence[Array]) -> bool:
        """Return whether these inputs, each below the size for a file of its own, go to one file."""
        return self._backend.client.info().packs and sum(array.nbytes for array in small) >= PACKED_BYTES

    def _packed_outputs(
        self, client: SubjectClient, messages: Sequence[Mapping[str, Any]], limit: int
    ) -> dict[int, Array]:
        """Return the outputs of an answer that share a file, by their number; all have at most `limit` bytes."""
        packed = {number: message for number, message in enumerate(messages) if "offset" in message}
        if not packed:
            return {}
        try:
            outputs = take_packed(list(packed.values()), _packed_path(client), limit)
        except ValueError as error:
            raise client.protocol_violation(f"answered `run` with output {min(packed)} that {error}") from None
        return dict(zip(packed, outputs, strict=True))

    def _output(self, client: SubjectClient, number: int, message: dict[str, Any], limit: int) -> Any:
        """Return an output of an answer, which has at most `limit` bytes."""
        if "invalid_return" in message:
            return placeholder_for_type(message["invalid_return"], message.get("digest", ""))
        try:
            if "file" not in message:
                return decode_value(message, limit)
            return take_tensor(message, f"{_output_prefix(client)}{number}", limit)
        except ValueError as error:
            raise client.protocol_violation(f"answered `run` with output {number} that {error}") from None


def _output_prefix(client: SubjectClient) -> str:
    """Return the path prefix of the files for large outputs; each path is the prefix and the index of the output."""
    return f"{client.process.scratch.work}/output_"


def _packed_path(client: SubjectClient) -> str:
    """Return the path of the file that several outputs share."""
    return f"{client.process.scratch.work}/outputs"


def _modify(value: Value) -> None:
    """Change one bit or one text of a value in place, to show that the subject has changed it."""
    if isinstance(value, list):
        value.append(None)
    elif isinstance(value, dict):
        value.clear()
    elif value is not None and value.dtype.hasobject:
        value.reshape(-1)[:1] = [f"{text}?" for text in value.reshape(-1)[:1]]
    elif value is not None and value.size:
        _flip_bit(value)


def _flip_bit(array: Array) -> None:
    first = array.reshape(-1)[:1].copy()
    array.reshape(-1)[:1] = (first.view("u1") ^ 1).view(array.dtype)


class OptimizerProxy:
    """A graph optimizer in a child process: a function from a model to the optimized model."""

    def __init__(self, client: SubjectClient, passes: tuple[str, ...], *, fixed_point: bool) -> None:
        self.client = client
        self.passes = passes
        parameters = {"model": Parameter.empty} | ({"fixed_point": False} if fixed_point else {})
        self.__signature__ = Signature(
            [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default) for name, default in parameters.items()]
        )

    @suite_code()
    def __call__(self, model: onnx.ModelProto, fixed_point: bool = False) -> Any:
        """Optimize the model in the child process, and return the return value of the graph optimizer.

        Raises:
            SubjectFailure: the graph optimizer does not return; see `conformance.subjects.isolation.protocol`.
        """
        self.client.begin_case()
        process = self.client.process
        given = model.SerializeToString()
        process.line_limit = max_line_bytes(self.client.limits, len(given))
        output = f"{process.scratch.work}/rewritten.onnx"
        answer = self.client.ask(
            "optimize",
            model=process.write_input_file("model.onnx", given),
            output=output,
            fixed_point=fixed_point,
        )
        if "invalid_return" in answer:
            return placeholder_for_type(answer["invalid_return"])
        if answer.get("changed_input"):
            model.CopyFrom(self._read_changed_input(f"{output}.given", len(given)))
        return self._read_model(output, len(given))

    def _read_changed_input(self, path: str, given_bytes: int) -> onnx.ModelProto:
        """Return the input model after the changes that the subject made to it.

        If the harness did not write the changed model, the result is another model with a remark.
        """
        if os.path.lexists(path):
            return self._read_model(path, given_bytes)
        return onnx.ModelProto(doc_string="changed by the graph optimizer; its harness does not report how")

    def _read_model(self, path: str, given_bytes: int) -> onnx.ModelProto:
        """Return a model that the subject wrote; `given_bytes` is the size of the model that it was given."""
        limit = max_model_bytes(self.client.limits, given_bytes)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as stream:
                content = stream.read(limit + 1)
            os.unlink(path)  # noqa: PTH108
        except OSError as error:
            raise self.client.protocol_violation(f"wrote no model to the file `output`: {error.strerror}") from None
        if len(content) > limit:
            raise self.client.protocol_violation(f"wrote a model of more than {limit} bytes")
        most = MAX_MODEL_FIELDS + given_bytes
        if len(content) > most and is_large_message(content, most):  # a field has at least a byte
            raise self.client.protocol_violation(f"wrote a model of more than {most} fields, or of too many numbers")
        try:
            rewritten: onnx.ModelProto = onnx.ModelProto.FromString(content)
        except Exception as error:  # noqa: BLE001 - the class of protobuf's error depends on its implementation
            reason = f"{type(error).__name__}: {error}"
            raise self.client.protocol_violation(f"wrote a file that is not a model: {reason}") from None
        return rewritten
