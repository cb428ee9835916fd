"""The recipes for authors of tests pass in this process; `test_commands.py` types the commands of their pages."""

from __future__ import annotations

import inspect
import runpy
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from documentation import DOCS, read_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RECIPES = {
    "judge_softmax.py": "judge-an-output.md",
    "test_softmax.py": "judge-an-output.md",
    "test_files.py": "judge-an-output.md",
    "test_torch_onnx.py": "use-it-where-you-are.md",
    "test_onnxscript.py": "use-it-where-you-are.md",
    "test_array_api.py": "use-it-where-you-are.md",
    "cell.py": "use-it-where-you-are.md",
}
"""The page of each recipe; the recipe for kernels is on a page whose commands each continuous integration types."""

LIBRARIES = {"test_torch_onnx.py": "torch", "test_onnxscript.py": "onnxscript"}

CHOSEN = {"name": ["abs", "exp"]}
"""Some of the values of a parameter of a recipe."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECIPES)
def test_recipe_passes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in LIBRARIES and find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(read_page(DOCS / "how-to" / RECIPES[name]).files[name], encoding="utf-8")
    functions = [each for key, each in runpy.run_path(name).items() if key.startswith("test_")]
    assert bool(functions) == name.startswith("test_")
    for function in functions:
        for arguments in calls(function, tmp_path):
            function(**arguments)


def calls(function: Callable[..., None], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each call of a test, which has at most one parameter."""
    for name in inspect.signature(function).parameters:
        yield from ({name: each} for each in CHOSEN.get(name, [folder]))
        return
    yield {}
