"""A run inside pytest: what is run, and what becomes of each result.

Under xdist every worker has a session that runs cases, and the controller has one that records what they report.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from conformance.corpus.corpus import MANIFEST, bundled, open_corpus, read_manifest
from conformance.environments.interpreters import interpreters_of
from conformance.errors import ConformanceError, CorpusError
from conformance.expectations.file import by_subject
from conformance.gate.gate import Gate
from conformance.gate.rules import rules_for
from conformance.isolation.starting import StartingSubjects
from conformance.judging.profiled import profile_of
from conformance.run.items import SETTINGS, Batch, ConformanceItem, case_report, counts_of
from conformance.run.processes import Processes
from conformance.run.recorder import Recorder
from conformance.run.resuming import DONE, Begun, check_begun
from conformance.run.selection import Asked
from conformance.run.settings import command_line
from conformance.run.worker import Worker
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.corpus.corpus import CorpusCase
    from conformance.expectations.file import Expectations
    from conformance.isolation.introduction import Introduction
    from conformance.run.settings import Settings
    from conformance.subjects.loading import Subject


class ConformanceSession:
    """The plugin's state for one pytest session.

    Attributes:
        settings: what was asked for.
        manifest: the corpus's manifest, which pytest collects.
        cases: those to run, by their ids.
        subjects: what they are run on.
        selected: how many cases are run.
        pending: how many results they give, on all subjects.
        picked: what else pytest was told that leaves cases out, by option.
        recorder: where results go; a worker of xdist has none.
        processes: those of the subjects that are in processes of their own.
        worker: what runs the items.
        done: the subjects and cases whose results need not be had again.
        processes_of_run: in how many processes the suite's own command was asked to work.
        abandoned: why the run cannot be trusted and must end with status 2, or None.
        interrupted: whether the user ended the run.
        is_collected: whether pytest has found all items.
        reasons: why the gate is shut, once the run has ended.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        begun: Begun | None = None,
        introductions: Mapping[str, Introduction] | None = None,
        done: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """Open the corpus and load the subjects.

        Args:
            begun: a run to continue.
            introductions: in a worker of xdist, how subjects introduced themselves to the controller; else None.
            done: the subjects and cases whose results need not be had again.

        Raises:
            ConformanceError: the corpus, a case's name, a subject or an expectations file is wrong.
        """
        self.settings = settings
        self._begun = begun
        self.done = begun.done if begun else done
        starting = StartingSubjects(
            *(settings.subjects, settings.limits, introductions or {}),
            claims=settings.claims,
            in_process=settings.in_process,
            interpreters=interpreters_of(settings.subjects, settings.python),
        )
        try:
            open_ = open_corpus if introductions is None else read_manifest  # the controller has looked for every file
            self.corpus = open_((settings.data or bundled()).resolve())
            self.cases = settings.selection.of(self.corpus)
            if settings.shard is not None:
                self.cases = settings.shard.of_cases(self.cases)
            expectations = by_subject(settings.expect, [named.text for named in settings.subjects])
            self.profile = profile_of(settings.profile) if settings.profile is not None else None
        except Exception:
            starting.end()
            raise
        self.manifest = self.corpus.path / MANIFEST
        self._asked = Asked(self.corpus)
        self.subjects = starting.subjects()
        self.processes = Processes(self.subjects)
        self.worker = Worker(
            *(self.corpus, self.processes),
            repeat=settings.repeat,
            diagnosis=settings.diagnosis,
            quality=settings.quality,
            profile=self.profile,
        )
        self.processes_of_run = 1
        self.abandoned: ConformanceError | None = None
        self.interrupted = False
        self.is_collected = False
        self.reasons: list[str] = []
        self.selected = len(self.cases)
        self.pending = sum(len(self.cases_of(subject)) for subject in self.subjects)
        self._whole = None if settings.selection.options or settings.shard else self.pending
        self.picked: dict[str, str] = {}
        self.recorder = self._new_recorder(expectations) if introductions is None else None

    def _new_recorder(self, expectations: Mapping[str, Expectations]) -> Recorder:
        settings, versions = self.settings, {subject.id: subject.version for subject in self.subjects}
        try:
            rules = rules_for(settings.level, self.corpus, versions, expectations, settings.require, settings.baseline)
            rules = replace(rules, profile=self.profile)
            options = {subject.id: settings.options_of(subject.kind) for subject in self.subjects}
            return Recorder(
                self.corpus,
                self.subjects,
                Gate(rules, list(versions)),
                settings.results,
                options,
                diagnosis=settings.diagnosis,
            )
        except ConformanceError:
            self.processes.end()
            raise

    def cases_of(self, subject: Subject) -> dict[str, CorpusCase]:
        """Those of the cases to run that a subject is asked."""
        return {id: case for id, case in self.cases.items() if self._asked(subject.kind, case)}

    def owns(self, item: pytest.Item) -> bool:
        """Whether an item is for this session to run."""
        return isinstance(item, Batch | ConformanceItem)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Have the subjects' processes looked after."""
        config.pluginmanager.register(self.processes)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what to run, and what need not be run again."""
        node.workerinput[SETTINGS] = replace(self.settings, data=self.corpus.path, results=None).as_json()
        node.workerinput[DONE] = sorted(self.done)

    def pytest_sessionstart(self) -> None:
        """Take over the results of the run that is continued."""
        if self.recorder is None or self._begun is None:
            return
        try:
            check_begun(self._begun, self.recorder.header(0, self._selection(), ""))
            self.recorder.resume(self._begun)
        except ConformanceError as error:
            self._abandon(error)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the user ended the run; xdist tells so of its workers, and raises the same on `-x`."""
        told_by_worker = "received keyboard-interrupt" in str(excinfo.value)
        self.interrupted = told_by_worker or type(excinfo.value) is KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a result, and say in pytest's terms whether it is as expected: this is the gate's to know."""
        hook, before = report.__dict__.pop("before", (None, ()))
        for earlier in before:
            hook.pytest_runtest_logreport(report=earlier)
        result: dict[str, Any] | None = getattr(report, "conformance", None)
        if result is None or self.recorder is None:
            return
        try:
            expected = self._record(self.recorder, result)
        except ConformanceError as error:
            self._abandon(error)
        if not expected:
            report.outcome, report.longrepr = "failed", f"{result['verdict']}: {result['message']}"
        elif result["verdict"] != Verdict.PASS:
            report.outcome = "skipped"
            report.longrepr = (str(self.manifest), 0, f"{result['verdict']}: {result['message']}")

    def _abandon(self, error: ConformanceError) -> NoReturn:
        self.abandoned = error
        raise pytest.exit.Exception(str(error), returncode=2) from None

    def _record(self, recorder: Recorder, result: dict[str, Any]) -> bool:
        """Hand a result to the recorder; whether it is as expected.

        Raises:
            CorpusError: the corpus is not what its manifest says, here or in the worker that reports.
            UsageError: the results cannot be written.
        """
        if "abandon" in result:
            raise CorpusError(*result["abandon"])
        if not recorder.has_begun:
            recorder.begin(self.selected, self._selection(), command_line(), self._due())
        return recorder.add(result)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what is selected, and spare the garbage collector the thousands of items that stay to the end."""
        if not self.is_collected:  # pytest says that it is done where it was interrupted, too
            return
        gc.freeze()
        ours = [item.case.id for item in session.items if isinstance(item, ConformanceItem)]
        self._count(len(set(ours)), len(ours))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Count it where workers collect."""
        self._count(*next((counts for id in ids if (counts := counts_of(id))), (0, 0)))

    def _count(self, selected: int, pending: int) -> None:
        """Take note of what is selected, with what a continued run had done before."""
        begun = self._begun
        self.selected = begun.header["corpus"]["selected"] if begun else selected
        self.pending = pending + len(self.done)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_from_serializable(self, config: pytest.Config, data: dict[str, Any]) -> pytest.TestReport | None:
        """Take a batch from a worker apart: its last report, with the others to be logged before it.

        A thread of each worker's connection calls this, so nothing is logged or recorded here.
        """
        reports = [case_report(*part) for part in data.get("batch", ())]
        if not reports:
            return None
        reports[-1].__dict__["before"] = (config.hook, reports[:-1])
        return reports[-1]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the results file; a shut gate fails the session."""
        self.processes.stop()
        if self.recorder is None:
            return
        if self.interrupted and not self.abandoned and not self.recorder.has_begun:
            self.recorder.begin(self.selected, self._selection(), command_line(), self._due())
        if self.abandoned or not self.recorder.has_begun:
            self.recorder.abandon()
            return
        due = self._due()
        partial = self._whole is None or self.recorder.results < self._whole
        self.reasons = self.recorder.gate.reasons(partial=partial)
        if self.settings.shard is None:  # what a shard lacks, the others may have: `merge` judges that
            self.reasons += self.recorder.gate.unasked({subject.id: subject.kind for subject in self.subjects})
        if (missing := due - self.recorder.results) or self.interrupted:
            told = "was interrupted" if self.interrupted else "was stopped before its end, or a process of it died"
            self.reasons.append(f"{missing} of {due} results are missing: the run {told}")
        try:
            self.recorder.end(self.reasons, interrupted=self.interrupted, processes=self.processes_of_run)
        except ConformanceError as error:
            self.recorder.abandon()
            self._abandon(error)
        if self.reasons and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def selected_by(self) -> str:
        """The options that leave cases out, as they were typed; empty where none does."""
        return " ".join(f"{name} {value}" for name, value in self._selection().items() if name != "--level")

    def _due(self) -> int:
        """How many results there must be: those of the manifest, unless a selection is told of."""
        return self.pending if set(self._selection()) - {"--level"} else max(self.pending, self._whole or 0)

    def _selection(self) -> dict[str, str]:
        settings = self.settings
        selection = {
            **self.picked,
            **settings.selection.options,
            "--level": settings.level,
            "--shard": settings.shard or "",
        }
        return {name: str(value) for name, value in selection.items() if value}
