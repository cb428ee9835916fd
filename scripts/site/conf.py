"""Sphinx configuration of the documentation site, made from the Markdown pages of the repository.

Usage: nox -s docs
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
include_patterns = [
    "*.md",
    "docs/**.md",
    "expectations/*.md",
    "harnesses/*.md",
    "reports/**.md",
    "checks/upstream/*.md",
]
exclude_patterns = [".*", "data", "reports/passes/reports.md"]  # the last one is a part of another page
myst_heading_anchors = 4
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False

CONTENTS = {
    "Start": ("docs/tutorial", "docs/glossary"),
    "Test a runtime or an optimizer": (
        "docs/how-to/test-a-backend",
        "docs/how-to/test-a-graph-optimizer",
        "docs/how-to/test-a-provider",
        "docs/how-to/write-a-harness",
        "docs/how-to/use-pytest",
        "docs/how-to/test-releases",
        "docs/how-to/follow-a-runtime-over-releases",
        "docs/how-to/judge-without-python",
        "docs/how-to/take-the-data",
        "docs/how-to/use-it-where-you-are",
        "docs/how-to/hand-over-evidence",
    ),
    "Use the results": (
        "docs/how-to/read-a-report",
        "docs/how-to/reproduce-a-failure",
        "docs/how-to/run-in-ci",
        "docs/how-to/upgrade",
    ),
    "Test an operator in Python": ("docs/how-to/judge-an-output", "docs/how-to/test-a-kernel"),
    "Test more": (
        "docs/how-to/audit-your-model",
        "docs/how-to/find-who-is-wrong",
        "docs/how-to/search-for-faults",
        "docs/how-to/test-all-of-onnx",
        "docs/how-to/test-your-models",
        "docs/how-to/run-a-census",
        "docs/how-to/use-several-workers",
    ),
    "Extend the suite": (
        "docs/contributing/add-a-case",
        "docs/contributing/add-a-runtime",
        "docs/contributing/add-an-operator",
        "docs/contributing/one-formula",
        "docs/contributing/add-a-training-optimizer",
        "docs/contributing/package-layout",
        "docs/contributing/the-way-of-a-case",
        "docs/contributing/the-way-of-an-audit",
        "docs/contributing/how-search-draws",
        "docs/contributing/check-the-bounds",
        "docs/contributing/terms",
    ),
    "Reference": (
        "docs/reference/python",
        "docs/reference/command-line",
        "docs/reference/exit-statuses",
        "docs/reference/errors",
        "docs/reference/formats",
        "docs/reference/protocol",
        "docs/reference/clauses",
        "docs/reference/optimizer-checks",
        "docs/reference/profiles",
        "expectations/README",
        "harnesses/README",
    ),
    "Explanation": (
        "docs/explanation/levels",
        "docs/explanation/bounds",
        "docs/explanation/diagnosis",
        "docs/explanation/hazards",
        "docs/explanation/search",
        "docs/explanation/census",
    ),
    "Results of released runtimes": (
        "reports/scoreboard/README",
        "reports/scoreboard/operators",
        "reports/findings/README",
        "reports/history/README",
        "checks/upstream/README",
        "reports/hazards",
        "reports/census/README",
        "reports/models/README",
        "reports/onnx-cases/README",
        "reports/onnx-cases/mutants",
        "reports/blame/README",
        "reports/passes/README",
        "reports/providers",
        "reports/sweep",
        "reports/README",
    ),
    "Project": ("CONTRIBUTING", "SECURITY", "CHANGELOG"),
}
"""Pages of the sidebar, by caption."""

PARTS = {
    "reports/findings/README": {"Runtimes and optimizers": ("reports/findings/*",)},
    "reports/census/README": {"Tables": ("reports/census/*",)},
    "reports/models/README": {"Changed models": ("reports/models/*",)},
}
"""Pages below other pages, which do not list them themselves."""


def add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    """Append a hidden table of contents to a page that has pages below it."""
    parts = CONTENTS if page == root_doc else PARTS.get(page, {})
    for caption, pages in parts.items():
        lines = "\n".join(f"/{name}" for name in pages)
        source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n:glob:\n\n{lines}\n```\n"


ACCESSIBLE = {
    'role="heading"': 'role="heading" aria-level="2"',
    '<aside class="sidebar-drawer"': '<aside aria-label="All pages" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}
"""Parts of the pages of Sphinx and of the theme, with what assistive tools and keyboards need."""


def complete_pages(app: Sphinx, _: Exception | None) -> None:
    """Make every page accessible."""
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for part, accessible in ACCESSIBLE.items():
            text = text.replace(part, accessible)
        path.write_text(text, encoding="utf-8")


def add_first_page(app: Sphinx, _: Exception | None) -> None:
    """Copy the root page to index.html, the name that web servers look for."""
    if app.builder.format == "html":
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Connect the functions to the events of Sphinx."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", complete_pages)
    app.connect("build-finished", add_first_page)
