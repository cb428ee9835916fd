"""Settings of the pass criterion and its baseline, and the record of both in the header of a results file.

The verb `merge` reads the recorded settings and judges the merged run by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from conformance.base.errors import ExpectationsError, ResultsError, UnknownName, UsageError
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import read_case_json
from conformance.run.expectations.conditions import ConditionContext
from conformance.run.expectations.expectations_file import Expectation, Expectations
from conformance.run.expectations.support import parse_supports
from conformance.run.results.missing_operators import is_onnx_operator
from conformance.run.results.recorded_environment import describe_environment
from conformance.run.results.records import (
    BaselineRecord,
    CriterionRecord,
    EntryRecord,
    ProfileRecord,
    SupportRecord,
)
from conformance.run.results.results_file import read_results
from conformance.run.results.wrong_elements import wrong_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from conformance.corpus.cases.corpus import Corpus
    from conformance.corpus.profiles import RequirementProfile
    from conformance.run.results.records import Header, Judged, Result
    from conformance.run.results.results_file import Key


class Standing(NamedTuple):
    """The verdict of a case in the baseline, its level if that is weaker than the level of the case, and what is wrong.

    `wrong` is empty if it is unknown or not compared.
    """

    verdict: Verdict | None = None
    level: Level | None = None
    wrong: tuple[str, ...] = ()


def failure_words(result: Judged | Result, fail_level: Level) -> tuple[str, ...]:
    """Return what is wrong in a failure, sorted: see `wrong_elements`, or the violated checks of a graph optimizer.

    Args:
        fail_level: weakest level of the checks that are named.
    """
    violated = (check.name for check in result.checks if check.violation and check.level.is_within(fail_level))
    return tuple(sorted(wrong_words(result) or set(violated)))


@dataclass(frozen=True)
class Baseline:
    """The results of an earlier run, with which the results of a run are compared.

    Attributes:
        record: file, corpus version and digest of the earlier run.
        standings: what the earlier run has for each pair of subject and case.
    """

    record: BaselineRecord
    standings: Mapping[Key, Standing]


def read_baseline(path: Path, subjects: Sequence[str], digest: str, relative_to: str | None = None) -> Baseline:
    """Read a results file as a baseline.

    Only verdicts are compared with a run of another corpus, whose cases can have other values, and relative to another
    subject.

    Args:
        digest: digest of the corpus of the new run.
        subjects: ids of the subjects of the new run.
        relative_to: subject of the earlier run whose results count for every subject of the new run, or None.

    Raises:
        ResultsError: the file is malformed, or has no result of any of the subjects.
    """
    run = read_results(path)
    levels = {key: row.level_if_weaker(run.case_rows[row.case].level) for key, row in run.rows.items()}
    corpus = run.header.corpus
    is_compared = corpus.digest == digest and relative_to is None
    standings = {
        key: Standing(
            row.verdict,
            levels[key],
            failure_words(run.results[key], Level.SILENT) if is_compared and row.verdict is Verdict.FAIL else (),
        )
        for key, row in run.rows.items()
    }
    if relative_to is None:
        if not {subject for subject, _ in standings} & set(subjects):
            raise ResultsError("subject-missing.baseline", path=path, subjects=list(subjects))
        return Baseline(BaselineRecord(str(path), corpus.label, corpus.digest), standings)
    versions = {one.id: one.version for one in run.header.subjects}
    if relative_to not in versions:
        raise ResultsError("subject-missing.relative-to", path=path, base=relative_to, known=list(versions))
    name = f"{relative_to} {versions[relative_to]}"
    of_base = {case: standing for (subject, case), standing in standings.items() if subject == relative_to}
    every = {(subject, case): standing for subject in subjects for case, standing in of_base.items()}
    return Baseline(BaselineRecord(name, corpus.label, corpus.digest, name), every)


@dataclass(frozen=True)
class CriterionSettings:
    """The settings of a pass criterion.

    Attributes:
        level: weakest level of cases that can fail the run.
        expectations: the entries that apply, by subject.
        require: operators that a subject must support.
        baseline: results of an earlier run, or None.
        profile: the requirement profile, or None.
    """

    level: Level = Level.MUST
    expectations: Mapping[str, Expectations] = field(default_factory=dict)
    require: tuple[str, ...] = ()
    baseline: Baseline | None = None
    profile: RequirementProfile | None = None

    def record(self, expected_results: int) -> CriterionRecord:
        """Return the record of the settings for the header of a results file.

        Args:
            expected_results: number of results that the run must have.
        """
        return CriterionRecord(
            level="should" if self.level is Level.SHOULD else "must",
            require=list(self.require),
            expected_results=expected_results,
            expectations=[
                EntryRecord(subject, one.location, one.verdict, list(one.cases), list(one.lines), list(one.exceptions))
                for subject, file in self.expectations.items()
                for one in file.entries
            ],
            supports=[
                SupportRecord(subject, file.name, [str(support) for support in file.supports])
                for subject, file in self.expectations.items()
                if file.supports is not None
            ],
            baseline=self.baseline.record if self.baseline is not None else None,
            profile=msgspec.convert(self.profile, ProfileRecord | None, from_attributes=True),
        )


def recorded_criterion(header: Header) -> CriterionSettings:
    """Return the settings by which a recorded run was judged, from the header of its results file.

    The baseline is None, because each result record contains its verdict in the baseline.
    """
    record = header.criterion
    entries: dict[str, list[Expectation]] = {}
    for one in record.expectations:
        cases = tuple(one.cases)
        exceptions = tuple(one.exceptions)
        lines = tuple(one.lines)
        entry = Expectation(cases, one.verdict, "", one.location, exceptions, lines=lines)
        entries.setdefault(one.subject, []).append(entry)
    expectations = {subject: Expectations(subject, tuple(own)) for subject, own in entries.items()}
    for listed in record.supports:
        subject = listed.subject
        name = listed.file
        own = expectations[subject].entries if subject in expectations else ()
        expectations[subject] = Expectations(subject, own, parse_supports(name, listed.supports), name)
    baseline = Baseline(record.baseline, {}) if record.baseline is not None else None
    return CriterionSettings(Level(record.level), expectations, tuple(record.require), baseline)


def criterion_for_run(
    level: Level,
    corpus: Corpus,
    versions: Mapping[str, str],
    expectations: Mapping[str, Expectations],
    require: tuple[str, ...] = (),
    baseline: Path | None = None,
    relative_to: str | None = None,
) -> CriterionSettings:
    """Return the settings of the pass criterion of a new run.

    Args:
        level: weakest level of cases that can fail the run.
        corpus: the corpus of the run.
        versions: versions of the subjects by subject.
        expectations: expectations by subject.
        require: operators that every subject must support.
        baseline: results file of an earlier run, or None.
        relative_to: subject whose results in the baseline count for every subject, or None.

    Raises:
        ConformanceError: a condition cannot be compared, an operator is unknown, or the baseline is malformed.
    """
    surroundings = describe_environment()
    applying = {
        subject: expectations[subject].applying(ConditionContext.from_environment(version, surroundings))
        for subject, version in versions.items()
        if subject in expectations
    }
    for file in applying.values():
        _check_mutants(file)
    if require:
        _check_required(require, corpus)
    if relative_to is not None and baseline is None:
        raise UsageError("baseline-missing", relative_to=relative_to)
    read = read_baseline(baseline, list(versions), corpus.digest, relative_to) if baseline else None
    return CriterionSettings(level, applying, require, read)


def _check_mutants(file: Expectations) -> None:
    """Check that the catalogue has the mutants that an expectations file names.

    Raises:
        ExpectationsError: it lacks one.
    """
    named = {id: entry for entry in file.entries for id in entry.mutants}
    if not named:
        return
    from conformance.run.mutants import mutants_by_id

    known = mutants_by_id()
    for id in sorted(named.keys() - known.keys()):
        raise ExpectationsError("no-such-mutant", location=named[id].location, id=id, known=known)


def _check_required(required: Iterable[str], corpus: Corpus) -> None:
    """Check that the corpus has a valid model with each required operator.

    Raises:
        UnknownName: no valid model has one of the operators.
    """
    documents = (read_case_json(corpus, case) for case in corpus.cases.values() if not case.is_invalid)
    operators = {node.op_type for document in documents for node in document.model.nodes}
    for name in required:
        if name not in operators:
            if is_onnx_operator(name):
                raise UnknownName("no-such-operator.of-onnx", name=name)
            raise UnknownName("no-such-operator.unknown", name=name, known=sorted(operators))
