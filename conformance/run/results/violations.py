"""Violations as data, and signatures: messages without the details that vary between failures of one kind.

A `Violation` states what is wrong with an output or with a rewritten model. Its kind has two templates: the sentence
for reports, which names values, and the cause, which does not. `normalize_message` does the same for the messages of
subjects, which are sentences only.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import structs

from conformance.base.serialization.decoding import Count, NonEmpty, StoredRecord
from conformance.base.serialization.printable_text import shorten_middle

if TYPE_CHECKING:
    from typing import Self


class ViolationKind(StrEnum):
    """The kinds of violations: the name of the kind, its sentence, and its cause.

    The places of both templates are attributes of `Violation`. Without a cause, the cause is the normalized sentence.
    """

    sentence: str
    cause: str

    def __new__(cls, name: str, sentence: str, cause: str = "") -> Self:
        """Return the kind with this name and its templates."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.sentence = sentence
        kind.cause = cause
        return kind

    # an output, whose name stands before the sentence
    NO_ARRAY = "no_array", "is a {actual}, not an array"
    OUTPUT_TYPE = "output_type", "has type {actual} instead of {expected}"
    OUTPUT_SHAPE = "output_shape", "has shape {actual} instead of {expected}", "has another shape"
    ELEMENTS = "elements", "has {count} wrong of {of} elements"
    INTERPRETATION = (
        "interpretation",
        "fits no single interpretation of the specification, though each element is within its bound",
    )
    # all outputs of a backend
    OVERWRITTEN = (
        "overwritten",
        "{place} of data set {data_set} has been overwritten by a later run{detail}",
        "{place} has been overwritten by a later run",
    )
    # the answers of a rewritten model
    ANSWER_COUNT = "answer_count", "{count} outputs instead of {of}", "the number of outputs is another"
    ANSWER_TYPE = (
        "answer_type",
        "{place} has type {actual} instead of {expected} on data set {data_set}",
        "an output has another type",
    )
    ANSWER_SHAPE = (
        "answer_shape",
        "{place} has shape {actual} instead of {expected} on data set {data_set}",
        "an output has another shape",
    )
    ANSWER_VALUES = (
        "answer_values",
        "{place} is {actual} instead of {expected} on data set {data_set}",
        "an output has other values",
    )
    # the validity of a rewritten model
    INVALID_MODEL = "invalid_model", "{detail}"
    # its interface
    VALUE_GONE = "value_gone", "{field} {place} is gone", "an input or output is gone"
    VALUE_ADDED = "value_added", "there is a new {field} {place}", "there is a new input or output"
    VALUE_ORDER = (
        "value_order",
        "order of {field}s changed from {expected} to {actual}",
        "the order of {field}s changed",
    )
    VALUE_TYPE = (
        "value_type",
        "type of {field} {place} changed from {expected} to {actual}",
        "the type of an input or output changed",
    )
    VALUE_TYPE_FIELD = (
        "value_type_field",
        "type of {field} {place} changed in detail: {detail}",
        "the type of an input or output changed",
    )
    DEFAULT_GONE = (
        "default_gone",
        "default of input {place} is gone",
        "the default of an input is gone or changed",
    )
    DEFAULT_CHANGED = (
        "default_changed",
        "default of input {place} has another type, shape or content",
        "the default of an input is gone or changed",
    )
    IMPORT_GONE = "import_gone", "opset import of {place} is gone", "the opset imports changed"
    IMPORT_ADDED = "import_added", "there is a new opset import of {place}", "the opset imports changed"
    IMPORT_CHANGED = (
        "import_changed",
        "opset import of {place} changed from {expected} to {actual}",
        "the opset imports changed",
    )
    # information on values that it removed
    LEFT_OVER = "left_over", "{field} of {place} is left, which is gone", "{field} of a removed value is left"
    # the model of the caller
    CALLER_MODEL = "caller_model", "the caller's model is changed: {detail}", "the caller's model is changed"
    # information that it must keep
    TEXT_GONE = "text_gone", "{field} of {place} is gone", "{field} of {place_kind} is gone"
    TEXT_CHANGED = (
        "text_changed",
        "{field} of {place} changed from {expected} to {actual}",
        "{field} of {place_kind} changed",
    )
    METADATA_GONE = "metadata_gone", "metadata {field} of {place} is gone", "metadata of {place_kind} is gone"
    METADATA_CHANGED = (
        "metadata_changed",
        "metadata {field} of {place} changed from {expected} to {actual}",
        "metadata of {place_kind} changed",
    )
    ENTRY_GONE = "entry_gone", "{field} {place} is gone", "{field} is gone"
    ENTRY_CHANGED = "entry_changed", "{field} {place} is changed: {detail}", "{field} is changed"
    ANNOTATION_GONE = (
        "annotation_gone",
        "quantization annotation of {place} is gone",
        "quantization annotation is gone or changed",
    )
    ANNOTATION_CHANGED = (
        "annotation_changed",
        "quantization annotation of {place} is changed: {detail}",
        "quantization annotation is gone or changed",
    )
    TRAINING_GONE = "training_gone", "{place} is gone", "training_info is gone or changed"
    TRAINING_CHANGED = "training_changed", "{place} is changed: {detail}", "training_info is gone or changed"
    DEVICE_GONE = "device_gone", "{field} {place} is gone", "the device configuration is gone or changed"
    DEVICE_CHANGED = (
        "device_changed",
        "{field} {place} is changed: {detail}",
        "the device configuration is gone or changed",
    )
    SUBGRAPH_TYPE = (
        "subgraph_type",
        "type of {place} changed from {expected} to {actual}",
        "the type of an input or output of a subgraph changed",
    )
    DENOTATION = (
        "denotation",
        "denotation of {field} {place} is changed: {detail}",
        "the denotation of an input or output is changed",
    )
    # the nodes of the rewritten model
    OPERATOR_GONE = (
        "operator_gone",
        "{field}, which makes {place}, is gone, though {detail}",
        "an operator is gone, though {detail}",
    )
    OPERATOR_LEFT = (
        "operator_left",
        "{field}, which makes {place}, is still there, though the pass removes it",
        "an operator is still there, though the pass removes it",
    )
    NODE_INPUTS = (
        "node_inputs",
        "{field}, which makes {place}, takes {actual} instead of {expected}",
        "a node takes other inputs",
    )
    OTHER_OPERATOR = (
        "other_operator",
        "{place} is made by {actual} instead of {expected}",
        "a value is made by another operator",
    )
    NODE_ADDED = "node_added", "there is a new {field}, which makes {place}", "there is a new node"
    COMPUTATION = (
        "computation",
        "the graph computes something else: attributes or outputs of the graph differ",
        "the graph computes something else",
    )


class WrongKind(StrEnum):
    """The kinds of wrong elements of outputs, coarse enough to be the same on every processor.

    `NEAR` is an error of few bounds, or of 1 for an integer. `ROUGH` is one of up to an eighth of the value. `ZERO` and
    `SIGN` mean that all more distant elements of an output are zero, or have the wrong sign alone.
    """

    NAN = "nan"
    INFINITY = "infinity"
    NUMBER = "number"
    ZERO = "zero"
    SIGN = "sign"
    FAR = "far"
    ROUGH = "rough"
    NEAR = "near"
    VALUE = "value"
    EVERY = "every"
    OTHER = "other"


class Violation(StoredRecord):
    """A fault of an output or of a rewritten model, as data. Reports show its sentence.

    `field` is what is wrong, such as `doc_string`, and `place` where it is wrong. `place_kind` is the place without
    names, such as `a node`. `in_subgraph` is true if the place is in a subgraph. `expected` and `actual` are values,
    `count` and `of` numbers of elements or outputs, and `detail` is the rest of the sentence.
    """

    kind: ViolationKind
    field: NonEmpty = ""
    place: str = ""
    place_kind: NonEmpty = ""
    expected: str = ""
    actual: str = ""
    count: Count | None = None
    of: Count | None = None
    data_set: Count | None = None
    detail: str = ""
    in_subgraph: bool = False

    def __str__(self) -> str:
        """Return the sentence, without the name of the output or check that is violated."""
        return self.kind.sentence.format(**structs.asdict(self))

    @property
    def cause(self) -> str:
        """The sentence without the names of values and keys, and without numbers.

        A violation inside a subgraph is marked, because an optimizer handles captured values separately.
        """
        text = self.kind.cause.format(**structs.asdict(self)) if self.kind.cause else str(self)
        return normalize_message(text) + (" (in a subgraph)" if self.in_subgraph else "")


# The patterns are text, which `re` compiles when it is used, because most runs have no failure.

MAX_SIGNATURE_LENGTH = 200
"""Characters of a signature."""

MAX_LINE_LENGTH = 10_000
"""Characters of a message from which a signature is computed; the middle of a longer message is ignored."""

_TYPE_LIST = r"(?:\b[a-z]{1,20}\([a-z0-9()]{1,60}\), ?){3,}[a-z]{1,20}\([a-z0-9()]{1,60}\)"
"""A list of types such as `tensor(float),seq(tensor(int64))`, which some runtimes print in a random order."""

_TENSOR_NUMBER = r"\b([A-Za-z_]+)\d+(?=_new\b)"
_NUMBER = r"(?<![\w.])[-+]?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)*(?:[eE][-+]?\d+)?)(?!\w)"

_COUNTERS = r"(?<=[A-Za-z])(?:_\d+){2,}(?!\w)"
"""Two or more counters at the end of a name such as `subgraph_3_0`."""


def strip_tensor_number(name: str) -> str:
    """Return an output's name without the number of the tensor: X_new for X1_new and for X2_new."""
    return re.sub(_TENSOR_NUMBER, r"\1", name)


def normalize_message(message: str) -> str:
    """Return the first line of a message without the details that vary between failures of one kind.

    A first line that ends with a colon is followed by the last line, which states the cause. A long line is shortened
    in its middle, because its end often states the cause.
    """
    lines = message.strip().splitlines()
    shown = [lines[0], lines[-1]] if len(lines) > 1 and lines[0].rstrip().endswith(":") else lines[:1]
    text = shorten_middle(" ".join(shown), MAX_LINE_LENGTH)
    text = re.sub(_COUNTERS, "_N", text)
    text = re.sub(_TYPE_LIST, "TYPES", text)
    return shorten_middle(re.sub(_NUMBER, "N", strip_tensor_number(text)), MAX_SIGNATURE_LENGTH)
