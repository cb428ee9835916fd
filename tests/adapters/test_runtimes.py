"""Table of released runtimes, runtimes.toml: pins, and agreement with pyproject.toml and the expectations."""

from __future__ import annotations

import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from repository import ROOT

WITHOUT_EXTRA = {"onnx-reference", "onnxruntime-openvino"}
"""The first is a part of onnx, a dependency of the suite; the package of the extra would overwrite the second."""

COMMAND_EXTRAS = {"census", "dask"}
"""Extras for commands, without a runtime."""


def toml(path):
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


PROJECT = toml("pyproject.toml")["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINNED = toml("conformance/adapters/runtimes.toml")
OPTIMIZERS = PINNED["optimizers"]
HARNESSES, RUNTIMES = (
    {
        name: runtime
        for name, runtime in PINNED["runtimes"].items()
        if runtime["subject"].startswith("exec:") is is_harness
    }
    for is_harness in (True, False)
)


def entry(subject):
    """Return the entry point of a subject."""
    return subject.partition("[")[0]


def pins(runtime):
    """Return the pinned version of each package of a runtime."""
    named = [Requirement(text) for text in (*runtime.get("requirements", ()), *runtime.get("bare", ()))]
    assert all([one.operator for one in requirement.specifier] == ["=="] for requirement in named)
    return {requirement.name: next(iter(requirement.specifier)).version for requirement in named}


def unsatisfied(requirements, versions):
    """Return the requirements that the pinned versions do not satisfy."""
    return [text for text in requirements if not is_satisfied(Requirement(text), versions)]


def is_satisfied(requirement, versions):
    return requirement.name in versions and requirement.specifier.contains(versions[requirement.name])


@pytest.mark.parametrize("name", sorted(set(RUNTIMES) - WITHOUT_EXTRA))
def test_pins_of_runtime_satisfy_its_extra(name):
    assert not unsatisfied(EXTRAS[entry(RUNTIMES[name]["subject"])], pins(RUNTIMES[name]))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_pins_of_optimizer_satisfy_its_extra(name):
    assert not unsatisfied(EXTRAS[name], pins(OPTIMIZERS[name]))


def test_extras_belong_to_subjects_or_commands():
    runtimes = {entry(runtime["subject"]) for runtime in RUNTIMES.values()}
    assert set(EXTRAS) - COMMAND_EXTRAS == runtimes - WITHOUT_EXTRA | set(OPTIMIZERS)


def test_subjects_all_have_an_entry_point():
    backends, optimizers = (
        set(PROJECT["entry-points"][f"onnx_conformance.{kind}"]) for kind in ("backends", "optimizers")
    )
    assert {entry(runtime["subject"]) for runtime in RUNTIMES.values()} <= backends
    assert {entry(subject) for runtime in OPTIMIZERS.values() for subject in runtime["subjects"]} <= optimizers


def test_runtimes_all_have_an_expectations_file():
    subjects = {name: runtime["subject"] for name, runtime in (RUNTIMES | HARNESSES).items()}
    assert {name: toml(f"expectations/{name}.toml")["subject"] for name in subjects} == subjects


def test_packages_are_pinned_to_one_version():
    found = {pin for runtime in chain(RUNTIMES.values(), OPTIMIZERS.values()) for pin in pins(runtime).items()}
    assert len(found) == len(dict(found))


def test_tested_versions_satisfy_dependencies():
    required = [text for text in PROJECT["dependencies"] if Requirement(text).name in {"onnx", "numpy"}]
    assert not [pair for pair in PINNED["versions"] if unsatisfied(required, pair)]


def test_runtimes_of_tests_are_pinned():
    assert set(PINNED["tests"]) <= set(RUNTIMES)


def test_recorded_dependencies_name_compilers():
    assert {entry(runtime["subject"]) for runtime in RUNTIMES.values()} >= set(PINNED["dependencies"])
    assert all(runtime["tried_with"] for runtime in PINNED["dependencies"].values())


def test_recorded_libraries_are_pinned():
    installed = {entry(runtime["subject"]): set(pins(runtime)) | {"jaxlib"} for runtime in RUNTIMES.values()}
    assert not [
        name for name, runtime in PINNED["dependencies"].items() if {*runtime.get("libraries", ())} - installed[name]
    ]
