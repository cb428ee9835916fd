"""Files of the suite outside of its Python modules, in an installation and in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE_FOLDER = Path(__file__).resolve().parents[2]
"""Folder of the package `conformance`."""


def find_suite_path(installed: str, in_checkout: str) -> Path:
    """Return the path of a file or folder: in the installed package if it exists there, else in the checkout.

    Args:
        installed: path in the folder of the package.
        in_checkout: path in the top-level folder of the checkout.
    """
    path = PACKAGE_FOLDER / installed
    return path if path.exists() else PACKAGE_FOLDER.parent / in_checkout


def has_generators() -> bool:
    """Return whether the generators of the corpus are beside it, as in a checkout; an installation has none."""
    return find_suite_path("corpus.zip", "data").with_name("generators").is_dir()
