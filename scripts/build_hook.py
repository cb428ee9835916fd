"""Hooks of the build: the corpus becomes one archive in the wheel, and the links of the README lead to the project.

hatchling runs the hooks. An editable installation reads `data/` in the checkout instead of the archive.
"""

from __future__ import annotations

import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

if TYPE_CHECKING:
    from types import ModuleType


class CorpusArchiveHook(BuildHookInterface[Any]):
    """Adds `conformance/corpus.zip` to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the archive to a temporary folder, and include the archive in the wheel."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="onnx-conformance-build-")
        target = Path(self._folder.name) / "corpus.zip"
        _write_archive(Path(self.root), target)
        build_data["force_include"][str(target)] = "conformance/corpus.zip"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the temporary folder."""
        if version != "editable":
            self._folder.cleanup()


class ReadmeHook(MetadataHookInterface):
    """Sets the README of the package, which PyPI shows: its relative links would lead nowhere there."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the text of the README in the metadata."""
        root = Path(self.root)
        text = _load_module(root / "scripts" / "set_project_url.py").published_readme(root)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _write_archive(root: Path, target: Path) -> None:
    """Write the archive with the module of the package; the package itself cannot be imported during a build."""
    _load_module(root / "conformance" / "corpus" / "cases" / "archive.py").write_archive(root / "data", target)


def _load_module(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
