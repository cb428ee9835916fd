"""One case on one backend, to a verdict: load, run every data set on the one prepared model, compare.

An invalid model is to be rejected, at load or at run; nothing is compared there. Where the answers are right, what has
been handed out is looked at again after the last run.
Whatever the subject does short of ending the process is a verdict, never an error of ours.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.corpus.document import case_json
from conformance.judging.compare import compare
from conformance.judging.kept import LEVEL, NAME, KeptOutputs
from conformance.judging.neighbour import neighbour_of
from conformance.judging.outcome import Outcome
from conformance.judging.placement import placement_complaint, placement_of
from conformance.judging.profiled import data_sets_under
from conformance.judging.readings import COMPLAINT, contradictory
from conformance.subjects.failures import SubjectFailure, is_unsupported, told
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.corpus.loading import DataSet, LoadedCase
    from conformance.judging.quality import Counted, Qualities
    from conformance.models.arrays import Array
    from conformance.profiles import Profile
    from conformance.results.records import OutputEvidence, Placement, Within


class _Stopped(Exception):
    """The case has ended before its last data set was compared."""

    def __init__(self, verdict: Verdict, phase: str, message: str) -> None:
        super().__init__(verdict, phase, message)
        self.verdict, self.phase, self.message = verdict, phase, message


def judge_backend(
    backend: Any,
    case: LoadedCase,
    profile: Profile | None = None,
    provider: str | None = None,
    qualities: Qualities | None = None,
    once_answered: Callable[[], None] | None = None,
) -> Outcome:
    """Run a case on a backend: anything with `prepare(model) → rep` and `rep.run(inputs) → outputs`.

    Args:
        profile: what is asked beyond the specification, or None.
        provider: what every node is to run on; a case in which one did not is unsupported.
        qualities: what tells how accurate the outputs are, which no verdict rests on, or None.
        once_answered: called before the last outputs are compared, if the backend is asked nothing more by then.
    """
    if case.is_structural and not case.is_invalid:
        return Outcome(Verdict.SKIPPED, None, "an input or output is no tensor: only graph optimizers are asked", 0.0)
    asked = _AskedModel(backend, case, provider, qualities)
    if case.is_invalid:
        return replace(_rejection(asked, case), placement=asked.placement)
    return replace(
        _answer(asked, case, profile, once_answered or _nothing), placement=asked.placement, quality=asked.quality
    )


class _AskedModel:
    """A case's model on a backend, and the time that it takes there.

    Attributes:
        placement: how many nodes of which operators ran where, as far as it is known.
    """

    def __init__(self, backend: Any, case: LoadedCase, provider: str | None, qualities: Qualities | None) -> None:
        self.backend, self._case, self.provider = backend, case, provider
        self._prepared: Any = None
        self._qualities = qualities
        self.placement: Placement | None = None
        self._counts: list[Counted] = []
        self.watch = _Stopwatch()

    def load(self) -> None:
        with self.watch:
            self._prepared = _asked("load", lambda: self.backend.prepare(self._case.model, "CPU"))
        self.watch.seconds += _seconds_ahead(self._prepared)
        self._place("load")

    def run(self, data_set: DataSet) -> Any:
        with self.watch:
            outputs = _asked("run", lambda: self._prepared.run(list(data_set.inputs)))
        self.watch.seconds += _seconds_ahead(self._prepared)
        self._place("run")
        return outputs

    def count(self, number: int, data_set: DataSet, outputs: Sequence[object]) -> None:
        """Take note of how accurate the outputs of a data set are, where that is asked for."""
        if self._qualities is not None:
            self._counts += self._qualities.within(self._case, number, data_set, outputs)

    @property
    def quality(self) -> dict[str, Within]:
        """How many elements of all outputs have which quality."""
        return self._qualities.total(self._counts) if self._qualities is not None else {}

    def _place(self, phase: str) -> None:
        """Take note of where the nodes run, and end the case where that is not as asked; it may be told late."""
        self.placement = _asked(phase, lambda: placement_of(self._prepared))
        if self.provider is None or (self.placement is None and phase == "load"):
            return
        if complaint := placement_complaint(self.provider, self.placement):
            raise _Stopped(Verdict.UNSUPPORTED, phase, complaint)


def _answer(
    asked: _AskedModel, case: LoadedCase, profile: Profile | None, once_answered: Callable[[], None]
) -> Outcome:
    """What becomes of a valid model: its outputs, compared."""
    evidence: list[OutputEvidence] = []
    kept = KeptOutputs([value.name for value in case.model.graph.output])
    watch = asked.watch
    try:
        asked.load()
        neighbour = neighbour_of(asked.backend, case)
        for number, (data_set, is_last) in enumerate(_with_last(data_sets_under(profile, case))):
            then = once_answered if is_last and neighbour is None else _nothing
            evidence += _run(asked, case, data_set, number, kept, then)
            if neighbour is not None:
                neighbour.run()
    except _Stopped as stop:
        once_answered()
        return Outcome(stop.verdict, stop.phase, stop.message, watch.seconds, tuple(evidence))
    complaints = [_sentence(output) for output in evidence if "complaint" in output]
    if complaints:
        more = f" (and {len(complaints) - 1} more outputs)" if len(complaints) > 1 else ""
        return Outcome(Verdict.FAIL, "compare", complaints[0] + more, watch.seconds, tuple(evidence))
    level = profile.level_of_check(NAME, LEVEL) if profile else LEVEL
    if overwritten := kept.check(Level.weakest([case.entry.level, level])):
        said = f"{overwritten['name']}: {overwritten['complaint']}"
        return Outcome(Verdict.FAIL, "compare", said, watch.seconds, tuple(evidence), (overwritten,))
    return Outcome(Verdict.PASS, None, "", watch.seconds, tuple(evidence))


def _rejection(asked: _AskedModel, case: LoadedCase) -> Outcome:
    """`pass` where the backend raises on a model that is invalid, `fail` where it computes something from it.

    Of a provider a refusal says nothing as long as no node was given to it: the runtime refused, not the provider.
    """
    watch = asked.watch
    try:
        asked.load()
        outputs = asked.run(next(iter(case.data_sets())))
    except _Stopped as stop:
        rejected = stop.verdict is Verdict.ERROR and is_rejection(stop.__cause__)
        if rejected and asked.provider is not None and asked.placement is None:
            message = f"refused, and no node is known to have been given to {asked.provider}: {stop.message}"
            return Outcome(Verdict.UNSUPPORTED, stop.phase, message, watch.seconds)
        return Outcome(Verdict.PASS if rejected else stop.verdict, stop.phase, stop.message, watch.seconds)
    title = case_json(case.corpus, case.entry)["title"]
    return Outcome(Verdict.FAIL, "compare", f"computed {_count(outputs)} although {title}", watch.seconds)


def is_rejection(error: BaseException | None) -> bool:
    """Whether what a subject raised refuses a model, as against having broken down on it."""
    return error.is_rejection if isinstance(error, SubjectFailure) else isinstance(error, Exception)


def _count(outputs: object) -> str:
    """How many outputs came, in words."""
    if not isinstance(outputs, list | tuple):
        return f"a {type(outputs).__name__}"
    return "1 output" if len(outputs) == 1 else f"{len(outputs)} outputs"


def _run(
    asked: _AskedModel,
    case: LoadedCase,
    data_set: DataSet,
    number: int,
    kept: KeptOutputs,
    once_answered: Callable[[], None],
) -> list[OutputEvidence]:
    before = [array.tobytes() for array in data_set.inputs]
    outputs = asked.run(data_set)
    once_answered()
    if not isinstance(outputs, list | tuple):
        raise _Stopped(Verdict.FAIL, "compare", f"run returned a {type(outputs).__name__}, not a sequence of outputs")
    if len(outputs) != len(data_set.outputs):
        raise _Stopped(
            Verdict.FAIL, "compare", f"run returned {len(outputs)} outputs instead of {len(data_set.outputs)}"
        )
    kept.keep(number, outputs)
    asked.count(number, data_set, outputs)
    evidence = [compare(output, actual, number) for output, actual in zip(data_set.outputs, outputs, strict=True)]
    if spoiled := _spoiled(data_set.inputs, before):
        raise _Stopped(Verdict.FAIL, "compare", f"input {spoiled[0]} is not what it was before the run")
    if not any("complaint" in output for output in evidence):
        place = contradictory(case, data_set, outputs)
        if place is not None:
            evidence[place]["complaint"] = COMPLAINT
    return evidence


def _with_last(data_sets: Iterator[DataSet]) -> Iterator[tuple[DataSet, bool]]:
    """The data sets, each with whether it is the last."""
    following = next(data_sets, None)
    while (data_set := following) is not None:
        following = next(data_sets, None)
        yield data_set, following is None


def _seconds_ahead(prepared: Any) -> float:
    """How long a model was being prepared or run before that was asked for, as in a process of its own it may be."""
    seconds = getattr(prepared, "seconds_ahead", 0.0)
    return seconds if isinstance(seconds, float) else 0.0


def _nothing() -> None:
    """What is done where nothing is to be done."""


def _asked(phase: str, ask: Any) -> Any:
    """What the subject answers; what it raises, or how its process fails, becomes a verdict."""
    try:
        return ask()
    except KeyboardInterrupt:
        raise
    except SubjectFailure as error:
        raise _Stopped(error.verdict, error.phase or phase, told(error)) from error
    except BaseException as error:  # SystemExit, and the panics of runtimes written in Rust, too
        verdict = Verdict.UNSUPPORTED if is_unsupported(error) else Verdict.ERROR
        raise _Stopped(verdict, phase, told(error)) from error


def _spoiled(inputs: Sequence[Array], before: Sequence[bytes]) -> list[int]:
    return [number for number, array in enumerate(inputs) if array.tobytes() != before[number]]


def _sentence(output: OutputEvidence) -> str:
    place = f" of data set {output['data_set']}" if output["data_set"] else ""
    sentence = f"{output['name']}{place} {output['complaint']}"
    if bad := output.get("first_bad"):
        sentence += f", first at {bad['index']}: {bad['actual']} instead of {bad['expected']}"
        sentence += f" (off by {bad['ulp']:g} ULP)" if "ulp" in bad else ""
    return sentence


class _Stopwatch:
    """Adds up the seconds spent within it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._started
