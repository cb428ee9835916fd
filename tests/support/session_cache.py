"""Values that are computed once in a run of pytest with several processes."""

from __future__ import annotations

import fcntl
import os
import pickle
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

T = TypeVar("T")


def compute_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """Return the value of `make`: the first process computes it, and the others wait and read it."""
    path = shared_directory(factory) / f"{name}.pickle"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())


def shared_directory(factory: pytest.TempPathFactory) -> Path:
    """Return a directory that all processes of one run share."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
