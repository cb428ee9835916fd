"""The subjects of a run, each in a process of its own."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.isolation.host import Host, Introduction
from conformance.isolation.proxies import BackendProxy, OptimizerProxy
from conformance.subjects import Kind, Subject, load_subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.isolation.limits import Limits
    from conformance.subjects import Named


def subjects_of(
    named: Sequence[Named], limits: Limits, introductions: Mapping[str, Introduction], *, in_process: bool
) -> list[Subject]:
    """The subjects of a run: in processes of their own, but for those in Python where `in_process` is asked for.

    Raises:
        ConformanceError: one is not there, or cannot be hosted.
    """
    here = {one.text: load_subject(one) for one in named if in_process and not one.is_command}
    apart = {subject.id: subject for subject in hosted([n for n in named if n.text not in here], limits, introductions)}
    return [{**here, **apart}[one.text] for one in named]


def hosted(named: Sequence[Named], limits: Limits, introductions: Mapping[str, Introduction]) -> list[Subject]:
    """Subjects as they introduce themselves; they are started for it, unless their introductions are known.

    Raises:
        ConformanceError: one cannot be hosted; none of them runs then.
    """
    if not named:
        return []
    _require_posix()
    hosts = [Host(one, limits, introductions.get(one.text)) for one in named]
    try:
        _introduce(hosts)
    except BaseException:
        for host in hosts:
            host.end()
        raise
    return [_subject(host) for host in hosts]


def _introduce(hosts: Sequence[Host]) -> None:
    """Start them at the same time: most of it is waiting for runtimes to be imported."""
    problems: dict[int, Exception] = {}

    def introduce(number: int) -> None:
        try:
            hosts[number].introduced()
        except Exception as error:  # noqa: BLE001 - raised where the thread was started
            problems[number] = error

    threads = [Thread(target=introduce, args=(number,), daemon=True) for number in range(len(hosts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in sorted(problems):
        raise problems[number]


def _subject(host: Host) -> Subject:
    named, introduction = host.named, host.introduced()
    target = BackendProxy(host) if named.kind is Kind.BACKEND else OptimizerProxy(host, introduction)
    return Subject(named.text, introduction.version, target, named.kind, introduction.passes, introduction.language)


def host_of(subject: Subject) -> Host | None:
    """What keeps a subject's process; None of a subject in this process."""
    return subject.target.host if isinstance(subject.target, BackendProxy | OptimizerProxy) else None


def _require_posix() -> None:
    if os.name != "posix":
        raise UsageError("This system has no process groups to host subjects in.", "Add --in-process.")
