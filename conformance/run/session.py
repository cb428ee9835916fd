"""State of a run for one pytest session: the corpus, the subjects, the worker that runs cases, and the recorder.

Under pytest-xdist the session of each worker process runs cases, and the session of the controller records the results.
"""

from __future__ import annotations

import gc
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.corpus.corpus import bundled_corpus_path, open_corpus, read_manifest
from conformance.errors import ConformanceError
from conformance.expectations.criterion import PassCriterion
from conformance.expectations.file import read_expectations_by_subject
from conformance.expectations.rules import criterion_for_run
from conformance.isolation.start_subjects import StartingSubjects
from conformance.judging.profile_rules import load_profile
from conformance.run.pytest_items import SETTINGS_KEY, ConformanceItem, counts_in_batch_id
from conformance.run.recorder import Recorder
from conformance.run.resume import COMPLETED_KEY, InterruptedRun, check_before_start, check_can_resume
from conformance.run.selection import Applicability
from conformance.run.settings import command_line
from conformance.run.worker import SubjectProcesses, Worker, case_report
from conformance.serialization.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.corpus.corpus import CorpusCase
    from conformance.expectations.file import Expectations
    from conformance.isolation.protocol import SubjectInfo
    from conformance.run.settings import Settings
    from conformance.subjects.loading import Subject
    from conformance.subjects.naming import SubjectKind


class ConformanceSession:
    """A pytest plugin with the state of a run.

    Attributes:
        settings: the settings of the run.
        manifest: path of the corpus's manifest, which pytest collects.
        cases: the cases to run by id.
        subjects: the subjects to run the cases on.
        selected: number of cases that are run.
        pending: number of results that the run will have, for all subjects together.
        pytest_selection: pytest's own options that restrict the cases, such as `-m`, with their values.
        recorder: the recorder of results; None in a worker of pytest-xdist.
        processes: the processes of isolated subjects.
        worker: the object that runs items.
        completed: pairs of subject and case that have a result already, because the run was resumed.
        process_count: number of processes that the command `run` uses.
        interrupted: whether the user ended the run.
        is_collected: whether pytest has collected all items.
        expected_items: number of results that this run must still have, without those of an interrupted run.
        is_resumable: whether results are missing, so that `--resume` can continue the run.
        died_workers: number of workers of pytest-xdist that died.
        reasons: why the run fails; empty before the end and if it passes.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        interrupted_run: InterruptedRun | None = None,
        introductions: Mapping[str, SubjectInfo] | None = None,
        completed: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """Open the corpus and load the subjects.

        Args:
            interrupted_run: the run to continue, or None.
            introductions: in a worker of pytest-xdist, the subjects' answers to `start`, which the controller received.
            completed: pairs of subject and case that have a result already, because the run was resumed.

        Raises:
            ConformanceError: the corpus, the id of a case, a subject or an expectations file is wrong.
        """
        self.settings = settings
        self.pytest_selection: dict[str, str] = {}
        self._interrupted_run = interrupted_run
        self.completed = interrupted_run.completed if interrupted_run else completed
        is_checked = interrupted_run is not None
        if interrupted_run is not None:  # nothing starts before the file is known to be of this run
            self._open_corpus(introductions)
            keys = {(named.text, id) for named in settings.subjects for id in self._cases_of_kind(named.kind)}
            selection = self._selection()
            check_before_start(interrupted_run, self.corpus.digest, settings, selection, keys)
        starting = StartingSubjects(
            *(settings.subjects, settings.limits, introductions or {}),
            implements=settings.implements,
            in_process=settings.no_isolation,
            python=settings.python,
        )
        try:
            if not is_checked:
                self._open_corpus(introductions)
            expectations = read_expectations_by_subject(settings.expect, [named.text for named in settings.subjects])
            self.profile = load_profile(settings.profile) if settings.profile is not None else None
        except Exception:
            starting.end()
            raise
        self.manifest = self.corpus.file
        self.subjects = starting.subjects()
        self.processes = SubjectProcesses(self.subjects)
        self.worker = Worker(
            *(self.corpus, self.processes),
            repeat=settings.repeat,
            diagnosis=settings.diagnosis,
            accuracy=settings.accuracy,
            record_outputs=settings.record_outputs,
            profile=self.profile,
        )
        self.process_count = 1
        self.interrupted = False
        self.is_collected = False
        self.reasons: list[str] = []
        self.selected = len(self.cases)
        self.pending = sum(len(self.cases_of(subject)) for subject in self.subjects)
        self._own = self.pending
        self.expected_items = self.pending - len(self.completed)
        self._collected = self._deselected = 0
        self._is_run = False
        self.is_resumable = False
        self.died_workers = 0
        self._died_how = ""
        self._whole = None if settings.selection.options or settings.shard else self.pending
        self.recorder = self._new_recorder(expectations) if introductions is None else None

    def _open_corpus(self, introductions: Mapping[str, SubjectInfo] | None) -> None:
        """Open the corpus and select the cases."""
        # the controller of pytest-xdist has checked that every file exists
        open_function = open_corpus if introductions is None else read_manifest
        self.corpus = open_function((self.settings.data or bundled_corpus_path()).resolve())
        self._applies = Applicability(self.corpus)
        self.cases = self.settings.selection.select(self.corpus)
        if self.settings.shard is not None:
            self.cases = self.settings.shard.select(self.cases)

    def _new_recorder(self, expectations: Mapping[str, Expectations]) -> Recorder:
        settings, versions = self.settings, {subject.id: subject.version for subject in self.subjects}
        try:
            criterion = criterion_for_run(
                *(settings.fail_level, self.corpus, versions, expectations, settings.require),
                *(settings.baseline, settings.relative_to),
            )
            criterion = replace(criterion, profile=self.profile)
            return Recorder(
                self.corpus,
                self.subjects,
                PassCriterion(criterion, list(versions)),
                settings.results,
                settings.options_by_subject,
                diagnosis=settings.diagnosis,
                before_first_result=self._begin,
            )
        except ConformanceError:
            self.processes.end()
            raise

    def cases_of(self, subject: Subject) -> dict[str, CorpusCase]:
        """Return the cases to run that apply to a subject, by id."""
        return self._cases_of_kind(subject.kind)

    def _cases_of_kind(self, kind: SubjectKind) -> dict[str, CorpusCase]:
        return {id: case for id, case in self.cases.items() if self._applies(kind, case)}

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the plugins that run items, record results, and stop the processes of subjects."""
        config.pluginmanager.register(self.processes)
        config.pluginmanager.register(self.worker)
        if self.recorder is not None:
            config.pluginmanager.register(self.recorder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the settings and the completed results to a worker of pytest-xdist."""
        node.workerinput[SETTINGS_KEY] = replace(self.settings, data=self.corpus.path, results=None).as_options()
        node.workerinput[COMPLETED_KEY] = sorted(self.completed)

    def pytest_sessionstart(self) -> None:
        """Read the results of the interrupted run that this run continues, if any."""
        if self.recorder is None or self._interrupted_run is None:
            return
        try:
            check_can_resume(self._interrupted_run, self.recorder.header(0, self._selection(), ""))
            self.recorder.resume(self._interrupted_run)
        except ConformanceError as error:
            self.recorder.aborted_by = error
            raise pytest.Session.Failed from None  # unlike pytest.exit, pytest prints nothing for it

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Handle SIGINT from now on in a worker: the controller of a run blocked it for the start of the worker."""
        if self.recorder is None:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Record that the user ended the run.

        pytest-xdist raises the same exception if a worker was interrupted and if `-x` stops the run.
        """
        is_of_worker = "received keyboard-interrupt" in str(excinfo.value)
        self.interrupted = is_of_worker or type(excinfo.value) is KeyboardInterrupt

    def _begin(self) -> None:
        """Write the header of the results file, before the first result."""
        assert self.recorder is not None
        self.recorder.begin(self.selected, self._selection(), command_line(), self._expected_results())

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Count the items before another plugin or a conftest.py can remove some."""
        self._collected = _count_ours(items)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the items that an option of pytest excludes, such as `-m`."""
        self._deselected += _count_ours(items)

    def record_collected(self, items: Sequence[pytest.Item]) -> None:
        """Set `expected_items`, after all plugins have changed the items.

        The selection of this suite is known without pytest. Only pytest's own options may restrict it, and results
        record these options. An item that disappears in another way is missing at the end, and the run fails.
        """
        self.is_collected = True
        ours = [(item.subject.id, item.case.id) for item in items if isinstance(item, ConformanceItem)]
        present = self._collected - self._deselected if self.pytest_selection else self._own
        self.expected_items = len(set(ours) - self.completed) + max(0, present - len(set(ours)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the selected items, and start garbage collection without them: they live until the end."""
        if not self.is_collected:  # pytest calls this hook after an interruption too
            return
        gc.freeze()
        gc.enable()
        ours = [item.case.id for item in session.items if isinstance(item, ConformanceItem)]
        self._count(len(set(ours)), self.expected_items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Record whether pytest runs the items, and does not only print them (`--collect-only`)."""
        self._is_run = not session.config.option.collectonly

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ARG002 - pytest-xdist passes both
        """Count the workers of pytest-xdist that died."""
        if error:
            self.died_workers += 1
            self._died_how = one_line(str(error))[:200]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Read the numbers of selected cases and results from the ids of the items that a worker has collected."""
        self._count(*next((counts for id in ids if (counts := counts_in_batch_id(id))), (0, 0)))

    def _count(self, selected: int, pending: int) -> None:
        """Set the attributes `selected` and `pending`; the results of an interrupted run are included."""
        before = self._interrupted_run
        self.selected = before.header["corpus"]["selected"] if before else selected
        self.pending = pending + len(self.completed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_from_serializable(self, config: pytest.Config, data: dict[str, Any]) -> pytest.TestReport | None:
        """Split the report of a batch into one report per case.

        Return the report of the last case; its attribute `before` holds the other reports, which are logged before it.

        Threads call this hook, so nothing is logged or recorded here.
        """
        reports = [case_report(*part) for part in data.get("batch", ())]
        if not reports:
            return None
        reports[-1].__dict__["before"] = (config.hook, reports[:-1])
        return reports[-1]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Decide whether the run passes, write the end of the results file, and set the exit status of pytest."""
        self.processes.stop()
        if self.recorder is None:
            return
        is_lost = self._is_run and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        is_lost = (is_lost or self.died_workers > 0) and self._expected_results() > 0
        if (self.interrupted or is_lost) and not self.abandoned and not self.recorder.has_begun:
            self._begin()
        if self.abandoned or not self.recorder.has_begun:
            self.recorder.abandon()
            return
        expected = self._expected_results()
        partial = self._whole is None or self.recorder.results < self._whole
        self.reasons = self.recorder.criterion.reasons(partial=partial)
        if self.settings.shard is None:  # other shards may have the missing cases; `merge` checks that
            self.reasons += self.recorder.criterion.missing_required_operators(
                {subject.id: subject.kind for subject in self.subjects}
            )
        missing = expected - self.recorder.results
        is_stopped = bool(session.shouldfail or session.shouldstop)
        if missing or self.interrupted:
            self.reasons.append(f"{missing} of {expected} results are missing: {self._why_missing(is_stopped)}")
        if repeated := self.recorder.repeated:
            self.reasons.append(f"{repeated} cases were run again by another pytest plugin: their first results count")
        self.is_resumable = self.interrupted or (missing > 0 and not is_stopped)
        try:
            self.recorder.end(self.reasons, interrupted=self.is_resumable, processes=self.process_count)
        except ConformanceError as error:
            self.recorder.abandon()
            self.recorder.abort(error)
        if self.recorder.fault is not None:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif self.reasons and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _why_missing(self, is_stopped: bool) -> str:
        """Return why results are missing, as a clause."""
        if self.interrupted:
            return "the run was interrupted"
        if self.died_workers:
            count = f"{self.died_workers} worker process{'es' * (self.died_workers > 1)} died"
            return f"{count} (the last: {self._died_how})"
        if is_stopped:
            return "the run was stopped early"
        return "a pytest plugin or a conftest.py removed the cases"

    @property
    def abandoned(self) -> ConformanceError | None:
        """The error for which the run ends with status 2, or None."""
        return self.recorder.aborted_by if self.recorder else None

    @property
    def selected_by(self) -> str:
        """The options that restrict the cases, as on a command line; empty if all cases are run."""
        return " ".join(f"{name} {value}" for name, value in self._selection().items() if name != "--fail-level")

    def _expected_results(self) -> int:
        """Return the number of results of a complete run."""
        return self.pending if self.pytest_selection else max(self.pending, self._own)

    def _selection(self) -> dict[str, str]:
        settings = self.settings
        selection = {
            **self.pytest_selection,
            **settings.selection.options,
            "--fail-level": settings.fail_level,
            "--shard": settings.shard or "",
        }
        return {name: str(value) for name, value in selection.items() if value}


def _count_ours(items: Sequence[pytest.Item]) -> int:
    """Return the number of items of this suite; an item that occurs twice counts once."""
    return len({(item.subject.id, item.case.id) for item in items if isinstance(item, ConformanceItem)})
