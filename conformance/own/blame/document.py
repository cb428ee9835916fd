"""The document of a blame: the data of its steps, from which all reports are made and `--resume` continues."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import onnx

from conformance.base.errors import JobError
from conformance.base.files.journal import read_state, state_errors
from conformance.base.serialization.decoding import Count, JsonReader, MalformedError
from conformance.exact.models.arrays import parse_value
from conformance.exact.models.encoded_messages import decode_message
from conformance.exact.models.input_files import required_inputs
from conformance.own.blame.difference import Difference  # noqa: TC001 - msgspec reads the annotations
from conformance.own.blame.verdict import BlameVerdict  # noqa: TC001 - msgspec reads the annotations
from conformance.own.graphs.fed_model import FedModel
from conformance.own.graphs.reading import ModelRecord  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Literal[1] = 1


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a document; a key that is not described is refused."""


class Controls(_Part):
    """The step `controls`: both ways computed twice.

    Attributes:
        data_set: the number of the first data set with a difference, or 0.
        ways: the names of both ways.
        is_deterministic: whether both ways gave the same answer again.
        reason: otherwise which one did not.
        round_trip: how the outputs change by a rewrite without any pass: `same`, `differs`, or the message of a
            failure; None if it was not tried.
    """

    data_set: Count
    ways: tuple[str, str]
    is_deterministic: bool
    reason: str
    round_trip: str | None


class FoundPasses(_Part):
    """The step `passes`: the smallest set of passes with the difference.

    Attributes:
        names: the passes; None if they cannot be chosen.
        reason: why there are none, or why there may be fewer; otherwise empty.
        tested: the number of sets that were tried.
        subject: the name of the subject with these passes only, if it is known.
    """

    names: list[str] | None
    reason: str
    tested: Count
    subject: str | None = None


class ReducedNode(_Part):
    """A node of the reduced model."""

    operator: str
    domain: str
    name: str


class LostAccuracy(_Part):
    """The errors at a value that two models have; for the errors see `ValueLoss`, and `node` causes them."""

    node: ReducedNode
    value: str
    own: float
    since_inputs: float


class ReducedModel(_Part):
    """The step `reduction`: the reduced model and its inputs, in base64, and the number of models that were tried.

    If a second model is given, `second_nodes` are the nodes of its part with the same inputs and outputs, and `changes`
    are the attributes and constants in which the nodes differ. `losses` are the steps with the largest errors of the
    whole models.
    """

    is_complete: bool
    nodes_before: Count
    nodes: list[ReducedNode]
    tested: Count
    ended_early: bool
    model: str
    inputs: list[str]
    second_nodes: list[ReducedNode] | msgspec.UnsetType = msgspec.UNSET
    changes: list[str] | msgspec.UnsetType = msgspec.UNSET
    losses: list[LostAccuracy] | msgspec.UnsetType = msgspec.UNSET

    def read(self, data_folder: Path | None = None) -> FedModel:
        """Return the model with its inputs.

        Args:
            data_folder: the folder of the model's external data; None if the model has all tensors.

        Raises:
            JobError: it is malformed.
        """
        try:
            model = decode_message(base64.b64decode(self.model), onnx.ModelProto)
            declared = zip(required_inputs(model.graph), self.inputs, strict=True)
            inputs = {value.name: parse_value(base64.b64decode(text), value.type) for value, text in declared}
            return FedModel(model, inputs, data_folder)
        except Exception:  # noqa: BLE001 - protobuf and base64 raise errors of several kinds
            raise JobError("malformed-state.version") from None


class BlameSteps(_Part, omit_defaults=True):
    """The steps that ended, in their order."""

    controls: Controls | None = None
    difference: Difference | None = None
    passes: FoundPasses | None = None
    reduction: ReducedModel | None = None
    verdict: BlameVerdict | None = None


class BlameHead(_Part, kw_only=True):
    """The part of a document that identifies the request; `second_model` is that of B, if it is given."""

    format: Literal[1]
    model: ModelRecord
    inputs: Annotated[list[str], msgspec.Meta(min_length=1)]
    inputs_sha256: str
    seed: int | None
    subjects: tuple[str, str]
    optimizer: str | None
    second_model: ModelRecord | msgspec.UnsetType = msgspec.UNSET


class BlameDocument(BlameHead, kw_only=True):
    """The file of `--json`.

    Attributes:
        versions: the versions of the subjects.
        steps: the steps that ended.
        tried: the sets of passes that an interrupted search has tried, and whether they keep the difference.
        reduced_difference: the difference of the reduced model.
    """

    versions: list[str]
    steps: BlameSteps
    tried: dict[str, bool] | msgspec.UnsetType = msgspec.UNSET
    reduced_difference: Difference | msgspec.UnsetType = msgspec.UNSET


_decode = JsonReader(BlameDocument, has_infinities=True)


def decode_document(content: bytes) -> BlameDocument:
    """Return the document of an earlier session.

    Raises:
        MalformedError: the content is not a document that a session wrote.
    """
    document = _decode(content)
    steps = document.steps
    found = [step is not None for step in (steps.controls, steps.difference, steps.passes, steps.reduction)]
    if found != sorted(found, reverse=True):
        raise MalformedError("a step is missing")
    if steps.controls and steps.controls.data_set >= len(document.inputs):
        raise MalformedError("it names a data set that it does not have")
    return document


def read_document(path: Path) -> BlameDocument:
    """Return the document of an earlier session.

    Raises:
        JobError: the file cannot be read, is a link, a pipe or a device, or is not such a document.
    """
    try:
        with state_errors(path):
            return decode_document(read_state(path))
    except MalformedError as error:
        raise JobError("malformed-state.blame", path=path, error=error) from None
