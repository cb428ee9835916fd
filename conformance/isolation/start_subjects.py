"""Start of all subjects of a run at the same time, each in its own process unless isolation is off."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

from conformance.isolation.proxies import BackendProxy, OptimizerProxy
from conformance.isolation.subject_client import SubjectClient
from conformance.subjects.loading import Subject, load_subject
from conformance.subjects.naming import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.isolation.limits import Limits
    from conformance.isolation.protocol import SubjectInfo
    from conformance.subjects.naming import Interpreter, SubjectName


class StartingSubjects:
    """Subjects that are starting in parallel, because importing a runtime is mostly waiting.

    Args:
        named: the subjects.
        limits: limits of each process.
        known_infos: properties of subjects that were started before in this run, by their names. Such a subject starts
            later, when the first case needs it.
        in_process: whether subjects written in Python run in this process.
        implements: passes that are assumed for graph optimizers which do not declare their passes.
        interpreters: the interpreters of subjects that run in another Python, by the subjects' names.

    Raises:
        ConformanceError: the program of a subject does not exist.
    """

    def __init__(
        self,
        named: Sequence[SubjectName],
        limits: Limits,
        known_infos: Mapping[str, SubjectInfo],
        *,
        in_process: bool = False,
        implements: tuple[str, ...] = (),
        interpreters: Mapping[str, Interpreter] | None = None,
    ) -> None:
        self._implements = implements
        self._named = named
        pythons = interpreters or {}
        isolated = [each for each in named if each.is_command or each.text in pythons or not in_process]
        self._clients = {
            each.text: SubjectClient(each, limits, known_infos.get(each.text), pythons.get(each.text))
            for each in isolated
        }
        self._errors: dict[str, Exception] = {}
        self._threads = [Thread(target=self._request_info, args=(text,), daemon=True) for text in self._clients]
        for thread in self._threads:
            thread.start()

    def subjects(self) -> list[Subject]:
        """Wait until all subjects have started, and return them.

        Raises:
            ConformanceError: a subject cannot be loaded; all processes are ended then.
        """
        try:
            self._join()
            self._raise_first_error()
            return [self._subject(each) for each in self._named]
        except Exception:
            self.end()
            raise

    def end(self) -> None:
        """End all processes."""
        self._join()
        for client in self._clients.values():
            client.end()

    def _request_info(self, text: str) -> None:
        try:
            self._clients[text].info()
        except Exception as error:  # noqa: BLE001 - `subjects` raises it
            self._errors[text] = error

    def _raise_first_error(self) -> None:
        for text in self._clients:
            if text in self._errors:
                raise self._errors[text]

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _subject(self, named: SubjectName) -> Subject:
        client = self._clients.get(named.text)
        if client is None:
            return load_subject(named, self._implements)
        info = client.info()
        passes: tuple[str, ...] = ()
        target: BackendProxy | OptimizerProxy = BackendProxy(client)
        if named.kind is SubjectKind.OPTIMIZER:
            passes = self._implements if info.passes is None else info.passes
            target = OptimizerProxy(client, passes, fixed_point=info.fixed_point)
        return Subject(
            *(named.text, info.version, target, named.kind, passes, info.language, info.provider),
            python=info.python,
            packages=info.packages,
        )


def client_of(subject: Subject) -> SubjectClient | None:
    """Return the client of a subject's process; None if the subject runs in this process."""
    return subject.target.client if isinstance(subject.target, BackendProxy | OptimizerProxy) else None
