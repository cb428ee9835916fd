"""The worker of a run: runs cases on subjects, and prefetches the next case while a subject works on the current one.

Prefetching has three steps. `PrefetchingCorpus` reads the files of the next case while a subject computes its answer.
Then `BackendProxy.prepare_prefetch` encodes the commands of that case. While the suite compares the outputs of the
current case, `BackendProxy.prefetch` lets the subject load the next model.
"""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec import structs

from conformance.corpus.case_json import COMPANION_FILE
from conformance.corpus.corpus import Corpus
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError, StorageError
from conformance.isolation.protocol import SubjectInfo
from conformance.isolation.proxies import BackendProxy
from conformance.isolation.start_subjects import client_of
from conformance.judging.backend import judge_backend
from conformance.run.pytest_items import Batch, ConformanceItem
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from subprocess import Popen  # noqa: TID251 - only its type

    from conformance.corpus.corpus import CorpusCase
    from conformance.corpus.loading import LoadedCase
    from conformance.isolation.subject_client import SubjectClient
    from conformance.judging.accuracy import AccuracyCounter
    from conformance.judging.outcome import Outcome
    from conformance.profiles import RequirementProfile
    from conformance.results.records import RecordedOutputs, Result
    from conformance.subjects.loading import Subject


_MODEL_FILE = "model.onnx"
_DESCRIPTION_FILE = "case.json"
"""File that describes a case for readers; it is not needed to run a case."""


@dataclass(frozen=True)
class PrefetchingCorpus(Corpus):
    """A corpus that can read the files of the next case in advance; `read` then returns them from memory.

    The content of a file is dropped when it is read.
    """

    _files: dict[str, dict[str, bytes]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, corpus: Corpus) -> PrefetchingCorpus:
        """Return a `PrefetchingCorpus` with the same content as `corpus`."""
        return cls(corpus.path, corpus.version, corpus.digest, corpus.cases)

    def prefetch_inputs(self, case: CorpusCase, *, only_model: bool = False) -> Iterator[None]:
        """Read the model and the inputs of the next case, one file per step.

        The prefetched files of the current case are kept, and those of earlier cases are dropped. If a file cannot be
        read, prefetching stops, and `read` raises the error later.

        Args:
            only_model: whether to read no inputs.
        """
        for id in [*self._files][:-1]:
            del self._files[id]
        self._files[case.id] = {}
        return self._prefetch(case, [_MODEL_FILE] if only_model else filter(_is_input, case.files))

    def prefetch_expected(self, case: CorpusCase) -> Iterator[None]:
        """Read the other files of the next case, such as expected outputs, one file per step."""
        return self._prefetch(case, (name for name in case.files if name != _DESCRIPTION_FILE and not _is_input(name)))

    def _prefetch(self, case: CorpusCase, names: Iterable[str]) -> Iterator[None]:
        with suppress(CorpusError):
            for name in names:
                self._files[case.id][name] = super().read(case, name)
                yield

    def read(self, case: CorpusCase, file: str) -> bytes:
        """Return the content of a file of a case.

        Raises:
            CorpusError: the content differs from the manifest.
        """
        content = self._files.get(case.id, {}).pop(file, None)
        return super().read(case, file) if content is None else content


def _is_input(name: str) -> bool:
    """Return whether a file of a case is the model or an input of the first data set."""
    return name == _MODEL_FILE or name.startswith("test_data_set_0/input_")


def run_repeatedly(run: Callable[[], Outcome], times: int) -> tuple[Outcome, dict[Verdict, int]]:
    """Run a case several times.

    Returns:
        The outcome with the worst verdict, and the number of each verdict. The numbers are empty if `times` is 1.
    """
    outcomes = [run() for _ in range(times)]
    worst = outcomes[0]
    for outcome in outcomes[1:]:
        if outcome.verdict.is_worse_than(worst.verdict):
            worst = outcome
    counts = Counter(outcome.verdict for outcome in outcomes)
    return worst, {verdict: counts[verdict] for verdict in sorted(counts)} if times > 1 else {}


def case_report(
    nodeid: str, location: tuple[str, int | None, str], result: Mapping[str, Any], seconds: float
) -> pytest.TestReport:
    """Return the pytest report of one case; it carries the result, converted by `to_builtins` for pytest-xdist."""
    return pytest.TestReport(nodeid, location, {}, "passed", None, "call", duration=seconds, conformance=result)


def batch_report(batch: Batch, reports: Sequence[pytest.TestReport]) -> pytest.TestReport:
    """Return one pytest report that contains the reports of all cases of a batch."""
    parts = [(part.nodeid, part.location, vars(part)["conformance"], part.duration) for part in reports]
    return pytest.TestReport(batch.nodeid, reports[0].location, {}, "passed", None, "call", batch=parts)


class Worker:
    """A pytest plugin that runs items, in a worker process of pytest-xdist or in the only process of a run.

    Args:
        corpus: the corpus of the cases.
        processes: the processes of isolated subjects.
        repeat: how often each case is run.
        diagnosis: whether to record the outputs of failing cases, which the diagnosis compares with those of mutants.
        accuracy: whether to report the accuracy of outputs.
        profile: the requirement profile, or None.
        record_outputs: whether to record what the subject returned for each case.
    """

    def __init__(
        self,
        corpus: Corpus,
        processes: SubjectProcesses,
        *,
        repeat: int,
        diagnosis: bool,
        accuracy: bool = False,
        profile: RequirementProfile | None = None,
        record_outputs: bool = False,
    ) -> None:
        self._record_outputs = record_outputs
        self._corpus = PrefetchingCorpus.of(corpus)
        self._processes = processes
        self._repeat = repeat
        self._diagnosis = diagnosis
        self._accuracy = _accuracy_counter() if accuracy else None
        self._profile = profile
        self._prefetched: LoadedCase | None = None
        self._was_unsupported = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run an item of this suite and log its report; return None for other items, which pytest then runs."""
        if not isinstance(item, Batch | ConformanceItem):
            return None
        item.config.hook.pytest_runtest_logreport(report=self.report(item, nextitem))
        return True

    def report(self, item: ConformanceItem | Batch, next_item: pytest.Item | None) -> pytest.TestReport:
        """Run an item or a batch, and return a pytest report with the result records.

        Args:
            next_item: the item that runs next; if it is an item of this suite, its case is prefetched.
        """
        parts = _case_items(item)
        following = (*parts[1:], *_case_items(next_item)[:1], None)
        reports = [self._report(part, after) for part, after in zip(parts, following, strict=False)]
        return batch_report(item, reports) if isinstance(item, Batch) else reports[0]

    def _report(self, item: ConformanceItem, after: ConformanceItem | None) -> pytest.TestReport:
        self._processes.switch_to(item.subject)
        if after is not None:
            self._processes.set_idle_work(item.subject, self._prefetch_steps(item.subject, after))
        try:
            result, seconds = self._result(item, after)
        except (CorpusError, StorageError) as error:
            return case_report(item.nodeid, item.location, {"abandon": [error.area, *error.args]}, 0.0)
        return case_report(item.nodeid, item.location, msgspec.to_builtins(result), seconds)

    def _result(self, item: ConformanceItem, after: ConformanceItem | None) -> tuple[Result, float]:
        """Run the case of an item. Return its result and the seconds that the subject took.

        The recorder sets level, expectation and baseline of the result. `after` is the next item, which is prefetched.

        Raises:
            CorpusError: a file of the case differs from the manifest.
            StorageError: the suite cannot write its files for the subject.
        """
        run = partial(self._run_case, item.subject, item.case, partial(self._prefetch_load, item.subject, after))
        outcome, repeats = run_repeatedly(run, self._repeat)
        self._was_unsupported = outcome.verdict is Verdict.UNSUPPORTED
        stderr = self._processes.stderr_of(item.subject) if outcome.verdict.is_defect else ""
        result = structs.replace(
            outcome.result(item.subject.id, item.case.id, item.case.level, stderr=stderr),
            repeats=repeats,
            recorded_outputs=self._recorded_outputs(item, outcome),
            rules=self._rules(item.case),
        )
        return result, outcome.seconds

    def _recorded_outputs(self, item: ConformanceItem, outcome: Outcome) -> RecordedOutputs | None:
        """Run a failing case again and return the outputs of the backend for the diagnosis; None for other cases."""
        failed = outcome.verdict in {Verdict.FAIL, Verdict.ERROR} and outcome.phase != "start"
        if not (self._diagnosis and failed and item.subject.kind is SubjectKind.BACKEND):
            return None
        from conformance.diagnosis.recorded_outputs import record_outputs

        return record_outputs(item.subject, self._corpus, item.case)

    def _run_case(self, subject: Subject, case: CorpusCase, prefetch_load: Callable[[], None]) -> Outcome:
        """Run a case on a subject and judge the outputs or the optimized model.

        Args:
            prefetch_load: called when the subject's outputs are known and are about to be compared.
        """
        prefetched, self._prefetched = self._prefetched, None
        is_prefetched = prefetched is not None and prefetched.entry is case
        loaded = prefetched if prefetched is not None and is_prefetched else load_case(self._corpus, case)
        if subject.kind is SubjectKind.BACKEND:
            return judge_backend(
                *(subject.target, loaded, self._profile, subject.provider, self._accuracy, prefetch_load),
                record=self._record_outputs,
            )
        from conformance.judging.optimizer import judge_optimizer

        return judge_optimizer(subject, loaded, self._profile, record=self._record_outputs)

    def _prefetch_steps(self, subject: Subject, after: ConformanceItem) -> Iterator[None]:
        """Prefetch the case of the item `after` step by step, while the subject works on the current case.

        If the previous case was unsupported, only the model is read, because unsupported cases are often adjacent.
        """
        yield from self._corpus.prefetch_inputs(after.case, only_model=self._was_unsupported)
        backend = self._prefetching_backend(subject, after)
        if backend is not None and (case := self._prefetch_case(after)) is not None:
            yield
            backend.prepare_prefetch(case.model, case.prefetched_inputs)
            yield
        if not self._was_unsupported:
            yield from self._corpus.prefetch_expected(after.case)

    def _prefetch_load(self, subject: Subject, after: ConformanceItem | None) -> None:
        """Make the subject load the model of the next case, if it can prefetch and is not prefetching already."""
        backend = self._prefetching_backend(subject, after)
        if backend is None or after is None or backend.client.is_prefetching:
            return
        if (case := self._prefetch_case(after)) is not None:
            backend.prefetch(case.model, case.prefetched_inputs)

    def _prefetching_backend(self, subject: Subject, after: ConformanceItem | None) -> BackendProxy | None:
        """Return the backend of `subject` if it can prefetch the case of the item `after`, otherwise None."""
        if self._repeat > 1 or after is None or after.subject is not subject:
            return None
        return self._processes.prefetching_backend(subject)

    def _prefetch_case(self, after: ConformanceItem) -> LoadedCase | None:
        """Read the next case; return None if it cannot be read. The error is raised later, when the case is run."""
        if self._prefetched is None or self._prefetched.entry is not after.case:
            with suppress(CorpusError):
                loaded = load_case(self._corpus, after.case)
                # a companion is loaded before the first run, so the inputs are not sent with the model
                is_run_next = COMPANION_FILE not in after.case.files and not self._was_unsupported
                self._prefetched = loaded.with_prefetched_inputs() if is_run_next else loaded
                return self._prefetched
            return None
        return self._prefetched

    def _rules(self, case: CorpusCase) -> list[str]:
        """Return the ids of the profile's rules that apply to a case."""
        if self._profile is None:
            return []
        from conformance.judging.profile_rules import applicable_rules

        return [rule.id for rule in applicable_rules(self._profile, load_case(self._corpus, case))]


def _accuracy_counter() -> AccuracyCounter:
    """Return a new counter of accuracy grades. The function imports its module, so that other runs save that time."""
    from conformance.judging.accuracy import AccuracyCounter

    return AccuracyCounter()


def _case_items(item: pytest.Item | None) -> Sequence[ConformanceItem]:
    """Return the items of a batch, or the item itself; empty for None and for an item of another plugin."""
    if isinstance(item, Batch):
        return item.items
    return [item] if isinstance(item, ConformanceItem) else []


INTRODUCTIONS_KEY = "onnx_conformance_introductions"
"""Key of the subjects' properties (answers to `start`) in the `workerinput` of pytest-xdist."""


class SubjectProcesses:
    """A pytest plugin that starts and stops the processes of isolated subjects."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._clients = {subject.id: client for subject in subjects if (client := client_of(subject)) is not None}
        self._running: SubjectClient | None = None
        self._workers: list[Popen[bytes] | None] = []

    def switch_to(self, subject: Subject) -> None:
        """Make `subject` the current subject, and stop the process of a different previous subject."""
        client = self._clients.get(subject.id)
        if self._running is not None and self._running is not client:
            self._running.stop()
        self._running = client

    def set_idle_work(self, subject: Subject, work: Iterator[None]) -> None:
        """Set the work that the suite does, one step per item, while it waits for an answer of an isolated subject.

        Without isolation, `work` is ignored.
        """
        client = self._clients.get(subject.id)
        if client is not None:
            client.idle_work = work

    def prefetching_backend(self, subject: Subject) -> BackendProxy | None:
        """Return the backend of a subject if it can prefetch, otherwise None.

        A backend can prefetch if it is isolated and its harness reports the seconds that loading a model takes.
        """
        backend = subject.target
        return backend if isinstance(backend, BackendProxy) and backend.reports_seconds else None

    def stderr_of(self, subject: Subject) -> str:
        """Return the text that a subject wrote to standard error in its last case; empty without isolation."""
        client = self._clients.get(subject.id)
        return client.stderr_tail() if client is not None else ""

    def stop(self) -> None:
        """Stop all processes."""
        for client in self._clients.values():
            client.stop()

    def end(self) -> None:
        """Kill all processes."""
        for client in self._clients.values():
            client.end()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Stop the subjects' processes, and send the subjects' properties to a worker, which starts its own."""
        self.stop()
        node.workerinput[INTRODUCTIONS_KEY] = {id: asdict(client.info()) for id, client in self._clients.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        """Store the process id of a worker of pytest-xdist, if the worker runs on this machine."""
        self._workers.append(getattr(getattr(node.gateway, "_io", None), "popen", None))

    def pytest_keyboard_interrupt(self) -> None:
        """Kill the processes, and interrupt the workers, because a signal to this process does not reach them."""
        self.end()
        for worker in self._workers:
            if worker is not None:
                worker.send_signal(signal.SIGINT)

    def pytest_unconfigure(self) -> None:
        """Stop all processes."""
        self.stop()


def read_introductions(workerinput: Mapping[str, Any]) -> dict[str, SubjectInfo]:
    """Return the properties of subjects (their answers to `start`) that the controller sent to this worker.

    The result is empty in a process that is not a worker of pytest-xdist.
    """
    received = workerinput.get(INTRODUCTIONS_KEY, {})
    tuples = {
        id: {name: tuple(value) for name, value in info.items() if isinstance(value, list)}
        for id, info in received.items()
    }
    return {id: SubjectInfo(**{**info, **tuples[id]}) for id, info in received.items()}
