"""Options of a subject reach its adapter; those it does not have, or cannot have here, end the command."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conformance.errors import SubjectError, UsageError
from conformance.subjects.loading import load_backend
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.subjects.options import check_options


class TakesSpeed:
    """Has one option, and ignores what else comes."""

    @classmethod
    def prepare(cls, model, device="CPU", speed="low", **_):
        return SimpleNamespace(run=lambda _: [])

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def check_options(cls, speed="low"):
        if speed == "light":
            raise SubjectError("Nothing here is that fast.", "Wait.")


class TakesAnything:
    """Passes all options on."""

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        return options


def rewrites(model, depth="1"):
    return model


def check(target, options, kind=SubjectKind.BACKEND):
    check_options(SubjectName("it", kind, "it", options), target)


@pytest.mark.parametrize("options", [{}, {"speed": "high"}, {"device": "CPU", "speed": "low"}])
def test_options_that_the_adapter_has_are_taken(options):
    assert check(TakesSpeed, options) is None


def test_an_unknown_option_is_told_with_those_that_are_known():
    with pytest.raises(UsageError, match="Backend it has no option spede") as caught:
        check(TakesSpeed, {"spede": "high"})
    assert caught.value.mend == "Did you mean speed?"


def test_an_adapter_that_passes_options_on_takes_any():
    assert check(TakesAnything, {"whatever": "1"}) is None


def test_a_device_that_the_backend_does_not_support_is_told():
    with pytest.raises(SubjectError, match="does not support the device TPU"):
        check(TakesSpeed, {"device": "TPU"})


def test_what_this_machine_lacks_is_told_by_the_adapter():
    with pytest.raises(SubjectError, match="Nothing here is that fast"):
        check(TakesSpeed, {"speed": "light"})


def test_a_graph_optimizer_takes_its_parameters():
    assert check(rewrites, {"depth": "2"}, SubjectKind.OPTIMIZER) is None
    with pytest.raises(UsageError, match="Graph optimizer it has no option width"):
        check(rewrites, {"width": "2"}, SubjectKind.OPTIMIZER)


def test_a_graph_optimizer_without_parameters_says_that_it_takes_none():
    with pytest.raises(UsageError) as caught:
        check(lambda model: model, {"depth": "2"}, SubjectKind.OPTIMIZER)
    assert caught.value.mend == "It takes none."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("onnxruntime[provider=AcmeExecutionProvider]", "no execution provider AcmeExecutionProvider"),
        ("onnxruntime[optimization=most]", "no optimization level most"),
        ("onnxruntime[device=CUDA]", "does not support the device CUDA"),
        ("onnxruntime[threads=2]", "no option threads"),
        ("reference[fast=yes]", "no option fast"),
    ],
)
def test_a_mistake_in_the_options_ends_the_command_before_anything_is_run(text, told):
    with pytest.raises((SubjectError, UsageError), match=told):
        load_backend(text)


@pytest.mark.parametrize("text", ["onnxruntime@1.20.1", "onnxruntime[python=/usr/bin/python3]"])
def test_what_is_to_run_in_another_python_is_not_loaded_in_this_one(text):
    with pytest.raises(UsageError, match="runs in an environment of its own"):
        load_backend(text)


def test_the_execution_providers_that_are_there_are_told():
    with pytest.raises(SubjectError) as caught:
        load_backend("onnxruntime[provider=AcmeExecutionProvider]")
    assert "CPUExecutionProvider" in caught.value.mend


def test_a_backend_has_all_else_that_it_had_before_it_was_configured():
    assert load_backend("reference").target.supports_device("CPU")
