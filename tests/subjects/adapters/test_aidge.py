"""Adapter of Aidge, with fakes of its packages: inputs are set by name, and errors become `Unsupported`."""

from __future__ import annotations

import importlib
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper

from conformance.subjects.adapters.server import Unsupported

LACKS_A_KERNEL = 'missing or invalid registrar key: "[float16, Default, [(3, 3)]]" for registrable object ArgMax'


class FakeGenericOperator:
    def type(self):
        return "Adam"


class FakeNode:
    """Subtracts its second input from its first; `taken` are the names of its inputs, "" for an optional one."""

    def __init__(self, taken, made):
        self.taken, self.made, self.fed = taken, made, {}

    def get_operator(self):
        return self

    def input_name(self, index):
        return self.taken[index]

    def output_name(self, _):
        return self.made

    def set_input(self, index, array):
        self.fed[index] = array

    def get_output(self, _):
        return self.fed[0] - self.fed[1]


class FakeGraph:
    """Lists its inputs from the last to the first, including an optional one without a value."""

    def __init__(self, node):
        self.node, self.nodes = node, [node]

    def get_nodes(self):
        return self.nodes

    def get_ordered_inputs(self):
        return [(self.node, index) for index in reversed(range(len(self.node.taken)))]

    def get_ordered_outputs(self):
        return [(self.node, 0)]

    def set_backend(self, backend):
        assert backend == "cpu"

    def forward_dtype(self):
        return True


@pytest.fixture
def aidge(monkeypatch):
    """The adapter with fake packages, and the graph and the error that the fakes use."""
    fakes = SimpleNamespace(graph=FakeGraph(FakeNode(["X_1", "Y", ""], "Z")), violation=None)

    def forward():
        if fakes.violation:
            raise RuntimeError(fakes.violation)

    core, read, utils = (ModuleType(name) for name in ("aidge_core", "aidge_onnx", "aidge_onnx.utils"))
    core.Log = SimpleNamespace(set_console_level=lambda _: None)
    core.Level = SimpleNamespace(Fatal=0)
    core.GenericOperatorOp, core.Tensor = FakeGenericOperator, np.array
    core.SequentialScheduler = lambda _: SimpleNamespace(forward=forward)
    read.load_onnx, read.utils = lambda _: fakes.graph, utils
    utils.onnx_to_aidge_name = lambda name: name.replace("/", "_")
    for module in (core, read, utils, ModuleType("aidge_backend_cpu")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(metadata, "version", lambda _: "0.10.1")
    monkeypatch.delitem(sys.modules, "conformance.subjects.adapters.aidge", raising=False)
    fakes.backend = importlib.import_module("conformance.subjects.adapters.aidge").AidgeBackend
    yield fakes
    del sys.modules["conformance.subjects.adapters.aidge"]


def model():
    """Return a model of X/1 minus Y, with an input that no node reads."""
    x, y, unread, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("X/1", "Y", "U", "Z"))
    graph = helper.make_graph([helper.make_node("Sub", ["X/1", "Y"], ["Z"])], "minus", [x, y, unread], [z])
    return helper.make_model(graph).SerializeToString()


FEEDS = {"X/1": np.array([5, 7], np.float32), "Y": np.array([1, 2], np.float32), "U": np.zeros(2, np.float32)}


def test_aidge_sets_inputs_by_name(aidge):
    (difference,) = aidge.backend.prepare(model()).run(FEEDS)
    assert difference.tolist() == [4, 5]


def test_aidge_each_run_uses_its_inputs(aidge):
    prepared = aidge.backend.prepare(model())
    prepared.run(FEEDS)
    (difference,) = prepared.run(FEEDS | {"Y": np.array([5, 5], np.float32)})
    assert difference.tolist() == [0, 2]


@pytest.mark.parametrize("taken", [["X_1", ""], ["X_1", "Y", "Y"]])
def test_aidge_input_without_unique_port_is_unsupported(aidge, taken):
    aidge.graph.node.taken = taken
    with pytest.raises(Unsupported, match="Y"):
        aidge.backend.prepare(model())


def test_aidge_generic_operator_is_unsupported(aidge):
    aidge.graph.nodes.append(SimpleNamespace(get_operator=FakeGenericOperator))
    with pytest.raises(Unsupported, match="Adam"):
        aidge.backend.prepare(model())


@pytest.mark.parametrize(
    ("violation", "error", "text"),
    [
        (LACKS_A_KERNEL, Unsupported, "registrar key"),
        ("Exp: input #0 should be associated with a Tensor", RuntimeError, "associated"),
    ],
)
def test_aidge_only_missing_kernel_is_unsupported(aidge, violation, error, text):
    aidge.violation = violation
    with pytest.raises(error, match=text):
        aidge.backend.prepare(model()).run(FEEDS)
