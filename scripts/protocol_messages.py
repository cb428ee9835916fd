"""Messages of the harness protocol, version 1, as types; `make_schemas.py` generates `protocol.schema.json` from them.

`MESSAGES` names every message. The suite sends a command; the harness answers with one of the answers to that command.
`isolation/protocol.py` encodes and decodes the messages, and checks answers against the schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from conformance.base.serialization.decoding import NonEmpty  # noqa: TC001 - msgspec evaluates the annotations

Seq = Annotated[int, Meta(ge=0, description="Number of a command; its answer repeats it.")]
ShortText = Annotated[str, Meta(min_length=1, max_length=200)]
Shape = Annotated[list[Annotated[int, Meta(ge=0, le=2**40)]], Meta(max_length=32)]
ElementType = Annotated[
    Literal[
        *("float", "double", "float16", "bfloat16"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
        *("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1"),
        *("int4", "uint4", "int2", "uint2", "float6e2m3", "float6e3m2", "string"),
    ],
    Meta(description="Name in TensorProto.DataType, in lower case. Types below a byte take one byte per element."),
]
Placement = Annotated[
    dict[
        ShortText,
        Annotated[dict[ShortText, Annotated[int, Meta(ge=1, le=2**63 - 1)]], Meta(max_length=1000)],
    ],
    Meta(
        max_length=100,
        description="Number of nodes of the optimized graph by execution provider or device, then by operator. "
        "Operators inside a compiled part count as well.",
    ),
]
Slot = Annotated[
    Literal[1],
    Meta(description="Number of the loaded model: sent only for the second model of a backend whose `models` is 2."),
]
Success = Annotated[bool, Meta(extra_json_schema={"const": True})]
Offset = Annotated[
    int, Meta(ge=0, le=2**40, description="Only in a file that several tensors share: the byte at which it begins.")
]
RuntimeSeconds = Annotated[float, Meta(ge=0, le=10**6)]


Texts = Annotated[
    list[str],
    Meta(description="Only for the type string: the elements, as Unicode text, in row-major order."),
]


def union_of(*names: str) -> dict[str, Any]:
    """Return the schema of one of several messages; msgspec cannot express this union of types."""
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}


Element = Annotated[Any, Meta(extra_json_schema=union_of("element", "map", "empty"))]
"""A value in a sequence."""


class Message(Struct, forbid_unknown_fields=True):
    """A message, or a part of one."""


class InputMessage(Message, kw_only=True):
    """An input tensor: its elements little-endian, in row-major order, either in base64 or in a file, or as texts."""

    name: str
    dtype: ElementType
    shape: Shape
    data: str | UnsetType = UNSET
    file: NonEmpty | UnsetType = UNSET
    offset: Offset | UnsetType = UNSET
    texts: Texts | UnsetType = UNSET


class OutputMessage(Message, kw_only=True):
    """An output tensor: its elements little-endian, in row-major order, either in base64 or in a file, or as texts."""

    name: str | UnsetType = UNSET
    dtype: ElementType
    shape: Shape
    data: str | UnsetType = UNSET
    file: NonEmpty | UnsetType = UNSET
    offset: Offset | UnsetType = UNSET
    texts: Texts | UnsetType = UNSET


class ElementMessage(Message, kw_only=True):
    """A tensor in a sequence or a map: its elements in base64 or as texts, and never in a file."""

    name: str | UnsetType = UNSET
    dtype: ElementType
    shape: Shape
    data: str | UnsetType = UNSET
    texts: Texts | UnsetType = UNSET


class MapParts(Message, kw_only=True):
    """The keys and the values of a map: two tensors of rank 1 with one element for each entry."""

    keys: ElementMessage
    values: ElementMessage


class MapMessage(Message, kw_only=True):
    """A map from texts or integers to texts or numbers, as an input or output, or in a sequence."""

    name: str | UnsetType = UNSET
    map: MapParts


class EmptyMessage(Message, kw_only=True):
    """An empty optional; an optional with a value is sent as its value."""

    name: str | UnsetType = UNSET
    empty: Success


class SequenceMessage(Message, kw_only=True):
    """A sequence of tensors, maps or optionals, as an input or output."""

    name: str | UnsetType = UNSET
    sequence: list[Element]


class NoTensorMessage(Message, kw_only=True):
    """An output that is not a tensor: the name of its type."""

    name: str | UnsetType = UNSET
    invalid_return: ShortText
    digest: (
        Annotated[ShortText, Meta(description="Hash of a value without a message: equal for equal values.")] | UnsetType
    ) = UNSET


Output = Annotated[Any, Meta(extra_json_schema=union_of("tensor", "sequence", "map", "empty", "no_tensor"))]
"""A value, or the type of what is not a value of an ONNX type."""

Input = Annotated[Any, Meta(extra_json_schema=union_of("input", "sequence", "map", "empty"))]
"""A value."""


class StartCommand(Message, kw_only=True):
    """The first command; the harness answers `started`."""

    cmd: Literal["start"]
    seq: Seq
    version: Literal[1]


class RunCommand(Message, kw_only=True):
    """Run the loaded model on inputs in the order of the graph's inputs; the harness answers `ran`."""

    cmd: Literal["run"]
    seq: Seq
    inputs: list[Input]
    slot: Slot | UnsetType = UNSET
    files: (
        Annotated[
            NonEmpty,
            Meta(
                description="Only if `started.files` is true: path prefix of the files for large outputs. "
                "Output i goes to the file with this path followed by i."
            ),
        ]
        | UnsetType
    ) = UNSET
    packed: (
        Annotated[
            NonEmpty,
            Meta(description="Only if `started.packed` is true: path of the file that several outputs can share."),
        ]
        | UnsetType
    ) = UNSET


class LoadCommand(Message, kw_only=True):
    """Prepare a model and drop all loaded models; with `slot` 1 drop the second model only. The answer is `loaded`."""

    cmd: Literal["load"]
    seq: Seq
    model: NonEmpty
    data: (
        Annotated[
            NonEmpty,
            Meta(
                description="Absolute path of the folder of the model's external data, sent only for such a model. "
                "The locations in the model are relative to this folder, and not to the folder of the model file."
            ),
        ]
        | UnsetType
    ) = UNSET
    slot: Slot | UnsetType = UNSET


class OptimizeCommand(Message, kw_only=True):
    """Write the optimized model to another file; the harness answers `optimized`."""

    cmd: Literal["optimize"]
    seq: Seq
    model: NonEmpty
    output: NonEmpty
    fixed_point: bool


class StopCommand(Message, kw_only=True):
    """The last command; it has no answer, the harness exits with status 0."""

    cmd: Literal["stop"]
    seq: Seq


class StartedMessage(Message, kw_only=True):
    """The subject: its name and version, the language of the harness, and whether it runs or rewrites models."""

    seq: Seq
    version: Literal[1]
    name: ShortText
    runtime_version: ShortText
    language: ShortText
    kind: Literal["backend", "optimizer"]
    passes: (
        Annotated[
            list[ShortText],
            Meta(max_length=1000, description="Graph optimizers: the passes that the optimizer implements."),
        ]
        | UnsetType
    ) = UNSET
    fixed_point: (
        Annotated[
            bool, Meta(description="Graph optimizers: whether a single run differs from running to a fixed point.")
        ]
        | UnsetType
    ) = UNSET
    os: ShortText | UnsetType = UNSET
    models: (
        Annotated[Literal[1, 2], Meta(description="Backends: number of models loaded at a time; 1 if absent.")]
        | UnsetType
    ) = UNSET
    files: (
        Annotated[bool, Meta(description="Backends: whether tensors can be passed in files, in both directions.")]
        | UnsetType
    ) = UNSET
    packed: Annotated[bool | UnsetType, Meta(description="Backends: whether several tensors can share a file.")] = UNSET
    types: (
        Annotated[
            list[Literal["string", "sequence", "map", "optional"]],
            Meta(
                description="Backends: kinds of inputs, besides tensors of numbers, that the harness takes. The suite "
                "sends no other kinds. Outputs of all kinds are allowed.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | UnsetType
    ) = UNSET
    provider: (
        Annotated[
            ShortText,
            Meta(
                description="Backends with several execution providers or devices: the one on which every node must "
                "run. If `placement` is absent or names another one, the case is unsupported."
            ),
        ]
        | UnsetType
    ) = UNSET
    python: Annotated[ShortText | UnsetType, Meta(description="Version of the Python that runs the subject.")] = UNSET
    packages: (
        Annotated[
            list[ShortText],
            Meta(max_length=10000, description="Installed packages that the subject can use, as `name==version`."),
        ]
        | UnsetType
    ) = UNSET


class LoadedMessage(Message, kw_only=True):
    """The model is ready to run."""

    seq: Seq
    loaded: Success
    placement: Placement | UnsetType = UNSET
    seconds: RuntimeSeconds | UnsetType = UNSET


class RanMessage(Message, kw_only=True):
    """The outputs in the order of the graph's outputs."""

    seq: Seq
    outputs: list[Output]
    changed: (
        Annotated[
            list[Annotated[int, Meta(ge=0)]],
            Meta(
                description="Indices of the inputs that the runtime overwrote.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | UnsetType
    ) = UNSET
    overwritten: (
        Annotated[
            list[Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2, max_length=2)]],
            Meta(
                description="Outputs of earlier runs whose values changed after they were returned: pairs of the "
                "number of the run, counted from 0 over all models, and the index of the output. Empty or absent if "
                "the harness returns copies.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | UnsetType
    ) = UNSET
    placement: Placement | UnsetType = UNSET
    seconds: RuntimeSeconds | UnsetType = UNSET


class OptimizedMessage(Message, kw_only=True):
    """The optimized model is in the file `output`."""

    seq: Seq
    optimized: Success
    changed_input: (
        Annotated[bool, Meta(description="Whether the optimizer changed the model that it was given, too.")] | UnsetType
    ) = UNSET


class InvalidReturnMessage(Message, kw_only=True):
    """The runtime returned something other than a sequence of outputs or a model: the name of its type."""

    seq: Seq
    invalid_return: ShortText


class UnsupportedMessage(Message, kw_only=True):
    """The runtime reports that it does not support an operator, type or opset."""

    seq: Seq
    unsupported: str


class ErrorMessage(Message, kw_only=True):
    """The runtime failed, with its own error text; or the command is unknown."""

    seq: Seq
    error: str
    fatal: (
        Annotated[
            bool,
            Meta(
                description="True for a panic or an attempt to end the process. Such an error does not count as "
                "rejecting an invalid model."
            ),
        ]
        | UnsetType
    ) = UNSET
    hint: (
        Annotated[str, Meta(description="What the user can do about the error; only in an answer to `start`.")]
        | UnsetType
    ) = UNSET
    code: Annotated[ShortText, Meta(description="Stable identifier of the kind of error: AREA.NAME.")] | UnsetType = (
        UNSET
    )


MESSAGES: dict[str, Any] = {
    "start": StartCommand,
    "load": LoadCommand,
    "run": RunCommand,
    "optimize": OptimizeCommand,
    "stop": StopCommand,
    "started": StartedMessage,
    "loaded": LoadedMessage,
    "ran": RanMessage,
    "optimized": OptimizedMessage,
    "invalid_return": InvalidReturnMessage,
    "unsupported": UnsupportedMessage,
    "error": ErrorMessage,
    "input": InputMessage,
    "tensor": OutputMessage,
    "element": ElementMessage,
    "sequence": SequenceMessage,
    "map": MapMessage,
    "map_parts": MapParts,
    "empty": EmptyMessage,
    "no_tensor": NoTensorMessage,
}
"""Every command by its `cmd`, every answer and every tensor by its name in the schema."""

COMMANDS = ("start", "load", "run", "optimize", "stop")

ANSWERS = {
    "start": ("started", "unsupported", "error"),
    "load": ("loaded", "unsupported", "error"),
    "run": ("ran", "invalid_return", "unsupported", "error"),
    "optimize": ("optimized", "invalid_return", "unsupported", "error"),
}
"""The answers that a harness can give to each command."""
