"""Hypothesis strategies that spoil valid files: bytes, JSON documents, lines of results, expectations and models."""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import onnx
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKS = {
    "\0deep\0": "[" * 50_000 + "]" * 50_000,
    "\0deep objects\0": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "\0open\0": "[" * 50_000,
    "\0wide\0": "[" + "[]," * 2**22 + "[]]",
    "\0wide objects\0": "[" + '{"a":0},' * 10**6 + "0]",
    "\0many keys\0": "{" + ",".join(f'"k{number}":0' for number in range(2 * 10**5)) + "}",
    "\0same keys\0": "{" + '"format":1,' * 10**5 + '"format":1}',
    "\0huge\0": "9" * 5000,
    "\0long\0": f'"{"x" * 2**24}"',
}
"""Texts that stand in a document for what Python would not write or is slow to draw, and what is written instead."""

RARE = tuple(MARKS)
"""Marks; a document with one of them is large, so that few are drawn."""

STRANGE = st.one_of(
    st.sampled_from(
        [
            *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, 1e308, 5e-324),
            *(float("inf"), float("-inf"), float("nan"), "\0deep\0", "\0huge\0"),
            *("", "\ud800", "a\udfffb", "\0", "\x1b[31mred\x1b[0m", "\r\n", "\u202e", "x" * 70_000, "../../etc/passwd"),
            *("<script>alert(1)</script>", "]]>", "${HOME}", "%s", "{}", "pass", "fail", "must", "test_adam", "1/2"),
            *([], {}, [[]], [None], {"": {}}, ["a"] * 300),
        ]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.text(alphabet=st.characters(categories=("Cs", "Cc", "Cf", "Zl")), min_size=1, max_size=5),
)


@st.composite
def corrupted_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Some bytes with up to four places changed, cut out, doubled or put in; or cut off."""
    spoilt = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(spoilt)))
        length = draw(st.integers(1, 64))
        match draw(st.sampled_from(["flip", "cut", "double", "insert", "end"])):
            case "flip" if place < len(spoilt):
                spoilt[place] = draw(st.integers(0, 255))
            case "cut":
                del spoilt[place : place + length]
            case "double":
                spoilt[place:place] = spoilt[place : place + length]
            case "insert":
                spoilt[place:place] = draw(st.binary(min_size=1, max_size=16))
            case "end":
                del spoilt[place:]
    return bytes(spoilt)


@st.composite
def corrupted_document(draw: st.DrawFn, document: Any) -> bytes:
    """A JSON document with up to three values replaced, removed, doubled or wrapped, as text."""
    spoilt = [copy.deepcopy(document)]
    for _ in range(draw(st.integers(1, 3))):
        _spoil(draw, spoilt)
    text = json.dumps(spoilt[0], ensure_ascii=draw(st.booleans()))
    for mark, instead in MARKS.items():
        text = text.replace(json.dumps(mark), instead)
    return text.encode("utf-8", "surrogatepass")


def _spoil(draw: st.DrawFn, holder: list[Any]) -> None:
    """Change one value somewhere within what the only element of a list holds."""
    container: Any = holder
    key: Any = 0
    while isinstance(container[key], dict | list) and container[key] and draw(st.integers(0, 9)):
        container = container[key]
        key = draw(st.sampled_from(sorted(container))) if isinstance(container, dict) else _index(draw, container)
    match draw(st.sampled_from(["replace", "replace", "replace", "remove", "double", "wrap", "rename", "point"])):
        case "point" if type(container[key]) is int and abs(container[key]) < 2**53:
            container[key] = float(container[key])  # 1.0 is an integer of JSON Schema
        case "remove" if container is not holder:
            del container[key]
        case "double" if isinstance(container, list) and container is not holder:
            container.insert(key, copy.deepcopy(container[key]))
        case "wrap":
            container[key] = draw(st.sampled_from([[container[key]], {"a": container[key]}]))
        case "rename" if isinstance(container, dict):
            container[draw(st.text(max_size=5))] = container.pop(key)
        case _:
            is_large = draw(st.integers(0, 19)) == 0
            value = draw(st.sampled_from(RARE) if is_large else STRANGE)
            container[key] = copy.deepcopy(value)  # what is spoilt next must not be the strategy's own list


def _index(draw: st.DrawFn, container: Sequence[Any]) -> int:
    return draw(st.integers(0, len(container) - 1))


@st.composite
def corrupted_lines(draw: st.DrawFn, content: bytes) -> bytes:
    """Results with one line spoilt, or lines taken out, doubled or exchanged, or bytes spoilt."""
    lines = content.splitlines(keepends=True)
    last = len(lines) - 1
    place = draw(st.one_of(st.sampled_from([0, min(1, last), min(2, last), last]), st.integers(0, last)))
    match draw(st.sampled_from(["document", "document", "document", "remove", "double", "exchange", "bytes"])):
        case "document":
            lines[place] = draw(corrupted_document(json.loads(lines[place]))) + b"\n"
        case "remove":
            del lines[place]
        case "double":
            lines.insert(place, lines[place])
        case "exchange":
            other = draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            return draw(corrupted_bytes(content))
    return b"".join(lines)


TOML_VALUES = (
    "9" * 5000,
    "inf",
    "nan",
    "-1",
    '"\\ud800"',
    "'''",
    "[[[[[]]]]]",
    "1979-05-27",
    "{a=1}",
    '"\\u0000"',
    '"*"',
    "[" * 5000,
    "{a=" * 5000 + "1" + "}" * 5000,
    "[" + "1," * 2**20 + "1]",
    "[" + "[]," * 2**18 + "]",
    f'"{"x" * 2**22}"',
    "0x" + "f" * 10**5,
    "1_" * 10**4 + "1",
    "1e" + "9" * 10**4,
    "9999-12-31T23:59:60Z",
    "1\n" + ".".join("a" * 2000) + " = 1",
    "1\n[" + ".".join("a" * 2000) + "]",
    "1\n" + "".join(f"[t{number}]\n" for number in range(10**5)),
)


@st.composite
def corrupted_toml(draw: st.DrawFn, content: bytes) -> bytes:
    """Expectations with a value replaced by a strange one, or with bytes spoilt."""
    if draw(st.booleans()):
        return draw(corrupted_bytes(content))
    lines = content.decode().splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    name, _, _ = lines[place].partition("=")
    value = draw(st.one_of(st.sampled_from(TOML_VALUES), st.text(max_size=8).map(json.dumps)))
    lines[place] = f"{name} = {value}"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@st.composite
def corrupted_model(draw: st.DrawFn, content: bytes) -> bytes:
    """A model that is none any more: in its bytes, or in what its nodes, types and functions say."""
    if not draw(st.integers(0, 3)):
        return draw(corrupted_bytes(content))
    model = onnx.ModelProto.FromString(content)
    for _ in range(draw(st.integers(1, 3))):
        draw(st.sampled_from(_MODEL_SPOILERS))(draw, model)
    return model.SerializeToString()


def _some_node(draw: st.DrawFn, model: onnx.ModelProto) -> onnx.NodeProto:
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    return draw(st.sampled_from(nodes)) if nodes else model.graph.node.add()


def _ends(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    node = _some_node(draw, model)
    node.ClearField(draw(st.sampled_from(["input", "output", "name", "op_type", "domain", "attribute"])))


def _names(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    node = _some_node(draw, model)
    ends = draw(st.sampled_from([node.input, node.output]))
    known = [*node.input, *node.output, "", "a", "x" * 5000]
    ends.extend(draw(st.lists(st.sampled_from(known), max_size=3)))


def _operator(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    node = _some_node(draw, model)
    node.op_type = draw(st.sampled_from(["ArgMax", "Adam", "Softmax", "If", "Loop", "Constant", "Nothing", ""]))
    node.domain = draw(st.sampled_from(["", "ai.onnx", "ai.onnx.preview.training", "mine"]))


def _attribute(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    node = _some_node(draw, model)
    attribute = node.attribute[0] if node.attribute and draw(st.booleans()) else node.attribute.add()
    attribute.name = draw(st.sampled_from([attribute.name or "axis", "axis", "keepdims", "T", "then_branch", "value"]))
    attribute.type = draw(st.integers(0, 14))
    attribute.i = draw(st.integers(-(2**63), 2**63 - 1))
    attribute.f = draw(st.floats(width=32))


def _types(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    values = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    if values:
        tensor = draw(st.sampled_from(values)).type.tensor_type
        tensor.elem_type = draw(st.integers(-1, 40))
        tensor.shape.dim.add().dim_value = draw(st.integers(-(2**63), 2**63 - 1))


def _initializer(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer.add()
    tensor.name = draw(st.sampled_from([value.name for value in model.graph.input] or ["a"]))
    tensor.data_type = draw(st.integers(-1, 40))
    tensor.dims.extend(draw(st.lists(st.integers(-1, 2**40), max_size=3)))
    tensor.raw_data = draw(st.binary(max_size=16))


def _function(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    """A function that calls itself or the next, which calls it."""
    number = draw(st.integers(1, 3))
    for index in range(number):
        function = model.functions.add(domain="mine", name=f"f{index}")
        function.input.append("x")
        function.output.append("y")
        function.node.add(domain="mine", op_type=f"f{(index + 1) % number}", input=["x"], output=["y"])
    node = _some_node(draw, model)
    node.domain, node.op_type = "mine", "f0"


def _opsets(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    if draw(st.booleans()):
        model.ClearField("opset_import")
    model.opset_import.add(domain=draw(st.sampled_from(["", "mine"])), version=draw(st.integers(-1, 2**40)))


def _shared_names(draw: st.DrawFn, model: onnx.ModelProto) -> None:
    """A node once more: two definitions of one value, or a cycle."""
    node = model.graph.node.add()
    node.CopyFrom(_some_node(draw, model))
    if draw(st.booleans()) and node.output:
        node.input.append(node.output[0])


_MODEL_SPOILERS = (_ends, _names, _operator, _attribute, _types, _initializer, _function, _opsets, _shared_names)


@st.composite
def corrupted_zip(draw: st.DrawFn, members: Mapping[str, bytes]) -> bytes:
    """A zip archive with a member corrupted, doubled, renamed or packed in another way, or with bytes spoilt."""
    method = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, *_OTHER_METHODS]))
    chosen = draw(st.sampled_from(sorted(members)))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method, compresslevel=1) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members.items():
            match draw(st.sampled_from(["corrupt", "rename", "double", "zeros"])) if name == chosen else "keep":
                case "corrupt":
                    archive.writestr(name, draw(corrupted_bytes(content)))
                case "rename":
                    archive.writestr(draw(st.sampled_from(["../x", "/x", " ", "a\\b", "x" * 60_000, "é"])), content)
                case "double":
                    archive.writestr(name, content)
                    archive.writestr(name, draw(corrupted_bytes(content)))
                case "zeros":
                    archive.writestr(name, bytes(2**25))
                case _:
                    archive.writestr(name, content)
    whole = stream.getvalue()
    return draw(st.one_of(st.just(whole), corrupted_bytes(whole), _spoilt_end(whole)))


_OTHER_METHODS = (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@st.composite
def _spoilt_end(draw: st.DrawFn, content: bytes) -> bytes:
    """A zip archive with a byte changed in the last 200, where its directory and the sizes of its parts are."""
    spoilt = bytearray(content)
    spoilt[-draw(st.integers(1, min(200, len(spoilt))))] = draw(st.integers(0, 255))
    return bytes(spoilt)


@st.composite
def npy_file(draw: st.DrawFn) -> bytes:
    """An array in the format of NumPy, with any header and elements that may not fit it."""
    sizes = st.sampled_from([0, 1, 2, 3, 2**20, 2**31, 2**62, -1])
    shape = tuple(draw(st.one_of(st.just([2, 3]), st.lists(sizes, max_size=66))))
    kinds = ["<f4", "<f4", ">f4", "<f8", "|O", "<U9", "|S5", "<U99999999", "|V4", "<M8[s]", "(2,)<f4", "", "\0", "é"]
    header = {"descr": draw(st.sampled_from(kinds)), "fortran_order": draw(st.booleans()), "shape": shape}
    text = draw(st.sampled_from([repr(header), repr({**header, "more": 1}), "{" * 9000, "9" * 5000, repr(shape)]))
    encoded = text.encode("latin-1") + b"\n"
    major = draw(st.integers(0, 4))
    length = len(encoded).to_bytes(2 if major == 1 else 4, "little")
    whole = b"\x93NUMPY" + bytes([major, 0]) + length + encoded + draw(st.binary(max_size=48))
    return draw(st.one_of(st.just(whole), corrupted_bytes(whole)))
