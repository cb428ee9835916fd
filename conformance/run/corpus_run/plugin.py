"""Cases as pytest items: each case on each subject is an item, which `Executor` runs.

pytest selects the items, distributes them to workers, and stops the run. The module `onnx_conformance_pytest` loads
this module if an option names a subject. An item has no setup and teardown phases and gives one report, because
fixtures would take longer than most cases.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from conformance.base.errors import ConformanceError, CorpusError, StorageError
from conformance.base.serialization.decoding import JsonReader, encode_json
from conformance.base.serialization.printable_text import escape_line, escape_unprintable, one_line, shorten_end
from conformance.base.verdicts import Verdict
from conformance.run.corpus_run.run_session import (
    ITEM_PREFIX,
    RunSession,
    item_id,
    read_last_failed,
    update_last_failed,
)
from conformance.run.corpus_run.runner import Executor, RunJob, divide_into_chunks, judge_corpus, subject_infos
from conformance.run.corpus_run.settings import settings_from_options
from conformance.run.expectations.criterion import MissingCause
from conformance.run.results.records import FLAG_GIVEN, Judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.base.verdicts import Level
    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.corpus_run.runner import Outcome, RunObserver
    from conformance.run.expectations.expectations_file import Expectation

_JOB_KEY = "onnx_conformance_job"
"""Key of the pickled `RunJob` in the `workerinput` of pytest-xdist."""

_EXPECTED_KEY = "onnx_conformance_expected"
"""Key of the items that a worker should run in its `workeroutput`."""


class Abandoned(Struct, tag_field="record", tag="abandoned"):
    """The error because of which a case has no result; it ends the session. `area` identifies its class."""

    area: str
    name: str
    problem: str
    hint: str


_read_answer: JsonReader[Judged | Abandoned] = JsonReader(Judged | Abandoned, has_infinities=True)


class CaseReport(pytest.TestReport):
    """The report of an item: the result of the case, or the error instead of the result."""

    def __init__(
        self, nodeid: str, location: tuple[str, int | None, str], answer: Judged | Abandoned, worker_id: str = ""
    ) -> None:
        seconds = answer.seconds if isinstance(answer, Judged) else 0.0
        super().__init__(nodeid, location, {}, "passed", None, "call", duration=seconds)
        self.answer = answer
        self.worker_id = worker_id

    def result(self) -> Judged:
        """Return the result of the case.

        Raises:
            CorpusError: a file of the case differs from the manifest.
            StorageError: the suite cannot write its files for the subject.
        """
        if isinstance(self.answer, Judged):
            return self.answer
        error = StorageError if self.answer.area == StorageError.area else CorpusError
        raise error(self.answer.name, self.answer.problem, self.answer.hint)


def create_plugin(config: pytest.Config, options: Mapping[str, Any]) -> WorkerPlugin | SessionPlugin:
    """Return the plugin for this process, and make pytest collect the corpus.

    Args:
        options: the values of the options of a run by the names of their parameters.

    Raises:
        UsageError: an option, the corpus or a subject is wrong, or no item has an id of the command line.
    """
    plugin: WorkerPlugin | SessionPlugin
    if worker_input := getattr(config, "workerinput", None):
        plugin = WorkerPlugin(config, pickle.loads(worker_input[_JOB_KEY]))  # noqa: S301 - from pytest's own process
    else:
        try:
            plugin = SessionPlugin(config, RunSession(settings_from_options(options), more_options=_selection(config)))
        except ConformanceError as error:
            raise pytest.UsageError(escape_unprintable(str(error))) from None
    manifest = str(plugin.manifest)
    config.args[:] = [argument for argument in config.args if not _is_item_id(argument) and argument != manifest]
    config.args.append(manifest)
    return plugin


def _is_item_id(argument: object) -> bool:
    return str(argument).startswith(ITEM_PREFIX)


def _selection(config: pytest.Config) -> dict[str, str]:
    """Return pytest's own options that restrict the items, such as `-m`, with their values.

    Ids of items on pytest's command line have the key `pytest`.
    """
    options = {"-k": "keyword", "-m": "markexpr", "--deselect": "deselect", "--lf": "lf", "--sw": "stepwise"}
    given = {name: config.getoption(option, "") for name, option in options.items()}
    arguments = [str(argument) for argument in config.invocation_params.args]
    given["pytest"] = [argument for argument in arguments if "::" in argument and not argument.startswith("-")]
    texts = {name: " ".join(value) if isinstance(value, list) else value for name, value in given.items() if value}
    return {name: FLAG_GIVEN if value is True else str(value) for name, value in texts.items()}


def _share_last_failed(config: pytest.Config, items: Iterable[pytest.Item], level: Level) -> None:
    """Make pytest's `--lf` use the results of the last run of the command `run` too."""
    cache: Any = config.pluginmanager.get_plugin("lfplugin")
    if cache is None:
        return
    failed = read_last_failed(level)
    for item in items:
        key = getattr(item, "id", item.nodeid)  # since pytest 9.2, the keys are objects
        if item.nodeid in failed:
            cache.lastfailed[key] = True
        elif isinstance(item, CaseItem):
            cache.lastfailed.pop(key, None)


class _CasePlugin:
    """Collects the corpus and runs its items.

    Args:
        items: pairs of subject and case.
        level: weakest level of cases that can fail the run.

    Attributes:
        manifest: the file that identifies the corpus, which pytest collects.
    """

    def __init__(self, corpus: Corpus, executor: Executor, items: Sequence[tuple[str, str]], level: Level) -> None:
        self.manifest = corpus.file
        self._executor = executor
        self._items = items
        self._level = level
        self._is_collected = False
        self._collected: set[tuple[str, str]] = set()

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Return the collector of the corpus if `file_path` is its manifest, otherwise None."""
        if file_path != self.manifest:
            return None
        return CorpusFile.from_parent(parent, path=file_path, nodeid=ITEM_PREFIX.removesuffix("::"), keys=self._items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        """Store the items before another plugin or a conftest.py can remove some."""
        _share_last_failed(config, items, self._level)
        self._is_collected = True
        self._collected = _keys(items)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remove the items that an option of pytest excludes, such as `-m`, from the stored items."""
        self._collected -= _keys(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Run an item of this suite and log its report; return None for other items, which pytest then runs."""
        if not isinstance(item, CaseItem):
            return None
        item.config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        answer: Judged | Abandoned
        try:
            answer = self._executor.run(*item.key)
        except (CorpusError, StorageError) as error:
            answer = Abandoned(error.area, *error.args)
        report = CaseReport(item.nodeid, item.location, answer)
        item.config.hook.pytest_runtest_logreport(report=report)
        item.config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: pytest.TestReport) -> dict[str, Any] | None:
        """Return a report of an item of this suite as a worker of pytest-xdist sends it; None for other reports."""
        if not isinstance(report, CaseReport):
            return None
        arguments = (report.nodeid, report.location, encode_json(report.answer))
        return {"$report_type": CaseReport.__name__, "arguments": arguments}

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> CaseReport | None:
        """Return the report of an item of this suite that a worker of pytest-xdist sent; None for other reports."""
        if data.get("$report_type") != CaseReport.__name__:
            return None
        nodeid, location, answer = data["arguments"]
        return CaseReport(nodeid, location, _read_answer(answer), worker_id=data.get("worker_id", ""))


class WorkerPlugin(_CasePlugin):
    """The plugin in a worker of pytest-xdist; the controller records the results."""

    def __init__(self, config: pytest.Config, job: RunJob) -> None:
        corpus, subjects = job.prepare_worker()
        self._config: Any = config
        executor = Executor(corpus, subjects, job.settings)
        items = [(chunk.subject, id) for chunk in job.chunks for id in chunk.cases]
        super().__init__(corpus, executor, items, job.settings.fail_level)

    def pytest_sessionfinish(self) -> None:
        """Stop the subjects, and send the controller the items that this session should run."""
        self._executor.stop()
        self._config.workeroutput[_EXPECTED_KEY] = sorted(self._collected)


class _NothingSelected(Exception):
    """The options of pytest exclude every case."""


class SessionPlugin(_CasePlugin):
    """The plugin in the process that the user has started: its session is executed by the test loop of pytest.

    It is an `Execution` of `judge_corpus`, which records the results and decides whether the run passes.

    Attributes:
        deaths: how each worker of pytest-xdist that died ended.
        outcome: the outcome of the run, if there is one.
    """

    processes: int = 1
    hosts: Sequence[str] = ()

    def __init__(self, config: pytest.Config, session: RunSession) -> None:
        self._session = session
        self._pytest_session: pytest.Session | None = None
        self._record: Callable[[Judged], bool] = session.add
        self._error: ConformanceError | None = None
        self._end_of_loop: BaseException | None = None
        self._has_failed: dict[str, bool] = {}
        self._is_judged = False
        self.deaths: list[str] = []
        self.outcome: Outcome | None = None
        chosen = {str(argument) for argument in config.args if _is_item_id(argument)}
        if unknown := chosen - {item_id(*key) for key in session.items}:
            session.abandon(None)
            raise pytest.UsageError(
                f"There is no item {escape_line(min(unknown))}; `--collect-only -q` prints the ids."
            )
        if chosen:
            session.restrict({key for key in session.items if item_id(*key) in chosen})
        executor = Executor(session.corpus, session.subjects, session.settings)
        super().__init__(session.corpus, executor, session.items, session.settings.fail_level)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Stop the subjects, and send a worker of pytest-xdist the items; the worker starts its own subjects."""
        self._session.stop_subjects()
        settings = replace(self._session.settings, data=self._session.corpus.path, results=None)
        infos = subject_infos(self._session.subjects)
        chunks = divide_into_chunks(self._items, None)
        node.workerinput[_JOB_KEY] = pickle.dumps(RunJob(settings, self._session.corpus.digest, infos, {}, chunks))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Store which items must have a result; results record only restrictions by options of pytest.

        An item that disappears in another way is missing at the end, and the run fails.
        """
        if self._is_collected:  # pytest calls this hook after an interruption too
            self._expect(self._collected | _keys(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        """Store which items must have a result, from the ids of the items that a worker has collected."""
        own = set(ids)
        self._expect({key for key in self._items if item_id(*key) in own})

    def _expect(self, keys: set[tuple[str, str]]) -> None:
        if self._session.more_options:
            self._session.restrict(keys)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> object:
        """Judge the corpus, with the test loop of pytest or pytest-xdist as the execution.

        Return None, so that the loop runs alone, if pytest only prints the items or runs no item of this suite.
        """
        if session.config.option.collectonly or not self._session.items:
            return None
        self._pytest_session = session
        self._is_judged = True
        try:
            self.outcome = judge_corpus(self._session, self)
        except _NothingSelected:
            return True
        except ConformanceError as error:
            raise pytest.exit.Exception(escape_unprintable(str(error)), returncode=2) from None
        weaker = self._session.recorder.assessed.weaker_failures
        update_last_failed(self._has_failed, [item_id(*item) for item in weaker])
        if self._end_of_loop is not None:
            raise self._end_of_loop
        return True

    def run(self, session: RunSession, record: Callable[[Judged], bool], _: RunObserver) -> None:
        """Run the loop of pytest, which calls `pytest_runtest_logreport` with each result; see `Execution`."""
        assert self._pytest_session is not None
        self._record = record
        manager = self._pytest_session.config.pluginmanager
        loop = manager.hook.pytest_runtestloop
        wrappers = [each.plugin for each in loop.get_hookimpls() if each.wrapper or each.hookwrapper]
        try:  # the wrappers of the loop are around this call already
            manager.subset_hook_caller("pytest_runtestloop", [self, *wrappers])(session=self._pytest_session)
        except BaseException as ended:  # noqa: BLE001 - pytest gets it after the end of the run
            self._end_of_loop = ended
        if self._error is not None:
            raise self._error
        is_recorded = session.recorder.header is not None
        ended_by = self._end_of_loop
        if ended_by is not None and _is_user_interruption(ended_by):
            raise KeyboardInterrupt from ended_by
        if ended_by is not None and not (is_recorded or self.deaths):
            raise ended_by
        if not is_recorded and not session.items:
            raise _NothingSelected

    @property
    def is_stopped(self) -> bool:
        """See `Execution`."""
        session = self._pytest_session
        return session is not None and bool(session.shouldfail or session.shouldstop)

    @property
    def missing_cause(self) -> MissingCause:
        """See `Execution`."""
        if self.deaths:
            return MissingCause.WORKERS_DIED
        return MissingCause.STOPPED if self.is_stopped else MissingCause.REMOVED_BY_PYTEST

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Store how a worker of pytest-xdist died, or the items that it should run."""
        if error:
            self.deaths.append(shorten_end(one_line(str(error)), 200))
        elif expected := getattr(node, "workeroutput", {}).get(_EXPECTED_KEY):
            self._expect({(subject, case) for subject, case in expected})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the result in `report`, and set the outcome of `report`: passed, failed, xfailed or skipped.

        As in pytest, an expected failure is skipped and has the attribute `wasxfail`.
        """
        if not isinstance(report, CaseReport):
            return
        try:
            result = report.result()
            is_expected = self._record(result)
        except ConformanceError as error:
            self._error = error
            raise pytest.exit.Exception(escape_unprintable(str(error)), returncode=2) from None
        self._has_failed[item_id(result.subject, result.case)] = not is_expected
        file = self._session.recorder.assessed.criterion.settings.expectations.get(result.subject)
        entry = file.entry_for(result.case) if file else None
        text = escape_line(f"{result.verdict}: {result.message}")
        if not is_expected:
            report.outcome = "failed"
            report.longrepr = _unexpected_text(result, entry) or text
        elif result.verdict.is_defect:
            report.outcome = "skipped"
            report.wasxfail = f"{self._reason(result, entry)}: {text}"
        elif result.verdict is not Verdict.PASS:
            reason = f"known ({escape_line(entry.reason)}): " if entry else ""
            report.outcome = "skipped"
            report.longrepr = (str(self.manifest), 0, f"{result.case}: {reason}{text}")

    def _reason(self, result: Judged, entry: Expectation | None) -> str:
        """Return why a failure does not fail the run: its entry in an expectations file, its level or the baseline."""
        level = self._session.corpus.cases[result.case].level
        if entry is not None:
            return f"level {level}, {escape_line(f'{entry.location_of(result.case)}: {entry.reason}')}"
        return f"level {level}, as in the baseline" if level.is_within(self._level) else f"level {level} is not judged"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Set the exit status of pytest, or end a session whose loop has not run."""
        if not self._is_judged:
            self._session.abandon(None)
        if self.outcome is None:
            return
        if self.outcome.fault is not None:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif not self.outcome.passes and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print why the run fails."""
        reasons = [] if self.outcome is None else self.outcome.reasons
        for reason in reasons:
            terminalreporter.write_line(escape_line(f"FAILED onnx-conformance: {reason}"))
        if reasons and not terminalreporter.stats.get("failed"):  # else the last line of pytest counts no failure
            run = pytest.CollectReport("onnx-conformance", "failed", None, None)
            terminalreporter.stats.setdefault("error", []).append(run)


def _unexpected_text(result: Judged, entry: Expectation | None) -> str:
    """Return how a result contradicts its entry in an expectations file; empty without an entry."""
    if entry is None or result.varies:
        return ""
    where = escape_line(f"{entry.location_of(result.case)}: {entry.reason}")
    if result.verdict is Verdict.PASS:
        return f"[XPASS(strict)] it passes, {entry.verdict} expected: remove it from the file ({where})"
    other = "another failure" if result.verdict is entry.verdict else f"{entry.verdict} expected"
    return f"{escape_line(f'{result.verdict}: {result.message}')} - {other} ({where})"


def _is_user_interruption(error: BaseException) -> bool:
    """Return whether the user ended the run; pytest-xdist raises an exception of the same class for `-x`."""
    is_of_worker = "received keyboard-interrupt" in str(error)
    return type(error) is KeyboardInterrupt or (isinstance(error, KeyboardInterrupt) and is_of_worker)


def _keys(items: Iterable[pytest.Item]) -> set[tuple[str, str]]:
    """Return the subject and the case of each item of this suite."""
    return {item.key for item in items if isinstance(item, CaseItem)}


class CorpusFile(pytest.File):
    """The pytest collector of a corpus; the file is the manifest."""

    def __init__(self, *, keys: Sequence[tuple[str, str]], **rest: Any) -> None:
        super().__init__(**rest)
        self._keys = keys
        self.relative_path = os.path.relpath(self.path, self.config.rootpath)

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for each subject and case, subject by subject, in the order of the cases' ids."""
        for subject, case in self._keys:
            # the complete node id, as pytest's cache of failures contains it
            yield CaseItem.from_parent(self, name=case, nodeid=item_id(subject, case), key=(subject, case))


class CaseItem(pytest.Item):
    """The pytest item for one case on one subject.

    Attributes:
        key: name of the subject and id of the case.
    """

    def __init__(self, *, key: tuple[str, str], **rest: Any) -> None:
        super().__init__(**rest)
        self.key = key
        assert isinstance(self.parent, CorpusFile)
        # pytest's own computation of the location is slow
        self.location = self.parent.relative_path, 0, self.nodeid.removeprefix(ITEM_PREFIX)

    def runtest(self) -> None:
        """Do nothing: `_CasePlugin` runs the case in a hook of pytest."""

    def listchain(self) -> list[Any]:
        """Return the item without its parents, so that `-k` does not match the path of the corpus."""
        return [self]
