"""Identity of a subject besides its version and its process: the code of its adapter."""

from __future__ import annotations

from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from conformance.subjects.request import adapter_module

if TYPE_CHECKING:
    from conformance.subjects.naming import SubjectName

ADAPTER_DIGEST_LENGTH = 12
"""Hexadecimal digits of an adapter's digest."""


def adapter_digest(named: SubjectName) -> str | None:
    """Return a digest of the files that connect a subject to the suite; None if it has no adapter of this suite."""
    module = adapter_module(named)
    if not module:
        return None
    folder = resources.files("conformance.adapters")
    package = ["optimizers/__init__.py"] if module.startswith("optimizers.") else []
    digest = sha256()
    for file in (f"{module.replace('.', '/')}.py", *package, "server.py"):
        digest.update(folder.joinpath(file).read_bytes())
    digest.update(resources.files("conformance.subjects").joinpath("harness.py").read_bytes())
    return digest.hexdigest()[:ADAPTER_DIGEST_LENGTH]
