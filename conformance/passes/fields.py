"""Every field of a model that protobuf has: what a rewrite owes it, and which case of the pass sets it.

What is owed is told by the check of graph
optimizers by which a rewrite fails that clears the field, and nothing else. What is not owed has a reason instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import onnx

from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Owed = str | Mapping["Place", str]


class Place(StrEnum):
    """Where in a model a message stands."""

    MODEL = "model"
    """Outside of graphs: what the model itself says, its functions as wholes, its training information."""
    MAIN = "main"
    """In the main graph."""
    SUBGRAPH = "subgraph"
    """In a graph that a node holds, at any depth."""
    FUNCTION = "function"
    """In a function's body."""
    TRAINING = "training"
    """In a graph of training information."""


@dataclass(frozen=True)
class Field:
    """A field of a message.

    Attributes:
        message: the message's name: "NodeProto".
        checks: by place, the check that a rewrite fails by that clears it there; empty where nothing is owed.
        reason: why nothing is owed.
    """

    message: str
    name: str
    checks: Mapping[Place, str] = field(default_factory=dict)
    reason: str = ""

    def case(self, place: Place) -> str:
        """The id of the case that sets it in a place."""
        group = GROUPS.get(self.message, self.message)
        return f"test_argmax_pass_fields_{snake(group)}{'' if place is Place.MODEL else f'_{place}'}"


LEVELS: Mapping[str, Level] = {
    "answers": Level.MUST,
    "checker": Level.MUST,
    "interface": Level.MUST,
    "structure": Level.MUST,
    "preservation": Level.SHOULD,
}
"""How strongly the specification stands behind the checks that fields are owed by."""

GROUPS: Mapping[str, str] = {
    "OperatorSetIdProto": "ModelProto",
    "TrainingInfoProto": "ModelProto",
    "SparseTensorProto": "GraphProto",
    "TensorAnnotation": "GraphProto",
}
"""Messages that the case of another one sets."""

OLDEST, NEWEST = (1, 18), (1, 23)
"""The versions of onnx whose messages the rows are of: all have the same fields."""

EVERYWHERE = (Place.MAIN, Place.SUBGRAPH, Place.FUNCTION)
_TEXT = {"doc_string": "preservation", "metadata_props": "preservation"}
_OF_CALLS = {Place.MAIN: "structure", Place.SUBGRAPH: "structure", Place.FUNCTION: "preservation"}
"""A call of a function has attributes of these kinds, and no answer rests on them: few operators have any."""


def snake(name: str) -> str:
    """`value_info` of `ValueInfoProto`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Proto")).lower()


def _rows(
    message: str, places: tuple[Place, ...], owed: Mapping[str, Owed], nothing: Mapping[str, str] | None = None
) -> Iterator[Field]:
    for name, check in owed.items():
        yield Field(message, name, dict.fromkeys(places, check) if isinstance(check, str) else check)
    for name, reason in (nothing or {}).items():
        yield Field(message, name, reason=reason)


_OUTSIDE = "the data are in another file, and a graph optimizer is handed a model without a folder to look for it in"

FIELDS: tuple[Field, ...] = (
    *_rows(
        "ModelProto",
        (Place.MODEL,),
        {
            "ir_version": "checker",
            "opset_import": "interface",
            "producer_name": "preservation",
            "producer_version": "preservation",
            "domain": "preservation",
            "model_version": "preservation",
            "graph": "interface",
            "training_info": "preservation",
            "functions": "checker",
            "configuration": "preservation",
            **_TEXT,
        },
    ),
    *_rows("OperatorSetIdProto", (Place.MODEL,), {"domain": "interface", "version": "interface"}),
    *_rows(
        "TrainingInfoProto",
        (Place.MODEL,),
        dict.fromkeys(("initialization", "algorithm", "initialization_binding", "update_binding"), "preservation"),
    ),
    *_rows(
        "FunctionProto",
        (Place.MODEL,),
        {
            "name": "checker",
            "domain": "checker",
            "overload": "checker",
            "input": "checker",
            "output": "checker",
            "attribute": "preservation",
            "attribute_proto": "answers",
            "node": "checker",
            "opset_import": "checker",
            "value_info": "preservation",
            **_TEXT,
        },
    ),
    *_rows(
        "GraphProto",
        (Place.MAIN, Place.SUBGRAPH),
        {
            "node": "checker",
            "name": "checker",
            "initializer": "checker",
            "sparse_initializer": "preservation",
            "input": {Place.MAIN: "interface", Place.SUBGRAPH: "checker"},
            "output": {Place.MAIN: "interface", Place.SUBGRAPH: "structure"},
            "value_info": "preservation",
            "quantization_annotation": "preservation",
            **_TEXT,
        },
    ),
    *_rows(
        "TensorAnnotation",
        (Place.MAIN, Place.SUBGRAPH),
        {"tensor_name": "preservation", "quant_parameter_tensor_names": "preservation"},
    ),
    *_rows(
        "SparseTensorProto",
        (Place.MAIN, Place.SUBGRAPH),
        {"values": "checker", "indices": "checker", "dims": "checker"},
    ),
    *_rows(
        "NodeProto",
        EVERYWHERE,
        {
            "input": "checker",
            "output": "checker",
            "name": "preservation",
            "op_type": "checker",
            "domain": "checker",
            "overload": "answers",
            "attribute": "checker",
            "device_configurations": "preservation",
            **_TEXT,
        },
    ),
    *_rows(
        "ValueInfoProto",
        EVERYWHERE,
        {
            "name": {Place.MAIN: "interface", Place.SUBGRAPH: "checker", Place.FUNCTION: "preservation"},
            "type": {Place.MAIN: "interface", Place.SUBGRAPH: "preservation", Place.FUNCTION: "preservation"},
            **_TEXT,
        },
    ),
    *_rows(
        "TensorProto",
        EVERYWHERE,
        {
            "dims": "checker",
            "data_type": "checker",
            **dict.fromkeys(("float_data", "int32_data", "string_data", "int64_data", "raw_data"), "checker"),
            **dict.fromkeys(("double_data", "uint64_data"), "checker"),
            "name": {Place.MAIN: "checker", Place.SUBGRAPH: "checker", Place.FUNCTION: "preservation"},
            **_TEXT,
        },
        {
            "segment": "onnx's checker and its tools read no tensor that is cut into segments",
            "external_data": _OUTSIDE,
            "data_location": f"to say DEFAULT is to say nothing, and with EXTERNAL {_OUTSIDE}",
        },
    ),
    *_rows(
        "AttributeProto",
        EVERYWHERE,
        {
            "name": "checker",
            "ref_attr_name": {Place.FUNCTION: "answers"},
            "doc_string": "preservation",
            "type": "checker",
            **dict.fromkeys(("i", "t", "g", "sparse_tensor", "tp"), "checker"),
            **dict.fromkeys(("f", "floats", "ints"), "answers"),
            **dict.fromkeys(("s", "strings", "tensors", "graphs", "sparse_tensors", "type_protos"), _OF_CALLS),
        },
    ),
)
"""All of them, a message after the other."""


def placed(model: onnx.ModelProto) -> Iterator[tuple[Place, Any]]:
    """Every message in a model, and where it stands."""
    yield from _placed(model, Place.MODEL)


def _placed(message: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    yield place, message
    inside = _INSIDE.get(type(message).__name__, place)
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in content if hasattr(content, "extend") else [content]:
                yield from _placed(entry, _entered(inside, entry))


def _entered(place: Place, message: Any) -> Place:
    """Where a message stands that another one in a place holds."""
    if not isinstance(message, onnx.GraphProto):
        return place
    return {Place.MODEL: Place.MAIN, Place.MAIN: Place.SUBGRAPH}.get(place, place)


_INSIDE = {"FunctionProto": Place.FUNCTION, "TrainingInfoProto": Place.TRAINING}
"""Messages whose contents stand elsewhere than they."""
