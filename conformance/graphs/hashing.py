"""The hash of values: equal for equal types, shapes and elements, in every process."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from conformance.models.arrays import type_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.models.arrays import Array


def hash_values(arrays: Iterable[Array]) -> str:
    """Return the SHA-256 of the types, shapes and elements of arrays; a text is hashed by its characters."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{type_name(array.dtype)}{array.shape}".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype.kind in "OUS" else array.tobytes())
    return digest.hexdigest()
