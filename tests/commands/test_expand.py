"""`expand` writes the expanded model and changes no other file."""

from __future__ import annotations

import onnx
import pytest
from expandable_models import broken, one_node, plain_model
from onnx import TensorProto

from conformance.own.expansion import expand


def test_expand_writes_expanded_model(command, here):
    onnx.save(one_node("Adam"), here / "model.onnx")
    ended = command("expand", "model.onnx", "--output", "new/lowered.onnx")
    assert (ended.status, ended.err) == (0, "")
    assert onnx.load(here / "new/lowered.onnx") == expand(one_node("Adam"))


def test_expand_of_model_without_optimizers_copies_bytes(command, here):
    content = plain_model().SerializeToString() + b"\xfa\x7f\x01x"  # and a field that this onnx does not know
    (here / "model.onnx").write_bytes(content)
    ended = command("expand", "model.onnx", "--output", "out.onnx")
    assert "a copy" in ended.out
    assert (here / "out.onnx").read_bytes() == content


@pytest.mark.parametrize(
    "content", [None, b"", b"not a model", b"\x00" * 64], ids=["missing", "empty", "text", "zeros"]
)
def test_expand_of_file_that_is_missing_or_no_model_is_refused(command, here, content):
    if content is not None:
        (here / "model.onnx").write_bytes(content)
    ended = command("expand", "model.onnx", "--output", "out.onnx")
    assert (ended.status, "model.onnx" in ended.err) == (2, True)
    assert not (here / "out.onnx").exists()


def test_expand_that_fails_keeps_old_output(command, here):
    onnx.save(broken(gamma=1.0), here / "model.onnx")
    (here / "out.onnx").write_bytes(b"old")
    assert command("expand", "model.onnx", "--output", "out.onnx").status == 2
    assert (here / "out.onnx").read_bytes() == b"old"


def test_expand_to_unwritable_path_names_the_path(command, here):
    onnx.save(one_node("Adam"), here / "model.onnx")
    (here / "file").write_bytes(b"")
    ended = command("expand", "model.onnx", "--output", "file/out.onnx")
    assert (ended.status, "out.onnx" in ended.err) == (2, True)


def external_model():
    tensor = TensorProto(name="X0", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../secrets.bin")
    model = one_node("Adagrad")
    model.graph.initializer.append(tensor)
    return model


def test_expand_into_same_folder_keeps_external_data(command, here):
    (here / "model.onnx").write_bytes(external_model().SerializeToString())
    assert command("expand", "model.onnx", "--output", "out.onnx").status == 0
    kept = onnx.load(here / "out.onnx", load_external_data=False).graph.initializer[0]
    assert kept == external_model().graph.initializer[0]


def test_expand_into_different_folder_refuses_external_data(command, here):
    (here / "model.onnx").write_bytes(external_model().SerializeToString())
    ended = command("expand", "model.onnx", "--output", "elsewhere/out.onnx")
    assert (ended.status, "other files" in ended.err) == (2, True)
    assert not (here / "elsewhere").exists()
