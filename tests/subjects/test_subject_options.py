"""Options of subjects: accepted ones reach the adapter, others end the command."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from refusals import assert_raises

from conformance.errors import SubjectError
from conformance.subjects.loading import check_options, load_backend
from conformance.subjects.naming import SubjectKind, SubjectName


class TakesSpeed:
    """Has one option, and ignores others."""

    @classmethod
    def prepare(cls, model, device="CPU", speed="low", **_):
        return SimpleNamespace(run=lambda _: [])

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def check_options(cls, speed="low"):
        if speed == "light":
            raise SubjectError("unusable-option", "Nothing here is that fast.", "Wait.")


class TakesAnything:
    """Accepts any option."""

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        return options


def rewrites(model, depth="1"):
    return model


def check(target, options, kind=SubjectKind.BACKEND):
    check_options(SubjectName("it", kind, "it", options), target)


@pytest.mark.parametrize("options", [{}, {"speed": "high"}, {"device": "CPU", "speed": "low"}])
def test_check_options_known_options_are_accepted(options):
    assert check(TakesSpeed, options) is None


def test_check_options_unknown_option_suggests_known_one():
    with assert_raises("usage.unknown-option", "it", "spede") as caught:
        check(TakesSpeed, {"spede": "high"})
    assert caught.value.hint == "Did you mean speed?"


def test_check_options_adapter_with_keywords_accepts_any():
    assert check(TakesAnything, {"whatever": "1"}) is None


def test_check_options_unsupported_device_is_refused():
    with assert_raises("subject.unsupported-device", "TPU"):
        check(TakesSpeed, {"device": "TPU"})


def test_check_options_adapter_can_refuse_a_value():
    with assert_raises("subject.unusable-option", "fast"):
        check(TakesSpeed, {"speed": "light"})


def test_check_options_of_optimizer_are_its_parameters():
    assert check(rewrites, {"depth": "2"}, SubjectKind.OPTIMIZER) is None
    with assert_raises("usage.unknown-option", "width"):
        check(rewrites, {"width": "2"}, SubjectKind.OPTIMIZER)


def test_check_options_optimizer_without_options_refuses_any():
    with assert_raises("usage.unknown-option", "depth"):
        check(lambda model: model, {"depth": "2"}, SubjectKind.OPTIMIZER)


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("onnxruntime[provider=AcmeExecutionProvider]", "subject.unusable-option", "AcmeExecutionProvider"),
        ("onnxruntime[optimization=most]", "subject.unusable-option", "most"),
        ("onnxruntime[device=CUDA]", "subject.unsupported-device", "CUDA"),
        ("onnxruntime[threads=2]", "subject.unusable-option", "threads"),
        ("reference[fast=yes]", "usage.unknown-option", "fast"),
    ],
)
def test_load_backend_wrong_option_is_refused(text, code, value):
    with assert_raises(code, value):
        load_backend(text)


@pytest.mark.parametrize("text", ["onnxruntime@1.20.1", "onnxruntime[python=/usr/bin/python3]"])
def test_load_backend_of_other_python_is_refused(text):
    with assert_raises("usage.needs-other-python", text):
        load_backend(text)


def test_load_backend_unknown_provider_names_available_ones():
    with assert_raises("subject.unusable-option", "AcmeExecutionProvider", "CPUExecutionProvider"):
        load_backend("onnxruntime[provider=AcmeExecutionProvider]")


def test_load_backend_keeps_other_attributes():
    assert load_backend("reference").target.supports_device("CPU")
