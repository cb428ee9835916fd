"""Judge a backend on one case: prepare the model, run every data set, and compare the outputs.

`judge_backend` returns the result. Besides the outputs, it checks that the backend does not change the inputs or the
outputs of earlier runs. If an execution provider is requested, it also checks that all nodes ran there. A case can
have a companion model: a second model that is prepared after the model of the case and runs between its data sets. Only
the outputs of the case are judged.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from conformance.base.serialization.decoding import schema_check
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import COMPANION_FILE, load_companion, read_case_json
from conformance.exact.models.arrays import copy_of_value, value_bytes
from conformance.run.judging.compare import (
    compare_output,
    is_acceptable,
    output_without_interpretation,
    overwritten_inputs,
)
from conformance.run.judging.judging_options import DEFAULT_OPTIONS, ExecutionOptions
from conformance.run.judging.profile_rules import RETAINED_OUTPUTS_CHECK, RETAINED_OUTPUTS_LEVEL, data_sets_with_profile
from conformance.run.judging.returned import OutputRecorder
from conformance.run.results.records import CaseJudgement, OpenElements, RewriteCheck
from conformance.run.results.violations import Violation, ViolationKind
from conformance.subjects.calling.request import CaseEnded, SubjectFailure, call_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.base.verdicts import Phase
    from conformance.corpus.cases.case_loading import DataSet, LoadedCase
    from conformance.corpus.profiles import RequirementProfile
    from conformance.exact.models.arrays import Value
    from conformance.run.judging.accuracy import GradeCount
    from conformance.run.results.records import OutputEvidence, Placement, ReturnedValues


class CompanionModel:
    """The prepared companion model of a case; failures of its preparation and of its runs are ignored.

    Args:
        prepare: function that prepares a model and keeps the models prepared before.
        case: the case of the companion model. Its data sets run in turn, starting with the third one. Consecutive runs
            therefore have different inputs, even if the companion is the model of the case itself.
    """

    def __init__(self, prepare: Callable[..., Any], case: LoadedCase) -> None:
        data_sets = [data_set.inputs for data_set in case.data_sets()]
        self._inputs = islice(cycle(data_sets), 2, None)
        self._prepared: Any = None
        with suppress(CaseEnded):
            self._prepared = call_subject("load", lambda: prepare(case.model, "CPU"))

    def run(self) -> None:
        """Run the companion model once on copies of its next inputs."""
        inputs = list(map(copy_of_value, next(self._inputs)))
        if self._prepared is not None:
            with suppress(CaseEnded):
                call_subject("run", lambda: self._prepared.run(inputs))


def prepare_companion(backend: Any, case: LoadedCase) -> CompanionModel | None:
    """Return the prepared companion model of a case; None if the case has no companion.

    Args:
        backend: the backend. If it has a method `prepare_companion`, this method prepares the model, else `prepare`.

    Raises:
        CorpusError: the companion file of the case is malformed.
    """
    other = load_companion(case) if COMPANION_FILE in case.entry.files else None
    return None if other is None else CompanionModel(getattr(backend, "prepare_companion", backend.prepare), other)


_COPY_OPERATORS = {"Cast", "Identity", "MemcpyFromHost", "MemcpyToHost"}
"""Operators that only copy values: a runtime inserts them between providers, or runs them on any provider."""


def reported_placement(prepared: Any) -> Placement | None:
    """Return where the nodes of a prepared model run, as the model reports it; None without a report.

    Raises:
        ValueError: the reported value does not have the form of a placement.
    """
    reported = getattr(prepared, "placement", None)
    if not isinstance(reported, dict):
        return None
    if not schema_check("protocol", "placement")(reported):
        raise ValueError("the reported placement is not a number of nodes by provider and operator")
    placement: Placement = reported
    return placement


def placement_violation(provider: str, placement: Placement | None) -> str:
    """Return why not all nodes ran on the requested execution provider; an empty text if all nodes did.

    The reasons are: the placement is unknown, a node ran elsewhere, or no node ran on the provider.
    """
    if placement is None:
        return f"the backend does not report whether its nodes ran on {provider}"
    counted = {place: _relevant_nodes(operators, is_own=place == provider) for place, operators in placement.items()}
    total = sum(sum(operators.values()) for operators in counted.values())
    elsewhere = [place for place, operators in counted.items() if place != provider and operators]
    if elsewhere:
        return "; ".join(_elsewhere_sentence(place, counted[place], total) for place in sorted(elsewhere))
    return "" if total else f"no node ran on {provider}"


def _relevant_nodes(operators: dict[str, int], *, is_own: bool) -> dict[str, int]:
    """Return the operators that count for the placement, with their numbers of nodes.

    Args:
        operators: number of nodes by operator, on one provider.
        is_own: whether the provider is the requested one. On other providers, operators that only copy do not count.
    """
    return {name: count for name, count in operators.items() if is_own or name not in _COPY_OPERATORS}


def _elsewhere_sentence(place: str, operators: dict[str, int], total: int) -> str:
    count = sum(operators.values())
    return f"{count} of {total} {'node' if total == 1 else 'nodes'} ran on {place}: {', '.join(sorted(operators))}"


def judge_backend(
    backend: Any, case: LoadedCase, options: ExecutionOptions = DEFAULT_OPTIONS, provider: str | None = None
) -> CaseJudgement:
    """Run a case on a backend and judge it.

    Args:
        backend: an object with `prepare(model, device) → rep` and `rep.run(inputs) → outputs`.
        options: options on which the result depends; the case is run once.
        provider: execution provider on which every node must run, or None. If a node runs elsewhere, the verdict is
            `unsupported`.
    """
    if case.is_structural and not case.is_invalid:
        message = "an input or output is not a tensor: the case is for graph optimizers only"
        return CaseJudgement(verdict=Verdict.SKIPPED, phase=None, message=message, seconds=0.0)
    model = _CaseRun(backend, case, options, provider, OutputRecorder() if options.is_recording else None)
    return _judge_rejection(model, case) if case.is_invalid else _judge_outputs(model, case, options.profile)


@dataclass
class _CaseRun:
    """The model of a case on a backend.

    Attributes:
        backend: the backend.
        case: the case.
        options: options on which the result depends.
        provider: execution provider on which every node must run, or None.
        recorder: recorder of the outputs, or None.
        placement: number of nodes by provider and operator; None as long as it is unknown.
        seconds: seconds that the backend took to prepare and run the model.
        counts: number of elements of all outputs by accuracy grade.
        elements: number of elements of all outputs.
        open_elements: number of those whose every value is admissible.
    """

    backend: Any
    case: LoadedCase
    options: ExecutionOptions
    provider: str | None
    recorder: OutputRecorder | None
    placement: Placement | None = None
    seconds: float = 0.0
    counts: list[GradeCount] = field(default_factory=list)
    elements: int = 0
    open_elements: int = 0
    _prepared: Any = None

    def load(self) -> None:
        self._prepared = self._call("load", lambda: self.backend.prepare(self.case.model, "CPU"))
        self._place("load")

    def run(self, data_set: DataSet) -> Any:
        outputs = self._call("run", lambda: self._prepared.run(list(data_set.inputs)))
        self._place("run")
        return outputs

    def _call(self, phase: Phase, call: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        try:
            return call_subject(phase, call)
        finally:
            self.seconds += time.perf_counter() - started

    def add(self, number: int, data_set: DataSet, outputs: Sequence[object]) -> None:
        """Count and record the outputs of a data set, as far as the run does."""
        self.elements += sum(each.expected.size for each in data_set.outputs)
        self.open_elements += sum(each.open_elements for each in data_set.outputs)
        if self.options.accuracy_counter is not None:
            self.counts += self.options.accuracy_counter.count(self.case, number, data_set, outputs)
        if self.recorder is not None:
            self.recorder.add(data_set, outputs)

    def judgement(self, verdict: Verdict, phase: Phase | None, message: str, **evidence: Any) -> CaseJudgement:
        """Return the judgement of the case with some evidence."""
        counter = self.options.accuracy_counter
        return CaseJudgement(
            verdict=verdict,
            phase=phase,
            message=message,
            seconds=round(self.seconds, 6),
            placement=self.placement or None,
            accuracy=counter.total(self.counts) if counter is not None else {},
            open_elements=OpenElements(self.elements, self.open_elements) if self.open_elements else None,
            **evidence,
        )

    @property
    def returned(self) -> ReturnedValues | str | None:
        """The outputs of all data sets; None if the run does not record outputs."""
        return self.recorder.values() if self.recorder is not None else None

    def _place(self, phase: Phase) -> None:
        """Store where the nodes run; raise CaseEnded if a node does not run on the requested provider.

        A backend may report the placement after the first run only.
        """
        self.placement = call_subject(phase, lambda: reported_placement(self._prepared))
        if self.provider is None or (self.placement is None and phase == "load"):
            return
        if violation := placement_violation(self.provider, self.placement):
            raise CaseEnded(Verdict.UNSUPPORTED, phase, violation)


def _judge_outputs(model: _CaseRun, case: LoadedCase, profile: RequirementProfile | None) -> CaseJudgement:
    """Run a valid model on every data set and judge its outputs."""
    evidence: list[OutputEvidence] = []
    retained = RetainedOutputs([value.name for value in case.model.graph.output])
    try:
        model.load()
        companion = prepare_companion(model.backend, case)
        for number, data_set in enumerate(data_sets_with_profile(profile, case) if profile else case.data_sets()):
            evidence += _run_data_set(model, case, data_set, number, retained)
            if companion is not None:
                companion.run()
    except CaseEnded as stop:
        return model.judgement(stop.verdict, stop.phase, stop.message, outputs=evidence)
    violations = [_violation_sentence(output) for output in evidence if output.violation is not None]
    if violations:
        more = _more_outputs(len(violations) - 1)
        returned = None if retained.violation() else model.returned
        return model.judgement(Verdict.FAIL, "compare", violations[0] + more, outputs=evidence, returned=returned)
    level = (
        profile.level_of_check(RETAINED_OUTPUTS_CHECK, RETAINED_OUTPUTS_LEVEL) if profile else RETAINED_OUTPUTS_LEVEL
    )
    if overwritten := retained.check(Level.weakest([case.entry.level, level])):
        message = f"{overwritten.name}: {overwritten.violation}"
        return model.judgement(Verdict.FAIL, "compare", message, outputs=evidence, checks=[overwritten])
    return model.judgement(Verdict.PASS, None, "", outputs=evidence, returned=model.returned)


def _judge_rejection(model: _CaseRun, case: LoadedCase) -> CaseJudgement:
    """Run an invalid model: the verdict is `pass` if the backend raises an error, and `fail` if it computes outputs.

    If a provider is requested and no node was assigned to it, a rejection is `unsupported`: the runtime rejected the
    model, not the provider.
    """
    try:
        model.load()
        outputs = model.run(next(iter(case.data_sets())))
    except CaseEnded as stop:
        rejected = stop.verdict is Verdict.ERROR and is_rejection(stop.__cause__)
        if rejected and model.provider is not None and model.placement is None:
            message = f"rejected before a node was assigned to {model.provider}: {stop.message}"
            return model.judgement(Verdict.UNSUPPORTED, stop.phase, message)
        return model.judgement(Verdict.PASS if rejected else stop.verdict, stop.phase, stop.message)
    title = read_case_json(case.corpus, case.entry).title
    return model.judgement(Verdict.FAIL, "compare", f"computed {_describe_return(outputs)} although {title}")


def is_rejection(error: BaseException | None) -> bool:
    """Return whether an error of a subject rejects the model, rather than being a crash or a timeout."""
    return error.is_rejection if isinstance(error, SubjectFailure) else isinstance(error, Exception)


def _describe_return(outputs: object) -> str:
    """Return a description of a value that a backend returned: the number of outputs, or the type of the value."""
    if not isinstance(outputs, list | tuple):
        return f"a {type(outputs).__name__}"
    return "1 output" if len(outputs) == 1 else f"{len(outputs)} outputs"


def _run_data_set(
    model: _CaseRun, case: LoadedCase, data_set: DataSet, number: int, retained: RetainedOutputs
) -> list[OutputEvidence]:
    """Run one data set and return the comparison of its outputs.

    Raises:
        CaseEnded: the run failed, did not return the expected number of outputs, or overwrote an input.
    """
    stop_at_first = model.options.stop_at_first
    before = list(map(value_bytes, data_set.inputs))
    outputs = model.run(data_set)
    if not isinstance(outputs, list | tuple):
        raise _failure(f"run returned a {type(outputs).__name__}, not a sequence of outputs")
    if len(outputs) != len(data_set.outputs):
        raise _failure(f"run returned {len(outputs)} outputs instead of {len(data_set.outputs)}")
    pairs = list(zip(data_set.outputs, outputs, strict=True))
    if stop_at_first:
        for output, actual in pairs:
            if not is_acceptable(output, actual):
                raise _failure(f"{output.name} is not acceptable")
    retained.add(number, outputs)
    model.add(number, data_set, outputs)
    evidence = [] if stop_at_first else [compare_output(output, actual, number) for output, actual in pairs]
    if overwritten := overwritten_inputs(data_set.inputs, before):
        raise _failure(f"input {overwritten[0]} is not what it was before the run")
    if not any(output.violation is not None for output in evidence):
        index = output_without_interpretation(case, data_set, outputs)
        if index is not None:
            violation = Violation(ViolationKind.INTERPRETATION)
            if stop_at_first:
                raise _failure(f"{data_set.outputs[index].name} {violation}")
            evidence[index] = structs.replace(evidence[index], violation=violation)
    return evidence


def _failure(message: str) -> CaseEnded:
    return CaseEnded(Verdict.FAIL, "compare", message)


def _more_outputs(count: int) -> str:
    """Return the end of a sentence about one output, if so many further outputs violate it too."""
    return f" (and {count} more output{'s' * (count > 1)})" if count else ""


def _violation_sentence(output: OutputEvidence) -> str:
    """Return a sentence with the violation of an output and its first wrong element, for the result's message."""
    data_set = f" of data set {output.data_set}" if output.data_set else ""
    sentence = f"{output.name}{data_set} {output.violation}"
    if bad := output.first_bad:
        sentence += f", first at {bad.index}: {bad.actual} instead of {bad.expected}"
        sentence += f" (off by {bad.ulp:g} ULP)" if bad.ulp is not None else ""
    return sentence


class RetainedOutputs:
    """The outputs of all runs of a prepared model, with copies of their bytes right after the run.

    Args:
        names: names of the outputs, in the graph's order.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._retained: list[tuple[int, str, Value, bytes]] = []

    def add(self, data_set: int, outputs: Sequence[Any]) -> None:
        """Store the outputs of the data set with this number; what is no value of an ONNX type is ignored."""
        self._retained += [
            (data_set, name, output, value_bytes(output))
            for name, output in zip(self._names, outputs, strict=False)
            if isinstance(output, np.ndarray | list | dict)
        ]

    def violation(self) -> Violation | None:
        """Return the first output that has changed since its run as a violation; None if all are unchanged."""
        changed = [(number, name) for number, name, output, before in self._retained if value_bytes(output) != before]
        if not changed:
            return None
        number, name = changed[0]
        more = _more_outputs(len(changed) - 1)
        return Violation(ViolationKind.OVERWRITTEN, place=name, data_set=number, detail=more)

    def check(self, level: Level) -> RewriteCheck | None:
        """Return the violation, if any, as a record for the results file.

        Args:
            level: level at which the violation counts.
        """
        violation = self.violation()
        return None if violation is None else RewriteCheck(RETAINED_OUTPUTS_CHECK, level, violation=violation)
