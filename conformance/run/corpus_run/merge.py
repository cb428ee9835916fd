"""Merging of several runs into one run, for example of the shards of a corpus or of different subjects.

The runs must have the same pass criterion. All results are judged by it again. Releases of one subject remain apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from conformance import __version__
from conformance.base.errors import CorpusError, ResultsError
from conformance.corpus.cases.corpus import read_manifest
from conformance.run.diagnosis.collected_results import ResultCollector
from conformance.run.expectations.criterion import CaseFacts, Completeness, MissingCause, PassCriterion, case_facts
from conformance.run.expectations.criterion_settings import recorded_criterion
from conformance.run.results.recorded_environment import join_identities
from conformance.run.results.records import ArchiveRecord, Diagnosed, Footer, Header, Selection, Shard
from conformance.run.results.result_releases import separate_releases
from conformance.run.results.results_file import FORMAT, read_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from msgspec import Struct

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.records import CriterionRecord, ResultRow, SubjectIdentity, SubjectRecord
    from conformance.run.results.results_file import Key, Results


@dataclass(frozen=True)
class MergedRun:
    """A run that consists of several runs.

    Attributes:
        runs: the merged runs.
        header: the header of the merged results file.
        rows: the results in the order in which they are written, each with its new value of `unexpected`.
        footer: the footer of the merged results file.
    """

    runs: Sequence[Results]
    header: Header
    rows: Mapping[Key, ResultRow]
    footer: Footer

    def records(self) -> Iterator[Struct]:
        """Yield the records of the merged results file; each one is read from its original file on demand."""
        run_of = {key: run for run in self.runs for key in run.rows}
        described: set[str] = set()
        archives = {case: run for run in self.runs for case in run.archives}
        yield self.header
        for key, row in self.rows.items():
            run = run_of[key]
            case = row.case
            if case not in described:
                described.add(case)
                yield run.cases[case]
            yield replace(run.results[key], unexpected=row.unexpected)
            if row.verdict.is_defect and (source := archives.pop(case, None)):
                yield ArchiveRecord(case, source.archives[case])
        yield self.footer


def merge_files(paths: Sequence[Path], data: Path) -> MergedRun:
    """Merge results files; the folder of their corpus, if it is there, explains the failures.

    Args:
        paths: the results files.
        data: the folder of a corpus; another corpus than that of the runs is left out.

    Raises:
        ResultsError: a file is malformed, or the runs cannot be merged; see `merge_runs`.
    """
    runs = [read_results(path) for path in paths]
    try:
        corpus = read_manifest(data)
    except CorpusError:
        return merge_runs(runs)
    return merge_runs(runs, corpus if corpus.digest == runs[0].header.corpus.digest else None)


def merge_runs(runs: Sequence[Results], corpus: Corpus | None = None) -> MergedRun:
    """Merge one or more runs into one run; the order of `runs` does not matter.

    Args:
        corpus: the corpus of the runs, for the diagnosis of all failures; None if it is not available.

    Raises:
        ResultsError: the runs differ in corpus, criterion or version of a subject, or have a result in common.
    """
    runs = sorted(runs, key=lambda run: run.path)
    if not any(map(_shards, runs)):  # an upgrade between two shards is a mistake
        runs = separate_releases(runs)
    _check_runs(runs)
    subjects = _subjects(runs)
    order = {subject.id: number for number, subject in enumerate(subjects)}
    rows = sorted((row for run in runs for row in run.rows.values()), key=lambda row: (order[row.subject], row.case))
    run_of_case = {case: run for run in runs for case in run.cases}
    header = _header(runs, subjects, rows)
    criterion = PassCriterion(recorded_criterion(header), {subject.id: subject.kind for subject in subjects})

    def facts(case: str) -> CaseFacts:
        return case_facts(run_of_case[case].cases[case])

    judged: dict[Key, ResultRow] = {
        (row.subject, row.case): replace(row, unexpected=not criterion.assess(row, partial(facts, row.case)))
        for row in rows
    }
    return MergedRun(runs, header, judged, _footer(runs, header, criterion, _diagnose(runs, corpus)))


def _check_runs(runs: Sequence[Results]) -> None:
    """Check that runs can be merged: they have one corpus and one criterion, and no result and no shard twice."""
    first = runs[0]
    for run in runs:
        if run.header.corpus.digest != first.header.corpus.digest:
            raise ResultsError("corpora-differ", path=run.path, first=first.path)
    for run in runs:
        if _criterion_of(run) != _criterion_of(first):
            raise ResultsError("criteria-differ", path=run.path, first=first.path)
    for run in runs:
        if len(_shards(run)) > 1:
            raise ResultsError("shards-missing", path=run.path)
    seen: dict[Key, str] = {}
    for run in runs:
        for key in run.rows:
            if key in seen:
                raise ResultsError("duplicate-result", path=run.path, other=seen[key], case=key[1], subject=key[0])
            seen[key] = run.path


def _criterion_of(run: Results) -> tuple[object, ...]:
    """Return the part of the pass criterion that must be equal in merged runs."""
    record = run.header.criterion
    baseline = record.baseline
    profile = record.profile
    return record.level, record.require, baseline and baseline.digest, profile and profile.digest


def _subjects(runs: Sequence[Results]) -> list[SubjectRecord]:
    """Return the subjects of all runs by id; a subject of several runs has an identity of all their environments."""
    found: dict[str, tuple[SubjectRecord, str]] = {}
    identities: dict[str, list[SubjectIdentity]] = defaultdict(list)
    for run in runs:
        for subject in run.header.subjects:
            known, path = found.setdefault(subject.id, (subject, run.path))
            if subject.identity is not None:
                identities[subject.id].append(subject.identity)
            if replace(known, identity=None) != replace(subject, identity=None):
                if known.version == subject.version:
                    raise ResultsError("subjects-differ", path=run.path, first=path, subject=subject)
                raise ResultsError("versions-differ", path=run.path, first=path, subject=subject, other=known.version)
    return [
        replace(found[id][0], identity=join_identities(identities[id])) if identities[id] else found[id][0]
        for id in sorted(found)
    ]


def _header(runs: Sequence[Results], subjects: Sequence[SubjectRecord], rows: Sequence[ResultRow]) -> Header:
    corpus = runs[0].header.corpus
    cases = len({row.case for row in rows})
    return Header(
        format=FORMAT,
        suite=__version__,
        corpus=replace(corpus, selected=max(cases, *(run.header.corpus.selected for run in runs))),
        subjects=list(subjects),
        environment=_join_values(run.header.environment for run in runs),
        command=" && ".join(dict.fromkeys(run.header.command for run in runs)),
        clauses={id: clause for run in runs for id, clause in sorted(run.header.clauses.items())},
        criterion=_criterion_record(runs),
        options={subject: words for run in reversed(runs) for subject, words in run.header.options.items()},
        started=min(run.header.started for run in runs),
        selections=_selections(runs, is_complete=len(rows) == corpus.cases * len(subjects)),
    )


def _selections(runs: Sequence[Results], *, is_complete: bool) -> list[Selection]:
    """Return the different selections that restricted the merged run to some of the cases.

    They have shards only if the results of a shard are missing.

    Args:
        is_complete: whether the merged run has a result of every case on every subject.
    """
    if is_complete:
        return []
    found = [selection for run in runs for selection in run.header.selections]
    if not _missing_shards(runs):
        found = [replace(selection, shard=None) for selection in found]
    return [each for number, each in enumerate(found) if each != Selection() and each not in found[:number]]


def _join_values(mappings: Iterable[dict[str, str]]) -> dict[str, str]:
    """Return the union of the mappings; different values of one key are joined by ` | `."""
    found: dict[str, set[str]] = defaultdict(set)
    for mapping in mappings:
        for key, value in mapping.items():
            found[key].add(value)
    return {key: " | ".join(sorted(values)) for key, values in sorted(found.items())}


def _criterion_record(runs: Sequence[Results]) -> CriterionRecord:
    """Return the pass criterion of the merged run, with the expectations of all runs."""
    records = [run.header.criterion for run in runs]
    entries = {(entry.subject, entry.location): entry for record in records for entry in record.expectations}
    supports = {one.subject: one for record in records for one in record.supports}
    return replace(
        records[0],
        expected_results=sum(record.expected_results for record in records),
        expectations=list(entries.values()),
        supports=list(supports.values()),
    )


def _footer(runs: Sequence[Results], header: Header, criterion: PassCriterion, diagnosed: Diagnosed) -> Footer:
    completeness = Completeness(
        recorded=sum(run.footer.results for run in runs),
        expected=header.criterion.expected_results,
        is_selection=bool(header.selections),
        cause=MissingCause.ENDED_EARLY,
        operators=_operators(header.selections),
        missing_shards=_missing_shards(runs),
    )
    reasons = criterion.reasons(completeness)
    return Footer(
        results=completeness.recorded,
        verdicts=criterion.verdicts,
        outcome="fail" if reasons else "pass",
        reasons=reasons,
        seconds=round(sum(run.footer.seconds for run in runs), 3),
        **asdict(diagnosed),
        interrupted=any(run.footer.interrupted for run in runs),
        hosts=sorted({host for run in runs for host in run.footer.hosts}),
    )


def _operators(selections: Sequence[Selection]) -> list[str]:
    """Return the operators that selected the cases of all runs; nothing if a run has cases of other operators too."""
    if not all(selection.operator for selection in selections):
        return []
    return sorted({name for selection in selections for name in selection.operator})


def _missing_shards(runs: Sequence[Results]) -> dict[str, list[Shard]]:
    """Return the shards without results, for each subject that lacks the results of some shards."""
    found: dict[str, set[Shard]] = defaultdict(set)
    for run in runs:
        if shards := _shards(run):
            for subject in run.header.subjects:
                found[subject.id] |= shards
    missing = {subject: sorted(_all_of(shards) - shards) for subject, shards in sorted(found.items())}
    return {subject: shards for subject, shards in missing.items() if shards}


def _shards(run: Results) -> set[Shard]:
    return {selection.shard for selection in run.header.selections if selection.shard is not None}


def _all_of(shards: Iterable[Shard]) -> set[Shard]:
    return {Shard(number, shard.of) for shard in shards for number in range(1, shard.of + 1)}


def _diagnose(runs: Sequence[Results], corpus: Corpus | None) -> Diagnosed:
    """Return the diagnosis of the merged run: a new one if `corpus` is given, otherwise the recorded one."""
    if corpus is None:
        return _recorded_diagnoses(runs)
    collector = ResultCollector()
    for run in runs:
        for key, row in run.rows.items():
            collector.add(run.results[key] if row.verdict.is_defect else row, run.case_rows[row.case].level)
    if not collector.has_explainable_failure:
        return Diagnosed([], [])
    from conformance.run.diagnosis.diagnosis_run import diagnose_run

    return diagnose_run(collector, corpus)


def _recorded_diagnoses(runs: Sequence[Results]) -> Diagnosed:
    """Return the recorded diagnoses of the subjects whose results come from a single run.

    The diagnosis of another subject is dropped: it may not explain the failures of the other runs.
    """
    run_counts = Counter(subject.id for run in runs for subject in run.header.subjects)
    diagnoses = [one for run in runs for one in run.footer.diagnoses if run_counts[one.subject] == 1]
    unexplained = [one for run in runs for one in run.footer.unexplained if run_counts[one.subject] == 1]
    return Diagnosed(
        sorted(diagnoses, key=lambda one: (one.subject, one.operator, one.mutant)),
        sorted(unexplained, key=lambda one: (one.subject, one.operator, one.failure_mode)),
        [one for run in runs for one in run.footer.undiagnosed if run_counts[one.subject] == 1],
    )
