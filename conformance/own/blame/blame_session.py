"""The steps of `blame`: controls, difference, passes, reduction and verdict; `Session.run` is their order.

Each step returns its data, which becomes a part of the document. All reports are made from the document. A document of
an earlier, interrupted session is continued: a step whose data it has does not run again.
"""

from __future__ import annotations

import base64
import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as changed_copy
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import onnx
from msgspec.structs import replace
from onnx import TensorProto

from conformance.base.errors import UsageError
from conformance.base.files.journal import require_identity
from conformance.base.serialization.decoding import decode_json, encode_json
from conformance.exact.models.arrays import array_of, hash_values
from conformance.exact.models.graphs import is_operator, iter_nodes
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_validity import unnoticed_violation
from conformance.own.blame.difference import Difference, find_difference, observe
from conformance.own.blame.document import (
    FORMAT,
    BlameDocument,
    BlameHead,
    BlameSteps,
    Controls,
    FoundPasses,
    LostAccuracy,
    ReducedModel,
    ReducedNode,
)
from conformance.own.blame.model_comparison import (
    Comparison,
    Computation,
    Failure,
    OpenSubjects,
    TimeIsOverError,
    run_model,
)
from conformance.own.blame.model_reduction import MAX_SECONDS, DifferenceReduction, known_values, node_count
from conformance.own.blame.passes import ONNXRUNTIME, Passes, PassSearch, list_passes
from conformance.own.blame.second_model import (
    MatchedModels,
    SecondModel,
    changes_of_nodes,
    read_models,
    round_inputs,
)
from conformance.own.blame.verdict import BlameOutcome, BlameVerdict, ChangedReleases, Unoptimized, judge
from conformance.own.graphs.fed_model import FedModel
from conformance.own.graphs.fitting_inputs import find_fitting_inputs
from conformance.own.graphs.model_inputs import InputSet, choose_inputs, input_text, other_inputs
from conformance.own.graphs.reading import LoadedModel, ModelRecord, shared_weights
from conformance.own.graphs.tensor_borders import with_tensor_inputs
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.exact.models.arrays import Array


SHARE_OF_PASSES = 1 / 3
"""The share of the time after which the search for passes ends."""

REPETITIONS = 5
"""How often the reduced model is computed again: what varies is no fault of one operator."""

MIN_VERDICT_SECONDS = 10.0
"""The time for the verdict on the reduced model, if no time is left."""


@dataclass(frozen=True)
class Request:
    """The two ways that are compared.

    Attributes:
        model: the model.
        data_sets: the inputs.
        first: the subject that runs the model.
        second: the subject that runs the rewrite, or the second subject.
        optimizer: the graph optimizer; None for two subjects or two models.
        seed: the seed of pseudo-random inputs; None for inputs from files.
        seconds: the maximum time of the search for passes, of the reduction and of its verdict together.
        models: the model and a second model, which takes the place of a rewrite; None for one model.
        given: the request with sequences and optionals as inputs, if nodes of the model make them here.
    """

    model: LoadedModel
    data_sets: Sequence[InputSet]
    first: SubjectName
    second: SubjectName
    optimizer: SubjectName | None = None
    seed: int | None = None
    seconds: float = MAX_SECONDS
    models: MatchedModels | None = None
    given: Request | None = None

    def with_tensor_inputs(self) -> Request:
        """Return the request with inputs that are tensors; see the function of this name."""
        model, data_sets = with_tensor_inputs(self.model, self.data_sets)
        if model is self.model:
            return self
        models = self.models.with_tensor_inputs(self.data_sets) if self.models else None
        return changed_copy(self, model=model, data_sets=data_sets, models=models, given=self)

    def fed_model(self, number: int) -> FedModel:
        """Return the model with one data set."""
        model = self.model.original
        names = required_input_names(model.graph)
        inputs = dict(zip(names, self.data_sets[number].arrays, strict=True))
        return FedModel(model, inputs, self.model.data_folder)

    @property
    def names(self) -> list[SubjectName]:
        """The names of both subjects, and of the graph optimizer if there is one."""
        return [self.first, self.second, *([self.optimizer] if self.optimizer else [])]

    @property
    def bisects_second(self) -> bool:
        """Whether the passes of the second subject are chosen, and not those of the first."""
        return self.second.name == ONNXRUNTIME and self.second.options.get("optimization") != "disabled"

    def with_chosen(self, chosen: SubjectName | None) -> tuple[SubjectName, SubjectName, SubjectName | None]:
        """Return both subjects and the graph optimizer; `chosen` replaces the one whose passes are chosen."""
        if chosen is None:
            return self.first, self.second, self.optimizer
        if self.optimizer is not None:
            return self.first, self.second, chosen
        return (self.first, chosen, None) if self.bisects_second else (chosen, self.second, None)

    def head(self) -> BlameHead:
        """Return the part of the document that identifies the request."""
        names = required_input_names(self.model.original.graph)
        return BlameHead(
            format=FORMAT,
            model=_record_of(self.model),
            inputs=[input_text(names, data_set) for data_set in self.data_sets],
            inputs_sha256=hash_values(array for data_set in self.data_sets for array in data_set.arrays),
            seed=self.seed,
            subjects=(self.first.text, self.second.text),
            optimizer=self.optimizer.text if self.optimizer else None,
            second_model=_record_of(self.models.second) if self.models else msgspec.UNSET,
        )


@contextmanager
def prepared_request(
    paths: tuple[Path, Path | None],
    ways: tuple[SubjectName, SubjectName, SubjectName | None],
    opened: OpenSubjects,
    seconds: float = MAX_SECONDS,
    *,
    inputs: Path | None = None,
    shapes: Sequence[str] = (),
    values: Sequence[str] = (),
    seed: int = 0,
) -> Iterator[Request]:
    """Read the models and their inputs, or draw the inputs; of chosen sizes, the first subject runs the first model.

    Files that the models need are removed at the end of the block.

    Args:
        paths: the files of the model, and of a second model or None.
        ways: both subjects, and the graph optimizer or None; see `compared_subjects`.
        opened: starts the subjects; it gets the folder of the model's data.
        seconds: the maximum time of the session.
        inputs: a file or folder of inputs; None for pseudo-random inputs.
        shapes: the sizes of inputs, as for `--shape`.
        values: the values of single inputs, as for `--input`.
        seed: the seed of pseudo-random inputs.

    Raises:
        ConformanceError: a model or the inputs cannot be read, or do not fit each other.
    """
    path, other = paths
    first, second, optimizer = ways
    with shared_weights([path, other or path], [first, second]) as scratch:
        model, models = read_models(path, other, scratch, is_rewritten=optimizer is not None)
        opened.data_folder = model.data_folder
        chosen = choose_inputs(model.original, inputs, shapes, seed, values)
        if chosen[0].chosen:
            others = other_inputs(model.original, shapes, seed, values)
            with opened.open(first) as (subject,):
                chosen = [find_fitting_inputs(model, subject, chosen[0], others)]
        data_sets = round_inputs(models, chosen)
        request = Request(model, data_sets, first, second, optimizer, None if inputs else seed, seconds, models)
        yield request.with_tensor_inputs()


def compared_subjects(
    backends: Sequence[str], optimizer: str | None, *, has_second_model: bool = False, has_releases: bool = False
) -> tuple[SubjectName, SubjectName, SubjectName | None]:
    """Return both subjects and the graph optimizer; one subject is returned twice.

    Args:
        backends: the names of the backends.
        optimizer: the name of the graph optimizer, or None.
        has_second_model: whether a second model is given, which one backend computes too.
        has_releases: whether releases of the one subject are compared.

    Raises:
        UsageError: these are not two ways to compute a model.
    """
    if has_second_model and has_releases:
        raise UsageError("options-conflict.two", first="--releases", second="a second model")
    if has_second_model and (optimizer or len(backends) != 1):
        raise UsageError("subject-count.two-models")
    named = [SubjectName.parse(text, SubjectKind.BACKEND) for text in backends]
    rewriter = SubjectName.parse(optimizer, SubjectKind.OPTIMIZER) if optimizer else None
    if (has_second_model or has_releases) and len(named) + bool(optimizer) == 1:
        alone = rewriter or named[0]
        return alone, alone, rewriter
    if len(named) != (1 if optimizer else 2):
        raise UsageError("subject-count.two-ways")
    return named[0], named[-1], rewriter


def _record_of(model: LoadedModel) -> ModelRecord:
    return ModelRecord(model.path.name, model.digest, node_count(model.original))


@dataclass
class Session:
    """One run of all steps.

    Attributes:
        request: the two ways.
        subjects: starts the subjects.
        on_step: is called with the name of each step that ends.
        progress: is called with a text for the user.
        known: the document of an earlier session; None to begin with the first step.
        find_releases: returns the releases of a subject that are worth comparing for some operators, see
            `releases_worth_comparing`.
        reduced: the reduced fed model, after its step.
        answers: the answers to the reduced fed.
        document: the data of the steps that ended, after `run` has begun.
    """

    request: Request
    subjects: OpenSubjects
    on_step: Callable[[str], None] = lambda _: None
    progress: Callable[[str], None] = lambda _: None
    known: BlameDocument | None = None
    find_releases: Callable[[SubjectName, Collection[str]], list[ChangedReleases]] = lambda *_: []
    reduced: FedModel | None = None
    answers: tuple[Computation, Computation] | None = None
    document: BlameDocument = field(init=False)
    _deadline: float = field(default=math.inf, init=False)

    @property
    def has_news(self) -> bool:
        """Whether a step has ended that the known document lacks."""
        return hasattr(self, "document") and self.document.steps != BlameSteps() and self.document != self.known

    def run(self) -> BlameVerdict:
        """Run the steps that the known document lacks, and return the verdict.

        Raises:
            JobError: the document belongs to another request.
            ConformanceError: a subject cannot be loaded.
        """
        self.document = self._begin()
        steps = self.document.steps
        observed = None
        if steps.controls is None:
            steps.controls, observed = self._examine_controls()
        self.on_step("controls")
        if not steps.controls.is_deterministic:
            return self._end(BlameVerdict(BlameOutcome.NOT_DETERMINISTIC, steps.controls.reason))
        if self.request.given is not None:
            text, given_difference = self._changed_by_nodes(steps.controls.data_set, self.request.given)
            if text and given_difference is not None:
                steps.difference = given_difference
                self.on_step("difference")
            if text and given_difference is not None and not (given_difference or any(given_difference.failures)):
                return self._end(BlameVerdict(BlameOutcome.NO_DIFFERENCE))
            if text:
                return self._end(BlameVerdict(BlameOutcome.NOT_JUDGED, text))
        fed = self.request.fed_model(steps.controls.data_set)
        if steps.difference is None:
            whole = self._observe_whole(fed) if observed is None else observed
            steps.difference = with_steps(self.request.model.prepared, whole)
        self.on_step("difference")
        self._deadline = time.monotonic() + self.request.seconds
        if any(steps.difference.failures) and (violation := self._violation()):
            return self._end(BlameVerdict(BlameOutcome.NOT_JUDGED, f"the model is invalid: {violation}"))
        if not steps.difference and any(steps.difference.failures):
            reason = f"neither computes the model: {steps.difference.messages[0]}"
            return self._end(BlameVerdict(BlameOutcome.NOT_JUDGED, reason))
        if not steps.difference:
            return self._end(BlameVerdict(BlameOutcome.NO_DIFFERENCE))
        if steps.passes is None:
            steps.passes = self._find_passes(steps.controls, fed, steps.difference)
        self.on_step("passes")
        return self._end(self._reduce_and_judge(steps.passes, fed))

    def _violation(self) -> str:
        """Return how a model violates the specification although onnx accepts it; an empty text for none."""
        models = self.request.models
        every = [self.request.model, *([models.second] if models is not None else [])]
        return next(filter(None, (unnoticed_violation(each.original) for each in every)), "")

    def _begin(self) -> BlameDocument:
        """Return the known document; an empty one if there is none, or if it is of another version of a subject.

        The controls write the versions of the subjects into an empty document.
        """
        head = self.request.head()
        if self.known is not None:
            names = [entry.encode_name for entry in msgspec.structs.fields(BlameHead)]
            wanted, known = (decode_json(encode_json(each)) for each in (head, self.known))
            require_identity("The file of --resume", {name: known[name] for name in names if name in known}, wanted)
            with self.subjects.open(*self.request.names) as found:
                versions = [each.version or "" for each in found]
            if self.known.versions == versions:
                return replace(self.known, steps=replace(self.known.steps), reduced_difference=msgspec.UNSET)
        return BlameDocument(**msgspec.structs.asdict(head), versions=[], steps=BlameSteps())

    def _end(self, verdict: BlameVerdict) -> BlameVerdict:
        verdict = replace(
            verdict,
            releases=self._releases_worth_comparing(verdict) or msgspec.UNSET,
            unoptimized=self._compare_with_unoptimized(verdict) or msgspec.UNSET,
        )
        self.document.steps.verdict = verdict
        self.on_step("verdict")
        return verdict

    def _examine_controls(self) -> tuple[Controls, Difference]:
        """Run everything twice, in two processes; find the first data set with a difference."""
        request = self.request
        number = 0
        with self._compare() as comparison:
            subjects = filter(None, (comparison.first, comparison.second, comparison.optimizer))
            self.document.versions = [each.version or "" for each in subjects]
            observed, kept = observe(comparison, request.fed_model(0))
            for place in range(1, len(request.data_sets)):
                if observed:
                    break
                difference, answers = observe(comparison, request.fed_model(place))
                if difference:
                    number = place
                    observed = difference
                    kept = answers
            # a failure, which may be a hang, is repeated in another process only
            same_process = kept if any(each.failure for each in kept) else comparison.answers(request.fed_model(number))
        with self._compare() as repeated:
            other_process = repeated.answers(request.fed_model(number))
        names = [value.name for value in request.model.original.graph.output]
        differing = [
            _change_text(label, where, one, other)
            for where, again in (("in the second run", same_process), ("in another process", other_process))
            for label, one, other in zip(comparison.names, kept, again, strict=True)
            if find_difference(names, one, other)
        ]
        trip = None if request.optimizer is None or differing else self._round_trip(request.fed_model(number))
        return Controls(number, comparison.names, not differing, differing[0] if differing else "", trip), observed

    def _changed_by_nodes(self, number: int, request: Request) -> tuple[str, Difference | None]:
        """Return which subject returns other outputs if nodes make the inputs that are not tensors; empty if none.

        The difference is that of two subjects with the inputs as they are given; None for another comparison.

        Args:
            number: the number of the data set.
            request: the request with these inputs.
        """
        fed = self.request.fed_model(number)
        given = request.fed_model(number)
        names = [value.name for value in fed.model.graph.output]
        texts = []
        answers = []
        with self._compare() as comparison:
            for subject in (comparison.first, comparison.second):
                own, made = (run_model(subject.target, each.model, each.inputs) for each in (given, fed))
                answers.append(own)
                changed = find_difference(names, own, made)
                if own.failure is not Failure.UNSUPPORTED and changed:
                    outputs = ", ".join(each.name for each in changed.outputs)
                    values = f"another value of {outputs}" if outputs else "other outputs"
                    texts.append(
                        f"{subject.id} returns {values} if nodes of the model make its sequences and optionals"
                    )
            difference = None if comparison.has_rewrite else find_difference(names, answers[0], answers[1])
        return texts[0] if texts else "", difference

    def _round_trip(self, fed: FedModel) -> str | None:
        """Run the graph optimizer without any pass; None if its passes cannot be chosen."""
        if self._passes is None:
            return None
        with self._compare(self._passes.choose([])) as comparison:
            difference, answers = observe(comparison, fed)
        return (answers[1].message or "differs") if difference else "same"

    def _observe_whole(self, fed: FedModel) -> Difference:
        with self._compare() as comparison:
            return observe(comparison, fed)[0]

    def _find_passes(self, controls: Controls, fed: FedModel, wanted: Difference) -> FoundPasses:
        """Find the passes; the data has no names if the passes cannot be chosen.

        The way whose passes are fixed is computed once, and only the other subject starts for each set of passes.
        """
        passes = self._passes
        request = self.request
        if passes is None:
            reason = "the passes cannot be chosen" if request.models is None else "no pass: the second model is given"
            return FoundPasses(None, reason, 0)
        if controls.round_trip not in (None, "same"):
            reason = "the difference comes without any pass: the round trip"
            return FoundPasses([], reason, 1, passes.choose([]).text)
        tried = {} if self.document.tried is msgspec.UNSET else dict(self.document.tried)
        tried |= {passes.choose([]).text: False} if controls.round_trip == "same" else {}
        self.document.tried = tried
        names = [value.name for value in fed.model.graph.output]
        fixed = request.first if request.optimizer is not None or request.bisects_second else request.second
        rewrites: dict[str, onnx.ModelProto | None] = {}
        with self.subjects.open(fixed) as (held,):
            known = run_model(held.target, fed.model, fed.inputs)
            if known.failure:
                self.document.tried = msgspec.UNSET
                return FoundPasses(None, f"no pass is searched: {fixed.text} gives no answer", 0)

            def keeps_difference(subject: SubjectName) -> bool:
                with self.subjects.open(subject) as (chosen,):
                    if subject.kind is SubjectKind.OPTIMIZER:
                        answer = Comparison(held, held, chosen).answer(fed, is_second=True)
                        rewrites[subject.text] = answer.model
                    else:
                        answer = run_model(chosen.target, fed.model, fed.inputs)
                is_first = subject.kind is SubjectKind.BACKEND and not request.bisects_second
                answers = (answer, known) if is_first else (known, answer)
                return wanted.is_same(find_difference(names, *answers))

            end = self._deadline - (1 - SHARE_OF_PASSES) * request.seconds
            search = PassSearch(
                passes,
                keeps_difference,
                self.progress,
                tried,
                end,
                fed.model,
                lambda subject: rewrites.get(subject.text),
            )
            found = search.find()
        self.document.tried = msgspec.UNSET
        return found

    def _reduce_and_judge(self, passes: FoundPasses, fed: FedModel) -> BlameVerdict:
        """Reduce the model with the passes of the difference only, and judge the reduced model."""
        known = self.document.steps.reduction
        with self._compare(self._chosen(passes)) as comparison:
            self._match_values(comparison, fed)
            if known is not None and known.is_complete:
                self.reduced = known.read(self.request.model.data_folder)
            else:
                start = None if known is None else known.read(self.request.model.data_folder)
                self.reduced = self._reduce(comparison, self._inlined(comparison, fed), start)
            self.on_step("reduction")
            difference, self.answers = observe(comparison, self.reduced)
            if not difference:
                reason = "the difference of the reduced model does not come again in the same process"
                return BlameVerdict(BlameOutcome.NOT_DETERMINISTIC, reason)
            for _ in range(0 if any(difference.failures) else REPETITIONS):
                if changed := comparison.changed_way(self.reduced, self.answers):
                    reason = f"{changed} returns other outputs of the reduced model when it runs again"
                    return BlameVerdict(BlameOutcome.NOT_DETERMINISTIC, reason)
            self.document.reduced_difference = difference
            try:
                with comparison.until(max(self._deadline, time.monotonic() + MIN_VERDICT_SECONDS)):
                    verdict = judge(comparison, self.reduced, difference, self.answers)
            except TimeIsOverError:
                count = node_count(self.reduced.model)
                return BlameVerdict(BlameOutcome.NOT_JUDGED, f"the time ended before {count} nodes were judged")
            if verdict.outcome is BlameOutcome.BOTH_ADMISSIBLE and self._ended_early:
                reason = "the time ended before a fault in a part of the model was excluded; give more --seconds"
                return replace(verdict, outcome=BlameOutcome.NOT_JUDGED, reason=reason, hazard=None)
            return verdict

    @property
    def _ended_early(self) -> bool:
        reduction = self.document.steps.reduction
        return reduction is not None and reduction.ended_early

    def _match_values(self, comparison: Comparison, fed: FedModel) -> None:
        """Match the intermediate values of two given models, at which both are cut."""
        if comparison.second_model is None or self.request.models is None:
            return
        fed_models = [fed.with_model(each.prepared) for each in (self.request.model, comparison.second_model.model)]
        targets = (comparison.first.target, comparison.second.target)
        first, second = (
            known_values([target], fed, comparison.note) for target, fed in zip(targets, fed_models, strict=True)
        )

        def run(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> Sequence[Array] | None:
            self.progress("trying values that both models have")
            answer = run_model(comparison.second.target, model, inputs)
            return None if answer.failure else answer.outputs

        comparison.second_model.match_values(first, second, run)

    def _reduce(self, comparison: Comparison, whole: FedModel, start: FedModel | None) -> FedModel:
        """Reduce the model, and keep each smaller model in the document."""

        def keep(fed: FedModel, *, is_complete: bool = False) -> None:
            self.document.steps.reduction = _reduced_model(
                fed, reduction, nodes_before=self.document.model.nodes, is_complete=is_complete
            )

        reduction = DifferenceReduction(comparison, self._deadline - time.monotonic(), keep)
        reduced = reduction.reduce(whole, start)
        keep(reduced, is_complete=not reduction.ended_early)
        return reduced

    def _inlined(self, comparison: Comparison, fed: FedModel) -> FedModel:
        """Return the model without model-local functions if the difference stays, and otherwise as it is."""
        prepared = fed.with_model(self.request.model.prepared)
        if not fed.model.functions or observe(comparison, fed)[0].is_same(observe(comparison, prepared)[0]):
            return prepared
        return fed

    def _compare_with_unoptimized(self, verdict: BlameVerdict) -> Unoptimized | None:
        """Return how both ways differ from the result without optimizations, if the reference cannot judge them.

        The result is that of ONNX Runtime without optimizations if a way is ONNX Runtime, and otherwise that of onnx's
        reference evaluator. It is never one of the ways.
        """
        if verdict.outcome is not BlameOutcome.NOT_JUDGED or self.reduced is None or self.answers is None:
            return None
        ways = [self.request.first, self.request.second]
        plain = next((each for each in _plain_subjects(ways) if each not in ways), None)
        if plain is None:
            return None
        with self.subjects.open(plain) as (subject,):
            found = run_model(subject.target, self.reduced.model, self.reduced.inputs)
        if found.failure or any(answer.failure for answer in self.answers):
            return None
        names = [value.name for value in self.reduced.model.graph.output]
        first, second = (find_difference(names, answer, found).outputs for answer in self.answers)
        return Unoptimized(plain.text, (first, second))

    def _releases_worth_comparing(self, verdict: BlameVerdict) -> list[ChangedReleases]:
        """Return the releases worth comparing of all subjects, for the operators of the reduced model."""
        reduction = self.document.steps.reduction
        if reduction is None or not verdict.outcome.fails:
            return []
        operators = {node.operator for node in reduction.nodes}
        named = {each.name: each for each in self.request.names}
        return [release for each in named.values() for release in self.find_releases(each, operators)]

    def chosen_subjects(self) -> tuple[SubjectName, SubjectName, SubjectName | None]:
        """Return both subjects and the graph optimizer, with only the passes of the difference if they are known."""
        passes = self.document.steps.passes
        return self.request.with_chosen(self._chosen(passes) if passes else None)

    def _chosen(self, passes: FoundPasses) -> SubjectName | None:
        """Return the subject with the passes of the difference only; None if they are not known."""
        listed = self._passes if passes.subject else None
        return SubjectName.parse(passes.subject or "", listed.subject.kind) if listed is not None else None

    @cached_property
    def _passes(self) -> Passes | None:
        """The passes of the subject whose passes are chosen; None if they cannot be chosen."""
        request = self.request
        if request.models is not None:
            return None
        return list_passes(
            request.optimizer or (request.second if request.bisects_second else request.first), self.subjects
        )

    @contextmanager
    def _compare(self, chosen: SubjectName | None = None) -> Iterator[Comparison]:
        """Start the subjects; `chosen` replaces the subject whose passes are chosen."""
        with self.subjects.compare(*self.request.with_chosen(chosen)) as comparison:
            comparison.second_model = SecondModel(self.request.models) if self.request.models else None
            comparison.progress = self.progress
            yield comparison


def _plain_subjects(ways: Sequence[SubjectName]) -> Iterator[SubjectName]:
    """Yield the subjects without optimizations with which two ways can be compared, the first choice first."""
    for way in ways:
        if way.name == ONNXRUNTIME and not way.is_command:
            yield way.with_option("optimization", "disabled")
    yield SubjectName.parse("onnx-reference", SubjectKind.BACKEND)


def _reduced_model(
    fed: FedModel, reduction: DifferenceReduction, *, nodes_before: int, is_complete: bool
) -> ReducedModel:
    matched = reduction.comparison.second_model
    second = matched.part(fed.model) if matched is not None else None
    return ReducedModel(
        is_complete,
        nodes_before,
        _reduced_nodes(fed.model),
        reduction.tested,
        reduction.ended_early,
        base64.b64encode(fed.model.SerializeToString()).decode(),
        [base64.b64encode(each.SerializeToString()).decode() for each in fed.messages],
        msgspec.UNSET if matched is None or second is None else _reduced_nodes(second, matched.own_name),
        msgspec.UNSET if second is None else changes_of_nodes(fed, fed.with_model(second)) or msgspec.UNSET,
        msgspec.UNSET if matched is None else _lost_accuracy(matched) or msgspec.UNSET,
    )


MAX_LOSSES = 100
"""Maximum number of steps whose errors the document has."""


def _lost_accuracy(matched: SecondModel) -> list[LostAccuracy]:
    found = []
    for each in matched.losses[:MAX_LOSSES]:
        node = matched.losing_node(each.name)
        if node is not None:
            named = ReducedNode(node.op_type, node.domain, node.name or next(iter(node.output), each.name))
            found.append(LostAccuracy(named, each.name, each.own, each.since_inputs))
    return found


def _reduced_nodes(model: onnx.ModelProto, own_name: Callable[[str], str] = str) -> list[ReducedNode]:
    return [
        ReducedNode(node.op_type, node.domain, node.name or own_name(next(iter(node.output), "")))
        for node in iter_nodes(model.graph)
        if not is_operator(node, "Constant")
    ]


def _change_text(label: str, where: str, one: Computation, other: Computation) -> str:
    """Return how a repeated computation differs from the first."""
    if one.failure:
        return f"{label} fails in the first run only ({one.failure}: {one.message})"
    if other.failure:
        return f"{label} fails {where} only ({other.failure}: {other.message})"
    return f"{label} returns other outputs {where}"


def with_steps(model: onnx.ModelProto, difference: Difference) -> Difference:
    """Return a difference with its size in quantization steps, for each output that is quantized."""
    scales = quantization_steps(model)
    outputs = []
    for output in difference.outputs:
        scale = scales.get(output.name)
        is_finite = output.largest - output.largest == 0
        outputs.append(replace(output, steps=output.largest / scale) if scale and is_finite else output)
    return replace(difference, outputs=tuple(outputs))


def quantization_steps(model: onnx.ModelProto) -> dict[str, float]:
    """Return the distance of two neighbouring values of each quantized output, by name.

    An output is quantized if it has a type of at most 8 bits, or if a DequantizeLinear with one scale computes it.
    """
    steps: dict[str, float] = {}
    scales = {tensor.name: tensor for tensor in model.graph.initializer}
    outputs = {value.name: value.type.tensor_type.elem_type for value in model.graph.output}
    for node in model.graph.node:
        if is_operator(node, "DequantizeLinear") and node.output[0] in outputs:
            scale = scales.get(node.input[1])
            array = None if scale is None or scale.data_location == TensorProto.EXTERNAL else array_of(scale)
            if array is not None and array.size == 1:
                steps[node.output[0]] = float(array.item())
    return steps | {name: 1.0 for name, type_ in outputs.items() if TensorProto.DataType.Name(type_) in _QUANTIZED}


_QUANTIZED = {f"{sign}INT{bits}" for sign in ("", "U") for bits in (2, 4, 8)}
