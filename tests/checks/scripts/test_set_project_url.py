"""scripts/set_project_url.py: the address in all files that contain it."""

from __future__ import annotations

import tomllib

import pytest
import yaml
from repository import ROOT
from script_modules import script_module

from conformance import PROJECT_URL, __version__

script = script_module("set_project_url")

OWNER = "owner"
URL = f"https://example.org/{OWNER}/onnx-conformance"


@pytest.mark.parametrize("name", script.PLACES)
def test_files_have_the_address_of_the_constant(name):
    text = (ROOT / name).read_text()
    assert script.set_url(name, text, PROJECT_URL) == text


@pytest.mark.parametrize("name", script.PLACES)
def test_set_url_adds_replaces_and_removes_the_address(name):
    bare = script.set_url(name, (ROOT / name).read_text(), "")
    first = script.set_url(name, bare, URL)
    other = script.set_url(name, first, f"{URL}-2")
    assert f"{OWNER}/onnx-conformance" in first
    assert other.count(f"{OWNER}/onnx-conformance") == other.count(f"{OWNER}/onnx-conformance-2")
    assert script.set_url(name, first, URL) == first
    assert script.set_url(name, other, "") == bare


def test_set_url_keeps_files_valid():
    texts = {name: script.set_url(name, (ROOT / name).read_text(), URL) for name in script.PLACES}
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    recipe = yaml.safe_load(texts["packaging/conda-forge/recipe.yaml"])
    assert project["urls"] == {"Homepage": URL, "Issues": f"{URL}/issues", "Changelog": f"{URL}/blob/main/CHANGELOG.md"}
    assert yaml.safe_load(texts["CITATION.cff"])["repository-code"] == URL
    assert recipe["source"]["url"].startswith(f"{URL}/releases/download/v")
    assert (recipe["about"]["homepage"], recipe["extra"]) == (URL, {"recipe-maintainers": [OWNER]})
    assert texts["docs/tutorial.md"].count(f"uses: {OWNER}/onnx-conformance@v0\n") == 2


def test_readme_of_the_package_has_absolute_links_if_there_is_an_address():
    text = "[a](docs/a.md#b) [b](https://example.org) [c](#part)"
    assert script.absolute_links(text, "") == text
    assert script.absolute_links(text, URL) == f"[a]({URL}/blob/main/docs/a.md#b) [b](https://example.org) [c](#part)"
    assert script.published_readme(ROOT) == script.absolute_links((ROOT / "README.md").read_text(), PROJECT_URL)


def test_every_place_of_the_owner_is_set():
    pages = [path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if "OWNER/" in path.read_text()]
    assert {path.relative_to(ROOT).as_posix() for path in pages} <= script.PLACES.keys()


def test_citation_has_the_version_and_the_authors_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == __version__
    assert citation["authors"] == project["authors"]
