"""packaging/conda-forge/recipe.yaml: the recipe has the requirements and the command of pyproject.toml."""

from __future__ import annotations

import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from repository import ROOT

from conformance import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = yaml.safe_load((ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))


def requirements(texts: list[str]) -> dict[str, str]:
    """Return the versions of requirements by name; conda-forge and PyPI may spell a name in two ways."""
    parsed = map(Requirement, texts)
    return {canonicalize_name(each.name): str(each.specifier) for each in parsed}


def test_recipe_has_the_requirements_of_the_package():
    wanted = requirements([*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"])
    assert requirements(RECIPE["requirements"]["run"]) == wanted


def test_recipe_has_version_licence_and_command_of_the_package():
    commands = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert RECIPE["context"]["version"] == __version__
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["build"]["python"]["entry_points"] == commands
