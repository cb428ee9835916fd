"""External data of a model: which files are read, and which are refused with status 2."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from refusals import assert_raises

from conformance.exact.models.arrays import array_of
from conformance.exact.models.external_data import map_external_tensor
from conformance.exact.models.graphs import has_external_data
from conformance.own.graphs.reading import LoadedModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)
RIGHT = {"location": "w.bin", "offset": "0", "length": "24"}


def external(entries: dict[str, str], dims: tuple[int, ...] = (2, 3), type: int = TensorProto.FLOAT) -> TensorProto:
    tensor = TensorProto(name="W", data_type=type, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def model_of(tensor: TensorProto, place: str) -> onnx.ModelProto:
    """Return a model that has a tensor in a place: an initializer or an attribute, also of a subgraph or a function."""
    value = helper.make_tensor_value_info("Y", tensor.data_type, tensor.dims)
    constant = helper.make_node("Constant", [], ["Y"], value=tensor)
    functions = []
    nodes, initializers = [constant], []
    if place == "initializer":
        nodes, initializers = [helper.make_node("Identity", ["W"], ["Y"])], [tensor]
    elif place == "subgraph":
        inner = onnx.GraphProto(name="s", node=[helper.make_node("Identity", ["W"], ["y"])], initializer=[tensor])
        inner.output.add().CopyFrom(value)
        inner.output[0].name = "y"
        flag = helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("", TensorProto.BOOL, [], [True]))
        nodes = [flag, helper.make_node("If", ["yes"], ["Y"], then_branch=inner, else_branch=inner)]
    elif place == "function":
        functions = [helper.make_function("acme", "F", [], ["Y"], [constant], [helper.make_opsetid("", 17)])]
        nodes = [helper.make_node("F", [], ["Y"], domain="acme")]
    graph = helper.make_graph(nodes, "g", [], [value], initializers)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, functions=functions)


PLACES = ["initializer", "attribute", "subgraph", "function"]


def link(target: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "w.bin").symlink_to(folder / target)


def linked_folder(folder: Path) -> None:
    (folder / "sub").symlink_to(folder.parent)
    (folder.parent / "w.bin").write_bytes(VALUES.tobytes())


def second_name(folder: Path) -> None:
    (folder.parent / "secret").write_bytes(VALUES.tobytes())
    os.link(folder.parent / "secret", folder / "w.bin")


def plain(size: int = 24) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "w.bin").write_bytes(VALUES.tobytes()[: min(size, 24)])
        os.truncate(folder / "w.bin", size)

    return write


REFUSED: dict[str, tuple[dict[str, Any], Callable[[Path], None]]] = {
    "length of 6 GiB": ({"length": str(6 * 2**30)}, plain(6 * 2**30)),
    "length too small": ({"length": "23"}, plain()),
    "length 0": ({"length": "0"}, plain()),
    "negative length": ({"length": "-24"}, plain()),
    "length without digits": ({"length": "24x"}, plain()),
    "offset beyond the end": ({"offset": "1"}, plain()),
    "negative offset": ({"offset": "-1"}, plain(48)),
    "offset of 40 digits": ({"offset": "9" * 40}, plain()),
    "file too short": ({}, plain(23)),
    "no location": ({"location": ""}, plain()),
    "folder": ({"location": "."}, plain()),
    "absolute path": ({"location": "/etc/hostname"}, plain()),
    "parent folder": ({"location": "../secret"}, second_name),
    "path that leaves and returns": ({"location": "sub/../w.bin"}, plain()),
    "zero character": ({"location": "w.bin\0"}, plain()),
    "missing file": ({}, lambda _: None),
    "symbolic link outside": ({}, link("../secret")),
    "symbolic link inside": ({}, link("model.onnx")),
    "symbolic link to a device": ({}, link("/dev/zero")),
    "linked folder": ({"location": "sub/w.bin"}, linked_folder),
    "hard link": ({}, second_name),
    "pipe": ({}, lambda folder: os.mkfifo(folder / "w.bin")),
    "directory": ({}, lambda folder: (folder / "w.bin").mkdir()),
}
"""For each kind the entries that differ from those of the right file, and a function that writes the file."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def read(model: onnx.ModelProto, folder: Path) -> LoadedModel:
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return LoadedModel.read(folder / "model.onnx")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", REFUSED)
def test_read_of_hostile_external_data_is_refused(folder, place, kind):
    entries, write = REFUSED[kind]
    write(folder)
    with assert_raises("model.external-data"):
        read(model_of(external(RIGHT | entries), place), folder)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("entries", "size"),
    [
        ({}, 24),
        ({"offset": ""}, 24),
        ({"length": ""}, 20 * 2**30),
        ({"location": "./w.bin"}, 24),
        ({"location": "sub//w.bin"}, 24),
    ],
)
def test_read_of_external_data_in_folder_loads_its_elements(folder, place, entries, size):
    plain(size)(folder)
    (folder / "sub").mkdir()
    (folder / "sub" / "w.bin").write_bytes(VALUES.tobytes())
    loaded = read(model_of(external(RIGHT | entries), place), folder)
    assert not has_external_data(loaded.original)
    assert VALUES.tobytes() in loaded.prepared.SerializeToString()


def test_read_of_packed_external_data_loads_half_a_byte_per_element(folder):
    (folder / "w.bin").write_bytes(bytes([0x21, 0x03]))
    model = model_of(external({"location": "w.bin", "length": "2"}, (3,), TensorProto.INT4), "attribute")
    model.opset_import[0].version, model.ir_version = 21, 10
    loaded = read(model, folder)
    assert loaded.original.graph.node[0].attribute[0].t.raw_data == bytes([0x21, 0x03])


@pytest.mark.parametrize(
    ("element_type", "count"),
    [(TensorProto.INT4, 5), (TensorProto.UINT4, 48), (TensorProto.FLOAT4E2M1, 25), (TensorProto.UINT2, 27)],
)
def test_large_packed_external_data_stays_in_its_file_and_is_mapped(folder, monkeypatch, element_type, count):
    content = bytes(range(1, 25))[: -(-count // (4 if element_type == TensorProto.UINT2 else 2))]
    (folder / "w.bin").write_bytes(content)
    monkeypatch.setattr("conformance.own.graphs.reading.MAX_LOADED_BYTES", 1)
    monkeypatch.setattr("conformance.own.graphs.reading.MIN_MAPPED_BYTES", 1)
    monkeypatch.setattr("conformance.exact.models.external_data._PART_BYTES", 3)
    tensor = external({"location": "w.bin", "length": str(len(content))}, (count,), element_type)
    model = model_of(tensor, "initializer")
    model.opset_import[0].version, model.ir_version = 25, 13
    loaded = read(model, folder)
    assert has_external_data(loaded.original)
    mapped = map_external_tensor(loaded.original.graph.initializer[0], folder)
    own = array_of(TensorProto(data_type=element_type, dims=(count,), raw_data=content))
    assert (mapped.dtype, mapped.tobytes()) == (own.dtype, own.tobytes())


@pytest.mark.parametrize("dims", [(1,) * 65, (0, 2**62, 2**62), (2**62, 2**62), (-1,)])
@pytest.mark.parametrize("place", PLACES)
def test_read_of_tensor_with_impossible_shape_is_refused(folder, place, dims):
    plain()(folder)
    with assert_raises("model.impossible-shape"):
        read(model_of(external(RIGHT, dims), place), folder)


@pytest.mark.parametrize("place", PLACES)
def test_read_of_tensor_of_no_element_type_is_refused(folder, place):
    plain()(folder)
    tensor = external(RIGHT, (2, 2))
    tensor.data_type = 77
    with assert_raises("model.invalid", "77"):
        read(model_of(tensor, place), folder)


def test_read_of_model_with_too_many_imports_is_refused(folder):
    plain()(folder)
    model = model_of(external(RIGHT), PLACES[0])
    for number in range(1000):
        model.opset_import.add(domain=f"d{number}", version=1)
    with assert_raises("model.too-large"):
        read(model, folder)


def test_read_of_large_tensor_in_function_is_refused(folder):
    size = 2**30 + 4
    plain(size)(folder)
    tensor = external({"location": "w.bin", "length": str(size)}, (size // 4,))
    with assert_raises("model.too-large"):
        read(model_of(tensor, "function"), folder)
