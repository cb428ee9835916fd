"""The run of one release: its environment, its results files, and the records of its results for the store.

Results of another corpus are judged again, and only the cases that need it run. An interrupted run is continued by the
next update.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from msgspec import structs
from packaging.version import Version

from conformance.base.errors import HistoryError, ResultsError, SubjectError
from conformance.base.processes.start import start_program
from conformance.base.serialization.decoding import read_own_toml
from conformance.base.verdicts import Verdict
from conformance.run.results.recorded_environment import without_data
from conformance.run.results.records import CorpusRecord, HistoryRecord, Selection
from conformance.run.results.results_file import read_results
from conformance.studies.history.index import results_of
from conformance.studies.history.rejudge import judge_again
from conformance.studies.history.release_ranges import full_disk_error, is_disk_error
from conformance.studies.history.store import WORK_FOLDER, history_of
from conformance.subjects.calling.request import adapter_digest
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.create import PackageSources, borrow_environment
from conformance.subjects.environments.registry import environments_folder
from conformance.subjects.environments.requirements import find_requirements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.records import Header, Result
    from conformance.run.results.results_file import Results
    from conformance.studies.history.rejudge import JudgedAgain
    from conformance.studies.history.store import HistoryStore, StoredRelease
    from conformance.subjects.environments.create import BorrowedEnvironment
    from conformance.subjects.environments.registry import Environment
    from conformance.subjects.environments.requirements import Requirements

LEVELS = ("must", "should")
"""Levels of the cases of a history."""

CONFIRMATIONS = 3
"""Number of runs of a case whose verdict differs from that of a neighbouring release."""

SHARDS: dict[str, int] = dict.fromkeys(("iree", "openvino", "tinygrad", "tract", "tvm"), 8)
"""Number of shards of the runs of slow subjects; a finished shard survives an interruption."""

_STOP_SECONDS = 60.0
"""Time for a run to write its results after an interruption."""


@dataclass(frozen=True)
class RunSettings:
    """Settings of the runs of releases.

    Attributes:
        data: folder of the corpus; None for the corpus of the suite.
        workers: number of processes of a run, or None.
        offline: whether nothing is installed and run: only stored results are judged again.
        sources: the Python and the sources of the packages.
    """

    data: Path | None = None
    workers: int | None = None
    offline: bool = False
    sources: PackageSources = field(default_factory=PackageSources)


@dataclass(frozen=True)
class ReleaseTask:
    """One release of a subject that has to be run.

    Attributes:
        shard: the part of the cases to run, as in `--shard`; empty for all.
        cases: the cases to repeat; empty for a first run.
        known: all releases of the subject, which determine the neighbours of a release. If it is empty, the neighbours
            are the nearest releases in the store.
    """

    target: SubjectName
    release: str
    shard: str = ""
    cases: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Name of the subject on the command line."""
        return self.target.at_release(self.release).text

    @property
    def requirements(self) -> Requirements:
        """The packages of its environment."""
        return find_requirements(self.target.at_release(self.release))


def work_folder(store: HistoryStore, corpus: Corpus, task: ReleaseTask) -> Path:
    """Return the folder for the results files of a run, from which an interrupted run continues."""
    name = re.sub(r"[^\w.-]", "_", f"{task.target.kind}-{task.subject}-{corpus.digest[:8]}")
    return store.plain_folder(WORK_FOLDER, name)


class ReleaseRun:
    """The run of one release.

    Attributes:
        store: the store with the earlier results, and with those of the neighbouring releases.
        task: the release.
    """

    def __init__(self, store: HistoryStore, corpus: Corpus, task: ReleaseTask, settings: RunSettings) -> None:
        self.store = store
        self.task = task
        self._corpus = corpus
        self._settings = settings
        self._work = work_folder(store, corpus, task)
        self.known: JudgedAgain | None = None
        """Results that are known from another corpus without a run; None if there are none, or before `prepare`."""
        self._earlier: StoredRelease | None = None
        self._borrowed: BorrowedEnvironment | None = None

    def prepare(self) -> Environment | None:
        """Judge the stored results of another corpus again; return the environment if a case must run, else None.

        Raises:
            SubjectError: a package does not install, or the subject does not start.
            ResultsError: a case must run, and the update is offline.
            HistoryError: the disk is full, or a file of the store is damaged.
        """
        stored = [each for each in self.store.releases(self.task.target) if each.release == self.task.release]
        if stored:
            self._earlier = max(stored, key=lambda each: each.header.started)
            self.known = judge_again(self.store, self._earlier, self._corpus)
        if self._settings.offline and self.known is not None and self.known.missing:
            raise ResultsError("must-run", count=len(self.known.missing), subject=self.task.subject)
        if self._settings.offline or (self.known is not None and not self.known.missing):
            return None
        return self.create_environment()

    def create_environment(self) -> Environment:
        """Create the environment, or return the environment if it exists.

        Raises:
            SubjectError: a package does not install, or the subject does not start.
            StorageError: the disk is full.
            HistoryError: the disk is full, or a folder cannot be written.
        """
        try:
            self._work.mkdir(parents=True, exist_ok=True)
            self._borrowed = borrow_environment(self.task.requirements, self._settings.sources)
        except SubjectError:
            shutil.rmtree(self._work, ignore_errors=True)
            raise
        except OSError as error:
            if is_disk_error(str(error)):
                problem = f"The environment of {self.task.subject} cannot be written: {error.strerror}."
                raise full_disk_error(problem) from None
            raise HistoryError("not-writable.environment", subject=self.task.subject, reason=error.strerror) from None
        return self._borrowed.environment

    def give_back(self) -> None:
        """Remove the environment if an update created it and nobody else uses it."""
        if self._borrowed is not None:
            self._borrowed.give_back()
            self._borrowed = None

    def collect(self, environment: Environment | None) -> tuple[Header, list[Result]]:
        """Run the cases whose results are not known; return the header and the results for the store.

        Args:
            environment: the environment; None if all results are known.

        Raises:
            ResultsError: the run did not produce results.
            HistoryError: the disk is full.
        """
        known = dict(self.known.results) if self.known else {}
        runs = list(self._run_missing())
        results: dict[str, Result] = {key[1]: run.results[key] for run in runs for key in run.rows}
        if changed := self.changed_cases({case: result.verdict for case, result in results.items()}):
            confirmed = self._run_cases(changed, CONFIRMATIONS)
            results |= {key[1]: confirmed.results[key] for key in confirmed.rows}
        header = self._header(
            runs[0].header if runs else self._earlier_header(), environment, len(results) + len(known)
        )
        return header, [*known.values(), *map(_slim, results.values())]

    def _run_missing(self) -> Iterator[Results]:
        """Yield the runs of all cases whose results are not known."""
        if self.task.cases:
            yield self._run_cases(self.task.cases, CONFIRMATIONS)
        elif self.known is not None:
            if self.known.missing:
                yield self._run_cases(self.known.missing, 1)
        elif self.task.shard:
            yield self._run_shard(*self.task.shard.split("/"))
        else:
            shards = SHARDS.get(self.task.target.name, 1)
            for number in range(1, shards + 1):
                yield self._run_shard(str(number), str(shards))

    def _earlier_header(self) -> Header:
        assert self._earlier is not None
        return self._earlier.header

    def _run_shard(self, number: str, shards: str) -> Results:
        target = self._work / f"shard-{number}.jsonl"
        levels = [word for level in LEVELS for word in ("--select-level", level)]
        return self._run_command(target, [*levels, *(["--shard", f"{number}/{shards}"] if shards != "1" else [])])

    def _run_cases(self, cases: Sequence[str], times: int) -> Results:
        """Run some cases several times; the verdict of each case is the worst one."""
        target = self._work / f"cases-{sha256(json.dumps([*cases, times]).encode()).hexdigest()[:8]}.jsonl"
        words = [word for case in cases for word in ("--case", case)]
        return self._run_command(target, ["--repeat", str(times), *words])

    def _run_command(self, target: Path, selection: Sequence[str]) -> Results:
        """Run the command `run`, or continue it, and return the results.

        Raises:
            ResultsError: the command did not produce complete results.
            HistoryError: the disk is full.
        """
        if target.exists():
            with suppress(ResultsError):
                if not (found := read_results(target)).footer.interrupted:
                    return found
        kind, environment, options = self.task.target.kind, *run_configuration(self.task.target)
        command = [sys.executable, "-m", "conformance", "run", kind.flag]
        command += [self.task.subject, *selection, *options, "--fail-level", "should", "--no-diagnosis"]
        command += ["--record-outputs", "-q"]
        command += ["--data", str(self._settings.data)] if self._settings.data else []
        command += ["-n", str(self._settings.workers)] if self._settings.workers else []
        partial = target.with_name(f"{target.name}.partial")
        resumable = partial if partial.exists() else target if target.exists() else None
        if resumable is not None:
            status, _ = _run_child([*command, "--resume", str(target)], environment, self._lock_descriptors)
            if status in {0, 1}:
                return self._complete(target)
            if status == 130:
                raise KeyboardInterrupt
            partial.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
        status, errors = _run_child([*command, "--results", str(target)], environment, self._lock_descriptors)
        if status == 130:
            raise KeyboardInterrupt
        if is_disk_error(errors):
            raise full_disk_error(f"The results of {self.task.subject} cannot be written.")
        if status not in {0, 1}:
            reason = " ".join(without_paths(errors).split())[-500:]
            raise ResultsError("no-results", subject=self.task.subject, status=status, reason=reason)
        return self._complete(target)

    @property
    def _lock_descriptors(self) -> list[int]:
        """The locks of the store and of the environment, which a run holds even if this process is killed."""
        environment = self._borrowed.descriptor if self._borrowed is not None else None
        return [each for each in (self.store.lock_descriptor, environment) if each is not None]

    def _complete(self, target: Path) -> Results:
        found = read_results(target)
        if found.footer.interrupted or found.footer.results < found.header.criterion.expected_results:
            raise ResultsError("incomplete", subject=self.task.subject)
        return found

    def changed_cases(self, verdicts: Mapping[str, str]) -> list[str]:
        """Return the cases whose verdict differs from that of the neighbouring releases in the store."""
        changed: set[str] = set()
        for neighbour in self._neighbours():
            theirs = {result.case: result.verdict for result in results_of(neighbour)}
            changed |= {case for case, verdict in verdicts.items() if theirs.get(case, verdict) != verdict}
        return sorted(changed)

    def _neighbours(self) -> list[StoredRelease]:
        """Return the next older and the next newer release, if they are in the store.

        Unavailable releases are skipped. If a neighbour is not in the store yet, its own run finds the changed cases.
        """
        version = Version(self.task.release)
        stored = [each for each in self.store.releases(self.task.target) if each.digest == self._corpus.digest]
        unavailable = set(map(Version, self.store.unavailable(self.task.target)))
        pending = set(map(Version, self.task.known)) - unavailable - {each.version for each in stored}
        older = [each for each in stored if each.version < version][-1:]
        newer = [each for each in stored if each.version > version][:1]
        return [
            *(each for each in older if not any(each.version < other < version for other in pending)),
            *(each for each in newer if not any(version < other < each.version for other in pending)),
        ]

    def _header(self, header: Header, environment: Environment | None, number: int) -> Header:
        """Return the header of the stored results.

        Args:
            header: header of a run, or of the results that were judged again.
            environment: the environment of the run, or None.
            number: number of results.
        """
        task = self.task
        known = self.known
        if environment is not None and environment.document is not None:
            document = environment.document
            named = task.target.at_release(task.release)
            history = HistoryRecord(
                task.target.text, task.release, document.python, document.installed, adapter_digest(named) or ""
            )
        else:
            history = history_of(self._earlier_header())
        own = self._corpus
        corpus = CorpusRecord(own.version, own.digest, len(own.cases), number, own.name, own.nodes)
        return structs.replace(
            header,
            command=f"onnx-conformance history update {task.subject}",
            corpus=corpus,
            selections=[Selection(select_level=tuple(LEVELS))],
            criterion=structs.replace(header.criterion, expected_results=number),
            options=without_data(header.options),
            history=structs.replace(history, judged=known.judged) if known and known.judged else history,
        )


def _slim(result: Result) -> Result:
    """Return a result without what the values or the corpus give again, and without paths of this machine."""
    return structs.replace(
        result,
        placement=None,
        recorded_outputs=None,
        seconds=round(result.seconds, 1),
        message=without_paths(result.message),
        outputs=[] if result.verdict is Verdict.PASS else result.outputs,
        stderr=without_paths(result.stderr)[-_MAX_STDERR_LENGTH:],
    )


_MAX_STDERR_LENGTH = 2000

_TEMPORARY_PATTERN = re.compile(r"/[^\s'\":;,]*?/?onnx-conformance-[^\s'\"/:;,]*")
_ADDRESS_PATTERN = re.compile(r"\b0x[0-9a-f]{6,16}\b")


def without_paths(text: str) -> str:
    """Return a text without the folders of environments and runs, and without addresses, which differ between runs."""
    folder = re.escape(str(environments_folder()))
    text = re.sub(rf"{folder}/[^\s'\"/:;,]+", "<environment>", text)
    text = _TEMPORARY_PATTERN.sub("<folder>", text)
    return _ADDRESS_PATTERN.sub("0x…", text)


def run_configuration(target: SubjectName) -> tuple[dict[str, str], list[str]]:
    """Return the environment variables and the options that `runtimes.toml` has for the runs of a subject."""
    runtimes = read_own_toml("conformance.subjects.adapters", "runtimes.toml")["runtimes"]
    found = runtimes.get(target.name, {}) if target.kind is SubjectKind.BACKEND else {}
    return dict(found.get("env", {})), list(found.get("options", []))


def _run_child(command: Sequence[str], variables: Mapping[str, str], descriptors: Sequence[int]) -> tuple[int, str]:
    """Run a command of this suite; return its exit status and its messages.

    The command gets an interruption too, and on Linux it is killed with this process.

    Args:
        descriptors: file descriptors that the command inherits.
    """
    with start_program(command, pass_fds=descriptors, env={**os.environ, **variables}) as child:
        try:
            output, _ = child.communicate()
        except BaseException:
            child.terminate()  # a background process of a shell ignores SIGINT, and its children do, too
            with suppress(TimeoutExpired):
                child.communicate(timeout=_STOP_SECONDS)
            child.kill()
            raise
    return child.returncode, output.decode(errors="replace")
