"""The judgement of a model's nodes as a job: chunks of nodes, which worker processes or Dask workers judge.

The recorded values of a model on a subject are in a folder, together with the model. A worker maps them into memory, so
that each worker reads only the values of its nodes. The folder also has the finished chunks. `--resume` keeps it.

The result does not depend on the number of workers: a chunk depends only on the recorded values, and a hidden value is
computed again in each chunk that needs it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import msgspec
import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from conformance.audit.judgement import JudgedNode, Judgement, NodeVerdict, WrongElement
from conformance.errors import JobError
from conformance.files.atomic_write import write_text_atomically
from conformance.graphs.exposure import Exposure, RecordedValues
from conformance.graphs.hashing import hash_values
from conformance.jobs.job import JobState, require_number, run_job
from conformance.models.arrays import dtype_of, type_name, type_number
from conformance.models.external_data import initializer_arrays_in
from conformance.serialization.decoding import Count, JsonDecoder, MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.jobs.job import ChunkResult, Workers
    from conformance.models.arrays import Array

RECORD_FORMAT = 1
"""Version of the file `record.json`."""

MAX_RECORD_BYTES = 2**28
"""Maximum size of the file `record.json`."""

CHUNK_NODES = 16
"""Maximum number of nodes in a chunk."""

CHUNK_ELEMENTS = 2**22
"""Number of elements of the outputs of a chunk above which the next node is in another chunk."""

_ALIGNMENT = 64

Number = Annotated[str, msgspec.Meta(pattern=r"^-?([0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?|inf|nan)$")]
"""A double as text; JSON has no infinities."""


class WrongElementDocument(TypedDict):
    """A `WrongElement` as JSON."""

    output: str
    index: list[Count]
    value: Number
    expected: Number
    bound: Number


class JudgedNodeDocument(TypedDict):
    """A `JudgedNode` as JSON."""

    number: Count
    name: str
    op_type: str
    domain: str
    verdict: Annotated[str, NodeVerdict]
    reason: str
    elements: Count
    all_elements: Count
    undetermined: Count
    share: Number
    worst: WrongElementDocument | None
    together: list[str]
    segment: list[Count]
    inner_nodes: Count
    way: str
    type: str


class JudgedChunk(TypedDict):
    """The judgements of one chunk."""

    nodes: list[JudgedNodeDocument]


class ValueDocument(TypedDict):
    """A recorded value: its place in the file `values`, or its elements if they are texts."""

    name: str
    way: Annotated[str, Exposure]
    dtype: str
    shape: list[Count]
    offset: Count
    texts: list[str]


class RecordDocument(TypedDict):
    """The file `record.json`: what was recorded on a subject, apart from the elements."""

    format: Count
    model: str
    subject: str
    version: str
    inputs: str
    is_repeatable: bool
    repeats_when_prepared_again: bool
    runs: Count
    remark: str
    refused: dict[str, str]
    hidden: list[str]
    values: list[ValueDocument]
    digest: str


@dataclass(frozen=True)
class Recording:
    """The recorded values of a model on a subject with one data set.

    Attributes:
        model: the model whose nodes are judged.
        values: its values.
        is_repeatable: whether the first and the second run of the prepared model returned the same outputs.
        repeats_when_prepared_again: whether a model that was prepared again returned the same outputs.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    model: onnx.ModelProto
    values: RecordedValues
    is_repeatable: bool
    repeats_when_prepared_again: bool
    data_folder: Path | None = None


@dataclass(frozen=True)
class RecordingKey:
    """Identity of the audit that a recording belongs to.

    Attributes:
        model: SHA-256 of the model's file.
        subject: the id of the subject.
        version: its version.
        inputs: SHA-256 of the inputs.
    """

    model: str
    subject: str
    version: str
    inputs: str

    @classmethod
    def of(cls, model: str, subject: str, version: str, arrays: Sequence[Array]) -> RecordingKey:
        """Return the key for some inputs."""
        return cls(model, subject, version, hash_values(arrays))

    @property
    def folder(self) -> str:
        """The name of the recording's folder."""
        return hashlib.sha256("\0".join(asdict(self).values()).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class JudgementJob:
    """The judgement of one recording; see `conformance.jobs.job.Job`.

    Attributes:
        folder: the folder of the recording; all workers must see it under this path.
        key: what the recording belongs to.
        digest: SHA-256 of the recorded elements.
        ranges: the first and the last-plus-one number of the nodes of each chunk.
        all_elements: whether every element of a large tensor is judged.
        data_folder: the folder of the model's external data; None if the model has all tensors.
    """

    folder: Path
    key: RecordingKey
    digest: str
    ranges: tuple[tuple[int, int], ...]
    all_elements: bool = False
    data_folder: Path | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """See `conformance.jobs.job.Job`."""
        return {**asdict(self.key), "values": self.digest, "all elements": self.all_elements}

    @property
    def result_type(self) -> Any:
        """See `conformance.jobs.job.Job`."""
        return JudgedChunk

    def chunk_numbers(self) -> range:
        """See `conformance.jobs.job.Job`."""
        return range(len(self.ranges))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.jobs.job.Job`."""
        require_number(chunk.number, len(self.ranges))
        nodes = chunk.result["nodes"]
        if [node["number"] for node in nodes] != [*range(*self.ranges[chunk.number])]:
            raise MalformedError(f"chunk {chunk.number} has judgements of other nodes")
        if any(number >= self.ranges[-1][1] for node in nodes for number in node["segment"]):
            raise MalformedError("a node was judged together with a node that does not exist")

    @contextmanager
    def open(self) -> Iterator[Callable[[int], JudgedChunk]]:
        """See `conformance.jobs.job.Job`."""
        recording, _ = read_recording(self.folder, self.key, self.data_folder)
        judgement = Judgement(recording.model, recording.values, all_elements=self.all_elements)
        yield lambda number: {"nodes": [encode_node(node) for node in judgement.judge(range(*self.ranges[number]))]}


@dataclass(frozen=True)
class AuditWorkers:
    """The workers of an audit, and the folder for its recordings.

    Attributes:
        workers: the workers.
        directory: a folder that has a folder for each recording.
    """

    workers: Workers
    directory: Path

    def check(self, model: str) -> None:
        """Check that the folder has no recordings of another model.

        Raises:
            JobError: it has, or it is not a folder.
        """
        if self.directory.exists() and not self.directory.is_dir():
            raise JobError("state-not-a-folder", f"{self.directory} is not a folder.", "Name a folder for --resume.")
        for record in sorted(self.directory.glob("*/record.json")):
            found = _read_record(record)["model"]
            if found != model:
                raise JobError(
                    "other-job",
                    f"{self.directory} belongs to another job: there, model is {found}, here {model}.",
                    "Give the options with which that job was started, or name another file.",
                )

    def find(self, key: RecordingKey, data_folder: Path | None) -> Recording | None:
        """Return the recording of an interrupted audit of a model; None if there is none."""
        folder = self.directory / key.folder
        return read_recording(folder, key, data_folder)[0] if (folder / "record.json").exists() else None

    def judge(
        self,
        key: RecordingKey,
        recording: Recording,
        progress: Callable[[int, int], None],
        *,
        all_elements: bool,
    ) -> list[JudgedNode]:
        """Save a recording unless it is saved, judge its nodes on the workers, and return the judgements.

        Args:
            key: what the recording belongs to.
            recording: the recording.
            progress: is called with the number of judged nodes and the number of all nodes.
            all_elements: whether every element of a large tensor is judged.

        Raises:
            ConformanceError: the folder cannot be written, or the job cannot continue.
        """
        folder = self.directory / key.folder
        if not (folder / "record.json").exists():
            write_recording(folder, key, recording)
        digest = _read_record(folder / "record.json")["digest"]
        ranges = chunk_ranges(recording)
        job = JudgementJob(folder.resolve(), key, digest, ranges, all_elements, recording.data_folder)
        judged: list[JudgedNode] = []
        with JobState(folder / f"chunks{'-all' if all_elements else ''}.jsonl", job) as state:
            for chunk in run_job(job, self.workers, state):
                judged += [decode_node(node) for node in chunk.result["nodes"]]
                progress(len(judged), len(recording.model.graph.node))
        return Judgement(recording.model, recording.values, all_elements=all_elements).complete(judged)


def chunk_ranges(recording: Recording) -> tuple[tuple[int, int], ...]:
    """Return the chunks of a model's nodes: at most `CHUNK_NODES` nodes, or `CHUNK_ELEMENTS` elements of outputs."""
    ranges, start, elements = [], 0, 0
    nodes = recording.model.graph.node
    for number, node in enumerate(nodes):
        if number > start and (number - start >= CHUNK_NODES or elements > CHUNK_ELEMENTS):
            ranges.append((start, number))
            start, elements = number, 0
        values = recording.values.values
        elements += sum(values[name].size for name in node.output if name in values)
    return (*ranges, (start, len(nodes))) if len(nodes) else ()


def encode_node(node: JudgedNode) -> JudgedNodeDocument:
    """Return a judgement as JSON."""
    document: Any = asdict(node)
    document |= {"share": repr(node.share), "together": list(node.together), "segment": list(node.segment)}
    if node.worst is not None:
        worst = {name: repr(getattr(node.worst, name)) for name in ("value", "expected", "bound")}
        document["worst"] |= {"index": list(node.worst.index), **worst}
    document["verdict"] = str(node.verdict)
    encoded: JudgedNodeDocument = document
    return encoded


def decode_node(document: JudgedNodeDocument) -> JudgedNode:
    """Return the judgement of a JSON document."""
    fields: Any = dict(document)
    worst = document["worst"]
    fields["worst"] = worst and WrongElement(
        *(worst["output"], tuple(worst["index"])),
        *(float(worst["value"]), float(worst["expected"]), float(worst["bound"])),
    )
    fields |= {"verdict": NodeVerdict(document["verdict"]), "share": float(document["share"])}
    return JudgedNode(**(fields | {name: tuple(fields[name]) for name in ("together", "segment")}))


def write_recording(folder: Path, key: RecordingKey, recording: Recording) -> None:
    """Write a recording to a new folder, whose name it gets when it is complete.

    Raises:
        JobError: the folder cannot be written.
    """
    partial = folder.with_name(f"{folder.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        values, digest = _write_values(partial / "values", recording.values)
        (partial / "model.onnx").write_bytes(recording.model.SerializeToString())
        document: RecordDocument = {
            "format": RECORD_FORMAT,
            **asdict(key),  # type: ignore[typeddict-item]
            "is_repeatable": recording.is_repeatable,
            "repeats_when_prepared_again": recording.repeats_when_prepared_again,
            "runs": recording.values.runs,
            "remark": recording.values.remark,
            "refused": recording.values.refused,
            "hidden": [name for name, way in recording.values.ways.items() if way is Exposure.HIDDEN],
            "values": values,
            "digest": digest,
        }
        write_text_atomically(partial / "record.json", json.dumps(document) + "\n")
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise JobError(
            "state-unusable",
            f"{folder.parent} cannot be read and written: {error.strerror}.",
            "Name another folder, or free some space.",
        ) from None


def _write_values(file: Path, recorded: RecordedValues) -> tuple[list[ValueDocument], str]:
    documents: list[ValueDocument] = []
    digest = hashlib.sha256()
    with file.open("wb") as stream:
        for name, array in recorded.values.items():
            way = recorded.ways.get(name, Exposure.CONSTANT)
            if way is Exposure.CONSTANT:
                continue  # the model has it
            is_text = array.dtype.kind in "OUS"
            texts = [str(text) for text in array.reshape(-1)] if is_text else []
            stream.write(bytes(-stream.tell() % _ALIGNMENT))
            documents.append(
                {
                    "name": name,
                    "way": str(way),
                    "dtype": type_name(array.dtype),
                    "shape": list(array.shape),
                    "offset": stream.tell(),
                    "texts": texts,
                }
            )
            if is_text:
                digest.update(json.dumps(texts).encode())
            else:
                content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
                stream.write(content)
                digest.update(content)
        stream.flush()
        os.fsync(stream.fileno())
    return documents, digest.hexdigest()


def read_recording(folder: Path, key: RecordingKey, data_folder: Path | None) -> tuple[Recording, str]:
    """Return a recording, whose elements are mapped into memory, and the digest of its elements.

    Args:
        folder: the folder of the recording.
        key: what the recording belongs to.
        data_folder: the folder of the model's external data; None if the model has all tensors.

    Raises:
        JobError: the folder cannot be read, or it is not a recording for the key.
    """
    document = _read_record(folder / "record.json")
    if RecordingKey(*(document[name] for name in ("model", "subject", "version", "inputs"))) != key:
        raise _malformed(folder, "it belongs to another subject or to other inputs")
    try:
        model = onnx.ModelProto.FromString((folder / "model.onnx").read_bytes())
        recorded = RecordedValues({}, {}, [], document["runs"], document["remark"], document["refused"])
        for name, array in initializer_arrays_in(model.graph, data_folder).items():
            recorded.values[name], recorded.ways[name] = array, Exposure.CONSTANT
        recorded.ways.update(dict.fromkeys(document["hidden"], Exposure.HIDDEN))
        for value in document["values"]:
            recorded.values[value["name"]] = _map_value(folder / "values", value)
            recorded.ways[value["name"]] = Exposure(value["way"])
        recorded.outputs.extend(recorded.values[value.name] for value in model.graph.output)
    except OSError as error:
        raise _unreadable(folder, error) from None
    except (DecodeError, KeyError, ValueError) as error:
        raise _malformed(folder, str(error)) from None
    return Recording(model, recorded, document["is_repeatable"], document["repeats_when_prepared_again"]), document[
        "digest"
    ]


def _map_value(file: Path, value: ValueDocument) -> Array:
    """Return a recorded value.

    Raises:
        ValueError: the file is too short, or the type is unknown.
    """
    shape = tuple(value["shape"])
    if value["texts"]:
        return np.array(value["texts"], dtype=object).reshape(shape)
    dtype = dtype_of(type_number(value["dtype"]))
    if dtype.kind == "O" or not math.prod(shape):
        return np.empty(shape, dtype)
    if value["offset"] + math.prod(shape) * dtype.itemsize > file.stat().st_size:
        raise ValueError(f"the value of {value['name']} is incomplete")
    mapped = np.memmap(file, np.uint8, "r", value["offset"], (math.prod(shape) * dtype.itemsize,))
    return np.asarray(mapped).view(dtype).reshape(shape)


def _read_record(file: Path) -> RecordDocument:
    try:
        if file.stat().st_size > MAX_RECORD_BYTES:
            raise _malformed(file.parent, "record.json is too large")
        document: RecordDocument = JsonDecoder(RecordDocument)(file.read_bytes())
    except OSError as error:
        raise _unreadable(file.parent, error) from None
    except MalformedError as error:
        raise _malformed(file.parent, str(error)) from None
    if document["format"] != RECORD_FORMAT:
        raise _malformed(file.parent, "another version of this suite wrote it")
    return document


def _malformed(folder: Path, reason: str) -> JobError:
    return JobError(
        "malformed-recording", f"{folder} is not a recording of an audit: {reason}.", "Name another folder."
    )


def _unreadable(folder: Path, error: OSError) -> JobError:
    return JobError(
        "recording-unreadable",
        f"The recorded values in {folder} cannot be read: {error.strerror}.",
        "With --dask, give --resume a folder that all workers see under the same path.",
    )
