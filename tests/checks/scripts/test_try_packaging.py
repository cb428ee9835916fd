"""scripts/try_packaging.py: the parts that need no installation; `nox -s package` runs the whole script."""

from __future__ import annotations

import hashlib
import json
import platform

import pytest
from repository import ROOT
from script_modules import script_module

script = script_module("try_packaging")


def test_dockerfile_instructions_leave_out_comments_and_join_lines():
    text = "# comment\nFROM base\n\nRUN one \\\n    two\n"
    assert [(word, rest.split()) for word, rest in script.dockerfile_instructions(text)] == [
        ("FROM", ["base"]),
        ("RUN", ["one", "two"]),
    ]


def test_dockerfile_has_the_instructions_and_the_variables_that_the_trial_sets():
    text = (ROOT / "packaging" / "scoreboard" / "Dockerfile").read_text(encoding="utf-8")
    found = script.dockerfile_instructions(text)
    assert {word for word, _ in found} == {"FROM", "ARG", "ENV", "RUN", "CMD"}
    names = {rest.partition("=")[0] for word, rest in found if word in {"ARG", "ENV"}}
    assert names == {"SUITE", "PACKAGES", "OPTIONS", "RESULTS_DIR", "ONNX_BACKEND"}


@pytest.mark.skipif((platform.system(), platform.machine()) not in script.CONDA_PLATFORMS, reason="no conda platform")
def test_channel_has_packages_with_names_of_conda_forge_and_dependencies_of_this_platform(tmp_path):
    short = ".".join(platform.python_version_tuple()[:2])
    information = tmp_path / "environment" / "lib" / f"python{short}" / "site-packages" / "ml_dtypes-1.0.dist-info"
    information.mkdir(parents=True)
    needed = 'Requires-Dist: NumPy>=1\nRequires-Dist: other; sys_platform == "nowhere"\n'
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ml-dtypes\nVersion: 1.0\n{needed}")
    (information / "RECORD").write_text("ml_dtypes-1.0.dist-info/METADATA,,\n../../../bin/tool,,\n")
    script.write_channel(tmp_path / "channel", tmp_path / "environment")
    subdir = tmp_path / "channel" / script.CONDA_PLATFORMS[platform.system(), platform.machine()]
    packages = json.loads((subdir / "repodata.json").read_bytes())["packages.conda"]
    assert {entry["name"]: entry["depends"] for entry in packages.values()} == {
        "python": [],
        "ml_dtypes": ["python", "numpy"],
    }
    for name, entry in packages.items():
        assert hashlib.sha256((subdir / name).read_bytes()).hexdigest() == entry["sha256"]
