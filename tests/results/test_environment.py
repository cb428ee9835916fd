"""What a run writes down of where it ran."""

from __future__ import annotations

import pytest

from conformance.results.environment import cpu_features, environment

X86 = "processor\t: 0\nflags\t\t: fpu avx2 sse4_2 fma avx512f rdtscp\n\nprocessor\t: 1\nflags\t\t: fpu\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd evtstrm sve\n"


@pytest.mark.parametrize(("told", "features"), [(X86, "avx2 avx512f fma sse4_2"), (ARM, "asimd sve")])
def test_the_instructions_that_matter_are_named_in_order(tmp_path, told, features):
    source = tmp_path / "cpuinfo"
    source.write_text(told)
    assert cpu_features(source) == {"cpu features": features}


def test_a_system_that_does_not_tell_is_not_guessed_at(tmp_path):
    assert cpu_features(tmp_path / "nothing") == {}


def test_switches_that_are_set_are_told_and_no_other_variable(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setenv("A_SECRET", "told to nobody")
    told = environment()
    assert told["OMP_NUM_THREADS"] == "3"
    assert "XLA_FLAGS" not in told
    assert "A_SECRET" not in told


def test_it_tells_libraries_platform_and_processors():
    told = environment()
    assert {"python", "platform", "onnx", "numpy", "cpus"} <= set(told)
    assert int(told["cpus"]) >= 1
