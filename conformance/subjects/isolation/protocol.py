"""Encoding of the harness protocol's messages, with the limits and the failures of a subject in its own process.

Each command and each answer is one line of JSON; `base/serialization/schemas/protocol.schema.json` has their types. A
malformed answer, an answer `error` or `unsupported`, and the end of the process are raised as exceptions. Each
exception class defines the verdict of the case.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.base.errors import UsageError
from conformance.base.serialization.decoding import DocumentLimitError, check_limits, distinct_keys, schema_check
from conformance.base.verdicts import Unsupported, Verdict
from conformance.subjects.calling.request import SubjectFailure

if TYPE_CHECKING:
    from collections.abc import Mapping


BASE_OUTPUT_BYTES = 2**23
"""Size of all outputs that an answer to any command may have."""

LARGE_OUTPUT_BYTES = max(3 * 2**29, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 16)
"""Size of all outputs of a user's own model, with all intermediate values: more on a machine with much memory."""

MAX_ANSWER_VALUES = 2**20
"""Maximum number of commas and opening brackets in an answer: Python needs up to 200 bytes for an empty object."""

BYTES_PER_VALUE = 16
"""Bytes of the maximum length of a line for which one more comma or opening bracket is allowed."""

MAX_TEXT_VALUES = 2**22
"""Maximum number of commas and opening brackets in an answer to a command with large inputs."""

MAX_MODEL_FIELDS = 2**17
"""Maximum number of encoded fields of a rewritten model, plus one per byte of the given model."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Limits:
    """Limits of the process of one subject.

    The limits of an answer grow with the command: outputs are in proportion to the model and its inputs, and an answer
    that is far larger must not fill the memory of the suite.

    Attributes:
        timeout: seconds for the start, and for each case.
        memory: maximum address space, in bytes; 0 for no limit.
        line: maximum length of an answer to any command, in bytes.
        file: maximum size of all outputs of an answer to any command, in bytes.
        base_output: size that all outputs of an answer may have whatever the model and the inputs are, in bytes.
    """

    timeout: float = 60.0
    memory: int = 0
    line: int = 2**28
    file: int = 2**30
    base_output: int = BASE_OUTPUT_BYTES

    @classmethod
    def for_large_outputs(cls, timeout: float) -> Limits:
        """Return the limits for a user's own model, whose intermediate values are outputs too."""
        return cls(timeout, file=LARGE_OUTPUT_BYTES, base_output=LARGE_OUTPUT_BYTES)

    @property
    def memory_limit(self) -> str:
        """The limit of the memory as a clause."""
        return f"--memory limits its address space to {self.memory / 2**20:.4g} MiB"

    def __post_init__(self) -> None:
        """Check the time limit.

        Raises:
            UsageError: the time limit is not a positive number of seconds below 10⁶.
        """
        if not 0 < self.timeout < 10**6:
            raise UsageError("invalid-timeout", timeout=self.timeout)


MIN_MEMORY = 2**20
MAX_MEMORY = 2**62
"""Limits of an amount of memory: no program starts in less, and the system has no larger numbers."""


def parse_memory_size(text: str) -> int:
    """Return an amount of memory in bytes: `4G` is 4 · 2³⁰. An empty text is 0, for no limit.

    Raises:
        UsageError: the text is not a number with an optional unit K, M, G or T, or the amount is out of range.
    """
    if not text:
        return 0
    match = re.fullmatch(r"([1-9][0-9]{0,14})([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError("invalid-memory-size", text=text)
    size = int(match[1]) * _UNITS[match[2].upper()]
    if not MIN_MEMORY <= size < MAX_MEMORY:
        raise UsageError("invalid-memory-size", text=text)
    return size


PROTOCOL_VERSION = 1

BASE_MODEL_BYTES = 2**22
"""Size that any rewritten model may have."""

OUTPUTS_PER_INPUT = 16
"""Bytes that an answer may have more, for each byte of the model and its inputs.

An ArgMax returns eight bytes for an element of one byte.
"""

QUOTE_LIMIT = 200
"""Characters of a subject's output that a message shows."""


class Raised(SubjectFailure):
    """The subject raised an ordinary error; the message is the same as if the subject ran in this process."""

    is_rejection = True


class Panicked(SubjectFailure):
    """The subject failed, and its process is not used again: a panic of a runtime in Rust, an exit, a lost device."""


class UnsupportedAnswer(SubjectFailure, Unsupported):
    """The subject reports that it does not support an operator, type or opset."""

    verdict = Verdict.UNSUPPORTED


class Crashed(SubjectFailure):
    """The subject's process ended before it answered."""

    verdict = Verdict.CRASH


class TimedOut(SubjectFailure):
    """The subject did not answer within the time limit."""

    verdict = Verdict.TIMEOUT


class ProtocolViolation(SubjectFailure):
    """The subject wrote a line that is not a valid answer; the message quotes the line."""


class NotStarted(SubjectFailure):
    """The subject's process failed to start, several times in a row."""

    phase = "start"


class SubjectInfo(msgspec.Struct, frozen=True, rename={"version": "runtime_version", "packs": "packed"}):
    """Properties of a subject, from its answer to `start`.

    Attributes:
        version: version of the runtime or optimizer.
        language: language of the harness.
        passes: passes that a graph optimizer implements; None if the answer does not name them.
        fixed_point: whether a graph optimizer has two modes: a single run, and runs until the model does not change.
        models: number of models that a backend can keep loaded at a time.
        types: kinds of inputs that a backend's harness takes, besides tensors of numbers.
        files: whether a backend's harness reads inputs from files and writes outputs to files.
        packs: whether a backend's harness reads and writes files that several tensors share.
        provider: execution provider or device on which the backend must run every node; None for no requirement.
        python: version of the Python that runs the subject; empty if the answer does not name it.
        packages: installed packages that the subject can use, as `name==version`.
        failure: reason why the subject did not start; empty if it started.
    """

    version: str = "unknown"
    language: str = "unknown"
    passes: tuple[str, ...] | None = None
    fixed_point: bool = False
    models: int = 1
    types: tuple[str, ...] = ()
    files: bool = False
    packs: bool = False
    provider: str | None = None
    python: str = ""
    packages: tuple[str, ...] = ()
    failure: str = ""


def placeholder_for_type(type_name: str, digest: str = "") -> Any:
    """Return an object whose type has the given name, to stand for a return value that is no value of an ONNX type.

    Args:
        type_name: the name of the type.
        digest: the digest that the harness sent for the value; it becomes an attribute of the object.
    """
    return type(type_name, (), {"digest": digest})()


def quote_line(line: bytes | bytearray) -> str:
    """Return the first `QUOTE_LIMIT` characters of a line, quoted."""
    text = line[:QUOTE_LIMIT].decode(errors="backslashreplace")
    return repr(text) + ("…" if len(line) > QUOTE_LIMIT else "")


def encode_command(message: Mapping[str, Any]) -> bytes:
    """Return a command as a line of JSON."""
    return _ENCODER.encode(message).encode() + b"\n"


def parse_answer(
    line: bytes | bytearray, command: str, seq: int, most_values: int = MAX_ANSWER_VALUES
) -> dict[str, Any]:
    """Return the answer in a line, checked against the schema of the answers to `command`.

    Args:
        line: the line.
        command: the command.
        seq: the number of the command.
        most_values: maximum number of commas and opening brackets.

    Raises:
        ProtocolViolation: the line is not a valid answer to the command with the number `seq`; the message quotes it.
    """
    try:
        check_limits(line, most_values)
    except DocumentLimitError as error:
        raise ProtocolViolation(
            f"answered `{command}` with a message that exceeds a limit ({error}): {quote_line(line)}"
        ) from None
    try:
        answer = _DECODER.decode(line.decode("utf-8", "surrogatepass"))
        is_valid = schema_check("protocol", f"{command}_answer")(answer)
    except (ValueError, RecursionError, OverflowError) as error:
        raise ProtocolViolation(
            f"answered `{command}` with invalid JSON ({type(error).__name__}): {quote_line(line)}"
        ) from None
    if isinstance(answer, dict) and answer.get("seq") != seq:
        raise ProtocolViolation(f"answered `{command}` with another number than {seq}: {quote_line(line)}")
    if not is_valid:
        raise ProtocolViolation(f"answered `{command}` with a message that violates the protocol: {quote_line(line)}")
    return dict(answer)


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


def _read_number(text: str) -> float | int:
    """Return a number with a point or an exponent; a whole one is an integer, as in JSON Schema: 1.0 is 1."""
    number = float(text)
    return int(number) if number.is_integer() else number


_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_float=_read_number, parse_constant=_refuse_constant, object_pairs_hook=distinct_keys)


def max_output_bytes(limits: Limits, given_bytes: int) -> int:
    """Return the maximum size of all outputs of an answer.

    Args:
        limits: the limits of the subject.
        given_bytes: size of the model and the inputs of the command, in bytes.
    """
    return min(limits.file, limits.base_output + OUTPUTS_PER_INPUT * given_bytes)


def max_line_bytes(limits: Limits, given_bytes: int) -> int:
    """Return the maximum length of an answer; base64 needs a third more bytes than the outputs."""
    return min(limits.line, 2 * max_output_bytes(limits, given_bytes))


def max_answer_values(line_limit: int) -> int:
    """Return the maximum number of commas and opening brackets in an answer, for the maximum length of its line.

    The texts of an output can have as many as those of the inputs.
    """
    return max(MAX_ANSWER_VALUES, min(line_limit // BYTES_PER_VALUE, MAX_TEXT_VALUES))


def max_model_bytes(limits: Limits, given_bytes: int) -> int:
    """Return the maximum size of a rewritten model; that of a large one can have twice its size."""
    return min(max(limits.line, 2 * given_bytes), BASE_MODEL_BYTES + OUTPUTS_PER_INPUT * given_bytes)
