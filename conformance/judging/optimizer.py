"""One case of the pass on one graph optimizer, to a verdict: rewrite, once and to a fixed point, then every check.

A model that is not valid may be refused with an error, or be given back as whatever it is by then. What a graph
optimizer does short of ending the process is a verdict, never an error of ours.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import onnx

from conformance.corpus.case import Firing, Rewrite
from conformance.corpus.document import case_json
from conformance.judging.backend import is_rejection
from conformance.judging.checks import checks
from conformance.judging.checks.hazards import changes
from conformance.judging.examples import Example, Examples
from conformance.judging.outcome import Outcome
from conformance.judging.profiled import rules_about
from conformance.judging.rewriting import FIXED_POINT, ONCE, NotJudged, Rewriting, refusal
from conformance.models.feeds import fed_names
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.subjects.failures import is_unsupported, told
from conformance.subjects.loading import takes_fixed_point
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.corpus.loading import LoadedCase
    from conformance.profiles import Profile
    from conformance.results.records import HazardChange, RewriteCheck
    from conformance.subjects.loading import Subject


@dataclass(frozen=True)
class Task:
    """A case as a graph optimizer is judged on it.

    Attributes:
        model: what it is handed a copy of.
        expected: what the pass must do.
        examples: the data sets.
        is_invalid: whether the corpus has the model as an invalid one.
        level: the case's.
        profile: what is asked beyond the specification, or None.
    """

    model: onnx.ModelProto
    expected: Rewrite
    examples: Examples
    is_invalid: bool = False
    level: Level = Level.MUST
    profile: Profile | None = None

    @cached_property
    def invalid(self) -> str | None:
        """Why the model is not valid, or None."""
        return refusal(self.model) or ("the corpus has it as invalid" if self.is_invalid else None)

    @classmethod
    def of(cls, case: LoadedCase) -> Task | None:
        """Read a case; None if it does not say what the pass does with its model.

        Raises:
            CorpusError: a file of it is altered.
        """
        document = case_json(case.corpus, case.entry)
        rewrite = document.get("rewrite")
        if rewrite is None:
            return None
        expected = Rewrite(Firing(rewrite["answer"]), tuple(rewrite["once"]), tuple(rewrite["fixed_point"]))
        hazards = [data_set.get("hazard") for data_set in document["data_sets"]]
        sets = case.data_sets() if hazards else ()
        names = fed_names(case.model.graph)
        examples = (
            Example(number, dict(zip(names, given.inputs, strict=False)), hazards[number])
            for number, given in enumerate(sets)
        )
        return cls(case.model, expected, Examples(tuple(examples)), case.is_invalid, case.entry.level)


@dataclass
class _Collected:
    """What has come to light about a case so far."""

    seconds: float = 0.0
    checks: list[RewriteCheck] = field(default_factory=list)
    hazards: list[HazardChange] = field(default_factory=list)

    def outcome(self, verdict: Verdict, phase: str | None, message: str) -> Outcome:
        return Outcome(verdict, phase, message, self.seconds, checks=tuple(self.checks), hazards=tuple(self.hazards))


def judge_optimizer(subject: Subject, case: LoadedCase, profile: Profile | None = None) -> Outcome:
    """Run a graph optimizer on a case.

    Args:
        profile: what is asked beyond the specification, or None.

    Raises:
        CorpusError: a file of the case is altered.
    """
    task = Task.of(case)
    if task is None:
        return Outcome(Verdict.SKIPPED, None, "the case does not say what the pass does with its model", 0.0)
    if profile is not None:
        ids = [rule.id for rule in rules_about(profile, case)]
        task = replace(task, level=profile.level_of(ids, task.level), profile=profile)
    return judge_rewrite(subject.target, subject.passes, task)


def judge_rewrite(optimize: Any, passes: Sequence[str], task: Task) -> Outcome:
    """Run a graph optimizer on a model, and hold what it returns to every check.

    Args:
        optimize: `optimize(model) → model`, or `optimize(model, fixed_point=…) → model`.
        passes: the passes that it claims to implement.
    """
    evidence, tells_apart = _Collected(), takes_fixed_point(optimize)
    for run in (ONCE, FIXED_POINT) if tells_apart else (ONCE,):
        given = _copy(task.model)
        started = time.perf_counter()
        try:
            after = optimize(given, fixed_point=run == FIXED_POINT) if tells_apart else optimize(given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit, and the panics of runtimes written in Rust, too
            evidence.seconds += time.perf_counter() - started
            return _raised(error, run, task, evidence)
        evidence.seconds += time.perf_counter() - started
        if not isinstance(after, onnx.ModelProto):
            said = f"optimize returned a {type(after).__name__}, not a model"
            return evidence.outcome(Verdict.FAIL, "optimize", said)
        rewriting = Rewriting(
            *(run, task.model, given, after, task.expected, task.examples),
            *(PASS_NAME in passes, tells_apart, task.invalid),
        )
        evidence.checks += _checked(rewriting, task)
        evidence.hazards += changes(rewriting)
    if complaints := _strongest_first(evidence.checks):
        more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
        return evidence.outcome(Verdict.FAIL, "compare", complaints[0] + more)
    return evidence.outcome(Verdict.PASS, None, "")


def _raised(error: BaseException, run: str, task: Task, evidence: _Collected) -> Outcome:
    """An error, or what hosts the subject says that became of it; to refuse a model that is not valid is right."""
    message = told(error) if run == ONCE else f"to a fixed point: {told(error)}"
    verdict = getattr(error, "verdict", Verdict.UNSUPPORTED if is_unsupported(error) else Verdict.ERROR)
    if verdict is Verdict.ERROR and is_rejection(error) and task.invalid:
        verdict = Verdict.PASS
    return evidence.outcome(Verdict(verdict), getattr(error, "phase", None) or "optimize", message)


def _strongest_first(checked: Iterable[RewriteCheck]) -> list[str]:
    """The complaints with their checks' names: the message of a failure tells the first, at whose level it stands."""
    complaining = [check for check in checked if "complaint" in check]
    complaining.sort(key=lambda check: Level(check["level"]).rank)
    return [f"{check['name']}: {check['complaint']}" for check in complaining]


def _checked(rewriting: Rewriting, task: Task) -> Iterable[RewriteCheck]:
    asked = (check for check in checks() if check.of_invalid_models or not rewriting.invalid)
    for check in asked:
        level = task.profile.level_of_check(check.name, check.level) if task.profile else check.level
        counts_at = Level.weakest([task.level, level])
        record: RewriteCheck = {"name": check.name, "run": rewriting.run, "level": str(counts_at)}
        try:
            if (found := check.complaint(rewriting)) is not None:
                record["complaint"] = found
        except NotJudged as reason:
            if not str(reason):
                continue
            record["not_judged"] = str(reason)
        yield record


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = type(model)()
    copy.CopyFrom(model)
    return copy
