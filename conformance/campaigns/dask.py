"""Workers of Dask's `distributed`, by the address of their scheduler.

A worker is asked before it is given a piece: whether it has this version of the suite, and can open the job. Pieces go
to those alone that can; workers may come and go meanwhile.
"""

from __future__ import annotations

import logging
import pickle
import time
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.campaigns.dask_worker import do, problem
from conformance.campaigns.job import Piece
from conformance.errors import CampaignError, ConformanceError, SuiteFault, UsageError
from conformance.plugins import suite_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Client, Future

    from conformance.campaigns.job import Job

LOOKING = 1.0
"""Seconds after which the scheduler is asked again who works for it."""

FETCHING = 3.0
"""Seconds after which a result that is not there is looked for anew."""

AHEAD = 3
"""Pieces that a thread of a worker is given: the one that it does, and what comes next."""


@dataclass(frozen=True)
class DaskWorkers:
    """All workers of a scheduler that are fit for a job.

    Args:
        address: the scheduler's, as in `tcp://10.0.0.1:8786`.
        notice: is given a sentence for each worker that is not fit, or is gone.
        version: the suite's, which the workers must have.
        connecting: seconds in which the scheduler has to answer.
        waiting: seconds without any fit worker after which the campaign ends.
    """

    address: str
    notice: Callable[[str], None]
    version: str = field(default_factory=suite_version)
    connecting: float = 5.0
    waiting: float = 30.0

    def done(self, job: Job, numbers: Iterable[int]) -> Iterator[Piece]:
        """Each piece as soon as it is done; see `Workers`."""
        with self._client() as client:
            errand = _Errand(self, client, pickle.dumps(job))
            try:
                yield from errand.done(iter(numbers))
            except (OSError, CancelledError) as error:
                raise self._gone(error) from None
            finally:
                errand.end()

    @contextmanager
    def _client(self) -> Iterator[Client]:
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise UsageError(
                "Dask's distributed is not installed.", "pip install 'onnx-conformance[dask]', here and on the workers."
            ) from None
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(self.address, timeout=self.connecting)
        except (OSError, ValueError) as error:
            raise CampaignError(
                f"No Dask scheduler answers at {self.address} ({type(error).__name__}).",
                "Start one with `dask scheduler`, and give the address that it prints: tcp://HOST:8786.",
            ) from None
        try:
            yield client
        finally:
            with suppress(OSError, CancelledError):
                client.close(timeout=self.connecting)

    def _gone(self, error: BaseException) -> CampaignError:
        return CampaignError(
            f"The Dask scheduler at {self.address} went away ({type(error).__name__}).",
            "What is done is kept: start it again, and continue the campaign.",
        )


@dataclass
class _Errand:
    """One job with one scheduler.

    Attributes:
        fit: the workers that can do pieces, by address, and how many at once.
        unfit: the addresses of those that cannot, and why.
        asked: what those will answer who were asked whether they are fit.
        under_way: pieces that were given out, each with those whom it may be done by.
    """

    workers: DaskWorkers
    client: Client
    job: bytes
    fit: dict[str, int] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Future] = field(default_factory=dict)
    under_way: dict[Future, tuple[int, frozenset[str]]] = field(default_factory=dict)
    _looked: float = -LOOKING
    _had_some: float = field(default_factory=time.monotonic)

    def done(self, fresh: Iterator[int]) -> Iterator[Piece]:
        """Each piece as soon as it is done."""
        again: list[int] = []
        while True:
            self._look(again)
            while self.fit and len(self.under_way) < AHEAD * sum(self.fit.values()):
                number = again.pop() if again else next(fresh, None)
                if number is None:
                    break
                self._give(number)
            if self.fit and not self.under_way:
                return
            for future, result in self._results(self._finished()):
                yield Piece(self.under_way.pop(future)[0], result)

    def end(self) -> None:
        """Leave nothing under way."""
        with suppress(OSError, CancelledError):
            if self.client.status == "running":
                self.client.cancel([*self.under_way, *self.asked.values()], force=True)

    def _give(self, number: int) -> None:
        able = frozenset(self.fit)
        self.under_way[self._pinned(able, do, self.job, number)] = (number, able)

    def _finished(self) -> list[Future]:
        from distributed import wait

        if self.client.status != "running":
            raise ConnectionError
        if not self.under_way:
            time.sleep(LOOKING / 10)
            return []
        try:
            return list(wait(list(self.under_way), timeout=LOOKING, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []

    def _results(self, finished: list[Future]) -> list[tuple[Future, Any]]:
        """Futures with their results; none where a worker died before it gave one, which is noticed by and by."""
        from distributed import KilledWorker

        try:
            results = self.client.sync(
                partial(self.client.gather, finished, asynchronous=True), callback_timeout=FETCHING
            )
            return list(zip(finished, results, strict=True))
        except TimeoutError:
            return []
        except KilledWorker as error:
            numbers = {future.key: number for future, (number, _) in self.under_way.items()}
            raise CampaignError(
                f"Piece {numbers[error.task]} cannot be done: several workers died of it.",
                "See whether memory is short on them; what is done is kept.",
            ) from None
        except (ConformanceError, SuiteFault, OSError, CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a piece raised there
            raise SuiteFault(f"{type(error).__name__}: {error}") from None

    def _look(self, again: list[int]) -> None:
        """See who works for the scheduler, ask the new ones, and take back what only those have who are gone."""
        now = time.monotonic()
        if now - self._looked < (LOOKING if self.fit else LOOKING / 10):
            return
        self._looked = now
        threads = self.client.nthreads()
        for address in self.fit.keys() - threads.keys():
            self.workers.notice(f"The worker {address} is gone; what it had is done again.")
            del self.fit[address]
        for address in self.asked.keys() - threads.keys():
            self.client.cancel([self.asked.pop(address)], force=True)
        for address in threads.keys() - self.fit.keys() - self.unfit.keys() - self.asked.keys():
            self.asked[address] = self._pinned([address], problem, self.workers.version, self.job)
        for address in [address for address, answer in self.asked.items() if answer.done()]:
            self._judge(address, threads[address], _answered(self.asked.pop(address)))
        for future, (number, able) in list(self.under_way.items()):
            if not able & self.fit.keys() and not future.done():
                self.client.cancel([future], force=True)
                del self.under_way[future]
                again.append(number)
        self._have_some(now)

    def _judge(self, address: str, threads: int, reason: str) -> None:
        """Take a worker on, or not, by why it is not fit."""
        if not reason:
            self.fit[address] = threads
        else:
            self.unfit[address] = reason
            self.workers.notice(f"The worker {address} gets no piece: {reason}")

    def _pinned(self, able: Iterable[str], task: Callable[..., Any], *arguments: Any) -> Future:
        """A task that some workers may do, and no others."""
        return self.client.submit(task, *arguments, workers=sorted(able), allow_other_workers=False, pure=False)

    def _have_some(self, now: float) -> None:
        if self.fit:
            self._had_some = now
        elif now - self._had_some >= self.workers.waiting or (self.unfit and not self.asked):
            why = next(iter(self.unfit.values()), "Start some with `dask worker` and the scheduler's address.")
            raise CampaignError(f"No worker of {self.workers.address} can do a piece.", why)


def _answered(answer: Future) -> str:
    """Why a worker is not fit; empty if it is."""
    error = answer.exception()
    if isinstance(error, ModuleNotFoundError):
        return f"it has no module {error.name}; install onnx-conformance there, in this version."
    return str(answer.result()) if error is None else f"{type(error).__name__}: {error}"
