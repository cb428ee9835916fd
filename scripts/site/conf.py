"""The documentation's site: Sphinx makes it of the pages as they lie in the repository, which are read there as well.

nox -s docs
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "onnx-conformance"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "expectations/*.md", "harnesses/*.md", "reports/**.md"]
exclude_patterns = [".*", "data"]
myst_heading_anchors = 4
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False

CONTENTS = {
    "Test your own": (
        "docs/test-your-backend",
        "docs/read-a-report",
        "docs/ci",
        "docs/environments",
        "docs/harness",
        "docs/judge-without-python",
        "docs/search",
        "docs/campaigns",
    ),
    "Results": (
        "reports/scoreboard/README",
        "docs/findings/README",
        "docs/hazards",
        "docs/census",
        "reports/census/README",
        "reports/README",
    ),
    "Reference": ("docs/levels-and-rulings", "docs/formats", "docs/rooms", "expectations/README", "harnesses/README"),
    "Add": ("docs/add-a-case", "docs/add-a-runtime", "docs/add-an-operator"),
    "Project": ("CONTRIBUTING", "SECURITY", "CHANGELOG"),
}
PARTS = {
    "docs/findings/README": {"Runtimes and optimizers": ("docs/findings/*",)},
    "reports/census/README": {"Tables": ("reports/census/*",)},
}
"""Pages below others, for which no page of the repository needs a list of its own."""


def add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    """Put a hidden list of contents at the end of a page that has pages below it."""
    parts = CONTENTS if page == root_doc else PARTS.get(page, {})
    for caption, pages in parts.items():
        lines = "\n".join(f"/{name}" for name in pages)
        source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n:glob:\n\n{lines}\n```\n"


def add_first_page(app: Sphinx, _: Exception | None) -> None:
    """Give the page that a visitor of the site comes to the name that servers look for."""
    shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Let Sphinx ask for the contents, and add the first page."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_first_page)
