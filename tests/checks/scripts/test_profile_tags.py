"""checks/measurements/profile_tags.py: tags of the documents of a profile, and tags that came or went."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from script_modules import script_module

from conformance.studies.evidence.requirement_maps import read_map

DOCUMENT = Path(__file__).with_name("profile.md").read_text("utf-8")

TAGS = [
    "real/restrictions/R1",
    "real/informal",
    "real/informal/t1",
    "real/attributes/axis/C1",
    "float/inputs/X/C1",
    "float/inputs/X/E_ARGMAX_FLOAT_CONSTR_X_0010",
    "float/accuracy",
]


@pytest.fixture
def script():
    return script_module("profile_tags")


def test_tags_are_named_by_type_section_and_item(script):
    assert list(script.tags_of(DOCUMENT)) == TAGS


def test_numbered_headings_are_tags(script):
    text = (
        "- <a id='GR1'></a>`[GR1]` No\n## Informal specification\n### REQ `OP 003`: `Accuracy`\n### NEED THAV-000: X\n"
    )
    assert list(script.tags_of(text)) == ["GR1", "OP-003", "THAV-000"]


def test_tags_that_came_or_went_are_listed(script, tmp_path):
    digest = hashlib.sha256(DOCUMENT.encode()).hexdigest()
    entries = [*TAGS[1:], "float/gone"]
    requirements = "".join(
        f'[[requirement]]\nsource = "a"\ntag = "{tag}"\ntitle = "t"\nreason = "r"\n' for tag in entries
    )
    head = f'format = 1\nname = "n"\ntitle = "t"\n[[source]]\nid = "a"\npath = "a.md"\nsha256 = "{digest}"\n'
    (tmp_path / "map.toml").write_text(head + requirements)
    found = read_map(tmp_path / "map.toml")
    source = found.sources["a"]
    assert list(script.compare(found, source, DOCUMENT)) == [f"+ a/{TAGS[0]}", "- a/float/gone"]
    assert next(script.compare(found, source, DOCUMENT + "\n")).startswith("! a: a.md differs")
    assert list(script.compare(found, source, None)) == ["! a: a.md is missing"]
