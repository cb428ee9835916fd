"""Adapter of onnx2torch with fakes of PyTorch: devices, and the placement of nodes. No GPU is needed."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from importlib import metadata
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from conformance.run.judging.backend import placement_violation
from conformance.subjects.adapters.server import Unsupported

NAME = "conformance.subjects.adapters.onnx2torch"


class FakeTensor:
    """An array on a device."""

    def __init__(self, array, device="cpu"):
        self.array, self.device, self.dtype = np.asarray(array), SimpleNamespace(type=device), "float32"

    def to(self, device):
        return FakeTensor(self.array, device)

    def cpu(self):
        return self.to("cpu")

    def numpy(self):
        return self.array


class OnnxAdd:
    """A node that computes on a device; it calls its hook like a torch module."""

    def __init__(self, device):
        self.device, self.hooks = device, []

    def register_forward_hook(self, hook):
        self.hooks.append(hook)

    def __call__(self, tensor):
        output = FakeTensor(tensor.array + 1, self.device or tensor.device.type)
        for hook in self.hooks:
            hook(self, (tensor,), output)
        return output


class OnnxShape(OnnxAdd):
    """A node of another operator."""


class FakeModule:
    """A model: nodes in a row."""

    def __init__(self, nodes):
        self.nodes = nodes

    def eval(self):
        return self

    def to(self, device):
        self.device = device
        return self

    def named_modules(self):
        return [("", self), *((str(number), node) for number, node in enumerate(self.nodes))]

    def __call__(self, tensor):
        for node in self.nodes:
            tensor = node(tensor)
        return tensor


class FakeTorch(ModuleType):
    """PyTorch, as far as the adapter uses it."""

    __version__ = "2.0"
    Tensor = FakeTensor
    bfloat16 = "bfloat16"

    def __init__(self, *, has_cuda):
        super().__init__("torch")
        self.cuda = SimpleNamespace(is_available=lambda: has_cuda)

    @staticmethod
    def set_num_threads(_):
        pass

    @staticmethod
    def tensor(array):
        return FakeTensor(array)

    @staticmethod
    def inference_mode():
        return nullcontext()


@pytest.fixture
def load(monkeypatch):
    """Return a function that loads the adapter for a model of nodes."""

    def load_for(*nodes, has_cuda=True):
        monkeypatch.setattr(metadata, "version", lambda _: "1.5")
        monkeypatch.setitem(sys.modules, "torch", FakeTorch(has_cuda=has_cuda))
        monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
        monkeypatch.setitem(sys.modules, "onnx2torch", SimpleNamespace(convert=lambda _: FakeModule(nodes)))
        monkeypatch.delitem(sys.modules, NAME, raising=False)
        adapter = importlib.import_module(NAME)
        monkeypatch.setattr(adapter.onnx, "load_model_from_string", lambda _: None)
        return adapter.Onnx2TorchBackend

    yield load_for
    sys.modules.pop(NAME, None)


X = {"X": np.zeros(2, np.float32)}


def test_device_needs_cuda(load):
    assert [load(has_cuda=has_cuda).supports_device("cuda") for has_cuda in (True, False)] == [True, False]
    assert [load().required_provider(), load().required_provider(device="cuda")] == [None, "cuda"]
    assert not load().supports_device("tpu")


def test_all_nodes_on_cuda_are_judged(load):
    prepared = load(OnnxAdd(None), OnnxAdd(None)).prepare(b"", "cuda")
    assert prepared.placement is None
    (output,) = prepared.run(X)
    assert (output.tolist(), prepared.placement) == ([2, 2], {"cuda": {"Add": 2}})
    assert placement_violation("cuda", prepared.placement) == ""


def test_node_on_cpu_is_not_judged(load):
    prepared = load(OnnxAdd(None), OnnxShape("cpu"), OnnxAdd("cuda")).prepare(b"", "cuda")
    prepared.run(X)
    assert prepared.placement == {"cuda": {"Add": 2}, "cpu": {"Shape": 1}}
    assert "Shape" in placement_violation("cuda", prepared.placement)


def test_mixed_devices_are_unsupported(load):
    class Mixing(OnnxAdd):
        def __call__(self, _):
            raise RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu!")

    with pytest.raises(Unsupported):
        load(Mixing(None)).prepare(b"", "cuda").run(X)


def test_failed_kernel_loses_the_device(load):
    class Failing(OnnxAdd):
        def __call__(self, _):
            raise RuntimeError("CUDA error: device-side assert triggered")

    with pytest.raises(BaseException, match="device-side assert") as caught:
        load(Failing(None)).prepare(b"", "cuda").run(X)
    assert (type(caught.value).__name__, isinstance(caught.value, Exception)) == ("DeviceLost", False)


def test_cpu_has_no_placement(load):
    prepared = load(OnnxAdd(None)).prepare(b"", "CPU")
    assert ([output.tolist() for output in prepared.run(X)], prepared.placement) == ([[1, 1]], None)
