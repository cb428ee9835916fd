"""Options of subjects: accepted ones reach the adapter, others end the command."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from refusals import assert_raises

from conformance.subjects.calling.harness import Refused, check_options
from conformance.subjects.calling.subject_loading import load_backend
from conformance.subjects.calling.subject_names import SubjectKind


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
            raise ValueError("Nothing here is that fast.", "Wait.")


class TakesAnything:
    """Accepts any option."""

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        return options


def rewrites(model, depth="1"):
    return model


def check(target, options, kind=SubjectKind.BACKEND):
    check_options({"kind": str(kind), "name": "it", "options": options}, target)


def assert_refused(target, options, code, named, kind=SubjectKind.BACKEND):
    """Assert that options are refused, and return the hint."""
    with pytest.raises(Refused) as caught:
        check(target, options, kind)
    assert (caught.value.code, named in caught.value.problem) == (code, True)
    return caught.value.hint


@pytest.mark.parametrize("options", [{}, {"speed": "high"}, {"device": "CPU", "speed": "low"}])
def test_check_options_known_options_are_accepted(options):
    assert check(TakesSpeed, options) is None


def test_check_options_unknown_option_suggests_known_one():
    hint = assert_refused(TakesSpeed, {"spede": "high"}, "usage.unknown-option", "spede")
    assert hint == "Did you mean speed?"


def test_check_options_adapter_with_keywords_accepts_any():
    assert check(TakesAnything, {"whatever": "1"}) is None


def test_check_options_unsupported_device_is_refused():
    assert_refused(TakesSpeed, {"device": "TPU"}, "subject.unsupported-device", "TPU")


def test_check_options_backend_without_the_default_device_is_refused():
    target = SimpleNamespace(prepare=lambda model, device: None, supports_device=lambda device: device == "CUDA")
    assert_refused(target, {}, "subject.unsupported-device", "CPU")
    assert check(target, {"device": "CUDA"}) is None


def test_check_options_adapter_can_refuse_a_value():
    assert assert_refused(TakesSpeed, {"speed": "light"}, "subject.unusable-option", "fast") == "Wait."


def test_check_options_of_optimizer_are_its_parameters():
    assert check(rewrites, {"depth": "2"}, SubjectKind.OPTIMIZER) is None
    assert_refused(rewrites, {"width": "2"}, "usage.unknown-option", "width", SubjectKind.OPTIMIZER)


def test_check_options_optimizer_without_options_refuses_any():
    assert_refused(lambda model: model, {"depth": "2"}, "usage.unknown-option", "depth", SubjectKind.OPTIMIZER)


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("onnxruntime[provider=AcmeExecutionProvider]", "subject.unusable-option", "AcmeExecutionProvider"),
        ("onnxruntime[optimization=most]", "subject.unusable-option", "most"),
        ("onnxruntime[device=CUDA]", "subject.unsupported-device", "CUDA"),
        ("onnxruntime[threads=2]", "subject.unusable-option", "threads"),
        ("reference[fast=yes]", "usage.unknown-option", "fast"),
        ("onnxruntime[provider=AcmeExecutionProvider]", "subject.unusable-option", "CPUExecutionProvider"),
        ("onnxruntime@1.20.1", "usage.needs-other-python", "onnxruntime@1.20.1"),
        ("onnxruntime[python=/usr/bin/python3]", "usage.needs-other-python", "onnxruntime[python=/usr/bin/python3]"),
    ],
)
def test_load_backend_wrong_option_is_refused(text, code, value):
    with assert_raises(code, value):
        load_backend(text)


def test_load_backend_keeps_other_attributes():
    assert load_backend("reference").target.supports_device("CPU")
