"""ONNX Runtime's providers; sessions on other devices than the CPU are replaced by fakes."""

from __future__ import annotations

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import onnx
import pytest
from command_outputs import results_by_key
from corpora import EXACT
from refusals import assert_raises

from conformance.corpus.cases.case_loading import load_case
from conformance.run.judging.backend import judge_backend
from conformance.subjects.adapters import onnxruntime as module
from conformance.subjects.calling.subject_loading import load_backend

AZURE = "onnxruntime[provider=AzureExecutionProvider]"
"""A provider that is built into every release, and has no kernel for any operator of the corpus."""

SMALL_TYPES = [
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2),
    *(ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2),
]

CUDA = "CUDAExecutionProvider"


class FakeSession:
    """A session on a machine with CUDA; the CUDA provider runs all nodes except a copy."""

    nodes = (("Exp", CUDA), ("MemcpyToHost", "CPUExecutionProvider"), ("ArgMax", CUDA))

    def __init__(self, model, settings, providers):
        self.providers = providers

    def get_provider_graph_assignment_info(self):
        return [
            SimpleNamespace(ep_name=provider, get_nodes=lambda name=name: [SimpleNamespace(op_type=name)])
            for name, provider in self.nodes
        ]

    def get_outputs(self):
        return [SimpleNamespace(type="tensor(int64)")]

    def run(self, _, feeds):
        return [np.array([0])]


def device(provider, kind="CPU"):
    return SimpleNamespace(ep_name=provider, device=SimpleNamespace(type=SimpleNamespace(name=kind)))


@pytest.fixture
def cuda(monkeypatch):
    """Simulate an onnxruntime that was built with CUDA."""
    monkeypatch.setattr(module.onnxruntime, "get_available_providers", lambda: [CUDA, "CPUExecutionProvider"])
    monkeypatch.setattr(module.onnxruntime, "InferenceSession", FakeSession)


@pytest.fixture
def plugins(monkeypatch, tmp_path):
    """File of a plugin whose provider `acme` has a CPU and a GPU after it is loaded."""
    offered = [device("CPUExecutionProvider")]
    library = tmp_path / "libacme.so"
    library.touch()
    monkeypatch.setattr(module.onnxruntime, "get_ep_devices", lambda: list(offered))
    monkeypatch.setattr(
        module.onnxruntime,
        "register_execution_provider_library",
        lambda *_: offered.extend([device("acme"), device("acme", "GPU")]),
    )
    yield library
    module._load_plugin_devices.cache_clear()


def test_provider_that_runs_no_node_is_unsupported(command, small_corpus, here):
    ended = command("run", "-b", AZURE, "--data", small_corpus, "--results", "r.jsonl")
    results = results_by_key(here / "r.jsonl")
    assert ended.status == 1
    assert {result["verdict"] for result in results.values()} == {"unsupported"}
    assert results[AZURE, EXACT]["message"] == "1 of 1 node ran on CPUExecutionProvider: ArgMax"
    assert results[AZURE, EXACT]["placement"] == {"CPUExecutionProvider": {"ArgMax": 1}}


def test_provider_with_fallback_is_judged(case_of):
    subject = load_backend("onnxruntime[provider=AzureExecutionProvider,fallback=allow]")
    outcome = judge_backend(subject.target, case_of(EXACT), provider=subject.provider)
    assert (outcome.verdict, outcome.placement) == ("pass", {"CPUExecutionProvider": {"ArgMax": 1}})


def test_without_provider_no_placement_is_reported(case_of):
    outcome = judge_backend(load_backend("onnxruntime").target, case_of(EXACT))
    assert (outcome.verdict, outcome.placement) == ("pass", None)


def test_release_without_assignment_reports_placement_of_profile(whole_corpus, monkeypatch):
    case = load_case(whole_corpus, whole_corpus.cases["test_adam_expanded"])
    subject = load_backend("onnxruntime[provider=CPUExecutionProvider,optimization=disabled]")
    assigned = judge_backend(subject.target, case, provider=subject.provider)
    monkeypatch.setattr(module, "_REPORTS_ASSIGNMENT", False)
    profiled = judge_backend(subject.target, case, provider=subject.provider)
    assert (profiled.verdict, profiled.placement) == (assigned.verdict, assigned.placement)
    assert assigned.verdict == "pass"


@pytest.mark.usefixtures("cuda")
def test_provider_that_runs_all_but_copies_is_judged(case_of):
    subject = load_backend(f"onnxruntime[provider={CUDA},device_id=1]")
    prepared = subject.target.prepare(case_of(EXACT).model)
    assert prepared.placement == {CUDA: {"ArgMax": 1, "Exp": 1}, "CPUExecutionProvider": {"MemcpyToHost": 1}}
    assert judge_backend(subject.target, case_of(EXACT), provider=subject.provider).phase != "load"


@pytest.mark.usefixtures("cuda")
def test_remaining_options_go_to_provider(monkeypatch, case_of):
    asked = []
    monkeypatch.setattr(FakeSession, "__init__", lambda _, *arguments: asked.append(arguments[2]))
    load_backend(f"onnxruntime[provider={CUDA},device_id=1]").target.prepare(case_of(EXACT).model)
    assert asked == [[(CUDA, {"device_id": "1"}), "CPUExecutionProvider"]]


@pytest.mark.parametrize("kind", ["CPU", "GPU"])
def test_plugin_provider_uses_requested_device(monkeypatch, plugins, case_of, kind):
    added = []
    settings = SimpleNamespace(
        add_session_config_entry=lambda *_: None,
        add_provider_for_devices=lambda devices, options: added.append((devices[0].device.type.name, options)),
    )
    monkeypatch.setattr(module.onnxruntime, "InferenceSession", FakeSession)
    monkeypatch.setattr(module.onnxruntime, "SessionOptions", lambda: settings)
    subject = load_backend(f"onnxruntime[provider=acme,library={plugins},device={kind},precision=exact]")
    subject.target.prepare(case_of(EXACT).model)
    assert (added, subject.provider) == ([(kind, {"precision": "exact"})], "acme")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("provider=acme,library=nowhere.so", "nowhere.so"),
        ("provider=acme,library={module}", module.__file__),
        ("library={module}", "library"),
        ("provider=AzureExecutionProvider,fallback=maybe", "fallback=maybe"),
    ],
    ids=["missing file", "not a library", "missing provider", "unknown fallback"],
)
def test_unusable_options_are_refused(options, named):
    with assert_raises("subject.unusable-option", named):
        load_backend(f"onnxruntime[{options.format(module=module.__file__)}]")


def test_plugin_without_device_of_provider_names_its_devices(plugins):
    with assert_raises("subject.unusable-option", "AcmeExecutionProvider", "acme"):
        load_backend(f"onnxruntime[provider=AcmeExecutionProvider,library={plugins}]")


@pytest.mark.parametrize("dtype", SMALL_TYPES)
@pytest.mark.parametrize("size", [0, 1, 4, 5])
def test_onnxruntime_passes_types_that_numpy_lacks(dtype, size):
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x, y = (onnx.helper.make_tensor_value_info(name, number, [size]) for name in "xy")
    nodes = [onnx.helper.make_node("Cast", ["x"], ["f"], to=1), onnx.helper.make_node("Cast", ["f"], ["y"], to=number)]
    graph = onnx.helper.make_graph(nodes, "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25)], ir_version=12)
    given = np.array([1, 0, 1, 0, 1][:size]).astype(dtype)
    (returned,) = module.OnnxRuntimeBackend.prepare(model.SerializeToString()).run({"x": given})
    assert returned.dtype == given.dtype
    assert returned.tobytes() == given.tobytes()
