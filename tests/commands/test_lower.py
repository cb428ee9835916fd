"""`lower`: the lowered model is written, and nothing else is touched."""

from __future__ import annotations

import onnx
import pytest
from lowerable_models import broken, one_node, plain_model
from onnx import TensorProto

from conformance.lowering.lowering import lower


def test_the_command_writes_the_lowered_model(command, here):
    onnx.save(one_node("Adam"), here / "model.onnx")
    ended = command("lower", "model.onnx", "-o", "new/lowered.onnx")
    assert (ended.status, ended.err) == (0, "")
    assert onnx.load(here / "new/lowered.onnx") == lower(one_node("Adam"))


def test_the_command_copies_a_model_without_optimizers_byte_for_byte(command, here):
    content = plain_model().SerializeToString() + b"\xfa\x7f\x01x"  # and a field that this onnx does not know
    (here / "model.onnx").write_bytes(content)
    ended = command("lower", "model.onnx", "-o", "out.onnx")
    assert "a copy" in ended.out
    assert (here / "out.onnx").read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 64], ids=["empty", "text", "zeros"])
def test_the_command_refuses_what_is_no_model(command, here, content):
    (here / "model.onnx").write_bytes(content)
    ended = command("lower", "model.onnx", "-o", "out.onnx")
    assert (ended.status, "model.onnx" in ended.err) == (2, True)
    assert not (here / "out.onnx").exists()


def test_the_command_refuses_a_model_that_is_not_there(command):
    ended = command("lower", "nowhere.onnx", "-o", "out.onnx")
    assert (ended.status, "nowhere.onnx" in ended.err) == (2, True)


def test_the_command_leaves_an_old_file_where_lowering_fails(command, here):
    onnx.save(broken(gamma=1.0), here / "model.onnx")
    (here / "out.onnx").write_bytes(b"old")
    assert command("lower", "model.onnx", "-o", "out.onnx").status == 2
    assert (here / "out.onnx").read_bytes() == b"old"


def test_the_command_says_where_it_cannot_write(command, here):
    onnx.save(one_node("Adam"), here / "model.onnx")
    (here / "file").write_bytes(b"")
    ended = command("lower", "model.onnx", "-o", "file/out.onnx")
    assert (ended.status, "out.onnx" in ended.err) == (2, True)


def external_model():
    tensor = TensorProto(name="X0", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../secrets.bin")
    model = one_node("Adagrad")
    model.graph.initializer.append(tensor)
    return model


def test_the_command_keeps_external_data_as_it_is_in_the_same_folder(command, here):
    (here / "model.onnx").write_bytes(external_model().SerializeToString())
    assert command("lower", "model.onnx", "-o", "out.onnx").status == 0
    kept = onnx.load(here / "out.onnx", load_external_data=False).graph.initializer[0]
    assert kept == external_model().graph.initializer[0]


def test_the_command_refuses_to_part_a_model_from_its_external_data(command, here):
    (here / "model.onnx").write_bytes(external_model().SerializeToString())
    ended = command("lower", "model.onnx", "-o", "elsewhere/out.onnx")
    assert (ended.status, "other files" in ended.err) == (2, True)
    assert not (here / "elsewhere").exists()
