"""A session: the corpus, the cases, the subjects and the recorder of a run, which `judge_corpus` executes.

`--last-failed` selects cases by a cache that belongs to the current directory. It has the file name and the form of
pytest's own cache.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from msgspec import structs

from conformance.base.errors import CorpusError, UsageError
from conformance.base.files.atomic_write import read_regular, real_path, write_text_atomically
from conformance.base.serialization.decoding import MalformedError, decode_json
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import runnable_cases
from conformance.corpus.cases.corpus import bundled_corpus_path, check_files, read_manifest
from conformance.run.corpus_run.recorder import Recorder
from conformance.run.corpus_run.resume import InterruptedRun, check_before_start, check_can_resume
from conformance.run.corpus_run.settings import command_line, select_cases, select_shard
from conformance.run.expectations.criterion import Completeness, MissingCause, PassCriterion
from conformance.run.expectations.criterion_settings import criterion_for_run
from conformance.run.expectations.expectations_file import read_expectations_by_subject
from conformance.run.judging.profile_rules import load_profile
from conformance.run.results.records import FLAG_GIVEN, Selection
from conformance.subjects.calling.subject_names import SubjectKind
from conformance.subjects.isolation.start_subjects import clients_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from conformance.corpus.cases.corpus import CorpusCase
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.expectations.expectations_file import Expectations
    from conformance.run.results.records import Footer, Judged
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
        has_no_last_failed: whether `--lf` selects all cases, because no earlier run in this folder failed one of them.
    """

    def __init__(
        self,
        settings: Settings,
        interrupted_run: InterruptedRun | None = None,
        more_options: Mapping[str, str] = {},
        starting: StartingSubjects | None = None,
        *,
        last_failed: bool = False,
    ) -> None:
        """Open the corpus and start the subjects.

        Nothing is started before the file of an interrupted run is known to be of this run. Without such a file, the
        subjects start while the corpus is opened.

        Args:
            settings: the settings of the run.
            interrupted_run: the run to continue, or None.
            more_options: options that restrict the cases and are not settings.
            starting: the subjects, if the caller starts them already; None for an interrupted run.
            last_failed: whether to run only the cases that failed in the last run.

        Raises:
            ConformanceError: the corpus, the id of a case, a subject or an expectations file is wrong, or the
                interrupted run is another run.
        """
        self.settings = settings
        self.more_options = {"--lf": FLAG_GIVEN} if last_failed else more_options
        self.has_no_last_failed = False
        self._interrupted_run = interrupted_run
        self.completed = interrupted_run.completed if interrupted_run else frozenset[Item]()
        if starting is None and interrupted_run is None:
            starting = settings.start_subjects()
        try:
            self._open_corpus()
            if interrupted_run is not None:
                keys = {(named.text, id) for named in settings.subjects for id in self.cases_of(named.kind)}
                check_before_start(interrupted_run, self.corpus.digest, settings, keys)
                starting = settings.start_subjects()
            assert starting is not None
            names = [named.text for named in settings.subjects]
            expectations: Mapping[str, Expectations] = {}
            if settings.expect:
                expectations = read_expectations_by_subject(settings.expect, names, self.corpus.name, self.corpus.cases)
            self.subjects = starting.subjects()
            self.items: Sequence[Item] = [(one.id, id) for one in self.subjects for id in self.cases_of(one.kind)]
            self._all_items = self.items
            if last_failed:
                by_id = {item_id(*item): item for item in self.items}
                chosen = select_last_failed(by_id, settings.fail_level)
                if len(chosen) == len(by_id) and read_last_failed(settings.fail_level).isdisjoint(by_id):
                    self.more_options = {}
                    self.has_no_last_failed = True
                self.restrict({by_id[id] for id in chosen})
            self._is_selected = settings.selection != Selection()
            self.recorder = self._new_recorder(expectations)
        except BaseException:
            if starting is not None:
                starting.end()
            raise

    def _open_corpus(self) -> None:
        """Open the corpus, select the cases, and check that the files of these cases exist."""
        self.corpus = read_manifest(real_path(self.settings.data or bundled_corpus_path()))
        self._runnable: dict[SubjectKind, frozenset[str]] = {}
        self.cases = select_cases(self.corpus, self.settings.selection)
        self._require_min_cases()
        self.cases = select_shard(self.cases, self.settings.selection.shard)
        check_files(self.corpus, self.cases.values())

    def _require_min_cases(self) -> None:
        """Check that the subjects run at least the number of cases that the user announced, all shards together.

        Raises:
            UsageError: fewer cases are selected.
        """
        least = self.settings.min_cases
        if least > 1:
            kinds = {named.kind for named in self.settings.subjects}
            count = len({id for kind in kinds for id in self.cases_of(kind)})
            if count < least:
                raise UsageError("too-few-cases", count=count, least=least, corpus=self.corpus.path)

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
            PassCriterion(replace(criterion, profile=profile), {subject.id: subject.kind for subject in self.subjects}),
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

    def require_items(self) -> None:
        """Check that there is something to run.

        Raises:
            UsageError: no case is selected.
        """
        if not self.items:
            raise UsageError("no-case-selected")

    @property
    def pending_items(self) -> list[Item]:
        """The items that have no result from the interrupted run."""
        return [item for item in self.items if item not in self.completed]

    @property
    def selected(self) -> int:
        """Number of cases that are run."""
        before = self._interrupted_run
        return before.header.corpus.selected if before else len({case for _, case in self.items})

    @property
    def first_backends(self) -> list[str]:
        """The backends of a run without expectations that selects all cases, or those of operators, as a first run."""
        settings = self.settings
        others = structs.replace(settings.selection, operator=())
        is_part = others != Selection() or len(self.items) < len(self._all_items)
        if is_part or settings.expect or settings.baseline or settings.relative_to:
            return []
        return [subject.id for subject in self.subjects if subject.kind is SubjectKind.BACKEND]

    def continue_interrupted_run(self) -> None:
        """Read the results of the interrupted run that this run continues, if any.

        Raises:
            ConformanceError: the interrupted run is another run.
        """
        if self._interrupted_run is not None:
            check_can_resume(self._interrupted_run, self.recorder.new_header(0, self.selection(), ""))
            self.recorder.resume(self._interrupted_run)

    def add(self, judged: Judged) -> bool:
        """Record a result, and return whether it is as expected. The header is written before the first result."""
        self._begin()
        return self.recorder.add(judged)

    def _begin(self) -> None:
        if self.recorder.header is None:
            self.recorder.begin(self.selected, self.selection(), command_line(), len(self.items))

    def finish(
        self, completeness: Completeness, *, is_resumable: bool, processes: int, hosts: Collection[str]
    ) -> tuple[Footer, Exception | None]:
        """Explain the failures, and write the end of the results file.

        Args:
            completeness: which results the run has.
            is_resumable: whether a later run can continue this one.
            processes: number of processes that search for explanations of failures.
            hosts: machines whose Dask workers executed cases; empty for a run on this machine.

        Raises:
            ConformanceError: the results file cannot be written.
        """
        self._begin()
        return self.recorder.end(completeness, is_resumable=is_resumable, processes=processes, hosts=sorted(hosts))

    def completeness(self, cause: MissingCause, deaths: Sequence[str]) -> Completeness:
        """Return which results the run has; the arguments are attributes of `Completeness`."""
        return Completeness(
            recorded=len(self.recorder.assessed),
            expected=len(self.items),
            is_selection=self._is_selected or len(self.items) < len(self._all_items),
            cause=cause,
            deaths=deaths,
            repeated=self.recorder.repeated,
            # other shards may have the missing cases; `merge` checks that
            is_shard=self.settings.selection.shard is not None,
            operators=self.settings.selection.operator,
        )

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

    def selection(self) -> Selection:
        """Return the conditions on the cases, with those of pytest's own options."""
        return structs.replace(self.settings.selection, other_options=dict(self.more_options))


ITEM_PREFIX = "onnx-conformance::"
MAX_CACHE_BYTES = 2**26


def item_id(subject: str, case: str) -> str:
    """Return the id of a case on a subject: the id of the pytest item, which pytest also accepts as an argument."""
    return f"{ITEM_PREFIX}{case}[{subject}]"


def read_last_failed(level: Level) -> set[str]:
    """Return the ids of the items that failed when they were last run; empty without a readable cache.

    Args:
        level: weakest level of failures. Those of level `should` are stored also if they did not fail the run.
    """
    weakest = {True, *([Level.SHOULD] if level is Level.SHOULD else [])}
    return {id for id, stored in _read_cache().items() if stored in weakest}


def select_last_failed(ids: Iterable[str], level: Level) -> list[str]:
    """Return those of the ids that failed when they were last run; all ids if none failed."""
    every = list(ids)
    failed = read_last_failed(level)
    return [id for id in every if id in failed] or every


def update_last_failed(has_failed: Mapping[str, bool], weaker: Iterable[str] = ()) -> None:
    """Store whether items failed; the stored state of other items does not change.

    Args:
        has_failed: whether an item failed the run, by its id.
        weaker: the ids of the items that would fail a run with the level `should`.
    """
    before = _read_cache()
    after: dict[str, bool | str] = {id: stored for id, stored in before.items() if id not in has_failed}
    after |= dict.fromkeys(weaker, str(Level.SHOULD))
    after |= {id: True for id, failed in has_failed.items() if failed}
    if after == before:
        return
    try:
        _cache_file().parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(_cache_file(), json.dumps(after, indent=2, sort_keys=True))
    except OSError:  # a cache that cannot be written must not fail the run
        return


def _read_cache() -> dict[str, bool | str]:
    """Return what is stored of each item: true if it failed, or `should` if it fails a run of this level alone."""
    try:
        stored = decode_json(read_regular(_cache_file(), MAX_CACHE_BYTES))
    except (OSError, MalformedError):
        return {}
    items = stored.items() if isinstance(stored, dict) else ()
    return {id: value for id, value in items if isinstance(id, str) and isinstance(value, bool | str)}


def _cache_file() -> Path:
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home directory is known
        caches = Path(gettempdir())
    here = hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]
    return caches / "onnx-conformance" / here / "v" / "cache" / "lastfailed"
