"""Judge a graph optimizer on one case: run it once and to a fixed point, and evaluate every check.

`judge_optimizer` reads the case; `judge_rewrite` runs the optimizer on a copy of the model. An invalid model may be
refused with an error, or returned in any form. An error of the optimizer is a verdict, never an error of the suite.
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import onnx

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.exact.models.model_validity import find_text_fault
from conformance.run.judging.backend import is_rejection
from conformance.run.judging.judging_options import DEFAULT_OPTIONS, ExecutionOptions
from conformance.run.judging.optimizer_checks import CHECKS, EFFECT_CHECK, hazard_changes
from conformance.run.judging.optimizer_run import FIXED_POINT, ONCE, NotJudged, OptimizerRun, OptimizerTask
from conformance.run.judging.profile_rules import applicable_rules
from conformance.run.judging.returned import encode_models
from conformance.run.results.records import CaseJudgement, RewriteCheck
from conformance.subjects.calling.harness import has_type, takes_fixed_point, type_name_of
from conformance.subjects.calling.request import CaseEnded, call_subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.base.verdicts import OptimizerRunName, Phase
    from conformance.corpus.cases.case_loading import LoadedCase
    from conformance.run.results.records import HazardChange, ReturnedValues
    from conformance.subjects.calling.subject_names import Subject


def judge_optimizer(
    subject: Subject, case: LoadedCase, options: ExecutionOptions = DEFAULT_OPTIONS, task: OptimizerTask | None = None
) -> CaseJudgement:
    """Run a graph optimizer on a case and return the result.

    Args:
        options: options on which the result depends; the case is run once.
        task: what the pass does with the model; None if the case states it.

    Raises:
        CorpusError: a file of the case is altered.
    """
    task = task or OptimizerTask.of(case)
    if task is None:
        message = "the case does not say what the pass does with its model"
        return CaseJudgement(verdict=Verdict.SKIPPED, phase=None, message=message, seconds=0.0)
    if (profile := options.profile) is not None:
        ids = [rule.id for rule in applicable_rules(profile, case)]
        task = replace(task, level=profile.level_of(ids, task.level), profile=profile)
    return judge_rewrite(subject.target, subject.passes, task, record=options.is_recording)


def judge_rewrite(optimize: Any, passes: Sequence[str], task: OptimizerTask, *, record: bool = False) -> CaseJudgement:
    """Run a graph optimizer on a model, evaluate every check, and return the result.

    Args:
        optimize: function `optimize(model) → model`, or `optimize(model, fixed_point=…) → model`.
        passes: names of the passes that the optimizer implements.
        record: whether to record the returned models.
    """
    returned: list[onnx.ModelProto] | None = [] if record else None
    evidence = _EvidenceCollector()
    has_option = takes_fixed_point(optimize)
    runs: tuple[OptimizerRunName, ...] = (ONCE, FIXED_POINT) if has_option else (ONCE,)
    for run in runs:
        caller_model = deepcopy(task.model)
        options = {"fixed_point": run == FIXED_POINT} if has_option else {}
        started = time.perf_counter()
        try:
            after = call_subject("optimize", partial(optimize, caller_model, **options))
        except CaseEnded as ended:
            evidence.seconds += time.perf_counter() - started
            return _result_of_error(ended, run, task, evidence)
        evidence.seconds += time.perf_counter() - started
        if not has_type(after, onnx.ModelProto):
            message = f"optimize returned a {type_name_of(after)}, not a model"
            return evidence.judgement(Verdict.FAIL, "optimize", message)
        for place, model in (("returned a model", after), ("changed its input to a model", caller_model)):
            if (fault := find_text_fault(model)) is not None:
                return evidence.judgement(Verdict.FAIL, "optimize", f"optimize {place} that is invalid: {fault}")
        optimizer_run = OptimizerRun(task, run, caller_model, after, PASS_NAME in passes, has_option)
        if returned is not None:
            returned = [*returned, after] if caller_model == task.model else None
        evidence.checks += _evaluate_checks(optimizer_run)
        evidence.hazards += hazard_changes(optimizer_run)
    values = None if returned is None else encode_models(task.model, returned)
    if violations := _violation_sentences(evidence.checks):
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        return evidence.judgement(Verdict.FAIL, "compare", violations[0] + more, values)
    unjudged = next((check for check in evidence.checks if check.not_judged), None)
    if unjudged is not None:  # the outputs are what a rewrite is judged by: the other checks alone show no pass
        return evidence.judgement(Verdict.SKIPPED, "compare", f"not judged: {unjudged.not_judged}", values)
    return evidence.judgement(Verdict.PASS, None, "", values)


@dataclass
class _EvidenceCollector:
    """Evidence from all runs of a graph optimizer so far: seconds, results of checks, and hazards."""

    seconds: float = 0.0
    checks: list[RewriteCheck] = field(default_factory=list)
    hazards: list[HazardChange] = field(default_factory=list)

    def judgement(
        self, verdict: Verdict, phase: Phase | None, message: str, returned: ReturnedValues | str | None = None
    ) -> CaseJudgement:
        return CaseJudgement(
            verdict=verdict,
            phase=phase,
            message=message,
            seconds=round(self.seconds, 6),
            checks=self.checks,
            hazards=self.hazards,
            returned=returned,
        )


def _result_of_error(ended: CaseEnded, run: str, task: OptimizerTask, evidence: _EvidenceCollector) -> CaseJudgement:
    """Return the result of a run that raised an error: `pass` if the model is invalid and the error rejects it."""
    message = ended.message if run == ONCE else f"to a fixed point: {ended.message}"
    is_right = ended.verdict is Verdict.ERROR and is_rejection(ended.__cause__) and task.invalid
    return evidence.judgement(Verdict.PASS if is_right else ended.verdict, ended.phase, message)


def _violation_sentences(checks: Iterable[RewriteCheck]) -> list[str]:
    """Return `NAME: VIOLATION` for each violated check, the strongest level first."""
    violated = [check for check in checks if check.violation is not None]
    violated.sort(key=lambda check: check.level.rank)
    return [f"{check.name}: {check.violation}" for check in violated]


def _evaluate_checks(optimizer_run: OptimizerRun) -> Iterable[RewriteCheck]:
    """Yield the result of every check that applies to a run of a graph optimizer."""
    task = optimizer_run.task
    for check in CHECKS:
        if task.invalid and not check.applies_to_invalid_models:
            continue
        level = task.profile.level_of_check(check.name, check.level) if task.profile else check.level
        effective = Level.weakest([task.level, level])
        try:
            violation = check.find_violation(optimizer_run)
        except NotJudged as reason:
            if str(reason):
                yield RewriteCheck(check.name, effective, optimizer_run.run, not_judged=str(reason))
        else:
            effect, witness = optimizer_run.strongest_effect if check.name == EFFECT_CHECK else (None, "")
            yield RewriteCheck(check.name, effective, optimizer_run.run, violation, None, effect, witness)
