"""The judgement of a model's nodes as a job: chunks of nodes, which worker processes or Dask workers judge.

The exposed values of a model on a subject are in a folder, together with the model: each value is a file named by its
digest, and a worker reads only the values of its nodes. The folder also has the finished chunks. `--resume` keeps it.

The result does not depend on the number of workers: a chunk depends only on the exposed values, and a hidden value is
computed again in each chunk that needs it.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.base.errors import JobError
from conformance.base.files.atomic_write import write_bytes_atomically
from conformance.base.files.journal import (
    open_blob,
    read_state,
    require_identity,
    require_state_folder,
    require_version,
    state_errors,
    write_blob,
)
from conformance.base.jobs.job import JobState, require_number, run_job
from conformance.base.plugins import suite_version
from conformance.base.serialization.decoding import Count, JsonReader, MalformedError, encode_json, schema_check
from conformance.exact.models.arrays import (
    MAX_RANK,
    dtype_of,
    is_text,
    map_of_type,
    object_array,
    type_name,
    type_number,
)
from conformance.exact.models.encoded_messages import decode_message
from conformance.exact.models.external_data import initializer_arrays_in
from conformance.exact.models.graphs import is_operator
from conformance.exact.models.input_files import constant_node_values
from conformance.own.audit.node_verdicts import JudgedNode, JudgementOptions, ModelJudge
from conformance.own.graphs.intermediate_values import ExposedValues, Exposure
from conformance.subjects.calling.harness import value_message
from conformance.subjects.isolation.protocol import placeholder_for_type
from conformance.subjects.isolation.proxies import decode_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conformance.base.jobs.job import ChunkResult, Workers
    from conformance.exact.models.arrays import Array, Value

RECORD_FORMAT = 5
"""Version of a folder with exposed values."""

MAX_RECORD_BYTES = 2**28
"""Maximum size of the file `record.json`."""

MAX_RECORD_VALUES = 2**24
"""Largest number of values of `record.json`, and of texts in a tensor: a model can have many thousand nodes."""

MAX_STORED_BYTES = 2**40
"""Maximum size of a saved value."""

CHUNK_NODES = 16
"""Maximum number of nodes in a chunk."""

CHUNK_ELEMENTS = 2**22
"""Number of elements of the outputs of a chunk above which the next node is in another chunk."""


class JudgedChunk(msgspec.Struct, forbid_unknown_fields=True):
    """The judgements of one chunk."""

    nodes: list[JudgedNode]


class Blob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content in a file of its own, which has the digest of the content as its name."""

    digest: str
    size: Annotated[int, msgspec.Meta(ge=0, le=MAX_STORED_BYTES)]


class StoredValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exposed value in its folder. Its content is the elements, or a JSON list if they are texts."""

    name: str
    way: Exposure
    dtype: str
    shape: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_RANK)]
    content: Blob


class StoredModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file `record.json`: a model and its values on a subject, apart from the elements.

    An output that is no tensor has its message of the harness protocol as content.
    """

    format: Count
    suite: str
    key: AuditKey
    is_repeatable: bool
    repeats_when_prepared_again: bool
    runs: Count
    remark: str
    refused: dict[str, str]
    hidden: list[str]
    others: dict[str, Blob]
    model: Blob
    values: list[StoredValue]


class _StoredVersion(msgspec.Struct):
    """The part of `record.json` that every format has."""

    format: Count
    suite: str = "of another format"


@dataclass(frozen=True)
class ExposedModel:
    """A model and its exposed values on a subject with one data set.

    Attributes:
        model: the model whose nodes are judged.
        values: its values.
        is_repeatable: whether the first and the second run of the prepared model returned the same outputs.
        repeats_when_prepared_again: whether a model that was prepared again returned the same outputs.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    model: onnx.ModelProto
    values: ExposedValues
    is_repeatable: bool
    repeats_when_prepared_again: bool
    data_folder: Path | None = None


class AuditKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Identity of the audit that an exposed model belongs to.

    Attributes:
        model: SHA-256 of the model's file.
        subject: the id of the subject.
        version: its version.
        inputs: the digest of the inputs, by `hash_values`.
    """

    model: str
    subject: str
    version: str
    inputs: str

    @property
    def folder(self) -> str:
        """The name of the folder of the exposed model."""
        return hashlib.sha256("\0".join(msgspec.structs.astuple(self)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class JudgementJob:
    """The judgement of one exposed model; see `conformance.base.jobs.job.Job`.

    Attributes:
        folder: the folder of the exposed model; all workers must see it under this path.
        key: what the exposed model belongs to.
        digest: SHA-256 of `record.json`, which has the digests of the model and of all values.
        ranges: the first and the last-plus-one number of the nodes of each chunk.
        constants: the numbers of the nodes that are not judged, because they are constants.
        all_elements: whether every element of a large tensor is judged.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    result_type: ClassVar[Any] = JudgedChunk

    folder: Path
    key: AuditKey
    digest: str
    ranges: tuple[tuple[int, int], ...]
    constants: frozenset[int]
    all_elements: bool = False
    data_folder: Path | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """See `conformance.base.jobs.job.SavedJob`."""
        return {**msgspec.structs.asdict(self.key), "values": self.digest, "all elements": self.all_elements}

    def chunk_numbers(self) -> range:
        """See `conformance.base.jobs.job.Job`."""
        return range(len(self.ranges))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`."""
        require_number(chunk.number, len(self.ranges))
        nodes = chunk.result.nodes
        wanted = [number for number in range(*self.ranges[chunk.number]) if number not in self.constants]
        if [node.number for node in nodes] != wanted:
            raise MalformedError(f"chunk {chunk.number} has judgements of other nodes")
        if any(not 0 <= number < self.ranges[-1][1] for node in nodes for number in node.segment):
            raise MalformedError("a node was judged together with a node that does not exist")

    @contextmanager
    def open(self) -> Iterator[Callable[[int], JudgedChunk]]:
        """See `conformance.base.jobs.job.Job`."""
        exposed = read_exposed_model(self.folder, self.key, self.data_folder, self.digest)
        judgement = ModelJudge(exposed.model, exposed.values, JudgementOptions(self.all_elements))
        yield lambda number: JudgedChunk(list(judgement.judge(range(*self.ranges[number]))))


@dataclass(frozen=True)
class AuditWorkers:
    """The workers of an audit, and the folder for its recordings.

    Attributes:
        workers: the workers.
        directory: a folder that has a folder for each exposed model.
    """

    workers: Workers
    directory: Path

    def check(self, model: str) -> None:
        """Check that the folder has no recordings of another model.

        Raises:
            JobError: it has, or it is not a folder.
        """
        with state_errors(self.directory):
            require_state_folder(self.directory)
            folders = [path for path in sorted(self.directory.glob("*")) if path.suffix != _PARTIAL_SUFFIX]
        for folder in folders:
            with _recording_errors(folder):
                require_state_folder(folder)
                found = _read_stored_model(folder)[0].key.model
            require_identity(self.directory, {"model": found}, {"model": model})

    def find(self, key: AuditKey, data_folder: Path | None) -> ExposedModel | None:
        """Return the exposed model of an interrupted audit; None if there is none."""
        folder = self.directory / key.folder
        return read_exposed_model(folder, key, data_folder) if folder.exists() else None

    def judge(
        self, key: AuditKey, exposed: ExposedModel, progress: Callable[[int, int], None], *, all_elements: bool
    ) -> list[JudgedNode]:
        """Save an exposed model unless it is saved, judge its nodes on the workers, and return the judgements.

        Args:
            key: what the exposed model belongs to.
            exposed: the exposed model.
            progress: is called with the number of judged nodes and the number of all nodes.
            all_elements: whether every element of a large tensor is judged.

        Raises:
            ConformanceError: the folder cannot be written, or the job cannot continue.
        """
        folder = self.directory / key.folder
        if not folder.exists():
            write_exposed_model(folder, key, exposed)
        with _recording_errors(folder):
            _, digest = _read_stored_model(folder)
        ranges = chunk_ranges(exposed)
        nodes = exposed.model.graph.node
        constants = frozenset(number for number, node in enumerate(nodes) if is_operator(node, "Constant"))
        job = JudgementJob(folder.resolve(), key, digest, ranges, constants, all_elements, exposed.data_folder)
        judged: list[JudgedNode] = []
        with JobState(folder / f"chunks{'-all' if all_elements else ''}.jsonl", job) as state:
            for chunk in run_job(job, self.workers, state):
                judged += chunk.result.nodes
                progress(len(judged), len(nodes))
        return ModelJudge(exposed.model, exposed.values).complete(judged)


def chunk_ranges(exposed: ExposedModel) -> tuple[tuple[int, int], ...]:
    """Return the chunks of a model's nodes: at most `CHUNK_NODES` nodes, or `CHUNK_ELEMENTS` elements of outputs."""
    ranges = []
    start = 0
    elements = 0
    nodes = exposed.model.graph.node
    for number, node in enumerate(nodes):
        if number > start and (number - start >= CHUNK_NODES or elements > CHUNK_ELEMENTS):
            ranges.append((start, number))
            start = number
            elements = 0
        values = exposed.values.values
        elements += sum(math.prod(values[name].shape) for name in node.output if name in values)
    return (*ranges, (start, len(nodes))) if len(nodes) else ()


def write_exposed_model(folder: Path, key: AuditKey, exposed: ExposedModel) -> None:
    """Write an exposed model to a new folder, whose name it gets when it is complete.

    Raises:
        JobError: the folder cannot be written.
    """
    partial = folder.with_name(folder.name + _PARTIAL_SUFFIX)
    values = exposed.values
    with state_errors(folder.parent):
        require_state_folder(folder.parent)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir(parents=True)
            model = exposed.model.SerializeToString()
            stored = StoredModel(
                RECORD_FORMAT,
                suite_version(),
                key,
                exposed.is_repeatable,
                exposed.repeats_when_prepared_again,
                values.runs,
                values.remark,
                values.refused,
                [name for name, way in values.ways.items() if way is Exposure.HIDDEN],
                {name: _write_other(partial / _BLOBS, value) for name, value in values.others.items()},
                Blob(write_blob(partial / _BLOBS, model), len(model)),
                [
                    _write_value(partial / _BLOBS, name, array, values.ways[name])
                    for name, array in values.values.items()
                    if values.ways.get(name, Exposure.CONSTANT) is not Exposure.CONSTANT  # the model has it
                ],
            )
            write_bytes_atomically(partial / "record.json", encode_json(stored) + b"\n")
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def _write_other(folder: Path, value: Value) -> Blob:
    """Write an output that is no tensor, also one that is no value of an ONNX type."""
    message = value_message(value) or {"invalid_return": type(value).__name__}
    content = encode_json(message)
    return Blob(write_blob(folder, content), len(content))


def _read_other(folder: Path, blob: Blob) -> Value:
    """Return an output that is no tensor.

    Raises:
        MalformedError: its content is not a message of the harness protocol.
    """
    message = _decode_message(_open_blob(folder, blob))
    for definition in ("sequence", "map", "empty"):
        if schema_check("protocol", definition)(message):
            return decode_value(message)
    if not schema_check("protocol", "no_tensor")(message):
        raise MalformedError("an output is not a value of an ONNX type")
    return placeholder_for_type(message["invalid_return"])


def _write_value(folder: Path, name: str, array: Array, way: Exposure) -> StoredValue:
    if is_text(array.dtype):
        content: bytes | memoryview = encode_json(array.reshape(-1).tolist())
    else:
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    blob = Blob(write_blob(folder, content), len(content))
    return StoredValue(name, way, type_name(array.dtype), array.shape, blob)


def read_exposed_model(folder: Path, key: AuditKey, data_folder: Path | None, digest: str = "") -> ExposedModel:
    """Return an exposed model, whose values are read when they are used.

    Args:
        folder: the folder of the exposed model.
        key: what the exposed model belongs to.
        data_folder: the folder of the model's external data; None if the model has all tensors.
        digest: the digest of `record.json`, if it is known.

    Raises:
        JobError: the folder cannot be read, or it is not an exposed model for the key.
    """
    with _recording_errors(folder):
        require_state_folder(folder.parent, folder.name, _BLOBS)
        stored, found = _read_stored_model(folder)
        if stored.key != key or found != (digest or found):
            raise MalformedError("it belongs to another subject or to other inputs")
        model = decode_message(bytes(_open_blob(folder, stored.model)), onnx.ModelProto)
        ways = {value.name: value.way for value in stored.values} | dict.fromkeys(stored.hidden, Exposure.HIDDEN)
        others = {name: _read_other(folder, blob) for name, blob in stored.others.items()}
        maps = {each.name: each.type.map_type for each in model.graph.input if each.type.HasField("map_type")}
        others |= {name: map_of_type(others[name], maps[name]) for name in maps if name in others}
        ways |= dict.fromkeys(others, Exposure.OUTPUT)
        constants = initializer_arrays_in(model.graph, data_folder)
        known = constants | constant_node_values(model.graph)
        values = StoredValues(folder, {value.name: value for value in stored.values}, known)
        return ExposedModel(
            model,
            ExposedValues(
                values,
                dict.fromkeys(constants, Exposure.CONSTANT) | ways,
                [others[value.name] if value.name in others else values[value.name] for value in model.graph.output],
                stored.runs,
                stored.remark,
                stored.refused,
                others,
            ),
            stored.is_repeatable,
            stored.repeats_when_prepared_again,
            data_folder,
        )


class StoredValues(Mapping[str, "Array"]):
    """The values of an exposed model by name: each is read from its file when it is used.

    Args:
        folder: the folder of the exposed model.
        stored: the saved values by name.
        known: other values by name.

    Raises:
        ValueError: a value has an impossible type, shape or size.
    """

    def __init__(self, folder: Path, stored: Mapping[str, StoredValue], known: Mapping[str, Array]) -> None:
        self._folder = folder
        self._stored = dict(stored)
        self._known = dict(known)
        for value in stored.values():
            _check_size(value)

    def __getitem__(self, name: str) -> Array:
        """Return a value.

        Raises:
            KeyError: there is no such value.
            JobError: its file cannot be read, or has other content.
        """
        if name not in self._stored:
            return self._known[name]
        with _recording_errors(self._folder):
            return _read_value(self._folder, self._stored[name])

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._stored]))

    def __len__(self) -> int:
        return len(self._known.keys() | self._stored.keys())


def _check_size(value: StoredValue) -> None:
    """Check the size of a value before memory is allocated for it.

    Raises:
        ValueError: the type is unknown, or the shape does not have this size.
    """
    dtype = dtype_of(type_number(value.dtype))
    if math.prod(max(1, size) for size in value.shape) * dtype.itemsize > MAX_STORED_BYTES:
        raise ValueError(f"the shape of {value.name} is too large")
    if dtype.kind != "O" and math.prod(value.shape) * dtype.itemsize != value.content.size:
        raise ValueError(f"{value.name} has another size than its shape")


def _read_value(folder: Path, value: StoredValue) -> Array:
    dtype = dtype_of(type_number(value.dtype))
    content = _open_blob(folder, value.content)
    if dtype.kind == "O":
        return object_array(_decode_texts(content), value.shape)
    if not content:
        return np.empty(value.shape, dtype)
    return np.frombuffer(content, np.uint8).view(dtype).reshape(value.shape)


def _open_blob(folder: Path, blob: Blob) -> memoryview:
    return open_blob(folder / _BLOBS, blob.digest, blob.size)


def _read_stored_model(folder: Path) -> tuple[StoredModel, str]:
    """Return the saved model of a folder, and its digest."""
    file = folder / "record.json"
    content = read_state(file, MAX_RECORD_BYTES)
    found = _decode_version(content)
    require_version(file, (found.format, found.suite), (RECORD_FORMAT, suite_version()))
    return _decode_stored_model(content), hashlib.sha256(content).hexdigest()


_PARTIAL_SUFFIX = ".partial"
_BLOBS = "blobs"
_decode_version = JsonReader(_StoredVersion, max_values=MAX_RECORD_VALUES)
_decode_stored_model = JsonReader(StoredModel, max_values=MAX_RECORD_VALUES)
_decode_texts = JsonReader(list[str], max_values=MAX_RECORD_VALUES)
_decode_message = JsonReader(dict[str, Any], max_values=MAX_RECORD_VALUES)


@contextmanager
def _recording_errors(folder: Path) -> Iterator[None]:
    """Raise a `JobError` for a folder that cannot be read, or that has no exposed model."""
    try:
        with state_errors(folder):
            yield
    except (DecodeError, KeyError, TypeError, ValueError) as error:  # a size that is 1.0 has the wrong type
        raise JobError("malformed-recording", folder=folder, error=error) from None
    except JobError as error:
        if error.code != "job.state-unusable":
            raise
        raise JobError("recording-unreadable", problem=error.problem) from None
