"""scripts/set_project_url.py: the address in all files that contain it."""

from __future__ import annotations

import tomllib

import pytest
import yaml
from repository import ROOT
from script_modules import script_module

from conformance import PROJECT_URL, __version__

script = script_module("set_project_url")

URL = "https://example.org/onnx-conformance"


@pytest.mark.parametrize("name", script.PLACES)
def test_files_have_the_address_of_the_constant(name):
    text = (ROOT / name).read_text()
    assert script.set_url(name, text, PROJECT_URL) == text


@pytest.mark.parametrize("name", script.PLACES)
def test_set_url_adds_replaces_and_removes_the_address(name):
    bare = script.set_url(name, (ROOT / name).read_text(), "")
    first = script.set_url(name, bare, URL)
    assert first != bare
    assert first.count(URL) == 1
    assert script.set_url(name, first, f"{URL}/2").count(f"{URL}/2") == 1
    assert script.set_url(name, first, "") == bare


def test_set_url_keeps_files_valid():
    texts = {name: script.set_url(name, (ROOT / name).read_text(), URL) for name in script.PLACES}
    assert tomllib.loads(texts["pyproject.toml"])["project"]["urls"] == {"Homepage": URL}
    assert yaml.safe_load(texts["CITATION.cff"])["repository-code"] == URL


def test_citation_has_the_version_of_the_suite():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
