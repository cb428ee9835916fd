"""ONNX Runtime's providers. Where another device than the CPU is asked for, stand-ins take the place of sessions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from corpora import EXACT
from outputs import results_of

from conformance.backends import onnxruntime as module
from conformance.corpus.loading import load_case
from conformance.errors import SubjectError
from conformance.judging.backend import judge_backend
from conformance.subjects.loading import load_backend

AZURE = "onnxruntime[provider=AzureExecutionProvider]"
"""A provider that every release has built in, and that has no kernel for anything here."""

CUDA = "CUDAExecutionProvider"


class StandInSession:
    """A session on a machine with CUDA, whose provider takes all nodes but the last."""

    nodes = (("Exp", CUDA), ("MemcpyToHost", "CPUExecutionProvider"), ("ArgMax", CUDA))

    def __init__(self, model, settings, providers):
        self.providers = providers

    def get_provider_graph_assignment_info(self):
        return [
            SimpleNamespace(ep_name=provider, get_nodes=lambda name=name: [SimpleNamespace(op_type=name)])
            for name, provider in self.nodes
        ]

    def run(self, _, feeds):
        return [np.array([0])]


def device(provider, kind="CPU"):
    return SimpleNamespace(ep_name=provider, device=SimpleNamespace(type=SimpleNamespace(name=kind)))


@pytest.fixture
def cuda(monkeypatch):
    """An onnxruntime that was built with CUDA."""
    monkeypatch.setattr(module.onnxruntime, "get_available_providers", lambda: [CUDA, "CPUExecutionProvider"])
    monkeypatch.setattr(module.onnxruntime, "InferenceSession", StandInSession)


@pytest.fixture
def plugins(monkeypatch, tmp_path):
    """The file of a plugin that offers a CPU and a GPU to the provider `acme`, once it is loaded."""
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
    module._devices.cache_clear()


def test_a_built_in_provider_that_takes_no_node_has_no_pass_and_its_gate_does_not_hold(command, small_corpus, here):
    ended = command("run", "-b", AZURE, "--data", small_corpus, "--results", "r.jsonl")
    results = results_of(here / "r.jsonl")
    assert ended.status == 1
    assert {result["verdict"] for result in results.values()} == {"unsupported"}
    assert results[AZURE, EXACT]["message"] == "1 of 1 node ran on CPUExecutionProvider: ArgMax"
    assert results[AZURE, EXACT]["placement"] == {"CPUExecutionProvider": {"ArgMax": 1}}


def test_with_fallback_allowed_it_is_judged_all_the_same(case_of):
    subject = load_backend("onnxruntime[provider=AzureExecutionProvider,fallback=allow]")
    outcome = judge_backend(subject.target, case_of(EXACT), None, subject.provider)
    assert (outcome.verdict, outcome.placement) == ("pass", {"CPUExecutionProvider": {"ArgMax": 1}})


def test_without_a_provider_nothing_is_told(case_of):
    outcome = judge_backend(load_backend("onnxruntime").target, case_of(EXACT))
    assert (outcome.verdict, outcome.placement) == ("pass", None)


def test_a_release_that_tells_no_assignment_tells_it_by_its_profile(whole_corpus, monkeypatch):
    case = load_case(whole_corpus, whole_corpus.cases["test_adam_expanded"])
    subject = load_backend("onnxruntime[provider=CPUExecutionProvider,optimization=disabled]")
    assigned = judge_backend(subject.target, case, None, subject.provider)
    monkeypatch.setattr(module, "_TELLS_ASSIGNMENT", False)
    profiled = judge_backend(subject.target, case, None, subject.provider)
    assert (profiled.verdict, profiled.placement) == (assigned.verdict, assigned.placement)
    assert assigned.verdict == "pass"


@pytest.mark.usefixtures("cuda")
def test_a_provider_that_takes_all_but_copies_passes(case_of):
    subject = load_backend(f"onnxruntime[provider={CUDA},device_id=1]")
    prepared = subject.target.prepare(case_of(EXACT).model)
    assert prepared.placement == {CUDA: {"ArgMax": 1, "Exp": 1}, "CPUExecutionProvider": {"MemcpyToHost": 1}}
    assert judge_backend(subject.target, case_of(EXACT), None, subject.provider).phase != "load"


@pytest.mark.usefixtures("cuda")
def test_options_that_are_not_the_adapter_s_are_the_provider_s(monkeypatch, case_of):
    asked = []
    monkeypatch.setattr(StandInSession, "__init__", lambda _, *arguments: asked.append(arguments[2]))
    load_backend(f"onnxruntime[provider={CUDA},device_id=1]").target.prepare(case_of(EXACT).model)
    assert asked == [[(CUDA, {"device_id": "1"}), "CPUExecutionProvider"]]


@pytest.mark.parametrize("kind", ["CPU", "GPU"])
def test_a_plugin_provider_runs_on_the_device_that_is_named(monkeypatch, plugins, case_of, kind):
    added = []
    settings = SimpleNamespace(
        add_session_config_entry=lambda *_: None,
        add_provider_for_devices=lambda devices, options: added.append((devices[0].device.type.name, options)),
    )
    monkeypatch.setattr(module.onnxruntime, "InferenceSession", StandInSession)
    monkeypatch.setattr(module.onnxruntime, "SessionOptions", lambda: settings)
    subject = load_backend(f"onnxruntime[provider=acme,library={plugins},device={kind},precision=exact]")
    subject.target.prepare(case_of(EXACT).model)
    assert (added, subject.provider) == ([(kind, {"precision": "exact"})], "acme")


@pytest.mark.parametrize(
    ("options", "problem", "mend"),
    [
        ("provider=acme,library=nowhere.so", "nowhere.so is no file", "shared library"),
        ("provider=acme,library={module}", "does not load", "library"),
        ("library={module}", "no option library without a provider", "with a provider also library"),
        ("provider=AzureExecutionProvider,fallback=maybe", "no fallback=maybe", "fallback=allow"),
    ],
    ids=["no file", "no library", "no provider", "no such fallback"],
)
def test_what_cannot_be_loaded_is_one_sentence_and_what_to_do(options, problem, mend):
    with pytest.raises(SubjectError) as caught:
        load_backend(f"onnxruntime[{options.format(module=module.__file__)}]")
    assert (problem in caught.value.problem, mend in caught.value.mend) == (True, True)


def test_a_plugin_without_a_device_of_that_name_says_what_it_offers(plugins):
    with pytest.raises(SubjectError, match=r"no device of provider AcmeExecutionProvider here\.\nIt offers acme"):
        load_backend(f"onnxruntime[provider=AcmeExecutionProvider,library={plugins}]")
