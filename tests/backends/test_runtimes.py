"""What is told of released runtimes: once, pinned, and as pyproject.toml has it."""

from __future__ import annotations

import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from repository import ROOT

WITHOUT_EXTRA = {"onnx-reference", "onnxruntime-openvino"}
"""The first comes with onnx, which the suite needs itself; what the adapter's extra has would overwrite the second."""

OF_VERBS = {"census", "dask"}
"""Extras of what verbs need, and no runtime."""


def toml(path):
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


PROJECT = toml("pyproject.toml")["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINNED = toml("conformance/backends/runtimes.toml")
OPTIMIZERS = PINNED["optimizers"]
HARNESSES, RUNTIMES = (
    {name: told for name, told in PINNED["runtimes"].items() if told["subject"].startswith("exec:") is is_harness}
    for is_harness in (True, False)
)


def entry(subject):
    """The entry point that a subject's text names."""
    return subject.partition("[")[0]


def pins(told):
    """The version of each package that is installed."""
    named = [Requirement(text) for text in (*told.get("requirements", ()), *told.get("bare", ()))]
    assert all([one.operator for one in requirement.specifier] == ["=="] for requirement in named)
    return {requirement.name: next(iter(requirement.specifier)).version for requirement in named}


def not_met(requirements, versions):
    """The requirements that pinned versions do not meet."""
    return [text for text in requirements if not met(Requirement(text), versions)]


def met(requirement, versions):
    return requirement.name in versions and requirement.specifier.contains(versions[requirement.name])


@pytest.mark.parametrize("name", sorted(set(RUNTIMES) - WITHOUT_EXTRA))
def test_a_runtime_s_pins_are_what_its_extra_asks_for(name):
    assert not not_met(EXTRAS[entry(RUNTIMES[name]["subject"])], pins(RUNTIMES[name]))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_graph_optimizer_s_pins_are_what_its_extra_asks_for(name):
    assert not not_met(EXTRAS[name], pins(OPTIMIZERS[name]))


def test_every_extra_is_of_a_runtime_a_graph_optimizer_or_a_verb():
    runtimes = {entry(told["subject"]) for told in RUNTIMES.values()}
    assert set(EXTRAS) - OF_VERBS == runtimes - WITHOUT_EXTRA | set(OPTIMIZERS)


def test_every_subject_is_an_entry_point():
    backends, optimizers = (
        set(PROJECT["entry-points"][f"onnx_conformance.{kind}"]) for kind in ("backends", "optimizers")
    )
    assert {entry(told["subject"]) for told in RUNTIMES.values()} <= backends
    assert {entry(subject) for told in OPTIMIZERS.values() for subject in told["subjects"]} <= optimizers


def test_every_runtime_has_an_expectations_file_about_its_subject():
    told = {name: runtime["subject"] for name, runtime in (RUNTIMES | HARNESSES).items()}
    assert {name: toml(f"expectations/{name}.toml")["subject"] for name in told} == told


def test_a_package_has_one_version():
    found = {pin for told in chain(RUNTIMES.values(), OPTIMIZERS.values()) for pin in pins(told).items()}
    assert len(found) == len(dict(found))


def test_the_oldest_and_newest_versions_are_what_the_suite_asks_for():
    asked = [text for text in PROJECT["dependencies"] if Requirement(text).name in {"onnx", "numpy"}]
    assert not [pair for pair in PINNED["versions"] if not_met(asked, pair)]


def test_the_suite_s_own_tests_run_runtimes_of_these():
    assert set(PINNED["tests"]) <= set(RUNTIMES)


def test_noxfile_has_sessions_and_no_data():
    assert len((ROOT / "noxfile.py").read_text(encoding="utf-8").splitlines()) <= 200


def test_runtimes_with_dependencies_are_known_and_name_what_compiled():
    assert {entry(told["subject"]) for told in RUNTIMES.values()} >= set(PINNED["dependencies"])
    assert all(told["tried_with"] for told in PINNED["dependencies"].values())


def test_libraries_that_are_recorded_are_installed():
    installed = {entry(told["subject"]): set(pins(told)) | {"jaxlib"} for told in RUNTIMES.values()}
    assert not [name for name, told in PINNED["dependencies"].items() if {*told.get("libraries", ())} - installed[name]]
