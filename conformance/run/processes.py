"""The processes of a run's subjects under pytest: one at a time, told to xdist's workers, ended whatever happens."""

from __future__ import annotations

import signal
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from conformance.isolation.backend_proxy import BackendProxy
from conformance.isolation.introduction import Introduction
from conformance.isolation.starting import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from subprocess import Popen

    from conformance.isolation.host import Host
    from conformance.subjects.loading import Subject

INTRODUCTIONS = "onnx_conformance_introductions"
"""Under which key of xdist's `workerinput` the subjects' introductions are."""


class Processes:
    """A pytest plugin that keeps the processes of isolated subjects; without such subjects it does nothing."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._hosts = {subject.id: host for subject in subjects if (host := host_of(subject)) is not None}
        self._running: Host | None = None
        self._workers: list[Popen[bytes] | None] = []

    def turn_to(self, subject: Subject) -> None:
        """Stop the process of the subject before: cases come subject after subject."""
        host = self._hosts.get(subject.id)
        if self._running is not None and self._running is not host:
            self._running.stop()
        self._running = host

    def meanwhile(self, subject: Subject, work: Iterator[None]) -> None:
        """Have something done, step by step, while a subject works, if it is in a process of its own."""
        host = self._hosts.get(subject.id)
        if host is not None:
            host.meanwhile = work

    def beginning_early(self, subject: Subject) -> BackendProxy | None:
        """A backend that can load the next model early: one in a process of its own that tells how long that took."""
        backend = subject.target
        return backend if isinstance(backend, BackendProxy) and backend.tells_seconds else None

    def said_by(self, subject: Subject) -> str:
        """What a subject wrote on standard error during its last case, if it is in a process of its own."""
        host = self._hosts.get(subject.id)
        return host.said() if host is not None else ""

    def stop(self) -> None:
        """Stop all."""
        for host in self._hosts.values():
            host.stop()

    def end(self) -> None:
        """Kill all."""
        for host in self._hosts.values():
            host.end()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker how the subjects introduced themselves; the processes from now on are the workers'."""
        self.stop()
        node.workerinput[INTRODUCTIONS] = {id: asdict(host.introduced()) for id, host in self._hosts.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        """Know a worker's process, as far as execnet started it here."""
        self._workers.append(getattr(getattr(node.gateway, "_io", None), "popen", None))

    def pytest_keyboard_interrupt(self) -> None:
        """Kill what runs; interrupt the workers too, which only a terminal would have done."""
        self.end()
        for worker in self._workers:
            if worker is not None:
                worker.send_signal(signal.SIGINT)

    def pytest_unconfigure(self) -> None:
        """Leave nothing running."""
        self.stop()


def introductions(workerinput: Mapping[str, Any]) -> dict[str, Introduction]:
    """The introductions that a worker was told; none in any other process."""
    told = workerinput.get(INTRODUCTIONS, {})
    passes = {id: None if one["passes"] is None else tuple(one["passes"]) for id, one in told.items()}
    return {id: Introduction(**{**one, "passes": passes[id]}) for id, one in told.items()}
