"""Hostile files by kind: in place of any file, of a model, of inputs of a model, and of a corpus."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from corpora import ADAM, rehash, write_part
from large_models import doubling
from onnx import TensorProto, helper, numpy_helper

from conformance.corpus.cases.corpus import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable

FORGED_LINE = "PASSED: forged"

FORGED = f"X\n{FORGED_LINE}\x1b[2J"
"""A name that forges a line of output, and erases a terminal."""

NOT_UTF8 = os.fsdecode(b"m\xff\n\x1bodel")


def model_of(shape: tuple[int, ...], name: str = "X", initializer: TensorProto | None = None) -> onnx.ModelProto:
    """Return a model of one Add, or of one Abs if there is no initializer."""
    values = [helper.make_tensor_value_info(each, TensorProto.FLOAT, shape) for each in (name, "Y")]
    node = helper.make_node("Add", [name, "W"], ["Y"]) if initializer else helper.make_node("Abs", [name], ["Y"])
    graph = helper.make_graph([node], "g", values[:1], values[1:], [initializer] if initializer else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _external(folder: Path, **entries: str) -> onnx.ModelProto:
    with (folder / "w.bin").open("wb") as stream:
        stream.truncate(6 * 2**30)
    (folder / "link.bin").symlink_to("w.bin")
    os.mkfifo(folder / "pipe.bin")
    tensor = TensorProto(name="W", data_type=1, dims=(2, 3), data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "w.bin", **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return model_of((2, 3), initializer=tensor)


def _constant_of_shape(sizes: list[int]) -> onnx.ModelProto:
    """Return a model that computes a tensor of a shape while it runs."""
    shape = helper.make_tensor("S", TensorProto.INT64, [len(sizes)], sizes)
    output = helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("ConstantOfShape", ["S"], ["Y"])], "g", [], [output], [shape])
    graph.output[0].type.tensor_type.shape.dim.add()
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _nested(depth: int) -> onnx.ModelProto:
    """Return a model with nested If nodes."""
    flag = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    value = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Abs", ["X"], ["Y"])], "g", [], [value])
    for _ in range(depth):
        node = helper.make_node("If", ["yes"], ["Y"], then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], "g", [], [value], [] if _ < depth - 1 else [flag])
    graph.input.append(helper.make_tensor_value_info("X", TensorProto.FLOAT, [2]))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _of_node(
    op_type: str, *operands: TensorProto, output: int = TensorProto.FLOAT, **attributes: object
) -> onnx.ModelProto:
    """Return a model of one node on the input X of shape 2x3 and on initializers; its output has no shape."""
    node = helper.make_node(op_type, ["X", *(each.name for each in operands)], ["Y"], **attributes)
    model = model_of((2, 3))
    model.graph.node[0].CopyFrom(node)
    model.graph.initializer.extend(operands)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("Y", output, ["a", "b"]))
    return model


def _tensor_with(data_type: int, **fields: object) -> onnx.ModelProto:
    """Return a model with an initializer of shape 2 and wrong elements."""
    tensor = TensorProto(name="W", data_type=data_type, dims=[2], **fields)
    return _of_node("Gather", tensor)


def _parsed(nodes: str, functions: str = "") -> onnx.ModelProto:
    """Return a model of nodes and functions as text; it has the inputs X of shape 2x3 and c, and the output Y."""
    imports = '<ir_version: 10, opset_import: ["": 21, "own": 1]>'
    return onnx.parser.parse_model(f"{imports} m (float[2, 3] X, bool c) => (float[N, M] Y) {{ {nodes} }} {functions}")


@cache
def _calls_of_a_large_function() -> onnx.ModelProto:
    """Return a model of 32 MiB whose ten calls of one function come to 320 MiB."""
    calls = " ".join(f"v{number + 1} = own.F (v{number})" for number in range(8))
    function = '<domain: "own", opset_import: ["": 21]> F (x) => (y) { C = Constant () y = Abs (x) }'
    model = _parsed(f"v0 = own.F (X) {calls} Y = own.F (v8)", function)
    constant = helper.make_tensor("C", TensorProto.UINT8, [2**25], bytes(2**25), raw=True)
    model.functions[0].node[0].attribute.append(helper.make_attribute("value", constant))
    return model


@cache
def _copies_of_an_attribute() -> onnx.ModelProto:
    """Return a model of 1 MiB with a function that copies an attribute 300 times."""
    copies = " ".join(f"k{number} = Constant <value_ints: ints = @v> ()" for number in range(300))
    function = f'<domain: "own", opset_import: ["": 21]> F <v> (x) => (y) {{ {copies} y = Abs (x) }}'
    model = _parsed("Y = own.F <v = [1]> (X)", function)
    model.graph.node[0].attribute[0].ints.extend([1] * 2**20)
    return model


def _sparse(elements: int) -> onnx.ModelProto:
    """Return a model with a sparse initializer of one stored element."""
    model = _parsed("Y = Add (X, W)")
    values, indices = helper.make_tensor("W", 1, [1], [1.0]), helper.make_tensor("I", TensorProto.INT64, [1], [0])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [elements]))
    return model


def _open_sizes(names: list[str]) -> onnx.ModelProto:
    """Return a model with an input for each name of its only dimension."""
    model = model_of((2, 3))
    model.graph.input.extend(
        helper.make_tensor_value_info(f"I{number}", TensorProto.FLOAT, [name]) for number, name in enumerate(names)
    )
    return model


def _loops(depth: int, trips: str, *, outputs: bool = False) -> onnx.ModelProto:
    """Return a model of nested Loops, each of a number of trips: 10,000, or no limit.

    Args:
        depth: the number of Loops in one another.
        trips: `n` for 10,000, or empty for no limit.
        outputs: whether the outermost Loop has an output for each trip.
    """
    nodes = "o0 = Add (a0, a0)"
    for level in range(depth):
        scanned, output, last = (", float[2, 3] s", ", S", "s = Neg (a0)") if outputs else ("", "", "")
        given, made = f"bool d{level}, float[2, 3] a{level}", f"bool e{level}, float[2, 3] o{level}"
        body = f"b (int64 i{level}, {given}) => ({made}{scanned})"
        inner = "X" if level == depth - 1 else f"a{level + 1}"
        inside = f"e{level} = Identity (d{level}) {nodes} {last}"
        nodes = f"o{level + 1}{output} = Loop <body = {body} {{ {inside} }}> ({trips}, yes, {inner})"
    return _parsed(
        f"n = Constant <value_int = 10000> () yes = Constant <value = bool {{1}}> () {nodes} Y = Identity (o{depth})"
    )


def _doubled_text(times: int) -> onnx.ModelProto:
    """Return a model in which each node doubles a text."""
    nodes = " ".join(f"v{number + 1} = StringConcat (v{number}, v{number})" for number in range(times))
    text = f'<ir_version: 10, opset_import: ["": 21]> m (string[1] v0) => (string[1] v{times}) {{ {nodes} }}'
    return onnx.parser.parse_model(text)


_BRANCHES = "If (c) <then_branch: graph = @g, else_branch: graph = @g>"
"""A node of which both branches are the attribute g of a call."""


ENORMOUS: dict[str, Callable[[Path], onnx.ModelProto]] = {
    "endless Loop": lambda _: _loops(1, "", outputs=True),
    "10^12 inner trips": lambda _: _loops(3, "n"),
    "text of 2^34 letters": lambda _: _doubled_text(34),
}
"""By kind, a function that returns a model whose work is enormous, so that another runtime than the reference hangs."""

MODELS: dict[str, Callable[[Path], onnx.ModelProto]] = {
    "calls of 320 MiB": lambda _: _calls_of_a_large_function(),
    "endless equation": lambda _: _of_node("Einsum", equation="a..b"),
    "segment": lambda _: _tensor_with(
        TensorProto.INT64, raw_data=bytes(16), segment=TensorProto.Segment(begin=0, end=9)
    ),
    "too few elements": lambda _: _tensor_with(TensorProto.INT64, raw_data=bytes(8)),
    "text that is not UTF-8": lambda _: _tensor_with(TensorProto.STRING, string_data=[b"\xff", b"\x1b"]),
    "axis 2^62": lambda _: _of_node("Gather", helper.make_tensor("I", TensorProto.INT64, [2], [0, 1]), axis=2**62),
    "step 0": lambda _: _parsed(
        "a = Constant <value_int = 0> () b = Constant <value_int = 9> () R = Range (a, b, a) Y = Cast <to = 1> (R)"
    ),
    "computed rank 40": lambda _: _constant_of_shape([1] * 40),
    "2^30 calls": lambda _: doubling(30),
    "external 6 GiB": lambda folder: _external(folder, length=str(6 * 2**30)),
    "external link": lambda folder: _external(folder, location="link.bin"),
    "external pipe": lambda folder: _external(folder, location="pipe.bin"),
    "external above": lambda folder: _external(folder, location="../secret"),
    "rank 65": lambda _: model_of((1,) * 65),
    "0 x 2^62 x 2^62": lambda _: model_of((0, 2**62, 2**62)),
    "2^40 elements": lambda _: model_of((2**20, 2**20)),
    "computed rank 65": lambda _: _constant_of_shape([1] * 65),
    "computed 0 x 2^62 x 2^62": lambda _: _constant_of_shape([0, 2**62, 2**62]),
    "computed 2^40 elements": lambda _: _constant_of_shape([2**40]),
    "negative computed size": lambda _: _constant_of_shape([-1]),
    "subgraph in itself": lambda _: _parsed(
        f"Y = own.F <g = b () => (float[2, 3] o) {{ o = {_BRANCHES} }}> (X, c)",
        f'<domain: "own", opset_import: ["": 21]> F <g> (x, c) => (y) {{ y = {_BRANCHES} }}',
    ),
    "copies of an attribute": lambda _: _copies_of_an_attribute(),
    "sparse 2^30 elements": lambda _: _sparse(2**30),
    "50,000 operands": lambda _: _parsed(f"Y = Sum ({', '.join(['X'] * 50_000)})"),
    "shifted floats": lambda _: _parsed('Y = BitShift <direction = "LEFT"> (X, X)'),
    "forged name": lambda _: model_of((2, 3), FORGED),
    "1000 open sizes": lambda _: _open_sizes([f"n{number}" for number in range(1000)]),
    "sum of 2^19 sizes": lambda _: _open_sizes(["+".join(["n"] * 2**19)]),
    **ENORMOUS,
    "6 nested If": lambda _: _nested(6),
}
"""By kind, a function that returns a model whose other files are in a folder."""


def _zeros(path: Path) -> None:
    """Link a file of 300 MB, which is one for the folders of all tests, so that the kernel caches it once."""
    shared = path.parents[2] / "zeros"
    shared.touch()
    os.truncate(shared, 3 * 10**8)
    os.link(shared, path)


PLACES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path),
    "directory": Path.mkdir,
    "absent": lambda _: None,
    "empty": Path.touch,
    "300 MB of zeros": _zeros,
    "text": lambda path: path.write_text(f'{{"{FORGED}": 1}}\n'),
    "nested": lambda path: path.write_text("[" * 100_000),
    "gzip": lambda path: path.write_bytes(b"\x1f\x8b\x08" + bytes(64)),
}
"""By kind, a function that makes something at a path at which a command expects a file or a folder."""


def _npz(path: Path, content: bytes, compression: int = zipfile.ZIP_DEFLATED, name: str = "X") -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(f"{name}.npy", content)


def _npy_header(shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _folder_of(tensor: TensorProto, name: str = "input_0.pb") -> Callable[[Path], object]:
    def write(path: Path) -> None:
        path.mkdir()
        (path / name).write_bytes(tensor.SerializeToString())

    return write


def _link(name: str) -> Callable[[Path], object]:
    """Return a function that makes a folder in which the file of a tensor is a link out of the folder."""

    def write(path: Path) -> None:
        tensor = numpy_helper.from_array(np.ones((2, 3), np.float32))
        path.mkdir()
        path.with_name("outside").write_bytes(tensor.SerializeToString())
        (path / name).symlink_to("../outside")

    return write


def _external_input(name: str = "X") -> TensorProto:
    tensor = TensorProto(name=name, data_type=1, dims=(2, 3), data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="model.onnx")
    return tensor


def _many_members(path: Path) -> None:
    """Write an archive whose directory has half a million members without content."""
    member = b"PK\x01\x02" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"X"
    directory = member * 2**19
    path.write_bytes(directory + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(directory), 0, 0))


INPUTS: dict[str, Callable[[Path], object]] = {
    "npz of 6 GiB": lambda path: _npz(path, _npy_header((3 * 2**29,))),
    "npz of bzip2": lambda path: _npz(path, _npy_header((2, 3)) + bytes(24), zipfile.ZIP_BZIP2),
    "npz of many members": _many_members,
    "npz of rank 65": lambda path: _npz(path, _npy_header((1,) * 65)),
    "pb in external data": _folder_of(_external_input()),
    "pb that is a link": _link("input_0.pb"),
    "pb of rank 65": _folder_of(TensorProto(name="X", data_type=1, dims=(1,) * 65, raw_data=bytes(4))),
    "pb of 0 x 2^62 x 2^62": _folder_of(TensorProto(name="X", data_type=1, dims=(0, 2**62, 2**62))),
}


def _json_of(array: str) -> Callable[[Path], object]:
    """Return a function that writes recorded outputs in the format of polygraphy, with an array in base64."""
    document = {"lst": [["board", [{"outputs": {"Y": {"values": {"array": array}}}}]]]}
    return lambda path: path.write_text(json.dumps(document))


def _numpy_text(shape: tuple[int, ...]) -> str:
    return base64.b64encode(_npy_header(shape)).decode()


OUTPUT_VALUES: dict[str, Callable[[Path], object]] = {
    "npz of 6 GiB": lambda path: _npz(path, _npy_header((3 * 2**29,)), name="Y"),
    "npz of bzip2": lambda path: _npz(path, _npy_header((2, 3)) + bytes(24), zipfile.ZIP_BZIP2, "Y"),
    "npz of many members": _many_members,
    "npz of rank 65": lambda path: _npz(path, _npy_header((1,) * 65), name="Y"),
    "pb in external data": _folder_of(_external_input("Y"), "output_0.pb"),
    "pb that is a link": _link("output_0.pb"),
    "pb of rank 65": _folder_of(TensorProto(name="Y", data_type=1, dims=(1,) * 65, raw_data=bytes(4)), "output_0.pb"),
    "pb of 0 x 2^62 x 2^62": _folder_of(TensorProto(name="Y", data_type=1, dims=(0, 2**62, 2**62)), "output_0.pb"),
    "JSON of 6 GiB": _json_of(_numpy_text((3 * 2**29,))),
    "JSON of rank 65": _json_of(_numpy_text((1,) * 65)),
    "JSON of many lists": lambda path: path.write_bytes(MANY_LISTS),
    "JSON of deep objects": lambda path: path.write_bytes(DEEP_OBJECTS),
}
"""By kind, a function that writes recorded values of the output Y of `model_of`."""


def _corpus_with(file: str, content: Callable[[], bytes]) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        write_part(path, lambda _, name: name == ADAM)
        (entry,) = json.loads((path / MANIFEST).read_bytes())["cases"].items()
        (path / entry[0] / file).write_bytes(content())
        entry[1][file] = hashlib.sha256(content()).hexdigest()
        rehash(path, dict([entry]))

    return write


def _tensor(*dims: int) -> bytes:
    return TensorProto(data_type=1, dims=dims, raw_data=np.float32(1).tobytes()).SerializeToString()


INPUT, OUTPUT = "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb"

MANY_LISTS = b"[" + b"[]," * 2**22 + b"[]]"
"""A document of 12 MiB, for which a decoder needs half a gigabyte."""

DEEP_OBJECTS = b'{"a":' * 1000


def _corpus_of_manifest(manifest: bytes) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        path.mkdir()
        (path / MANIFEST).write_bytes(manifest)

    return write


def _many_wrong_files() -> bytes:
    """Return a manifest of one case with half a million files of wrong names and hashes."""
    files = dict.fromkeys(map(str, range(2**19)), "")
    path = "node/test_a"
    document = {"format": 1, "version": "1.0.0", "digest": "", "levels": {path: "must"}, "cases": {path: files}}
    return json.dumps(document).encode()


def _archive_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return write


CORPORA: dict[str, Callable[[Path], object]] = {
    "model of rank 65": _corpus_with("model.onnx", lambda: model_of((1,) * 65).SerializeToString()),
    "model of 2^30 calls": _corpus_with("model.onnx", lambda: doubling(30).SerializeToString()),
    "no model": _corpus_with("model.onnx", lambda: b"\xff"),
    "input of rank 65": _corpus_with(INPUT, lambda: _tensor(*[1] * 65)),
    "output of rank 65": _corpus_with(OUTPUT, lambda: _tensor(*[1] * 65)),
    "output of 0 x 2^62 x 2^62": _corpus_with(OUTPUT, lambda: _tensor(0, 2**62, 2**62)),
    "input in external data": _corpus_with(INPUT, lambda: _external_input().SerializeToString()),
    "manifest of many lists": _corpus_of_manifest(MANY_LISTS),
    "archive of deep objects": _archive_of({MANIFEST: DEEP_OBJECTS}),
    "archive of many lists": _archive_of({MANIFEST: MANY_LISTS}),
    "archive of many members": _many_members,
    "case.json of many texts": _corpus_with("case.json", lambda: b'{"tags":[%b""]}' % (b'"",' * 2**20)),
    "manifest of many wrong files": _corpus_of_manifest(_many_wrong_files()),
    "archive of LZMA": _archive_of({MANIFEST: b"{}"}, zipfile.ZIP_LZMA),
}
