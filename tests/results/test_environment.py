"""Facts on the environment of a run."""

from __future__ import annotations

import pytest

from conformance.results.environment import cpu_features, describe_environment

X86 = "processor\t: 0\nflags\t\t: fpu avx2 sse4_2 fma avx512f rdtscp\n\nprocessor\t: 1\nflags\t\t: fpu\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd evtstrm sve\n"


@pytest.mark.parametrize(("cpuinfo", "features"), [(X86, "avx2 avx512f fma sse4_2"), (ARM, "asimd sve")])
def test_cpu_features_are_known_ones_in_order(tmp_path, cpuinfo, features):
    source = tmp_path / "cpuinfo"
    source.write_text(cpuinfo)
    assert cpu_features(source) == {"cpu features": features}


def test_cpu_features_without_cpuinfo_are_empty(tmp_path):
    assert cpu_features(tmp_path / "nothing") == {}


def test_environment_has_library_variables_only(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.setenv("A_SECRET", "must not be recorded")
    facts = describe_environment()
    assert facts["OMP_NUM_THREADS"] == "3"
    assert "XLA_FLAGS" not in facts
    assert "A_SECRET" not in facts


def test_environment_has_libraries_platform_and_processors():
    facts = describe_environment()
    assert {"python", "platform", "onnx", "numpy", "cpus"} <= set(facts)
    assert int(facts["cpus"]) >= 1
