"""scripts/home.py: where the project lives is one constant, and the files that cannot read it say the same."""

from __future__ import annotations

import tomllib
from importlib.util import module_from_spec, spec_from_file_location

import pytest
import yaml
from repository import ROOT

from conformance import HOME, __version__

SPEC = spec_from_file_location("home", ROOT / "scripts" / "home.py")
home = module_from_spec(SPEC)
SPEC.loader.exec_module(home)

URL = "https://example.org/onnx-conformance"


@pytest.mark.parametrize("name", home.PLACES)
def test_every_file_says_what_the_constant_says(name):
    text = (ROOT / name).read_text()
    assert home.with_home(name, text, HOME) == text


@pytest.mark.parametrize("name", home.PLACES)
def test_an_address_comes_goes_and_changes_without_a_trace(name):
    bare = home.with_home(name, (ROOT / name).read_text(), "")
    first = home.with_home(name, bare, URL)
    assert first != bare
    assert first.count(URL) == 1
    assert home.with_home(name, first, f"{URL}/2").count(f"{URL}/2") == 1
    assert home.with_home(name, first, "") == bare


def test_the_files_stay_what_they_are():
    texts = {name: home.with_home(name, (ROOT / name).read_text(), URL) for name in home.PLACES}
    assert tomllib.loads(texts["pyproject.toml"])["project"]["urls"] == {"Homepage": URL}
    assert yaml.safe_load(texts["CITATION.cff"])["repository-code"] == URL


def test_the_citation_has_the_suite_s_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
