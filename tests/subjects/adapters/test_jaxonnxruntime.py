"""Adapter of jaxonnxruntime with fakes of JAX: devices, and the placement of nodes. No GPU is needed."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np
import onnx
import pytest

from conformance.run.judging.backend import placement_violation

NAME = "conformance.subjects.adapters.jaxonnxruntime"
MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> g (float[2] X) => (float[2] Y) { E = Exp(X) Y = Exp(E) }'
).SerializeToString()


class FakeArray:
    """An array of JAX on a device."""

    def __init__(self, array, platform):
        self.array, self.platform = array, platform

    def devices(self):
        return [SimpleNamespace(platform=self.platform)]

    def __array__(self, dtype=None, copy=None):
        return self.array


class FakeTracer(FakeArray):
    """A value of JAX that is traced."""

    def devices(self):
        raise TypeError("a traced value has no device")


class FakeJax(ModuleType):
    """JAX, as far as the adapter uses it."""

    __version__ = "0.10"
    Array, core = FakeArray, SimpleNamespace(Tracer=FakeTracer)

    def __init__(self, *, has_gpu):
        super().__init__("jax")
        self.config = SimpleNamespace(update=lambda *_: None)
        self.platforms, self.current = ("cpu", "gpu")[: 1 + has_gpu], None

    def devices(self, platform):
        if platform not in self.platforms:
            raise RuntimeError(f"Unknown backend {platform}")
        return [platform]

    @contextmanager
    def default_device(self, device):
        self.current = device
        yield
        self.current = None


@pytest.fixture
def load(monkeypatch):
    """Return a function that loads the adapter; NumPy computes `numpy_nodes`, and JAX traces `traced_nodes`."""

    def load_for(*, has_gpu=True, numpy_nodes=(), traced_nodes=()):
        jax = FakeJax(has_gpu=has_gpu)
        call_onnx = SimpleNamespace(_get_jit_func=lambda node, *_: lambda x: compute(node, x))

        def compute(node, x):
            found = np.exp(np.asarray(x))
            array = FakeTracer if node.name in traced_nodes else FakeArray
            return found if node.name in numpy_nodes else array(found, jax.current)

        class Runtime:
            def __init__(self, model):
                self.nodes = model.graph.node

            prepare = classmethod(lambda cls, model: cls(model))

            def run(self, feeds):
                x = feeds["X"]
                for number, each in enumerate(self.nodes):
                    x = call_onnx._get_jit_func(SimpleNamespace(name=str(number), op_type=each.op_type), [x])(x)
                return [x]

        package = ModuleType("jaxonnxruntime")
        package.__version__, package.call_onnx = "0.3", call_onnx
        package.config = SimpleNamespace(update=lambda *_: None)
        monkeypatch.setitem(sys.modules, "jax", jax)
        monkeypatch.setitem(sys.modules, "jaxonnxruntime", package)
        monkeypatch.setitem(sys.modules, "jaxonnxruntime.backend", SimpleNamespace(Backend=Runtime))
        monkeypatch.setitem(sys.modules, "jaxonnxruntime.core", ModuleType("jaxonnxruntime.core"))
        handlers = SimpleNamespace(Handler=type("Handler", (), {}))
        monkeypatch.setitem(sys.modules, "jaxonnxruntime.core.handler", handlers)
        monkeypatch.delitem(sys.modules, NAME, raising=False)
        return importlib.import_module(NAME).JaxOnnxRuntimeBackend

    yield load_for
    sys.modules.pop(NAME, None)


X = {"X": np.zeros(2, np.float32)}


def test_device_needs_a_gpu(load):
    assert [load(has_gpu=has_gpu).supports_device("gpu") for has_gpu in (True, False)] == [True, False]
    assert not load().supports_device("tpu")
    assert [load().required_provider(), load().required_provider(device="gpu")] == [None, "gpu"]


def test_all_nodes_on_gpu_are_judged(load):
    prepared = load().prepare(MODEL, "gpu")
    (output,) = prepared.run(X)
    assert (output.tolist(), prepared.placement) == (pytest.approx([np.e] * 2), {"gpu": {"Exp": 2}})
    assert placement_violation("gpu", prepared.placement) == ""


def test_node_that_numpy_computes_is_not_judged(load):
    prepared = load(numpy_nodes=["1"]).prepare(MODEL, "gpu")
    prepared.run(X)
    assert prepared.placement == {"cpu": {"Exp": 1}, "gpu": {"Exp": 1}}
    assert "Exp" in placement_violation("gpu", prepared.placement)


def test_traced_node_is_not_counted(load):
    prepared = load(traced_nodes=["0"]).prepare(MODEL, "gpu")
    prepared.run(X)
    assert prepared.placement == {"gpu": {"Exp": 1}}


def test_cpu_has_no_placement(load):
    prepared = load(has_gpu=False).prepare(MODEL)
    prepared.run(X)
    assert prepared.placement is None
