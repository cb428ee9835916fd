"""Run one case on one subject: `judge_case` runs it once, `execute` as in a run of the corpus."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import load_case
from conformance.run.judging.backend import judge_backend
from conformance.run.judging.judging_options import DEFAULT_OPTIONS, ExecutionOptions
from conformance.run.results.records import Judged
from conformance.subjects.calling.subject_names import SubjectKind
from conformance.subjects.isolation.start_subjects import client_of

if TYPE_CHECKING:
    from conformance.corpus.cases.case_loading import LoadedCase
    from conformance.corpus.profiles import RequirementProfile
    from conformance.run.judging.optimizer_run import OptimizerTask
    from conformance.run.results.records import RecordedOutputs
    from conformance.subjects.calling.subject_names import Subject


def judge_case(
    subject: Subject, case: LoadedCase, options: ExecutionOptions = DEFAULT_OPTIONS, task: OptimizerTask | None = None
) -> Judged:
    """Run a case once on a backend or a graph optimizer, and judge what the subject returns.

    Args:
        subject: the subject; its target can be any object with the interface of a backend or a graph optimizer.
        case: the case.
        options: options on which the result depends.
        task: what the pass does with the model; None if the case states it.

    Raises:
        CorpusError: a file of the case differs from the manifest.
        StorageError: the suite cannot write its files for the subject.
    """
    if subject.kind is SubjectKind.BACKEND:
        judged = judge_backend(subject.target, case, options, subject.provider)
    else:
        from conformance.run.judging.optimizer import judge_optimizer

        judged = judge_optimizer(subject, case, options, task)
    return Judged(subject=subject.id, case=case.id, **asdict(judged))


def execute(subject: Subject, case: LoadedCase, options: ExecutionOptions = DEFAULT_OPTIONS) -> Judged:
    """Run a case on a subject as often as the options say, and return what it did, with more evidence of a failure.

    Arguments and errors are those of `judge_case`.
    """
    judged = _run_repeatedly(subject, case, options)
    client = client_of(subject)
    judged.stderr = client.stderr_tail() if client is not None and judged.verdict.is_defect else ""
    judged.recorded_outputs = _recorded_outputs(subject, case, judged, options)
    judged.rules = _profile_rules(case, options.profile)
    return judged


def _run_repeatedly(subject: Subject, case: LoadedCase, options: ExecutionOptions) -> Judged:
    """Run a case `options.repeat` times; the model is read again for each run.

    Returns:
        The run with the worst verdict, with the number of each verdict if there are several runs.
    """
    worst = judge_case(subject, case, options)
    counts = Counter([worst.verdict])
    for _ in range(options.repeat - 1):
        judged = judge_case(subject, load_case(case.corpus, case.entry), options)
        counts[judged.verdict] += 1
        if judged.verdict.is_worse_than(worst.verdict):
            worst = judged
    if options.repeat > 1:
        worst.repeats = {verdict: counts[verdict] for verdict in sorted(counts)}
    return worst


def _recorded_outputs(
    subject: Subject, case: LoadedCase, judged: Judged, options: ExecutionOptions
) -> RecordedOutputs | None:
    """Run a failing case again and return the outputs of the backend for the diagnosis; None for other cases."""
    has_failed = judged.verdict in {Verdict.FAIL, Verdict.ERROR} and judged.phase != "start"
    if options.record_failure is None or not has_failed or subject.kind is not SubjectKind.BACKEND:
        return None
    return options.record_failure(subject, case.corpus, case.entry)


def _profile_rules(case: LoadedCase, profile: RequirementProfile | None) -> list[str]:
    """Return the ids of the profile's rules that apply to a case."""
    if profile is None:
        return []
    from conformance.run.judging.profile_rules import applicable_rules

    return [rule.id for rule in applicable_rules(profile, load_case(case.corpus, case.entry))]
