"""Start of subjects at the same time, each in its own process unless isolation is off.

Every verb with -b or -o starts its subjects here, usually by `started_subjects`. A subject runs in the Python that its
name requests: that of this process, of the option `python`, or of the environment of its release.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import deferred_signals
from conformance.subjects.calling.subject_names import Subject, SubjectKind
from conformance.subjects.environments.registry import find_interpreter
from conformance.subjects.isolation.subject_client import SubjectClient

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.subjects.calling.subject_names import SubjectName
    from conformance.subjects.isolation.protocol import Limits, SubjectInfo


class StartingSubjects:
    """Subjects that are starting in parallel, because importing a runtime is mostly waiting.

    Args:
        named: the subjects.
        limits: limits of each process.
        known_infos: properties of subjects that were started before in this run, by their names. Such a subject starts
            later, when the first case needs it.
        in_process: whether subjects written in Python run in this process.
        implements: passes that are assumed for graph optimizers which do not declare their passes.
        python: interpreter for subjects written in Python that name neither a release nor an interpreter; None for the
            Python of this process.

    Raises:
        ConformanceError: the program, the interpreter or the environment of a subject does not exist. No process is
            started then.
    """

    def __init__(
        self,
        named: Sequence[SubjectName],
        limits: Limits,
        known_infos: Mapping[str, SubjectInfo],
        *,
        in_process: bool = False,
        implements: tuple[str, ...] = (),
        python: Path | None = None,
    ) -> None:
        self._implements = implements
        self._named = named
        pythons = {each: None if each.is_command else find_interpreter(each, python) for each in named}
        isolated = [each for each in named if each.is_command or pythons[each] is not None or not in_process]
        self._clients = {
            each: SubjectClient(each, limits, known_infos.get(each.text), pythons[each]) for each in isolated
        }
        self._errors: dict[SubjectName, Exception] = {}
        self._started = {each: Event() for each in self._clients}
        try:
            with deferred_signals():
                for each in self._clients:
                    Thread(target=self._request_info, args=(each,), daemon=True).start()
        except KeyboardInterrupt:  # without `end`, a thread would leave the folder of the process that it starts
            self.end()
            raise

    def subjects(self) -> list[Subject]:
        """Wait until all subjects have started, and return them.

        Raises:
            ConformanceError: a subject cannot be loaded; all processes are ended then.
        """
        try:
            self._join()
            self._raise_first_error()
            return [self._subject(each) for each in self._named]
        except (Exception, KeyboardInterrupt):
            self.end()
            raise

    def end(self) -> None:
        """End all processes."""
        self._join()
        for client in self._clients.values():
            client.end()

    def _request_info(self, named: SubjectName) -> None:
        try:
            self._clients[named].info()
        except Exception as error:  # noqa: BLE001 - `subjects` raises it
            self._errors[named] = error
        finally:
            self._started[named].set()

    def _raise_first_error(self) -> None:
        for named in self._clients:
            if named in self._errors:
                raise self._errors[named]

    def _join(self) -> None:
        for started in self._started.values():
            started.wait()  # after an interruption, Thread.join of Python 3.11 takes a running thread for an ended one

    def _subject(self, named: SubjectName) -> Subject:
        from conformance.subjects.isolation.proxies import (  # late: subjects start before the import
            BackendProxy,
            OptimizerProxy,
        )

        client = self._clients.get(named)
        if client is None:
            from conformance.subjects.calling.subject_loading import load_subject

            return load_subject(named, self._implements)
        info = client.info()
        passes: tuple[str, ...] = ()
        target: BackendProxy | OptimizerProxy = BackendProxy(client)
        if named.kind is SubjectKind.OPTIMIZER:
            passes = self._implements if info.passes is None else info.passes
            target = OptimizerProxy(client, passes, fixed_point=info.fixed_point)
        return Subject(
            named.text,
            info.version,
            target,
            named.kind,
            passes,
            info.language,
            info.provider,
            python=info.python,
            packages=info.packages,
        )


@contextmanager
def started_subjects(
    named: Sequence[SubjectName],
    limits: Limits,
    *,
    no_isolation: bool = False,
    implements: tuple[str, ...] = (),
    python: Path | None = None,
) -> Iterator[list[Subject]]:
    """Start subjects, yield them in the order of their names, and end their processes with the block.

    Args:
        named: the subjects.
        limits: limits of each process.
        no_isolation: whether subjects written in Python run in this process, if they do not request another Python.
        implements: passes that are assumed for graph optimizers which do not declare their passes.
        python: interpreter for subjects written in Python that name neither a release nor an interpreter.

    Raises:
        ConformanceError: a subject cannot be started.
    """
    starting = StartingSubjects(named, limits, {}, in_process=no_isolation, implements=implements, python=python)
    try:
        yield starting.subjects()
    finally:
        starting.end()


def clients_of(subjects: Iterable[Subject]) -> dict[str, SubjectClient]:
    """Return the clients of the subjects with a process of their own, by the id of the subject."""
    return {subject.id: client for subject in subjects if (client := client_of(subject)) is not None}


def client_of(subject: Subject) -> SubjectClient | None:
    """Return the client of a subject's process; None if the subject runs in this process."""
    from conformance.subjects.isolation.proxies import BackendProxy, OptimizerProxy

    return subject.target.client if isinstance(subject.target, BackendProxy | OptimizerProxy) else None
