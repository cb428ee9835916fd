"""Identity of a subject besides its version: Python and packages of its process, and the code of its adapter."""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.plugins import registered_entry_points

if TYPE_CHECKING:
    from conformance.subjects.naming import SubjectName

ADAPTER_DIGEST_LENGTH = 12
"""Hexadecimal digits of an adapter's digest."""

_ADAPTERS = "conformance.adapters."
_NOT_ADAPTERS = {"reference", "optimizers.identity"}
"""Subjects of the suite itself in the folder of the adapters; the version of the suite identifies them."""


def installed_packages() -> list[str]:
    """Return the packages on the import path of this process, as `name==version`, sorted by name.

    The names are those of their metadata folders, because reading the metadata of all packages takes longer.
    """
    found: dict[str, str] = {}
    for folder in map(Path, sys.path):
        for path in folder.glob("*.*-info") if folder.is_dir() else ():
            name, _, version = path.name.rpartition(".")[0].partition("-")
            if version:
                found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version.partition("-py")[0])
    return sorted(f"{name}=={version}" for name, version in found.items())


def adapter_digest(named: SubjectName) -> str | None:
    """Return a digest of the files that connect a subject to the suite; None if it has no adapter of this suite."""
    point = None if named.is_command else registered_entry_points(named.kind.group).get(named.name)
    module = point.module.removeprefix(_ADAPTERS) if point is not None and point.module.startswith(_ADAPTERS) else ""
    if not module or module in _NOT_ADAPTERS:
        return None
    folder = resources.files("conformance.adapters")
    package = ["optimizers/__init__.py"] if module.startswith("optimizers.") else []
    digest = sha256()
    for file in (f"{module.replace('.', '/')}.py", *package, "server.py"):
        digest.update(folder.joinpath(file).read_bytes())
    return digest.hexdigest()[:ADAPTER_DIGEST_LENGTH]
