"""Values that are computed once in a run of pytest with several processes."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from repository import DATA

from conformance.corpus.generation.generators import bundled_generators, define_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from conformance.corpus.cases.case import Case

T = TypeVar("T")


def compute_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], T], *, wait: bool = True) -> T:
    """Return the value of `make`: the first process computes it, and the others wait and read it.

    Raises:
        BlockingIOError: another process computes the value, and `wait` is false.
    """
    path = shared_directory(factory) / f"{name}.pickle"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not path.exists():
            path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())


class DefinedCases(Mapping[str, tuple[str, "Case"]]):
    """The cases of the generators with the names of their generators, by id.

    A generator runs when one of its cases is used, and in one process only: all generators together take 12 seconds.
    """

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._by_generator: dict[str, dict[str, tuple[str, Case]]] = {}

    def __getitem__(self, id: str) -> tuple[str, Case]:
        committed = next(DATA.glob(f"*/{id}/case.json"), None)
        generator = json.loads(committed.read_bytes())["generator"] if committed else None
        if generator in bundled_generators() and id in (cases := self._cases_of(generator)):
            return cases[id]
        return self._all[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, tuple[str, Case]]:
        """The cases of all generators. Generators that run in another process come last."""
        for wait in (False, True):
            for generator in bundled_generators():
                with suppress(BlockingIOError):
                    self._cases_of(generator, wait=wait)
        return {id: case for name in bundled_generators() for id, case in self._by_generator[name].items()}

    def _cases_of(self, generator: str, *, wait: bool = True) -> dict[str, tuple[str, Case]]:
        if generator not in self._by_generator:
            cases = compute_once(self._factory, f"defined-{generator}", lambda: define_cases([generator]), wait=wait)
            self._by_generator[generator] = {case.id: (generator, case) for _, case in cases}
        return self._by_generator[generator]


def shared_directory(factory: pytest.TempPathFactory) -> Path:
    """Return a directory that all processes of one run share."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
