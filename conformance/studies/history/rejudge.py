"""Judge the results of a release again with another corpus, from the values in the store and without a run.

A result is kept as it is if no file of its case changed. If only the expected outputs, bounds, levels or rules changed,
the stored values take the place of the subject. If the model or the inputs changed, the case must run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case, runnable_cases
from conformance.run.judging.execute import judge_case
from conformance.run.judging.returned import ReplayedBackend, UnusableValues, replayed_optimizer
from conformance.run.results.records import EQUAL, effective_level
from conformance.studies.history.index import results_of
from conformance.studies.history.store import case_hashes
from conformance.subjects.calling.subject_names import Subject, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.results.records import Result, ReturnedValues, SubjectRecord
    from conformance.studies.history.store import HistoryStore, StoredRelease


@dataclass(frozen=True)
class JudgedAgain:
    """The results of a release for a corpus.

    Attributes:
        results: the results that are known without a run, by case.
        judged: number of these results that were judged again, because the case changed.
        missing: ids of the cases that must run.
    """

    results: Mapping[str, Result]
    judged: int
    missing: Sequence[str]


def judge_again(store: HistoryStore, stored: StoredRelease, corpus: Corpus) -> JudgedAgain:
    """Return the results of a release for another corpus than that of its results file.

    Raises:
        HistoryError: a file of the store is damaged.
        ResultsError: the results file is damaged.
        CorpusError: the corpus is damaged.
    """
    subject = stored.header.subjects[0]
    kind = subject.kind
    old = store.hashes(stored.digest)
    new = case_hashes(corpus)
    values = store.values(stored.target)
    earlier = {result.case: result for result in results_of(stored)}
    results: dict[str, Result] = {}
    missing = list[str]()
    judged = 0
    for id in applicable_cases(corpus, kind):
        result = earlier.get(id)
        if result is None or id not in old or old[id].question != new[id].question:
            missing.append(id)
        elif old[id].whole == new[id].whole:
            results[id] = result
        elif result.returned is None:
            results[id] = _with_level(result, corpus.cases[id].level)
        elif result.returned == EQUAL and kind is SubjectKind.BACKEND and old[id].expected != new[id].expected:
            missing.append(id)  # the expected value that the flag stands for is no longer known
        else:
            returned = EQUAL if result.returned == EQUAL else values.get(str(result.returned))
            again = None if returned is None else _judge(corpus, corpus.cases[id], kind, subject, result, returned)
            if again is None:
                missing.append(id)
            else:
                results[id], judged = _with_level(again, corpus.cases[id].level), judged + 1
    return JudgedAgain(results, judged, missing)


def applicable_cases(corpus: Corpus, kind: SubjectKind) -> list[str]:
    """Return the ids of the cases of a history that subjects of a kind run."""
    runnable = runnable_cases(corpus, by_optimizers=kind is SubjectKind.OPTIMIZER)
    return [case.id for case in corpus.cases.values() if case.level is not Level.SILENT and case.id in runnable]


def _judge(
    corpus: Corpus,
    case: CorpusCase,
    kind: SubjectKind,
    subject: SubjectRecord,
    result: Result,
    values: ReturnedValues | str,
) -> Result | None:
    """Judge recorded values, and return a result with the other fields of `result`.

    The result is None if the values do not belong to the case.
    """
    loaded = load_case(corpus, case)
    target: Any
    try:
        if kind is SubjectKind.BACKEND:
            target = ReplayedBackend(loaded, values)
        else:
            runs = 2 if any(check.run == "fixed_point" for check in result.checks) else 1
            target = replayed_optimizer(loaded.model, values, runs)
    except UnusableValues:
        return None
    again = judge_case(Subject(subject.id, subject.version, target, kind, tuple(subject.passes)), loaded)
    return replace(
        result,
        verdict=again.verdict,
        phase=again.phase,
        message=again.message,
        outputs=[] if again.verdict is Verdict.PASS else again.outputs,
        checks=again.checks,
        hazards=again.hazards,
        repeats={},
    )


def _with_level(result: Result, case: Level) -> Result:
    level = effective_level(result, case)
    return replace(result, level=level, unexpected=result.verdict.is_defect and level is not Level.SILENT)
