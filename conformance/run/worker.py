"""Where cases are run: one item after the other, each to a report with its result record."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.corpus.beside import BESIDE
from conformance.corpus.loading import load_case
from conformance.errors import CorpusError
from conformance.judging.backend import judge_backend
from conformance.judging.repeats import repeated
from conformance.run.ahead import CorpusAhead
from conformance.run.items import Batch, ConformanceItem, batch_report, case_report
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pytest

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.corpus.loading import LoadedCase
    from conformance.isolation.backend_proxy import BackendProxy
    from conformance.judging.outcome import Outcome
    from conformance.judging.quality import Qualities
    from conformance.profiles import Profile
    from conformance.results.diagnosis_records import ObservedRecord
    from conformance.run.processes import Processes
    from conformance.subjects.loading import Subject


class Worker:
    """Runs items: in a worker of xdist, or in the one process that there is.

    Args:
        processes: those of the subjects that are in processes of their own.
        repeat: how often each case is run.
        diagnosis: whether to write down what came of failing cases, to say what explains them.
        quality: whether to tell how accurate answers are.
        profile: what is asked beyond the specification, or None.
    """

    def __init__(
        self,
        corpus: Corpus,
        processes: Processes,
        *,
        repeat: int,
        diagnosis: bool,
        quality: bool = False,
        profile: Profile | None = None,
    ) -> None:
        self._corpus = CorpusAhead.of(corpus)
        self._processes = processes
        self._repeat = repeat
        self._diagnosis = diagnosis
        self._qualities = _qualities() if quality else None
        self._profile = profile
        self._next: LoadedCase | None = None
        self._was_refused = False

    def report(self, item: ConformanceItem | Batch, after: pytest.Item | None) -> pytest.TestReport:
        """Run an item, and report it in pytest's terms with the result record attached, or those of a whole batch.

        Args:
            after: the item that comes next, of ours or not.
        """
        parts = _parts(item)
        following = (*parts[1:], *_parts(after)[:1], None)
        reports = [self._report(part, then) for part, then in zip(parts, following, strict=False)]
        return batch_report(item, reports) if isinstance(item, Batch) else reports[0]

    def _report(self, item: ConformanceItem, then: ConformanceItem | None) -> pytest.TestReport:
        self._processes.turn_to(item.subject)
        if then is not None:
            self._processes.meanwhile(item.subject, self._ahead(item.subject, then))
        try:
            result, seconds = self._result(item, then)
        except CorpusError as error:
            return case_report(item.nodeid, item.location, {"abandon": [error.problem, error.mend]}, 0.0)
        return case_report(item.nodeid, item.location, result, seconds)

    def _result(self, item: ConformanceItem, then: ConformanceItem | None) -> tuple[dict[str, Any], float]:
        """The result record of an item, less what the recorder adds, and the seconds that the subject took.

        Raises:
            CorpusError: a file of the case is altered.
        """
        judged = partial(self._judged, item.subject, item.case, partial(self._begin, item.subject, then))
        outcome, repeats = repeated(judged, self._repeat)
        self._was_refused = outcome.verdict is Verdict.UNSUPPORTED
        result: dict[str, Any] = {
            "subject": item.subject.id,
            "case": item.case.id,
            "verdict": str(outcome.verdict),
            "phase": outcome.phase,
            "message": outcome.message,
            "seconds": round(outcome.seconds, 6),
            "outputs": list(outcome.outputs),
        }
        stderr = self._processes.said_by(item.subject) if outcome.verdict.is_defect else ""
        optional: dict[str, Any] = {"stderr": stderr, "repeats": repeats, "observed": self._observed(item, outcome)}
        optional |= {"checks": list(outcome.checks), "hazards": list(outcome.hazards), "placement": outcome.placement}
        optional |= {"rules": self._rules(item.case), "quality": outcome.quality}
        return result | {name: found for name, found in optional.items() if found}, outcome.seconds

    def _observed(self, item: ConformanceItem, outcome: Outcome) -> ObservedRecord | None:
        """What the subject makes of an item's case that it fails; what observes it is loaded when a case fails."""
        failed = outcome.verdict in {Verdict.FAIL, Verdict.ERROR} and outcome.phase != "start"
        if not (self._diagnosis and failed and item.subject.kind is SubjectKind.BACKEND):
            return None
        from conformance.diagnosis.transcript import transcript

        return transcript(item.subject, self._corpus, item.case)

    def _judged(self, subject: Subject, case: CorpusCase, begin_next: Callable[[], None]) -> Outcome:
        """What becomes of a case; what judges graph optimizers is loaded when there is one."""
        begun, self._next = self._next, None
        loaded = begun if begun is not None and begun.entry is case else load_case(self._corpus, case)
        if subject.kind is SubjectKind.BACKEND:
            return judge_backend(subject.target, loaded, self._profile, subject.provider, self._qualities, begin_next)
        from conformance.judging.optimizer import judge_optimizer

        return judge_optimizer(subject, loaded, self._profile)

    def _ahead(self, subject: Subject, then: ConformanceItem) -> Iterator[None]:
        """What can be done of the case that comes next while a subject works, step by step.

        Cases that a subject does not support come in rows: after one, no more than the model is read ahead.
        """
        yield from self._corpus.questions_ahead(then.case, with_inputs=not self._was_refused)
        backend = self._beginning_early(subject, then)
        if backend is not None and (case := self._loaded_early(then)) is not None:
            yield
            backend.make_ready(case.model, case.early)
            yield
        if not self._was_refused:
            yield from self._corpus.answers_ahead(then.case)

    def _begin(self, subject: Subject, then: ConformanceItem | None) -> None:
        """Begin the case that comes next on a subject that can, once."""
        backend = self._beginning_early(subject, then)
        if backend is None or then is None or backend.host.is_asked_ahead:
            return
        if (case := self._loaded_early(then)) is not None:
            backend.prepare_ahead(case.model, case.early)

    def _beginning_early(self, subject: Subject, then: ConformanceItem | None) -> BackendProxy | None:
        """A subject's backend, if it can begin the next case early."""
        if self._repeat > 1 or then is None or then.subject is not subject:
            return None
        return self._processes.beginning_early(subject)

    def _loaded_early(self, then: ConformanceItem) -> LoadedCase | None:
        """The case that comes next; none where it cannot be read, which is told of in its turn."""
        if self._next is None or self._next.entry is not then.case:
            with suppress(CorpusError):
                loaded = load_case(self._corpus, then.case)
                # beside another model, that one is loaded before this is run
                is_run_next = BESIDE not in then.case.files and not self._was_refused
                self._next = loaded.with_early_inputs() if is_run_next else loaded
                return self._next
            return None
        return self._next

    def _rules(self, case: CorpusCase) -> list[str]:
        """The ids of the profile's rules that are about a case."""
        if self._profile is None:
            return []
        from conformance.judging.profiled import rules_about

        return [rule.id for rule in rules_about(self._profile, load_case(self._corpus, case))]


def _qualities() -> Qualities:
    """What tells how accurate answers are; it is loaded where that is asked for."""
    from conformance.judging.quality import Qualities

    return Qualities()


def _parts(item: pytest.Item | None) -> Sequence[ConformanceItem]:
    """The cases of an item, none of one that is not of ours."""
    if isinstance(item, Batch):
        return item.items
    return [item] if isinstance(item, ConformanceItem) else []
