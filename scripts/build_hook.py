"""Hook of the build of the wheel: the corpus becomes one archive in the package.

hatchling runs the hook. An editable installation reads `data/` in the checkout instead.
"""

from __future__ import annotations

import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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


def _write_archive(root: Path, target: Path) -> None:
    """Write the archive with the module of the package; the package itself cannot be imported during a build."""
    spec = spec_from_file_location("corpus_archive", root / "conformance" / "corpus" / "cases" / "archive.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_archive(root / "data", target)
