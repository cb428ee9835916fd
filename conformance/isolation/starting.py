"""The subjects of a run, each in a process of its own, started while the run is got ready."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

from conformance.isolation.backend_proxy import BackendProxy
from conformance.isolation.host import Host
from conformance.isolation.optimizer_proxy import OptimizerProxy
from conformance.subjects.loading import Subject, load_subject
from conformance.subjects.naming import SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.isolation.introduction import Introduction
    from conformance.isolation.limits import Limits
    from conformance.subjects.naming import Interpreter, SubjectName


class StartingSubjects:
    """Subjects on their way: all start at the same time, since most of it is waiting for runtimes to be imported.

    Args:
        named: the subjects.
        limits: what each one's process may take.
        introductions: of subjects that have introduced themselves elsewhere in this run; they start when needed.
        in_process: whether subjects in Python run in this process.
        claims: passes that graph optimizers implement which do not say so themselves.
        interpreters: the Pythons of subjects that do not run in this one, by the subjects' texts.

    Raises:
        ConformanceError: a program is not there.
    """

    def __init__(
        self,
        named: Sequence[SubjectName],
        limits: Limits,
        introductions: Mapping[str, Introduction],
        *,
        in_process: bool = False,
        claims: tuple[str, ...] = (),
        interpreters: Mapping[str, Interpreter] | None = None,
    ) -> None:
        self._claims = claims
        self._named = named
        pythons = interpreters or {}
        apart = [one for one in named if one.is_command or one.text in pythons or not in_process]
        self._hosts = {one.text: Host(one, limits, introductions.get(one.text), pythons.get(one.text)) for one in apart}
        self._problems: dict[str, Exception] = {}
        self._threads = [Thread(target=self._introduce, args=(text,), daemon=True) for text in self._hosts]
        for thread in self._threads:
            thread.start()

    def subjects(self) -> list[Subject]:
        """The subjects, once all have started.

        Raises:
            ConformanceError: one is not there or cannot be hosted; none of them runs then.
        """
        try:
            self._join()
            self._raise_first_problem()
            return [self._subject(one) for one in self._named]
        except Exception:
            self.end()
            raise

    def end(self) -> None:
        """Let none of them run."""
        self._join()
        for host in self._hosts.values():
            host.end()

    def _introduce(self, text: str) -> None:
        try:
            self._hosts[text].introduced()
        except Exception as error:  # noqa: BLE001 - raised where the subjects are asked for
            self._problems[text] = error

    def _raise_first_problem(self) -> None:
        for text in self._hosts:
            if text in self._problems:
                raise self._problems[text]

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _subject(self, named: SubjectName) -> Subject:
        host = self._hosts.get(named.text)
        if host is None:
            return load_subject(named, self._claims)
        introduction = host.introduced()
        if named.kind is SubjectKind.BACKEND:
            backend = Subject(named.text, introduction.version, BackendProxy(host), provider=introduction.provider)
            return replace(backend, language=introduction.language)
        passes = self._claims if introduction.passes is None else introduction.passes
        target = OptimizerProxy(host, passes, fixed_point=introduction.fixed_point)
        return Subject(named.text, introduction.version, target, named.kind, passes, introduction.language)


def host_of(subject: Subject) -> Host | None:
    """What keeps a subject's process; None of a subject in this process."""
    return subject.target.host if isinstance(subject.target, BackendProxy | OptimizerProxy) else None
