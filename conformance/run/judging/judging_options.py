"""Options with which a case is executed on a subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.corpus.profiles import RequirementProfile
    from conformance.run.judging.accuracy import AccuracyCounter
    from conformance.run.results.records import RecordedOutputs
    from conformance.subjects.calling.subject_names import Subject


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


DEFAULT_OPTIONS = ExecutionOptions()
