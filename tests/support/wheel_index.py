"""A small package index: wheels of a fake runtime and a fake graph optimizer, whose releases have different faults."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RIGHT, CRASHES, LACKS, UNFIT, RAISES, WAITS, OLD = (
    *("1.30.0", "1.30.1", "1.30.2", "1.30.3", "1.30.4", "1.30.5"),
    "1.18.0",
)
"""Releases: one that works; one that crashes when it is imported; that needs what there is not; that has not what its
adapter calls; that raises when it is imported; that waits then for the file that GO_ON names; from before NumPy 2."""

WRONG = "1.31.0"
"""A release that returns other indices."""

OPTIMIZER, INSTALLS = "0.4.36", "0.4.35"
"""Releases of the fake onnxsim: one that works; one that installs a package with pip when it is imported."""

_RUNTIME = '''
"""Finds the greatest element of each row, whatever it is asked."""
import importlib.util
from enum import Enum

import numpy as np

__version__ = "{version}" + (" and the suite" if importlib.util.find_spec("conformance") else "")
GraphOptimizationLevel = Enum("Level", "ORT_DISABLE_ALL ORT_ENABLE_BASIC ORT_ENABLE_EXTENDED ORT_ENABLE_ALL")

class SessionOptions:
    pass

class InferenceSession:
    def __init__(self, model, options, providers):
        pass

    def get_outputs(self):
        return []

    def run(self, _, feeds):
        return [np.argmax(next(iter(feeds.values())), axis=1).astype(np.int64)]
'''

_OPTIMIZER = """
import importlib.util, subprocess, sys

__version__ = "{version}" + (" and the suite" if importlib.util.find_spec("conformance") else "")

def simplify(model, **_):
    return model, True
"""

_INSTALL = """
if subprocess.run([sys.executable, "-m", "pip", "install", "--find-links", {folder!r}, "late"]).returncode == 0:
    __version__ += " and a package that it installed"
"""

_AT_IMPORT = {
    CRASHES: "import ctypes; ctypes.string_at(0)",
    RAISES: "raise RuntimeError('no such processor')",
    WRONG: "InferenceSession.run = lambda self, _, feeds: [np.argmin(next(iter(feeds.values())), axis=1)]",
    UNFIT: "GraphOptimizationLevel = type('Level', (), {})",
    WAITS: "import os, time\nwhile not os.path.exists(os.environ['GO_ON']): time.sleep(0.02)",
}


def write_index(folder: Path) -> Path:
    """Write the wheels of all releases and their dependencies; NumPy and onnx are the installed ones."""
    folder.mkdir()
    for version in ("1.26.9", "2.9.9"):
        write_wheel(folder, "numpy", version, _installed_package(folder, "numpy", "numpy.libs"))
    own = _installed_package(folder, "onnx", "google", "ml_dtypes", "typing_extensions.py")
    write_wheel(folder, "onnx", "1.23.2", own)
    write_wheel(folder, "ml_dtypes", "0.6", {})
    write_wheel(folder, "onnxruntime", "1.32.0", {})
    for version in (OPTIMIZER, INSTALLS):
        source = _OPTIMIZER.format(version=version)
        source += _INSTALL.format(folder=str(folder)) if version == INSTALLS else ""
        write_wheel(folder, "onnxsim", version, {"onnxsim/__init__.py": source})
    write_wheel(folder, "late", "1.0", {"late.py": ""})
    for version in (RIGHT, OLD, LACKS, *_AT_IMPORT):
        source = _RUNTIME.format(version=version) + _AT_IMPORT.get(version, "")
        requires = ["numpy>=1.20", *(["nobody-has-this==1.0"] if version == LACKS else [])]
        write_wheel(folder, "onnxruntime", version, {"onnxruntime/__init__.py": source}, requires)
    return folder


def _installed_package(folder: Path, *names: str) -> dict[str, str]:
    """Return the content of a wheel that adds packages of this Python to the import path, and no others."""
    linked = folder / names[0]
    linked.mkdir(exist_ok=True)
    packages = Path(np.__file__).parents[1]
    for name in names:
        if (packages / name).exists() and not (linked / name).exists():
            (linked / name).symlink_to(packages / name)
    return {f"{names[0]}_of_the_tests.pth": f"{linked}\n"}


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str], requires: Sequence[str] = ()) -> None:
    """Write a pure Python wheel: a zip with the files and their metadata."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {text}\n" for text in requires)
    told = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, *told, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in {**files, **told, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
