"""Workers that are processes of this machine: started anew, not forked, and gone with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast

from conformance.campaigns.job import Piece
from conformance.errors import CampaignError, ConformanceError, SuiteFault, UsageError
from conformance.files.undisturbed import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from conformance.campaigns.job import Job

ATTEMPTS = 3
"""How many workers may die of one piece before it cannot be done."""

GRACE = 5.0
"""Seconds that a worker which has nothing left to do may take to end."""


def processors() -> int:
    """How many processors this process may use; macOS tells only how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class ProcessWorkers:
    """As many processes as are asked for; one is this process itself.

    Args:
        count: how many.
        notice: is given a sentence for each worker that dies.

    Raises:
        UsageError: there is to be none.
    """

    count: int
    notice: Callable[[str], None]

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"{self.count} workers do no work.", "Ask for at least one: -n 1.")

    def done(self, job: Job, numbers: Iterable[int]) -> Iterator[Piece]:
        """Each piece as soon as it is done; see `Workers`."""
        if self.count == 1:
            with job.opened() as work:
                for number in numbers:
                    yield Piece(number, work(number))
            return
        team = _Team(job, deque(), iter(numbers), self.notice)
        try:
            for _ in range(self.count):
                team.hire()
            while team.members:
                yield from team.finished()
        finally:
            team.end()


class _Team:
    """The processes at work on one job.

    Args:
        again: pieces whose worker died.
        fresh: pieces that nobody was given yet.
    """

    def __init__(self, job: Job, again: deque[int], fresh: Iterator[int], notice: Callable[[str], None]) -> None:
        self.members: dict[Connection, _Member] = {}
        self._job, self._again, self._fresh, self._notice = job, again, fresh, notice
        self._deaths: Counter[int] = Counter()

    def hire(self) -> None:
        """Start one more, if there is a piece for it."""
        number = self._next()
        if number is not None:
            connection, process = _started(self._job)
            self.members[connection] = _Member(process, number)
            self._give(connection, number)

    def finished(self) -> Iterator[Piece]:
        """What is done next, of whoever is done; those get their next piece first."""
        for connection in cast("list[Connection]", wait(list(self.members))):
            try:
                answer = connection.recv()
            except (EOFError, OSError):
                self._bury(connection)
                continue
            if isinstance(answer, BaseException):
                raise answer
            self._go_on(connection)
            yield Piece(*answer)

    def end(self) -> None:
        """Leave none running: the idle end by themselves, the busy are killed, with what they started."""
        for member in self.members.values():
            member.process.kill()
        for connection, member in self.members.items():
            member.process.join()
            connection.close()
        self.members.clear()

    def _go_on(self, connection: Connection) -> None:
        number = self._next()
        if number is None:
            self._dismiss(connection)
        else:
            self.members[connection].number = number
            self._give(connection, number)

    def _give(self, connection: Connection, number: int) -> None:
        try:
            connection.send(number)
        except OSError:
            return  # it is dead, which is noticed when it is waited for

    def _dismiss(self, connection: Connection) -> None:
        process = self.members.pop(connection).process
        connection.close()  # the end of what is sent is the end of the work
        process.join(GRACE)
        process.kill()
        process.join()

    def _bury(self, connection: Connection) -> None:
        """Have the piece of a worker that died done by another."""
        member = self.members.pop(connection)
        connection.close()
        member.process.join()
        how, number = _how(member.process.exitcode), member.number
        self._deaths[number] += 1
        if self._deaths[number] == ATTEMPTS:
            raise CampaignError(
                f"Piece {number} cannot be done: {ATTEMPTS} workers died of it, the last {how}.",
                "See whether memory is short; what is done is kept.",
            )
        self._notice(f"A worker died ({how}) at piece {number}, which is done again.")
        self._again.append(number)
        self.hire()

    def _next(self) -> int | None:
        return self._again.popleft() if self._again else next(self._fresh, None)


@dataclass
class _Member:
    """A process and the number of the piece that it has."""

    process: SpawnProcess
    number: int


def _started(job: Job) -> tuple[Connection, SpawnProcess]:
    context = multiprocessing.get_context("spawn")
    own, its = context.Pipe()
    process = context.Process(target=serve, args=(its, job), daemon=False)
    with undisturbed():  # a worker that was told half of its job, or is interrupted before `serve`, would say so
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    its.close()
    return own, process


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return f"by {signal.Signals(-code).name}"
    return f"with status {code}"


def serve(connection: Connection, job: Job) -> None:
    """In a worker's process: do the pieces that come until no more do; what goes wrong is sent in a result's place."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's goes to all, and this process's parent ends it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _end_with_parent()
    try:
        with job.opened() as work:
            while True:
                number: int = connection.recv()
                connection.send((number, work(number)))
    except (EOFError, BrokenPipeError):
        return
    except ConformanceError as error:
        connection.send(error)
    except Exception as error:  # noqa: BLE001 - it is raised again where it is told
        connection.send(_fault(error))


def _fault(error: Exception) -> SuiteFault:
    return error if isinstance(error, SuiteFault) else SuiteFault(f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    """A thread that waits for the parent's end, however that comes, and is this process's."""
    parent: Any = multiprocessing.parent_process()

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
