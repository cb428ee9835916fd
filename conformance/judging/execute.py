"""Run one case on one subject: `judge_case` returns the outcome, `execute` the result for the results file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from conformance.corpus.loading import load_case
from conformance.isolation.start_subjects import client_of
from conformance.judging.backend import judge_backend
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.corpus.loading import LoadedCase
    from conformance.judging.accuracy import AccuracyCounter
    from conformance.judging.optimizer_run import OptimizerTask
    from conformance.judging.outcome import Outcome
    from conformance.profiles import RequirementProfile
    from conformance.results.records import RecordedOutputs, Result
    from conformance.subjects.loading import Subject


@dataclass(frozen=True)
class ExecutionOptions:
    """Options on which the result of a case depends, besides the subject and the case.

    Attributes:
        repeat: how often the case is run; the worst verdict counts.
        profile: requirements beyond the specification, or None.
        accuracy_counter: counter of elements by accuracy grade, or None.
        is_recording: whether the result contains what the subject returned.
        stop_at_first: whether the first output of a backend that is not acceptable ends the case, without evidence.
        record_failure: function that records the outputs of a failing backend for the diagnosis, or None.
    """

    repeat: int = 1
    profile: RequirementProfile | None = None
    accuracy_counter: AccuracyCounter | None = None
    is_recording: bool = False
    stop_at_first: bool = False
    record_failure: Callable[[Subject, Corpus, CorpusCase], RecordedOutputs | None] | None = None


_DEFAULT_OPTIONS = ExecutionOptions()


def judge_case(
    subject: Subject,
    case: LoadedCase,
    options: ExecutionOptions = _DEFAULT_OPTIONS,
    once_answered: Callable[[], None] | None = None,
    task: OptimizerTask | None = None,
) -> Outcome:
    """Run a case once on a backend or a graph optimizer, and judge what the subject returns.

    Args:
        subject: the subject; its target can be any object with the interface of a backend or a graph optimizer.
        case: the case.
        options: options on which the outcome depends.
        once_answered: function to call when a backend has answered the last request, before its outputs are compared.
        task: what the pass does with the model; None if the case states it.

    Raises:
        CorpusError: a file of the case differs from the manifest.
        StorageError: the suite cannot write its files for the subject.
    """
    if subject.kind is SubjectKind.BACKEND:
        return judge_backend(
            subject.target,
            case,
            options.profile,
            subject.provider,
            options.accuracy_counter,
            once_answered,
            stop_at_first=options.stop_at_first,
            record=options.is_recording,
        )
    from conformance.judging.optimizer import judge_optimizer

    return judge_optimizer(subject, case, options.profile, task, record=options.is_recording)


def execute(
    subject: Subject,
    case: LoadedCase,
    options: ExecutionOptions = _DEFAULT_OPTIONS,
    once_answered: Callable[[], None] | None = None,
) -> Result:
    """Run a case on a subject, and return the result with the level of the case; no expectation applies to it yet.

    Arguments and errors are those of `judge_case`.
    """
    outcome, repeats = _run_repeatedly(subject, case, options, once_answered)
    client = client_of(subject)
    stderr = client.stderr_tail() if client is not None and outcome.verdict.is_defect else ""
    return replace(
        outcome.result(subject.id, case.id, case.entry.level, stderr=stderr),
        repeats=repeats,
        recorded_outputs=_recorded_outputs(subject, case, outcome, options),
        rules=_profile_rules(case, options.profile),
    )


def _run_repeatedly(
    subject: Subject, case: LoadedCase, options: ExecutionOptions, once_answered: Callable[[], None] | None
) -> tuple[Outcome, dict[Verdict, int]]:
    """Run a case `options.repeat` times; the model is read again for each run.

    Returns:
        The outcome with the worst verdict, and the number of each verdict. The numbers are empty for a single run.
    """
    worst = judge_case(subject, case, options, once_answered)
    counts = Counter([worst.verdict])
    for _ in range(options.repeat - 1):
        outcome = judge_case(subject, load_case(case.corpus, case.entry), options, once_answered)
        counts[outcome.verdict] += 1
        if outcome.verdict.is_worse_than(worst.verdict):
            worst = outcome
    return worst, {verdict: counts[verdict] for verdict in sorted(counts)} if options.repeat > 1 else {}


def _recorded_outputs(
    subject: Subject, case: LoadedCase, outcome: Outcome, options: ExecutionOptions
) -> RecordedOutputs | None:
    """Run a failing case again and return the outputs of the backend for the diagnosis; None for other cases."""
    has_failed = outcome.verdict in {Verdict.FAIL, Verdict.ERROR} and outcome.phase != "start"
    if options.record_failure is None or not has_failed or subject.kind is not SubjectKind.BACKEND:
        return None
    return options.record_failure(subject, case.corpus, case.entry)


def _profile_rules(case: LoadedCase, profile: RequirementProfile | None) -> list[str]:
    """Return the ids of the profile's rules that apply to a case."""
    if profile is None:
        return []
    from conformance.judging.profile_rules import applicable_rules

    return [rule.id for rule in applicable_rules(profile, load_case(case.corpus, case.entry))]
