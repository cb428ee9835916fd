"""A session: the corpus, the cases and the subjects of a run, and the decision whether the run passes.

`run_corpus` and the pytest plugin each execute the items of a session, and pass it the results.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.base.errors import CorpusError
from conformance.base.files.atomic_write import real_path
from conformance.corpus.cases.case_json import runnable_cases
from conformance.corpus.cases.corpus import bundled_corpus_path, check_files, read_manifest
from conformance.run.corpus_run.recorder import Recorder, RunEnd
from conformance.run.corpus_run.resume import InterruptedRun, check_before_start, check_can_resume
from conformance.run.corpus_run.settings import command_line
from conformance.run.expectations.criterion import PassCriterion
from conformance.run.expectations.expectations_file import read_expectations_by_subject
from conformance.run.expectations.rules import criterion_for_run
from conformance.run.judging.profile_rules import load_profile
from conformance.subjects.calling.subject_names import SubjectKind
from conformance.subjects.isolation.start_subjects import clients_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from conformance.corpus.cases.corpus import CorpusCase
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.expectations.expectations_file import Expectations
    from conformance.run.results.records import Result
    from conformance.subjects.isolation.start_subjects import StartingSubjects

Item = tuple[str, str]
"""Name of a subject and id of a case."""


class RunSession:
    """The state of a run.

    Attributes:
        settings: the settings of the run.
        corpus: the corpus.
        cases: the cases to run by id.
        subjects: the subjects to run the cases on.
        recorder: the recorder of results.
        items: pairs of subject and case that have a result at the end, subject by subject.
        completed: those of the pairs that have a result already, because the run was resumed.
        more_options: options that restrict the cases and are not settings, such as `--lf`, with their values.
    """

    def __init__(
        self,
        settings: Settings,
        interrupted_run: InterruptedRun | None = None,
        more_options: Mapping[str, str] = {},
        starting: StartingSubjects | None = None,
    ) -> None:
        """Open the corpus and start the subjects.

        Nothing is started before the file of an interrupted run is known to be of this run. Without such a file, the
        subjects start while the corpus is opened.

        Args:
            settings: the settings of the run.
            interrupted_run: the run to continue, or None.
            more_options: options that restrict the cases and are not settings.
            starting: the subjects, if the caller starts them already; None for an interrupted run.

        Raises:
            ConformanceError: the corpus, the id of a case, a subject or an expectations file is wrong, or the
                interrupted run is another run.
        """
        self.settings = settings
        self.more_options = more_options
        self._interrupted_run = interrupted_run
        self.completed = interrupted_run.completed if interrupted_run else frozenset[Item]()
        if starting is None and interrupted_run is None:
            starting = settings.start_subjects()
        try:
            self._open_corpus()
            if interrupted_run is not None:
                keys = {(named.text, id) for named in settings.subjects for id in self.cases_of(named.kind)}
                check_before_start(interrupted_run, self.corpus.digest, settings, self.selection(), keys)
                starting = settings.start_subjects()
            assert starting is not None
            names = [named.text for named in settings.subjects]
            expectations = read_expectations_by_subject(settings.expect, names, self.corpus.name)
            self.subjects = starting.subjects()
            self.items: Sequence[Item] = [(one.id, id) for one in self.subjects for id in self.cases_of(one.kind)]
            self._all_items = self.items
            self._is_selected = bool(settings.selection.options or settings.shard)
            self.recorder = self._new_recorder(expectations)
        except BaseException:
            if starting is not None:
                starting.end()
            raise

    def _open_corpus(self) -> None:
        """Open the corpus, select the cases, and check that the files of these cases exist."""
        self.corpus = read_manifest(real_path(self.settings.data or bundled_corpus_path()))
        self._runnable: dict[SubjectKind, frozenset[str]] = {}
        self.cases = self.settings.selection.select(self.corpus)
        if self.settings.shard is not None:
            self.cases = self.settings.shard.select(self.cases)
        check_files(self.corpus, self.cases.values())

    def _new_recorder(self, expectations: Mapping[str, Expectations]) -> Recorder:
        settings = self.settings
        versions = {subject.id: subject.version for subject in self.subjects}
        criterion = criterion_for_run(
            settings.fail_level,
            self.corpus,
            versions,
            expectations,
            settings.require,
            settings.baseline,
            settings.relative_to,
        )
        profile = load_profile(settings.profile) if settings.profile is not None else None
        return Recorder(
            self.corpus,
            self.subjects,
            PassCriterion(replace(criterion, profile=profile), list(versions)),
            settings.results,
            settings.options_by_subject,
            diagnosis=settings.diagnosis,
        )

    def cases_of(self, kind: SubjectKind) -> dict[str, CorpusCase]:
        """Return the cases to run that apply to subjects of a kind, by id."""
        if kind not in self._runnable:
            self._runnable[kind] = runnable_cases(self.corpus, by_optimizers=kind is SubjectKind.OPTIMIZER)
        return {id: case for id, case in self.cases.items() if id in self._runnable[kind]}

    def restrict(self, items: Collection[Item]) -> None:
        """Restrict the run to some items, and to those that have a result already."""
        self.items = [item for item in self._all_items if item in items or item in self.completed]

    @property
    def pending_items(self) -> list[Item]:
        """The items that have no result from the interrupted run."""
        return [item for item in self.items if item not in self.completed]

    @property
    def selected(self) -> int:
        """Number of cases that are run."""
        before = self._interrupted_run
        return before.header.corpus.selected if before else len({case for _, case in self.items})

    def continue_interrupted_run(self) -> None:
        """Read the results of the interrupted run that this run continues, if any.

        Raises:
            ConformanceError: the interrupted run is another run.
        """
        if self._interrupted_run is not None:
            check_can_resume(self._interrupted_run, self.recorder.header(0, self.selection(), ""))
            self.recorder.resume(self._interrupted_run)

    def add(self, result: Result) -> bool:
        """Record a result, and return whether it is as expected. The header is written before the first result."""
        self._begin()
        return self.recorder.add(result)

    def _begin(self) -> None:
        if not self.recorder.has_begun:
            self.recorder.begin(self.selected, self.selection(), command_line(), len(self.items))

    def finish(
        self,
        why_missing: str,
        *,
        is_interrupted: bool = False,
        is_stopped: bool = False,
        processes: int = 1,
        hosts: Collection[str] = (),
    ) -> RunEnd:
        """Decide whether the run passes, explain its failures, and write the end of the results file.

        Args:
            why_missing: why results are missing, as a clause, if any are.
            is_interrupted: whether the user ended the run.
            is_stopped: whether the run was stopped on purpose, so that it cannot be continued.
            processes: number of processes that search for explanations of failures.
            hosts: machines whose Dask workers executed cases; empty for a run on this machine.

        Raises:
            ConformanceError: the results file cannot be written.
        """
        self._begin()
        recorder = self.recorder
        is_partial = self._is_selected or len(recorder.judged) < len(self._all_items)
        reasons = recorder.judged.criterion.reasons(partial=is_partial)
        if self.settings.shard is None:  # other shards may have the missing cases; `merge` checks that
            kinds = {subject.id: subject.kind for subject in self.subjects}
            reasons += recorder.judged.criterion.missing_required_operators(kinds)
        missing = len(self.items) - len(recorder.judged)
        if missing or is_interrupted:
            why = "the run was interrupted" if is_interrupted else why_missing
            reasons.append(f"{missing} of {len(self.items)} results are missing: {why}")
        if recorder.repeated:
            text = f"{recorder.repeated} cases were run again by another pytest plugin: their first results count"
            reasons.append(text)
        is_resumable = is_interrupted or (missing > 0 and not is_stopped)
        end = recorder.end(reasons, interrupted=is_resumable, processes=processes, hosts=sorted(hosts))
        return end._replace(is_interrupted=is_interrupted)

    def abandon(self, error: BaseException | None) -> None:
        """End the run without a footer; valid results are kept for `--resume`.

        Args:
            error: the reason, or None; after an error of the corpus, the results are not valid.
        """
        self.end_subjects()
        self.recorder.abandon(keeps_results=not isinstance(error, CorpusError))

    def stop_subjects(self) -> None:
        """Stop the processes of the subjects."""
        for client in clients_of(self.subjects).values():
            client.stop()

    def end_subjects(self) -> None:
        """Kill the processes of the subjects."""
        for client in clients_of(self.subjects).values():
            client.end()

    @property
    def selected_by(self) -> str:
        """The options that restrict the cases, as on a command line; empty if all cases are run."""
        return " ".join(f"{name} {value}" for name, value in self.selection().items() if name != "--fail-level")

    def selection(self) -> dict[str, str]:
        """Return the options that select the cases, with their values."""
        settings = self.settings
        selection = {
            **self.more_options,
            **settings.selection.options,
            "--fail-level": settings.fail_level,
            "--shard": settings.shard or "",
        }
        return {name: str(value) for name, value in selection.items() if value}
